//! What an algorithm's file declares besides its program.

use hocket_core::{Call, Collective, Domain, Options, Parameter, Part, Symmetry, Unit};

use crate::automatic::Automatic;

/// The facts of an algorithm that commands show and tests check.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Time on the critical path in the Hockney model. The formula may use `P` ranks, `n` bytes of the call's message
    /// (`--size`), `alpha` s, `beta` s/B, `gamma` s/B, `o` s (how long a posted message occupies its sender: 0 unless
    /// the machine sets it), `ports` (how many ports the algorithm can use), `k` (how many of them a node has), the
    /// parameters, and the values that `completes` adds.
    pub cost: &'static str,
    /// A time that no call on a machine without levels beats, by the same names, if it is known: such as the time of what
    /// one rank does one after the other. A comparison leaves a slow algorithm out by it, without a simulation.
    pub least: Option<&'static str>,
    /// Messages of all ranks together. The formula may use the same names.
    pub messages: &'static str,
    /// Whether `cost` is the exact time of this call on nodes with enough ports. Otherwise it is an upper bound that
    /// counts every block as large as the largest one. On fewer ports it is an approximation. Tests compare it with the
    /// simulator.
    pub cost_is_exact: fn(&Call) -> bool,
    /// The most messages that a rank sends or receives at a time. On fewer ports, some of them wait. None for the most of
    /// one of its pieces, or 1 without pieces: see [`Entry::ports`](crate::Entry::ports).
    pub ports: Option<fn(&Call) -> usize>,
    /// The precondition: the sentence that refuses a call, or nothing.
    pub refuses: fn(&Call) -> Option<&'static str>,
    /// The parameters it takes.
    pub parameters: &'static [Parameter],
    /// Automatic values of parameters: what `auto` stands for.
    pub automatic: &'static [Automatic],
    /// Values that an accepted call carries besides the given values: parameters whose default depends on the call, and
    /// names that occur only in the formulas.
    pub completes: fn(&Call) -> Vec<(&'static str, u64)>,
    /// The algorithms that it is made of. In `cost` and `messages`, the name of a part is its time, or its messages.
    pub pieces: fn(&Call) -> Vec<Piece>,
    /// The name of the order in which contributions to an element of a result are combined, if this order depends only
    /// on the number of ranks, the rank, the root, and parameters other than segments. Algorithms of a collective that
    /// combine in the same order share the name. None if the order also depends on the element or the size.
    pub order: Option<&'static str>,
    /// The symmetry of its program in a call that it accepts, if it has one: where it has, a simulation of the ranks
    /// that stand for all others is enough.
    pub symmetry: fn(&Call) -> Option<Symmetry>,
    /// Whether the symmetry does not hold for copies.
    pub copies_differ: bool,
    /// Its steps, if its packets can be paced step by step.
    pub steps: Option<Steps>,
    /// Whether ranks still serve others when their results are complete. Its program then ends after `cost`, so that no
    /// formula says when an algorithm that it is a part of goes on.
    pub serves_others: bool,
    /// The topology it is made for, if any; "switch", for nodes whose switch combines and copies; "cards", for nodes with
    /// several network cards; or "nodes", for nodes with several ranks. On other machines, comparisons include it only when the user names it.
    pub topology: Option<&'static str>,
}

/// A part of a composed algorithm in a call, and its algorithm.
pub struct Piece {
    /// The collective of its algorithm.
    pub collective: Collective,
    /// The name of its algorithm.
    pub algorithm: &'static str,
    /// Whether it runs within groups; else between them, in lanes.
    pub is_within: bool,
    /// Its calls, before the algorithm accepts them.
    pub part: Part,
    /// Values of the parameters that the part shares with the whole algorithm.
    pub values: Vec<(String, u64)>,
}

/// Steps in which every rank sends one message and receives one. The program sends to these destinations. The gaps
/// between packets follow from them.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Number of steps.
    pub count: fn(&Call) -> usize,
    /// The rank to which a rank sends in a step. Arguments: the call, the step, and the rank.
    pub destination: fn(&Call, usize, usize) -> usize,
    /// Number of elements in the longest message of a step.
    pub elements: fn(&Call, usize) -> usize,
}

impl Steps {
    /// The options of a message of a step: the gap between its packets.
    pub fn options(c: &Call, step: usize) -> Options {
        Options { gap_packets: c.gap_packets(step), ..Options::default() }
    }

    /// For each rank, the rank from which it receives in a step.
    pub fn sources(&self, c: &Call, step: usize) -> Vec<usize> {
        let mut sources = vec![0; c.ranks];
        for rank in 0..c.ranks {
            sources[(self.destination)(c, step, rank)] = rank;
        }
        sources
    }
}

impl About {
    /// An algorithm with this cost that accepts any call. Its formulas are exact when the number of ranks divides the
    /// number of elements.
    pub const fn new(cost: &'static str, messages: &'static str) -> Self {
        Self {
            cost,
            least: None,
            messages,
            cost_is_exact: ranks_divide_count,
            ports: None,
            refuses: |_| None,
            parameters: &[],
            automatic: &[],
            completes: |_| Vec::new(),
            pieces: |_| Vec::new(),
            order: None,
            symmetry: |_| None,
            copies_differ: false,
            steps: None,
            serves_others: false,
            topology: None,
        }
    }

