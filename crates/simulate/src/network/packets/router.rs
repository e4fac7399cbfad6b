//! The routers of a network, and the ports and ejections of its nodes.

use super::super::traffic::ENDLESS;
use super::super::{Flight, LinkUse, Milestone, Passages, Routing, Traffic};
use super::calendar::Calendar;
use super::faulty::PacketFaults;
use super::messages::{Messages, NOBODY, Pace, nearest, no_earlier};
use super::pacing::AdaptivePacing;
use super::parameters::Packets;
use super::ways::PacketWays;
use super::wiring::Wiring;

/// Number of the calendar's days that a packet takes over a link.
const DAYS_PER_PACKET: f64 = 64.0;

/// The length of a day if packets take no time, in seconds.
const SHORTEST_DAY_S: f64 = 1e-15;

/// The largest number of a day's events for which [`Routers::look_ahead`] pays off.
const MOST_AHEAD: usize = 1024;

/// All routers. [`Wiring`] numbers inputs, outputs and steps of routes. Events are numbered: outputs that try to serve
/// an input, then ports that continue, then messages that arrive.
pub(super) struct Routers<'a> {
    pub network: &'a Packets,
    pub wiring: Wiring,
    pub messages: Messages,
    pub inputs: Vec<Input>,
    /// The slots of one input after the other; ports do not use theirs.
    slots: Vec<Slot>,
    pub outputs: Vec<Output>,
    passages: Passages,
    /// For each output, the words after the first one, [`Output::wanting`].
    wanting_more: Vec<u64>,
    /// For each node, the times at which its `ports` ejections are free.
    ejections_free_s: Vec<f64>,
    /// The message of each port.
    sending: Vec<u32>,
    pacing: Option<AdaptivePacing>,
    faulty: Option<Box<PacketFaults<'a>>>,
    pub ways: Option<Box<PacketWays<'a>>>,
    /// For each node, the number of messages that have left it.
    injections: Vec<u32>,
    /// For each node, the first and the last message that wait for a port.
    waiting: Vec<(u32, u32)>,
    calendar: Calendar,
    pub now_s: f64,
    full: Pace,
    /// From a packet's start over a link until it may leave the next router, in seconds.
    hop_s: f64,
    credit_s: f64,
    /// Number of packets that a buffer holds.
    depth: usize,
    happening: Vec<u32>,
    /// Outputs that try to serve an input now.
    trying: Vec<u32>,
    due: Vec<u32>,
    /// Outputs and the inputs that they serve.
    grants: Vec<(u32, u32)>,
    /// The messages that arrive now.
    arriving: Vec<u32>,
}

/// A buffer or a port.
#[derive(Clone, Copy)]
pub(super) struct Input {
    /// The time from which the input can forward another packet.
    free_s: f64,
    /// The time from which its first packet can leave; only while that packet wants an output.
    ready_s: f64,
    /// The step that the first packet wants; only while it wants an output.
    pub step: u32,
    /// The source of the input, as in [`Wiring::feeders`].
    pub feeder: u32,
    /// The slot of a buffer's first packet, and the slot for the next packet.
    first: u16,
    vacant: u16,
    /// Number of packets in the buffer.
    pub packets: u16,
    /// Whether its first packet wants an output.
    pub wants: bool,
}

/// Room for a packet in a buffer.
#[derive(Clone, Copy)]
struct Slot {
    /// The time from which the packet's head may leave, or from which the previous router can use an empty slot.
    time_s: f64,
    /// The message, and [`LAST`].
    packet: u32,
    /// The index of the packet's next step in [`Messages::steps`].
    at: u32,
}

/// The bit that marks the last packet of a message.
pub(super) const LAST: u32 = 1 << 31;

/// A link or the ejection of a node.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    free_s: f64,
    /// The time of its next attempt to serve an input; infinite when there is none.
    try_s: f64,
    usage: LinkUse,
    /// The inputs whose first packet wants this output, a bit for each place in the router; the first 64.
    wanting: u64,
    /// Number of inputs that want it.
    pub requests: u32,
    /// The place of the input that is asked first.
    turn: u32,
    /// The first input of its router.
    start: u32,
    /// The buffer of a link's channel 0.
    buffer: u32,
}

