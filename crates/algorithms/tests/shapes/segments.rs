use hocket_algorithms::shapes::*;
use hocket_core::{Buffer, Call, Collective, Span};

#[test]
fn segments_cover_the_vector_in_order() {
    for (len, segment) in (0..20).flat_map(|len| (1..5).map(move |elements| (len, 8 * elements))) {
        let call = Call {
            element_bytes: 8,
            parameters: vec![("segment", segment)],
            ..Call::new(Collective::Broadcast, 2, len)
        };
        let segments = Segments::new(&call, Span::new(Buffer::Result, len));
        let elements: Vec<_> = (0..segments.count()).flat_map(|i| segments.get(i).range()).collect();
        assert_eq!(elements, (0..len).collect::<Vec<_>>());
        assert!((0..segments.count()).all(|i| segments.get(i).len * 8 <= segment as usize));
    }
}