    /// The formulas are exact for these calls.
    pub const fn exact_when(self, cost_is_exact: fn(&Call) -> bool) -> Self {
        Self { cost_is_exact, ..self }
    }

    /// No call takes less time than this.
    pub const fn at_least(self, least: &'static str) -> Self {
        Self { least: Some(least), ..self }
    }

    /// A rank sends or receives up to this many messages at a time.
    pub const fn on_ports(self, ports: fn(&Call) -> usize) -> Self {
        Self { ports: Some(ports), ..self }
    }

    /// The algorithm refuses a call with the sentence that `refuses` returns for it.
    pub const fn refusing(self, refuses: fn(&Call) -> Option<&'static str>) -> Self {
        Self { refuses, ..self }
    }

    /// The algorithm takes these parameters.
    pub const fn with_parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// These parameters have automatic values.
    pub const fn with_automatic(self, automatic: &'static [Automatic]) -> Self {
        Self { automatic, ..self }
    }

    /// An accepted call is completed with these values.
    pub const fn completing(self, completes: fn(&Call) -> Vec<(&'static str, u64)>) -> Self {
        Self { completes, ..self }
    }

    /// The algorithm is made of these pieces, and accepts the calls that all of them accept.
    pub const fn made_of(self, pieces: fn(&Call) -> Vec<Piece>) -> Self {
        Self { pieces, ..self }
    }

    /// The algorithm combines all elements in the order of this name, see [`About::order`].
    pub const fn combining(self, order: &'static str) -> Self {
        Self { order: Some(order), ..self }
    }

    /// In these calls, the program has this symmetry.
    pub const fn symmetric(self, symmetry: fn(&Call) -> Option<Symmetry>) -> Self {
        Self { symmetry, ..self }
    }

    /// The symmetry does not hold for copies: ranks rotate their vectors by different distances.
    pub const fn but_for_copies(self) -> Self {
        Self { copies_differ: true, ..self }
    }

    /// The algorithm goes step by step, and leaves between packets the gap that the call sets for the step.
    pub const fn paced(self, steps: Steps) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// Ranks still serve others when their results are complete.
    pub const fn serving_others(self) -> Self {
        Self { serves_others: true, ..self }
    }

    /// The algorithm is made for machines with this topology, named as in a machine file.
    pub const fn made_for(self, topology: &'static str) -> Self {
        Self { topology: Some(topology), ..self }
    }
}

pub fn ranks_divide_count(c: &Call) -> bool {
    let is_one_vector = !c.collective.has_blocks() && !c.collective.size_is_one_block();
    if is_one_vector { c.count(0).is_multiple_of(c.ranks) } else { has_equal_blocks(c) }
}

/// All ranks do the same, seen from where they are: each sends to the rank that is as far ahead.
pub fn rotates(_: &Call) -> Option<Symmetry> {
    Some(Symmetry::ROTATION)
}

/// As [`rotates`], if the number of ranks divides the number of elements.
pub fn rotates_evenly(c: &Call) -> Option<Symmetry> {
    ranks_divide_count(c).then_some(Symmetry::ROTATION)
}

/// All ranks of a power of two do the same: each sends to the rank that differs from it in the same bits.
pub fn flips(c: &Call) -> Option<Symmetry> {
    Symmetry::flips(c.ranks)
}

/// As [`flips`], if the number of ranks divides the number of elements.
pub fn flips_evenly(c: &Call) -> Option<Symmetry> {
    flips(c).filter(|_| ranks_divide_count(c))
}

/// Whether all blocks of the call have the same number of elements.
pub fn has_equal_blocks(c: &Call) -> bool {
    (1..c.ranks).all(|i| c.count(i) == c.count(0))
}

/// The precondition of algorithms that combine operands out of rank order.
pub fn needs_commutative(c: &Call) -> Option<&'static str> {
    (c.collective.reduces() && !c.commutative)
        .then_some("needs a commutative operator: it combines operands out of rank order")
}

/// The precondition of algorithms whose partners are found by flipping bits of the rank.
pub fn needs_power_of_two(c: &Call) -> Option<&'static str> {
    (!c.ranks.is_power_of_two())
        .then_some("needs a power of two of ranks: partners are found by flipping bits of the rank")
}

/// The precondition of trees and chains that combine operands in the order of ranks, counted from the root.
pub fn needs_root_0_or_commutative(c: &Call) -> Option<&'static str> {
    let wraps = c.root != 0 && !c.commutative;
    wraps.then_some("needs root 0 or a commutative operator: it combines in the order of ranks counted from the root")
}

/// The parameter of pipelined algorithms.
pub const SEGMENT: Parameter = Parameter {
    name: "segment",
    unit: Unit::Bytes,
    default: 65536,
    least: 1,
    tries: &[3],
    domain: Domain::Size,
    meaning: "bytes per segment: a rank passes one segment on while it receives the next",
};

/// Whether all segments of the call have the same number of elements, and there is more than one rank.
pub fn has_equal_segments(c: &Call) -> bool {
    let (bytes, segment) = ((c.count(0) * c.element_bytes) as u64, c.parameter(SEGMENT.name));
    c.ranks > 1 && (bytes <= segment || bytes.is_multiple_of(segment))
}
