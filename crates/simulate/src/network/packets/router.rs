//! The routers of a network, and the nodes' ends of it.

use super::super::{Flight, LinkUse, Milestone, Traffic};
use super::Packets;
use super::calendar::Calendar;
use super::messages::{Messages, NOBODY, Pace, nearest, no_earlier};
use super::wiring::Wiring;

/// Days of the calendar that a packet takes over a link.
const DAYS_PER_PACKET: f64 = 128.0;

/// The day of the calendar for packets that take no time, in seconds.
const SHORTEST_DAY_S: f64 = 1e-15;

/// All routers. Inputs, outputs and steps of routes are numbered as [`Wiring`] has it; events are outputs that try to serve
/// somebody, then engines that go on, `outputs + input - buffers`, then messages that arrive.
pub(super) struct Routers<'a> {
    pub network: &'a Packets,
    pub wiring: Wiring,
    pub messages: Messages,
    pub inputs: Vec<Input>,
    /// The buffers' places, one buffer after the other.
    slots: Vec<Slot>,
    outputs: Vec<Output>,
    /// For each output the set of inputs whose first packet wants it, a bit for each place.
    requests: Vec<u64>,
    /// For each node, when each of its `engines` ejections is free.
    ejections_free_s: Vec<f64>,
    /// The message of each engine.
    sending: Vec<u32>,
    /// For each node, the first and the last message that wait for an engine.
    waiting: Vec<(u32, u32)>,
    calendar: Calendar,
    now_s: f64,
    full: Pace,
    /// From a packet's start over a link until it may leave the next router, in seconds.
    hop_s: f64,
    credit_s: f64,
    happening: Vec<u32>,
    /// Outputs that try to serve somebody now.
    trying: Vec<u32>,
    due: Vec<u32>,
    /// Outputs and the inputs that they serve.
    served: Vec<(u32, u32)>,
}

/// A buffer or an engine.
#[derive(Clone, Copy)]
pub(super) struct Input {
    /// When it can give away another packet.
    free_s: f64,
    /// From when its first packet can leave; only while that wants an output.
    ready_s: f64,
    /// What the first packet wants, as a step of a route; only while it wants an output.
    pub step: u32,
    /// Its place among the inputs of its router.
    place: u32,
    /// The slot of a buffer's first packet.
    first: u16,
    /// Packets in a buffer.
    packets: u16,
    /// Whether its first packet wants an output.
    pub wants: bool,
}

/// Room for a packet in a buffer.
#[derive(Clone, Copy)]
struct Slot {
    /// With a packet, from when its head may leave; without one, from when the router before can use it.
    time_s: f64,
    /// The message, and [`LAST`].
    packet: u32,
    /// Where in [`Messages::steps`] the packet's next step is.
    step: u32,
}

/// The bit that marks the last packet of a message.
const LAST: u32 = 1 << 31;

/// A link or the ejection of a node.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Output {
    free_s: f64,
    /// When it tries to serve somebody; infinite when not.
    try_s: f64,
    used: LinkUse,
    /// Inputs that want it.
    wanted: u32,
    /// The place that is asked first.
    turn: u32,
}

impl<'a> Routers<'a> {
    pub fn new(network: &'a Packets) -> Self {
        let wiring = Wiring::new(network);
        let input = |place| Input { free_s: 0.0, ready_s: 0.0, step: 0, place, first: 0, packets: 0, wants: false };
        let output = Output { free_s: 0.0, try_s: f64::INFINITY, used: LinkUse::default(), wanted: 0, turn: 0 };
        let (outputs, engines) = (wiring.starts.len(), wiring.nodes * wiring.engines);
        let full = Pace::of(network, network.packet_bytes);
        Self {
            network,
            messages: Messages::new(),
            inputs: wiring.places.iter().map(|place| input(*place)).collect(),
            slots: vec![Slot { time_s: 0.0, packet: 0, step: 0 }; wiring.buffers * network.buffer_packets],
            outputs: vec![output; outputs],
            requests: vec![0; outputs * wiring.words],
            ejections_free_s: vec![0.0; engines],
            sending: vec![NOBODY; engines],
            waiting: vec![(NOBODY, NOBODY); wiring.nodes],
            calendar: Calendar::new((full.link_s / DAYS_PER_PACKET).max(SHORTEST_DAY_S)),
            now_s: 0.0,
            full,
            hop_s: nearest(network.link_latency_s + network.router_latency_s),
            credit_s: nearest(network.credit_latency_s),
            happening: Vec::new(),
            trying: Vec::new(),
            due: Vec::new(),
            served: Vec::new(),
            wiring,
        }
    }

