//! Hillis and Steele: in step k every rank sends its sum to the rank 2^k to its right, so sums reach twice as far back.
//!
//! Source: W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986).
//! Needs: nothing; operands are combined in rank order.
//! Counts: ceil(log2 P) steps of n bytes; P - 2^k messages in step k.
//!
//! ```text
//! step 0    0 ─▶ 1   1 ─▶ 2   2 ─▶ 3   3 ─▶ 4     rank r has the sum r-1 .. r
//! step 1    0 ─────▶ 2   1 ─────▶ 3   2 ─────▶ 4  the sum r-3 .. r
//! step 2    0 ─────────────▶ 4                    the sum r-7 .. r, as far as there are ranks
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About =
    About::new("ceil(log2(P))*(alpha + n*beta + n*gamma)", "P*ceil(log2(P)) - (2^ceil(log2(P)) - 1)")
        .exact_when(|_| true)
        .combining("hillis_steele");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let arrived = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    let mut distance = 1;
    while distance < size {
        let send = (rank + distance < size).then(|| r.send(rank + distance, result));
        let receive = (rank >= distance).then(|| r.recv(rank - distance, arrived));
        r.join_optional(send, receive).await;
        if rank >= distance {
            r.combine(arrived, result, Side::Left).await;
        }
        distance *= 2;
    }
}
