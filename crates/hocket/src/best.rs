//! Values of parameters that a call leaves open: those that a formula chooses, and a search by simulations.

use std::collections::HashMap;

use hocket_core::{Call, Domain, Parameter, Result};
use hocket_simulate::Platform;

use crate::request::Setting;
use crate::surroundings::local_line;

/// What parameters are set to, by name.
pub type Settings = Vec<(String, Setting)>;

/// Calls of one algorithm that differ only in what its parameters are set to.
pub trait Calls {
    /// What a run gives besides its time.
    type Output;

    /// A rough time, to compare values; infinity if there is none.
    fn estimate_s(&self, settings: &Settings) -> f64;

    /// What formulas say of a run.
    fn outlook(&self, settings: &Settings) -> Outlook;

    /// The value for which `auto` stands, if the parameter has one.
    fn automatic(&self, settings: &Settings, name: &str) -> Option<u64>;

    /// The time of a run; none if it is later than `until_s`.
    ///
    /// # Errors
    /// The algorithm refuses the settings.
    fn run(&self, settings: &Settings, until_s: f64) -> Result<Option<(f64, Self::Output)>>;
}

/// What formulas say of a call.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// The call: two settings that mean the same have the same.
    pub call: String,
    /// A rough time, if no message waits for a processor; 0 or infinity if there is none.
    pub quick_s: f64,
    /// A time that the algorithm hardly beats; 0 if it is unknown.
    pub least_s: f64,
    /// The number of messages; 0 if it is unknown.
    pub messages: f64,
}

/// The parameters whose values may be chosen.
pub struct Open<'a> {
    free: Vec<&'a Parameter>,
    ranks: usize,
    /// The ranks of a node, if messages within it cost less.
    ranks_per_node: Option<usize>,
    /// The least power of two that is as large as the largest vector of a rank.
    all_bytes: u64,
    element_bytes: u64,
    /// The sizes at which a message begins to cost more or less.
    thresholds_bytes: Vec<u64>,
}

/// How thoroughly to search.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Whether to try all words of a switch, or only those that its file names.
    all_words: bool,
    /// The most values of a switch or a number that are tried in one pass, the likely fastest ones.
    values: usize,
    /// The most passes over all parameters.
    passes: usize,
    /// The most messages of a run: so many, or this multiple of those of the first one.
    messages: f64,
    more_messages: f64,
    /// Whether to search on where a search ended, if runs are short: from each value of a number, as others can be fast only
    /// together with it.
    is_further: bool,
}

impl Effort {
    /// A few runs, to mend what formulas do not know.
    pub const SMALL: Self =
        Self { all_words: false, values: 4, passes: 2, messages: 10_000.0, more_messages: 2.0, is_further: false };
    /// A search over every parameter.
    pub const FULL: Self =
        Self { all_words: true, values: 12, passes: 4, messages: 300_000.0, more_messages: 4.0, is_further: false };
    /// What comes after [`Self::FULL`] where it may matter.
    pub const FURTHER: Self = Self { is_further: true, ..Self::FULL };
}

/// How much longer than the best by the formula a value may take that is tried.
const REACH: f64 = 1.5;
/// How much longer than allowed, or than the best so far, a run may take from which others begin.
const SLACK: f64 = 2.0;
/// A run takes at least this part of the time that its estimate and the runs before suggest. It is larger for runs of many
/// messages, which cost most.
const TRUST: f64 = 0.5;
const MORE_TRUST: f64 = 0.9;
const MANY_MESSAGES: f64 = 100_000.0;
/// A run takes at least this part of the time that its algorithm hardly beats.
const HARDLY: f64 = 0.8;
/// How often sizes are halved and doubled at once.
const LEAPS: [u32; 3] = [2, 4, 7];
/// A short run has at most so many messages.
pub const FEW_MESSAGES: f64 = 10_000.0;
/// In jobs of so few ranks, short calls are searched a little; where nodes have several, formulas choose among all words.
pub const SMALL_JOB: usize = 128;
/// Small numbers of ranks.
const FEW_RANKS: [u64; 13] = [2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64];

