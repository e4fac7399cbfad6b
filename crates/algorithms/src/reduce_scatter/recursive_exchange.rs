//! Recursive exchange: recursive halving in groups of k ranks, in which every rank exchanges blocks with each other one.
//!
//! k is the parameter `radix`, at most P; with k = 2 this is recursive_halving. The algorithm runs on Q = k^K ranks, the
//! most that P has room for. The P-Q ranks left over fold first: up to k-1 neighbours send their vectors to the next rank,
//! one after another, and receive their blocks at the end. In a group, a rank meets the others in the order of their
//! ranks, and combines what one has sent before it meets the next one: k-1 exchanges take the time of 2k-3.
//!
//! Source: MPICH, `MPIR_TSP_Ireduce_scatter_sched_intra_recexch`, with its default `is_dist_halving` = 0.
//! Needs: a commutative operator: the first partner is in another part of the ranks.
//! Counts: K steps of k-1 exchanges, of n/k, n/k^2, .. n/Q bytes when P = Q. Otherwise, some ranks work on up to k blocks
//! where others work on one, and up to k-1 messages of n bytes and as many of n/P bytes are on the critical path.
//!
//! ```text
//! P = 9, radix 3    0 ◀─▶ 3    0 ◀─▶ 6    3 ◀─▶ 6     step 0: the same for 1, 4, 7 and 2, 5, 8; a third of the blocks
//!                   0 ◀─▶ 1    0 ◀─▶ 2    1 ◀─▶ 2     step 1: the same for 3, 4, 5 and 6, 7, 8; a block
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::about::{About, has_equal_blocks, needs_commutative};
use crate::shapes::radix::{RadixGroups, radix, radix_of};
use crate::shapes::{Fold, group_start};

const RADIX: Parameter = radix(4, "ranks in a group, which exchange their blocks two by two");

pub const ABOUT: About = About::new(
    "rounds*alpha + blocks/P*n*(beta + gamma) + folding*(2*alpha + n*(beta + gamma) + n/P*beta)",
    "exchanges + 2*folded",
)
.exact_when(|c| Exchange::of(c).fold.active() == c.ranks && has_equal_blocks(c))
.refusing(needs_commutative)
.with_parameters(&[RADIX])
.completing(counts)
.combining("recursive_exchange");

/// The groups of all steps, with the farthest partners first, and the ranks that act in them.
struct Exchange {
    fold: Fold,
    steps: Vec<RadixGroups>,
}

impl Exchange {
    fn of(c: &Call) -> Self {
        let size = radix_of(c).min(c.ranks.max(2));
        let digits = c.ranks.ilog(size);
        let steps = (0..digits).rev().map(|digit| RadixGroups { distance: size.pow(digit), size }).collect();
        Self { fold: Fold::in_groups(size, size.pow(digits), c.ranks), steps }
    }
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, Exchange { fold, steps }) = (r.rank(), Exchange::of(c));
    let me = fold.virtual_rank(rank);
    if fold.sits_out(rank) {
        r.send(fold.rank_of(me), c.input(r)).await;
        r.recv(fold.rank_of(me), c.result(r)).await;
        return;
    }
    let (total, scratch) = (r.scratch(c.total()), r.scratch(c.total()));
    r.copy(c.input(r), total).await;
    for neighbor in (fold.first_rank(me)..rank).rev() {
        r.recv(neighbor, scratch).await;
        r.reduce(neighbor, scratch, total).await;
    }
    for groups in steps {
        let blocks = |virtual_rank| {
            let start = group_start(virtual_rank, groups.distance);
            let (first, end) = (fold.first_rank(start), fold.first_rank(start + groups.distance));
            c.blocks(total, first, end - first)
        };
        let arrived = scratch.part(0, blocks(me).len);
        for other in groups.members(me).filter(|other| *other != me) {
            let peer = fold.rank_of(other);
            r.sendrecv(peer, blocks(other), peer, arrived).await;
            r.reduce(peer, arrived, blocks(me)).await;
        }
    }
    for neighbor in (fold.first_rank(me)..rank).rev() {
        r.send(neighbor, c.block(total, neighbor)).await;
    }
    r.copy(c.block(total, rank), c.result(r)).await;
}

/// The values in formulas: all messages of `exchanges`; the ranks that are `folded`, and those of the largest group that
/// are `folding`; the `rounds` of exchanges, one after another, and the `blocks` of the largest message of each round,
/// added up.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let Exchange { fold, steps } = Exchange::of(c);
    let rounds = |groups: &RadixGroups| 2 * groups.size - 3;
    let values = [
        ("exchanges", steps.iter().map(|groups| fold.active() * (groups.size - 1)).sum()),
        ("folded", c.ranks - fold.active()),
        ("folding", fold.first_rank(1) - 1),
        ("rounds", steps.iter().map(rounds).sum()),
        ("blocks", steps.iter().map(|groups| rounds(groups) * fold.first_rank(groups.distance)).sum()),
    ];
    values.map(|(name, value)| (name, value as u64)).into()
}
