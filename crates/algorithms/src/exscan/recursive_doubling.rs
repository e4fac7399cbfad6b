//! Recursive doubling: partners exchange the sums of their groups; the right one adds the left sum to its result.
//!
//! Source: MPICH, `exscan_intra_recursive_doubling`; Open MPI, `ompi_coll_base_exscan_intra_recursivedoubling`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: as scan recursive_doubling, with one combination less: the first sum from the left is the result so far.
//!
//! ```text
//! step 0    0 ◀─▶ 1   2 ◀─▶ 3    4 ◀─▶ 5    a rank has the sum of its pair; 1, 3, 5 have the vector before
//! step 1    0 ◀─────▶ 2   1 ◀─────▶ 3       the sum of four ranks; 2 and 3 have the sum of all ranks before
//! step 2    0 ◀─────────────▶ 4 ..          the sum of eight ranks, as far as there are ranks
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;
use crate::scan::recursive_doubling::{sends, steps};

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta) + max(0, 2*ceil(log2(P)) - 2)*n*gamma", "sends")
    .exact_when(|c| c.ranks.is_power_of_two())
    .completing(sends)
    .combining("recursive_doubling");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, before) = (r.rank(), r.size(), c.input(r), c.result(r));
    let (group, arrived) = (r.scratch(input.len), r.scratch(input.len));
    r.copy(input, group).await;
    let mut is_first = true;
    for bit in steps(size) {
        let partner = rank ^ bit;
        if partner >= size {
            continue;
        }
        let is_result = partner < rank && is_first;
        let place = if is_result { before } else { arrived };
        r.sendrecv(partner, group, partner, place).await;
        let side = if partner < rank { Side::Left } else { Side::Right };
        if 2 * bit < size {
            r.combine(place, group, side).await;
        }
        if partner < rank && !is_result {
            r.combine(arrived, before, Side::Left).await;
        }
        is_first &= partner > rank;
    }
}
