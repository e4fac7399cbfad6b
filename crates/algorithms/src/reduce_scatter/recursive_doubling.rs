//! Recursive doubling: partners exchange the sums of their groups, except for the blocks that the own group keeps.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005), section 4.3, for operators that do not commute; MPICH, `reduce_scatter_intra_recursive_doubling`; Open
//! MPI, `ompi_coll_base_reduce_scatter_block_intra_recursivedoubling`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: for a power of two of ranks, n (P - 2^k)/P bytes in step k. Otherwise, some ranks have no partner in a step.
//! They receive what the others of their group have received, along a binomial tree.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3           step 0: each sends the three blocks of other ranks
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   step 1: each sends the two blocks of the other pair, then keeps its own block
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::about::{About, has_equal_blocks};
use crate::scan::recursive_doubling::{steps, with_partner};
use crate::shapes::{group_start, pass_on, without_partner};

pub const ABOUT: About = About::new("rounds*alpha + blocks/P*n*(beta + gamma)", "sends")
    .exact_when(|c| c.ranks.is_power_of_two() && has_equal_blocks(c))
    .completing(counts)
    .combining("recursive_doubling");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let (sums, outgoing, arrived) = (r.scratch(c.total()), r.scratch(c.total()), r.scratch(c.total()));
    r.copy(c.input(r), sums).await;
    for bit in steps(size) {
        let partner = rank ^ bit;
        let (own, other) = (group_start(rank, bit), group_start(partner, bit));
        let arrived = Outside::new(c, other, bit, arrived);
        if partner < size {
            let leaving = Outside::new(c, own, bit, outgoing);
            for (blocks, place) in leaving.of(c, sums) {
                r.copy(blocks, place).await;
            }
            r.sendrecv(partner, leaving.whole, partner, arrived.whole).await;
        }
        pass_on(r, rank, bit, |rank| rank, arrived.whole).await;
        if other < size {
            let side = if other < own { Side::Left } else { Side::Right };
            for (blocks, place) in arrived.of(c, sums) {
                r.combine(place, blocks, side).await;
            }
        }
    }
    r.copy(c.block(sums, rank), c.result(r)).await;
}

/// The blocks that a group of ranks does not keep, one after another.
struct Outside {
    before: usize,
    end: usize,
    whole: Span,
    split: usize,
}

impl Outside {
    fn new(c: &Call, start: usize, ranks: usize, room: Span) -> Self {
        let (before, end) = (start.min(c.ranks), (start + ranks).min(c.ranks));
        let split = c.blocks(room, 0, before).len;
        let after = c.blocks(room, end, c.ranks - end).len;
        Self { before, end, whole: room.part(0, split + after), split }
    }

    /// The blocks before the group and behind it: each as it lies in a span of all blocks, and as it lies in `whole`.
    fn of(&self, c: &Call, all: Span) -> [(Span, Span); 2] {
        let (before, after) = (c.blocks(all, 0, self.before), c.blocks(all, self.end, c.ranks - self.end));
        [(before, self.whole.part(0, self.split)), (after, self.whole.part(self.split, self.whole.len - self.split))]
    }
}

/// The values in formulas: all `sends`; the `rounds`, one after another; and the `blocks` of the longest message of
/// each round, added up.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let (mut sends, mut rounds, mut blocks) = (0, 0, 0);
    for bit in steps(c.ranks) {
        let unpaired_ranks = without_partner(bit, c.ranks);
        sends += with_partner(bit, c.ranks) + unpaired_ranks;
        let depth = 1 + if unpaired_ranks > 0 { bit.ilog2() as usize } else { 0 };
        let fewest_kept = if c.ranks.is_multiple_of(bit) { bit } else { c.ranks % bit };
        rounds += depth;
        blocks += depth * (c.ranks - fewest_kept);
    }
    vec![("sends", sends as u64), ("rounds", rounds as u64), ("blocks", blocks as u64)]
}
