//! LogGOPS: latency, overhead of the processor, gap of the network interface, each also per byte, and a rendezvous above S.
//!
//! Source: A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP: incorporating long messages into the LogP
//! model", SPAA 1995 (L, o, g, G); T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010 (O, S). For n bytes, and
//! m = max(n - 1, 0):
//!
//! - send at t: starts at s = max(t, processor free, interface free to send); the processor is busy until s + o + m O, when
//!   the send is done; the interface until s + g + m G; the last byte arrives at s + o + L + m max(G, O).
//! - receive of a message that is there and asked for at t: starts at s = max(t, processor free, interface free to
//!   receive + m G), for the interface has been taking the message in since m G before its last byte; done at s + o + m O,
//!   until which the processor is busy; the interface until s + g.
//! - above S bytes the sender first asks: the request is there after o + L, and meets its receive; the answer is back
//!   o + L later, and then the message is sent as above. Request and answer occupy no processor.
//! - computing, reducing and copying occupy the processor.

use hocket_core::Result;
use hocket_machine::Machine;

use super::{Departure, Network};
use crate::bound::{Bound, Demanded, telling_s};
use crate::clock::Clock;

/// The model's parameters, keys of `[network]` under their own names.
#[derive(Clone, Debug, PartialEq)]
#[allow(non_snake_case)]
pub struct Loggp {
    /// Latency, in seconds.
    pub L: f64,
    /// Processor overhead per message, in seconds.
    pub o: f64,
    /// Gap between messages of one interface, in seconds.
    pub g: f64,
    /// Gap per byte, in seconds.
    pub G: f64,
    /// Processor overhead per byte, in seconds.
    pub O: f64,
    /// Largest eager message, in bytes; infinite when the key is absent.
    pub S: f64,
}

impl Loggp {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        Ok(Self {
            L: section.time_s("L")?,
            o: section.time_s("o")?,
            g: section.time_s_or("g", 0.0)?,
            G: section.time_per_byte_s_or("G", 0.0)?,
            O: section.time_per_byte_s_or("O", 0.0)?,
            S: section.optional_bytes("S")?.map_or(f64::INFINITY, |bytes| bytes as f64),
        })
    }
}

/// The times at which a rank's processor and network interface are free again.
pub struct Busy<T> {
    processor: T,
    sending: T,
    receiving: T,
}

impl Network for Loggp {
    type Node<T: Clock> = Busy<T>;
    const NODE_HAS_STATE: bool = true;

    fn idle<T: Clock>(&self, start: T) -> Busy<T> {
        Busy { processor: start, sending: start, receiving: start }
    }

    /// A rank tells one more every max(o, g), which knows 2 o + L later. The n bytes of one rank leave, or come, in M
    /// messages: the last one follows the others' (M - 1) g + (n - M) G of the interface, and (M - 1) o + (n - M) O of
    /// the processor, for the M that suits best. A processor does one thing at a time.
    fn bound(&self, demanded: &Demanded<'_>) -> Bound {
        let delay_s = 2.0 * self.o + self.L;
        let bytes = demanded.bytes_of_a_rank();
        let passing_s = least_of_greatest([self.g, self.G], [self.o, self.O]) * (bytes - 1.0).max(0.0);
        Bound {
            latency_s: demanded.spread().map_or(0.0, |spread| telling_s(spread.ranks, delay_s, self.o.max(self.g))),
            bandwidth_s: if bytes > 0.0 { delay_s + passing_s } else { 0.0 },
            computation_s: demanded.combining_s(),
        }
    }

    fn is_eager(&self, bytes: f64) -> bool {
        bytes <= self.S
    }

    fn request<T: Clock>(&self, now: T) -> T {
        now.plus(self.o + self.L)
    }

    fn grant<T: Clock>(&self, now: T) -> T {
        now.plus(self.o + self.L)
    }

    fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, bytes: f64) -> Departure<T> {
        let m = (bytes - 1.0).max(0.0);
        let start = now.max(node.processor).max(node.sending);
        node.processor = start.plus(self.o + m * self.O);
        node.sending = start.plus(self.g + m * self.G);
        Departure { sender_done: node.processor, start, transfer_s: self.o + self.L + m * self.G.max(self.O) }
    }

    fn accept<T: Clock>(&self, node: &mut Busy<T>, now: T, bytes: f64) -> T {
        let m = (bytes - 1.0).max(0.0);
        // An interface that was free from the start delays nothing: no last byte is there before m G.
        let start = now.max(node.processor).max(node.receiving.plus(m * self.G));
        node.processor = start.plus(self.o + m * self.O);
        node.receiving = start.plus(self.g);
        node.processor
    }

    fn work<T: Clock>(&self, node: &mut Busy<T>, now: T, pass: impl FnOnce(T) -> T) -> T {
        node.processor = pass(now.max(node.processor));
        node.processor
    }
}

/// The least, over x from 0 to 1, of the greater of a + (b - a) x for the two pairs (a, b).
fn least_of_greatest(first: [f64; 2], second: [f64; 2]) -> f64 {
    let at = |x: f64| [first, second].map(|[a, b]| a + (b - a) * x).into_iter().fold(0.0, f64::max);
    let crossing = (second[0] - first[0]) / (first[1] - first[0] - second[1] + second[0]);
    let places = [0.0, 1.0, if (0.0..=1.0).contains(&crossing) { crossing } else { 0.0 }];
    places.map(at).into_iter().fold(f64::INFINITY, f64::min)
}
