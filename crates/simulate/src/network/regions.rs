//! A network divided into regions that are simulated side by side.
//!
//! A head needs at least the latency of a link to come from one region into another. So all regions can be simulated
//! up to the end of a *window*, that long after the earliest event, without knowing of each other (conservative
//! synchronization: K. M. Chandy, J. Misra, "Asynchronous distributed simulation via a sequence of parallel
//! computations", Comm. ACM 24, 1981; windows: B. D. Lubachevsky, "Efficient distributed event-driven simulations of
//! multiple-loop networks", Comm. ACM 32, 1989).

use hocket_machine::{AnyTopology, Placement, Topology};

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
        if count < 2 || latency_s <= 0.0 {
            return None;
        }
        let mut ranks_on = vec![0; topology.nodes()];
        let nodes: Vec<_> = (0..ranks).map(|rank| placement.node_of(rank)).collect();
        nodes.iter().for_each(|node| ranks_on[*node] += 1);
        let mut before = 0;
        let of_node = ranks_on.into_iter().map(|here| {
            let region = (before * count / ranks).min(count - 1);
            before += here;
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

    /// The region of a vertex.
    #[inline]
    pub(super) fn of_vertex(&self, vertex: usize) -> u16 {
        self.regions.of_vertex[vertex]
    }
}

/// A message whose head leaves a region.
#[derive(Clone, Copy)]
pub struct Crossing {
    /// The id of its [`Flight`](super::Flight).
    pub id: u32,
    /// The region that it enters.
    pub region: u16,
    /// How it goes on there.
    pub entrant: Entrant,
}

/// A message whose head enters a region, with its state in [`Links`](super::Links).
#[derive(Clone, Copy)]
pub struct Entrant {
    /// When the head enters the region, in seconds.
    pub head_s: f64,
    pub(super) nodes: [u32; 2],
    pub(super) bytes: f64,
    pub(super) key: [u64; 2],
    pub(super) taken: u32,
    pub(super) free_s: f64,
    pub(super) free_after: u32,
}
