//! Hierarchical: each group reduces to its first rank; these ranks reduce_scatter the groups' blocks, and scatter them.
//!
//! The parameters `reduce`, `network` and `scatter` choose the algorithms of the three phases.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need.
//! Counts: the phases run one after another: their times add up, and so do their messages. One rank of each group takes
//! part between groups.
//!
//! ```text
//! groups [0 1 2] [3 4 5]    reduce       1 ─▶ 0 ◀─ 2    4 ─▶ 3 ◀─ 5      all six blocks
//!                           network      0 ◀──────────▶ 3                three blocks each way
//!                           scatter      1 ◀─ 0 ─▶ 2    4 ◀─ 3 ─▶ 5
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::about::{About, has_equal_blocks};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order, network, of_blocks, of_groups, part_call,
};

const REDUCE: PartParameter =
    choice(Collective::Reduce, "reduce", "binomial", "the algorithm that reduces within a group");
const NETWORK: PartParameter = network(Collective::ReduceScatter, "pairwise", "recursive_halving");
const SCATTER: PartParameter =
    choice(Collective::Scatter, "scatter", "binomial", "the algorithm that scatters the blocks in a group");

pub const ABOUT: About = About::new("reduce + network + scatter", "reduce + network + scatter")
    .exact_when(|c| has_equal_blocks(c) && Levels::of(c).are_equal())
    .refusing(needs_order)
    .with_parameters(&[GROUP, REDUCE.parameter, NETWORK.parameter, SCATTER.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    vec![
        REDUCE.within(c, &levels, |group| part_call(c, Collective::Reduce, levels.size(group), c.total())),
        NETWORK.between(c, &of_groups(c, Collective::ReduceScatter, &levels)),
        SCATTER.within(c, &levels, |group| of_blocks(c, Collective::Scatter, &levels, group)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input) = (Levels::of(c), c.input(r));
    let (group, place) = levels.place(r.rank());
    let leads = place == 0;
    let total = r.scratch(if leads { input.len } else { 0 });
    let blocks = r.scratch(if leads { SCATTER.call(c, group).total() } else { 0 });
    REDUCE.run_within_groups(r, c, &levels, (input, total)).await;
    if leads {
        NETWORK.run_between_groups(r, c, &levels, 0, (total, blocks)).await;
    }
    SCATTER.run_within_groups(r, c, &levels, (blocks, c.result(r))).await;
}
