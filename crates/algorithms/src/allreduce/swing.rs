//! Swing: reduce_scatter, then allgather; partners swing from side to side, at distances 1, 1, 3, 5, 11, ..
//!
//! When P is not 2^K, ranks fold first, as in recursive_doubling; for even P, the paper needs no fold.
//!
//! Source: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce",
//! NSDI 2024, the bandwidth-optimal version. Chunks are numbered so that the chunks a rank still works on are
//! contiguous.
//! Needs: a commutative operator: the combined ranges of ranks wrap around rank 0.
//! Counts: K = floor(log2 P) exchanges of n/2, n/4, .. n/P bytes, and the same backwards. When P is not 2^K, two more
//! messages of n bytes are on the critical path; the formula is then an upper bound, as it rounds chunks of n/2^K bytes
//! up to multiples of n/P.
//!
//! ```text
//! rank    0   1   2   3   4   5   6   7
//! step 0  └───┘   └───┘   └───┘   └───┘     even ranks to the right by 1
//! step 1  ┘   └───┘   └───┘   └───┘   └     even ranks to the left by 1
//! step 2  └───────────┘                     even ranks to the right by 3: also 2-5, 4-7, 6-1
//! ```

use hocket_core::{Call, Rank, Symmetry};

use crate::about::{About, flips_evenly, needs_commutative};
use crate::allreduce::rabenseifner::halve_and_double_vector;

pub const ABOUT: About = About::new(
    "2*floor(log2(P))*alpha + ceil(P/2^floor(log2(P)))*(2^floor(log2(P))-1)/P*(2*n*beta + n*gamma) \
     + (ceil(log2(P))-floor(log2(P)))*(2*alpha + 2*n*beta + n*gamma)",
    "2*(P - 2^floor(log2(P))) + 2*2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|c| c.ranks.is_power_of_two() && c.count(0).is_multiple_of(c.ranks))
.refusing(needs_commutative)
.symmetric(|c| flips_evenly(c).and(Some(Symmetry::Rotation(2))));

pub async fn program(r: &Rank<'_>, c: &Call) {
    halve_and_double_vector(r, c, swing, label).await;
}

/// The paper's pi(r, s): r + rho(s) for even r and r - rho(s) for odd r, with rho(s) the sum of (-2)^i for i = 0 .. s.
pub fn swing(rank: usize, step: u32, ranks: usize) -> usize {
    let rho = (1 - (-2_i64).pow(step + 1)) / 3;
    let distance = if rank.is_multiple_of(2) { rho } else { -rho };
    (rank as i64 + distance).rem_euclid(ranks as i64) as usize
}

/// A label such that partners of step s differ in bit s, and agree in bits 0 .. s-1. The highest bit is 1 for odd
/// ranks. The other bits are half of the number of the even rank in the last step's pair.
pub fn label(rank: usize, ranks: usize) -> usize {
    if rank.is_multiple_of(2) { rank / 2 } else { swing(rank, ranks.ilog2() - 1, ranks) / 2 + ranks / 2 }
}
