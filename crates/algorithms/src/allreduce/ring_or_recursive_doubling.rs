//! Ring of Open MPI: a ring, or recursive doubling when the vector has fewer elements than there are ranks.
//!
//! Source: Open MPI, `coll_base_allreduce.c`: `ompi_coll_base_allreduce_intra_ring`.
//! Needs: a commutative operator, as ring does.
//! Counts: as ring, or as recursive_doubling. With fewer elements than ranks, some chunks of the ring would be empty.
//!
//! ```text
//! 3 ranks    2 elements: recursive_doubling    3 or more elements: ring
//! ```

use hocket_core::{Call, Rank};

use super::{recursive_doubling, ring};
use crate::about::{About, needs_commutative, ranks_divide_count};

pub const ABOUT: About = About::new(
    "many*(2*(P-1)*alpha + 2*(P-1)/P*n*beta + (P-1)/P*n*gamma) \
     + (1 - many)*(floor(log2(P)) + 2*(ceil(log2(P)) - floor(log2(P))))*(alpha + n*beta + n*gamma)",
    "many*2*P*(P-1) + (1 - many)*(2*(P - 2^floor(log2(P))) + 2^floor(log2(P))*floor(log2(P)))",
)
.exact_when(|c| has_many(c) && ranks_divide_count(c))
.refusing(needs_commutative)
.completing(|c| vec![("many", u64::from(has_many(c)))])
.symmetric(|c| (if has_many(c) { ring::ABOUT } else { recursive_doubling::ABOUT }.symmetry)(c));

pub async fn program(r: &Rank<'_>, c: &Call) {
    if has_many(c) {
        ring::program(r, c).await;
    } else {
        recursive_doubling::program(r, c).await;
    }
}

/// Whether there are at least as many elements as ranks.
fn has_many(c: &Call) -> bool {
    c.count(0) >= c.ranks
}
