//! Hillis and Steele: in step k every rank sends the sum of 2^k ranks, itself the last, to the rank 2^k to its right.
//!
//! Source: W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986), with a second sum that leaves out
//! the rank itself; J. L. Träff, "Optimal exclusive prefix sums", arXiv 2507.04785 (the two-operator algorithm).
//! Needs: nothing; operands are combined in rank order.
//! Counts: ceil(log2 P) steps of n bytes; P - 2^k messages in step k. From step 1 on, a rank combines twice in a step,
//! or once when it does not send the sum on.
//!
//! ```text
//! step 0    0 ─▶ 1   1 ─▶ 2   2 ─▶ 3   3 ─▶ 4     rank r has the vector of r-1, and the sum r-1 .. r
//! step 1    0 ─────▶ 2   1 ─────▶ 3   2 ─────▶ 4  the sum r-3 .. r-1, and the sum r-3 .. r
//! step 2    0 ─────────────▶ 4                    the sum r-7 .. r-1
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About = About::new(
    "ceil(log2(P))*(alpha + n*beta) + 2*max(0, ceil(log2(P)) - 1)*n*gamma",
    "P*ceil(log2(P)) - (2^ceil(log2(P)) - 1)",
)
.exact_when(|c| c.ranks.is_power_of_two())
.combining("hillis_steele");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, before) = (r.rank(), r.size(), c.input(r), c.result(r));
    let (through, arrived) = (r.scratch(input.len), r.scratch(input.len));
    r.copy(input, through).await;
    let mut distance = 1;
    while distance < size {
        let is_first = distance == 1;
        let room = if is_first { before } else { arrived };
        let send = (rank + distance < size).then(|| r.send(rank + distance, through));
        let receive = (rank >= distance).then(|| r.recv(rank - distance, room));
        r.join_optional(send, receive).await;
        if rank >= distance {
            if rank + 2 * distance < size {
                r.combine(room, through, Side::Left).await;
            }
            if !is_first {
                r.combine(arrived, before, Side::Left).await;
            }
        }
        distance *= 2;
    }
}
