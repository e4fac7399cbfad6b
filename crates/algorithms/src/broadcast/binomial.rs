//! Binomial tree: whoever has the message passes it on, so the number of holders doubles in each round.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005), section 4.2.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of n bytes; P-1 messages.
//!
//! ```text
//! round 1    0 ───────────▶ 4
//! round 2    0 ─────▶ 2     4 ─────▶ 6
//! round 3    0 ─▶ 1   2 ─▶ 3   4 ─▶ 5   6 ─▶ 7
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::pattern::BinomialTree;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta)", "P-1").exact_when(|_| true);

pub async fn program(r: &impl Rank, c: &Call) {
    let tree = BinomialTree::new(r.rank(), c.root, r.size());
    let result = c.result(r);
    if let Some(parent) = tree.parent() {
        r.recv(parent, result).await;
    }
    for child in tree.children().rev() {
        r.send(child, result).await;
    }
}
