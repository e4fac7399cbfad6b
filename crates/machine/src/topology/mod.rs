//! Topologies: nodes, switches, directed links, and one route for each pair of nodes. One file each, and a line in the
//! registry below.
//!
//! A machine file names one in `[network]`, for network models with contention:
//!
//! ```toml
//! [network]
//! topology = "torus"
//! dims = [8, 8]
//! ```

mod global_ports;
mod graph;
mod grid;
pub mod hosts;
mod layout;
mod overlap;
mod picture;
pub(crate) mod placement;

pub use graph::Graph;
pub use layout::Layout;
pub use overlap::overlap;
pub use placement::Placement;

use std::ops::{Deref, Range};

use hocket_core::{Result, Symmetry};

use crate::Section;
use crate::section::MOST_NODES;

/// A shape of network. Vertices `0..nodes` are nodes, where ranks can be; the others are switches. Links are directed
/// and numbered from 0. Their numbers and names depend on the parameters alone.
pub trait Topology {
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Number of nodes and switches.
    fn vertices(&self) -> usize {
        self.nodes()
    }
    /// Number of links.
    fn links(&self) -> usize;
    /// The source and target vertices of a link.
    fn ends(&self, link: usize) -> (usize, usize);
    /// The name of a link, as "+x from (3,0,1)".
    fn link_name(&self, link: usize) -> String;
    /// The name of a vertex, as "(3,0,1)".
    fn vertex_name(&self, vertex: usize) -> String;
    /// Number of kinds of links, and what a kind is; links of each kind can have a bandwidth of their own.
    fn kinds(&self) -> (usize, &'static str) {
        (1, "kind of link")
    }
    /// The kind of a link.
    fn kind_of(&self, _link: usize) -> usize {
        0
    }
    /// The cell of a link on a map of all links, unique to the link.
    fn spot(&self, link: usize) -> Spot {
        let (column, row) = (link % picture::ROW, link / picture::ROW);
        Spot { panel: "links".to_owned(), place: String::new(), column, row, axes: ["link", "32 links"] }
    }
    /// The position of a vertex in a drawing, from the left and the top, unique to it. Neighbours are about 1 apart.
    fn position(&self, vertex: usize) -> [f64; 2] {
        picture::on_circle(vertex, self.vertices())
    }
    /// Appends the links from one node to another, in order; none from a node to itself. The virtual channels are free
    /// of deadlock: packets that hold one and wait for the next never wait in a circle.
    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>);
    /// Number of links of the route from one node to another.
    fn route_length(&self, from: usize, to: usize) -> usize {
        let mut hops = Vec::new();
        self.route(from, to, &mut hops);
        hops.len()
    }
    /// Number of virtual channels per link that routes use.
    fn channels(&self) -> usize {
        1
    }
    /// Sets of vertices, through one of which Valiant's routing leads a message: each switch, or without switches each
    /// node, unless sets of switches are alike.
    fn middles(&self) -> Vec<Range<usize>> {
        each_switch(self)
    }
    /// Whether all links have the whole bandwidth of the network's links.
    fn is_even(&self) -> bool {
        true
    }
    /// The part of the bandwidth of the network's links that a link has.
    fn part_of(&self, _link: usize) -> f64 {
        1.0
    }
    /// The length of a link, for shortest ways.
    fn length_of(&self, _link: usize) -> u16 {
        1
    }
    /// Number of links of the longest route.
    fn longest_route(&self) -> usize;
    /// Mean number of links of a route over all pairs of distinct nodes; 0 without pairs.
    fn mean_route(&self) -> f64;
    /// The least number of links from one half of the nodes to the other, one way; none without formula.
    fn bisection(&self) -> Option<usize> {
        None
    }
    /// Sets of vertices with about half of the nodes each and few outgoing links.
    fn halves(&self) -> Vec<Half<'_>> {
        Vec::new()
    }
    /// A text drawing of a few lines; `label` gives the text of a node.
    fn picture(&self, label: &dyn Fn(usize) -> String) -> String;
    /// A symmetry of nodes, links and routes, with all links numbered node by node, if it is known to have one.
    fn symmetry(&self) -> Option<Symmetry> {
        None
    }
    /// If the topology is a torus: its sizes, first axis first.
    fn torus(&self) -> Option<&[usize]> {
        None
    }
    /// The names of its nodes, if they are hosts.
    fn hosts(&self) -> &[String] {
        &[]
    }
    /// What is lopsided, a sentence each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
    /// How the job lies on the topology, unless its ranks fill the nodes in the order of their numbers.
    fn layout(&self) -> Option<&Layout> {
        None
    }
}

