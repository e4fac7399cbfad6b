//! Adaptive pacing: interfaces that find a common gap from acknowledgements and from what messages carry, for machines
//! without computed M_i.
//!
//! An interface notes when each packet of a message leaves and when its acknowledgement is back. A packet is *late* if it
//! was held up on its way for longer than the message's packets are apart: then the next one was on its way before it was
//! through. When the last packet of a message is acknowledged, the sender widens its gap by [`STEP`] times what the share
//! of late packets is above [`LATE_SHARE`], or narrows it by what the share is below. Messages of one packet say nothing
//! about gaps. The last packet of a message carries the gap that its sender had when it began, and the receiver goes
//! [`MIXED`] of the way from its own gap to that one, so that all nodes come to have the same.
//!
//! Gaps are for exchanges in steps, in which a node that is held up holds up the others. A port that takes on message after
//! message without a pause is not in one: after [`STREAM`] of them it neither leaves gaps nor learns, until it pauses.
//!
//! Acknowledgements go back over as many links as the packet, and neither wait nor take room.

use std::collections::VecDeque;
use std::ops::Range;

use super::messages::nearest;

/// How much a message changes the gap, in packet times, if all of its packets are late rather than none.
const STEP: f64 = 0.2;
/// The share of late packets with which a gap stays as it is.
const LATE_SHARE: f64 = 0.2;
/// The part of the difference to the gap of an arriving message that its receiver takes over.
const MIXED: f64 = 0.5;
/// How many messages without a pause before them make a stream.
const STREAM: u32 = 6;
/// The widest gap, in packet times.
const MOST_PACKETS: f64 = 64.0;

/// The interfaces of all nodes, and the messages under way.
pub(super) struct AdaptivePacing {
    packet_s: f64,
    hop_s: f64,
    ports_per_node: usize,
    ports: Vec<Port>,
    interfaces: Vec<Interface>,
    /// By the number of the message.
    messages: Vec<Paced>,
}

/// A port of a node, and what it does apart from messages of one packet.
#[derive(Clone)]
struct Port {
    /// When it is done with the last packet that it sent.
    free_s: f64,
    /// Messages that it has taken on one after another without a pause.
    in_a_row: u32,
}

/// The gap of a node, which outlasts its messages.
#[derive(Clone, Default)]
pub(super) struct Interface {
    gap_packets: f64,
    /// What will be known, and when, in the order of time.
    news: VecDeque<(f64, News)>,
}

/// What an interface learns from the end of a message.
#[derive(Clone, Copy)]
pub(super) enum News {
    /// All packets of a message of its own are acknowledged: the share that was late.
    Acknowledged(f64),
    /// A message has arrived: the gap that its sender had.
    Carried(f64),
}

/// A message under way.
#[derive(Clone, Default)]
struct Paced {
    from: usize,
    /// The gap of its node when it left.
    gap_packets: f64,
    is_of_stream: bool,
    /// From the start of a packet to that of the next.
    period_s: f64,
    /// Packets that have left.
    packets: u32,
    /// Packets that were late.
    late: u32,
    /// When those that have not arrived left.
    left_s: VecDeque<f64>,
}

impl AdaptivePacing {
    /// Interfaces without gaps, where a full packet takes `packet_s` over a link, and its head `hop_s` to the next router.
    pub fn new(nodes: usize, ports_per_node: usize, packet_s: f64, hop_s: f64) -> Self {
        let ports = vec![Port { free_s: f64::NEG_INFINITY, in_a_row: 0 }; nodes * ports_per_node];
        let interfaces = vec![Interface::default(); nodes];
        Self { packet_s, hop_s, ports_per_node, ports, interfaces, messages: Vec::new() }
    }

    /// A packet of a message leaves a port, which it occupies from when it was ready until the end of `port_s`. Returns the
    /// time from its start to that of the next, in seconds, which is at least the one that the message asks for.
    pub fn leave(
        &mut self,
        now_s: f64,
        message: u32,
        port: usize,
        is_last: bool,
        port_s: Range<f64>,
        asked_s: f64,
    ) -> f64 {
        let number = message as usize;
        if self.messages.len() <= number {
            self.messages.resize(number + 1, Paced::default());
        }
        let (paced, sending) = (&mut self.messages[number], &mut self.ports[port]);
        if paced.packets == 0 {
            paced.from = port / self.ports_per_node;
            if !is_last {
                sending.in_a_row = if port_s.start > sending.free_s { 0 } else { sending.in_a_row + 1 };
            }
            paced.is_of_stream = sending.in_a_row >= STREAM;
            paced.gap_packets = self.interfaces[paced.from].gap_packets(now_s);
            let own_gap_packets = if paced.is_of_stream { 0.0 } else { paced.gap_packets };
            paced.period_s = nearest((1.0 + own_gap_packets) * self.packet_s).max(asked_s);
        }
        paced.packets += 1;
        if paced.packets > 1 {
            sending.free_s = port_s.end;
        }
        paced.left_s.push_back(now_s);
        paced.period_s
    }

    /// A packet of a message has come over so many links, is taken in by node `to` from now on, and is in at `end_s`.
    pub fn arrive(&mut self, now_s: f64, message: u32, to: usize, hops: u32, is_last: bool, end_s: f64) {
        let way_s = f64::from(hops) * self.hop_s;
        let paced = &mut self.messages[message as usize];
        let left_s = paced.left_s.pop_front().expect("a packet that arrives has left");
        paced.late += u32::from(now_s - left_s - way_s > paced.period_s);
        if is_last {
            let Paced { from, gap_packets, is_of_stream, packets, late, .. } = *paced;
            (paced.packets, paced.late) = (0, 0);
            self.interfaces[to].learn(end_s, News::Carried(gap_packets));
            if packets > 1 && !is_of_stream {
                let share = f64::from(late) / f64::from(packets);
                self.interfaces[from].learn(end_s + way_s, News::Acknowledged(share));
            }
        }
    }
}

impl Interface {
    /// Something will be known at a time.
    pub fn learn(&mut self, time_s: f64, news: News) {
        let place = self.news.partition_point(|(earlier_s, _)| *earlier_s <= time_s);
        self.news.insert(place, (time_s, news));
    }

    /// The gap that follows from what was known before now, in packet times.
    pub fn gap_packets(&mut self, now_s: f64) -> f64 {
        while let Some((_, news)) = self.news.front().copied().filter(|(time_s, _)| *time_s < now_s) {
            self.news.pop_front();
            let change = match news {
                News::Acknowledged(late) => STEP * (late - LATE_SHARE),
                News::Carried(gap_packets) => MIXED * (gap_packets - self.gap_packets),
            };
            self.gap_packets = (self.gap_packets + change).clamp(0.0, MOST_PACKETS);
        }
        self.gap_packets
    }
}
