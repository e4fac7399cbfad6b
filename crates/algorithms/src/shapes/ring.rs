//! Rings.

use hocket_core::Tag;

/// A circle of ranks, as the one at `position` sees it.
///
/// ```text
/// ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐     position 1: previous 0, next 2, size 4
/// └────────────────────────┘
/// ```
pub struct Ring {
    /// Where this rank stands, from 0 on.
    pub position: usize,
    /// Number of ranks in the circle.
    pub size: usize,
    /// The rank at the position before.
    pub previous: usize,
    /// The rank at the position after.
    pub next: usize,
    /// All messages round this circle.
    pub tag: Tag,
}
