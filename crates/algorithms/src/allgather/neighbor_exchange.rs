//! Neighbor exchange: every rank exchanges with its two neighbours in turn, and sends what the other one sent last.
//!
//! Source: J. Chen, L. Zhang, Y. Zhang, W. Yuan, "Performance evaluation of allgather algorithms on terascale Linux
//! cluster with fast Ethernet", HPC Asia 2005.
//! Needs: an even number of ranks.
//! Counts: P/2 rounds, the first of one block and the others of two.
//!
//! ```text
//! round 0    0 ◀─▶ 1   2 ◀─▶ 3   4 ◀─▶ 5          own blocks
//! round 1    ▶ 0   1 ◀─▶ 2   3 ◀─▶ 4   5 ◀        both blocks of the pair of round 0
//! round 2    0 ◀─▶ 1   2 ◀─▶ 3   4 ◀─▶ 5          the two blocks of round 1
//! ```

use hocket_core::{Call, Rank, Symmetry};

use crate::about::{About, has_equal_blocks};

pub const ABOUT: About = About::new("P/2*alpha + (P-1)*n*beta", "P*P/2")
    .refusing(|c| {
        let is_odd = !c.ranks.is_multiple_of(2);
        is_odd.then_some("needs an even number of ranks: neighbours exchange in pairs")
    })
    .symmetric(|c| has_equal_blocks(c).then_some(Symmetry::Rotation(2)));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let is_even = rank.is_multiple_of(2);
    let neighbour = |is_right: bool| if is_right { (rank + 1) % size } else { (rank + size - 1) % size };
    r.copy(c.input(r), c.block(result, rank)).await;
    let mate = neighbour(is_even);
    r.sendrecv(mate, c.block(result, rank), mate, c.block(result, mate)).await;

    let (pairs, own) = (size / 2, rank / 2);
    let mut latest = own;
    for round in 1..pairs {
        let (is_right, distance) = (is_even == round.is_multiple_of(2), round.div_ceil(2));
        let coming = if is_right { (own + distance) % pairs } else { (own + pairs - distance) % pairs };
        let (peer, pair) = (neighbour(is_right), |pair: usize| c.blocks(result, 2 * pair, 2));
        r.sendrecv(peer, pair(latest), peer, pair(coming)).await;
        latest = coming;
    }
}
