//! Cases that calls of a sweep take in turns.

/// On average every `turns`-th of these, other ones for another call. With more turns than cases, some calls take none.
pub fn of<T>(all: &[T], call: usize, turns: usize) -> impl Iterator<Item = &T> {
    all.iter().skip(first(call, turns)).step_by(turns)
}

/// Whether a call is one of every `turns`-th.
pub fn takes(call: usize, turns: usize) -> bool {
    first(call, turns) == 0
}

/// Looks random, so that it does not repeat with the roots, counts and parameters of calls.
fn first(call: usize, turns: usize) -> usize {
    ((call as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % turns
}
