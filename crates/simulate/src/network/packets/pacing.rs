//! Adaptive pacing: gaps that follow the waiting that ports see, for machines without computed M_i.

use super::messages::nearest;

/// The part of the gap that is left after each packet.
const KEPT: f64 = 0.5;
/// The widest gap, in packet times.
const MOST_PACKETS: f64 = 64.0;

/// The gap of a port, which outlasts its messages. A packet that is held up widens it by as much as it waited for its
/// first link, and each packet halves it: where all packets wait for w, it is 2 w.
#[derive(Clone, Copy, Default)]
pub(super) struct AdaptiveGap {
    packets: f64,
}

impl AdaptiveGap {
    /// A packet leaves after it has waited for `waited_s`. Returns the time after its start at which the next one may
    /// ask for the link, in seconds, where a full packet takes `packet_s`.
    pub fn period_s(&mut self, waited_s: f64, packet_s: f64) -> f64 {
        self.packets = (KEPT * self.packets + waited_s / packet_s).min(MOST_PACKETS);
        nearest((1.0 + self.packets) * packet_s)
    }
}
