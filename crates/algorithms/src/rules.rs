//! Rules: which algorithm a call gets.
//!
//! ```text
//! # the first rule that fits a call and whose algorithm accepts it decides; without one, MPI runs the call
//! allreduce[size=64KiB.., ranks=8..]: ring
//! allreduce: recursive_doubling
//! broadcast[size=1MiB..]: chain, segment=64KiB
//! reduce[ranks=64..]: trinaryx3, segment=auto
//! alltoall: native
//! iallreduce: recursive_doubling     # the form that returns before it is complete
//! ```
//!
//! A range begins at its first value and ends before its second. A single value, as in `ranks=8`, means only this
//! value. `ranks=power_of_two` may accompany a range. `size` is the size of one block; `total=FROM..TO` is the size of
//! all blocks together. `elements=..power_of_two` means fewer elements than the largest power of two up to the number of
//! ranks, `elements=ranks..` at least as many as ranks. Collectives also have MPI's names: `bcast`,
//! `reduce_scatter_block`.
//!
//! The line `order = fixed` demands that results of reductions do not depend on the size, to the last bit, see
//! [`fixed_order`]. Rules for a blocking form then also decide the nonblocking form, if that has no rules of its own.

mod fixed_order;

use std::ops::Range;

use hocket_core::units::parse_bytes;
use hocket_core::{Call, Collective, Error, Result, Unit, ensure, names};

use crate::automatic::{AUTO, Surroundings};
use crate::parameter_values::ParameterValues;
use crate::{Entry, find};

/// The algorithm of a rule that leaves a call to MPI.
pub const NATIVE: &str = "native";

const POWER_OF_TWO: &str = "power_of_two";

/// The choices of MPI libraries, as rules: a name, and a text that states the version and the source.
pub const OF_LIBRARIES: &[(&str, &str)] = &[
    ("mpich-5.0", include_str!("../defaults/mpich-5.0.rules")),
    ("openmpi-5.0", include_str!("../defaults/openmpi-5.0.rules")),
];

/// Rules in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Whether results of reductions must not depend on the size.
    order_is_fixed: bool,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The number of its line, counted from 1.
    pub line: usize,
    /// The line, without its comment.
    text: String,
    /// The collective.
    pub collective: Collective,
    /// Whether it is for calls that return before they are complete.
    pub is_nonblocking: bool,
    /// The calls to which it applies.
    pub condition: Condition,
    choice: Choice,
    /// The values of parameters, as written.
    pub value_texts: Vec<(String, String)>,
}

/// An algorithm, with the values of its parameters; none where a rule leaves calls to MPI.
type Choice = Option<(&'static Entry, ParameterValues)>;

impl Rule {
    /// The algorithm; none where the rule leaves calls to MPI.
    pub fn entry(&self) -> Option<&'static Entry> {
        self.choice.as_ref().map(|(entry, _)| *entry)
    }
}

/// The calls to which a rule applies.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Their sizes.
    pub size_bytes: Option<Range<u64>>,
    /// The sizes of the blocks of all ranks together, if all ranks know them.
    pub total_bytes: Option<Range<u64>>,
    /// Their numbers of ranks.
    pub ranks: Range<u64>,
    /// Whether the number of ranks has to be a power of two.
    pub needs_power_of_two: bool,
    /// Their numbers of elements.
    pub elements: Option<Elements>,
}

/// Numbers of elements on one side of a limit.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Whether there are fewer than the limit; otherwise at least as many.
    pub are_fewer: bool,
    /// Whether the limit is the largest power of two up to the number of ranks; otherwise it is that number.
    pub than_power_of_two: bool,
}

impl Elements {
    fn parse(text: &str) -> Result<Self> {
        let (from, to) = text.split_once("..").unwrap_or_default();
        let (are_fewer, limit) = if from.is_empty() { (true, to) } else { (false, from) };
        match limit {
            "ranks" | POWER_OF_TWO if from.is_empty() || to.is_empty() => {
                Ok(Self { are_fewer, than_power_of_two: limit == POWER_OF_TWO })
            }
            _ => Err(Error::new(format!(
                "elements: got {text:?}, expected ..ranks, ..{POWER_OF_TWO}, ranks.. or {POWER_OF_TWO}.."
            ))),
        }
    }

    fn hold(self, call: &Call) -> bool {
        let limit = if self.than_power_of_two { 1 << call.ranks.ilog2() } else { call.ranks as u64 };
        self.are_fewer == (call.size_bytes() / (call.element_bytes as u64).max(1) < limit)
    }
}