impl<'a> Open<'a> {
    /// The parameters of an algorithm that its call does not set. The groups of an algorithm for the cards or the switch of a node
    /// are nodes.
    pub fn new(
        parameters: &'a [Parameter],
        of_call: &Settings,
        topology: Option<&str>,
        call: &Call,
        platform: &Platform,
    ) -> Self {
        let has_cards = parameters.iter().any(|parameter| parameter.name == "channels") || topology == Some("switch");
        let is_free = |parameter: &&Parameter| {
            let is_fixed =
                has_cards && parameter.name == "group" || of_call.iter().any(|(name, _)| name == parameter.name);
            parameter.domain != Domain::Given && !is_fixed
        };
        let blocks = if call.collective.size_is_one_block() { call.ranks } else { 1 };
        Self {
            free: parameters.iter().filter(is_free).collect(),
            ranks: call.ranks,
            ranks_per_node: local_line(platform, 0.0).map(|(ranks, _)| ranks),
            all_bytes: (call.size_bytes() * blocks as u64).max(1).next_power_of_two(),
            element_bytes: call.element_bytes as u64,
            thresholds_bytes: platform.network.thresholds_bytes(),
        }
    }

    fn sizes(&self) -> impl Iterator<Item = &'a Parameter> {
        self.free.iter().copied().filter(|parameter| parameter.domain == Domain::Size)
    }

    /// The settings with automatic sizes, rounded to powers of two; the defaults of others.
    pub fn with_sizes(&self, calls: &impl Calls, settings: &Settings) -> Settings {
        let size = |parameter: &Parameter| match calls.automatic(settings, parameter.name) {
            Some(bytes) => power_of_two(bytes).min(self.all_bytes).max(parameter.least),
            None => parameter.default,
        };
        self.sizes().fold(settings.clone(), |settings, parameter| with_value(&settings, parameter, size(parameter)))
    }

    /// The settings with other values of a switch or a number, and automatic sizes.
    fn others(&self, calls: &impl Calls, settings: &Settings, parameter: &Parameter, values: &[u64]) -> Vec<Settings> {
        let mut base = settings.clone();
        base.retain(|(name, _)| self.sizes().all(|size| size.name != name));
        let is_other =
            |value: &u64| *value >= parameter.least && setting(parameter, *value) != value_of(settings, parameter);
        let others = values.iter().copied().filter(is_other);
        others.map(|value| self.with_sizes(calls, &with_value(&base, parameter, value))).collect()
    }

    /// The values of a switch or a number: all, or only those that its file names.
    fn values(&self, parameter: &Parameter, all: bool) -> Vec<u64> {
        match parameter.domain {
            Domain::Ranks => {
                let all = self.ranks as u64;
                let nodes = self.ranks_per_node.map(|ranks| ranks as u64);
                let few = FEW_RANKS.into_iter().chain(nodes).filter(|number| *number < all);
                few.chain([all, parameter.default]).collect()
            }
            Domain::Among(numbers) => [numbers, &[parameter.default]].concat(),
            Domain::Word if all => (0..parameter.words().len() as u64).collect(),
            Domain::Word => [&[parameter.default], parameter.tries].concat(),
            Domain::Size | Domain::Given => Vec::new(),
        }
    }

    /// The values that the formula chooses: of all changes of one parameter the best, as long as the time falls. The formula
    /// knows no contention: where messages meet, other values can be faster. Where nodes have several ranks, it
    /// first tries all words of switches in small jobs, later only those that their files name.
    pub fn by_formula(&self, calls: &impl Calls, of_call: &Settings) -> Settings {
        let mut settings = self.with_sizes(calls, of_call);
        if self.free.iter().all(|parameter| parameter.domain == Domain::Size) {
            return settings;
        }
        let (mut least_s, mut last_s) = (calls.estimate_s(&settings), f64::INFINITY);
        let mut tries_all = self.ranks_per_node.is_some() && self.ranks <= SMALL_JOB;
        while least_s < last_s {
            last_s = least_s;
            for parameter in &self.free {
                for other in self.others(calls, &settings, parameter, &self.values(parameter, tries_all)) {
                    let time_s = calls.estimate_s(&other);
                    if time_s < least_s {
                        (settings, least_s) = (other, time_s);
                    }
                }
            }
            tries_all = false;
        }
        settings
    }

    /// The settings with the least simulated time, and what its run gave; none if all are later than `until_s`. The search
    /// begins with `start` and with the defaults. It changes one parameter after the other as long as the time falls: to
    /// the values that are likely fast by the formula, and sizes to neighbouring ones, to much smaller and larger ones, and
    /// to those at which a message costs more or less.
    ///
    /// # Errors
    /// The algorithm refuses the first settings.
    pub fn search<C: Calls>(
        &self,
        calls: &C,
        start: &Settings,
        of_call: &Settings,
        until_s: f64,
        effort: Effort,
    ) -> Result<Option<(Settings, C::Output)>> {
        let outlook = calls.outlook(start);
        // What is a little too late may lead to what is not.
        let search_s = SLACK * until_s;
        let mut search = Search {
            open: self,
            calls,
            effort,
            most_messages: effort.messages.max(effort.more_messages * outlook.messages),
            ratios: [f64::INFINITY, 0.0],
            history: HashMap::default(),
            settings: start.clone(),
            until_s: search_s,
            best: None,
        };
        search.until_s = search.time_s(start, &outlook, search_s)?.unwrap_or(search_s);
        if effort.is_further {
            search.begin_elsewhere(of_call);
        } else {
            search.is_faster(&self.with_sizes(calls, of_call));
            search.descend(effort.passes);
        }
        search.prefer_defaults();
        let best = search.best.filter(|(time_s, ..)| *time_s <= until_s);
        Ok(best.map(|(_, settings, output)| (settings, output)))
    }
}

