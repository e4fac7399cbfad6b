//! Recursive multiplying: in each step the ranks of a group of k exchange all their blocks, everyone with everyone.
//!
//! k is the parameter `radix`. The algorithm runs on Q = m k^i ranks: the last step joins m <= k groups, as many as P
//! has room for. Each of the P-Q ranks left over first sends its block to a neighbour among the Q, and receives all
//! blocks from it at the end.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023.
//! Needs: nothing.
//! Counts: one step for each factor f of Q. In a step, a rank sends all its blocks to f-1 others at a time. When P is
//! not Q, a message of one block comes before the steps, and a message of all blocks after them.
//!
//! ```text
//! P = 6, radix 3    0 ◀─▶ 1 ◀─▶ 2 ◀─▶ 0   3 ◀─▶ 4 ◀─▶ 5 ◀─▶ 3     step 0: groups of 3, one block
//!                   0 ◀─▶ 3   1 ◀─▶ 4   2 ◀─▶ 5                   step 1: groups of 2, three blocks
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::About;
use crate::shapes::group_start;
use crate::shapes::radix::{Multiplying, radix};

const RADIX: Parameter = radix(4, "ranks in a group, which exchange their blocks all at once");

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k)-1)*(steps*alpha + blocks*n*beta) + folds*(2*alpha + (P+1)*n*beta)",
    "active*others + 2*(P-active)",
)
.on_ports(|c| Multiplying::of(c).most_others())
.with_parameters(&[RADIX])
.completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, result, Multiplying { fold, steps }) = (r.rank(), c.result(r), Multiplying::of(c));
    r.copy(c.input(r), c.block(result, rank)).await;
    if fold.sits_out(rank) {
        r.send(rank + 1, c.block(result, rank)).await;
        r.recv(rank + 1, result).await;
        return;
    }
    if fold.speaks_for_two(rank) {
        r.recv(rank - 1, c.block(result, rank - 1)).await;
    }
    let me = fold.virtual_rank(rank);
    for groups in steps {
        let blocks = |virtual_rank| {
            let first = group_start(virtual_rank, groups.distance);
            let (start, end) = (fold.first_rank(first), fold.first_rank(first + groups.distance));
            c.blocks(result, start, end - start)
        };
        let exchange = |other| r.sendrecv(fold.rank_of(other), blocks(me), fold.rank_of(other), blocks(other));
        r.join_all(groups.others(me).map(|(_, other)| exchange(other))).await;
    }
    if fold.speaks_for_two(rank) {
        r.send(rank - 1, result).await;
    }
}

/// The values in formulas: the counts of the steps, and the `blocks` of the largest messages of all steps, which are
/// the messages of virtual rank 0.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let multiplying = Multiplying::of(c);
    let blocks: usize = multiplying.steps.iter().map(|groups| multiplying.fold.first_rank(groups.distance)).sum();
    multiplying.counts().into_iter().chain([("blocks", blocks as u64)]).collect()
}
