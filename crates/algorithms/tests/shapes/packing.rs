use hocket_algorithms::shapes::*;
use hocket_core::{Buffer, Call, Collective, Span};

#[test]
fn neighbours_are_one_piece() {
    let call = Call::new(Collective::Alltoall, 5, 3);
    let [ordered, packed] = [Buffer::Scratch, Buffer::Result].map(|buffer| Span::new(buffer, 15));
    let pieces: Vec<_> = packed_blocks(&call, &[1, 2, 4], ordered, packed).collect();
    assert_eq!(pieces, [(ordered.part(3, 6), packed.part(0, 6)), (ordered.part(12, 3), packed.part(6, 3))]);
    assert_eq!(packed_blocks(&call, &[], ordered, packed).count(), 0);
}