/// A cell of a map of all links. Links of one kind share a panel, arranged like their ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The kind of the panel's links, as "+x".
    pub panel: String,
    /// The panel's place, as "z = 3", if a kind has several panels; else empty.
    pub place: String,
    /// The cell's number from the left.
    pub column: usize,
    /// The cell's number from the top.
    pub row: usize,
    /// The meaning of columns and rows, the same in the whole panel; empty if there is only one.
    pub axes: [&'static str; 2],
}

/// A set of vertices.
pub type Half<'a> = Box<dyn Fn(usize) -> bool + 'a>;

/// A step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: u32,
    /// The virtual channel of that link.
    pub channel: u8,
}

macro_rules! topologies {
    (with_formulas: $($name:ident: $shape:ident),+; of_cables: $($graph:ident),+ $(,)?) => {
        $(
            mod $name;
            pub use $name::$shape;
        )+
        $(mod $graph;)+

        /// A topology with its parameters.
        #[allow(missing_docs)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyTopology {
            $($shape($shape),)+
            Graph(Graph),
        }

        impl AnyTopology {
            /// Names of all topologies.
            pub const NAMES: &[&str] = &[$(stringify!($name),)+ $(stringify!($graph)),+];

            /// The topology that the section names under `topology`, with its parameters.
            pub fn read(section: &Section) -> Result<Self> {
                type Read = fn(&Section) -> Result<AnyTopology>;
                let mut topologies: Vec<(&str, Read)> = vec![
                    $((stringify!($name), |section| $shape::read(section).map(AnyTopology::$shape)),)+
                    $((stringify!($graph), |section| $graph::read(section).map(AnyTopology::Graph)),)+
                ];
                topologies.sort_unstable_by_key(|(name, _)| *name);
                section.required_choice("topology", &topologies)?(section)
            }

            /// Its name in machine files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$shape(_) => stringify!($name),)+
                    Self::Graph(graph) => graph.name,
                }
            }
        }

        /// It has the methods of its shape.
        impl Deref for AnyTopology {
            type Target = dyn Topology;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$shape(shape) => shape,)+
                    Self::Graph(graph) => graph,
                }
            }
        }
    };
}

topologies! {
    with_formulas: crossbar: Crossbar, dragonfly: Dragonfly, fat_tree: FatTree, mesh: Mesh, torus: Torus;
    of_cables: dragonfly_plus, file, hyperx, rails, slim_fly,
}

/// Each switch, or without switches each node.
fn each_switch(topology: &(impl Topology + ?Sized)) -> Vec<Range<usize>> {
    let nodes = if topology.vertices() > topology.nodes() { topology.nodes() } else { 0 };
    (nodes..topology.vertices()).map(|vertex| vertex..vertex + 1).collect()
}

/// Refuses a topology with more than 2^26 nodes or 2^32 - 1 links, blaming `key`.
fn check_size(section: &Section, key: &str, nodes: usize, links: usize) -> Result<()> {
    let fits = nodes <= MOST_NODES && u32::try_from(links).is_ok();
    section.ensure(fits, key, "a topology of at most 2^26 nodes and 2^32 - 1 links")
}
