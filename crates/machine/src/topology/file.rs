//! A network as a site has it in a file.
//!
//! Keys: `file`, a path from the machine file. Its form is told by its text: one file each, and a line in the registry.
//!
//! | form | begins as |
//! |---|---|
//! | Slurm's topology.conf, tree or block | `SwitchName=leaf1 Nodes=node[01-18]` |
//! | output of ibnetdiscover | `Switch 36 "S-0002c9020048be40" # "leaf1"` |
//! | list of edges | `from,to,speed`, a line for each cable |
//! | node-link form of networkx, JSON | `{"nodes": [{"id": "node1"}], "links": [{"source": "node1", "target": "leaf1"}]}` |
//! | SimGrid's platform XML | `<platform version="4.1">` |
//!
//! Cables have the part of `link_bandwidth` that their speed is of the highest speed in the file. In lists of edges, and in
//! JSON without `"kind": "node"` or `"switch"`, vertices of one cable are nodes and the others switches; if none has one
//! cable, all are nodes.
//!
//! Source: the manual pages topology.conf(5) of Slurm 24 and ibnetdiscover(8) of rdma-core.

use std::collections::HashMap;

use hocket_core::{Error, Result, ensure};

use super::check_size;
use super::graph::{Cable, Graph, Parts};
use crate::Section;

/// A form of files: whether a text has it, and the reader.
type Form = (fn(&str) -> bool, fn(&str) -> Result<Sketch>);

macro_rules! forms {
    ($($name:ident),+) => {
        $(mod $name;)+
        const FORMS: &[Form] = &[$(($name::is_form, $name::read)),+];
    };
}

mod xml;
forms!(slurm, ibnetdiscover, edges, node_link, simgrid);

/// The vertices and cables of a file.
#[derive(Default)]
struct Sketch {
    names: Vec<String>,
    /// Whether each vertex is a node, if the file says.
    are_nodes: Vec<Option<bool>>,
    numbers: HashMap<String, usize>,
    /// The ends of cables, and their speeds.
    cables: Vec<([usize; 2], f64)>,
}

impl Sketch {
    /// The number of the vertex with this name; it is a node, a switch or unknown if it is new.
    ///
    /// # Errors
    /// A name that cannot be shown, or of another kind before.
    fn vertex(&mut self, name: &str, is_node: Option<bool>) -> Result<usize> {
        const LONGEST_NAME: usize = 255;
        ensure(!name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control), || {
            format!("got the name {name:.80?}, expected 1 to {LONGEST_NAME} letters to show")
        })?;
        let number = *self.numbers.entry(name.to_owned()).or_insert(self.names.len());
        if number == self.names.len() {
            self.names.push(name.to_owned());
            self.are_nodes.push(is_node);
        }
        let is_other = is_node.zip(self.are_nodes[number]).is_some_and(|(is_node, other)| is_node != other);
        ensure(!is_other, || format!("got {name} as a node and as a switch, expected one of them"))?;
        Ok(number)
    }

    fn join(&mut self, ends: [usize; 2], speed: f64) -> Result<()> {
        let [from, to] = ends.map(|end| &self.names[end]);
        ensure(ends[0] != ends[1], || format!("got a cable from {from} to {from}, expected two ends"))?;
        ensure(speed > 0.0 && speed.is_finite(), || {
            format!("got a cable from {from} to {to} of speed {speed}, expected a speed above 0")
        })?;
        self.cables.push((ends, speed));
        Ok(())
    }

    /// Vertices of unknown kind: those of one cable are nodes, unless there are none.
    fn decide(&mut self) {
        let mut counts = vec![0; self.names.len()];
        self.cables.iter().flat_map(|(ends, _)| ends).for_each(|end| counts[*end] += 1);
        let has_leaves = counts.contains(&1);
        for (is_node, count) in self.are_nodes.iter_mut().zip(counts) {
            is_node.get_or_insert(!has_leaves || count == 1);
        }
    }

    /// Nodes, then switches, in the order of the file.
    fn parts(mut self) -> Parts {
        self.decide();
        let mut order: Vec<_> = (0..self.names.len()).collect();
        order.sort_by_key(|vertex| self.are_nodes[*vertex] != Some(true));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, vertex)| places[*vertex] = place as u32);
        let highest = self.cables.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
        let nodes = self.are_nodes.iter().filter(|is_node| **is_node == Some(true)).count();
        let mut parts = Parts::new(nodes, 1, "kind of link");
        parts.names = order.iter().map(|vertex| self.names[*vertex].clone()).collect();
        let cable = |(ends, speed): &([usize; 2], f64)| {
            let ends = ends.map(|end| places[end]);
            Cable { ends, kind: 0, part: speed / highest }
        };
        parts.cables = self.cables.iter().map(cable).collect();
        parts
    }
}

pub(super) fn read(section: &Section) -> Result<Graph> {
    let (file, text) = section.file("file")?;
    let parts = parts_of(&text).map_err(|error| error.at(&file))?;
    check_size(section, "file", parts.nodes, 2 * parts.cables.len())?;
    parts.connect("file").map_err(|error| error.at(&file))
}

fn parts_of(text: &str) -> Result<Parts> {
    let Some((_, read)) = FORMS.iter().find(|(is_form, _)| is_form(text)) else {
        let expected = "Slurm's topology.conf, the output of ibnetdiscover, a list of edges with the header from,to,speed, \
                        JSON with nodes and links, or SimGrid's XML";
        return Err(Error::new(format!("got another text, expected {expected}")));
    };
    let parts = read(text)?.parts();
    ensure(parts.nodes > 0, || "got no nodes, expected at least one")?;
    Ok(parts)
}

/// Reads lines with their numbers; an error has that of its line.
fn read_lines<'a>(
    lines: impl IntoIterator<Item = (usize, &'a str)>,
    mut read: impl FnMut(&'a str) -> Result<()>,
) -> Result<()> {
    lines.into_iter().try_for_each(|(number, line)| read(line).map_err(|error| error.at(format!("line {number}"))))
}