impl Condition {
    fn parse(text: &str, collective: Collective) -> Result<Self> {
        let all = 0..u64::MAX;
        let mut condition =
            Self { size_bytes: None, total_bytes: None, ranks: all, needs_power_of_two: false, elements: None };
        for (key, value) in pairs(text)? {
            ensure(collective.size_is_known() || !["size", "total", "elements"].contains(&key), || {
                format!(
                    "{collective}: got the condition {key}, expected ranks only, as a rank knows only its own blocks"
                )
            })?;
            ensure(collective.size_is_one_block() || key != "total", || {
                format!("{collective}: got the condition total, expected size, which counts all blocks here")
            })?;
            match key {
                "size" => condition.size_bytes = Some(parse_range(value)?),
                "total" => condition.total_bytes = Some(parse_range(value)?),
                "ranks" if value == POWER_OF_TWO => condition.needs_power_of_two = true,
                "ranks" => condition.ranks = parse_range(value)?,
                "elements" => condition.elements = Some(Elements::parse(value)?),
                _ => {
                    let expected = "expected size, total, ranks or elements";
                    return Err(Error::new(format!("unknown condition {key:?}, {expected}")));
                }
            }
        }
        Ok(condition)
    }

    /// The sizes at which it holds whatever the elements and the blocks.
    fn certain_sizes(&self) -> Range<u64> {
        match (&self.size_bytes, &self.total_bytes, self.elements) {
            (size_bytes, None, None) => size_bytes.clone().unwrap_or(0..u64::MAX),
            _ => 0..0,
        }
    }

    fn holds_for_ranks(&self, ranks: usize) -> bool {
        self.ranks.contains(&(ranks as u64)) && (!self.needs_power_of_two || ranks.is_power_of_two())
    }

    fn holds(&self, call: &Call) -> bool {
        self.holds_for_bytes(call) && self.elements.is_none_or(|elements| call.size_is_known() && elements.hold(call))
    }

    /// Whether it holds for a call of this size, of some number of elements.
    fn holds_for_bytes(&self, call: &Call) -> bool {
        let total_bytes = || (call.total() * call.element_bytes) as u64;
        let is_in = |range: &Range<u64>, bytes: &dyn Fn() -> u64| call.size_is_known() && range.contains(&bytes());
        self.size_bytes.as_ref().is_none_or(|range| is_in(range, &|| call.size_bytes()))
            && self.total_bytes.as_ref().is_none_or(|range| is_in(range, &total_bytes))
            && self.holds_for_ranks(call.ranks)
    }

    /// The sizes below [`MOST_LEFT`] at which the rule begins or ceases to apply.
    fn edges(&self, ranks: usize) -> impl Iterator<Item = u64> + '_ {
        let ends = |range: &Option<Range<u64>>, blocks: u64| {
            range.clone().into_iter().flat_map(move |range| [range.start.div_ceil(blocks), range.end.div_ceil(blocks)])
        };
        let edges = ends(&self.size_bytes, 1).chain(ends(&self.total_bytes, ranks.max(1) as u64));
        edges.filter(|&bytes| bytes < MOST_LEFT)
    }
}

/// For larger sizes, the rules always look at the call before they leave it to MPI.
pub const MOST_LEFT: u64 = 1 << 40;

