//! Places: which ranks of a machine each of several jobs gets.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};

use hocket_core::units::count_in_words;
use hocket_core::{Error, Result, ensure};
use hocket_machine::Placement;
use hocket_simulate::Platform;

use crate::arrivals::uniform;

/// How jobs are placed on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// One job after the other, in the order of the machine's ranks.
    #[default]
    Contiguous,
    /// The jobs take the ranks in turn: first one on each node, then the second one on each, and so on.
    Scattered,
    /// As contiguous, in an order of the machine's ranks that is drawn anew in each trial.
    Random,
}

/// The ranks that a job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Their number.
    pub ranks: usize,
    /// The nodes that the job fills; none if it goes wherever there is room.
    pub nodes: Option<Vec<usize>>,
}

/// Separates these draws from others.
const KEY: u32 = 0x504C_4143;

impl Place {
    /// All ways, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("contiguous", Self::Contiguous), ("scattered", Self::Scattered), ("random", Self::Random)];

    /// The ranks of the machine that each job gets, in the order of the job's ranks. Jobs that name their nodes go
    /// first.
    ///
    /// # Errors
    /// More ranks than the machine, or the named nodes, have; nodes that do not exist, or that two jobs name.
    pub fn ranks(self, demands: &[Demand], platform: &Platform, (seed, trial): (u64, u64)) -> Result<Vec<Vec<usize>>> {
        let in_order = platform.for_jobs();
        let is_dealt = matches!(in_order, Cow::Owned(_)) && self != Self::Random;
        let room = room(demands, &in_order, is_dealt)?;
        let machine = Slots { platform: &in_order, room, is_dealt };
        let mut places = Vec::new();
        let mut named_ranks = BTreeSet::new();
        for demand in demands {
            let own_slots = demand.nodes.as_ref().map(|nodes| machine.on_nodes(nodes, demand.ranks)).transpose()?;
            let ranks = own_slots.map(|mut own_slots| machine.take(&mut own_slots, demand.ranks));
            for rank in ranks.iter().flatten() {
                ensure(named_ranks.insert(*rank), || {
                    format!("nodes: got node {} twice, expected nodes of one job each", machine.node_of(*rank))
                })?;
            }
            places.push(ranks.unwrap_or_default());
        }
        let mut free: Vec<_> = (0..room).filter(|rank| !named_ranks.contains(rank)).collect();
        match self {
            Self::Contiguous => (),
            Self::Scattered => free = machine.round_robin(free),
            Self::Random => free.sort_by_cached_key(|rank| draw((seed, trial), (*rank, room)).to_bits()),
        }
        let missing_ranks = |job: usize| if demands[job].nodes.is_some() { 0 } else { demands[job].ranks };
        let mut free = VecDeque::from(free);
        match self {
            Self::Contiguous | Self::Random => {
                (0..demands.len()).for_each(|job| places[job].extend(machine.take(&mut free, missing_ranks(job))));
            }
            Self::Scattered => {
                for turn in 0..(0..demands.len()).map(missing_ranks).max().unwrap_or(0) {
                    let in_turn = (0..demands.len()).filter(|job| turn < missing_ranks(*job));
                    in_turn.for_each(|job| places[job].extend(free.pop_front()));
                }
            }
        }
        Ok(if is_dealt { places.into_iter().map(|ranks| machine.round_robin(ranks)).collect() } else { places })
    }
}

/// The number of ranks that the machine has; without topology, that the jobs need, or that fit on the nodes which they need
/// if these are dealt.
fn room(demands: &[Demand], platform: &Platform, is_dealt: bool) -> Result<usize> {
    let ranks = demands.iter().fold(0, |ranks: usize, demand| ranks.saturating_add(demand.ranks));
    platform.check_ranks(ranks)?;
    let ranks_per_node = platform.placement.as_ref().and_then(Placement::ranks_per_node).filter(|_| is_dealt);
    Ok(match platform.network.fabric() {
        Some(fabric) => fabric.placement.room(fabric.topology.nodes()),
        None => ranks.next_multiple_of(ranks_per_node.unwrap_or(1)),
    })
}

/// The ranks of a machine on which jobs are placed.
struct Slots<'a> {
    platform: &'a Platform,
    room: usize,
    is_dealt: bool,
}

impl Slots<'_> {
    /// Takes the ranks of a job from free ones, which fill their nodes in order: the first ones, or, if ranks are dealt, as
    /// many of each node on which the first ones are, as far as it has them.
    fn take(&self, free: &mut VecDeque<usize>, ranks: usize) -> Vec<usize> {
        if !self.is_dealt || ranks == 0 {
            return free.drain(..ranks).collect();
        }
        let last_node = self.node_of(free[ranks - 1]);
        let is_beyond = |place: &usize| self.node_of(free[*place]) != last_node;
        let end = (ranks..free.len()).find(is_beyond).unwrap_or(free.len());
        let mut in_turn = self.round_robin(free.drain(..end).collect());
        let mut others = in_turn.split_off(ranks);
        others.sort_unstable();
        others.into_iter().rev().for_each(|rank| free.push_front(rank));
        in_turn
    }

    /// All ranks on these nodes.
    fn on_nodes(&self, nodes: &[usize], ranks: usize) -> Result<VecDeque<usize>> {
        let refused = |text| Err(Error::new(format!("nodes: {text}")));
        let Some(fabric) = self.platform.network.fabric() else {
            return refused(format!("expected none, as machine {} has no topology", self.platform.name));
        };
        let count = fabric.topology.nodes();
        if let Some(node) = nodes.iter().find(|node| **node >= count) {
            return refused(format!("got {node}, expected nodes 0 to {}", count - 1));
        }
        let slots: VecDeque<_> = nodes.iter().flat_map(|node| fabric.placement.ranks_on(*node, self.room)).collect();
        if slots.len() < ranks {
            let count = count_in_words(slots.len(), "rank");
            return refused(format!("got nodes for {count}, expected room for {ranks}"));
        }
        Ok(slots)
    }

    fn node_of(&self, rank: usize) -> usize {
        match (self.platform.network.fabric(), &self.platform.placement) {
            (Some(fabric), _) => fabric.placement.node_of(rank, self.room),
            (None, Some(placement)) => placement.place_of(rank, self.room),
            (None, None) => rank,
        }
    }

    /// The first of these ranks on each node, then the second, and so on.
    fn round_robin(&self, ranks: Vec<usize>) -> Vec<usize> {
        let mut on_node = HashMap::new();
        let mut in_turn: Vec<_> = ranks
            .into_iter()
            .map(|rank| {
                let before: &mut usize = on_node.entry(self.node_of(rank)).or_default();
                *before += 1;
                (*before, rank)
            })
            .collect();
        in_turn.sort_unstable();
        in_turn.into_iter().map(|(_, rank)| rank).collect()
    }
}

/// A number between 0 and 1; the bits of such numbers are in their order.
fn draw(seed_and_trial: (u64, u64), (rank, room): (usize, usize)) -> f64 {
    uniform(KEY, seed_and_trial, (rank as u64, room))
}
