//! The costs of a message at its ranks and on the wire: LogGOPS ([`Loggp`](super::Loggp)), by ranges of sizes.

use hocket_core::Result;
use hocket_machine::Section;

use super::{Departure, Parcel, levels};
use crate::clock::Clock;

/// The parameters of messages between nodes or within one: keys of `[network]` or `[network.local]`.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(non_snake_case)]
pub struct Level {
    /// `from`: the starts of the ranges of sizes, in bytes.
    starts_bytes: Vec<f64>,
    pub(super) ranges: Vec<Costs>,
    /// `both_ways`: the factor by which sending and receiving at once is slower; 1 when absent.
    both_ways: f64,
    /// `request`: the time of a request, in seconds.
    request_s: Option<f64>,
    /// `answer`: the time of its answer, in seconds.
    answer_s: Option<f64>,
    /// `S`: the largest eager message, in bytes; infinite when absent.
    S: f64,
    /// `new_peer`: how much later a rank's first message to a peer arrives, or its request, in seconds.
    new_peer_s: f64,
    /// 1 / `memory_bandwidth`, only of `[network.local]`: seconds per byte for all ranks of a node together.
    memory_s_per_byte: f64,
    /// 1 / `bandwidth`, only of `[level.multicast]`: seconds per byte of an allreduce among the ranks of a node.
    switch_s_per_byte: f64,
    /// `gap`, only of `[level.multicast]`: how much longer the switch is busy with a segment of all ranks, in seconds.
    switch_gap_s: f64,
}

/// The parameters of a range of sizes. Each key has a list of one value per range, or one value for all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_snake_case)]
pub struct Costs {
    /// Latency, in seconds.
    pub L: f64,
    /// Processor overhead per message, of the sender and of the receiver, in seconds: `o`, or `o_send` and `o_receive`.
    pub o: [f64; 2],
    /// Gap between messages of one interface, in seconds.
    pub g: f64,
    /// Gap per byte, in seconds.
    pub G: f64,
    /// Processor overhead per byte, in seconds: `O`, or `O_send` and `O_receive`.
    pub O: [f64; 2],
}

/// The end of a message that sends it.
pub const SEND: usize = 0;
/// The end of a message that receives it.
pub const RECEIVE: usize = 1;

/// Keys that must not be in `[network]` beside `[host]`.
pub(super) const OF_HOST: [&str; 13] = [
    "from",
    "o",
    "o_send",
    "o_receive",
    "g",
    "O",
    "O_send",
    "O_receive",
    "both_ways",
    "S",
    "request",
    "answer",
    "new_peer",
];

impl Costs {
    /// How long a message occupies the processor at this end, in seconds.
    #[inline]
    pub(super) fn end_s(&self, end: usize, bytes: f64) -> f64 {
        self.o[end] + following(bytes) * self.O[end]
    }

    /// The smaller [`Costs::end_s`] of the two ends.
    pub(super) fn processor_s(&self, bytes: f64) -> f64 {
        self.end_s(SEND, bytes).min(self.end_s(RECEIVE, bytes))
    }

    /// How long a message occupies an interface, in seconds.
    pub(super) fn interface_s(&self, bytes: f64) -> f64 {
        self.g + following(bytes) * self.G
    }

    /// The time of a message whose receive is already posted, in seconds.
    pub fn time_s(&self, bytes: f64) -> f64 {
        let m = following(bytes);
        self.o[SEND] + self.L + m * self.G.max(self.O[SEND]) + self.o[RECEIVE] + m * self.O[RECEIVE]
    }
}

/// The bytes after the first one.
#[inline]
fn following(bytes: f64) -> f64 {
    (bytes - 1.0).max(0.0)
}

impl Level {
    /// Reads the keys of a section.
    pub(super) fn read(section: &Section) -> Result<Self> {
        Self::read_parts(section, Some(section))
    }

