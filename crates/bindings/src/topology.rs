//! Descriptions of a network with a topology.

use hocket_machine::{Hop, Spot};
use hocket_simulate::Fabric;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::wire::Error;

/// The network of a machine as drawings show it.
struct Shape<'a>(&'a Fabric);

impl Shape<'_> {
    fn picture(&self) -> String {
        self.0.topology.picture(&|node| label(&self.ranks_on(node)))
    }

    fn vertex(&self, vertex: usize) -> Value {
        let topology = &self.0.topology;
        let ranks = if vertex < topology.nodes() { self.ranks_on(vertex) } else { Vec::new() };
        let position = topology.position(vertex);
        json!({"id": vertex, "name": topology.vertex_name(vertex), "ranks": ranks, "position": position})
    }

    fn link(&self, link: usize) -> Value {
        let topology = &self.0.topology;
        let (from, to) = topology.ends(link);
        let Spot { panel, place, column, row, axes } = topology.spot(link);
        let spot = json!({"panel": panel, "place": place, "column": column, "row": row, "axes": axes});
        json!({"id": link, "name": topology.link_name(link), "from": from, "to": to, "spot": spot})
    }

    fn ranks(&self) -> usize {
        self.0.placement.room(self.0.topology.nodes())
    }

    /// The ranks on a node when the network is full.
    fn ranks_on(&self, node: usize) -> Vec<usize> {
        self.0.placement.ranks_on(node, self.ranks())
    }

    /// The node of a rank when the network is full.
    fn node_of(&self, rank: usize) -> PyResult<usize> {
        if rank < self.ranks() {
            return Ok(self.0.placement.node_of(rank, self.ranks()));
        }
        Err(Error::new_err(format!("route: got rank {rank}, expected a rank from 0 to {}", self.ranks() - 1)))
    }
}

/// As "3", "6-7" for successive ranks, or "0,4" for others; "-" for none.
fn label(ranks: &[usize]) -> String {
    let runs = ranks.chunk_by(|one, next| one + 1 == *next);
    let text = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    };
    if ranks.is_empty() { "-".to_owned() } else { runs.map(text).collect::<Vec<_>>().join(",") }
}

/// The facts and the picture of a network.
pub fn facts(fabric: &Fabric) -> Value {
    let (shape, topology) = (Shape(fabric), &fabric.topology);
    json!({
        "name": topology.name(),
        "torus": topology.torus(),
        "nodes": topology.nodes(),
        "switches": topology.vertices() - topology.nodes(),
        "directed_links": topology.links(),
        "channels": topology.channels(),
        "longest_route": topology.longest_route(),
        "mean_route": topology.mean_route(),
        "bisection": topology.bisection(),
        "ranks": shape.ranks(),
        "remarks": topology.remarks(),
        "picture": shape.picture(),
    })
}

/// The first nodes and switches, and the first links, at most `most` of each.
pub fn parts(fabric: &Fabric, most: usize) -> Value {
    let (shape, topology) = (Shape(fabric), &fabric.topology);
    let vertices = (0..topology.vertices().min(most)).map(|vertex| shape.vertex(vertex));
    let links = (0..topology.links().min(most)).map(|link| shape.link(link));
    json!({"vertices": vertices.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>()})
}

/// The links from the node of one rank to the node of another, with the virtual channel of each.
///
/// # Errors
/// A rank that has no node.
pub fn route(fabric: &Fabric, from: usize, to: usize) -> PyResult<Value> {
    let (shape, topology) = (Shape(fabric), &fabric.topology);
    let mut hops = Vec::new();
    topology.route(shape.node_of(from)?, shape.node_of(to)?, &mut hops);
    let hop = |hop: &Hop| {
        let (_, end) = topology.ends(hop.link as usize);
        json!({
            "link": hop.link,
            "name": topology.link_name(hop.link as usize),
            "channel": hop.channel,
            "to": topology.vertex_name(end),
        })
    };
    Ok(hops.iter().map(hop).collect())
}
