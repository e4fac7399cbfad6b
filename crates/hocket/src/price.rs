//! The time and messages of a call by the algorithm's own formulas.

use hocket_algorithms::automatic::Costs;
use hocket_algorithms::shapes::levels::{Levels, Piece};
use hocket_algorithms::{Cost, Entry, Price, SEGMENT};
use hocket_core::{Call, Counts, Part, Result};
use hocket_machine::Work;
use hocket_simulate::{Line, NetworkModel, Platform};

use crate::surroundings::{costs, local_line};

/// The values of an algorithm's formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// Time by the cost formula, in seconds.
    pub time_s: f64,
    /// Number of messages of all ranks.
    pub messages: f64,
    /// Whether the time is exact.
    pub is_exact: bool,
    /// The time that the call takes at least, in seconds; 0 if nothing is known.
    pub at_least_s: f64,
    /// Whether the time is an upper bound: exact, or with the largest block for all. On fewer ports than usable, it is an
    /// approximation: a message may wait for a port at each end, and so for more messages than the formula counts.
    pub is_bound: bool,
}

/// A simulated time and an exact formula differ by less than this factor.
pub(crate) const ROUNDING: f64 = 1.0 + 1e-9;

impl Predicted {
    /// Whether formulas say that a run without noise ends after `until_s`.
    pub fn is_later_than(&self, until_s: f64) -> bool {
        self.at_least_s > until_s * ROUNDING
    }
}

/// Evaluates the formulas of `entry`, without noise. None unless the platform is a Hockney network with rendezvous and
/// either one cost for all messages, or, for algorithms of two levels whose groups are the nodes, one cost within nodes
/// and one between them. None also where copies or new memory take time, and for a composed algorithm whose time does not
/// follow from those of its parts.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn predict(entry: &Entry, call: &Call, platform: &Platform) -> Result<Option<Predicted>> {
    let NetworkModel::Hockney(network) = &platform.network else { return Ok(None) };
    if network.is_eager || platform.node.copy != Work::default() || platform.node.scratch.is_some() {
        return Ok(None);
    }
    let Some(gamma_s) = platform.node.reduce.s_per_byte() else { return Ok(None) };
    let within = match &network.levels {
        None => network.between,
        Some(levels) => match (levels.of_node(), network.placement.ranks_per_node(), network.ports) {
            (Some(line), Some(ranks), None) if has_groups_of(call, ranks) => *line,
            _ => return Ok(None),
        },
    };
    let knows_levels = within.node_s_per_byte == 0.0 && network.resources.is_none();
    if !knows_levels || network.send_overhead_s.is_some() && !knows_overhead(entry, call)? {
        return Ok(None);
    }
    let terms = Terms { gamma_s, ports: network.ports, overhead_s: network.send_overhead_s };
    if !terms.follow_from_parts(entry, call) {
        return Ok(None);
    }
    let (is_exact, lines) = (terms.are_exact(entry, call), Lines { within, between: network.between });
    let time_s = platform.node.call_overhead_s + terms.time_s(entry, call, lines, is_exact)?;
    let at_least_s = match entry.about.least {
        _ if is_exact => time_s,
        Some(formula) => terms.of_formula(formula, entry, call, lines, true)?,
        None => 0.0,
    };
    let (usable_ports, ports) = terms.ports(entry, call);
    let is_bound = ports == usable_ports;
    Ok(Some(Predicted { time_s, messages: messages(entry, call)?, is_exact, at_least_s, is_bound }))
}

/// A rough estimate of the time of a call: by the formula, as if messages did not meet. `in_turn`, to compare values of
/// parameters: where a processor is busy with each message, it sends one at a time.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn estimate_s(entry: &Entry, call: &Call, platform: &Platform, in_turn: bool) -> Result<f64> {
    let estimate = Estimate::of(call, platform);
    let is_busy = !matches!(platform.network, NetworkModel::Hockney(_));
    let ports = if in_turn && is_busy { Some(1) } else { estimate.ports };
    Estimate { ports, ..estimate }.time_s(entry, call)
}

/// As [`estimate_s`], if a message only takes the time for which it occupies one of its ends, where another can follow it before
/// it arrives: to leave out an algorithm that cannot be fast; 0 if it is unknown.
///
/// # Errors
/// As there.
pub fn optimistic_s(entry: &Entry, call: &Call, platform: &Platform) -> Result<f64> {
    if entry.about.serves_others {
        return Ok(0.0); // the formula also counts what ranks do when they have their results
    }
    let estimate = Estimate::of(call, platform);
    let [occupancy_s, s_per_byte] = platform.network.least_message();
    let Lines { within, between } = estimate.lines;
    let shorter = |line: Line| Line {
        alpha_s: line.alpha_s.min(occupancy_s),
        beta_s_per_byte: line.beta_s_per_byte.min(s_per_byte),
        ..line
    };
    let lines = Lines { within: shorter(within), between: shorter(between) };
    let ports = if local_line(platform, 0.0).is_some() { None } else { estimate.ports };
    Estimate { lines, ports, ..estimate }.time_s(entry, call)
}

