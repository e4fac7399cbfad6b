//! Circulant: the rounds of broadcast circulant, backwards; each round, a rank sends a partial sum and adds another.
//!
//! Source: J. L. Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast,
//! Reduction and All-Reduction", arXiv:2407.18004 (2024). Each rank computes which segments it sends. It finds the
//! segments it receives in the same way, for its ceil(log2 P) partners.
//! Needs: a commutative operator: partial sums wrap around the circle of ranks.
//! Counts: ceil(log2 P) - 1 + S rounds of one segment, for S segments: no algorithm needs fewer. S (P-1) messages.
//!
//! ```text
//! P = 5, ranks counted from the root; distances 3 2 1 again and again; S = 2
//! round 1, distance 3    3 ──s1──▶ 0   2 ──s0──▶ 4   4 ──s1──▶ 1
//! round 2, distance 2    2 ──s1──▶ 0   1 ──s0──▶ 4
//! round 3, distance 1    1 ──s1──▶ 0   4 ──s0──▶ 3
//! round 4, distance 3    3 ──s0──▶ 0
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments, needs_commutative};
use crate::shapes::Segments;
use crate::shapes::circulant;

pub const ABOUT: About = About::new(
    "(ceil(log2(P)) - 1 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(has_equal_segments)
.refusing(needs_commutative)
.in_segments();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input) = (r.rank(), r.size(), c.input(r));
    let total = if rank == c.root { c.result(r) } else { r.scratch(input.len) };
    let segments = Segments::new(c, total);
    let scratch = r.scratch(segments.get(0).len);
    r.copy(input, total).await;
    for round in circulant::broadcast_rounds((rank + size - c.root) % size, size, segments.count()).rev() {
        let (to, from) = ((rank + size - round.distance) % size, (rank + round.distance) % size);
        let arriving = round.sent.map(|index| (segments.get(index), scratch.part(0, segments.get(index).len)));
        let receive = arriving.map(|(_, arrived)| r.recv(from, arrived));
        let hand_on = round.received.map(|index| r.send(to, segments.get(index)));
        r.join_optional(receive, hand_on).await;
        if let Some((segment, arrived)) = arriving {
            r.reduce(from, arrived, segment).await;
        }
    }
}
