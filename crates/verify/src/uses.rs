//! The latest uses of a rank's elements, to find steps that may clash.

use hocket_core::{Buffer, Span};

/// The bytes for one element.
pub const BYTES_OF_ELEMENT: usize = size_of::<Latest>();

/// The numbers of the latest steps that wrote and read an element, plus 1. Once no step has raced, all before these
/// steps are finished before they begin.
#[derive(Clone, Copy, Default)]
struct Latest {
    write: u32,
    /// Since the latest write.
    read: u32,
}

/// In place of the latest read: several, of which none begins after all others.
const SEVERAL: u32 = u32::MAX;

/// The latest uses of each element of each buffer.
pub struct Uses([Vec<Latest>; 3]);

impl Uses {
    /// No uses of so many elements of the input and of the result.
    pub fn new(input: usize, result: usize) -> Self {
        Self([input, result, 0].map(|elements| vec![Latest::default(); elements]))
    }

    /// Adds a step, which uses these spans, each to write into it or not. Returns false if there may be a step that is not
    /// `before` it and uses the same elements, where one of the two writes them.
    pub fn add(&mut self, step: usize, spans: [(Span, bool); 2], before: impl Fn(usize) -> bool) -> bool {
        let (mark, mut is_clear, mut last) = (step as u32 + 1, true, 0);
        let mut is_before = |mark: u32| {
            let is_before = mark == 0 || mark == last || mark != SEVERAL && before(mark as usize - 1);
            if is_before && mark != 0 {
                last = mark;
            }
            is_before
        };
        for (span, is_written) in spans.into_iter().filter(|(span, _)| !span.is_empty()) {
            let elements = &mut self.0[span.buffer as usize];
            if span.buffer == Buffer::Scratch && elements.len() < span.range().end {
                elements.resize(span.range().end, Latest::default());
            }
            let end = span.range().end.min(elements.len());
            for latest in &mut elements[span.offset..end] {
                is_clear &= is_before(latest.write);
                if is_written {
                    is_clear &= is_before(latest.read);
                    *latest = Latest { write: mark, read: 0 };
                } else {
                    latest.read = if is_before(latest.read) { mark } else { SEVERAL };
                }
            }
        }
        is_clear
    }
}
