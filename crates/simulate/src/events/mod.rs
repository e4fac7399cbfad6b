//! The events engine: all ranks in the order of time.
//!
//! A message is one record ([`messages`]), from its send until it is delivered. Its way is a series of events on the
//! [`agenda`]; see docs/engines.md.
//!
//! ```text
//! send ─▶ sending ─▶ crossing ─▶ receiving ─▶ the receive is done
//!         (ports, interface)  (network)   (interface, matching, processor)
//! ```
//!
//! Events are ordered by time, kind, and place, so a run is reproducible. A rank is resumed once for all its operations
//! done at one time. A receive that names its source takes messages in the order of sending; a receive from any source
//! takes them in the order of arrival.

mod agenda;
mod crossing;
mod messages;
mod ready;
mod receiving;
mod sending;
mod turns;
mod verbs;

use std::collections::VecDeque;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{AnyProgram, Call, Error, Path, Result, Source, Symmetry, Woken, check_ranks};
use hocket_machine::{Node, Placement};

use crate::clock::{PlacedTime, Timing, Trial};
use crate::in_time::{Arrival, InTime, Outcome, kept_bytes};
use crate::network::{
    Fabric, LinkUse, Memo, Milestone, Network, NodeTimes, Occupancy, Parcel, Passages, SEND, Traffic,
};
use crate::options::{Failure, Options, bytes};
use crate::peers::Peers;
use crate::ports::PortQueues;
use crate::shuffle::Shuffle;
use agenda::{Action, Agenda};
use messages::Messages;
use ready::Ready;

/// One run of a program on all ranks of a machine, in one trial.
pub struct Run<'a, N> {
    pub program: &'a dyn AnyProgram,
    pub call: &'a Call,
    pub network: &'a N,
    pub trial: &'a Trial<'a>,
    pub node: &'a Node,
    pub options: Options<'a>,
}

/// Runs a program on the representatives of a symmetry of the program and the network.
///
/// # Errors
/// As [`run`]; and the engine does not apply if the time of a rank may depend on its number.
pub fn run_representatives<N: Network>(run: &Run<'_, N>, symmetry: Symmetry) -> std::result::Result<Outcome, Failure> {
    let Run { program, call, network, trial, node, options } = *run;
    check_size(program, call, network).map_err(Failure::Other)?;
    let events = Events::new(call, network, trial, &options).on_representatives(symmetry);
    let world = InTime::new(call, call.ranks, events, node, network.post_s(), &options);
    let (events, _, outcome) = hocket_core::run(program, call, world).into_outcome("symmetry");
    if events.has_taken_from_any || events.traffic.as_ref().is_some_and(|traffic| traffic.knows_numbers()) {
        return Err(Failure::Inapplicable(
            "the numbers of ranks decide which of several messages comes first".to_owned(),
        ));
    }
    let links = events.into_links().map_err(Failure::Other)?;
    Ok(Outcome { links, ..outcome.for_all_ranks(call.ranks, Some(symmetry)) })
}

/// Runs a program on one thread.
///
/// # Errors
/// A deadlock, an interruption, more ranks than the network or the memory holds, or too many passages.
pub fn run<N: Network>(run: &Run<'_, N>) -> Result<Outcome> {
    let Run { program, call, network, trial, node, options } = *run;
    check_size(program, call, network)?;
    let mut events = Events::new(call, network, trial, &options);
    if options.passages {
        events.passages()?.keep();
    }
    let world = InTime::new(call, call.ranks, events, node, network.post_s(), &options);
    let (mut events, _, outcome) = hocket_core::run(program, call, world).into_outcome("events");
    match events.failure.take() {
        Some(failure) => Err(failure),
        None => {
            let passages = if options.passages { events.passages()?.take()? } else { Vec::new() };
            Ok(Outcome { links: events.links(), passages, circuits: events.circuit_counts(), ..outcome })
        }
    }
}

/// Refuses a call if its ranks have no place in the network, or there is no memory for their state.
///
/// # Errors
/// More ranks than the network or the memory holds.
pub fn check_size<N: Network>(program: &dyn AnyProgram, call: &Call, network: &N) -> Result<()> {
    if let Some(shared_network) = network.shared_network() {
        shared_network.fabric().check(call.ranks)?;
    }
    let of_interface = if N::NODE_HAS_STATE { size_of::<VecDeque<u32>>() } else { 0 };
    let bytes_of_a_rank =
        size_of::<N::Node<PlacedTime>>() + of_interface + size_of::<Woken>() + kept_bytes::<PlacedTime>();
    check_ranks(program, call, call.ranks, bytes_of_a_rank)
}

