//! Circulant: segments travel in rounds of distances ceil(P/2^k); each round, a rank receives one and sends another.
//!
//! Source: J. L. Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast,
//! Reduction and All-Reduction", arXiv:2407.18004 (2024). Each rank computes which segments it receives. It finds the
//! segments it sends in the same way, for its ceil(log2 P) partners.
//! Needs: nothing.
//! Counts: ceil(log2 P) - 1 + S rounds of one segment, for S segments: no algorithm needs fewer. S (P-1) messages.
//!
//! ```text
//! P = 5, ranks counted from the root; distances 3, then 1 2 3 again and again; S = 2
//! round 1, distance 3    0 ──s0──▶ 3
//! round 2, distance 1    0 ──s1──▶ 1   3 ──s0──▶ 4
//! round 3, distance 2    0 ──s1──▶ 2   4 ──s0──▶ 1
//! round 4, distance 3    0 ──s1──▶ 3   4 ──s0──▶ 2   1 ──s1──▶ 4
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments};
use crate::shapes::Segments;
use crate::shapes::circulant;

pub const ABOUT: About = About::new(
    "(ceil(log2(P)) - 1 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*beta)",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(has_equal_segments)
.in_segments();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let segments = Segments::new(c, c.result(r));
    for round in circulant::broadcast_rounds((rank + size - c.root) % size, size, segments.count()) {
        let (to, from) = ((rank + round.distance) % size, (rank + size - round.distance) % size);
        let receive = round.received.map(|index| r.recv(from, segments.get(index)));
        let pass_on = round.sent.map(|index| r.send(to, segments.get(index)));
        r.join_optional(receive, pass_on).await;
    }
}
