//! Working memory of ranks, and the time of its first touch where it is new in each call.
//!
//! Whether a buffer is new memory depends on the buffers that its rank takes at one moment, with no step in between. A
//! buffer of at least `from` bytes is new. If there are several, and together they have at least `together_from` bytes
//! and twice the bytes of the largest one, all of them are new: an allocator that gives back what exceeds twice its largest
//! block, as glibc's does, then keeps none. Each byte of new memory costs time when it is written for the first time; a
//! receive writes its whole buffer, before it is posted.
//! Where programs are free of races, neither depends on the order in which an engine runs ranks and branches.

use std::ops::Range;

use hocket_core::{At, Buffer, Moment, Span, Step};
use hocket_machine::{Node, Scratch};
use rustc_hash::FxHashMap;

/// The working memory of all ranks. Buffers follow each other; spans count elements.
pub struct WorkingMemory {
    /// Number of elements that each rank has taken.
    elements: Vec<usize>,
    /// None where no memory is new.
    new_memory: Option<NewMemory>,
}

struct NewMemory {
    scratch: Scratch,
    element_bytes: f64,
    ranks: FxHashMap<usize, OfRank>,
}

/// The working memory of one rank.
#[derive(Default)]
struct OfRank {
    /// The buffers that it took last, all at this moment; none has been used.
    buffers: Vec<Range<usize>>,
    moment: Moment,
    /// New memory that has not been written, in ascending order.
    untouched_ranges: Vec<Range<usize>>,
}

impl WorkingMemory {
    /// No buffers of this many ranks.
    pub fn new(ranks: usize, node: &Node, element_bytes: usize) -> Self {
        let of = |scratch| NewMemory { scratch, element_bytes: element_bytes as f64, ranks: FxHashMap::default() };
        Self { elements: vec![0; ranks], new_memory: node.scratch.map(of) }
    }

    /// `len` more elements for a rank.
    pub fn take(&mut self, at: At, len: usize) -> Span {
        let offset = self.elements[at.rank];
        self.elements[at.rank] += len;
        let span = Span { buffer: Buffer::Scratch, offset, len };
        if let Some(memory) = &mut self.new_memory {
            memory.take(at, span.range());
        }
        span
    }

    /// The time of the first touches of a step, in seconds; none if there are none.
    #[inline(always)]
    pub fn touch(&mut self, rank: usize, step: &Step) -> Option<f64> {
        self.new_memory.as_mut().and_then(|memory| memory.touch(rank, step))
    }
}

impl NewMemory {
    fn take(&mut self, At { rank, now }: At, buffer: Range<usize>) {
        let memory = self.ranks.entry(rank).or_default();
        if memory.moment.words() != now.words() {
            memory.settle(self.scratch, self.element_bytes);
            memory.moment = now;
        }
        memory.buffers.push(buffer);
    }

    #[cold]
    fn touch(&mut self, rank: usize, step: &Step) -> Option<f64> {
        let target = match *step {
            Step::Recv { into, .. } => into,
            Step::Copy { source, target } if source == target => return None,
            Step::Copy { target, .. } | Step::Combine { target, .. } => target,
            _ => return None,
        };
        if target.buffer != Buffer::Scratch || target.is_empty() {
            return None;
        }
        let memory = self.ranks.get_mut(&rank)?;
        memory.settle(self.scratch, self.element_bytes);
        let elements = memory.touch(&target.range());
        (elements > 0).then_some(elements as f64 * self.element_bytes * self.scratch.s_per_byte)
    }
}

impl OfRank {
    /// Decides which of the buffers that were taken together are new memory.
    fn settle(&mut self, scratch: Scratch, element_bytes: f64) {
        let bytes = |buffer: &Range<usize>| buffer.len() as f64 * element_bytes;
        let total_bytes: f64 = self.buffers.iter().map(bytes).sum();
        let largest_bytes = self.buffers.iter().map(bytes).fold(0.0, f64::max);
        let are_all_new = total_bytes >= scratch.together_from_bytes && total_bytes >= 2.0 * largest_bytes;
        let is_new = |buffer: &Range<usize>| are_all_new || bytes(buffer) >= scratch.from_bytes;
        self.untouched_ranges.extend(self.buffers.drain(..).filter(is_new).filter(|buffer| !buffer.is_empty()));
    }

    /// Notes that these elements are written. Returns the number of those that are new memory and were not written before.
    fn touch(&mut self, target: &Range<usize>) -> usize {
        let first = self.untouched_ranges.partition_point(|range| range.end <= target.start);
        let last = self.untouched_ranges.partition_point(|range| range.start < target.end);
        let [Some(start), Some(end)] =
            [self.untouched_ranges[..last].get(first), self.untouched_ranges[first..last].last()]
                .map(|range| range.cloned())
        else {
            return 0;
        };
        let overlap = |range: &Range<usize>| range.end.min(target.end) - range.start.max(target.start);
        let elements = self.untouched_ranges[first..last].iter().map(overlap).sum();
        let rest = [start.start..target.start, target.end..end.end];
        self.untouched_ranges.splice(first..last, rest.into_iter().filter(|range| !range.is_empty()));
        elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_touched_once() {
        let mut memory = OfRank { untouched_ranges: vec![0..10, 20..30, 30..40], ..OfRank::default() };
        for (target, elements) in [(5..25, 10), (10..20, 0), (0..6, 5), (26..27, 1), (0..100, 14), (0..100, 0)] {
            assert_eq!(memory.touch(&target), elements, "{target:?}");
        }
    }

    #[test]
    fn buffers_taken_together_are_new_if_none_of_them_is_half_of_all() {
        let scratch = Scratch { from_bytes: 100.0, together_from_bytes: 20.0, s_per_byte: 1.0 };
        for (lens, new) in [
            (&[99][..], 0),
            (&[100], 100),
            (&[50, 49], 0),
            (&[50, 50], 100),
            (&[9, 9], 0),
            (&[10, 0, 10], 20),
            (&[120, 10], 120),
        ] {
            let mut memory = OfRank::default();
            for len in lens {
                let start = memory.buffers.last().map_or(0, |last| last.end);
                memory.buffers.push(start..start + len);
            }
            memory.settle(scratch, 1.0);
            assert_eq!(memory.touch(&(0..1000)), new, "{lens:?}");
        }
    }
}