/// The state of a run.
pub struct Events<'a, N: Network> {
    network: &'a N,
    traffic: Option<Box<dyn Traffic + 'a>>,
    /// The time of the network's next event; infinite when there is none.
    network_s: f64,
    /// The topology and the hosts of a network with contention.
    fabric: Option<&'a Fabric>,
    messages: Messages,
    trial: &'a Trial<'a>,
    nodes: Vec<N::Node<PlacedTime>>,
    element_bytes: usize,
    /// The messages that no receive has taken, and the receives without a message.
    mailboxes: Mailboxes<u32, u32>,
    outcomes: Slots<Arrival<PlacedTime>, Path>,
    /// For each rank, the branches that can go on; and those of the running rank that can go on in its next poll.
    woken: Vec<Woken>,
    woken_again: Woken,
    agenda: Agenda,
    /// Whether there has ever been a receive from any source.
    has_taken_from_any: bool,
    /// Number of ranks whose programs have begun, and the running rank.
    started_ranks: usize,
    running: Option<usize>,
    ready: Ready,
    /// True if operations have completed whose ranks continue only after all completions of the present time.
    is_completing: bool,
    /// True if the events that happen now end with some that were made at the present time.
    is_crowded: bool,
    /// Number of events, and of ranks that began; and of calls of `is_interrupted`.
    steps: u64,
    looks: u64,
    is_interrupted: &'a dyn Fn() -> bool,
    failure: Option<Error>,
    /// A reused buffer for events of one kind and time.
    happening: Vec<(u64, Action)>,
    /// A reused buffer for the reports of the network.
    progress: Vec<(u32, Milestone)>,
    /// Number of circuits that programs should open ahead, if the network has circuits.
    circuits: Option<usize>,
    /// Whether messages can leave in the order in which ranks run: no two ranks share anything, and no circuits.
    leaves_at_once: bool,
    /// Whether messages can enter the network before they leave: then, too, and each at a later time than the one before.
    leaves_early: bool,
    /// Messages of each rank that wait for its interface, on networks with interfaces.
    interfaces: Vec<VecDeque<u32>>,
    /// Whether messages pass interfaces before and after a network with contention; and the latencies of their routes.
    has_interfaces: bool,
    ways_s: Memo<f64>,
    /// The places in programs of receives, by slot, if noise delays processors.
    receive_positions: Vec<u64>,
    peers: Peers,
    /// What ranks share, if anything.
    occupancy: Option<Box<Occupancy<'a>>>,
    /// Messages that wait for ports, if ports are limited.
    queues: Option<PortQueues>,
    /// The nodes whose ranks share ports; none if each rank has its own.
    shared_ports: Option<&'a Placement>,
    /// Number of messages issued so far.
    messages_issued: u64,
    /// A reused buffer for the messages that get their ports.
    starting: Vec<u32>,
    /// True if an [`Action::Decide`] is due at the present time.
    is_deciding: bool,
    /// If only the representatives of a symmetry run.
    symmetry: Option<Symmetry>,
}

