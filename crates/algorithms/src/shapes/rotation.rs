//! Blocks and chunks in rotated order: it begins anywhere and wraps around.

use std::ops::Range;

use hocket_core::{Call, Rank, Span};

/// The blocks of a call, or the chunks of a vector, in the order that begins at block `first`; drawn for 5 blocks and
/// first = 2.
///
/// ```text
/// in order    [0 1|2 3 4]
/// rotated     [2 3 4|0 1]
/// ```
pub struct Rotation<Offset> {
    /// The start of a block in order; the start of block `blocks` is the end.
    offset: Offset,
    blocks: usize,
    first: usize,
}

/// The blocks of `call` in the order that begins at block `first`.
pub fn rotated_blocks(call: &Call, first: usize) -> Rotation<impl Fn(usize) -> usize> {
    Rotation { offset: |block| call.offset(block), blocks: call.ranks, first }
}

/// The chunks of a vector, one for each of `ranks`, in the order that begins at chunk `first`.
pub fn rotated_chunks(vector: Span, ranks: usize, first: usize) -> Rotation<impl Fn(usize) -> usize> {
    Rotation { offset: move |chunk| vector.chunks(0, chunk, ranks).len, blocks: ranks, first }
}

impl<Offset: Fn(usize) -> usize> Rotation<Offset> {
    /// Number of elements in the first `blocks` blocks.
    pub fn len(&self, blocks: usize) -> usize {
        let end = self.first + blocks;
        let offset_of_wrap = if end > self.blocks { (self.offset)(self.blocks) } else { 0 };
        let end = if end > self.blocks { end - self.blocks } else { end };
        offset_of_wrap + (self.offset)(end) - (self.offset)(self.first)
    }

    /// These blocks of a span that holds blocks in rotated order.
    pub fn part(&self, rotated: Span, blocks: Range<usize>) -> Span {
        let start = self.len(blocks.start);
        rotated.part(start, self.len(blocks.end) - start)
    }

    /// Copies all blocks, which are in order in `ordered`, into `rotated`.
    pub async fn rotate(&self, r: &Rank<'_>, ordered: Span, rotated: Span) {
        for (ordered, rotated) in self.pieces(ordered, rotated) {
            r.copy(ordered, rotated).await;
        }
    }

    /// Copies all blocks back into `ordered`.
    pub async fn restore(&self, r: &Rank<'_>, rotated: Span, ordered: Span) {
        for (ordered, rotated) in self.pieces(ordered, rotated) {
            r.copy(rotated, ordered).await;
        }
    }

    /// The two pieces: each as it lies in `ordered`, a span of all blocks in order, and as it lies in `rotated`.
    pub fn pieces(&self, ordered: Span, rotated: Span) -> [(Span, Span); 2] {
        let (start, tail) = ((self.offset)(self.first), self.blocks - self.first);
        let end = (self.offset)(self.blocks);
        [
            (ordered.part(start, end - start), self.part(rotated, 0..tail)),
            (ordered.part(0, start), self.part(rotated, tail..self.blocks)),
        ]
    }
}
