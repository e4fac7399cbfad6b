//! Dragonfly+: groups of leaf and spine switches; every leaf of a group has a link to every spine, and the spines have links
//! to other groups.
//!
//! Keys: `nodes_per_leaf`, `leaves_per_group`, `spines_per_group`, `global_links_per_spine`; `groups` (default and maximum
//! spines x global links / `links_per_pair_of_groups` + 1), `links_per_pair_of_groups` and `global_arrangement` of
//! [`GlobalPorts`], which has the global links of the spines.
//!
//! Source: A. Shpiner, Z. Haramaty, S. Eliad, V. Zdornov, B. Gafni, E. Zahavi, "Dragonfly+: low cost topology for scaling
//! datacenters", HiPINEB 2017.

use hocket_core::Result;

use super::check_size;
use super::global_ports::GlobalPorts;
use super::graph::{Graph, Parts};
use crate::Section;

pub(super) fn read(section: &Section) -> Result<Graph> {
    let per_leaf = section.count("nodes_per_leaf")?;
    let leaves = section.count("leaves_per_group")?;
    let spines = section.count("spines_per_group")?;
    let per_spine = section.count("global_links_per_spine")?;
    let global = GlobalPorts::read(section, spines, per_spine)?;
    let groups = global.groups;
    let per_group = leaves.saturating_mul(per_leaf);
    let nodes = groups.saturating_mul(per_group);
    let in_group = per_group.saturating_add(leaves.saturating_mul(spines)).saturating_add(global.count());
    check_size(section, "leaves_per_group", nodes, groups.saturating_mul(in_group).saturating_mul(2))?;
    let mut parts = Parts::new(nodes, 3, "kind: links of nodes, links within groups, links between groups");
    let first = |group: usize| nodes + group * (leaves + spines);
    for group in 0..groups {
        parts.names.extend((0..leaves).map(|leaf| format!("leaf {group}.{leaf}")));
        parts.names.extend((0..spines).map(|spine| format!("spine {group}.{spine}")));
        for leaf in 0..leaves {
            let start = (group * leaves + leaf) * per_leaf;
            (start..start + per_leaf).for_each(|node| parts.join(node, first(group) + leaf, 0));
            (0..spines).for_each(|spine| parts.join(first(group) + leaf, first(group) + leaves + spine, 1));
        }
        parts.middles.push(first(group)..first(group + 1));
    }
    for group in 0..groups {
        for port in 0..global.count() {
            let (other, [from, to]) = (global.other(group, port), global.ends(group, port));
            if group < other {
                parts.join(first(group) + leaves + from, first(other) + leaves + to, 2);
            }
        }
    }
    let group_of_switch = |switch: usize| switch / (leaves + spines);
    let is_first = |group: usize| group < groups / 2;
    let of_nodes = (0..nodes).map(|node| is_first(node / per_group));
    parts.half =
        of_nodes.chain((0..groups * (leaves + spines)).map(|switch| is_first(group_of_switch(switch)))).collect();
    parts.connect("dragonfly_plus")
}
