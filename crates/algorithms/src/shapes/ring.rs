//! Rings.

use hocket_core::Tag;

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
