//! Hierarchical: each group gathers its blocks at one rank; these ranks exchange them, and scatter what they received.
//!
//! A group is the ranks of a node, or `group` consecutive ranks. The parameters `gather`, `network` and `scatter`
//! choose the algorithms of the three phases.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: groups of the same number of ranks, and what the chosen algorithms need.
//! Counts: the phases run one after another: their times add up, and so do their messages. Between groups, one message
//! carries all blocks from one group to another, when `network` sends every block directly.
//!
//! ```text
//! groups [0 1] [2 3]    gather     0 ◀─ 1                 2 ◀─ 3
//!                       network    0 ◀──4 blocks each──▶ 2
//!                       scatter    0 ─▶ 1                 2 ─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, choice, needs_equal_groups, network, part_call, symmetry_between_groups,
};

const GATHER: PartParameter =
    choice(Collective::Gather, "gather", "binomial", "the algorithm that gathers the blocks of a group");
const NETWORK: PartParameter = network(Collective::Alltoall, "pairwise_exchange", "bruck");
const SCATTER: PartParameter =
    choice(Collective::Scatter, "scatter", "binomial", "the algorithm that scatters received blocks in a group");

pub const ABOUT: About = About::new("gather + network + scatter", "gather + network + scatter")
    .refusing(needs_equal_groups)
    .with_parameters(&[GROUP, GATHER.parameter, NETWORK.parameter, SCATTER.parameter, OUTER])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (groups, size) = (levels.count(), levels.lanes());
    let part = |collective, ranks, blocks| part_call(c, collective, ranks, blocks * c.count(0));
    vec![
        GATHER.within(c, &levels, |_| part(Collective::Gather, size, c.ranks)),
        NETWORK.between(c, &part(Collective::Alltoall, groups, size * size)),
        SCATTER.within(c, &levels, |_| part(Collective::Scatter, size, c.ranks)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let levels = Levels::of(c);
    let (groups, size) = (levels.count(), levels.lanes());
    let leads = levels.place(r.rank()).1 == 0;
    let of_group = if leads { size * c.total() } else { 0 };
    let [members, pairs] = [(); 2].map(|()| r.scratch(of_group));
    let of_member = |member: usize, rank: usize| c.block(members, member * c.ranks + rank);
    let of_pair = |group: usize, from: usize, to: usize| c.block(pairs, (group * size + from) * size + to);
    let all = || (0..groups).flat_map(|group| (0..size * size).map(move |pair| (group, pair / size, pair % size)));

    GATHER.run_within_groups(r, c, &levels, (c.input(r), members)).await;
    if leads {
        for (group, own, other) in all() {
            r.copy(of_member(own, levels.rank(group, other)), of_pair(group, own, other)).await;
        }
        let incoming = r.scratch(of_group);
        NETWORK.run_between_groups(r, c, &levels, 0, (pairs, incoming)).await;
        for (group, other, own) in all() {
            let from = c.block(incoming, (group * size + other) * size + own);
            r.copy(from, of_member(own, levels.rank(group, other))).await;
        }
    }
    SCATTER.run_within_groups(r, c, &levels, (members, c.result(r))).await;
}
