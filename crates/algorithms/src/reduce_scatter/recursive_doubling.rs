//! Recursive doubling: an allreduce of the whole vector, of which every rank keeps its block.
//!
//! Source: for operators that do not commute, as in R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
//! communication operations in MPICH", IJHPCA 19 (2005), section 4.3; here with whole vectors, as allreduce
//! recursive_doubling sends them.
//! Needs: nothing; operands are combined in rank order.
//! Counts: those of allreduce recursive_doubling: log2 P exchanges of n bytes, where ring and pairwise send n (P-1)/P in all.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3        step 0: all blocks
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   step 1: all blocks, then each keeps its own
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::allreduce::recursive_doubling as allreduce;

pub const ABOUT: About = About::new(allreduce::ABOUT.cost, allreduce::ABOUT.messages).exact_when(|_| true);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let vector = r.scratch(c.total());
    r.copy(c.input(r), vector).await;
    allreduce::combine_everywhere(r, vector).await;
    r.copy(c.block(vector, r.rank()), c.result(r)).await;
}