impl<'a> Routers<'a> {
    pub fn new(network: &'a Packets) -> Self {
        let wiring = Wiring::new(network);
        let ports = wiring.port_inputs.len();
        let full = Pace::of(network, network.packet_bytes);
        let hop_s = nearest(network.link_latency_s + network.router_latency_s);
        Self {
            network,
            messages: Messages::new(),
            inputs: wiring.feeders.iter().map(|feeder| Input::new(*feeder)).collect(),
            slots: vec![Slot { time_s: 0.0, packet: 0, at: 0 }; wiring.feeders.len() * network.buffer_packets],
            outputs: Output::all(network, &wiring),
            passages: Passages::default(),
            wanting_more: vec![0; wiring.outputs() * (wiring.words - 1)],
            ejections_free_s: vec![0.0; ports],
            sending: vec![NOBODY; ports],
            pacing: network.is_adaptive.then(|| AdaptivePacing::new(wiring.nodes, wiring.ports, full.link_s, hop_s)),
            faulty: PacketFaults::new(network),
            ways: PacketWays::new(network),
            injections: vec![0; wiring.nodes],
            waiting: vec![(NOBODY, NOBODY); wiring.nodes],
            calendar: Calendar::new((full.link_s / DAYS_PER_PACKET).max(SHORTEST_DAY_S)),
            now_s: 0.0,
            full,
            hop_s,
            credit_s: nearest(network.credit_latency_s),
            depth: network.buffer_packets,
            happening: Vec::new(),
            trying: Vec::new(),
            due: Vec::new(),
            grants: Vec::new(),
            arriving: Vec::new(),
            wiring,
        }
    }

    /// Schedules an attempt of an output, unless an earlier one is scheduled.
    fn try_at(&mut self, output: usize, time_s: f64) {
        if time_s < self.outputs[output].try_s {
            self.outputs[output].try_s = time_s;
            if time_s == self.now_s {
                self.trying.push(output as u32);
            } else {
                self.calendar.push(time_s, output as u32);
            }
        }
    }

    /// Handles an event of the calendar.
    fn happen(&mut self, what: u32, progress: &mut Vec<(u32, Milestone)>) {
        let (outputs, ports) = (self.outputs.len(), self.sending.len());
        let what = what as usize;
        if what < outputs {
            if self.outputs[what].try_s == self.now_s {
                self.trying.push(what as u32);
            }
        } else if what < outputs + ports {
            self.go_on(what - outputs, progress);
        } else {
            self.arriving.push((what - outputs - ports) as u32);
        }
    }

    /// Messages arrive now: those of one node in the order in which their senders' nodes sent them.
    fn tell_arrivals(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        let Self { arriving, messages, now_s, .. } = self;
        arriving.sort_unstable_by_key(|message| messages.get(*message).key);
        progress.extend(arriving.drain(..).map(|message| (messages.pass(message), Milestone::Arrives(*now_s))));
    }

    /// A port requests the output for its message's next packet, or takes on another message.
    fn go_on(&mut self, port: usize, progress: &mut Vec<(u32, Milestone)>) {
        let message = self.sending[port];
        if self.messages.get(message).packets_left == 0 {
            progress.push((self.messages.pass(message), Milestone::Sent));
            self.sending[port] = self.next_waiting(port / self.wiring.ports);
            if self.sending[port] == NOBODY || !self.finds_way(self.sending[port], self.now_s) {
                return;
            }
        }
        if !self.lead_packet(self.sending[port]) {
            return;
        }
        let at = self.messages.get(self.sending[port]).route;
        self.request(self.wiring.port_inputs[port] as usize, at, self.now_s);
    }

    /// A message leaves: with faults, it finds its way now. Returns false if it waits for ever.
    pub fn finds_way(&mut self, message: u32, now_s: f64) -> bool {
        let Self { network, wiring, messages, faulty, .. } = self;
        faulty.as_mut().is_none_or(|faulty| messages.leave(message, now_s, network, wiring, &mut faulty.ways))
    }

    /// Takes the first message that waits for a port of a node.
    fn next_waiting(&mut self, node: usize) -> u32 {
        let (first, _) = self.waiting[node];
        if first != NOBODY {
            self.waiting[node].0 = self.messages.get(first).behind;
        }
        first
    }

    fn wait_for_port(&mut self, node: usize, message: u32) {
        let (first, last) = &mut self.waiting[node];
        if *first == NOBODY {
            *first = message;
        } else {
            self.messages.get_mut(*last).behind = message;
        }
        *last = message;
    }