impl<'a, N: Network> Events<'a, N> {
    pub fn new(call: &Call, network: &'a N, trial: &'a Trial<'a>, options: &Options<'a>) -> Self {
        let Options { is_interrupted, shuffle, .. } = *options;
        let mut traffic = network.shared_network().map(|shared_network| shared_network.traffic());
        traffic.iter_mut().for_each(|traffic| traffic.set_seed(trial.seed ^ trial.trial.rotate_left(u64::BITS / 2)));
        let circuits = traffic.as_mut().and_then(|traffic| traffic.circuits()).map(|circuits| circuits.ports());
        let shared_ports = network.shared_ports();
        let nodes = shared_ports.map_or(call.ranks, |placement| placement.nodes_of_job(call.ranks));
        let fabric = network.shared_network().map(|shared_network| shared_network.fabric());
        let leaves_at_once = circuits.is_none()
            && network.resources().is_none()
            && fabric.is_some_and(|fabric| fabric.placement.ranks_per_node() == Some(1));
        let is_told_early = traffic.as_ref().is_some_and(|traffic| traffic.is_told_early());
        let has_interfaces = fabric.is_some_and(|fabric| fabric.has_interfaces);
        Self {
            network,
            network_s: traffic.as_ref().map_or(f64::INFINITY, |traffic| traffic.next_s()),
            traffic,
            fabric,
            messages: Messages::default(),
            trial,
            nodes: (0..call.ranks).map(|_| NodeTimes::idle(trial.start())).collect(),
            element_bytes: call.element_bytes,
            mailboxes: Mailboxes::new(call.ranks),
            outcomes: Slots::default(),
            woken: vec![Woken::NONE; call.ranks],
            woken_again: Woken::NONE,
            agenda: Agenda::new(shuffle.map(|seed| Box::new(Shuffle::new(seed, call.ranks)))),
            has_taken_from_any: false,
            started_ranks: 0,
            running: None,
            ready: Ready::none(call.ranks),
            is_completing: false,
            is_crowded: false,
            steps: 0,
            looks: 0,
            is_interrupted,
            failure: None,
            happening: Vec::new(),
            progress: Vec::new(),
            circuits,
            leaves_at_once,
            leaves_early: leaves_at_once
                && is_told_early
                && fabric.is_some_and(|fabric| fabric.host.least_end_s(SEND) > 0.0),
            interfaces: vec![VecDeque::new(); if N::NODE_HAS_STATE { call.ranks } else { 0 }],
            has_interfaces,
            ways_s: Memo::new(if has_interfaces { call.ranks } else { 1 }),
            receive_positions: Vec::new(),
            peers: Peers::new(network.knows_peers()),
            occupancy: network
                .resources()
                .map(|(resources, placement)| Box::new(Occupancy::new(resources, placement, call.ranks))),
            queues: network.ports().map(|ports| PortQueues::new(nodes, ports)),
            shared_ports,
            messages_issued: 0,
            starting: Vec::new(),
            is_deciding: false,
            symmetry: None,
        }
    }

    /// The events of the representatives of a symmetry.
    fn on_representatives(mut self, symmetry: Symmetry) -> Self {
        self.traffic = self.network.shared_network().map(|shared_network| shared_network.traffic_under(symmetry));
        self.symmetry = Some(symmetry);
        self.look_at_network();
        self
    }

    /// The use of links, unless it failed.
    pub fn into_links(self) -> Result<Vec<LinkUse>> {
        self.failure.clone().map_or_else(|| Ok(self.links()), Err)
    }

    #[inline(always)]
    fn bytes(&self, len: usize) -> f64 {
        bytes(len, self.element_bytes)
    }

    #[inline(always)]
    fn parcel(&self, [from, to]: [u32; 2], len: usize, is_switched: bool) -> Parcel {
        let within = self.network.within([from as usize, to as usize], self.nodes.len());
        Parcel::new(self.bytes(len), within, is_switched)
    }

    /// The nodes of two ranks of a network with contention.
    #[inline(always)]
    fn nodes_of(&self, [one, other]: [u32; 2]) -> [usize; 2] {
        let Some(fabric) = self.fabric else { return [0; 2] };
        let node_of = |rank| fabric.placement.node_of(rank as usize, self.nodes.len());
        [node_of(one), node_of(other)]
    }

    /// The sender and the receiver of a message; if its receiver does not run, those of the image of the message that
    /// reaches the representative.
    #[inline(always)]
    fn image(&self, ranks: [u32; 2]) -> [u32; 2] {
        let Some(symmetry) = self.symmetry else { return ranks };
        symmetry.image(ranks.map(|rank| rank as usize), self.nodes.len()).map(|rank| rank as u32)
    }

    #[inline(always)]
    fn at(&mut self, time_s: f64, action: Action) {
        self.agenda.at(time_s, action, &self.messages);
    }

    /// The use of each link.
    fn links(&self) -> Vec<LinkUse> {
        self.traffic.as_ref().map(|traffic| traffic.links()).unwrap_or_default()
    }