/// The Hockney model that comes nearest to the messages of a call.
struct Estimate {
    lines: Lines,
    gamma_s: f64,
    ports: Option<usize>,
}

impl Estimate {
    /// Messages are segments; where there are none, large parts of a vector, as quick to begin as empty messages. Those of
    /// a job on one node are local: they wait for no port.
    fn of(call: &Call, platform: &Platform) -> Self {
        let costs = costs(platform);
        let size_bytes = call.size_bytes();
        let segment = call.parameters.iter().find(|(name, _)| *name == SEGMENT.name);
        let bytes = segment.map_or(size_bytes, |(_, bytes)| size_bytes.min(*bytes));
        let alpha_bytes = segment.map_or(0, |_| bytes);
        let Costs { beta_s_per_byte, gamma_s_per_byte, ports, .. } = costs(bytes);
        let between = Line { alpha_s: costs(alpha_bytes).alpha_s, beta_s_per_byte, node_s_per_byte: 0.0 };
        let (lines, ports) = match local_line(platform, alpha_bytes as f64) {
            Some((ranks, line)) if call.ranks <= ranks => (Lines { within: line, between: line }, None),
            Some((ranks, line)) if has_groups_of(call, ranks) => (Lines { within: line, between }, ports),
            _ => (Lines { within: between, between }, ports),
        };
        Self { lines, gamma_s: gamma_s_per_byte, ports }
    }

    fn time_s(&self, entry: &Entry, call: &Call) -> Result<f64> {
        let Self { lines, gamma_s, ports } = *self;
        Terms { gamma_s, ports, overhead_s: None }.time_s(entry, call, lines, true)
    }
}

/// Whether an algorithm consists of parts within groups of this many neighbours, and parts between these groups.
fn has_groups_of(call: &Call, ranks: usize) -> bool {
    !call.parts.is_empty() && matches!(Levels::of(call), Levels::Equal(groups) if groups.size == ranks.min(call.ranks))
}

/// The parts of a composed algorithm in a call that was accepted.
fn pieces<'a>(entry: &Entry, call: &'a Call) -> impl Iterator<Item = (Piece, &'a Part)> {
    (entry.about.pieces)(call).into_iter().zip(call.parts.iter())
}

/// The number of ports that an algorithm can use.
fn usable_ports(entry: &Entry, call: &Call) -> usize {
    entry.ports(call).max(1)
}

/// Whether the formulas of an algorithm, or of all its parts, include the time that occupies senders.
fn knows_overhead(entry: &Entry, call: &Call) -> Result<bool> {
    if call.parts.is_empty() {
        return Ok(Cost::of(entry.about.cost)?.knows_overhead());
    }
    let know: Result<Vec<_>> =
        pieces(entry, call).map(|(piece, part)| knows_overhead(Entry::of(&piece), &part.calls[0].1)).collect();
    Ok(know?.into_iter().all(|knows| knows))
}

/// The costs of messages within the groups of an algorithm, and of its other messages.
#[derive(Clone, Copy)]
struct Lines {
    within: Line,
    between: Line,
}

impl Lines {
    /// The costs for a part: all its messages, also those within groups of its own, are of one kind.
    fn of(self, piece: &Piece) -> Self {
        let line = if piece.is_within { self.within } else { self.between };
        Self { within: line, between: line }
    }
}

/// The quantities of a platform in formulas.
struct Terms {
    gamma_s: f64,
    /// As [`Hockney::ports`](hocket_simulate::Hockney::ports).
    ports: Option<usize>,
    /// As [`Hockney::send_overhead_s`](hocket_simulate::Hockney::send_overhead_s).
    overhead_s: Option<f64>,
}

impl Terms {
    /// The number of ports that an algorithm can use, and the number of them that a node has.
    fn ports(&self, entry: &Entry, call: &Call) -> (usize, usize) {
        let usable = usable_ports(entry, call);
        (usable, self.ports.unwrap_or(usable).min(usable))
    }

    /// Whether the time of an algorithm follows from the formulas of its parts, if it has parts. The ranks of a part end when
    /// they have their results. They begin at different times: on too few ports, a message of one can then hold up
    /// more messages of another than if they begin together.
    fn follow_from_parts(&self, entry: &Entry, call: &Call) -> bool {
        pieces(entry, call).all(|(piece, part)| {
            let entry = Entry::of(&piece);
            let follows = |call: &Call| {
                let (usable_ports, ports) = self.ports(entry, call);
                ports == usable_ports && self.follow_from_parts(entry, call)
            };
            !entry.about.serves_others && part.calls.iter().all(|(_, call)| follows(call))
        })
    }

    fn are_exact(&self, entry: &Entry, call: &Call) -> bool {
        let (usable_ports, ports) = self.ports(entry, call);
        let mut are_exact = ports == usable_ports && (entry.about.cost_is_exact)(call);
        for (piece, part) in pieces(entry, call) {
            are_exact = are_exact && part.calls.iter().all(|(_, call)| self.are_exact(Entry::of(&piece), call));
        }
        are_exact
    }

