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

#[cfg(test)]
mod tests {
    use hocket_core::{Buffer, Collective};

    use super::*;

    #[test]
    fn neighbours_are_one_piece() {
        let call = Call::new(Collective::Alltoall, 5, 3);
        let [ordered, packed] = [Buffer::Scratch, Buffer::Result].map(|buffer| Span::new(buffer, 15));
        let pieces: Vec<_> = packed_blocks(&call, &[1, 2, 4], ordered, packed).collect();
        assert_eq!(pieces, [(ordered.part(3, 6), packed.part(0, 6)), (ordered.part(12, 3), packed.part(6, 3))]);
        assert_eq!(packed_blocks(&call, &[], ordered, packed).count(), 0);
    }
}
