//! Rings.

use hocket_core::{Call, Rank, Tag};

use crate::shapes::channels::{ChannelOrder, channels};

/// A ring of ranks, as the rank at `position` sees it.
///
/// ```text
/// ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐     position 1: previous 0, next 2, size 4
/// └────────────────────────┘
/// ```
pub struct Ring {
    /// The position of this rank, from 0 on.
    pub position: usize,
    /// Number of ranks in the ring.
    pub size: usize,
    /// The rank at the position before.
    pub previous: usize,
    /// The rank at the position after.
    pub next: usize,
    /// The tag of all messages round this ring.
    pub tag: Tag,
}

impl Ring {
    /// The ring of all ranks in their order.
    pub fn of_ranks(r: &Rank<'_>) -> Self {
        let (rank, size) = (r.rank(), r.size());
        Self { position: rank, size, previous: (rank + size - 1) % size, next: (rank + 1) % size, tag: 0 }
    }

    /// The ring of a channel: all ranks group by group, in each group from another rank on. Drawn for two groups of two
    /// ranks and two channels.
    ///
    /// ```text
    /// channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
    /// channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
    /// ```
    pub fn of_channel(c: &Call, rank: usize, channel: usize) -> Self {
        let order = ChannelOrder::new(c, channel, channels(c).len());
        let (group, position_in_group) = order.position(rank);
        let (position, size) = (order.levels.ranks_before(group) + position_in_group, c.ranks);
        Self {
            position,
            size,
            previous: Self::rank_at(&order, (position + size - 1) % size),
            next: Self::rank_at(&order, (position + 1) % size),
            tag: channel as Tag,
        }
    }

    /// The rank at a position of the ring of a channel.
    pub fn rank_at(order: &ChannelOrder, position: usize) -> usize {
        let (group, position_in_group) = order.levels.at(position);
        order.rank(group, position_in_group)
    }
}
