//! Late rank: the others reduce among themselves while one rank is late, so that it costs the time of one exchange.
//!
//! The vector is cut into segments. In the first half, all ranks but the late one reduce each segment to one of log2 P
//! owners, the neighbours of the late rank in a hypercube. In the second half, the late rank exchanges one segment per
//! round with its owner, and the finished segments spread over the hypercube, each round along the next dimension. The
//! first half is the second one backwards. Ranks are numbered from the late one: a rank's number XOR that of `late`.
//!
//! Source: A. Devraj et al., "Accelerating AllReduce with a persistent straggler" (StragglAR), arXiv 2505.23523; the
//! spreading: S. L. Johnsson, C.-T. Ho, "Optimum broadcasting and personalized communication in hypercubes", IEEE
//! Transactions on Computers 38 (1989).
//! Needs: a power of two of ranks; a commutative operator: each owner has a tree of its own.
//! Counts: 2 (S + log2 P) rounds for S segments, of which the late rank takes part in S. Before these, some
//! rank has received and combined (P - 2) S / (P - 1) segments.
//!
//! ```text
//! 8 ranks, rank 0 is late; segment a is owned by rank 1, b by rank 2, c by rank 4
//! round 0  0 ◀─a─▶ 1
//! round 1  0 ◀─b─▶ 2   1 ──a─▶ 3
//! round 2  0 ◀─c─▶ 4   1 ──a─▶ 5   2 ──b─▶ 6   3 ──a─▶ 7
//! round 3              2 ──b─▶ 3   3 ──a─▶ 2   4 ──c─▶ 5   5 ──a─▶ 4   6 ──b─▶ 7   7 ──a─▶ 6
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Unit};

use crate::about::{About, SEGMENT, needs_commutative, needs_power_of_two};
use crate::automatic::segments;
use crate::shapes::{Segments, exchange};

const LATE: Parameter = Parameter {
    name: "late",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[1],
    domain: Domain::Given,
    meaning: "the rank that is expected to be late",
};

pub const ABOUT: About = About::new(
    "2*ceil((P-1)/P)*(max(1, ceil(n/segment)) + log2(P))*(alpha + min(n, segment)*(beta + gamma))",
    "2*(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.at_least(
    "ceil((P-1)/P)*(ceil(n/segment)*alpha + n*beta) + max(0, P-2)/max(1, P-1)*(ceil(n/segment)*alpha + n*(beta + gamma))",
)
.refusing(|c| {
    let is_missing = c.parameter(LATE.name) >= c.ranks as u64;
    let needs_late = is_missing.then_some("needs a rank of the call as the late one");
    needs_power_of_two(c).or_else(|| needs_commutative(c)).or(needs_late)
})
.with_parameters(&[LATE, SEGMENT])
.with_automatic(&[segments::BY_FORMULA]);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (size, result) = (r.size(), c.result(r));
    r.copy(c.input(r), result).await;
    if size == 1 {
        return;
    }
    let (segments, late) = (Segments::new(c, result), c.parameter(LATE.name) as usize);
    let cube = Cube { me: r.rank() ^ late, dimensions: size.ilog2() as usize, segments: segments.count() };
    let arrived = r.scratch(segments.get(0).len);
    let part = |i: Option<usize>| i.map(|i| segments.get(i));
    let room = |i: Option<usize>| part(i).map(|segment| arrived.part(0, segment.len));
    let combine = async |peer: usize, i: Option<usize>| {
        if let (Some(arrived), Some(segment)) = (room(i), part(i)) {
            r.reduce(peer, arrived, segment).await;
        }
    };
    for round in (0..cube.rounds()).rev() {
        let Crossing { peer, to_send, to_receive, with_late } = cube.crossing(round);
        if !with_late {
            exchange(r, peer ^ late, part(to_receive), room(to_send)).await;
            combine(peer ^ late, to_send).await;
        }
    }
    for round in 0..cube.rounds() {
        let Crossing { peer, to_send, to_receive, with_late } = cube.crossing(round);
        if with_late {
            exchange(r, peer ^ late, part(to_send), room(to_send)).await;
            combine(peer ^ late, to_send).await;
        } else {
            exchange(r, peer ^ late, part(to_send), part(to_receive)).await;
        }
    }
}

/// One rank of a hypercube over which segments spread from rank 0, one segment per round.
struct Cube {
    me: usize,
    dimensions: usize,
    segments: usize,
}

/// What a rank does in a round, as segments spread.
struct Crossing {
    peer: usize,
    to_send: Option<usize>,
    to_receive: Option<usize>,
    /// Whether the exchange is one between rank 0 and an owner, of the same segment both ways.
    with_late: bool,
}

impl Cube {
    fn rounds(&self) -> usize {
        self.segments + self.dimensions
    }

    fn crossing(&self, round: usize) -> Crossing {
        let bit = 1 << (round % self.dimensions);
        let (lower, is_lower) = (self.me & !bit, self.me & bit == 0);
        let peer = self.me ^ bit;
        if lower == 0 {
            let segment = Some(round).filter(|segment| *segment < self.segments);
            return Crossing { peer, to_send: segment, to_receive: segment, with_late: true };
        }
        let (up, down) = (self.up(round, lower), round.checked_sub(self.dimensions));
        let (to_send, to_receive) = if is_lower { (up, down) } else { (down, up) };
        Crossing { peer, to_send, to_receive, with_late: false }
    }

    /// The segment that a rank without the bit of this round sends to its peer with the bit: of the segments on their
    /// way, the one that it got before all others. Its owner's bit is the next one that the rank has.
    fn up(&self, round: usize, lower: usize) -> Option<usize> {
        let has_bit = |ahead: &usize| lower >> ((round + ahead) % self.dimensions) & 1 == 1;
        let ahead = (1..self.dimensions).find(has_bit)?;
        (round + ahead).checked_sub(self.dimensions).filter(|segment| *segment < self.segments)
    }
}
