//! Bucket algorithms on a torus: rings along one axis after the other. Each ring works on what the rings before left.
//!
//! A port orders the chunks of all ranks by their coordinates along its axes; the first axis changes slowest. So the
//! chunks that a rank still works on are contiguous. Drawn for rank 4 of 3 x 2, which is at (1, 1).
//!
//! ```text
//! axes +x, +y    0 3 1 4 2 5    along x: which two?    1 4    along y: which one?    4
//! axes +y, +x    0 1 2 3 4 5    along y: which three?  3 4 5  along x: which one?    4
//! ```

use hocket_core::{Buffer, Call, Counts, Rank, Span, Tag};

use crate::allreduce::ring;
use crate::shapes::Ring;
use crate::shapes::torus::Port;

/// Combines the chunks of all ranks, along one axis after the other, until this rank has its own. `chunks(first,
/// count)` returns `count` chunks from `first` on.
pub async fn reduce_scatter(r: &Rank<'_>, port: &Port, chunks: &impl Fn(usize, usize) -> Span, tag: Tag) {
    for bucket in buckets(port, r.rank(), tag) {
        ring::reduce_scatter(r, &bucket.ring, |i| bucket.chunk(chunks, i)).await;
    }
}

/// Gives every rank the chunks of all ranks, along one axis after the other, the port's last axis first.
pub async fn allgather(r: &Rank<'_>, port: &Port, chunks: &impl Fn(usize, usize) -> Span, tag: Tag) {
    for bucket in buckets(port, r.rank(), tag).iter().rev() {
        ring::allgather(r, &bucket.ring, |i| bucket.chunk(chunks, i)).await;
    }
}

/// A ring along one axis. Its ranks work on the chunks from `first` on; each rank keeps `each` of them.
struct Bucket {
    ring: Ring,
    first: usize,
    each: usize,
}

impl Bucket {
    fn chunk(&self, chunks: &impl Fn(usize, usize) -> Span, position: usize) -> Span {
        chunks(self.first + position * self.each, self.each)
    }
}

fn buckets(port: &Port, rank: usize, tag: Tag) -> Vec<Bucket> {
    let (mut first, mut each) = (0, port.torus.ranks());
    let bucket = |axis: &usize| {
        let ring = ring_along(port, rank, *axis, tag);
        each /= ring.size;
        let bucket = Bucket { ring, first, each };
        first += bucket.ring.position * each;
        bucket
    };
    port.order.iter().map(bucket).collect()
}

fn ring_along(port: &Port, rank: usize, axis: usize, tag: Tag) -> Ring {
    let (position, size) = (port.coordinate(rank, axis), port.torus.sizes[axis]);
    let neighbour = |position: usize| port.moved(rank, axis, position % size);
    Ring { position, size, previous: neighbour(position + size - 1), next: neighbour(position + 1), tag }
}

/// A port's parts of the blocks of all ranks, packed in the port's order.
pub struct Packed<'a> {
    port: &'a Port,
    part: (usize, usize),
    all: Span,
    starts: Starts,
}

/// The starts of the parts.
enum Starts {
    /// All parts have this length.
    Equal(usize),
    /// The starts in the port's order, and the end of the last part.
    Each(Vec<usize>),
}

impl<'a> Packed<'a> {
    /// Room for the parts of each port.
    pub fn all(r: &Rank<'_>, c: &Call, ports: &'a [Port]) -> Vec<Self> {
        let packed = |(number, port)| Self::new(r, c, port, (number, ports.len()));
        ports.iter().enumerate().map(packed).collect()
    }

    fn new(r: &Rank<'_>, c: &Call, port: &'a Port, part: (usize, usize)) -> Self {
        let len = |block: usize| c.block(Span::new(Buffer::Scratch, c.total()), block).chunk(part.0, part.1).len;
        let starts = match c.counts {
            Counts::Equal(_) => Starts::Equal(len(0)),
            _ => Starts::Each(starts(port, c.ranks, len)),
        };
        let total = starts.of(c.ranks);
        Self { port, part, all: r.scratch(total), starts }
    }

    /// The port's part of a block.
    pub fn of_block(&self, block: Span) -> Span {
        block.chunk(self.part.0, self.part.1)
    }

    /// The packed part of a rank's block.
    pub fn of_rank(&self, rank: usize) -> Span {
        self.chunks(self.port.index(rank), 1)
    }

    /// As [`reduce_scatter`].
    pub async fn reduce_scatter(&self, r: &Rank<'_>) {
        reduce_scatter(r, self.port, &|first, count| self.chunks(first, count), self.part.0 as Tag).await;
    }

    /// As [`allgather`].
    pub async fn allgather(&self, r: &Rank<'_>) {
        allgather(r, self.port, &|first, count| self.chunks(first, count), self.part.0 as Tag).await;
    }

    fn chunks(&self, first: usize, count: usize) -> Span {
        let start = self.starts.of(first);
        self.all.part(start, self.starts.of(first + count) - start)
    }
}

impl Starts {
    fn of(&self, index: usize) -> usize {
        match self {
            Self::Equal(len) => index * len,
            Self::Each(starts) => starts[index],
        }
    }
}

fn starts(port: &Port, ranks: usize, len: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut starts = vec![0; ranks + 1];
    for rank in 0..ranks {
        starts[port.index(rank) + 1] = len(rank);
    }
    for index in 0..ranks {
        starts[index + 1] += starts[index];
    }
    starts
}
