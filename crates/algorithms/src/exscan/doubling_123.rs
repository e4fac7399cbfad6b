//! 123-doubling: distances 1, 2, 3, 6, 12, ..; a rank adds its own vector to what it sends only at distance 2.
//!
//! Source: J. L. Träff, "Optimal exclusive prefix sums", arXiv 2507.04785.
//! Needs: nothing; operands are combined in rank order.
//! Counts: ceil(log2(4/3 (P-1))) steps of n bytes, at most one more than the lower bound. A step has one combination,
//! half as many as in recursive doubling.
//!
//! ```text
//! distance 1    0 ─▶ 1   1 ─▶ 2   2 ─▶ 3   3 ─▶ 4     rank r has the vector of r-1
//! distance 2    0 ─────▶ 2   1 ─────▶ 3   2 ─────▶ 4  the sum r-3 .. r-1: rank 1 sends 0 + 1, rank 2 sends 1 + 2
//! distance 3    1 ─────────▶ 4   2 ─────────▶ 5       the sum r-6 .. r-1: rank 2 sends 0 + 1, without its own vector
//! distance 6    1 ─────────────────────▶ 7            the sum r-12 .. r-1
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About = About::new(
    "ceil(log2(4*max(P-1, 0.75)/3))*(alpha + n*beta + max(0, P-2)/max(1, P-2)*n*gamma)",
    "P - 1 + max(0, P-2) + ceil(log2(max(P-1, 3)/3))*(P-1) - 3*(2^ceil(log2(max(P-1, 3)/3)) - 1)",
)
.exact_when(|c| c.ranks < 3 || (c.ranks - 1).is_multiple_of(3) && ((c.ranks - 1) / 3).is_power_of_two())
.combining("doubling_123");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, before) = (r.rank(), r.size(), c.input(r), c.result(r));
    let (through, arrived) = (r.scratch(input.len), r.scratch(input.len));
    r.copy(input, through).await;
    let mut distance = 1;
    while distance < size {
        // Rank 0 has only its own vector, which it sends to ranks 1 and 2.
        let first_sender = usize::from(distance > 2);
        if distance == 2 && rank > 0 && rank + 2 < size {
            r.combine(before, through, Side::Left).await;
        }
        let (data, room) = (if distance > 2 { before } else { through }, if distance > 1 { arrived } else { before });
        let (sends, receives) = (rank >= first_sender && rank + distance < size, rank >= first_sender + distance);
        let send = sends.then(|| r.send(rank + distance, data));
        r.join_optional(send, receives.then(|| r.recv(rank - distance, room))).await;
        if distance > 1 && receives {
            r.combine(arrived, before, Side::Left).await;
        }
        distance = if distance < 3 { distance + 1 } else { 2 * distance };
    }
}
