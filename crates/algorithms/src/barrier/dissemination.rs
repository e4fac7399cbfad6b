//! Dissemination: in round k every rank signals the rank 2^k to its right, and waits for the one 2^k to its left.
//!
//! Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", Int. J. Parallel Programming
//! 17 (1988).
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of empty messages.
//!
//! ```text
//! round 1    0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 4 ─▶ 0
//! round 2    0 ─▶ 2 ─▶ 4 ─▶ 1 ─▶ 3 ─▶ 0
//! round 3    0 ─▶ 4 ─▶ 3 ─▶ 2 ─▶ 1 ─▶ 0
//! ```

use hocket_core::{Call, Rank, Span};

use crate::about::{About, rotates};

pub const ABOUT: About = About::new("ceil(log2(P))*alpha", "P*ceil(log2(P))").exact_when(|_| true).symmetric(rotates);

pub async fn program(r: &Rank<'_>, _: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        r.sendrecv(to, Span::EMPTY, from, Span::EMPTY).await;
        distance *= 2;
    }
}
