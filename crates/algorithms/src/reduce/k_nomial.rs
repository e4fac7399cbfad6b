//! k-nomial tree: the tree of broadcast k_nomial, run backwards, so k partial results become one in each round.
//!
//! k is the parameter `radix`; with k = 2 this is the binomial tree.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023; MPICH, `src/mpi/coll/reduce/reduce_intra_tree.c`.
//! Needs: root 0 or a commutative operator: the tree combines in the order of ranks counted from the root.
//! Counts: ceil(logk P) rounds. In a round, a rank receives up to k-1 messages of n bytes at a time and then combines
//! them. P-1 messages.
//!
//! ```text
//! P = 9, radix 3    round 1    1, 2 ─▶ 0     4, 5 ─▶ 3     7, 8 ─▶ 6
//!                   round 2    3 ───▶ 0      6 ───▶ 0
//! ```

use hocket_core::{Call, Parameter, Rank, Side};

use crate::about::{About, needs_root_0_or_commutative};
use crate::shapes::radix::{counts_by_digits, k_nomial, most_others, radix};

const RADIX: Parameter = radix(4, "partial results that a round joins into one: a rank receives radix - 1 at a time");

pub const ABOUT: About = About::new("rounds*ceil(ports/k)*(alpha + n*beta) + others*n*gamma", "P-1")
    .exact_when(|_| true)
    .on_ports(most_others)
    .refusing(needs_root_0_or_commutative)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits)
    .combining("k_nomial");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (tree, input) = (k_nomial(r, c), c.input(r));
    let total = if r.rank() == c.root { c.result(r) } else { r.scratch(input.len) };
    let most = (0..tree.height()).map(|level| tree.children_at(level).count()).max().unwrap_or(0);
    let arrived: Vec<_> = (0..most).map(|_| r.scratch(input.len)).collect();
    r.copy(input, total).await;
    for level in 0..tree.height() {
        let children = || tree.children_at(level).zip(&arrived);
        r.join_all(children().map(|(child, into)| r.recv(child, *into))).await;
        for (_, vector) in children() {
            r.combine(*vector, total, Side::Right).await;
        }
    }
    if let Some(parent) = tree.parent() {
        r.send(parent, total).await;
    }
}
