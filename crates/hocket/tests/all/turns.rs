//! Cases that calls of a sweep take in turns.

/// Every `turns`-th of these, beginning with another one for another call.
pub fn of<T>(all: &[T], call: usize, turns: usize) -> impl Iterator<Item = &T> {
    // Unlike the numbers of calls, their bits do not repeat with the parameters.
    all.iter().skip(call.count_ones() as usize % turns).step_by(turns)
}
