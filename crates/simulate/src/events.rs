//! The events engine: all ranks in the order of time, driven by a queue of events.
//!
//! Events are ordered by (time, kind, sequence number), so a run is reproducible. A rank is resumed once for all its
//! operations done at one time. A receive that names its source takes messages in the order of sending; a receive from
//! any source takes them in the order of arrival. A network with contention keeps its own time: its events come after
//! messages that leave then, and before all others. Circuits and ports are assigned after all other events of a time.

use std::collections::{HashSet, VecDeque};
use std::mem::{replace, take};

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    AnyProgram, Call, Error, Features, Mode, Moment, Path, ReadyRanks, Received, Result, Source, Symmetry, Tag, Woken,
    check_ranks,
};
use hocket_machine::{Node, Placement};

use crate::agenda::{ADVANCING, ARRIVING, Action, Agenda, COMPLETING, DECIDING, LEAVING};
use crate::clock::{Clock, Occupation, PlacedTime, Timing, Trial};
use crate::flights::{Delivery, Envelope, Flights, Flying, UnmatchedMessage};
use crate::in_time::{Arrival, Clockwork, Connection, InTime, Outcome, Sending, StepStatus, kept_bytes};
use crate::network::{
    Ask, CircuitCounts, Departure, Fabric, Flight, LinkUse, Memo, Milestone, Network, Occupancy, OnDemand, Parcel,
    Passages, Passing, RECEIVE, SEND, Traffic,
};
use crate::options::{Failure, Options, bytes};
use crate::peers::Peers;
use crate::ports::{Asking, PortQueues};
use crate::shuffle::Shuffle;

/// Number of events, and of ranks and messages that begin, between two calls of `is_interrupted`.
const EVENTS_PER_LOOK: u64 = 1 << 18;

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

/// The largest number of successive network events before the agenda is checked.
const ADVANCES_AT_ONCE: u64 = 1 << 10;

fn takes_from_any(mailboxes: &Mailboxes<UnmatchedMessage, u32>, rank: usize) -> bool {
    mailboxes.waiting_receives(rank).iter().any(|(source, _)| *source == Source::Any)
}

/// The arrival time and the sender of the earliest message that a receive from `source` with `tag` may take; of several,
/// that of the lowest rank. Of each sender only the message sent first is considered, even if another one arrives before
/// it.
fn earliest(mailboxes: &Mailboxes<UnmatchedMessage, u32>, rank: usize, source: Source, tag: Tag) -> Option<(f64, u32)> {
    let mut senders = HashSet::new();
    let messages = mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
    let firsts = messages.filter(|(from, ..)| senders.insert(*from));
    firsts.map(|(from, _, message)| (message.time_s, from)).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
}

