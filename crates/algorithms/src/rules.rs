//! Rules: which algorithm a call gets.
//!
//! ```text
//! # the first rule decides that fits a call and whose algorithm takes it; without one, the call is left to MPI
//! allreduce[size=64KiB.., ranks=8..]: ring
//! allreduce: recursive_doubling
//! broadcast[size=1MiB..]: chain, segment=64KiB
//! reduce[ranks=64..]: trinaryx3, segment=auto
//! alltoall: native
//! iallreduce: recursive_doubling     # the form that returns before it is complete
//! ```
//!
//! A range begins at its first value and ends before its second; a single value, as `ranks=8`, is that one. `ranks=power_of_two` may
//! stand beside a range. `total=FROM..TO` is the size of all blocks together, where `size` is that of one. Collectives also go by
//! MPI's names: `bcast`, `reduce_scatter_block`.

use std::ops::Range;

use hocket_core::units::parse_bytes;
use hocket_core::{Call, Collective, Error, Result, Unit, names};

use crate::automatic::{AUTO, Surroundings};
use crate::given::Given;
use crate::{Entry, find};

/// The algorithm of a rule that leaves a call to MPI.
pub const NATIVE: &str = "native";

const POWER_OF_TWO: &str = "power_of_two";

/// What MPI libraries choose, as rules: a name, and the text, which tells the version and the source.
pub const OF_LIBRARIES: &[(&str, &str)] = &[
    ("mpich-5", include_str!("../defaults/mpich-5.rules")),
    ("openmpi-5", include_str!("../defaults/openmpi-5.rules")),
];

/// Rules in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The number of its line, from 1.
    pub line: usize,
    /// The line, without its comment.
    text: String,
    /// The collective.
    pub collective: Collective,
    /// Whether it is for calls that return before they are complete.
    pub is_nonblocking: bool,
    /// Which calls it is for.
    pub condition: Condition,
    choice: Choice,
    /// The values of parameters as they are written.
    pub written: Vec<(String, String)>,
}

impl Rule {
    /// The algorithm; none where the rule leaves calls to MPI.
    pub fn entry(&self) -> Option<&'static Entry> {
        if let Choice::Algorithm(entry, _) = self.choice { Some(entry) } else { None }
    }
}

/// Which calls a rule is for.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Their sizes.
    pub size_bytes: Option<Range<u64>>,
    /// Those of the blocks of all ranks together, where all ranks know them.
    pub total_bytes: Option<Range<u64>>,
    /// Their numbers of ranks.
    pub ranks: Range<u64>,
    /// Whether the number of ranks is to be a power of two.
    pub needs_power_of_two: bool,
}

impl Condition {
    fn parse(text: &str, collective: Collective) -> Result<Self> {
        let all = 0..u64::MAX;
        let mut condition = Self { size_bytes: None, total_bytes: None, ranks: all, needs_power_of_two: false };
        for (key, value) in pairs(text)? {
            match key {
                "size" | "total" if !collective.size_is_known() => {
                    return Err(Error::new(format!(
                        "{collective}: got a {key}, expected none: a rank knows its own blocks only"
                    )));
                }
                "total" if !collective.size_is_one_block() => {
                    return Err(Error::new(format!(
                        "{collective}: got a total, expected a size, which is that of all blocks"
                    )));
                }
                "size" => condition.size_bytes = Some(parse_range(value)?),
                "total" => condition.total_bytes = Some(parse_range(value)?),
                "ranks" if value == POWER_OF_TWO => condition.needs_power_of_two = true,
                "ranks" => condition.ranks = parse_range(value)?,
                _ => return Err(Error::new(format!("unknown condition {key:?}, expected size, total or ranks"))),
            }
        }
        Ok(condition)
    }

