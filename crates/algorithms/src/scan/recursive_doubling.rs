//! Recursive doubling: partners exchange the sums of their groups; the right one adds the left sum to its result.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005); MPICH, `scan_intra_recursive_doubling`; Open MPI, `ompi_coll_base_scan_intra_recursivedoubling`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: ceil(log2 P) exchanges of n bytes between ranks that differ in one bit; a rank without such a partner has no
//! exchange. A rank whose partner is on its left combines twice in a step, except in the last step: no rank needs the
//! last group's sum.
//!
//! ```text
//! step 0    0 ◀─▶ 1   2 ◀─▶ 3    4 ◀─▶ 5    a rank has the sum of its pair, and of the pair up to itself
//! step 1    0 ◀─────▶ 2   1 ◀─────▶ 3       the same sums of four ranks
//! step 2    0 ◀─────────────▶ 4 ..          the same sums of eight ranks, as far as there are ranks
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta) + max(0, 2*ceil(log2(P)) - 1)*n*gamma", "sends")
    .exact_when(|c| c.ranks.is_power_of_two())
    .completing(sends)
    .combining("recursive_doubling");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let (group, arrived) = (r.scratch(result.len), r.scratch(result.len));
    r.copy(c.input(r), result).await;
    r.copy(result, group).await;
    for bit in steps(size) {
        let partner = rank ^ bit;
        if partner >= size {
            continue;
        }
        r.sendrecv(partner, group, partner, arrived).await;
        let side = if partner < rank { Side::Left } else { Side::Right };
        if 2 * bit < size {
            r.combine(arrived, group, side).await;
        }
        if partner < rank {
            r.combine(arrived, result, Side::Left).await;
        }
    }
}

/// The bit in which partners differ, for each step.
pub fn steps(size: usize) -> impl Iterator<Item = usize> {
    (0..size.next_power_of_two().ilog2()).map(|step| 1 << step)
}

/// How many ranks have a partner in a step.
pub fn with_partner(bit: usize, size: usize) -> usize {
    (0..size).filter(|rank| rank ^ bit < size).count()
}

/// The values in the formula of messages.
pub fn sends(c: &Call) -> Vec<(&'static str, u64)> {
    let sends = steps(c.ranks).map(|bit| with_partner(bit, c.ranks)).sum::<usize>();
    vec![("sends", sends as u64)]
}
