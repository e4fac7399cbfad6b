use hocket_algorithms::shapes::*;
use hocket_core::{Buffer, Call, Collective, Counts, Span};

#[test]
fn rotated_blocks_are_all_blocks_once() {
    let counts = Counts::each(&[3, 0, 1, 4, 2]);
    let call = Call { counts, ..Call::new(Collective::Allgather, 5, 0) };
    let (ordered, rotated) = (Span::new(Buffer::Result, call.total()), Span::new(Buffer::Scratch, call.total()));
    for first in 0..5 {
        let rotation = rotated_blocks(&call, first);
        assert_eq!(rotation.len(5), call.total());
        for i in 0..5 {
            assert_eq!(rotation.part(rotated, i..i + 1).len, call.count((first + i) % 5));
        }
        for (from, to) in rotation.pieces(ordered, rotated) {
            assert_eq!(from.len, to.len);
        }
    }
}
