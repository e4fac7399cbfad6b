//! k-nomial tree: every rank that has the message sends it to k-1 others at a time, so holders grow k times a round.
//!
//! k is the parameter `radix`; with k = 2 this is the binomial tree.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023; MPICH, `src/mpi/coll/bcast/bcast_intra_tree.c`.
//! Needs: nothing.
//! Counts: ceil(logk P) rounds of up to k-1 messages of n bytes at a time; P-1 messages.
//!
//! ```text
//! P = 9, radix 3    round 1    0 ───▶ 3      0 ───▶ 6
//!                   round 2    0 ─▶ 1, 2     3 ─▶ 4, 5     6 ─▶ 7, 8
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::About;
use crate::shapes::radix::{counts_by_digits, k_nomial, most_others, radix};

const RADIX: Parameter =
    radix(4, "a round multiplies the holders by the radix: a rank sends to radix - 1 others at a time");

pub const ABOUT: About = About::new("rounds*ceil(ports/k)*(alpha + n*beta)", "P-1")
    .exact_when(|_| true)
    .on_ports(most_others)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (tree, result) = (k_nomial(r, c), c.result(r));
    if let Some(parent) = tree.parent() {
        r.recv(parent, result).await;
    }
    for level in (0..tree.height()).rev() {
        r.join_all(tree.children_at(level).map(|child| r.send(child, result))).await;
    }
}
