//! A vector in segments.

use hocket_core::{Call, Rank, Span};

use crate::about::{About, SEGMENT};
use crate::automatic::segments;

/// A vector cut into segments. The call's parameter is the size of a segment, a whole number of elements. The last
/// segment may be shorter. There is always at least one segment.
#[derive(Clone, Copy)]
pub struct Segments {
    whole: Span,
    each: usize,
}

impl Segments {
    /// The segments of `whole`, as long as the call says.
    pub fn new(c: &Call, whole: Span) -> Self {
        Self::of(whole, c.parameter(SEGMENT.name) as usize / c.element_bytes)
    }

    /// The segments of `whole`, of `each` elements.
    pub fn of(whole: Span, each: usize) -> Self {
        Self { whole, each }
    }

    /// Number of segments.
    pub fn count(&self) -> usize {
        self.whole.len.div_ceil(self.each).max(1)
    }

    /// Segment `index`.
    pub fn get(&self, index: usize) -> Span {
        let start = index * self.each;
        self.whole.part(start, self.each.min(self.whole.len - start))
    }
}

impl About {
    /// The algorithm sends segments, whose automatic size is by the formula.
    pub const fn in_segments(self) -> Self {
        self.with_parameters(&[SEGMENT]).with_automatic(&[segments::BY_FORMULA])
    }
}

/// Sends one segment to a peer and receives another one at the same time, as far as there are any.
pub async fn exchange(r: &Rank<'_>, peer: usize, to_send: Option<Span>, to_receive: Option<Span>) {
    match (to_send, to_receive) {
        (Some(outgoing), Some(incoming)) => drop(r.sendrecv(peer, outgoing, peer, incoming).await),
        (Some(outgoing), None) => r.send(peer, outgoing).await,
        (None, Some(incoming)) => drop(r.recv(peer, incoming).await),
        (None, None) => (),
    }
}