    /// A sender whose processor is busy with each message for `busy_s`, and a receiver without costs.
    pub(super) fn of_sender(busy_s: f64) -> Self {
        Self {
            starts_bytes: vec![0.0],
            ranges: vec![Costs { L: 0.0, o: [busy_s, 0.0], g: 0.0, G: 0.0, O: [0.0; 2] }],
            both_ways: 1.0,
            S: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Reads the keys of a section, except L, and G if absent, which come from `wire`; without `wire` they are 0.
    pub(super) fn read_parts(section: &Section, wire: Option<&Section>) -> Result<Self> {
        let starts = section.ranges_bytes("from")?;
        let count = starts.len();
        let times_s = |key: &str| section.optional_times_s(key, count);
        let times_per_byte_s = |key: &str| section.optional_times_per_byte_s(key, count);
        let none = || vec![0.0; count];
        let latency_s = |wire: &Section| {
            wire.optional_times_s("L", count)?.ok_or_else(|| wire.reject("L", "a time such as \"1 us\""))
        };
        let latency_s = wire.map_or_else(|| Ok(none()), latency_s)?;
        let [o_send, o_receive] = of_both_ends(section, "o", times_s)?;
        let missing = || section.reject("o", "a time such as \"1 us\", or o_send and o_receive");
        let (o_send, o_receive) = (o_send.ok_or_else(missing)?, o_receive.ok_or_else(missing)?);
        let [send_per_byte, receive_per_byte] =
            of_both_ends(section, "O", times_per_byte_s)?.map(|o| o.unwrap_or_else(none));
        let gap_s = times_s("g")?.unwrap_or_else(none);
        let of_gap = wire.filter(|_| !section.contains("G")).unwrap_or(section);
        let gap_per_byte_s = of_gap.optional_times_per_byte_s("G", count)?.unwrap_or_else(none);
        let range = |at: usize| Costs {
            L: latency_s[at],
            o: [o_send[at], o_receive[at]],
            g: gap_s[at],
            G: gap_per_byte_s[at],
            O: [send_per_byte[at], receive_per_byte[at]],
        };
        Ok(Self {
            ranges: (0..count).map(range).collect(),
            starts_bytes: starts.into_iter().map(|start| start as f64).collect(),
            both_ways: section.number_from("both_ways", 1.0)?,
            request_s: section.optional_time_s("request")?,
            answer_s: section.optional_time_s("answer")?,
            S: section.optional_bytes("S")?.map_or(f64::INFINITY, |bytes| bytes as f64),
            new_peer_s: section.time_s_or("new_peer", 0.0)?,
            ..Self::default()
        })
    }

    /// Reads the keys of `[network.local]`.
    pub(super) fn read_local(section: &Section) -> Result<Self> {
        Ok(Self { memory_s_per_byte: levels::memory_s_per_byte(section)?, ..Self::read(section)? })
    }

    /// Reads the keys of `[level.multicast]`. G is the least that [`Level::gap_s`] takes per byte.
    pub(super) fn read_multicast(section: &Section) -> Result<Self> {
        let latency_s = section.time_s("latency")?;
        let switch_s_per_byte = 1.0 / section.bytes_per_s("bandwidth")?;
        let costs = Costs { L: latency_s, o: [0.0; 2], g: 0.0, G: switch_s_per_byte / 2.0, O: [0.0; 2] };
        let switch_gap_s = section.time_s_or("gap", 0.0)?;
        Ok(Self { ranges: vec![costs], switch_s_per_byte, switch_gap_s, ..Self::of_sender(0.0) })
    }

    /// The parameters of messages of `bytes`.
    #[inline]
    pub fn of(&self, bytes: f64) -> &Costs {
        match &*self.ranges {
            [only] => only,
            [small, _] if bytes < self.starts_bytes[1] => small,
            [_, large] => large,
            ranges => &ranges[self.starts_bytes[1..].iter().take_while(|start| **start <= bytes).count()],
        }
    }

    /// The least time for which a message occupies one of its ends, and the least for each of its bytes, in seconds.
    pub(super) fn least_message(&self) -> [f64; 2] {
        let per_byte_s = |costs: &Costs| costs.G.max(costs.O[SEND]) + costs.O[RECEIVE];
        [
            self.least(|costs, _| costs.o[SEND].min(costs.o[RECEIVE]).max(costs.g)),
            self.least(|costs, _| per_byte_s(costs)),
        ]
    }

    /// The first sizes of all ranges but one, and of messages that are not eager.
    pub(super) fn thresholds_bytes(&self) -> impl Iterator<Item = u64> {
        let rendezvous = Some(self.S + 1.0).filter(|bytes| bytes.is_finite());
        self.starts_bytes[1..].iter().copied().chain(rendezvous).map(|bytes| bytes as u64)
    }

    /// The latency, and the time per byte, of a message of `bytes` whose receive is posted, in seconds, over a wire with
    /// these two: a rendezvous with its request and the answer, which also take the latency of the wire.
    pub fn line(&self, bytes: f64, [latency_s, s_per_byte]: [f64; 2]) -> [f64; 2] {
        let costs = self.of(bytes);
        let message = Parcel { bytes, within: None, is_new: false };
        let exchange_s = self.request(0.0, message) + self.grant(0.0, bytes) + 2.0 * latency_s;
        let request_s = if self.is_eager(bytes) { 0.0 } else { exchange_s };
        [
            request_s + costs.o[SEND] + costs.L + costs.o[RECEIVE] + latency_s,
            costs.G.max(costs.O[SEND]).max(s_per_byte) + costs.O[RECEIVE],
        ]
    }

    /// The least value of `choose` over all ranges, with their smallest and largest sizes.
    pub(super) fn least(&self, choose: impl Fn(&Costs, [f64; 2]) -> f64) -> f64 {
        self.spans().map(|(costs, bytes)| choose(costs, bytes)).fold(f64::INFINITY, f64::min)
    }

    /// The least time for which a message occupies the processor at this end, in seconds.
    pub fn least_end_s(&self, end: usize) -> f64 {
        self.least(|costs, [first, _]| costs.end_s(end, first))
    }

    /// The least time of a message, in seconds.
    pub(super) fn least_time_s(&self) -> f64 {
        self.least(|costs, [first, _]| costs.time_s(first))
    }

    #[inline]
    pub(super) fn is_eager(&self, bytes: f64) -> bool {
        bytes <= self.S
    }

    /// Whether the first message to a peer costs more.
    pub(super) fn knows_peers(&self) -> bool {
        self.new_peer_s > 0.0
    }

    /// How much later a message arrives, or its request, than one to a known peer, in seconds.
    #[inline]
    pub fn meeting_s(&self, message: Parcel) -> f64 {
        if message.is_new { self.new_peer_s } else { 0.0 }
    }

    /// How long a message occupies the processor at this end, in seconds.
    #[inline]
    pub(super) fn processing_s(&self, end: usize, message: Parcel) -> f64 {
        self.of(message.bytes).end_s(end, message.bytes)
    }

    pub(super) fn request<T: Clock>(&self, now: T, message: Parcel) -> T {
        let costs = self.of(message.bytes);
        now.plus(self.request_s.unwrap_or(costs.o[SEND] + costs.L) + self.meeting_s(message))
    }

    pub(super) fn grant<T: Clock>(&self, now: T, bytes: f64) -> T {
        let costs = self.of(bytes);
        now.plus(self.answer_s.unwrap_or(costs.o[RECEIVE] + costs.L))
    }

    /// m G, in seconds; at least the time at the rank's share of the memory bandwidth. At a switch, n G and a share of the
    /// gap, which all messages of a rank have together.
    #[inline(always)]
    pub fn gap_s(&self, message: Parcel) -> f64 {
        let ranks_on_node = message.within.map_or(0.0, |within| f64::from(within.ranks_on_node));
        if self.switch_s_per_byte > 0.0 {
            let gap_s = self.switch_gap_s / messages_by_switch(ranks_on_node);
            return message.bytes * self.switched_s_per_byte(ranks_on_node) + gap_s;
        }
        following(message.bytes) * self.of(message.bytes).G.max(ranks_on_node * self.memory_s_per_byte)
    }

    /// G of messages through the switch of a node with so many ranks, in seconds per byte.
    #[inline]
    fn switched_s_per_byte(&self, ranks_on_node: f64) -> f64 {
        ranks_on_node / messages_by_switch(ranks_on_node) * self.switch_s_per_byte
    }

    /// The parameters with the least time per byte of messages on nodes of `fewest` to `most` ranks. With g = G, n bytes
    /// take n G, as at a switch.
    pub(super) fn on_nodes_of(&self, [fewest, most]: [usize; 2]) -> Self {
        let memory_s_per_byte = fewest as f64 * self.memory_s_per_byte;
        let mut least = self.clone();
        for costs in &mut least.ranges {
            costs.G = costs.G.max(memory_s_per_byte);
            if self.switch_s_per_byte > 0.0 {
                costs.G = self.switched_s_per_byte(most as f64);
                costs.g = costs.G;
            }
        }
        least
    }

    /// The ranges, with the sizes of their smallest and largest messages of at least one byte.
    pub(super) fn spans(&self) -> impl Iterator<Item = (&Costs, [f64; 2])> {
        self.spans_from(1.0)
    }

    /// As [`Level::spans`], of messages of at least `least_bytes`.
    fn spans_from(&self, least_bytes: f64) -> impl Iterator<Item = (&Costs, [f64; 2])> {
        let ends = self.starts_bytes[1..].iter().map(|start| start - 1.0).chain([f64::INFINITY]);
        let spans = self.starts_bytes.iter().zip(ends);
        self.ranges.iter().zip(spans.map(move |(start, end)| [start.max(least_bytes), end.max(least_bytes)]))
    }

    #[inline(always)]
    pub(super) fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> Departure<T> {
        let (costs, m, gap_s) = (self.of(message.bytes), following(message.bytes), self.gap_s(message));
        let start = self.occupy_sender(node, now, message);
        node.sending = start.plus(costs.g + gap_s);
        if self.holds_receiving() {
            node.receiving = node.receiving.max(now).plus((self.both_ways - 1.0) * gap_s);
        }
        let latency_s = costs.o[SEND] + costs.L + self.meeting_s(message);
        let transfer_s = costs.o[SEND] + costs.L + gap_s.max(m * costs.O[SEND]) + self.meeting_s(message);
        Departure { sender_done: node.processor, start, transfer_s, latency_s }
    }

    /// The processor does its part of sending a message. Returns the time at which the message starts.
    #[inline(always)]
    pub(super) fn occupy_sender<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> T {
        let start = now.max(node.processor);
        node.processor = start.plus(self.processing_s(SEND, message));
        start
    }

    #[inline(always)]
    pub(super) fn accept<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> T {
        node.processor = now.max(node.processor).plus(self.processing_s(RECEIVE, message));
        node.processor
    }

    #[inline]
    pub(super) fn holds_receiving(&self) -> bool {
        self.both_ways > 1.0
    }

    #[inline(always)]
    pub(super) fn head<T: Clock>(&self, start: T, arrival: T, message: Parcel) -> T {
        let gap_s = self.gap_s(message);
        // Rounding may put the difference before the start.
        if gap_s > 0.0 { arrival.less(gap_s).max(start) } else { arrival }
    }

    #[inline(always)]
    pub(super) fn take_in<T: Clock>(&self, node: &mut Busy<T>, arrival: T, message: Parcel) -> T {
        // An idle interface delays nothing: the last byte arrives at m G or later.
        let start = arrival.max(node.receiving.plus(self.gap_s(message)));
        node.receiving = start.plus(self.of(message.bytes).g);
        start
    }
}

/// The messages of a rank for a segment of an allreduce through a switch: a sum to each other rank, and results to it.
fn messages_by_switch(ranks_on_node: f64) -> f64 {
    2.0 * (ranks_on_node - 1.0).max(1.0)
}

/// The values of a key for sender and receiver: one key for both, or two keys ending in `_send` and `_receive`.
fn of_both_ends<T: Clone>(
    section: &Section,
    key: &str,
    read: impl Fn(&str) -> Result<Option<T>>,
) -> Result<[Option<T>; 2]> {
    let common = read(key)?;
    let [send, receive] = [format!("{key}_send"), format!("{key}_receive")];
    if common.is_some() {
        let second = [&send, &receive].into_iter().find(|name| section.contains(name));
        return match second {
            Some(name) => {
                Err(section.reject(name, &format!("no such key beside {key}, which holds for senders and receivers")))
            }
            None => Ok([common.clone(), common]),
        };
    }
    Ok([read(&send)?, read(&receive)?])
}

/// The time for which the bytes of one rank occupy its processor and its interface, and that its last message takes, in
/// seconds. The n bytes leave or arrive in M messages of at least an element. Before the last one, the interface takes
/// (M - 1) g + (n - M) G, and the processor (M - 1) o + (n - M) O, for the best M. None if bytes take time, but no known
/// one: with g = o = 0, messages of one byte take none.
///
/// Over several ranges or levels, the best mixture counts, with its smallest message; a rank that receives waits for its
/// first message, and takes in its last one, which may be in different ranges. The last message may be in a range with a
/// lower time per byte, so the largest size of such a range is subtracted.
pub(super) fn passing_s(levels: &[Level], bytes: f64, element_bytes: usize) -> Option<f64> {
    let spans = || levels.iter().flat_map(|level| level.spans_from(element_bytes as f64));
    let least = |of: fn(&Costs) -> f64| spans().map(|(costs, _)| of(costs)).fold(f64::INFINITY, f64::min);
    let at_sizes = |(costs, sizes): (&Costs, [f64; 2])| {
        let [o, per_byte_s] = [costs.o, costs.O].map(|[send, receive]| send.min(receive));
        sizes.map(|size| [costs.G + (costs.g - costs.G) / size, per_byte_s + (o - per_byte_s) / size])
    };
    let per_byte_s = least_of_mixtures(&spans().flat_map(at_sizes).collect::<Vec<_>>());
    let of_last = |costs: &Costs| costs.G.max(costs.O[SEND]) + costs.O[RECEIVE];
    let sizes_of_last = spans().map(|(costs, [_, last])| if of_last(costs) < per_byte_s { last } else { 1.0 });
    let last_s = least(|costs| costs.o[SEND] + costs.L) + least(|costs| costs.o[RECEIVE]);
    let is_known = per_byte_s > 0.0 || spans().all(|(costs, _)| of_last(costs) == 0.0);
    is_known.then(|| last_s + per_byte_s * (bytes - sizes_of_last.fold(1.0, f64::max)).max(0.0))
}

/// The times at which a rank's processor and network interface are free again.
pub struct Busy<T> {
    pub(super) processor: T,
    pub(super) sending: T,
    receiving: T,
}

/// What a network keeps of a rank between operations: [`Busy`], or nothing.
pub trait NodeTimes<T> {
    /// Processor and interfaces that are free at `start`.
    fn idle(start: T) -> Self;
    /// The times at which they are free, if the network keeps these.
    fn busy(&mut self) -> Option<&mut Busy<T>>;
}

impl<T> NodeTimes<T> for () {
    fn idle(_start: T) {}

    fn busy(&mut self) -> Option<&mut Busy<T>> {
        None
    }
}

impl<T: Clock> NodeTimes<T> for Busy<T> {
    fn idle(start: T) -> Self {
        Self { processor: start, sending: start, receiving: start }
    }

    #[inline(always)]
    fn busy(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}

impl<T: Clock> Busy<T> {
    /// The processor works, as [`Network::work`].
    pub(super) fn work(&mut self, now: T, pass: impl FnOnce(T) -> T) -> T {
        self.processor = pass(now.max(self.processor));
        self.processor
    }
}

/// The least, over all mixtures of two quantities, of the greater one: two of the points make the best mixture.
pub(super) fn least_of_mixtures(points: &[[f64; 2]]) -> f64 {
    let greater = |[a, b]: [f64; 2]| a.max(b);
    let mixed = |[first, second]: [[f64; 2]; 2]| {
        let [difference, other] = [first, second].map(|[a, b]| a - b);
        let share = difference / (difference - other);
        if (0.0..=1.0).contains(&share) { first[0] + (second[0] - first[0]) * share } else { f64::INFINITY }
    };
    let pairs = points.iter().enumerate().flat_map(|(place, one)| points[..place].iter().map(|other| [*one, *other]));
    points.iter().copied().map(greater).chain(pairs.map(mixed)).fold(f64::INFINITY, f64::min)
}
