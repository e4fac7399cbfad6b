//! Channels: rings or trees side by side, each with its part of the vector. They leave a node by different ranks.

use std::ops::Range;

use hocket_core::{Buffer, Call, Collective, Domain, Nodes, Parameter, Span, Symmetry, Unit};

use crate::about::{About, SEGMENT, has_equal_blocks};
use crate::broadcast::tree::WHOLE_BYTES;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, group};

/// Number of channels.
pub const CHANNELS: Parameter = Parameter {
    name: "channels",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[1, 3],
    domain: Domain::Among(&[1, 2, 4, 8]),
    meaning: "rings side by side, each with its part of the vector; they leave a group of ranks by different ranks. \
              0: one for each rank of a group, at most 8; 2 for one group, or if nodes are unknown",
};

/// The most ranks of a group with channels of their own where a call leaves it open: as many as nodes have network cards.
const MOST: usize = 8;
/// The channels where nodes tell nothing.
const USUAL: usize = 2;

/// The longest chunk of a ring.
pub const CHUNK: Parameter = Parameter {
    name: "chunk",
    default: WHOLE_BYTES,
    meaning: "bytes of the longest chunk: longer vectors go round in several loops, one after the other",
    ..SEGMENT
};

/// The numbers of the channels of a call.
pub fn channels(c: &Call) -> Range<usize> {
    channels_with(c, 1)
}

/// The numbers of the channels of a call that has, where it leaves them open, so many for each rank of a group.
pub fn channels_with(c: &Call, for_rank: usize) -> Range<usize> {
    0..match c.parameter(CHANNELS.name) as usize {
        0 => by_nodes(c, for_rank),
        given => given,
    }
}

fn by_nodes(c: &Call, for_rank: usize) -> usize {
    let is_unknown = c.parameter(GROUP.name) == 0 && matches!(c.nodes, Nodes::Unknown);
    let levels = Levels::of(c);
    if is_unknown || levels.count() == 1 { USUAL } else { for_rank * levels.size(0).min(MOST) }
}

/// The order of the ranks of each group in a channel. Channels begin at different ranks. Drawn for groups of 4 ranks
/// and 2 channels.
///
/// ```text
/// channel 0     0 1 2 3     4 5 6 7
/// channel 1     2 3 0 1     6 7 4 5
/// ```
pub struct ChannelOrder {
    /// The groups.
    pub levels: Levels,
    channel: usize,
    channels: usize,
}

impl ChannelOrder {
    /// The order in one of the channels of a call.
    pub fn new(c: &Call, channel: usize, channels: usize) -> Self {
        Self { levels: Levels::of(c), channel, channels }
    }

    /// The group of a rank, and its position in the order of the group.
    pub fn position(&self, rank: usize) -> (usize, usize) {
        let (group, place) = self.levels.place(rank);
        let size = self.levels.size(group);
        (group, (place + size - self.first(group)) % size)
    }

    /// The rank at a position in the order of a group.
    pub fn rank(&self, group: usize, position: usize) -> usize {
        self.levels.rank(group, self.first(group) + position)
    }

    /// The place in a group at which the channel begins. The channels divide the places evenly.
    fn first(&self, group: usize) -> usize {
        self.channel * self.levels.size(group) / self.channels
    }
}

impl About {
    /// The algorithm runs a ring in each channel.
    pub const fn in_channels(self) -> Self {
        self.exact_when(|_| false)
            .on_ports(|c| channels(c).len())
            .made_for("cards")
            .with_parameters(&[CHANNELS, CHUNK, GROUP])
            .symmetric(repeats_by_groups)
    }
}

/// The ranks of a group do what those of every group do, if all groups are as large and all blocks as long.
fn repeats_by_groups(c: &Call) -> Option<Symmetry> {
    let is_even = if c.collective == Collective::Allreduce {
        c.count(0).is_multiple_of(channels(c).len() * c.ranks)
    } else {
        has_equal_blocks(c)
    };
    match Levels::of(c) {
        Levels::Equal(groups) if is_even && groups.are_equal() => Some(Symmetry::Rotation(groups.size)),
        _ => None,
    }
}

/// The number of channels and the size of groups.
pub fn layout(c: &Call, channels: usize) -> Vec<(&'static str, u64)> {
    [vec![(CHANNELS.name, channels as u64)], group(c)].concat()
}

/// Blocks in channels and loops, the same ones for every rank.
pub struct Shares {
    channels: usize,
    /// Number of loops.
    pub loops: usize,
}

impl Shares {
    /// The shares of a call's blocks. In each loop, a channel has at most a chunk of a block.
    pub fn of(c: &Call) -> Self {
        let channels = channels(c).len();
        let most = longest(c).chunk(0, channels).len * c.element_bytes;
        Self { channels, loops: most.div_ceil(c.parameter(CHUNK.name) as usize).max(1) }
    }

    /// The share of a block in a channel, in the loop of this number.
    pub fn of_block(&self, block: Span, channel: usize, number: usize) -> Span {
        block.chunk(channel, self.channels).chunk(number, self.loops)
    }

    /// Names for the formulas: `loops`; `chunks`, the bytes that a rank sends in a round on the first channel, in all loops
    /// together; `all_loops` of all channels.
    pub fn counts(c: &Call) -> Vec<(&'static str, u64)> {
        let shares = Self::of(c);
        let chunks = longest(c).chunk(0, shares.channels).len * c.element_bytes;
        let all_loops = shares.channels * shares.loops;
        vec![("loops", shares.loops as u64), ("chunks", chunks as u64), ("all_loops", all_loops as u64)]
    }
}

/// The longest block of a call.
pub fn longest(c: &Call) -> Span {
    Span::new(Buffer::Result, (0..c.ranks).map(|rank| c.count(rank)).max().unwrap_or(0))
}
