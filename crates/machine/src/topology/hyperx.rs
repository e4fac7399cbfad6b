//! HyperX: switches on a grid, each linked with all others on its lines.
//!
//! Keys: `dims` (switches along each axis), `nodes_per_switch`.
//!
//! Source: J. H. Ahn, N. Binkert, A. Davis, M. McLaren, R. S. Schreiber, "HyperX: topology, routing, and packaging of
//! efficient large-scale networks", SC 2009.

use hocket_core::Result;

use super::check_size;
use super::graph::{Graph, Parts};
use super::grid::Grid;
use crate::Section;

pub(super) fn read(section: &Section) -> Result<Graph> {
    let dims = section.sizes("dims")?;
    let per_switch = section.count("nodes_per_switch")?;
    let grid = Grid { dims };
    let switches = grid.nodes();
    let nodes = switches.saturating_mul(per_switch);
    let links =
        grid.dims.iter().fold(2_usize, |sum, size| sum.saturating_add(*size)).saturating_mul(nodes.max(switches));
    check_size(section, "dims", nodes, links)?;
    let mut parts = Parts::new(nodes, 2, "kind: links of nodes, links of switches");
    for switch in 0..switches {
        parts.names.push(format!("switch {}", grid.node_name(switch)));
        (switch * per_switch..(switch + 1) * per_switch).for_each(|node| parts.join(node, nodes + switch, 0));
    }
    for switch in 0..switches {
        let mut stride = 1;
        for size in &grid.dims {
            let place = switch / stride % size;
            (place + 1..*size)
                .for_each(|other| parts.join(nodes + switch, nodes + switch + (other - place) * stride, 1));
            stride *= size;
        }
    }
    let last = *grid.dims.last().unwrap_or(&1);
    let is_first = |switch: usize| switch / (switches / last) < last / 2;
    parts.half = (0..nodes).map(|node| is_first(node / per_switch)).chain((0..switches).map(is_first)).collect();
    parts.connect("hyperx")
}
