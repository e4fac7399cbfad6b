//! Rules for the programs that distribute a payload or run over a group.

use hocket_algorithms::rules::Rules;
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective, Result};

/// The best distribution in measurements on one node, see `docs/multicast.md`: ranks that share memory pay for every
/// message, and a tree has the fewest.
const ONE_NODE: &str = "\
broadcast: binomial
";

/// The best distribution in simulations of a dragonfly, see `docs/multicast.md`.
pub const SIMULATED: &str = "\
broadcast[size=..128KiB]: binomial
broadcast[size=..1MiB, ranks=..64, ranks=power_of_two]: scatter_doubling_allgather
broadcast[size=..1MiB]: double_tree, segment=32KiB
broadcast: double_tree, segment=64KiB
";

/// Rules for collectives over groups, and for payloads that no other rule takes.
const OTHERS: &str = "\
broadcast: binomial
allreduce[size=..64KiB]: recursive_doubling
allreduce: ring
allreduce: recursive_doubling
reduce: binomial
reduce: linear
allgather[size=..64KiB]: bruck
allgather: ring
alltoall[size=..1KiB]: bruck
alltoall: pairwise_exchange
alltoallv: pairwise_exchange
exscan: doubling_123
gather: binomial
gatherv: linear
scatter: binomial
scatterv: linear
scan: recursive_doubling
reduce_scatter: pairwise
reduce_scatter: recursive_doubling
barrier: dissemination
";

/// The paper's rule: up to 8 KB down the tree, beyond that scatter and ring.
pub const PAPER: &str = "\
broadcast[size=..8193]: binomial
broadcast: scatter_ring_allgather
";

/// The rules with this name (`measured`, `simulated` or `paper`) or with this text, followed by rules for all other
/// calls.
pub fn rules(text: &str) -> Result<Rules> {
    let text = match text.trim() {
        "" | "measured" => ONE_NODE,
        "simulated" => SIMULATED,
        "paper" => PAPER,
        other => other,
    };
    Rules::parse(text, "rules").and_then(|_| Rules::parse(&format!("{text}\n{OTHERS}"), "rules"))
}

/// The algorithm that distributes a payload: its index in the catalogue, and the values of its parameters.
///
/// # Errors
/// All matching rules choose MPI's own algorithm, or their algorithms refuse.
pub fn choose(rules: &Rules, members: usize, bytes: usize) -> Result<(u16, Vec<u64>)> {
    let (entry, call) = rules.decide(&Call::new(Collective::Broadcast, members, bytes), false)?;
    let values = entry.about.parameters.iter().map(|parameter| call.parameter(parameter.name)).collect();
    let is_this = |other: &Entry| other.collective == entry.collective && other.name == entry.name;
    let number = CATALOGUE.iter().position(is_this).expect("it is of the catalogue");
    Ok((number as u16, values))
}

/// The algorithm of a header and its call; none if the algorithm does not exist or refuses the call.
pub fn algorithm_of_header(
    number: u16,
    values: &[u64],
    members: usize,
    bytes: usize,
) -> Option<(&'static Entry, Call)> {
    let entry = CATALOGUE.get(number as usize).filter(|entry| entry.collective == Collective::Broadcast)?;
    let names = entry.about.parameters.iter().map(|parameter| parameter.name.to_owned());
    let parameters: Vec<_> = names.zip(values.iter().copied()).collect();
    Some((entry, entry.accept(&Call::new(Collective::Broadcast, members, bytes), &parameters).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str, members: usize, bytes: usize) -> &'static str {
        let (number, values) = choose(&rules(text).unwrap(), members, bytes).unwrap();
        algorithm_of_header(number, &values, members, bytes).unwrap().0.name
    }

    #[test]
    fn the_papers_rule_changes_beyond_8_kb() {
        for (bytes, name) in [(0, "binomial"), (8192, "binomial"), (8193, "scatter_ring_allgather")] {
            assert_eq!(choice("paper", 8, bytes), name);
        }
    }

    #[test]
    fn a_rule_of_the_callers_goes_before_the_measured_ones() {
        let text = "broadcast[size=1MiB..]: chain, segment=64KiB";
        let (number, values) = choose(&rules(text).unwrap(), 8, 1 << 20).unwrap();
        assert_eq!((CATALOGUE[number as usize].name, values), ("chain", vec![65536]));
        assert_eq!(choice(text, 8, 1), choice("measured", 8, 1));
        assert!(rules("broadcast: no_such").unwrap_err().to_string().starts_with("rules:1: unknown broadcast"));
    }
}