    /// The first packet of an input wants the output of a step of its route, and can leave from `ready_s` on.
    fn request(&mut self, input: usize, at: u32, ready_s: f64) {
        let step = self.messages.steps[at as usize];
        let waiting = &mut self.inputs[input];
        (waiting.ready_s, waiting.step, waiting.wants) = (ready_s, step, true);
        let output = self.wiring.output(step);
        self.outputs[output].requests += 1;
        *self.wanting(output, input) |= 1 << (self.place(output, input) % 64);
        self.try_at(output, ready_s.max(self.outputs[output].free_s));
    }

    /// The index of an input among the inputs of an output's router.
    fn place(&self, output: usize, input: usize) -> usize {
        input - self.outputs[output].start as usize
    }

    /// The word with an input's bit in the set of inputs that want an output.
    fn wanting(&mut self, output: usize, input: usize) -> &mut u64 {
        match self.place(output, input) / 64 {
            0 => &mut self.outputs[output].wanting,
            word => &mut self.wanting_more[output * (self.wiring.words - 1) + word - 1],
        }
    }

    fn slot(&self, buffer: usize, place: u16) -> usize {
        buffer * self.depth + usize::from(place)
    }

    /// The slot after this one, around the buffer.
    fn after(&self, place: u16) -> u16 {
        if usize::from(place) + 1 < self.depth { place + 1 } else { 0 }
    }

    /// The time from which there is room at the end of a step; infinite while unknown.
    fn room_s(&self, step: u32) -> f64 {
        let output = self.wiring.output(step);
        if output >= self.wiring.links {
            return 0.0;
        }
        let first = (self.outputs[output].buffer + self.wiring.channel(step)) as usize;
        (first..first + self.network.lanes).map(|buffer| self.room_in_s(buffer)).fold(f64::INFINITY, f64::min)
    }

    fn room_in_s(&self, buffer: usize) -> f64 {
        let Input { packets, vacant, .. } = self.inputs[buffer];
        if usize::from(packets) == self.depth {
            return f64::INFINITY;
        }
        self.slots[self.slot(buffer, vacant)].time_s
    }

    /// The buffer behind a step that has the most room of those that have room now.
    fn roomy(&self, step: u32) -> u32 {
        let first = self.outputs[self.wiring.output(step)].buffer + self.wiring.channel(step);
        let with_room =
            (first..first + self.network.lanes as u32).filter(|buffer| self.room_in_s(*buffer as usize) <= self.now_s);
        with_room.min_by_key(|buffer| self.inputs[*buffer as usize].packets).unwrap_or(first)
    }

    /// The input that a free output serves now. If there is none, the output tries again when one is known to be ready.
    fn choose(&mut self, output: usize) -> Option<u32> {
        let Output { free_s, turn, start, wanting, .. } = self.outputs[output];
        if free_s > self.now_s {
            self.try_at(output, free_s);
            return None;
        }
        if self.faulty.is_some() && self.is_down(output) {
            return None;
        }
        let mut again_s = f64::INFINITY;
        let more = &self.wanting_more[output * (self.wiring.words - 1)..];
        let word = |number: usize| if number == 0 { wanting } else { more[number - 1] };
        let choice = first_in_turn(self.wiring.words, word, turn as usize, |place| {
            let Input { ready_s, step, .. } = self.inputs[start as usize + place];
            let start_s = ready_s.max(self.room_s(step));
            again_s = again_s.min(start_s);
            start_s <= self.now_s
        });
        if let Some(place) = choice {
            return Some(start + place as u32);
        }
        if again_s < f64::INFINITY {
            self.try_at(output, again_s);
        }
        None
    }

    /// Whether an output is a link that is down. It tries again when the link is up; if that never is, the packets that
    /// want it wait for ever.
    #[cold]
    fn is_down(&mut self, output: usize) -> bool {
        let Some(faulty) = &mut self.faulty else { return false };
        let up_s = faulty.up_s(output, self.now_s);
        if up_s.is_infinite() {
            if let Some(message) = self.first_that_wants(output) {
                let flight = self.messages.get(message).flight;
                self.faulty.iter_mut().for_each(|faulty| faulty.ways.stop(&flight, output as u32, self.now_s));
            }
        } else if up_s > self.now_s {
            self.try_at(output, up_s);
        }
        up_s > self.now_s
    }

    /// The message of a packet that wants an output, if any does.
    fn first_that_wants(&self, output: usize) -> Option<u32> {
        let Output { requests, start, .. } = self.outputs[output];
        let wants = |input: &Input| input.wants && self.wiring.output(input.step) == output;
        let inputs = self.inputs[start as usize..].iter().filter(|_| requests > 0);
        let input = start as usize + { inputs }.position(wants)?;
        Some(match (self.inputs[input].feeder as usize).checked_sub(self.outputs.len()) {
            None => self.first_of_buffer(input).0 & !LAST,
            Some(port) => self.sending[port],
        })
    }

