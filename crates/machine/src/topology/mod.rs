//! Topologies: nodes, switches, directed links, and one route for each pair of nodes. One file each, and a line in the
//! registry below.
//!
//! A machine file names one in `[network]`, for network models in which messages meet each other:
//!
//! ```toml
//! [network]
//! topology = "torus"
//! dims = [8, 8]
//! ```

mod placement;

pub use placement::Placement;

use hocket_core::Result;

use crate::Section;

/// A shape of network. Vertices `0..nodes` are nodes, where ranks can be; the others are switches. Links are directed and
/// numbered from 0; their numbers and names never change for the same parameters.
pub trait Topology {
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Number of nodes and switches.
    fn vertices(&self) -> usize {
        self.nodes()
    }
    /// Number of links.
    fn links(&self) -> usize;
    /// The vertices that a link leads from and to.
    fn ends(&self, link: usize) -> (usize, usize);
    /// What a link is called, as "+x from (3,0,1)".
    fn link_name(&self, link: usize) -> String;
    /// What a vertex is called, as "(3,0,1)".
    fn vertex_name(&self, vertex: usize) -> String;
    /// Appends the links from one node to another, in order; none from a node to itself. The virtual channels are such
    /// that packets that hold one and wait for the next never wait in a circle.
    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>);
    /// Virtual channels that its routes use.
    fn channels(&self) -> usize {
        1
    }
    /// The sizes of a torus along its axes, first axis first.
    fn torus(&self) -> Option<&[usize]> {
        None
    }
}

/// A step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: u32,
    /// The virtual channel of that link.
    pub channel: u8,
}

macro_rules! topologies {
    ($($name:ident: $shape:ident),+ $(,)?) => {
        $(
            mod $name;
            pub use $name::$shape;
        )+

        /// A topology with its parameters.
        #[allow(missing_docs)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyTopology {
            $($shape($shape),)+
        }

        impl AnyTopology {
            /// Names of all topologies.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            /// The topology that the section names under `topology`, with its parameters.
            ///
            /// # Errors
            /// No such topology, or a parameter that is missing or wrong.
            pub fn read(section: &Section) -> Result<Self> {
                type Read = fn(&Section) -> Result<AnyTopology>;
                let topologies: &[(&str, Read)] =
                    &[$((stringify!($name), |section| $shape::read(section).map(AnyTopology::$shape)),)+];
                section.required_choice("topology", topologies)?(section)
            }

            /// Its name in machine files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$shape(_) => stringify!($name),)+
                }
            }
        }

        impl Topology for AnyTopology {
            fn nodes(&self) -> usize {
                match self { $(Self::$shape(shape) => shape.nodes(),)+ }
            }
            fn vertices(&self) -> usize {
                match self { $(Self::$shape(shape) => shape.vertices(),)+ }
            }
            fn links(&self) -> usize {
                match self { $(Self::$shape(shape) => shape.links(),)+ }
            }
            fn ends(&self, link: usize) -> (usize, usize) {
                match self { $(Self::$shape(shape) => shape.ends(link),)+ }
            }
            fn link_name(&self, link: usize) -> String {
                match self { $(Self::$shape(shape) => shape.link_name(link),)+ }
            }
            fn vertex_name(&self, vertex: usize) -> String {
                match self { $(Self::$shape(shape) => shape.vertex_name(vertex),)+ }
            }
            fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
                match self { $(Self::$shape(shape) => shape.route(from, to, hops),)+ }
            }
            fn channels(&self) -> usize {
                match self { $(Self::$shape(shape) => shape.channels(),)+ }
            }
            fn torus(&self) -> Option<&[usize]> {
                match self { $(Self::$shape(shape) => shape.torus(),)+ }
            }
        }
    };
}

topologies! {
    torus: Torus,
}
