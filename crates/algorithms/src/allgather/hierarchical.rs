//! Hierarchical: each group gathers its blocks at one rank; these ranks exchange them and broadcast all to the groups.
//!
//! A group is the ranks of a node, or `group` consecutive ranks. The parameters `gather`, `network` and `broadcast`
//! choose the algorithms of the three phases.
//!
//! Source: J. L. Traeff, A. Rougier, "MPI collectives and datatypes for hierarchical all-to-all communication", EuroMPI
//! 2014.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need.
//! Counts: the phases run one after another: their times add up, and so do their messages. Between groups, the blocks
//! of a group travel as one block.
//!
//! ```text
//! groups [0 1 2] [3 4 5]    gather       1 ─▶ 0 ◀─ 2    4 ─▶ 3 ◀─ 5
//!                           network      0 ◀──────────▶ 3                three blocks each way
//!                           broadcast    1 ◀─ 0 ─▶ 2    4 ◀─ 3 ─▶ 5      all six blocks
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::about::{About, has_equal_blocks};
use crate::broadcast::tree::SHAPE;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order, network, of_blocks, of_groups, part_call,
    shape, symmetry_between_groups,
};

const GATHER: PartParameter = choice(Collective::Gather, "gather", "binomial", "the algorithm that gathers in a group");
const NETWORK: PartParameter = network(Collective::Allgather, "ring", "bruck");
const BROADCAST: PartParameter =
    choice(Collective::Broadcast, "broadcast", "binomial", "the algorithm that broadcasts all blocks in a group");

pub const ABOUT: About = About::new("gather + network + broadcast", "gather + network + broadcast")
    .exact_when(|c| has_equal_blocks(c) && Levels::of(c).are_equal())
    .refusing(needs_order)
    .with_parameters(&[
        GROUP,
        GATHER.parameter,
        NETWORK.parameter,
        BROADCAST.parameter,
        shape("broadcast_shape", SHAPE),
        SEGMENTS,
        OUTER,
    ])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let gather = |group| Call { in_place: c.in_place, ..of_blocks(c, Collective::Gather, &levels, group) };
    vec![
        GATHER.within(c, &levels, gather),
        NETWORK.between(c, &Call { in_place: true, ..of_groups(c, Collective::Allgather, &levels) }),
        BROADCAST.within(c, &levels, |group| part_call(c, Collective::Broadcast, levels.size(group), c.total())),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    GATHER.run_within_groups(r, c, &levels, (c.input(r), levels.blocks(c, result, group))).await;
    if place == 0 {
        NETWORK.run_between_groups(r, c, &levels, 0, (Span::EMPTY, result)).await;
    }
    BROADCAST.run_within_groups(r, c, &levels, (Span::EMPTY, result)).await;
}