pub struct Events<'a, N: Network> {
    network: &'a N,
    traffic: Option<Box<dyn Traffic + 'a>>,
    /// The time of the network's next event; infinite when there is none.
    network_s: f64,
    /// The topology and the hosts of a network with contention.
    fabric: Option<&'a Fabric>,
    flights: Flights,
    trial: &'a Trial<'a>,
    nodes: Vec<N::Node<PlacedTime>>,
    element_bytes: usize,
    mailboxes: Mailboxes<UnmatchedMessage, u32>,
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
    /// The only rank that can go on, or several.
    only_ready: Option<usize>,
    ready: ReadyRanks,
    are_ready: bool,
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
        let circuits = traffic.as_mut().and_then(|traffic| traffic.circuits()).map(|circuits| circuits.ports());
        let shared_ports = network.shared_ports();
        let nodes = shared_ports.map_or(call.ranks, |placement| placement.nodes_of_job(call.ranks));
        let fabric = network.shared_network().map(|shared_network| shared_network.fabric());
        let has_interfaces = fabric.is_some_and(|fabric| fabric.has_interfaces);
        Self {
            network,
            network_s: traffic.as_ref().map_or(f64::INFINITY, |traffic| traffic.next_s()),
            traffic,
            fabric,
            flights: Flights::default(),
            trial,
            nodes: (0..call.ranks).map(|_| network.idle(trial.start())).collect(),
            element_bytes: call.element_bytes,
            mailboxes: Mailboxes::new(call.ranks),
            outcomes: Slots::default(),
            woken: vec![Woken::NONE; call.ranks],
            woken_again: Woken::NONE,
            agenda: Agenda::new(shuffle.map(|seed| Box::new(Shuffle::new(seed, call.ranks)))),
            has_taken_from_any: false,
            started_ranks: 0,
            running: None,
            only_ready: None,
            ready: ReadyRanks::none(call.ranks),
            are_ready: false,
            is_completing: false,
            is_crowded: false,
            steps: 0,
            looks: 0,
            is_interrupted,
            failure: None,
            happening: Vec::new(),
            progress: Vec::new(),
            circuits,
            leaves_at_once: circuits.is_none()
                && network.resources().is_none()
                && fabric.is_some_and(|fabric| fabric.placement.ranks_per_node() == Some(1)),
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
    fn nodes_of(&self, ranks: [u32; 2]) -> [usize; 2] {
        let node_of = |rank, fabric: &Fabric| fabric.placement.node_of(rank, self.nodes.len());
        ranks.map(|rank| self.fabric.map_or(0, |fabric| node_of(rank as usize, fabric)))
    }

    /// The properties on which the time of a message depends.
    #[inline(always)]
    fn parcel_of(&self, envelope: &Envelope) -> Parcel {
        let Envelope { from, to, len, is_switched, is_new, .. } = *envelope;
        Parcel { is_new, ..self.parcel([from, to], len, is_switched) }
    }

    /// The same, once its receiver no longer counts as a new peer.
    #[inline(always)]
    fn parcel_under_way(&self, envelope: &Envelope) -> Parcel {
        Parcel { is_new: false, ..self.parcel_of(envelope) }
    }

    /// The sender and the receiver of a message that a rank here sends; if its receiver does not run, those of the image of
    /// the message that reaches the representative.
    #[inline(always)]
    fn image(&self, from: u32, to: u32) -> [u32; 2] {
        let Some(symmetry) = self.symmetry else { return [from, to] };
        symmetry.image([from as usize, to as usize], self.nodes.len()).map(|rank| rank as u32)
    }

    /// Whether a message goes through a network with contention.
    #[inline(always)]
    fn meets(&self, message: Parcel) -> bool {
        N::MESSAGES_MEET && message.within.is_none()
    }

    #[inline(always)]
    fn at(&mut self, time_s: f64, action: Action) {
        self.agenda.at(time_s, action);
    }

    /// Whether the simulation continues; checks from time to time if the user wants to stop.
    fn goes_on(&mut self) -> bool {
        let looks = (self.steps + self.messages_issued) / EVENTS_PER_LOOK;
        if looks > self.looks {
            self.looks = looks;
            if (self.is_interrupted)() {
                self.failure = Some(Error::interruption());
            }
        }
        self.failure.is_none()
    }

    /// Applies the next event, on the agenda or in the network, and others of its kind and time. Returns false if there is
    /// none.
    #[inline(always)]
    fn happen_next(&mut self) -> bool {
        if self.agenda.first_kind().is_none() {
            let first_s = self.agenda.first_s();
            if first_s < self.network_s
                && let Some(action) = self.agenda.advance_to_only()
            {
                self.happen_alone(action);
                return true;
            }
            if first_s.is_infinite() && self.network_s.is_infinite() && self.agenda.is_empty() {
                return false;
            }
            self.agenda.advance_to(first_s.min(self.network_s));
        }
        let first_kind = self.agenda.first_kind();
        if self.network_acts_now() && first_kind.is_none_or(|kind| kind > ADVANCING) {
            self.advance();
        } else if let Some(kind) = first_kind {
            self.happen_all(kind);
        }
        true
    }

    /// Whether the network has an event now. Times that overflowed to infinity count as no event.
    #[inline(always)]
    fn network_acts_now(&self) -> bool {
        self.network_s == self.agenda.now_s() && self.network_s.is_finite()
    }

    /// Notes the time of the network's next event, after something has changed there.
    #[inline(always)]
    fn look_at_network(&mut self) {
        self.network_s = self.traffic.as_ref().map_or(f64::INFINITY, |traffic| traffic.next_s());
    }

    /// The next rank that can go on, unless an event comes before.
    #[inline(always)]
    fn next_ready(&mut self) -> Option<usize> {
        if self.is_completing {
            if self.network_acts_now() || self.agenda.first_kind().is_some_and(|kind| kind <= COMPLETING) {
                return None;
            }
            self.is_completing = false;
        }
        let place = match self.only_ready.take() {
            Some(place) => place,
            None if self.are_ready => self.pop_ready()?,
            None => return None,
        };
        Some(self.agenda.shuffle().map_or(place, |shuffle| shuffle.rank_at(place)))
    }

    /// The first of several ranks that can go on.
    fn pop_ready(&mut self) -> Option<usize> {
        let place = self.ready.pop_lowest();
        self.are_ready = place.is_some();
        place
    }

    /// The rank at this place can go on.
    #[inline(always)]
    fn push_ready(&mut self, place: usize) {
        if !self.are_ready && self.only_ready.is_none_or(|only| only == place) {
            self.only_ready = Some(place);
            return;
        }
        self.only_ready.take().into_iter().chain([place]).for_each(|place| self.ready.push(place));
        self.are_ready = true;
    }

    /// The next rank whose program has not begun.
    fn next_to_begin(&mut self) -> Option<usize> {
        let ranks = self.nodes.len();
        let rank_at = |place| self.agenda.shuffle().map_or(place, |shuffle| shuffle.rank_at(place));
        let place = (self.started_ranks..ranks).find(|place| self.runs(rank_at(*place)));
        let rank = place.map(rank_at);
        self.started_ranks = place.map_or(ranks, |place| place + 1);
        self.steps += u64::from(rank.is_some());
        rank
    }

    /// Applies the only event of its time, and others of its kind that follow from it.
    #[inline(always)]
    fn happen_alone(&mut self, action: Action) {
        let kind = action.kind();
        self.steps += 1;
        self.is_crowded = self.agenda.is_made_now(None);
        self.happen(action);
        if kind != DECIDING && self.agenda.first_kind() == Some(kind) {
            return self.happen_all(kind);
        }
        self.is_completing &= kind != COMPLETING;
    }

    /// Applies all present events of this kind, before any event or rank that follows from them.
    fn happen_all(&mut self, kind: usize) {
        let mut happening = take(&mut self.happening);
        loop {
            self.agenda.take(kind, &mut happening);
            self.steps += happening.len() as u64;
            self.is_crowded = self.agenda.is_made_now(happening.last());
            happening.drain(..).for_each(|(_, action)| self.happen(action));
            if kind == DECIDING || self.agenda.first_kind() != Some(kind) {
                break;
            }
        }
        self.happening = happening;
        self.is_completing &= kind != COMPLETING;
    }

    /// Applies the effects of one event.
    fn happen(&mut self, action: Action) {
        let now_s = self.agenda.now_s();
        match action {
            Action::Complete { rank, slot, from, len } => self.complete(rank, slot, (from, len)),
            Action::Ask { flight } => self.ask(flight, now_s),
            Action::Leave { flight } => self.leave(flight, self.flights.get(flight).envelope),
            Action::Pass { flight, arrival_s, latency_s } => self.pass(flight, arrival_s, latency_s),
            Action::Arrive { flight } => self.arrive(flight, now_s),
            Action::Sent { flight } => self.leave_port(flight, now_s),
            Action::Free { rank } => self.depart_next(rank),
            Action::TakeIn { flight, arrival_s } => self.take_in(flight, arrival_s),
            Action::Inject { flight } => self.inject_granted(flight, now_s),
            Action::Deliver { rank, slot, from, len, is_switched } => {
                self.deliver(rank, slot, (from, len), is_switched)
            }
            Action::Probe { rank } => self.match_arrived(rank as usize, now_s),
            Action::Decide => self.decide(now_s),
        }
    }

    /// A message has arrived, and its receive is posted.
    fn deliver(&mut self, rank: u32, slot: u32, (from, len): (u32, usize), is_switched: bool) {
        let (now_s, message) = (self.agenda.now_s(), self.parcel([from, rank], len, is_switched));
        let position = self.receive_positions.get(slot as usize).copied().unwrap_or_default();
        let begin = self.begin_work(rank, position, now_s, || self.network.processing_s(RECEIVE, message));
        let end_s = self.network.accept(&mut self.nodes[rank as usize], begin, message).time_s;
        if end_s == now_s {
            self.complete(rank, slot, (from, len));
        } else {
            self.at(end_s, Action::Complete { rank, slot, from, len });
        }
    }

    /// An operation of `rank` is done now, in its turn among the events of the present time.
    #[inline(always)]
    fn complete(&mut self, rank: u32, slot: u32, (from, len): (u32, usize)) {
        let received = Received { source: from, len };
        let waiting = self.outcomes.fill(slot, (PlacedTime::at(self.agenda.now_s()), received));
        if let Some(path) = waiting {
            self.woken[rank as usize].add(path);
            let place = self.agenda.shuffle().map_or(rank as usize, |shuffle| shuffle.place_of(rank as usize));
            self.push_ready(place);
            self.is_completing = true;
        }
    }

    /// An operation of `rank` is done now, after the completions that are already due at the present time.
    #[inline(always)]
    fn complete_in_turn(&mut self, rank: u32, slot: u32, (from, len): (u32, usize)) {
        if self.agenda.first_kind() == Some(COMPLETING) {
            self.at(self.agenda.now_s(), Action::Complete { rank, slot, from, len });
        } else {
            self.complete(rank, slot, (from, len));
        }
    }

    /// The node that holds the ports of a rank, by its number among those of the job.
    #[inline(always)]
    fn holder_of_ports(&self, rank: u32) -> u32 {
        let place = |placement: &Placement| placement.place_of(rank as usize, self.nodes.len()) as u32;
        self.shared_ports.map_or(rank, place)
    }

    /// A message that could leave its sender at `now_s` asks for ports once the processor runs.
    fn ask_as_processor_runs(&mut self, now_s: f64, sender_slot: u32, envelope: Envelope) -> UnmatchedMessage {
        let flight = self.flights.add(Flying::new(envelope, now_s, Some(sender_slot), None));
        let begin_s = self.begin_of_send(now_s, &envelope).time_s;
        if begin_s > now_s {
            self.at(begin_s, Action::Ask { flight });
        } else {
            self.ask(flight, now_s);
        }
        UnmatchedMessage { envelope, time_s: f64::INFINITY, state: Delivery::Flying(flight) }
    }

    /// A message asks for ports, and starts at once if it needs none.
    fn ask(&mut self, flight: u32, now_s: f64) {
        let envelope = self.flights.get(flight).envelope;
        let (Envelope { from, to, number, .. }, message) = (envelope, self.parcel_under_way(&envelope));
        let [from_node, to_node] = [from, to].map(|rank| self.holder_of_ports(rank));
        if let Some(queues) = self.queues.as_mut().filter(|_| !message.is_on_node()) {
            queues.ask(Asking { from: from_node, to: to_node, order: (from, number), flight });
            self.decide_later(now_s);
        } else {
            self.start(flight, now_s);
        }
    }

    /// A message that has its ports starts.
    fn start(&mut self, flight: u32, now_s: f64) {
        let Flying { envelope, sender_slot, .. } = *self.flights.get(flight);
        let (Envelope { from, to, len, position, .. }, message) = (envelope, self.parcel_of(&envelope));
        let departure = self.network.inject(&mut self.nodes[from as usize], PlacedTime::at(now_s), message);
        let (sent_s, sender_done_s) = (now_s + departure.transfer_s, departure.sender_done.time_s);
        if sender_done_s != sent_s {
            self.flights.get_mut(flight).sender_slot = None;
            if let Some(slot) = sender_slot {
                self.at(sender_done_s, Action::Complete { rank: from, slot, from, len });
            }
        }
        let occupation = Occupation::transfer(from as usize, position, to as usize, departure.transfer_s);
        let arrival_s = self.trial.pass(occupation, departure.start).time_s;
        if self.occupancy.is_some() {
            self.flights.get_mut(flight).left_s = sent_s;
            return self.pass_later(flight, &departure, arrival_s);
        }
        self.at(sent_s, Action::Sent { flight });
        self.agenda.at_of(arrival_s, &envelope, Action::Arrive { flight });
    }

    /// A message will pass what ranks share, in its turn among the messages that start then.
    fn pass_later(&mut self, flight: u32, departure: &Departure<PlacedTime>, arrival_s: f64) {
        let (envelope, latency_s) = (self.flights.get(flight).envelope, departure.latency_s);
        self.agenda.at_of(departure.start.time_s, &envelope, Action::Pass { flight, arrival_s, latency_s });
    }

    fn pass(&mut self, flight: u32, arrival_s: f64, latency_s: f64) {
        let (now_s, Flying { envelope, left_s, .. }) = (self.agenda.now_s(), *self.flights.get(flight));
        let message = self.parcel_under_way(&envelope);
        let Some(occupancy) = &mut self.occupancy else { return };
        let [first_s, passed_s] = occupancy.leave(Passing::new(&envelope, message), now_s);
        let delay_s = (passed_s + latency_s - arrival_s).max(0.0);
        self.flights.get_mut(flight).first_s = first_s + latency_s;
        if !N::NODE_HAS_STATE {
            self.at(left_s + delay_s, Action::Sent { flight });
        }
        let arrival = PlacedTime::at(arrival_s + delay_s);
        let head = self.network.head(PlacedTime::at(now_s), arrival, message);
        self.agenda.at_of(head.time_s, &envelope, Action::TakeIn { flight, arrival_s: arrival.time_s });
    }

    /// A message has left its sender, and releases its sending port.
    fn leave_port(&mut self, flight: u32, now_s: f64) {
        let Flying { envelope: Envelope { from, to, len, .. }, sender_slot, .. } = *self.flights.pass(flight);
        if let Some(slot) = sender_slot {
            self.complete(from, slot, (from, len));
        }
        let node = self.holder_of_ports(from);
        if self.holds_ports([from, to])
            && let Some(queues) = &mut self.queues
        {
            queues.sent(node);
            self.decide_later(now_s);
        }
    }

    /// Whether a message holds ports, if they are limited.
    fn holds_ports(&self, ranks: [u32; 2]) -> bool {
        self.queues.is_some() && !self.parcel(ranks, 0, false).is_on_node()
    }

    /// A message leaves its sender at `now_s` or as soon after as it can.
    #[inline(always)]
    fn inject(&mut self, now_s: f64, sender_slot: u32, envelope: Envelope) -> UnmatchedMessage {
        let Envelope { from, to, len, position, .. } = envelope;
        let message = self.parcel_of(&envelope);
        let is_followed = self.occupancy.is_some() && !N::NODE_HAS_STATE;
        if self.queues.is_some() && !message.is_on_node() || is_followed {
            return self.ask_as_processor_runs(now_s, sender_slot, envelope);
        }
        if let Some(free) = self.network.free_to_send(&self.nodes[from as usize], message) {
            return self.inject_by_interface(now_s, free.time_s, Flying::new(envelope, now_s, Some(sender_slot), None));
        }
        let begin = self.begin_of_send(now_s, &envelope);
        let departure = self.network.inject(&mut self.nodes[from as usize], begin, message);
        if !N::MESSAGES_MEET {
            self.at(departure.sender_done.time_s, Action::Complete { rank: from, slot: sender_slot, from, len });
            let occupation = Occupation::transfer(from as usize, position, to as usize, departure.transfer_s);
            let time_s = self.trial.pass(occupation, departure.start).time_s;
            return UnmatchedMessage { envelope, time_s, state: Delivery::Known };
        }
        let flight = self.flights.add(Flying::new(envelope, f64::NAN, Some(sender_slot), None));
        self.send_off(flight, departure.start.time_s);
        UnmatchedMessage { envelope, time_s: f64::INFINITY, state: Delivery::Flying(flight) }
    }

    /// A message enters a network with contention when its sender's processor is done, at `left_s`.
    #[inline(always)]
    fn send_off(&mut self, flight: u32, left_s: f64) {
        let Flying { envelope, sender_slot, .. } = *self.flights.get(flight);
        let Envelope { from, len, is_posted, .. } = envelope;
        let flying = self.flights.get_mut(flight);
        flying.left_s = left_s;
        if is_posted {
            flying.sender_slot = None;
            if let Some(slot) = sender_slot {
                self.at(left_s, Action::Complete { rank: from, slot, from, len });
            }
        }
        // Messages that leave now precede all other events.
        let is_next = self.leaves_at_once && self.running.is_some() && left_s == self.agenda.now_s();
        if is_next && self.agenda.first_kind() != Some(LEAVING) {
            self.leave(flight, envelope);
        } else {
            self.agenda.at_of(left_s, &envelope, Action::Leave { flight });
        }
    }

    /// A message leaves its sender at `now_s`, or waits for the interface, which is free at `free_s`.
    fn inject_by_interface(&mut self, now_s: f64, free_s: f64, flying: Flying) -> UnmatchedMessage {
        let Flying { envelope, .. } = flying;
        let flight = self.flights.add(flying);
        let waiting = &mut self.interfaces[envelope.from as usize];
        if free_s <= now_s && waiting.is_empty() {
            self.depart(flight, now_s);
        } else {
            waiting.push_back(flight);
            if waiting.len() == 1 {
                self.at(free_s, Action::Free { rank: envelope.from });
            }
        }
        UnmatchedMessage { envelope, time_s: f64::INFINITY, state: Delivery::Flying(flight) }
    }

    /// The first message that waits for the interface of `rank` leaves.
    fn depart_next(&mut self, rank: u32) {
        let Some(flight) = self.interfaces[rank as usize].pop_front() else { return };
        self.depart(flight, self.agenda.now_s());
        if let Some(next) = self.interfaces[rank as usize].front() {
            let message = self.parcel_under_way(&self.flights.get(*next).envelope);
            let free = self.network.free_to_send(&self.nodes[rank as usize], message);
            self.at(free.map_or(self.agenda.now_s(), |free| free.time_s), Action::Free { rank });
        }
    }

    /// A message that has its sender's interface leaves as soon as the processor can send it.
    #[inline(always)]
    fn depart(&mut self, flight: u32, now_s: f64) {
        let Flying { envelope, sender_slot, .. } = *self.flights.get(flight);
        let (Envelope { from, to, len, position, .. }, message) = (envelope, self.parcel_of(&envelope));
        let begin = self.begin_of_send(now_s, &envelope);
        let departure = self.network.inject(&mut self.nodes[from as usize], begin, message);
        if self.meets(message) {
            return self.send_off(flight, departure.start.time_s);
        }
        self.flights.get_mut(flight).milestones_left = 1;
        if let Some(slot) = sender_slot {
            self.at(departure.sender_done.time_s, Action::Complete { rank: from, slot, from, len });
        }
        let occupation = Occupation::transfer(from as usize, position, to as usize, departure.transfer_s);
        let arrival = self.trial.pass(occupation, departure.start);
        if self.occupancy.is_some() {
            return self.pass_later(flight, &departure, arrival.time_s);
        }
        let head = self.network.head(departure.start, arrival, message);
        self.agenda.at_of(head.time_s, &envelope, Action::TakeIn { flight, arrival_s: arrival.time_s });
    }

    /// The receiver's interface takes a message in.
    #[inline(always)]
    fn take_in(&mut self, flight: u32, arrival_s: f64) {
        let Flying { envelope, first_s, .. } = *self.flights.get(flight);
        let (to, message) = (envelope.to, self.parcel_under_way(&envelope));
        let arrival_s = match &mut self.occupancy {
            Some(occupancy) => arrival_s.max(occupancy.reach(Passing::new(&envelope, message), first_s)),
            None => arrival_s,
        };
        if arrival_s > self.agenda.now_s() && !N::NODE_HAS_STATE {
            return self.agenda.at_of(arrival_s, &envelope, Action::Arrive { flight });
        }
        let intake = self.network.take_in(&mut self.nodes[to as usize], PlacedTime::at(arrival_s), message);
        self.arrive(flight, intake.time_s);
    }

    /// When the processor of a sender begins its part of a message that is ready at `now_s`.
    #[inline(always)]
    fn begin_of_send(&self, now_s: f64, envelope: &Envelope) -> PlacedTime {
        let length_s = || self.network.processing_s(SEND, self.parcel_under_way(envelope));
        self.begin_work(envelope.from, envelope.position, now_s, length_s)
    }

    /// When the processor of `rank` begins its part of a message, which takes `length_s` and is ready at `now_s`.
    #[inline(always)]
    fn begin_work(&self, rank: u32, position: u64, now_s: f64, length_s: impl FnOnce() -> f64) -> PlacedTime {
        let now = PlacedTime::at(now_s);
        if !self.trial.interrupts() {
            return now;
        }
        let free = self.network.free_to_work(&self.nodes[rank as usize], now);
        self.trial.begin(Occupation::work(rank as usize, position, length_s()), free)
    }

    /// The sender of a rendezvous continues without it. Returns a slot whose outcome is discarded.
    fn post(&mut self, rank: usize, slot: u32, now_s: f64, len: usize) -> u32 {
        self.at(now_s, Action::Complete { rank: rank as u32, slot, from: rank as u32, len });
        let nobodys = self.outcomes.open();
        self.outcomes.abandon(nobodys);
        nobodys
    }

    /// A rendezvous leaves its sender, and its receive waits for it.
    fn inject_granted(&mut self, flight: u32, now_s: f64) {
        let Flying { envelope, sender_slot, receiver_slot, .. } = self.flights.remove(flight);
        let Some(sender_slot) = sender_slot else { return };
        let sent = self.inject(now_s, sender_slot, envelope);
        if let Some(receiver_slot) = receiver_slot {
            self.bind(now_s, receiver_slot, &sent);
        }
    }

    /// A message enters a network with contention.
    #[inline(always)]
    fn leave(&mut self, flight: u32, envelope: Envelope) {
        let now_s = self.agenda.now_s();
        let Envelope { from, to, len, gap_packets, .. } = envelope;
        let (bytes, ranks) = (self.bytes(len), [from, to]);
        let [from, to] = self.nodes_of(ranks);
        let Some(traffic) = &mut self.traffic else { return };
        let gap_packets = f64::from(gap_packets);
        if let Some(occupancy) = &mut self.occupancy {
            let message = Passing { ranks, bytes, within: None };
            let flying = self.flights.get_mut(flight);
            [flying.first_s, flying.passed_s] = occupancy.leave(message, now_s);
        }
        traffic.inject(now_s, Flight { id: flight, from, to, ranks, bytes, gap_packets });
        self.look_at_network();
        self.decide_later(now_s);
    }

    /// Advances the network to its next event, and further while its events concern no rank.
    fn advance(&mut self) {
        let mut progress = std::mem::take(&mut self.progress);
        if let Some(traffic) = &mut self.traffic {
            let most = if self.circuits.is_none() { ADVANCES_AT_ONCE } else { 1 };
            for _ in 0..most {
                self.agenda.advance_to(traffic.next_s());
                traffic.advance(&mut progress);
                self.steps += 1;
                if !progress.is_empty() || traffic.next_s() >= self.agenda.first_s() {
                    break;
                }
            }
        }
        self.look_at_network();
        let now_s = self.agenda.now_s();
        self.report(now_s, progress);
        self.decide_later(now_s);
    }

    /// Applies the milestones that the network reports.
    fn report(&mut self, now_s: f64, mut progress: Vec<(u32, Milestone)>) {
        for (flight, milestone) in progress.drain(..) {
            match milestone {
                Milestone::Sent => {
                    let Flying { envelope, passed_s, sender_slot, .. } = *self.flights.pass(flight);
                    let Envelope { from, len, .. } = envelope;
                    match sender_slot {
                        Some(slot) if passed_s > now_s => {
                            self.at(passed_s, Action::Complete { rank: from, slot, from, len })
                        }
                        Some(slot) => self.complete_in_turn(from, slot, (from, len)),
                        None => (),
                    }
                }
                Milestone::Arrives(at_s) => {
                    let Flying { envelope, left_s, .. } = *self.flights.get(flight);
                    let Envelope { from, to, position, .. } = envelope;
                    let own_s = if self.has_interfaces { self.last_byte_s(&envelope, left_s, at_s) } else { at_s };
                    let there_s = self.passed_at_receiver_s(flight, own_s);
                    let occupation = Occupation::transfer(from as usize, position, to as usize, there_s - left_s);
                    let arrival_s = self.trial.delayed_s(occupation, left_s, there_s);
                    let is_taken_in = self.has_interfaces || self.occupancy.is_some();
                    let taking_in = Action::TakeIn { flight, arrival_s };
                    let arriving = if is_taken_in { taking_in } else { Action::Arrive { flight } };
                    self.agenda.at_of(arrival_s, &envelope, arriving);
                }
                Milestone::Answered(is_open) => {
                    let Flying { envelope, sender_slot, .. } = self.flights.remove(flight);
                    let Envelope { from: rank, to, .. } = envelope;
                    if let Some(slot) = sender_slot {
                        self.complete_in_turn(rank, slot, (to, is_open.into()));
                    }
                }
            }
        }
        self.progress = progress;
    }

    /// When the last byte of a message is at its receiver, if it arrives there at `arrival_s` by itself: later if what its
    /// sender shares holds it up.
    fn passed_at_receiver_s(&mut self, flight: u32, arrival_s: f64) -> f64 {
        let Some(shared_network) = self.network.shared_network().filter(|_| self.occupancy.is_some()) else {
            return arrival_s;
        };
        let Envelope { from, to, len, .. } = self.flights.get(flight).envelope;
        let route_s = shared_network.latency_s(self.nodes_of([from, to]));
        let burst_s = shared_network.burst_s(self.bytes(len));
        let flying = self.flights.get_mut(flight);
        let there_s = arrival_s.max(flying.passed_s + route_s);
        let first_s = burst_s.map_or(f64::NEG_INFINITY, |s| there_s - s.max(flying.passed_s - flying.first_s));
        flying.first_s = first_s.max(flying.first_s + route_s);
        there_s
    }

    /// When the last byte of a message is at its receiver, if the network has carried it by `carried_s`: later if the
    /// interfaces need longer for its bytes, or if it is the first message to its receiver.
    fn last_byte_s(&mut self, envelope: &Envelope, left_s: f64, carried_s: f64) -> f64 {
        let message = self.parcel_of(envelope);
        let [gap_s, meeting_s] =
            self.fabric.map_or([0.0; 2], |fabric| [fabric.host.gap_s(message), fabric.host.meeting_s(message)]);
        if gap_s == 0.0 {
            return carried_s + meeting_s;
        }
        carried_s.max(left_s + self.way_s([envelope.from, envelope.to], message) + gap_s) + meeting_s
    }

    /// Applies `act` to the circuits of the network, if it has any.
    fn with_circuits<T>(&mut self, act: impl FnOnce(&mut dyn OnDemand) -> T) -> Option<T> {
        let done = self.traffic.as_mut().and_then(|traffic| traffic.circuits().map(act));
        self.look_at_network();
        done
    }

    /// The counts of circuit events.
    fn circuit_counts(&mut self) -> Option<CircuitCounts> {
        self.with_circuits(|circuits| circuits.counts())
    }

    /// Schedules the assignment of circuits and ports after all other events of the present time.
    fn decide_later(&mut self, now_s: f64) {
        if !self.is_deciding && self.is_undecided() {
            self.is_deciding = true;
            self.at(now_s, Action::Decide);
        }
    }

    fn is_undecided(&mut self) -> bool {
        let has_circuits = self.circuits.is_some();
        self.queues.as_ref().is_some_and(|queues| queues.is_undecided())
            || has_circuits && self.with_circuits(|circuits| circuits.is_undecided()) == Some(true)
    }

    fn decide(&mut self, now_s: f64) {
        self.is_deciding = false;
        if let Some(queues) = &mut self.queues {
            let mut starting = std::mem::take(&mut self.starting);
            queues.decide(&mut starting);
            starting.drain(..).for_each(|flight| self.start(flight, now_s));
            self.starting = starting;
            return;
        }
        let mut progress = std::mem::take(&mut self.progress);
        self.with_circuits(|circuits| circuits.decide(now_s, &mut progress));
        self.report(now_s, progress);
        self.decide_later(now_s);
    }

    /// Without further events but changes of the network, lets a rank that waits for a circuit continue without it.
    fn give_way(&mut self) -> bool {
        let now_s = self.agenda.now_s();
        if self.circuits.is_none() || self.agenda.first_s().is_finite() {
            return false;
        }
        let has_refused = self.with_circuits(|circuits| circuits.give_way(now_s)) == Some(true);
        if has_refused {
            self.decide(now_s);
        }
        has_refused
    }

    /// A message arrives at `now_s`: it is delivered if its receive is posted, else it waits.
    fn arrive(&mut self, flight: u32, now_s: f64) {
        let Flying { envelope, receiver_slot, place, .. } = *self.flights.pass(flight);
        let Envelope { from, to, len, is_switched, .. } = envelope;
        let [from, to] = self.image(from, to);
        let node = self.holder_of_ports(to);
        if self.holds_ports([from, to])
            && let Some(queues) = &mut self.queues
        {
            queues.received(node);
            self.decide_later(now_s);
        }
        if let Some(slot) = receiver_slot {
            // Nothing between the arrival and the delivery can be about the receiver's processor.
            if now_s == self.agenda.now_s() && !self.is_crowded && self.agenda.has_none(ARRIVING) {
                return self.deliver(to, slot, (from, len), is_switched);
            }
            return self.at(now_s, Action::Deliver { rank: to, slot, from, len, is_switched });
        }
        let mailboxes = &mut self.mailboxes;
        if let Some(message) = place.and_then(|place| mailboxes.waiting_message(place)) {
            (message.time_s, message.state) = (now_s, Delivery::Known);
        }
        if self.has_taken_from_any && mailboxes.is_waiting(to as usize) {
            self.at(now_s, Action::Probe { rank: to });
        }
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

    /// Binds a message to its receive, at the time `now` of the later of the two.
    #[inline(always)]
    fn bind(&mut self, now: f64, receiver_slot: u32, message: &UnmatchedMessage) {
        let UnmatchedMessage { envelope, time_s, state } = *message;
        let Envelope { from, to, len, is_switched, .. } = envelope;
        match state {
            Delivery::Known => {
                let [from, to] = self.image(from, to);
                self.at(now.max(time_s), Action::Deliver { rank: to, slot: receiver_slot, from, len, is_switched });
            }
            Delivery::Flying(flight) => self.flights.get_mut(flight).receiver_slot = Some(receiver_slot),
            Delivery::Rendezvous(sender_slot) => {
                let (sender_slot, receiver_slot) = (Some(sender_slot), Some(receiver_slot));
                let flying = Flying::new(envelope, f64::NAN, sender_slot, receiver_slot);
                let flight = self.flights.add(flying);
                let granted_s = self.granted_s(now.max(time_s), &envelope);
                self.grant_at(granted_s, flight);
            }
        }
    }

    /// The sender of a rendezvous learns at `time_s` that it has a receive.
    #[inline(always)]
    fn grant_at(&mut self, time_s: f64, flight: u32) {
        let envelope = self.flights.get(flight).envelope;
        self.agenda.at_of(time_s, &envelope, Action::Inject { flight });
    }

    /// When the sender of a rendezvous learns that its request met its receive at `met_s`.
    #[inline(always)]
    fn granted_s(&mut self, met_s: f64, envelope: &Envelope) -> f64 {
        let (Envelope { from, to, .. }, message) = (*envelope, self.parcel_under_way(envelope));
        self.network.grant(met_s, message) + self.way_s([to, from], message)
    }

    /// The latency of a message's route, in seconds, if requests and answers lack it.
    #[inline(always)]
    fn way_s(&mut self, ranks: [u32; 2], message: Parcel) -> f64 {
        if !self.has_interfaces {
            return 0.0;
        }
        let Self { network, nodes, ways_s, .. } = self;
        *ways_s.get(ranks, |way_s| *way_s = network.way_s(ranks.map(|rank| rank as usize), nodes.len(), message))
    }

    /// The message waits for a receive.
    #[inline(always)]
    fn hold(&mut self, tag: Tag, message: UnmatchedMessage) {
        let (Envelope { from, to, .. }, state) = (message.envelope, message.state);
        let [from, to] = self.image(from, to);
        let place = self.mailboxes.hold(to as usize, from, tag, message);
        if let Delivery::Flying(flight) = state {
            self.flights.get_mut(flight).place = Some(place);
        }
    }

    /// Gives arrived messages to the receives of `rank`, the earliest posted receive first: to each the earliest
    /// arrival that does not overtake another message of its sender. Tries again at the next arrival.
    fn match_arrived(&mut self, rank: usize, now: f64) {
        let mut has_matched = false;
        loop {
            let (message_key, next_s) = self.receivable_message(rank, now);
            let Some((from, tag)) = message_key else {
                // A receive whose message another receive has taken needs another probe.
                if has_matched && next_s.is_finite() {
                    self.at(next_s, Action::Probe { rank: rank as u32 });
                }
                return;
            };
            let message = self.mailboxes.take_message(rank, Source::Rank(from), tag);
            let slot = self.mailboxes.take_receive(rank, from, tag);
            if let (Some((_, message)), Some(slot)) = (message, slot) {
                self.bind(now, slot, &message);
                has_matched = true;
            }
        }
    }

    /// The sender and tag of a message that `rank` may receive now, and the earliest arrival time checked.
    fn receivable_message(&self, rank: usize, now: f64) -> (Option<(u32, Tag)>, f64) {
        let mut next_s = f64::INFINITY;
        let message_key = self.mailboxes.waiting_receives(rank).into_iter().find_map(|(source, tag)| {
            let (arrival_s, from) = earliest(&self.mailboxes, rank, source, tag)?;
            next_s = next_s.min(arrival_s);
            (arrival_s <= now).then_some((from, tag))
        });
        (message_key, next_s)
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

impl<N: Network> Clockwork for Events<'_, N> {
    type Clock = PlacedTime;

    fn features(&self) -> Features {
        Features { path: Path::ROOT, circuits: self.circuits, ..Features::PLAIN }
    }

    #[inline(always)]
    fn runs(&self, rank: usize) -> bool {
        self.symmetry.is_none_or(|symmetry| symmetry.is_representative(rank))
    }

    fn next(&mut self, until_s: f64) -> Option<usize> {
        if let Some(rank) = self.running.take() {
            self.woken[rank] = Woken::NONE;
            self.woken_again = Woken::NONE;
        }
        while self.goes_on() {
            if self.agenda.now_s() > until_s {
                self.end_late(false);
                return None;
            }
            self.running = self.next_to_begin().or_else(|| self.next_ready());
            if self.running.is_some() {
                return self.running;
            }
            if self.give_way() {
                continue;
            }
            if !self.happen_next() {
                return None;
            }
        }
        None
    }

    fn conclude(&mut self, waiting: Option<usize>) {
        if self.failure.is_none() {
            let stuck = self.traffic.as_ref().and_then(|traffic| traffic.stuck()).map(Error::new);
            self.failure = stuck.or_else(|| waiting.map(|rank| self.deadlock(rank)));
        }
    }

    fn end_late(&mut self, _: bool) {
        self.failure.get_or_insert_with(Error::lateness);
    }

    fn time(&self, moment: Moment) -> PlacedTime {
        self.trial.time(moment)
    }

    fn after(&self, start: Moment, end: PlacedTime) -> Moment {
        self.trial.after(start, end)
    }

    fn send(&mut self, rank: usize, now: PlacedTime, message: &Sending) -> StepStatus<PlacedTime> {
        let Sending { to, tag, mode, gap_packets, len } = *message;
        let (is_posted, is_switched) = (mode == Mode::Posted, mode == Mode::Switched);
        let slot = self.outcomes.open();
        let (from, number) = (rank as u32, self.messages_issued);
        self.messages_issued += 1;
        let (position, is_new) = (now.position(), self.peers.meet(from, to));
        let envelope = Envelope { from, to, len, position, number, gap_packets, is_posted, is_switched, is_new };
        let now = now.time_s;
        let parcel = self.parcel_of(&envelope);
        let message = if mode != Mode::Synchronous && self.network.is_eager(parcel) {
            self.inject(now, slot, envelope)
        } else {
            let sender_slot = if is_posted { self.post(rank, slot, now, len) } else { slot };
            let time_s = self.network.request(now, parcel) + self.way_s([from, to], parcel);
            // The request is the first message to the peer.
            let envelope = Envelope { is_new: false, ..envelope };
            UnmatchedMessage { envelope, time_s, state: Delivery::Rendezvous(sender_slot) }
        };
        let [from, to] = self.image(from, to);
        if !self.runs(to as usize) {
            return StepStatus::Waits(slot);
        }
        let mailboxes = &mut self.mailboxes;
        let to = to as usize;
        let may_wait =
            self.has_taken_from_any && (takes_from_any(mailboxes, to) || mailboxes.is_between(to, from, tag));
        if may_wait {
            if message.time_s.is_finite() {
                self.at(message.time_s, Action::Probe { rank: to as u32 });
            }
            self.hold(tag, message);
            return StepStatus::Waits(slot);
        }
        match mailboxes.take_receive(to, from, tag) {
            Some(receiver_slot) => self.bind(now, receiver_slot, &message),
            None => self.hold(tag, message),
        }
        StepStatus::Waits(slot)
    }

    fn recv(&mut self, rank: usize, now: PlacedTime, from: Source, tag: Tag) -> StepStatus<PlacedTime> {
        let (position, now) = (now.position(), now.time_s);
        let slot = self.outcomes.open();
        if self.trial.interrupts() {
            let slots = self.receive_positions.len().max(slot as usize + 1);
            self.receive_positions.resize(slots, 0);
            self.receive_positions[slot as usize] = position;
        }
        let mailboxes = &mut self.mailboxes;
        if from == Source::Any || (self.has_taken_from_any && takes_from_any(mailboxes, rank)) {
            self.has_taken_from_any = true;
            mailboxes.wait(rank, from, tag, slot);
            let next = earliest(mailboxes, rank, from, tag).filter(|(arrival_s, _)| arrival_s.is_finite());
            if let Some((arrival_s, _)) = next {
                self.at(arrival_s.max(now), Action::Probe { rank: rank as u32 });
            }
            return StepStatus::Waits(slot);
        }
        match mailboxes.take_message(rank, from, tag) {
            Some((_, message)) => self.bind(now, slot, &message),
            None => mailboxes.wait(rank, from, tag, slot),
        }
        StepStatus::Waits(slot)
    }

    fn wait_until(&mut self, rank: usize, now: PlacedTime, until_s: f64) -> StepStatus<PlacedTime> {
        if until_s <= now.time_s {
            return StepStatus::Done((now, Received { source: rank as u32, len: 0 }));
        }
        let (slot, rank) = (self.outcomes.open(), rank as u32);
        self.at(until_s, Action::Complete { rank, slot, from: rank, len: 0 });
        StepStatus::Waits(slot)
    }

    fn work(&mut self, rank: usize, now: PlacedTime, duration_s: f64) -> StepStatus<PlacedTime> {
        let slot = self.outcomes.open();
        let occupation = Occupation::work(rank, now.position(), duration_s);
        let trial = self.trial;
        let end = self.network.work(&mut self.nodes[rank], now, |start| trial.pass(occupation, start));
        let rank = rank as u32;
        self.at(end.time_s, Action::Complete { rank, slot, from: rank, len: 0 });
        StepStatus::Waits(slot)
    }

    fn switch(&mut self, rank: usize, now: PlacedTime, connection: Connection) -> StepStatus<PlacedTime> {
        let Connection { peer, connects } = connection;
        let slot = self.outcomes.open();
        let (rank, position) = (rank as u32, now.position());
        let (from, to, is_posted, is_switched, is_new) = (rank, peer, false, false, false);
        let envelope =
            Envelope { from, to, len: 0, position, number: 0, gap_packets: 0.0, is_posted, is_switched, is_new };
        let id = self.flights.add(Flying::new(envelope, now.time_s, Some(slot), None));
        let ask = Ask { id, ranks: [rank, peer], nodes: self.nodes_of([rank, peer]) };
        self.with_circuits(|circuits| match connects {
            true => circuits.connect(now.time_s, ask),
            false => circuits.disconnect(now.time_s, ask),
        });
        self.decide_later(now.time_s);
        StepStatus::Waits(slot)
    }

    fn take(&mut self, slot: u32) -> Option<Arrival<PlacedTime>> {
        self.outcomes.take(slot)
    }

    fn wait(&mut self, slot: u32, path: Path) {
        self.outcomes.wait(slot, path);
    }

    fn wake(&mut self, rank: usize, path: Path, comes_later: bool) {
        let woken = if comes_later { &mut self.woken[rank] } else { &mut self.woken_again };
        woken.add(path);
    }

    fn poll_again(&mut self, rank: usize) {
        self.woken[rank] = replace(&mut self.woken_again, Woken::NONE);
    }

    #[inline]
    fn woken(&self, rank: usize) -> Option<&Woken> {
        Some(&self.woken[rank])
    }

    fn forget_peers(&mut self, rank: usize) {
        self.peers.forget(rank as u32);
    }

    fn withdraw(&mut self, rank: usize, slot: u32) {
        self.outcomes.abandon(slot);
        self.mailboxes.withdraw(rank, |posted| *posted == slot);
    }
}