    /// An output serves an input: the first packet of the input leaves.
    fn serve(&mut self, output: usize, input: usize) {
        self.withdraw(output, input);
        let Input { step, feeder, ready_s, .. } = self.inputs[input];
        let port = (feeder as usize).checked_sub(self.outputs.len());
        let (packet, at) = match port {
            None => self.first_of_buffer(input),
            Some(port) => self.first_of_port(port),
        };
        let is_last = packet & LAST != 0;
        let (pace, bytes) = if is_last {
            let message = self.messages.get(packet & !LAST);
            (message.last, message.last_bytes)
        } else {
            (self.full, self.network.packet_bytes)
        };
        let is_link = output < self.wiring.links;
        let full_s = if is_link { pace.link_s } else { pace.ejection_s };
        let mut duration_s = full_s;
        if let Some(faulty) = &mut self.faulty
            && is_link
        {
            let flight = &self.messages.get(packet & !LAST).flight;
            duration_s = faulty.duration_s(flight, output, self.now_s, full_s);
            if duration_s.is_infinite() {
                self.outputs[output].free_s = f64::INFINITY;
                return;
            }
        }
        let end_s = self.now_s + duration_s;
        self.occupy(output, end_s, duration_s, bytes);
        match port {
            None => self.leave_buffer(input, end_s),
            Some(port) => {
                let end_s = end_s.max(self.now_s + pace.injection_s);
                self.leave_port(port, ready_s, end_s, is_last);
            }
        }
        if is_link {
            self.passages.note(output as u32, bytes, self.now_s, end_s);
            let buffer = self.roomy(step);
            let ready_s = self.now_s + self.hop_s + (duration_s - full_s);
            self.enter_buffer(buffer, packet, at + 1, ready_s);
        } else {
            self.arrive(output - self.wiring.links, packet & !LAST, at, is_last, end_s);
        }
    }

    /// The node takes in a packet until `end_s`; `at` is the packet's last step.
    fn arrive(&mut self, node: usize, message: u32, at: u32, is_last: bool, end_s: f64) {
        if let Some(pacing) = &mut self.pacing {
            let hops = at - self.messages.get(message).route;
            pacing.arrive(self.now_s, message, node, hops, is_last, end_s);
        }
        let of_message = self.messages.get_mut(message);
        of_message.packets_under_way -= 1;
        of_message.arrival_s = of_message.arrival_s.max(end_s);
        if of_message.packets_under_way == 0 {
            self.calendar.push(of_message.arrival_s, (self.outputs.len() + self.sending.len()) as u32 + message);
        }
        if self.ways.is_some() {
            self.messages.drop_route_before(at);
        }
    }

    /// An input no longer wants an output.
    fn withdraw(&mut self, output: usize, input: usize) {
        let place = self.place(output, input);
        *self.wanting(output, input) &= !(1 << (place % 64));
        self.inputs[input].wants = false;
        let waited_s = self.now_s - self.inputs[input].ready_s;
        let output = &mut self.outputs[output];
        output.requests -= 1;
        output.turn = place as u32 + 1;
        output.usage.waiting_s += waited_s;
    }

    /// The first packet of a buffer, and the index of its present step.
    fn first_of_buffer(&self, buffer: usize) -> (u32, u32) {
        let Slot { packet, at, .. } = self.slots[self.slot(buffer, self.inputs[buffer].first)];
        (packet, at)
    }

    /// The next packet of a port's message, and the index of its first step.
    fn first_of_port(&self, port: usize) -> (u32, u32) {
        let number = self.sending[port];
        let message = self.messages.get(number);
        (if message.packets_left == 1 { number | LAST } else { number }, message.route)
    }

    /// An output is busy with a packet until `end_s`.
    fn occupy(&mut self, output: usize, end_s: f64, duration_s: f64, bytes: f64) {
        let free_s = if output < self.wiring.links { end_s } else { self.occupy_ejection(output, end_s) };
        let busy = &mut self.outputs[output];
        busy.free_s = free_s;
        busy.usage.bytes += bytes;
        busy.usage.busy_s += duration_s;
        if busy.requests > 0 {
            self.try_at(output, free_s.max(self.now_s));
        }
    }