struct Search<'a, C: Calls> {
    open: &'a Open<'a>,
    calls: &'a C,
    effort: Effort,
    most_messages: f64,
    /// The least and the largest ratio of a time to its estimate.
    ratios: [f64; 2],
    /// The times of calls; none, with a deadline, of those that are later.
    history: HashMap<String, (Option<f64>, f64)>,
    /// Where the search is, and the time there, or the deadline.
    settings: Settings,
    until_s: f64,
    /// The least time of all, its settings and its run.
    best: Option<(f64, Settings, C::Output)>,
}

impl<C: Calls> Search<'_, C> {
    /// Changes one parameter after the other as long as the time falls.
    fn descend(&mut self, passes: usize) {
        let (sizes, others): (Vec<_>, Vec<_>) =
            self.open.free.iter().copied().partition(|each: &&Parameter| each.domain == Domain::Size);
        for _ in 0..passes {
            let before_s = self.until_s;
            others.iter().for_each(|each| self.try_values(each));
            sizes.iter().for_each(|each| self.try_sizes(each));
            if self.until_s >= before_s {
                break;
            }
        }
    }

    /// Descends from each value of a number, too: others can be fast only together with it.
    fn begin_elsewhere(&mut self, of_call: &Settings) {
        let open = self.open;
        let defaults = open.with_sizes(self.calls, of_call);
        for parameter in open.free.iter().filter(|each| matches!(each.domain, Domain::Ranks | Domain::Among(_))) {
            for settings in open.others(self.calls, &defaults, parameter, &open.values(parameter, true)) {
                let best_s = self.best.as_ref().map_or(self.until_s, |(time_s, ..)| *time_s);
                self.until_s = SLACK * best_s;
                if self.is_faster(&settings) {
                    self.descend(2);
                }
            }
        }
    }

    /// Gives parameters their defaults where formulas and the time stay the same: a value without effect is not named.
    fn prefer_defaults(&mut self) {
        for parameter in self.open.free.iter().filter(|each| each.domain != Domain::Size) {
            let Some((best_s, settings, _)) = &self.best else { return };
            let plain = with_value(settings, parameter, parameter.default);
            let [ours, other] = [settings, &plain].map(|settings| self.calls.outlook(settings));
            if value_of(settings, parameter) != value_of(&plain, parameter)
                && (ours.quick_s, ours.messages) == (other.quick_s, other.messages)
                && let Ok(Some((time_s, output))) = self.calls.run(&plain, *best_s)
            {
                self.best = Some((time_s, plain, output));
            }
        }
    }

    /// The time of a call; none if it is later than `until_s`.
    fn time_s(&mut self, settings: &Settings, outlook: &Outlook, until_s: f64) -> Result<Option<f64>> {
        match self.history.get(&outlook.call) {
            Some((Some(time_s), _)) => return Ok(Some(*time_s).filter(|time_s| *time_s <= until_s)),
            Some((None, later_s)) if *later_s >= until_s => return Ok(None),
            _ => {}
        }
        let run = self.calls.run(settings, until_s)?;
        let time_s = run.as_ref().map(|(time_s, _)| *time_s);
        self.history.insert(outlook.call.clone(), (time_s, until_s));
        if let Some((time_s, output)) = run {
            let ([least, most], ratio) = (self.ratios, time_s / outlook.quick_s);
            self.ratios = [least.min(ratio), most.max(ratio)];
            if self.best.as_ref().is_none_or(|(best_s, ..)| time_s < *best_s) {
                self.best = Some((time_s, settings.clone(), output));
            }
        }
        Ok(time_s)
    }

    /// Whether the algorithm accepts the settings, and is faster with them. What cannot be by formulas is not run.
    fn is_faster(&mut self, settings: &Settings) -> bool {
        let outlook = self.calls.outlook(settings);
        if self.likely_s(&outlook) > self.until_s || outlook.messages > self.most_messages {
            return false;
        }
        let Ok(Some(time_s)) = self.time_s(settings, &outlook, self.until_s) else { return false };
        let is_faster = time_s < self.until_s;
        if is_faster {
            (self.settings, self.until_s) = (settings.clone(), time_s);
        }
        is_faster
    }

    /// A time that a run hardly beats: by its estimate times the least ratio so far, the less trusted the more the ratios
    /// differ; and by its bytes and steps.
    fn likely_s(&self, outlook: &Outlook) -> f64 {
        let [least, most] = self.ratios;
        let trust = if outlook.messages > MANY_MESSAGES { MORE_TRUST } else { TRUST };
        let compared_s = if most > 0.0 { outlook.quick_s * trust * least * least / most } else { 0.0 };
        compared_s.max(HARDLY * outlook.least_s)
    }

    fn try_values(&mut self, parameter: &Parameter) {
        let values = self.open.values(parameter, self.effort.all_words);
        let others = self.open.others(self.calls, &self.settings, parameter, &values);
        let mut likely: Vec<_> = others.into_iter().map(|other| (self.calls.estimate_s(&other), other)).collect();
        likely.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
        let most_s = REACH * self.calls.estimate_s(&self.settings);
        let values = self.effort.values;
        let is_number = parameter.domain != Domain::Word;
        for (place, (time_s, other)) in likely.iter().enumerate() {
            // Where messages wait for ports, formulas are wrong most about the largest numbers; they know no nodes.
            let is_of = |ranks: usize| value_of(other, parameter) == Setting::Whole(ranks as u64);
            let is_special = is_of(self.open.ranks) || self.open.ranks_per_node.is_some_and(is_of);
            if place < values && (is_number || *time_s <= most_s) || is_special {
                self.is_faster(other);
            }
        }
    }

    fn try_sizes(&mut self, parameter: &Parameter) {
        let least = parameter.least.max(self.open.element_bytes);
        let begin = self.bytes(parameter);
        let leaps = LEAPS.iter().flat_map(|power| [Some(begin >> power), begin.checked_shl(*power)]).flatten();
        let thresholds = self.open.thresholds_bytes.iter().flat_map(|at| [*at, at.saturating_sub(1)]);
        let thresholds = thresholds.map(|at| at - at % self.open.element_bytes);
        let sizes: Vec<_> = leaps.chain(thresholds).filter(|at| (least..=self.open.all_bytes).contains(at)).collect();
        for at in sizes {
            self.is_faster(&with_value(&self.settings, parameter, at));
        }
        let begin = self.bytes(parameter);
        let down = (1..64).map(|power| begin >> power).take_while(|at| *at >= least).collect();
        let up =
            (1..64).map_while(|power| begin.checked_shl(power)).take_while(|at| *at <= self.open.all_bytes).collect();
        self.follow(parameter, down);
        self.follow(parameter, up);
    }

    /// Tries sizes as long as times fall, or would fall again by the formula.
    fn follow(&mut self, parameter: &Parameter, sizes: Vec<u64>) {
        let (mut is_falling, mut last_s) = (true, f64::INFINITY);
        for size in sizes {
            let settings = with_value(&self.settings, parameter, size);
            let estimate_s = self.calls.estimate_s(&settings);
            if !is_falling && estimate_s >= last_s {
                break;
            }
            (is_falling, last_s) = (self.is_faster(&settings), estimate_s);
        }
    }

    /// The size of the best settings, at most all bytes.
    fn bytes(&self, parameter: &Parameter) -> u64 {
        match value_of(&self.settings, parameter) {
            Setting::Whole(bytes) => bytes.clamp(1, self.open.all_bytes),
            _ => self.open.all_bytes,
        }
    }
}

/// The power of two that is nearest by its ratio.
fn power_of_two(bytes: u64) -> u64 {
    1 << (bytes.max(1) as f64).log2().round() as u32
}

fn with_value(settings: &Settings, parameter: &Parameter, value: u64) -> Settings {
    let others = settings.iter().filter(|(name, _)| name != parameter.name).cloned();
    others.chain([(parameter.name.to_owned(), setting(parameter, value))]).collect()
}

/// A value in the form of settings: the word of a switch.
fn setting(parameter: &Parameter, value: u64) -> Setting {
    let word = parameter.words().get(value as usize);
    word.map_or(Setting::Whole(value), |word| Setting::Text((*word).to_owned()))
}

/// What a parameter is set to; its default if it is not.
fn value_of(settings: &Settings, parameter: &Parameter) -> Setting {
    let set = settings.iter().find(|(name, _)| name == parameter.name);
    set.map_or_else(|| setting(parameter, parameter.default), |(_, value)| value.clone())
}
