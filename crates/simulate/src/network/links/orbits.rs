//! Nodes and links that stand for all that a symmetry makes of them, and the ties that would tell these apart.

use hocket_core::Symmetry;
use hocket_machine::AnyTopology;

use super::super::LinkUse;

/// The representatives of nodes and of links, which are numbered node by node.
///
/// A message crosses the representatives of its links. Of an orbit whose links it crosses one after the other, it crosses
/// the representative several times: once for itself, and then for its images, which cross this link at the same times.
/// Where numbers of senders decide which of two messages comes first, they decide differently at different links of an
/// orbit, so that no link stands for the others: this is a *tie*.
pub struct Orbits {
    symmetry: Symmetry,
    nodes: usize,
    links_of_a_node: usize,
    /// What came last to each link, and to the receiving ports of each node.
    at_links: Vec<Comers>,
    at_nodes: Vec<Comers>,
    /// Whether there was a tie.
    pub has_tie: bool,
}

/// What came last, at one time and with one precedence.
#[derive(Clone, Copy)]
struct Comers {
    time_s: f64,
    since_s: f64,
    last: u64,
    are_several: bool,
    /// Whether their order matters.
    matters: bool,
}

impl Comers {
    const NONE: Self = Self { time_s: f64::NAN, since_s: f64::NAN, last: 0, are_several: false, matters: false };

    /// Another one comes. Returns whether there is a tie.
    fn add(&mut self, time_s: f64, since_s: f64, what: u64, matters: bool) -> bool {
        let is_with_others = self.time_s == time_s && self.since_s == since_s;
        let are_several = is_with_others && (self.are_several || self.last != what);
        let matters = matters || is_with_others && self.matters;
        *self = Self { time_s, since_s, last: what, are_several, matters };
        are_several && matters
    }
}

impl Orbits {
    pub fn new(symmetry: Symmetry, topology: &AnyTopology) -> Self {
        let (nodes, links) = (topology.nodes(), topology.links());
        let (at_links, at_nodes) = (vec![Comers::NONE; links], vec![Comers::NONE; nodes]);
        Self { symmetry, nodes, links_of_a_node: links / nodes, at_links, at_nodes, has_tie: false }
    }

    /// The representative of a node.
    pub fn node(&self, node: u32) -> u32 {
        self.symmetry.representative(node as usize) as u32
    }

    /// The representative of a link.
    pub fn link(&self, link: u32) -> u32 {
        let (node, number) = (link as usize / self.links_of_a_node, link as usize % self.links_of_a_node);
        (self.symmetry.representative(node) * self.links_of_a_node + number) as u32
    }

    /// Gives every link the use of its representative.
    pub fn spread(&self, uses: &mut [LinkUse]) {
        for link in 0..uses.len() {
            uses[link] = uses[self.link(link as u32) as usize];
        }
    }

    /// A message from node `from` that has had its port since `since_s` comes to a link. Returns the representative.
    pub fn comes_to_link(&mut self, link: u32, time_s: f64, since_s: f64, from: u32) -> u32 {
        let sender = self.sender_at(from, link as usize / self.links_of_a_node);
        let representative = self.link(link);
        self.has_tie |= self.at_links[representative as usize].add(time_s, since_s, sender, true);
        representative
    }

    /// A message from node `from` comes to the receiving ports of node `to`. The order of several `matters` if one waits, or
    /// has no bytes: it would wait behind another one.
    pub fn comes_to_node(&mut self, to: u32, time_s: f64, since_s: f64, from: u32, matters: bool) {
        let (sender, representative) = (self.sender_at(from, to as usize), self.node(to));
        self.has_tie |= self.at_nodes[representative as usize].add(time_s, since_s, sender, matters);
    }

    /// A time is added to a sum of a link. If different ones are added at once, their order decides how the sum is rounded.
    pub fn adds(&mut self, link: u32, now_s: f64, added_s: f64) {
        if added_s > 0.0 {
            self.has_tie |= self.at_links[link as usize].add(now_s, 0.0, added_s.to_bits(), true);
        }
    }

    /// The sender of the image that is at the representative of `node` when a message from node `from` is at `node`.
    fn sender_at(&self, from: u32, node: usize) -> u64 {
        self.symmetry.image([from as usize, node], self.nodes)[0] as u64
    }
}
