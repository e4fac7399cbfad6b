//! Circulant graph: reduce_scatter of the vector's chunks with skips that halve, then allgather with the same skips backwards.
//!
//! Source: J. L. Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv 2410.14234.
//! Needs: a commutative operator, since a chunk is combined in the order of the skips.
//! Counts: 2 ceil(log2 P) rounds and 2 (P-1) chunks of n/P for any P: rabenseifner's for a power of two, without a fold for others.
//!
//! ```text
//! P = 5    skips 3, 2, 1    0 ──c3 c4──▶ 3    0 ──c2──▶ 2    0 ──c1──▶ 1      rank r has reduced chunk r
//!          skips 1, 2, 3    0 ◀──c1── 1       0 ◀──c2── 2    0 ◀──c3 c4── 3
//! ```

use hocket_core::{Call, Collective, Counts, Rank};

use crate::about::needs_commutative;
use crate::pattern::Rotation;
use crate::{About, circulant};

pub const ABOUT: About =
    About::new("2*ceil(log2(P))*alpha + 2*(P-1)/P*n*beta + (P-1)/P*n*gamma", "2*P*ceil(log2(P))")
        .refusing(needs_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    let chunks = Call { counts: Counts::even(result.len, r.size()), ..c.with(Collective::ReduceScatter, 0) };
    let (rotation, rotated) = (Rotation::new(&chunks, r.rank()), r.scratch(result.len));
    for (ordered, rotated) in rotation.pieces(c.input(r), rotated) {
        r.copy(ordered, rotated).await;
    }
    circulant::reduce_scatter(r, &rotation, rotated).await;
    circulant::allgather(r, &rotation, rotated).await;
    for (ordered, rotated) in rotation.pieces(result, rotated) {
        r.copy(rotated, ordered).await;
    }
}
