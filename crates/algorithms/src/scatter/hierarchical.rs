//! Hierarchical: the root sends the blocks of each group to one of its ranks, which scatters them.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in parallel computer
//! networks to optimize collective operation performance", IPDPS 2000. Any two scatters of the catalogue can be its parts.
//! Needs: what its parts need, and ranks of a node that follow one another. In each group it is the rank in the root's place that scatters.
//! Counts: those of its parts, one after the other; blocks of a group travel as one between groups.
//!
//! ```text
//! groups [0 1 2] [3 4 5], root 1    network    1 ─b3 b4 b5─▶ 4
//!                                   local      0 ◀─ 1 ─▶ 2   3 ◀─ 4 ─▶ 5
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::about::has_equal_blocks;
use crate::groups::GROUP;
use crate::levels::{
    Choice, Levels, OUTER, Part, choice, group, most_ports, needs_order, number_of, of_blocks, of_groups,
};

const NETWORK: Choice = choice(
    Collective::Scatter,
    "network",
    "binomial",
    &[number_of(Collective::Scatter, "linear")],
    "the algorithm between the groups",
);
const LOCAL: Choice = choice(Collective::Scatter, "local", "binomial", &[], "the algorithm within a group");

pub const ABOUT: About = About::new("network + local", "network + local")
    .exact_when(|c| has_equal_blocks(c) && Levels::of(c).are_equal())
    .refusing(needs_order)
    .on_ports(|c| most_ports(&parts(c)))
    .with_parameters(&[GROUP, NETWORK.parameter, LOCAL.parameter, OUTER])
    .completing(group)
    .made_of(parts);

fn parts(c: &Call) -> Vec<Part> {
    let levels = Levels::of(c);
    vec![NETWORK.between(c, between(c, &levels)), LOCAL.within_each(c, &levels, |group| within(c, &levels, group))]
}

fn between(c: &Call, levels: &Levels) -> Call {
    let (root, _) = levels.place(c.root);
    Call { root, in_place: true, ..of_groups(c, Collective::Scatter, levels) }
}

fn within(c: &Call, levels: &Levels, group: usize) -> Call {
    let (_, place) = levels.place(c.root);
    Call { root: place % levels.size(group), ..of_blocks(c, Collective::Scatter, levels.ranks(group)) }
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input) = (Levels::of(c), c.input(r));
    let (group, place) = levels.place(r.rank());
    let (members, within) = (levels.ranks(group), within(c, &levels, group));
    let own = if r.rank() == c.root {
        c.blocks(input, members.start, members.len())
    } else {
        r.scratch(if place == within.root { within.total() } else { 0 })
    };
    if place == within.root {
        NETWORK.run_between(r, c, &levels, levels.place(c.root).1, (input, own), between(c, &levels)).await;
    }
    let in_place = c.is_in_place(r.rank());
    LOCAL.run_within(r, c, &levels, (own, c.result(r)), Call { in_place, ..within }).await;
}