    /// Puts an output on the calendar, unless it is there for an earlier time.
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

    /// Something on the calendar happens.
    fn happen(&mut self, what: u32, progress: &mut Vec<(u32, Milestone)>) {
        let (outputs, engines) = (self.outputs.len(), self.sending.len());
        let what = what as usize;
        if what < outputs {
            if self.outputs[what].try_s == self.now_s {
                self.trying.push(what as u32);
            }
        } else if what < outputs + engines {
            self.go_on(what - outputs + self.wiring.buffers, progress);
        } else {
            progress.push((self.messages.pass((what - outputs - engines) as u32), Milestone::Arrived));
        }
    }

    /// An engine asks for the output of its message's next packet, or takes on another message.
    fn go_on(&mut self, engine: usize, progress: &mut Vec<(u32, Milestone)>) {
        let message = self.sending[engine - self.wiring.buffers];
        if self.messages.get(message).packets_left == 0 {
            progress.push((self.messages.pass(message), Milestone::Sent));
            let next = self.next_waiting(self.wiring.node_of(engine));
            self.sending[engine - self.wiring.buffers] = next;
            if next == NOBODY {
                return;
            }
        }
        self.request(engine, self.now_s);
    }

    /// Takes the first of the messages that wait for an engine of a node.
    fn next_waiting(&mut self, node: usize) -> u32 {
        let (first, _) = self.waiting[node];
        if first != NOBODY {
            self.waiting[node].0 = self.messages.get(first).behind;
        }
        first
    }

    /// A message waits for an engine of a node.
    fn wait_for_engine(&mut self, node: usize, message: u32) {
        let (first, last) = &mut self.waiting[node];
        if *first == NOBODY {
            *first = message;
        } else {
            self.messages.get_mut(*last).behind = message;
        }
        *last = message;
    }

    /// The first packet of an input wants its output, and can leave from `ready_s` on.
    fn request(&mut self, input: usize, ready_s: f64) {
        let step = self.messages.steps[self.first_step(input)];
        let output = self.wiring.output_to(step);
        let at = &mut self.inputs[input];
        (at.ready_s, at.step, at.wants) = (ready_s, step, true);
        let place = at.place as usize;
        self.requests[output * self.wiring.words + place / 64] |= 1 << (place % 64);
        self.outputs[output].wanted += 1;
        self.try_at(output, ready_s.max(self.outputs[output].free_s));
    }

    /// Where the next step of an input's first packet is.
    fn first_step(&self, input: usize) -> usize {
        if input >= self.wiring.buffers {
            return self.messages.get(self.sending[input - self.wiring.buffers]).route as usize;
        }
        self.slots[self.slot(input, 0)].step as usize
    }

    /// The slot of a buffer that is so many behind the first packet's.
    fn slot(&self, buffer: usize, behind: usize) -> usize {
        let depth = self.network.buffer_packets;
        let place = usize::from(self.inputs[buffer].first) + behind;
        buffer * depth + if place < depth { place } else { place - depth }
    }

    /// From when there is room where a step leads to; infinite while that is not known.
    fn room_s(&self, step: u32) -> f64 {
        let buffer = step as usize;
        if buffer >= self.wiring.buffers {
            return 0.0;
        }
        let packets = usize::from(self.inputs[buffer].packets);
        if packets == self.network.buffer_packets {
            return f64::INFINITY;
        }
        self.slots[self.slot(buffer, packets)].time_s
    }

    /// Whom a free output serves now; if nobody, it tries again when somebody is known to be ready.
    fn choose(&mut self, output: usize) -> Option<u32> {
        let Output { free_s, turn, .. } = self.outputs[output];
        let mut again_s = f64::INFINITY;
        if free_s <= self.now_s {
            let inputs = &self.wiring.inputs[self.wiring.starts[output] as usize..];
            let words = &self.requests[output * self.wiring.words..][..self.wiring.words];
            for place in in_turn(words, turn as usize) {
                let input = inputs[place];
                let Input { ready_s, step, .. } = self.inputs[input as usize];
                let start_s = ready_s.max(self.room_s(step));
                if start_s <= self.now_s {
                    return Some(input);
                }
                again_s = again_s.min(start_s);
            }
        } else {
            again_s = free_s;
        }
        if again_s < f64::INFINITY {
            self.try_at(output, again_s);
        }
        None
    }