    /// Occupies one of a node's ejections. Returns the time at which one is free.
    fn occupy_ejection(&mut self, output: usize, end_s: f64) -> f64 {
        let ejections = &mut self.ejections_free_s[self.wiring.ports_of(output - self.wiring.links)];
        let free = ejections.iter_mut().find(|free_s| **free_s <= self.now_s);
        *free.expect("an output that serves is free") = end_s;
        ejections.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The first packet of a buffer leaves it until `end_s`.
    fn leave_buffer(&mut self, buffer: usize, end_s: f64) {
        let Input { first, .. } = self.inputs[buffer];
        let (slot, next) = (self.slot(buffer, first), self.after(first));
        let room_s = end_s + self.credit_s;
        self.slots[slot].time_s = room_s;
        let left = &mut self.inputs[buffer];
        left.free_s = end_s;
        left.first = next;
        left.packets -= 1;
        let (packets, link) = (usize::from(left.packets), left.feeder as usize);
        if packets + 1 == self.depth && self.outputs[link].requests > 0 {
            self.try_at(link, room_s.max(self.outputs[link].free_s));
        }
        if packets > 0 {
            let Slot { time_s, packet, at } = self.slots[self.slot(buffer, next)];
            self.choose_link_behind(buffer, packet, at);
            self.request(buffer, at, time_s.max(end_s));
        }
    }

    /// A packet of a port's message, ready from `ready_s` on, leaves; the last one occupies the port until `end_s`.
    fn leave_port(&mut self, port: usize, ready_s: f64, end_s: f64, is_last: bool) {
        let number = self.sending[port];
        let message = self.messages.get_mut(number);
        message.packets_left -= 1;
        if self.ways.is_some() {
            message.route = NOBODY;
        }
        let asked_s = message.period_s;
        let leave = |own: &mut AdaptivePacing| own.leave(self.now_s, number, port, is_last, ready_s..end_s, asked_s);
        let period_s = self.pacing.as_mut().map_or(asked_s, leave);
        let next_s = if is_last { end_s } else { self.now_s + period_s };
        self.calendar.push(next_s, (self.outputs.len() + port) as u32);
    }

    /// A packet is on its way into a buffer, which it may leave from `ready_s` on.
    fn enter_buffer(&mut self, buffer: u32, packet: u32, at: u32, ready_s: f64) {
        let buffer = buffer as usize;
        let Input { packets, free_s, .. } = self.inputs[buffer];
        let slot = self.occupy_slot(buffer);
        self.slots[slot] = Slot { time_s: ready_s, packet, at };
        if packets == 0 {
            self.choose_link_behind(buffer, packet, at);
            self.request(buffer, at, ready_s.max(free_s));
        }
    }

    /// Takes the next slot of a buffer.
    fn occupy_slot(&mut self, buffer: usize) -> usize {
        let Input { packets, vacant, .. } = self.inputs[buffer];
        let next = self.after(vacant);
        (self.inputs[buffer].packets, self.inputs[buffer].vacant) = (packets + 1, next);
        self.slot(buffer, vacant)
    }

    /// Lets the outputs that try now serve inputs: first all outputs choose, then packets move.
    fn serve_all(&mut self) {
        std::mem::swap(&mut self.trying, &mut self.due);
        let due = std::mem::take(&mut self.due);
        for &output in &due {
            if self.outputs[output as usize].try_s == self.now_s {
                self.outputs[output as usize].try_s = f64::INFINITY;
                let choice = self.choose(output as usize);
                self.grants.extend(choice.map(|input| (output, input)));
            }
        }
        self.due = due;
        self.due.clear();
        let grants = std::mem::take(&mut self.grants);
        for &(output, input) in &grants {
            self.serve(output as usize, input as usize);
        }
        self.grants = grants;
        self.grants.clear();
    }

    /// Prefetches the data for today's events: it is not in the cache, and fetching it for many events at once is
    /// several times faster than one by one. A day with very many events gains nothing.
    fn look_ahead(&self) {
        let today = self.calendar.today();
        if today.len() <= MOST_AHEAD {
            std::hint::black_box(today.filter_map(|output| self.look_at(output as usize)).fold(0, u32::wrapping_add));
        }
    }

    /// Reads the data with which an output serves the first input that wants it.
    fn look_at(&self, output: usize) -> Option<u32> {
        let Output { wanting, start, buffer, .. } = self.outputs.get(output)?;
        let first = (start + wanting.trailing_zeros()) as usize;
        let input = self.inputs.get(first)?;
        let next = (buffer + self.wiring.channel(input.step)) as usize;
        let at = self.slots[self.slot(first, input.first)].at;
        let after = self.wiring.output(*self.messages.steps.get(at as usize + 1)?);
        Some(self.slots[self.slot(next, self.inputs[next].first)].at.wrapping_add(self.outputs.get(after)?.turn))
    }
}

impl Input {
    fn new(feeder: u32) -> Self {
        Self { free_s: 0.0, ready_s: 0.0, step: 0, feeder, first: 0, vacant: 0, packets: 0, wants: false }
    }
}

impl Output {
    /// All links and ejections, idle.
    fn all(network: &Packets, wiring: &Wiring) -> Vec<Self> {
        let idle = |router: usize, buffer| Self {
            free_s: 0.0,
            try_s: f64::INFINITY,
            usage: LinkUse::default(),
            wanting: 0,
            requests: 0,
            turn: 0,
            start: wiring.starts[router],
            buffer,
        };
        let links = wiring.buffers.iter().enumerate();
        let links = links.map(|(link, buffer)| idle(network.fabric.topology.ends(link).0, *buffer));
        links.chain((0..wiring.nodes).map(|node| idle(node, 0))).collect()
    }
}

/// The first place of a set that `will_do`, in cyclic order from `turn` on.
fn first_in_turn(
    words: usize,
    word: impl Fn(usize) -> u64,
    turn: usize,
    mut will_do: impl FnMut(usize) -> bool,
) -> Option<usize> {
    let mut first_of = |number: usize, mut left: u64| {
        while left != 0 {
            let place = number * 64 + left.trailing_zeros() as usize;
            if will_do(place) {
                return Some(place);
            }
            left &= left - 1;
        }
        None
    };
    if words == 1 {
        let (all, from) = (word(0), u64::MAX.checked_shl(turn as u32).unwrap_or(0));
        return first_of(0, all & from).or_else(|| first_of(0, all & !from));
    }
    let (mut number, from) = if turn < words * 64 { (turn / 64, u64::MAX << (turn % 64)) } else { (0, u64::MAX) };
    for step in 0..=words {
        let mask = if step == 0 {
            from
        } else if step == words {
            !from
        } else {
            u64::MAX
        };
        let place = first_of(number, word(number) & mask);
        if place.is_some() {
            return place;
        }
        number = if number + 1 < words { number + 1 } else { 0 };
    }
    None
}

impl Traffic for Routers<'_> {
    fn inject(&mut self, now_s: f64, flight: Flight) {
        let key = (flight.from as u64) << u32::BITS | u64::from(self.injections[flight.from]);
        self.injections[flight.from] += 1;
        let message = self.messages.add(self.network, &self.wiring, &flight, key);
        let idle = self.wiring.ports_of(flight.from).find(|port| self.sending[*port] == NOBODY);
        let Some(port) = idle else {
            return self.wait_for_port(flight.from, message);
        };
        self.sending[port] = message;
        if !self.finds_way(message, now_s) {
            return;
        }
        self.calendar.push(no_earlier(now_s), (self.outputs.len() + port) as u32);
        self.calendar.settle();
    }

