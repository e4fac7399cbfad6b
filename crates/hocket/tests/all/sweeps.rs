//! The calls of long sweeps.

use hocket_core::Call;

/// Up to this many ranks, long sweeps try every root and every value of parameters.
const MOST_RANKS_OF_LONG_SWEEPS: usize = 9;

/// Beyond, long sweeps try every value of parameters on this many ranks only, where tori of three axes fit.
const RANKS_OF_THREE_AXES: usize = 12;

/// Whether a long sweep tries every value of parameters on so many ranks, and not only the defaults.
pub fn has_all_values_in_long_sweeps(ranks: usize) -> bool {
    ranks <= MOST_RANKS_OF_LONG_SWEEPS || ranks == RANKS_OF_THREE_AXES
}

/// Whether a call belongs to a long sweep: every root of few ranks, else the first, the last and another one.
pub fn is_for_long_sweeps(call: &Call) -> bool {
    let is_few = call.ranks <= MOST_RANKS_OF_LONG_SWEEPS;
    is_few || [0, (call.ranks / 2 + call.count(0)) % call.ranks, call.ranks - 1].contains(&call.root)
}
