//! Channels: rings or trees side by side, each with its part of the vector. They leave a node by different ranks.

use hocket_core::{Call, Parameter, Unit};

/// Number of channels.
pub const CHANNELS: Parameter = Parameter {
    name: "channels",
    unit: Unit::Count,
    default: 2,
    least: 1,
    tries: &[1, 3],
    meaning: "rings side by side, each with its part of the vector; they leave a group of ranks by different ranks",
};

/// The place of a group of `size` ranks at which a channel begins. The channels divide the places evenly.
pub fn turn(c: &Call, channel: usize, size: usize) -> usize {
    channel * size / channels(c).len()
}

/// The numbers of the channels of a call.
pub fn channels(c: &Call) -> std::ops::Range<usize> {
    0..c.parameter(CHANNELS.name) as usize
}

/// The name `part` for the formulas of collectives with blocks: the bytes of the longest part of a block on a channel.
pub fn counts_of_blocks(c: &Call) -> Vec<(&'static str, u64)> {
    let longest = (0..c.ranks).map(|i| c.count(i)).max().unwrap_or(0);
    vec![("part", (longest.div_ceil(channels(c).len()) * c.element_bytes) as u64)]
}