    /// The time of an algorithm with these costs of messages, exact or with the largest block for all.
    fn time_s(&self, entry: &Entry, call: &Call, lines: Lines, is_exact: bool) -> Result<f64> {
        self.of_formula(entry.about.cost, entry, call, lines, is_exact)
    }

    /// The value of a formula of an algorithm, as [`Self::time_s`].
    fn of_formula(
        &self,
        formula: &'static str,
        entry: &Entry,
        call: &Call,
        lines: Lines,
        is_exact: bool,
    ) -> Result<f64> {
        let (usable_ports, ports) = self.ports(entry, call);
        let elements = if is_exact { size_in_elements(call) } else { largest_size_in_elements(call) };
        let mut parameters = Vec::new();
        for (piece, part) in pieces(entry, call) {
            let (entry, lines) = (Entry::of(&piece), lines.of(&piece));
            let times = part.calls.iter().map(|(_, call)| self.time_s(entry, call, lines, is_exact));
            parameters.push((part.name, times.collect::<Result<Vec<_>>>()?.into_iter().fold(0.0, f64::max)));
        }
        parameters.extend(values(call));
        Cost::of(formula)?.at(&Price {
            ranks: call.ranks,
            size_bytes: (elements * call.element_bytes) as f64,
            alpha_s: lines.between.alpha_s,
            beta_s: lines.between.beta_s_per_byte,
            gamma_s: self.gamma_s,
            overhead_s: self.overhead_s,
            usable_ports,
            ports,
            parameters,
        })
    }
}

/// The parameters of a call. They follow the values of parts, since a choice and its part have the same name.
fn values(call: &Call) -> Vec<(&'static str, f64)> {
    call.parameters.iter().map(|(name, value)| (*name, *value as f64)).collect()
}

/// Number of messages of all ranks, by the formula of `entry`.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn messages(entry: &Entry, call: &Call) -> Result<f64> {
    let mut parameters = Vec::new();
    for (piece, part) in pieces(entry, call) {
        let (mut first, mut all) = (0, 0.0);
        for (end, call) in &part.calls {
            all += (end - first) as f64 * messages(Entry::of(&piece), call)?;
            first = *end;
        }
        parameters.push((part.name, all));
    }
    Cost::of(entry.about.messages)?.at(&of_bytes(call, 0.0, parameters))
}

/// An estimate of the bytes that all ranks send: each sends the bytes of the critical path on each port, but no message
/// exceeds a rank's input or result. Blocks that all come from or go to the root are on its path, and others forward
/// them.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn sent_bytes(entry: &Entry, call: &Call) -> Result<f64> {
    let is_of_root = call.collective.has_root() && call.collective.has_blocks();
    let paths = if is_of_root { (call.ranks as f64).log2().max(1.0) } else { call.ranks as f64 };
    let ports = usable_ports(entry, call) as f64;
    let whole = call.input_len(call.root).max(call.result_len(call.root)) * call.element_bytes;
    Ok((paths * ports * critical_bytes(entry, call)?).min(messages(entry, call)? * whole as f64))
}

/// The bytes on the critical path, on all ports that are usable: the cost formula with 1 s per byte, other costs 0.
fn critical_bytes(entry: &Entry, call: &Call) -> Result<f64> {
    let mut parameters = Vec::new();
    for (piece, part) in pieces(entry, call) {
        let bytes: Result<Vec<_>> =
            part.calls.iter().map(|(_, call)| critical_bytes(Entry::of(&piece), call)).collect();
        parameters.push((part.name, bytes?.into_iter().fold(0.0, f64::max)));
    }
    let ports = usable_ports(entry, call);
    Cost::of(entry.about.cost)?.at(&Price { usable_ports: ports, ports, ..of_bytes(call, 1.0, parameters) })
}

/// The quantities of a formula in which only bytes take time; the values of the parts are `parts`.
fn of_bytes(call: &Call, beta_s: f64, parts: Vec<(&'static str, f64)>) -> Price {
    Price {
        ranks: call.ranks,
        size_bytes: (size_in_elements(call) * call.element_bytes) as f64,
        alpha_s: 0.0,
        beta_s,
        gamma_s: 0.0,
        overhead_s: None,
        usable_ports: 1,
        ports: 1,
        parameters: parts.into_iter().chain(values(call)).collect(),
    }
}

/// The message of the MPI call: one block or the whole vector, in elements.
fn size_in_elements(call: &Call) -> usize {
    let is_whole =
        matches!(call.counts, Counts::Offsets(_)) || call.collective == hocket_core::Collective::ReduceScatter;
    if is_whole && !call.collective.size_is_one_block() { call.total() } else { call.count(0) }
}

/// The message if every block, or chunk of the vector, is as large as the largest.
fn largest_size_in_elements(call: &Call) -> usize {
    let largest = (0..call.ranks).map(|i| call.count(i)).max().unwrap_or(0);
    if call.collective.size_is_one_block() {
        largest
    } else if call.collective.has_blocks() {
        largest * call.ranks
    } else {
        call.count(0).next_multiple_of(call.ranks)
    }
}