    /// The passages of all links.
    fn passages(&mut self) -> Result<&mut Passages> {
        let passages = self.traffic.as_mut().and_then(|traffic| traffic.passages());
        passages.ok_or_else(|| {
            Error::new(
                "this network model does not record the load of links over time, expected the model links or packets",
            )
        })
    }

    fn deadlock(&self, rank: usize) -> Error {
        if let Some(circle) = self.traffic.as_ref().and_then(|traffic| traffic.deadlock()) {
            return Error::new(circle);
        }
        let what = match self.mailboxes.waiting_receives(rank).first() {
            Some((Source::Rank(from), tag)) => format!("a message from rank {from} (tag {tag})"),
            Some((Source::Any, tag)) => format!("a message from any rank (tag {tag})"),
            None => "a receive of its send".to_owned(),
        };
        Error::new(format!("deadlock: rank {rank} waits for ever for {what}"))
    }
}

#[cfg(test)]
mod tests {
    //! How many events a message takes: no count may grow by a tenth.

    use hocket_core::{Buffer, Call, Collective, Program, Rank, Span};
    use hocket_machine::{Machine, Noise};

    use super::messages::Message;
    use super::*;
    use crate::network::Visitor;
    use crate::platform::Platform;

    /// Every rank exchanges with its neighbours in a ring, then with those at twice the distance, and so on: so many
    /// bytes each time.
    struct Exchanges(usize);

    impl Program for Exchanges {
        async fn run(&self, r: &Rank<'_>, _: &Call) {
            let (data, into) = (Span::new(Buffer::Input, self.0), Span::new(Buffer::Result, self.0));
            for distance in (0..r.size().ilog2()).map(|log| 1 << log) {
                let from = (r.rank() + r.size() - distance) % r.size();
                r.sendrecv((r.rank() + distance) % r.size(), data, from, into).await;
                r.compute(1e-6).await;
            }
        }
    }

    /// Counts events and messages.
    struct Count<'a>(&'a Exchanges, &'a Node);

    impl Visitor for Count<'_> {
        type Output = f64;

        fn visit<N: Network>(self, network: &N) -> f64 {
            let (Self(program, node), noise, options) = (self, Noise::default(), Options::default());
            let call = &Call::new(Collective::Barrier, 64, 0);
            let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
            let events = Events::new(call, network, &trial, &options);
            let world = InTime::new(call, call.ranks, events, node, network.post_s(), &options);
            let (events, _, outcome) = hocket_core::run(program, call, world).into_outcome("events");
            events.steps as f64 / outcome.messages as f64
        }
    }

    const TORUS: &str = "model = \"links\"\ntopology = \"torus\"\ndims = [4, 4, 4]\nlink_bandwidth = \"5 GB/s\"\n\
                         link_latency = \"0.2 us\"\n";
    const HOST: &str = "[host]\no = \"1 us\"\ng = \"0.3 us\"\nS = \"4 KiB\"\n";

    #[test]
    fn a_message_takes_no_more_events_than_it_did() {
        let fair = format!("{TORUS}sharing = \"fair\"\n");
        let hockney = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n";
        let loggp = "model = \"loggp\"\nL = \"1 us\"\no = \"0.4 us\"\ng = \"0.6 us\"\nG = \"0.1 ns/B\"\n";
        let machines = [
            ("hockney", hockney.to_owned(), [4.2, 4.2]),
            ("loggp", loggp.to_owned(), [5.17, 5.17]),
            ("queues", TORUS.to_owned(), [2.28, 2.43]),
            ("fair", fair.clone(), [2.35, 2.41]),
            ("fair, hosts", format!("{fair}{HOST}"), [3.30, 4.46]),
        ];
        let mut worse = Vec::new();
        for (name, text, most) in machines {
            let machine = Machine::parse(&format!("name = \"test\"\n[network]\n{text}"), "test.toml").unwrap();
            let platform = Platform::new(&machine).unwrap();
            for (bytes, most) in [1000, 100_000].into_iter().zip(most) {
                let events = platform.network.visit(Count(&Exchanges(bytes), &platform.node));
                if events > 1.1 * most {
                    worse.push(format!("{name}, {bytes} B: {events:.2} events a message, {most} before"));
                }
            }
        }
        assert!(worse.is_empty(), "{worse:#?}");
        assert!(size_of::<Message>() <= 136 && size_of::<(f64, Action)>() <= 24);
    }
}
