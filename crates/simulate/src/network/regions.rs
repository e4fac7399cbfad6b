//! A network divided into regions that are simulated side by side.
//!
//! A head needs at least the latency of a link to come from one region into another. So all regions can be simulated
//! up to the end of a *window*, that long after the earliest event, without knowing of each other (conservative
//! synchronization: K. M. Chandy, J. Misra, "Asynchronous distributed simulation via a sequence of parallel
//! computations", Comm. ACM 24, 1981; windows: B. D. Lubachevsky, "Efficient distributed event-driven simulations of
//! multiple-loop networks", Comm. ACM 32, 1989).

use hocket_machine::{AnyTopology, Placement, Topology};

use crate::timetable::Words;

/// The region of each vertex of a topology.
pub struct Regions {
    of_vertex: Vec<u16>,
    of_rank: Vec<u16>,
    /// Number of regions.
    pub count: usize,
    /// What an event changes in another region, it changes at least so much later, in seconds.
    pub look_ahead_s: f64,
}

/// The part of the latency that counts: the rest is more than the error of rounding.
const CERTAIN: f64 = 0.999;

impl Regions {
    /// Up to `most` regions, each with as many ranks as the others; none if there would be one.
    pub(super) fn new(
        topology: &AnyTopology,
        placement: &Placement,
        ranks: usize,
        latency_s: f64,
        most: usize,
    ) -> Option<Self> {
        let count = most.min(ranks).min(usize::from(u16::MAX));
        if count < 2 || latency_s <= 0.0 || ranks > placement.room(topology.nodes()) {
            return None;
        }
        let mut ranks_on = vec![0; topology.nodes()];
        let nodes: Vec<_> = (0..ranks).map(|rank| placement.node_of(rank, ranks)).collect();
        nodes.iter().for_each(|node| ranks_on[*node] += 1);
        let mut before = 0;
        let of_node = ranks_on.into_iter().map(|ranks_here| {
            let region = (before * count / ranks).min(count - 1);
            before += ranks_here;
            Some(region as u16)
        });
        let of_vertex = with_switches(topology, of_node.collect(), count);
        let of_rank = nodes.into_iter().map(|node| of_vertex[node]).collect();
        Some(Self { of_vertex, of_rank, count, look_ahead_s: CERTAIN * latency_s })
    }

    /// The region of each rank.
    pub fn of_ranks(&self) -> impl Iterator<Item = usize> {
        self.of_rank.iter().map(|region| usize::from(*region))
    }
}

/// Gives each switch the region of most of its neighbours, nodes first.
fn with_switches(topology: &AnyTopology, mut of_vertex: Vec<Option<u16>>, count: usize) -> Vec<u16> {
    of_vertex.resize(topology.vertices(), None);
    while of_vertex.contains(&None) {
        let mut votes = vec![vec![0; count]; of_vertex.len() - topology.nodes()];
        for (from, to) in (0..topology.links()).map(|link| topology.ends(link)) {
            for (vertex, neighbour) in [(from, to), (to, from)] {
                if let (None, Some(region)) = (of_vertex[vertex], of_vertex[neighbour]) {
                    votes[vertex - topology.nodes()][usize::from(region)] += 1;
                }
            }
        }
        let mut has_voted = false;
        for (switch, votes) in votes.into_iter().enumerate() {
            let most = votes.iter().copied().max().filter(|most| *most > 0);
            let Some(most) = most else { continue };
            let favourites: Vec<_> = (0..count).filter(|region| votes[*region] == most).collect();
            of_vertex[topology.nodes() + switch] = Some(favourites[switch % favourites.len()] as u16);
            has_voted = true;
        }
        if !has_voted {
            break;
        }
    }
    of_vertex.into_iter().map(|region| region.unwrap_or(0)).collect()
}

/// One of the regions.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// All regions.
    pub regions: &'a Regions,
    /// The number of this one.
    pub number: u16,
}

impl Part<'_> {
    /// The region of a rank.
    #[inline]
    pub fn of_rank(&self, rank: u32) -> u16 {
        self.regions.of_rank[rank as usize]
    }

    /// Whether a rank is in this region.
    #[inline]
    pub fn has_rank(&self, rank: u32) -> bool {
        self.of_rank(rank) == self.number
    }

    /// The region of a vertex, unless it is this one.
    #[inline]
    pub(super) fn other_of_vertex(&self, vertex: usize) -> Option<u16> {
        Some(self.regions.of_vertex[vertex]).filter(|region| *region != self.number)
    }
}

/// What crosses into another region.
#[derive(Clone, Copy)]
pub struct Crossing {
    /// The region that it enters.
    pub region: u16,
    pub what: Crosser,
}

/// What crosses from one region into another one.
#[derive(Clone, Copy)]
pub enum Crosser {
    /// A message, with the id of its [`Flight`](super::Flight), which ends here.
    Message(u32, Entrant),
    /// Something that belongs to a message that has crossed.
    Follower(Follower),
}

/// A message that enters a region, as the network knows it.
#[derive(Clone, Copy)]
pub enum Entrant {
    /// Its head, on [`Links`](super::Links).
    Head(Head),
    /// The first packet: from node, to node, bytes.
    First(Packet, [u32; 2], f64),
}

/// What follows a message that has entered a region.
#[derive(Clone, Copy)]
pub enum Follower {
    /// Another packet of a message.
    Packet(Packet),
    /// Room for another packet in this buffer, from this time on.
    Room(u32, f64),
}

/// The head of a message.
#[derive(Clone, Copy)]
pub struct Head {
    /// When it enters the region, in seconds.
    pub head_s: f64,
    pub(super) nodes: [u32; 2],
    pub(super) bytes: f64,
    pub(super) key: Words,
    pub(super) links_passed: u32,
    pub(super) free_s: f64,
    pub(super) free_after: u32,
}

/// A packet on its way into a buffer.
#[derive(Clone, Copy)]
pub struct Packet {
    /// When it may leave the buffer, in seconds.
    pub ready_s: f64,
    pub(super) buffer: u32,
    /// The key of its message.
    pub(super) key: u64,
    /// Number of steps of the route behind it.
    pub(super) step: u32,
    pub(super) is_last: bool,
}

impl Entrant {
    /// The time from which it counts in the region, in seconds.
    pub fn time_s(&self) -> f64 {
        match self {
            Self::Head(head) => head.head_s,
            Self::First(packet, ..) => packet.ready_s,
        }
    }
}

impl Follower {
    /// As [`Entrant::time_s`].
    pub fn time_s(&self) -> f64 {
        match *self {
            Self::Packet(packet) => packet.ready_s,
            Self::Room(_, time_s) => time_s,
        }
    }
}