    /// An output serves an input: its first packet goes on.
    fn serve(&mut self, output: usize, input: usize) {
        let Input { step, .. } = self.inputs[input];
        self.withdraw(output, input);
        let (packet, at) = self.first_packet(input);
        let is_last = packet & LAST != 0;
        let (pace, bytes) = if is_last {
            let message = self.messages.get(packet & !LAST);
            (message.last, message.last_bytes)
        } else {
            (self.full, self.network.packet_bytes)
        };
        let is_ejection = step as usize >= self.wiring.buffers;
        let duration_s = if is_ejection { pace.ejection_s } else { pace.link_s };
        let end_s = self.now_s + duration_s;
        self.occupy(output, end_s, duration_s, bytes);
        if input < self.wiring.buffers {
            self.leave_buffer(input, end_s);
        } else {
            self.leave_engine(input, end_s.max(self.now_s + pace.injection_s), is_last);
        }
        if !is_ejection {
            self.enter_buffer(step as usize, packet, at + 1);
        } else if is_last {
            let arrival = self.outputs.len() + self.sending.len() + (packet & !LAST) as usize;
            self.calendar.push(end_s, arrival as u32);
        }
    }

    /// An input no longer wants an output.
    fn withdraw(&mut self, output: usize, input: usize) {
        let at = &mut self.inputs[input];
        at.wants = false;
        let (place, waited_s) = (at.place as usize, self.now_s - at.ready_s);
        self.requests[output * self.wiring.words + place / 64] &= !(1 << (place % 64));
        let output = &mut self.outputs[output];
        output.wanted -= 1;
        output.turn = place as u32 + 1;
        output.used.waiting_s += waited_s;
    }

    /// The first packet of an input, and where its present step is.
    fn first_packet(&self, input: usize) -> (u32, u32) {
        if input < self.wiring.buffers {
            let Slot { packet, step, .. } = self.slots[self.slot(input, 0)];
            return (packet, step);
        }
        let message = self.sending[input - self.wiring.buffers];
        let record = self.messages.get(message);
        (if record.packets_left == 1 { message | LAST } else { message }, record.route)
    }

    /// An output is busy with a packet of so many bytes.
    fn occupy(&mut self, output: usize, end_s: f64, duration_s: f64, bytes: f64) {
        let free_s = if output < self.wiring.links { end_s } else { self.occupy_ejection(output, end_s) };
        let at = &mut self.outputs[output];
        at.free_s = free_s;
        at.used.bytes += bytes;
        at.used.busy_s += duration_s;
        if at.wanted > 0 {
            self.try_at(output, free_s.max(self.now_s));
        }
    }

