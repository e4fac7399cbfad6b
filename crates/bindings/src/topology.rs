//! Descriptions of the network of a machine file, if it has a topology.

use std::collections::BTreeMap;
use std::ops::Range;

use hocket_machine::{AnyTopology, Machine, Placement, Section, Spot, Topology};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::wire::{Error, raise, write};

/// The network of a machine file: its topology, and the nodes of ranks.
struct Shape {
    machine: Machine,
    topology: AnyTopology,
    placement: Placement,
}

impl Shape {
    fn read(text: &str, file: &str) -> PyResult<Self> {
        let machine = Machine::parse(text, file).map_err(raise)?;
        let topology = AnyTopology::read(&machine.network).map_err(raise)?;
        let placement = Placement::read(&machine.network, topology.nodes()).map_err(raise)?;
        Ok(Self { machine, topology, placement })
    }

    fn picture(&self) -> String {
        self.topology.picture(&|node| label(&self.placement.ranks_on(node)))
    }

    fn vertex(&self, vertex: usize) -> Value {
        let ranks = if vertex < self.topology.nodes() { self.placement.ranks_on(vertex) } else { 0..0 };
        let ranks: Vec<_> = ranks.collect();
        let position = self.topology.position(vertex);
        json!({"id": vertex, "name": self.topology.vertex_name(vertex), "ranks": ranks, "position": position})
    }

    fn link(&self, link: usize) -> Value {
        let (from, to) = self.topology.ends(link);
        let Spot { panel, place, column, row, axes } = self.topology.spot(link);
        let spot = json!({"panel": panel, "place": place, "column": column, "row": row, "axes": axes});
        json!({"id": link, "name": self.topology.link_name(link), "from": from, "to": to, "spot": spot})
    }

    /// The node of a rank.
    fn node_of(&self, rank: usize) -> PyResult<usize> {
        let room = self.placement.room(self.topology.nodes());
        if rank < room {
            return Ok(self.placement.node_of(rank));
        }
        Err(Error::new_err(format!("route: got rank {rank}, expected a rank from 0 to {}", room - 1)))
    }
}

/// As "3", or "6-7" for several ranks.
fn label(ranks: &Range<usize>) -> String {
    match ranks.len() {
        1 => ranks.start.to_string(),
        _ => format!("{}-{}", ranks.start, ranks.end - 1),
    }
}

fn values(section: &Section) -> BTreeMap<&str, &str> {
    section.values().collect()
}

/// The facts and the picture of the network of a machine file; None if it has no topology.
#[pyfunction]
pub fn topology(text: &str, file: &str) -> PyResult<Option<String>> {
    if !Machine::parse(text, file).map_err(raise)?.network.contains("topology") {
        return Ok(None);
    }
    let shape = Shape::read(text, file)?;
    let Shape { machine, topology, placement } = &shape;
    let facts = json!({
        "machine": machine.name,
        "name": topology.name(),
        "network": values(&machine.network),
        "node": values(&machine.node),
        "host": machine.host.as_ref().map(values).unwrap_or_default(),
        "torus": topology.torus(),
        "nodes": topology.nodes(),
        "switches": topology.vertices() - topology.nodes(),
        "directed_links": topology.links(),
        "channels": topology.channels(),
        "longest_route": topology.longest_route(),
        "mean_route": topology.mean_route(),
        "bisection": topology.bisection(),
        "ranks": placement.room(topology.nodes()),
        "picture": shape.picture(),
    });
    write(&facts).map(Some)
}

/// The first nodes and switches, and the first links, at most `most` of each.
#[pyfunction]
pub fn topology_parts(text: &str, file: &str, most: usize) -> PyResult<String> {
    let shape = Shape::read(text, file)?;
    let vertices = (0..shape.topology.vertices().min(most)).map(|vertex| shape.vertex(vertex));
    let links = (0..shape.topology.links().min(most)).map(|link| shape.link(link));
    write(&json!({"vertices": vertices.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>()}))
}

/// The links from the node of one rank to the node of another, with the virtual channel of each.
#[pyfunction]
pub fn topology_route(text: &str, file: &str, from: usize, to: usize) -> PyResult<String> {
    let shape = Shape::read(text, file)?;
    let mut hops = Vec::new();
    shape.topology.route(shape.node_of(from)?, shape.node_of(to)?, &mut hops);
    let hop = |hop: &hocket_machine::Hop| {
        let (_, end) = shape.topology.ends(hop.link as usize);
        json!({
            "link": hop.link,
            "name": shape.topology.link_name(hop.link as usize),
            "channel": hop.channel,
            "to": shape.topology.vertex_name(end),
        })
    };
    write(&hops.iter().map(hop).collect::<Vec<_>>())
}
