//! The three buffers of a rank in memory, and the addresses of spans.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use hocket_core::{Buffer, Span};

/// The layout of elements of the call's data type in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes from one element to the next.
    pub extent: isize,
    /// First byte that an element touches, counted from its address.
    pub true_lower_bound: isize,
    /// Number of bytes from there to the end of the last byte touched.
    pub true_extent: usize,
}

/// Input and result as the caller gave them, and working memory.
#[derive(Debug)]
pub struct Buffers {
    layout: Layout,
    input: *mut u8,
    result: *mut u8,
    pieces: Vec<Piece>,
    /// Number of elements of working memory in use.
    used_bytes: usize,
}

/// A piece of working memory; it never moves, since messages may be on their way to it.
#[derive(Debug)]
struct Piece {
    first: usize,
    len: usize,
    memory: Memory,
}

/// Memory that counts in [`KEPT_BYTES`] while it exists.
#[derive(Debug, Default)]
struct Memory(Box<[CacheLine]>);

/// Memory aligned for any data type.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct CacheLine(#[allow(dead_code)] [u8; 64]);

/// Working memory of all operations of this process, in bytes.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// If there is more, an operation does not keep its working memory for the next call.
const MOST_BYTES_KEPT: usize = 128 << 20;

impl Memory {
    fn new(lines: usize) -> Self {
        let memory = Self(vec![CacheLine([0; 64]); lines].into_boxed_slice());
        KEPT_BYTES.fetch_add(memory.bytes(), Relaxed);
        memory
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(self.bytes(), Relaxed);
    }
}

impl Buffers {
    /// No working memory yet.
    pub fn new(layout: Layout) -> Self {
        Self { layout, input: std::ptr::null_mut(), result: std::ptr::null_mut(), pieces: Vec::new(), used_bytes: 0 }
    }

    /// Prepares a call: working memory is free again, in one piece if it is kept.
    pub fn restart(&mut self, input: *mut u8, result: *mut u8) {
        (self.input, self.result) = (input, result);
        let len = std::mem::take(&mut self.used_bytes);
        if KEPT_BYTES.load(Relaxed) > MOST_BYTES_KEPT {
            self.pieces.clear();
        } else if self.pieces.len() > 1 {
            self.pieces.clear();
            self.add(len);
        }
    }

    /// Frees working memory if there is too much to keep.
    pub fn end(&mut self) {
        self.restart(std::ptr::null_mut(), std::ptr::null_mut());
    }

    /// `len` more elements of working memory.
    pub fn scratch(&mut self, len: usize) -> Span {
        let offset = self.used_bytes;
        self.used_bytes += len;
        let room = self.pieces.last().map_or(0, |piece| piece.first + piece.len);
        if len > 0 && self.used_bytes > room {
            if let Some(piece) = self.pieces.last_mut() {
                piece.len = offset - piece.first;
            }
            self.pieces.push(Piece { first: offset, len: 0, memory: Memory::default() });
            self.add(len);
        }
        Span { buffer: Buffer::Scratch, offset, len }
    }

    /// The address of the first element of a span; a span of working memory lies in one piece.
    pub fn at(&self, span: Span) -> *mut u8 {
        let (base, offset) = match span.buffer {
            Buffer::Input => (self.input, span.offset),
            Buffer::Result => (self.result, span.offset),
            Buffer::Scratch if span.is_empty() => return std::ptr::null_mut(),
            Buffer::Scratch => {
                let index = self.pieces.partition_point(|piece| piece.first <= span.offset) - 1;
                let piece = &self.pieces[index];
                (self.origin(piece), span.offset - piece.first)
            }
        };
        base.wrapping_offset(offset as isize * self.layout.extent)
    }

    /// Allocates memory for `len` elements of the last piece, creating one if there is none.
    fn add(&mut self, len: usize) {
        if self.pieces.is_empty() {
            self.pieces.push(Piece { first: 0, len: 0, memory: Memory::default() });
        }
        let lines = self.bytes(len).div_ceil(size_of::<CacheLine>());
        let piece = self.pieces.last_mut().expect("there is one now");
        piece.len = len;
        piece.memory = Memory::new(lines);
    }

    /// The bytes of `len` elements.
    fn bytes(&self, len: usize) -> usize {
        match len {
            0 => 0,
            _ => (len - 1) * self.layout.extent.unsigned_abs() + self.layout.true_extent,
        }
    }

    /// The address of element 0 of a piece, so that all elements lie inside.
    fn origin(&self, piece: &Piece) -> *mut u8 {
        let Layout { extent, true_lower_bound, .. } = self.layout;
        let down = if extent < 0 { (piece.len as isize - 1) * -extent } else { 0 };
        piece.memory.0.as_ptr().cast::<u8>().cast_mut().wrapping_offset(down - true_lower_bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_layout_lie_inside_and_apart() {
        for (extent, true_lower_bound, true_extent) in [(8, 0, 8), (16, 0, 12), (24, -8, 16), (-8, 0, 8), (0, 0, 4)] {
            let layout = Layout { extent, true_lower_bound, true_extent };
            let mut buffers = Buffers::new(layout);
            for round in 0..3 {
                buffers.restart(std::ptr::null_mut(), std::ptr::null_mut());
                let spans: Vec<_> = [3, 0, 1, 100].map(|len| buffers.scratch(len)).into();
                assert!(round == 0 || buffers.pieces.len() == 1);
                let mut starts = Vec::new();
                for span in spans {
                    for index in 0..span.len {
                        let first = buffers.at(span.part(index, 1)).wrapping_offset(true_lower_bound) as usize;
                        let holds = |piece: &Piece| {
                            let start = piece.memory.0.as_ptr() as usize;
                            start <= first && first + true_extent <= start + piece.memory.bytes()
                        };
                        assert!(buffers.pieces.iter().any(holds), "{layout:?} {span} {index}");
                        starts.push(first);
                    }
                }
                starts.sort_unstable();
                let step = extent.unsigned_abs();
                assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= step.min(true_extent) || extent == 0));
            }
        }
    }

    #[test]
    fn memory_beyond_the_limit_is_not_kept() {
        let mut buffers = Buffers::new(Layout { extent: 8, true_lower_bound: 0, true_extent: 8 });
        buffers.scratch(MOST_BYTES_KEPT);
        buffers.end();
        assert!(buffers.pieces.is_empty());
    }
}
