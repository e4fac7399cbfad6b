//! Trivance: reduce_scatter, then allgather; in each step a rank exchanges with both ranks at distance d, at once.
//!
//! The vector has one chunk for each rank. A rank works on a window of chunks around its own: all chunks first, then a
//! third of them, then a ninth, rounded up, until only its own chunk is left. d is the width of the next window. A rank
//! sends the left part of its window to the left and the right part to the right. The paper's latency-optimal version
//! exchanges whole vectors in log3 P steps. It is not here: of 3 ranks, rank 0 would compute (0+2)+1 and rank 1
//! (0+1)+2, so floating-point results would differ between ranks.
//!
//! Source: A. Jürß, V. Addanki, S. Schmid, "Trivance: Latency-optimal allreduce by shortcutting multiport networks",
//! arXiv 2602.17254, the bandwidth-optimal version on a ring.
//! Needs: a commutative operator: chunks are combined in an order that wraps around rank 0.
//! Counts: 2 ceil(log3 P) steps with two messages at a time, on two ports. In each half, a rank sends P-1 chunks of
//! about n/P, about half of them to each side. On one port, messages of different sizes may wait for each other, and
//! the formula is an upper bound.
//!
//! ```text
//! P = 7, what rank 3 does; the other ranks do the same around their own chunks
//!
//! reduce_scatter  has                sends                             receives and adds
//! step 1, d = 3   0 1 2 [3] 4 5 6    0 1 to rank 0, 5 6 to rank 6      2 3 from rank 0, 3 4 from rank 6
//! step 2, d = 1       2 [3] 4        2 to rank 2,   4 to rank 4        3 from rank 2,   3 from rank 4
//!                       [3]          which is now the sum of all ranks' chunks 3
//!
//! allgather       has                sends                             receives
//! step 3, d = 1         [3]          3 to rank 2,   3 to rank 4        2 from rank 2,   4 from rank 4
//! step 4, d = 3       2 [3] 4        2 3 to rank 0, 3 4 to rank 6      0 1 from rank 0, 5 6 from rank 6
//!                 0 1 2 [3] 4 5 6    all reduced chunks
//! ```

use hocket_core::{Call, Rank, Span, Tag};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::{Rotation, rotated_chunks};

pub const ABOUT: About =
    About::new("(1 + 2*max(0, 2 - k))*(2*steps*alpha + 2*side/P*n*beta) + (P-1)/P*n*gamma", "messages")
        .on_ports(|_| 2)
        .refusing(needs_commutative)
        .completing(counts)
        .symmetric(rotates_evenly)
        .but_for_copies();

/// The tags of messages to the right, and to the left.
const RIGHT: Tag = 0;
const LEFT: Tag = 1;

/// The chunks that a rank works on: some to the left of its own chunk, and some to the right.
#[derive(Clone, Copy)]
struct Window {
    left: usize,
    right: usize,
}

impl Window {
    fn width(self) -> usize {
        self.left + 1 + self.right
    }
}

/// The windows of all steps, from all chunks down to one.
fn windows(ranks: usize) -> Vec<Window> {
    let narrower = |width: &usize| (*width > 1).then(|| width.div_ceil(3));
    let widths = std::iter::successors(Some(ranks), narrower);
    widths.map(|width| Window { left: (width - 1) / 2, right: width / 2 }).collect()
}

/// How many chunks a window has beyond the next window, to the left and to the right. Neither is more than the next
/// window's width.
fn sides(windows: &[Window]) -> [usize; 2] {
    [windows[0].left - windows[1].left, windows[0].right - windows[1].right]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let windows = windows(size);
    let chunks = rotated_chunks(result, size, (rank + size - windows[0].left) % size);
    let rotated = r.scratch(result.len);
    chunks.rotate(r, c.input(r), rotated).await;
    let steps = || windows.windows(2).map(|pair| WindowStep::new(rank, size, windows[0].left, pair));
    for step in steps() {
        step.halve(r, &chunks, rotated).await;
    }
    for step in steps().rev() {
        step.double(r, &chunks, rotated).await;
    }
    chunks.restore(r, rotated, result).await;
}

/// A step between two windows, as one rank sees it. Places are the places of its chunks in rotated order.
struct WindowStep {
    left_rank: usize,
    right_rank: usize,
    /// Number of chunks to the left of the narrower window, and to its right.
    sides: [usize; 2],
    start: usize,
    end: usize,
}

impl WindowStep {
    fn new(rank: usize, size: usize, centre: usize, windows: &[Window]) -> Self {
        let narrow = windows[1];
        let distance = narrow.width();
        Self {
            left_rank: (rank + size - distance) % size,
            right_rank: (rank + distance) % size,
            sides: sides(windows),
            start: centre - narrow.left,
            end: centre + narrow.right + 1,
        }
    }

    /// Sends the sums of both sides to the ranks that keep them, and adds the sums that these ranks send.
    async fn halve(&self, r: &Rank<'_>, chunks: &Rotation<impl Fn(usize) -> usize>, all: Span) {
        let Self { left_rank, right_rank, sides: [left, right], start, end } = *self;
        let (first, last) = (chunks.part(all, start..start + right), chunks.part(all, end - left..end));
        let (from_left, from_right) = (r.scratch(first.len), r.scratch(last.len));
        let leftwards =
            exchange(r, left, left_rank, chunks.part(all, start - left..start), right_rank, from_right, LEFT);
        let rightwards =
            exchange(r, right, right_rank, chunks.part(all, end..end + right), left_rank, from_left, RIGHT);
        r.join(leftwards, rightwards).await;
        r.reduce(right_rank, from_right, last).await;
        r.reduce(left_rank, from_left, first).await;
    }

    /// Receives both sides from the ranks that have them.
    async fn double(&self, r: &Rank<'_>, chunks: &Rotation<impl Fn(usize) -> usize>, all: Span) {
        let Self { left_rank, right_rank, sides: [left, right], start, end } = *self;
        let (first, last) = (chunks.part(all, start..start + right), chunks.part(all, end - left..end));
        let rightwards = exchange(r, left, right_rank, last, left_rank, chunks.part(all, start - left..start), RIGHT);
        let leftwards = exchange(r, right, left_rank, first, right_rank, chunks.part(all, end..end + right), LEFT);
        r.join(rightwards, leftwards).await;
    }
}

/// Sends and receives at the same time, unless there are no chunks.
async fn exchange(r: &Rank<'_>, chunks: usize, to: usize, sent: Span, from: usize, into: Span, tag: Tag) {
    if chunks > 0 {
        r.sendrecv_with((to, sent), (from, into), tag).await;
    }
}

/// The values in formulas: the `steps` of each half, the chunks of the larger `side` in all steps, and all `messages`.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let windows = windows(c.ranks);
    let sides: Vec<_> = windows.windows(2).map(sides).collect();
    let side: usize = sides.iter().map(|[left, right]| left.max(right)).sum();
    let messages: usize = sides.iter().flatten().filter(|side| **side > 0).count() * 2 * c.ranks;
    vec![("steps", sides.len() as u64), ("side", side as u64), ("messages", messages as u64)]
}
