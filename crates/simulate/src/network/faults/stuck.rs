//! A message that waits for ever.

use std::fmt;

use hocket_machine::AnyTopology;

use super::{Faults, Rates};

/// A message that a fault holds up for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stuck {
    /// The sender and the receiver.
    pub ranks: [u32; 2],
    pub bytes: f64,
    /// The link for which it waits.
    pub link: u32,
    /// Since when it waits.
    pub since_s: f64,
}

impl Stuck {
    /// One line about the message and the link.
    pub fn sentence(&self, faults: &Faults, topology: &AnyTopology) -> String {
        let Self { ranks: [from, to], bytes, link, since_s } = *self;
        let (start, end) = topology.ends(link as usize);
        let name = topology.link_name(link as usize);
        let lost_s = faults.of(link).map_or(0.0, Rates::lost_s);
        format!(
            "cannot end: the message of {bytes} B from rank {from} to rank {to} waits for ever, from {} on, for \
             link {start} -> {end} ({name}), which is down from {} on",
            TimeText(since_s),
            TimeText(lost_s)
        )
    }
}

/// A time in microseconds, rounded to a thousandth.
struct TimeText(f64);

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} us", (self.0 * 1e9).round() / 1e3)
    }
}
