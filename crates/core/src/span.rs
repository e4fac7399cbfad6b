//! Spans: the pieces of a rank's buffers that the verbs name.

use std::fmt;

/// The three buffers of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Buffer {
    /// The caller's contribution; programs only read it.
    Input,
    /// The caller's result.
    Result,
    /// Working memory of the program, see [`crate::Rank::scratch`].
    Scratch,
}

/// `len` elements of `buffer` from `offset` on. Offsets and lengths count elements, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer the span lies in.
    pub buffer: Buffer,
    /// First element.
    pub offset: usize,
    /// Number of elements.
    pub len: usize,
}

impl Span {
    /// The first `len` elements of `buffer`.
    #[inline]
    pub const fn new(buffer: Buffer, len: usize) -> Self {
        Self { buffer, offset: 0, len }
    }

    /// The span without elements, as a barrier sends.
    pub const EMPTY: Self = Self::new(Buffer::Scratch, 0);

    /// `len` elements of this span, from its element `offset` on.
    ///
    /// # Panics
    /// When the part does not lie inside the span: a defect of the calling program.
    #[inline]
    pub fn part(self, offset: usize, len: usize) -> Self {
        assert!(offset + len <= self.len, "part {offset}+{len} of a span of {} elements", self.len);
        Self { offset: self.offset + offset, len, ..self }
    }

    /// Chunk `index` of `chunks` as even as possible: the first `len mod chunks` have one element more.
    #[inline]
    pub fn chunk(self, index: usize, chunks: usize) -> Self {
        self.chunks(index, 1, chunks)
    }

    /// The `count` consecutive chunks from `first` on, of the span cut into `chunks` (see [`Span::chunk`]).
    #[inline]
    pub fn chunks(self, first: usize, count: usize, chunks: usize) -> Self {
        let start = |i: usize| i * (self.len / chunks) + i.min(self.len % chunks);
        self.part(start(first), start(first + count) - start(first))
    }

    /// Whether the span has no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether the two spans share an element.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        let disjoint = self.offset + self.len <= other.offset || other.offset + other.len <= self.offset;
        self.buffer == other.buffer && !self.is_empty() && !other.is_empty() && !disjoint
    }

    /// Whether all elements of `other` are elements of this span.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.buffer == other.buffer && self.offset <= other.offset && other.range().end <= self.range().end
    }

    /// The indices of the span's elements in its buffer.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.buffer {
            Buffer::Input => "input",
            Buffer::Result => "result",
            Buffer::Scratch => "scratch",
        };
        write!(f, "{name}[{}..{}]", self.offset, self.offset + self.len)
    }
}