    /// One of a node's ejections is busy: when one is free.
    fn occupy_ejection(&mut self, output: usize, end_s: f64) -> f64 {
        let first = (output - self.wiring.links) * self.wiring.engines;
        let ejections = &mut self.ejections_free_s[first..first + self.wiring.engines];
        let free = ejections.iter_mut().find(|free_s| **free_s <= self.now_s);
        *free.expect("an output that serves is free") = end_s;
        ejections.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The first packet of a buffer is gone at `end_s`.
    fn leave_buffer(&mut self, buffer: usize, end_s: f64) {
        let (depth, slot) = (self.network.buffer_packets, self.slot(buffer, 0));
        let room_s = end_s + self.credit_s;
        self.slots[slot].time_s = room_s;
        let at = &mut self.inputs[buffer];
        at.free_s = end_s;
        at.first = if usize::from(at.first) + 1 < depth { at.first + 1 } else { 0 };
        at.packets -= 1;
        let packets = usize::from(at.packets);
        let before = buffer >> self.wiring.shift;
        if packets + 1 == depth && self.outputs[before].wanted > 0 {
            self.try_at(before, room_s.max(self.outputs[before].free_s));
        }
        if packets > 0 {
            let ready_s = self.slots[self.slot(buffer, 0)].time_s;
            self.request(buffer, ready_s.max(end_s));
        }
    }

    /// A packet of an engine's message leaves, the last one until `end_s`.
    fn leave_engine(&mut self, engine: usize, end_s: f64, is_last: bool) {
        let number = engine - self.wiring.buffers;
        let message = self.messages.get_mut(self.sending[number]);
        message.packets_left -= 1;
        let next_s = if is_last { end_s } else { self.now_s + message.period_s };
        self.calendar.push(next_s, (self.outputs.len() + number) as u32);
    }

    /// A packet is on its way into a buffer.
    fn enter_buffer(&mut self, buffer: usize, packet: u32, step: u32) {
        let ready_s = self.now_s + self.hop_s;
        let packets = usize::from(self.inputs[buffer].packets);
        let slot = self.slot(buffer, packets);
        self.slots[slot] = Slot { time_s: ready_s, packet, step };
        self.inputs[buffer].packets += 1;
        if packets == 0 {
            self.request(buffer, ready_s.max(self.inputs[buffer].free_s));
        }
    }

    /// An output that serves nobody although it could.
    #[cfg(test)]
    pub fn idle_in_vain(&self) -> Option<usize> {
        let can_leave = |input: &&Input| input.wants && input.ready_s.max(self.room_s(input.step)) <= self.now_s;
        let mut wanted = self.inputs.iter().filter(can_leave).map(|input| self.wiring.output_to(input.step));
        wanted.find(|output| self.outputs[*output].free_s <= self.now_s)
    }

    /// Lets the outputs that try now serve whom they can: first all choose, then packets go on.
    fn serve_all(&mut self) {
        std::mem::swap(&mut self.trying, &mut self.due);
        let due = std::mem::take(&mut self.due);
        for &output in &due {
            if self.outputs[output as usize].try_s == self.now_s {
                self.outputs[output as usize].try_s = f64::INFINITY;
                let chosen = self.choose(output as usize);
                self.served.extend(chosen.map(|input| (output, input)));
            }
        }
        self.due = due;
        self.due.clear();
        let served = std::mem::take(&mut self.served);
        for &(output, input) in &served {
            self.serve(output as usize, input as usize);
        }
        self.served = served;
        self.served.clear();
    }
}

/// The members of a set of places, beginning with the first that is no less than `turn`, and then round.
fn in_turn(words: &[u64], turn: usize) -> impl Iterator<Item = usize> {
    let first = turn / 64 % words.len();
    let from = if turn < words.len() * 64 { u64::MAX << (turn % 64) } else { u64::MAX };
    (0..=words.len()).flat_map(move |step| {
        let word = (first + step) % words.len();
        let mask = if step == 0 { from } else if step == words.len() { !from } else { u64::MAX };
        members(words[word] & mask).map(move |bit| word * 64 + bit)
    })
}

/// The bits that are set, the lowest first.
fn members(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

impl Traffic for Routers<'_> {
    fn inject(&mut self, now_s: f64, flight: Flight) {
        let message = self.messages.add(self.network, &self.wiring, &flight);
        let mut engines = self.wiring.engines_of(flight.from);
        let Some(engine) = engines.find(|engine| self.sending[engine - self.wiring.buffers] == NOBODY) else {
            return self.wait_for_engine(flight.from, message);
        };
        let number = engine - self.wiring.buffers;
        self.sending[number] = message;
        self.calendar.push(no_earlier(now_s), (self.outputs.len() + number) as u32);
        self.calendar.settle();
    }

    fn next_s(&self) -> f64 {
        self.calendar.next_s()
    }

    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        self.now_s = self.calendar.next_s();
        let mut happening = std::mem::take(&mut self.happening);
        self.calendar.take(self.now_s, &mut happening);
        for what in happening.drain(..) {
            self.happen(what, progress);
        }
        self.happening = happening;
        while !self.trying.is_empty() {
            self.serve_all();
        }
        self.calendar.settle();
    }

    fn links(&self) -> Vec<LinkUse> {
        self.outputs[..self.wiring.links].iter().map(|output| output.used).collect()
    }

    fn deadlock(&self) -> Option<String> {
        let is_stuck = self.messages.under_way() > 0 && self.next_s() == f64::INFINITY;
        is_stuck.then(|| self.who_waits())
    }
}