impl Rules {
    /// The rules of an MPI program: [`Rules::parse_on`] with the assumed machine.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Self::parse_on(text, file, &Surroundings::of_unknown_machine())
    }

    /// The rules of a text, one per line, with automatic values on a machine; `file` names the text in errors.
    ///
    /// # Errors
    /// A line that is no rule, an unknown algorithm or parameter, an empty range, or an automatic value that the
    /// machine does not have.
    pub fn parse_on(text: &str, file: &str, on: &Surroundings) -> Result<Self> {
        let (mut rules, mut order_is_fixed) = (Vec::new(), false);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let place = |error: Error| error.at(format!("{file}:{}", number + 1));
            if is_directive(line) {
                check_directive(line).map_err(place)?;
                order_is_fixed = true;
            } else if !line.is_empty() {
                rules.push(Rule { line: number + 1, ..parse_rule(line, on).map_err(place)? });
            }
        }
        if order_is_fixed {
            fixed_order::check(&rules, file)?;
        }
        Ok(Self { rules, order_is_fixed })
    }

    /// The rules in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Whether results of reductions must not depend on the size.
    pub fn order_is_fixed(&self) -> bool {
        self.order_is_fixed
    }

    /// The rules for one form of a collective.
    fn of(&self, collective: Collective, is_nonblocking: bool) -> impl Iterator<Item = &Rule> {
        self.rules_of_form(collective, is_nonblocking != self.takes_other_form(collective, is_nonblocking))
    }

    fn rules_of_form(&self, collective: Collective, is_nonblocking: bool) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| (rule.collective, rule.is_nonblocking) == (collective, is_nonblocking))
    }

    fn takes_other_form(&self, collective: Collective, is_nonblocking: bool) -> bool {
        let has_own = || self.rules_of_form(collective, is_nonblocking).next().is_some();
        self.order_is_fixed && collective.reduces() && !has_own()
    }

    /// The rules of one form that also decide the other form, as rules of the other form.
    pub fn of_other_forms(&self) -> impl Iterator<Item = Rule> {
        let other = |rule: &&Rule| self.takes_other_form(rule.collective, !rule.is_nonblocking);
        self.rules.iter().filter(other).map(|rule| Rule { is_nonblocking: !rule.is_nonblocking, ..rule.clone() })
    }

    /// These rules, and others that are tried after them.
    ///
    /// # Errors
    /// With `order = fixed` in one of them: a line under which a result could depend on the size.
    pub fn with_fallback(mut self, others: Self) -> Result<Self> {
        self.rules.extend(others.rules);
        self.order_is_fixed |= others.order_is_fixed;
        if self.order_is_fixed {
            fixed_order::check(&self.rules, "all rules together")?;
        }
        Ok(self)
    }

    /// Whether a rule may choose an algorithm for calls of this collective, or of any collective if none is given.
    pub fn mention(&self, collective: Option<Collective>, is_nonblocking: bool) -> bool {
        let chooses = |collective| self.of(collective, is_nonblocking).any(|rule| rule.choice.is_some());
        collective.map_or_else(|| Collective::ALL.into_iter().any(chooses), chooses)
    }

    /// The number of bytes below which MPI runs all calls of a collective on `ranks` ranks: the first rule that fits is
    /// `native`, or no rule fits. These are bytes of the buffer, or bytes of each block if the call's count is the
    /// count of one block. `is_nonblocking` as in [`Rules::decide`].
    pub fn bytes_left_to_mpi(&self, collective: Collective, ranks: usize, is_nonblocking: bool) -> u64 {
        let rules = || self.of(collective, is_nonblocking);
        let is_left = |&bytes: &u64| {
            let call = Call::new(collective, ranks, bytes as usize);
            let fitting = || rules().filter(|rule| rule.condition.holds_for_bytes(&call));
            let certain = fitting().position(|rule| rule.condition.elements.is_none());
            fitting().take(certain.map_or(usize::MAX, |last| last + 1)).all(|rule| rule.choice.is_none())
        };
        let edges = rules().flat_map(|rule| rule.condition.edges(ranks));
        let size_bytes = edges.chain([0]).filter(|bytes| !is_left(bytes)).min().unwrap_or(MOST_LEFT);
        // Its size is the size of all blocks; its count is the count of one block.
        if collective == Collective::ReduceScatter { size_bytes.div_ceil(ranks.max(1) as u64) } else { size_bytes }
    }

    /// The algorithm for a call, and the call as the algorithm accepts it. `is_nonblocking`: the call returns before
    /// it is complete.
    ///
    /// # Errors
    /// Why MPI runs the call: no rule fits, the first rule that fits is `native`, or the algorithms refuse the call.
    pub fn decide(&self, call: &Call, is_nonblocking: bool) -> Result<(&'static Entry, Call)> {
        self.decide_by_rule(call, is_nonblocking).map(|(_, entry, call)| (entry, call))
    }

    /// As [`Rules::decide`], with the text of the deciding rule in front.
    pub fn decide_by_rule(&self, call: &Call, is_nonblocking: bool) -> Result<(&str, &'static Entry, Call)> {
        let mut refusal = None;
        for rule in self.of(call.collective, is_nonblocking).filter(|rule| rule.condition.holds(call)) {
            let (entry, values) = rule.choice.as_ref().ok_or_else(|| Error::new("a rule says native"))?;
            match values.accept(entry, call) {
                Ok(accepted_call) => return Ok((&rule.text, entry, accepted_call)),
                Err(reason) => refusal = Some(reason),
            }
        }
        Err(refusal.unwrap_or_else(|| Error::new("no rule for it")))
    }
}

