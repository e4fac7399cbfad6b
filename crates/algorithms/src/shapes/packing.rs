//! Blocks that travel together, packed into one message.

use hocket_core::{Call, Span};

/// The pieces of some blocks of `call`: each as it lies in `ordered`, a span of all blocks, and as it lies in `packed`.
/// Blocks that follow each other are one piece; drawn for the blocks 1, 2 and 4 of 5.
///
/// ```text
/// ordered    [0|1 2|3|4]
/// packed     [1 2|4]
/// ```
pub fn packed_blocks(call: &Call, blocks: &[usize], ordered: Span, packed: Span) -> impl Iterator<Item = (Span, Span)> {
    let mut next = 0;
    blocks.chunk_by(|one, other| one + 1 == *other).map(move |run| {
        let first = next;
        next += run.len();
        (call.blocks(ordered, run[0], run.len()), call.blocks(packed, first, run.len()))
    })
}