    fn holds(&self, call: &Call) -> bool {
        let ranks = call.ranks as u64;
        let total_bytes = || (call.total() * call.element_bytes) as u64;
        let is_in = |range: &Range<u64>, bytes: &dyn Fn() -> u64| call.size_is_known() && range.contains(&bytes());
        self.size_bytes.as_ref().is_none_or(|range| is_in(range, &|| call.size_bytes()))
            && self.total_bytes.as_ref().is_none_or(|range| is_in(range, &total_bytes))
            && self.ranks.contains(&ranks)
            && (!self.needs_power_of_two || ranks.is_power_of_two())
    }

    /// The sizes at which a rule begins or ceases to hold, among those below [`MOST_LEFT`].
    fn edges(&self, ranks: usize) -> impl Iterator<Item = u64> + '_ {
        let ends = |range: &Option<Range<u64>>, blocks: u64| {
            range.clone().into_iter().flat_map(move |range| [range.start.div_ceil(blocks), range.end.div_ceil(blocks)])
        };
        let edges = ends(&self.size_bytes, 1).chain(ends(&self.total_bytes, ranks.max(1) as u64));
        edges.filter(|&bytes| bytes < MOST_LEFT)
    }
}

/// No size of more bytes is left to MPI without a look at the call.
const MOST_LEFT: u64 = 1 << 40;

/// The decision of a rule.
#[derive(Clone, Debug)]
enum Choice {
    /// MPI's own algorithm.
    Native,
    /// This one, with these values of its parameters.
    Algorithm(&'static Entry, Given),
}

impl Rules {
    /// The rules of an MPI program, as [`Rules::parse_on`] for the machine that is assumed of it.
    ///
    /// # Errors
    /// As [`Rules::parse_on`].
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Self::parse_on(text, file, &Surroundings::assumed())
    }

    /// The rules of a text, one per line, with automatic values on a machine; `file` names the text in errors.
    ///
    /// # Errors
    /// A line that is no rule, an algorithm or parameter that does not exist, a range that holds nothing, an automatic value
    /// that the machine does not have.
    pub fn parse_on(text: &str, file: &str, on: &Surroundings) -> Result<Self> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let rule = parse_rule(line, on).map_err(|error| error.at(format!("{file}:{}", number + 1)))?;
                rules.push(Rule { line: number + 1, ..rule });
            }
        }
        Ok(Self(rules))
    }

    /// The rules in the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// These rules, and others that are tried after them.
    pub fn followed_by(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Whether a rule for these calls, of one collective or of any, may choose an algorithm.
    pub fn mention(&self, collective: Option<Collective>, is_nonblocking: bool) -> bool {
        let fits = |rule: &Rule| {
            rule.is_nonblocking == is_nonblocking && collective.is_none_or(|wanted| rule.collective == wanted)
        };
        self.0.iter().any(|rule| fits(rule) && !matches!(rule.choice, Choice::Native))
    }

    /// The bytes below which all calls of a collective on so many ranks are left to MPI, whatever else they are: the first
    /// rule that fits says so, or none fits. Bytes of the buffer, or of each block where a call's count is that of a block:
    /// then all blocks are alike. `is_nonblocking` as in [`Rules::decide`].
    pub fn left_below(&self, collective: Collective, ranks: usize, is_nonblocking: bool) -> u64 {
        let rules =
            || self.0.iter().filter(|rule| (rule.collective, rule.is_nonblocking) == (collective, is_nonblocking));
        let is_left = |&bytes: &u64| {
            let call = Call::new(collective, ranks, bytes as usize);
            let first = rules().find(|rule| rule.condition.holds(&call));
            first.is_none_or(|rule| matches!(rule.choice, Choice::Native))
        };
        let edges = rules().flat_map(|rule| rule.condition.edges(ranks));
        let size_bytes = edges.chain([0]).filter(|bytes| !is_left(bytes)).min().unwrap_or(MOST_LEFT);
        // Its size is that of all blocks, its count that of one.
        if collective == Collective::ReduceScatter { size_bytes.div_ceil(ranks.max(1) as u64) } else { size_bytes }
    }

    /// The algorithm for a call, and the call as it takes it; `is_nonblocking` if it returns before it is complete.
    ///
    /// # Errors
    /// Why MPI does it: no rule fits, the first one that does says so, or the algorithms refuse the call.
    pub fn decide(&self, call: &Call, is_nonblocking: bool) -> Result<(&'static Entry, Call)> {
        self.decide_by_rule(call, is_nonblocking).map(|(_, entry, call)| (entry, call))
    }

    /// The same, and before it the text of the rule that decides.
    ///
    /// # Errors
    /// As [`Rules::decide`].
    pub fn decide_by_rule(&self, call: &Call, is_nonblocking: bool) -> Result<(&str, &'static Entry, Call)> {
        let fits = |rule: &&Rule| {
            rule.collective == call.collective && rule.is_nonblocking == is_nonblocking && rule.condition.holds(call)
        };
        let mut reason = Error::new("no rule for it");
        for rule in self.0.iter().filter(fits) {
            match &rule.choice {
                Choice::Native => return Err(Error::new("a rule says native")),
                Choice::Algorithm(entry, given) => match given.accept(entry, call) {
                    Ok(accepted) => return Ok((&rule.text, entry, accepted)),
                    Err(refusal) => reason = refusal,
                },
            }
        }
        Err(reason)
    }
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
    let written = pairs(values)?.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Rule { line: 1, text: line.to_owned(), collective, is_nonblocking, condition, choice, written })
}

