//! Adaptive pacing: interfaces find a common gap from acknowledgements and from gaps that messages carry, on machines
//! without computed M_i.
//!
//! An interface notes when each packet of a message leaves and when its acknowledgement returns. A packet is *late* if
//! it was held up for longer than the time between the message's packets. When the last packet is acknowledged, the
//! sender changes its gap by [`STEP`] times the share of late packets minus [`LATE_SHARE`]. Messages of one packet are
//! ignored. The last packet of a message carries the gap that its sender had when it began; the receiver moves its own
//! gap by [`MIX`] of the difference, so that all nodes converge to the same gap.
//!
//! Gaps suit exchanges in steps, in which a delayed node delays the others. A port that takes on message after message
//! without a pause is in no such exchange: after [`STREAM`] of them, it neither leaves gaps nor learns, until it
//! pauses.
//!
//! Acknowledgements return over as many links as the packet took; they neither wait nor take room.

use std::collections::VecDeque;
use std::ops::Range;

use super::messages::nearest;

/// The change of the gap, in packet times, between all packets late and none late.
const STEP: f64 = 0.2;
/// The share of late packets at which a gap stays the same.
const LATE_SHARE: f64 = 0.2;
/// The part of the difference to an arriving message's gap by which its receiver moves.
const MIX: f64 = 0.5;
/// The number of preceding messages without a pause that make a stream.
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
    /// By the index of the message.
    messages: Vec<PacedMessage>,
}

/// A port of a node; messages of one packet are ignored.
#[derive(Clone)]
struct Port {
    /// When its last packet has left.
    free_s: f64,
    /// Number of messages taken on one after another without a pause.
    in_a_row: u32,
}

/// The gap of a node.
#[derive(Clone, Default)]
pub(super) struct Interface {
    gap_packets: f64,
    /// Future news and their times, in the order of time.
    news: VecDeque<(f64, News)>,
}

/// News from the end of a message.
#[derive(Clone, Copy)]
pub(super) enum News {
    /// All packets of its own message are acknowledged: the share of late ones.
    Acknowledged(f64),
    /// A message has arrived: the gap of its sender.
    Carried(f64),
}

/// A message under way.
#[derive(Clone, Default)]
struct PacedMessage {
    from: usize,
    /// The gap of its node when it began to leave.
    gap_packets: f64,
    is_of_stream: bool,
    /// From the start of a packet to the start of the next, in seconds.
    period_s: f64,
    /// Number of packets that have left.
    packets: u32,
    /// Number of late packets.
    late: u32,
    /// The departure times of the packets under way.
    left_s: VecDeque<f64>,
}

impl AdaptivePacing {
    /// Interfaces without gaps. A full packet takes `packet_s` over a link, and its head `hop_s` to the next router.
    pub fn new(nodes: usize, ports_per_node: usize, packet_s: f64, hop_s: f64) -> Self {
        let ports = vec![Port { free_s: f64::NEG_INFINITY, in_a_row: 0 }; nodes * ports_per_node];
        let interfaces = vec![Interface::default(); nodes];
        Self { packet_s, hop_s, ports_per_node, ports, interfaces, messages: Vec::new() }
    }

    /// A packet of a message leaves a port; `port_s` is from when it was ready until the port is free. Returns the time
    /// from its start to the start of the next, at least `asked_s`, in seconds.
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
            self.messages.resize(number + 1, PacedMessage::default());
        }
        let (message, sending) = (&mut self.messages[number], &mut self.ports[port]);
        if message.packets == 0 {
            message.from = port / self.ports_per_node;
            if !is_last {
                sending.in_a_row = if port_s.start > sending.free_s { 0 } else { sending.in_a_row + 1 };
            }
            message.is_of_stream = sending.in_a_row >= STREAM;
            message.gap_packets = self.interfaces[message.from].gap_packets(now_s);
            let own_gap_packets = if message.is_of_stream { 0.0 } else { message.gap_packets };
            message.period_s = nearest((1.0 + own_gap_packets) * self.packet_s).max(asked_s);
        }
        message.packets += 1;
        if message.packets > 1 {
            sending.free_s = port_s.end;
        }
        message.left_s.push_back(now_s);
        message.period_s
    }

    /// A packet of a message arrives over `hops` links; node `to` takes it in until `end_s`.
    pub fn arrive(&mut self, now_s: f64, message: u32, to: usize, hops: u32, is_last: bool, end_s: f64) {
        let way_s = f64::from(hops) * self.hop_s;
        let message = &mut self.messages[message as usize];
        let left_s = message.left_s.pop_front().expect("a packet that arrives has left");
        message.late += u32::from(now_s - left_s - way_s > message.period_s);
        if is_last {
            let PacedMessage { from, gap_packets, is_of_stream, packets, late, .. } = *message;
            (message.packets, message.late) = (0, 0);
            self.interfaces[to].learn(end_s, News::Carried(gap_packets));
            if packets > 1 && !is_of_stream {
                let share = f64::from(late) / f64::from(packets);
                self.interfaces[from].learn(end_s + way_s, News::Acknowledged(share));
            }
        }
    }
}

impl Interface {
    /// Adds news for this time.
    pub fn learn(&mut self, time_s: f64, news: News) {
        let place = self.news.partition_point(|(earlier_s, _)| *earlier_s <= time_s);
        self.news.insert(place, (time_s, news));
    }

    /// The gap from all news before now, in packet times.
    pub fn gap_packets(&mut self, now_s: f64) -> f64 {
        while let Some((_, news)) = self.news.front().copied().filter(|(time_s, _)| *time_s < now_s) {
            self.news.pop_front();
            let change = match news {
                News::Acknowledged(late) => STEP * (late - LATE_SHARE),
                News::Carried(gap_packets) => MIX * (gap_packets - self.gap_packets),
            };
            self.gap_packets = (self.gap_packets + change).clamp(0.0, MOST_PACKETS);
        }
        self.gap_packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a fifth of late packets a gap stays the same; otherwise it changes by a fifth of the difference. A receiver
    /// moves half of the way to a message's gap. News count from their time on; no gap exceeds 64.
    #[test]
    fn adaptive_gaps_follow_what_was_late_and_what_arrived() {
        let after = |news: &[News]| {
            let mut interface = Interface::default();
            news.iter().for_each(|news| interface.learn(0.0, *news));
            interface.gap_packets(1.0)
        };
        let (carrying, late) = (News::Carried, News::Acknowledged);
        for (news, expected) in [
            (vec![late(1.0)], 0.16),
            (vec![carrying(8.0)], 4.0),
            (vec![carrying(8.0), carrying(0.0)], 2.0),
            (vec![carrying(8.0), late(0.2)], 4.0),
            (vec![carrying(8.0), late(0.0)], 3.96),
            (vec![late(0.0)], 0.0),
            (vec![late(1.0); 1000], 64.0),
        ] {
            assert!((after(&news) - expected).abs() < 1e-9, "{}, not {expected}", after(&news));
        }
        let mut interface = Interface::default();
        interface.learn(2.0, carrying(0.0));
        interface.learn(1.0, carrying(8.0));
        assert_eq!([1.0, 1.5, 2.5].map(|now_s| interface.gap_packets(now_s)), [0.0, 4.0, 2.0]);
    }
}