/// Whether a line is meant to be `order = fixed`.
fn is_directive(line: &str) -> bool {
    line.split(['=', ':']).next().is_some_and(|word| word.trim().eq_ignore_ascii_case("order"))
}

fn check_directive(line: &str) -> Result<()> {
    let is_right = line.split_once('=').is_some_and(|(name, value)| (name.trim(), value.trim()) == ("order", "fixed"));
    ensure(is_right, || format!("got {line:?}, expected order = fixed"))
}

fn parse_rule(line: &str, on: &Surroundings) -> Result<Rule> {
    let expected = "expected COLLECTIVE[size=FROM..TO, ranks=FROM..TO]: ALGORITHM, NAME=VALUE";
    let (head, tail) = line.split_once(':').ok_or_else(|| Error::new(format!("got {line:?}, {expected}")))?;
    let (name, conditions) = match head.trim().split_once('[') {
        None => (head.trim(), ""),
        Some((name, rest)) => {
            let rest = rest.strip_suffix(']').ok_or_else(|| Error::new(format!("got {head:?}, {expected}")))?;
            (name.trim(), rest)
        }
    };
    let (collective, is_nonblocking) = parse_collective(name)?;
    let condition = Condition::parse(conditions, collective)?;
    let choice = parse_choice(collective, tail, on)?;
    let values = tail.split_once(',').map_or("", |(_, values)| values);
    let value_texts = pairs(values)?.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Rule { line: 1, text: line.to_owned(), collective, is_nonblocking, condition, choice, value_texts })
}

/// A collective, and whether its nonblocking form is meant.
fn parse_collective(name: &str) -> Result<(Collective, bool)> {
    let nonblocking = || Collective::from_name(name.strip_prefix('i')?).map(|collective| (collective, true));
    Collective::from_name(name).map(|collective| (collective, false)).or_else(nonblocking).ok_or_else(|| {
        let names = Collective::ALL.iter().map(|collective| collective.name());
        let unknown = names::unknown("collective", name, names);
        Error::new(if unknown.ends_with('?') {
            unknown
        } else {
            format!("{unknown}, or the same with the prefix i for nonblocking calls")
        })
    })
}

fn parse_choice(collective: Collective, text: &str, on: &Surroundings) -> Result<Choice> {
    let (name, values) = text.split_once(',').unwrap_or((text, ""));
    if name.trim() == NATIVE {
        let values = values.trim();
        return ensure(values.is_empty(), || format!("{NATIVE}: got {values:?}, expected no parameters"))
            .map(|()| None);
    }
    let entry = find(collective, name.trim())?;
    let (mut numbers, mut automatic) = (Vec::new(), Vec::new());
    for (key, value) in pairs(values)? {
        if value == AUTO {
            automatic.push(key);
            continue;
        }
        let value = match entry.about.parameter(key) {
            Some(parameter) if parameter.unit == Unit::Bytes => parse_bytes(value),
            Some(parameter) if !parameter.words().is_empty() => parameter.number_of(value),
            _ => value.parse().map_err(|_| Error::new(format!("got {value:?}, expected a whole number"))),
        };
        numbers.push((key.to_owned(), value.map_err(|error| error.at(format!("{entry}: {key}")))?));
    }
    Ok(Some((entry, ParameterValues::new(entry, numbers, automatic, on)?)))
}

/// `name=value, name=value`.
fn pairs(text: &str) -> Result<Vec<(&str, &str)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let pair = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            pair.ok_or_else(|| Error::new(format!("got {part:?}, expected NAME=VALUE")))
        })
        .collect()
}

/// `FROM..TO`, either of which may be missing, or one value.
fn parse_range(text: &str) -> Result<Range<u64>> {
    let Some((from, to)) = text.split_once("..") else {
        let value = parse_bytes(text).map_err(|_| {
            Error::new(format!("got {text:?}, expected one value, or FROM..TO such as 64KiB.. or 2..17"))
        })?;
        return Ok(value..value.saturating_add(1));
    };
    let end = |text: &str, missing| if text.trim().is_empty() { Ok(missing) } else { parse_bytes(text) };
    let range = end(from, 0)?..end(to, u64::MAX)?;
    if range.is_empty() { Err(Error::new(format!("range {text:?} is empty, expected FROM < TO"))) } else { Ok(range) }
}