/// A collective, and whether the form is meant that returns before it is complete.
fn parse_collective(name: &str) -> Result<(Collective, bool)> {
    let nonblocking = || Collective::named(name.strip_prefix('i')?).map(|collective| (collective, true));
    Collective::named(name).map(|collective| (collective, false)).or_else(nonblocking).ok_or_else(|| {
        let known = Collective::ALL.iter().map(|collective| collective.name());
        let unknown = names::unknown("collective", name, known);
        Error::new(if unknown.ends_with('?') { unknown } else { format!("{unknown}, or one with an i before it") })
    })
}

fn parse_choice(collective: Collective, text: &str, on: &Surroundings) -> Result<Choice> {
    let (name, values) = text.split_once(',').unwrap_or((text, ""));
    if name.trim() == NATIVE {
        return match values.trim() {
            "" => Ok(Choice::Native),
            _ => Err(Error::new(format!("{NATIVE} has no parameters, got {:?}", values.trim()))),
        };
    }
    let entry = find(collective, name.trim())?;
    let (mut numbers, mut automatic) = (Vec::new(), Vec::new());
    for (key, value) in pairs(values)? {
        if value == AUTO {
            automatic.push(key);
            continue;
        }
        let declared = entry.about.parameters.iter().find(|parameter| parameter.name == key);
        let value = match declared {
            Some(parameter) if parameter.unit == Unit::Bytes => parse_bytes(value),
            Some(parameter) if !parameter.words().is_empty() => parameter.number_of(value),
            _ => value.parse().map_err(|_| Error::new(format!("got {value:?}, expected a whole number"))),
        };
        numbers.push((key.to_owned(), value.map_err(|error| error.at(format!("{entry}: {key}")))?));
    }
    Ok(Choice::Algorithm(entry, Given::new(entry, numbers, automatic, on)?))
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

/// `FROM..TO`, of which either may be missing, or one value.
fn parse_range(text: &str) -> Result<Range<u64>> {
    let Some((from, to)) = text.split_once("..") else {
        let value = parse_bytes(text).map_err(|_| {
            Error::new(format!("got {text:?}, expected one value, or FROM..TO such as 64KiB.. or 2..17"))
        })?;
        return Ok(value..value.saturating_add(1));
    };
    let end = |text: &str, missing| if text.trim().is_empty() { Ok(missing) } else { parse_bytes(text) };
    let range = end(from, 0)?..end(to, u64::MAX)?;
    if range.is_empty() {
        Err(Error::new(format!("range {text:?} holds nothing, expected FROM < TO")))
    } else {
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hocket_core::{Counts, Pairs};

    use super::*;

    fn chosen(rules: &Rules, collective: Collective, bytes: usize, ranks: usize) -> String {
        match rules.decide(&Call::new(collective, ranks, bytes), false) {
            Ok((entry, call)) => format!("{} {:?}", entry.name, call.parameters),
            Err(reason) => reason.to_string(),
        }
    }

    #[test]
    fn the_first_rule_decides_that_fits_and_is_not_refused() {
        let text = "# long ones\nallreduce[size=64KiB.., ranks=8..]: ring\n\nallreduce : recursive_doubling # all others\n\
                    broadcast[ size = ..1MiB ]: chain, segment=4KiB\nalltoall:native\n\
                    allgather: recursive_doubling\nallgather[ranks=..6]: ring";
        let rules = Rules::parse(text, "rules").expect("good rules");
        assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 8), "ring []");
        assert_eq!(chosen(&rules, Collective::Allreduce, 65535, 8), "recursive_doubling []");
        assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 7), "recursive_doubling []");
        assert_eq!(chosen(&rules, Collective::Broadcast, (1 << 20) - 1, 2), "chain [(\"segment\", 4096)]");
        assert_eq!(chosen(&rules, Collective::Broadcast, 1 << 20, 2), "no rule for it");
        assert_eq!(chosen(&rules, Collective::Alltoall, 0, 1), "a rule says native");
        assert_eq!(chosen(&rules, Collective::Barrier, 0, 1), "no rule for it");
        assert_eq!(chosen(&rules, Collective::Allgather, 8, 5), "ring []");
        let refusal = chosen(&rules, Collective::Allgather, 8, 7);
        assert!(refusal.starts_with("allgather recursive_doubling needs a power of two of ranks"), "{refusal}");
    }

    #[test]
    fn the_total_is_that_of_all_blocks_and_ranks_may_be_a_power_of_two() {
        let text = "allgather[total=..1KiB, ranks=power_of_two, ranks=4..]: recursive_doubling\nallgather: ring";
        let rules = Rules::parse(text, "rules").expect("good rules");
        let cases = [(255, 4, true), (256, 4, false), (8, 5, false), (8, 2, false), (127, 8, true)];
        for (bytes, ranks, doubles) in cases {
            let expected = if doubles { "recursive_doubling []" } else { "ring []" };
            assert_eq!(chosen(&rules, Collective::Allgather, bytes, ranks), expected, "{bytes} bytes, {ranks} ranks");
        }
    }

    #[test]
    fn short_calls_may_be_left_whatever_else_they_are() {
        let cases = [
            ("", MOST_LEFT),
            ("allgather: native", MOST_LEFT),
            ("allgather: ring", 0),
            ("allgather[size=..64]: native\nallgather: ring", 64),
            ("allgather[size=64..1KiB]: ring", 64),
            ("allgather[total=64..]: ring", 16),
            ("allgather[total=63..]: ring", 16),
            ("allgather[size=8..64]: native\nallgather[size=..16]: native\nallgather: ring", 64),
            ("allgather[size=8..64]: native\nallgather: ring", 0),
            ("allgather[ranks=5..]: ring\nallgather[size=2MiB..]: ring", 2 << 20),
            ("allgather[ranks=power_of_two]: ring", 0),
            ("iallgather: ring\nalltoall: pairwise_exchange", MOST_LEFT),
        ];
        for (text, expected) in cases {
            let rules = Rules::parse(text, "rules").expect("good rules");
            let found = rules.left_below(Collective::Allgather, 4, false);
            assert_eq!(found, expected, "{text}");
            for bytes in [0, 1, 7, 8, 15, 16, 63, 64, 1023, 1024].into_iter().filter(|&bytes| (bytes as u64) < found) {
                let is_left = rules.decide(&Call::new(Collective::Allgather, 4, bytes), false).is_err();
                assert!(is_left, "{text}: {bytes}");
            }
        }
        let rules = Rules::parse("allgather: ring", "rules").expect("good rules");
        assert_eq!(rules.left_below(Collective::Barrier, 4, false), MOST_LEFT);
        let rules = Rules::parse("reduce_scatter[size=65..]: ring", "rules").expect("good rules");
        assert_eq!(rules.left_below(Collective::ReduceScatter, 4, false), 17);
    }

    #[test]
    fn rules_decide_where_a_rank_knows_its_own_counts_only() {
        let rules = Rules::parse("gatherv[ranks=2..]: linear\nalltoallv: linear", "rules").expect("good rules");
        let own = Call { counts: Counts::Own(3), ..Call::new(Collective::Gatherv, 4, 1) };
        let pairs = Counts::Pairs(Arc::new(Pairs::of_one(1, &[1, 2, 3, 4], &[4, 3, 2, 1])));
        let row = Call { counts: pairs, ..Call::new(Collective::Alltoallv, 4, 1) };
        for call in [own, row] {
            assert_eq!(rules.decide(&call, false).map(|(entry, _)| entry.name), Ok("linear"));
        }
    }

    /// The first and the last size of each algorithm of `tuned`'s allreduce on 4 to 7 ranks, and MPICH's broadcast on 8.
    #[test]
    fn the_rules_of_libraries_choose_as_their_sources_say() {
        let rules = |name| {
            let (_, text) = OF_LIBRARIES.iter().find(|(known, _)| *known == name).expect("a known name");
            Rules::parse(text, name).expect("good rules")
        };
        let (mpich, openmpi) = (rules("mpich-5"), rules("openmpi-5"));
        for (bytes, expected) in
            [(15, "ring"), (16, "recursive_doubling"), (8191, "recursive_doubling"), (8192, "rabenseifner")]
        {
            assert_eq!(chosen(&openmpi, Collective::Allreduce, bytes, 7), format!("{expected} []"));
        }
        for (bytes, ranks, expected) in [
            (1 << 20, 7, "binomial"),
            (12288, 8, "binomial"),
            (12289, 8, "scatter_doubling_allgather"),
            (524288, 8, "scatter_doubling_allgather"),
            (524289, 8, "scatter_ring_allgather"),
            (12289, 9, "scatter_ring_allgather"),
        ] {
            assert_eq!(chosen(&mpich, Collective::Broadcast, bytes, ranks), format!("{expected} []"));
        }
    }

    #[test]
    fn one_value_is_that_value() {
        let rules =
            Rules::parse("allreduce[ranks=8]: ring\nallreduce[size=64KiB]: swing", "rules").expect("good rules");
        assert_eq!(chosen(&rules, Collective::Allreduce, 8, 8), "ring []");
        assert_eq!(chosen(&rules, Collective::Allreduce, 8, 9), "no rule for it");
        assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 4), "swing []");
        assert_eq!(chosen(&rules, Collective::Allreduce, 65537, 4), "no rule for it");
    }

    #[test]
    fn automatic_values_follow_from_the_size_and_the_ranks_of_a_call() {
        let rules = Rules::parse("reduce: trinaryx3, segment=auto, X=4\nreduce: chain", "rules").expect("good rules");
        let segment = |bytes, ranks| match rules.decide(&Call::new(Collective::Reduce, ranks, bytes), false) {
            Ok((entry, call)) if entry.name == "trinaryx3" => Some(call.parameter("segment")),
            _ => None,
        };
        // On a ring of 4 the trees are of height 3: sqrt(N L / (H (1/BWc + 1/BWo))), with 1 us and 10 GB/s.
        let best = |bytes: f64| (bytes * 1e-6 / (3.0 * 2.0 / 10e9)).sqrt().round() as u64;
        assert_eq!([segment(1 << 16, 4), segment(1 << 20, 4)], [65536.0, 1048576.0].map(|bytes| Some(best(bytes))));
        assert_eq!([segment(1 << 16, 5), segment(0, 4)], [None, Some(65536)]);
    }

    #[test]
    fn collectives_go_by_the_names_of_mpi_too() {
        let text = "bcast: chain, segment=8B\nireduce_scatter_block: ring";
        let rules = Rules::parse(text, "rules").expect("good rules");
        assert_eq!(chosen(&rules, Collective::Broadcast, 8, 8), "chain [(\"segment\", 8)]");
        assert!(rules.mention(Some(Collective::ReduceScatter), true));
    }

    #[test]
    fn calls_that_return_early_have_rules_of_their_own() {
        let rules =
            Rules::parse("iallreduce: ring\nallreduce: swing\nibroadcast: native", "rules").expect("good rules");
        let call = Call::new(Collective::Allreduce, 4, 8);
        let name = |is_nonblocking| rules.decide(&call, is_nonblocking).expect("a rule").0.name;
        assert_eq!((name(false), name(true)), ("swing", "ring"));
        assert!(rules.mention(None, true) && rules.mention(Some(Collective::Allreduce), false));
        assert!(!rules.mention(Some(Collective::Broadcast), true));
    }

    #[test]
    fn a_bad_rule_is_named_with_its_line() {
        let bad = [
            (
                "allreduce",
                "got \"allreduce\", expected COLLECTIVE[size=FROM..TO, ranks=FROM..TO]: ALGORITHM, NAME=VALUE",
            ),
            ("bcasts: chain", "unknown collective \"bcasts\", expected one of allgather, allreduce"),
            ("allreduce: rings", "unknown allreduce algorithm \"rings\", did you mean ring?"),
            ("alltoallv[size=1..]: linear", "alltoallv: got a size, expected none: a rank knows its own blocks only"),
            ("allreduce[total=1..]: ring", "allreduce: got a total, expected a size, which is that of all blocks"),
            ("allreduce[size=1..1]: ring", "range \"1..1\" holds nothing, expected FROM < TO"),
            ("allreduce[size=x]: ring", "got \"x\", expected one value, or FROM..TO such as 64KiB.. or 2..17"),
            ("allreduce[bytes=7..]: ring", "unknown condition \"bytes\", expected size, total or ranks"),
            ("allreduce[size=7..: ring", "got \"allreduce[size=7..\", expected COLLECTIVE"),
            ("broadcast: chain, segment=x", "broadcast chain: segment: got \"x\""),
            (
                "alltoall: pairwise_exchange, pairing=1",
                "alltoall pairwise_exchange: pairing: parameter pairing: got \"1\", expected one of xor_or_shift, xor, shift",
            ),
            ("broadcast: chain, segment", "got \"segment\", expected NAME=VALUE"),
            ("broadcast: chain, size=8", "broadcast chain: unknown parameter \"size\""),
            (
                "allreduce: redundant_butterfly, T=auto",
                "T=auto: the rules of an MPI program have no machine to take it from, expected a number",
            ),
            (
                "broadcast: chain, segment=auto",
                "broadcast/chain: parameter segment = auto, but it has no automatic value",
            ),
            ("broadcast: chain, size=auto", "broadcast chain: unknown parameter \"size\", expected segment"),
            ("alltoall: native, x=1", "native has no parameters, got \"x=1\""),
        ];
        for (line, expected) in bad {
            let error = Rules::parse(&format!("# one\n{line}"), "my.rules").expect_err(line).to_string();
            assert!(error.starts_with(&format!("my.rules:2: {expected}")), "{line}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_rules_or_one_line_that_names_the_file(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "allreduce", "iallreduce", "broadcast", "ring", "chain", "native", ":", "[", "]", ",", "=", "size", "ranks",
                    "segment", "..", "64KiB", "1", "-1", "18446744073709551616", "#", "\n", " ", "\u{e9}", "i",
                ]),
                0..24,
            ),
        ) {
            let text = parts.concat();
            if let Err(error) = Rules::parse(&text, "some.rules") {
                let error = error.to_string();
                proptest::prop_assert!(error.starts_with("some.rules:") && error.lines().count() == 1, "{}", error);
            }
        }
    }
}
