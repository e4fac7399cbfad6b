//! k-dissemination: in round i every rank signals the k-1 ranks that are j k^i to its right, for j = 1 .. k-1.
//!
//! k is the parameter `radix`; with k = 2 this is dissemination. A round ends when the signals of the ranks to the left
//! have arrived.
//!
//! Source: T. Hoefler, T. Mehlan, F. Mietke, W. Rehm, "Fast barrier synchronization for InfiniBand", IPDPS 2006: n-way
//! dissemination with n = k-1 signals at a time.
//! Needs: nothing.
//! Counts: ceil(logk P) rounds of up to k-1 empty messages at a time.
//!
//! ```text
//! P = 9, radix 3    round 1    0 ─▶ 1, 2     1 ─▶ 2, 3     ..     8 ─▶ 0, 1
//!                   round 2    0 ─▶ 3, 6     1 ─▶ 4, 7     ..     8 ─▶ 2, 5
//! ```

use hocket_core::{Call, Parameter, Rank, Span};

use crate::about::{About, rotates};
use crate::shapes::radix::{counts_by_digits, distances, most_others, powers, radix};

const RADIX: Parameter =
    radix(4, "a round multiplies the ranks heard of by the radix: a rank signals radix - 1 others at a time");

pub const ABOUT: About = About::new("rounds*(2*ceil(ports/k)-1)*alpha", "P*others")
    .exact_when(|_| true)
    .on_ports(most_others)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits)
    .symmetric(rotates);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    for power in powers(c) {
        let exchange = |distance| {
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            r.sendrecv(to, Span::EMPTY, from, Span::EMPTY)
        };
        r.join_all(distances(c, power).map(exchange)).await;
    }
}