    fn next_s(&self) -> f64 {
        self.calendar.next_s()
    }

    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        self.now_s = self.calendar.next_s();
        let mut happening = std::mem::take(&mut self.happening);
        self.calendar.take(self.now_s, &mut happening);
        happening.sort_unstable();
        for what in happening.drain(..) {
            self.happen(what, progress);
        }
        self.happening = happening;
        self.tell_arrivals(progress);
        while !self.trying.is_empty() {
            self.serve_all();
        }
        if self.calendar.settle() {
            self.look_ahead();
        }
    }

    fn links(&self) -> Vec<LinkUse> {
        self.outputs[..self.wiring.links].iter().map(|output| output.usage).collect()
    }

    fn set_seed(&mut self, seed: u64) {
        self.ways.iter_mut().for_each(|ways| ways.chooser.set_seed(seed));
    }

    fn passages(&mut self) -> Option<&mut Passages> {
        Some(&mut self.passages)
    }

    fn stuck(&self) -> Option<String> {
        self.faulty.as_ref().and_then(|faulty| faulty.ways.stuck())
    }

    fn deadlock(&self) -> Option<String> {
        let is_stuck = self.messages.under_way() > 0 && self.next_s() == f64::INFINITY;
        let can_deadlock = self.faulty.is_some()
            || self.network.fabric.routing == Routing::Fixed
                && self.network.channels < self.network.fabric.topology.channels();
        is_stuck.then(|| if can_deadlock { self.who_waits() } else { ENDLESS.to_owned() })
    }
}
