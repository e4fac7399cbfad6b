//! Bruck: a block travels to the right by one power of the radix at a time, as the digits of its distance say.
//!
//! A block has as many ranks to go as its destination is to the right of its source. Each step belongs to one digit of
//! this distance and to one value of the digit, except 0. In that step, a rank sends all blocks with this digit in one
//! message.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE TPDS 8 (1997), section 3: digits to the base of the radix r, for one
//! port.
//! Needs: nothing.
//! Counts: ceil(logr P) digits, each with up to r-1 steps of about P/r blocks. With radix 2, these are ceil(log2 P)
//! steps of P/2 blocks, or of at most P/2 blocks when P is not a power of two.
//!
//! ```text
//! P = 8: the block from rank 1 to rank 6 has 5 ranks to go: 101 to base 2, 12 to base 3
//! radix 2    1 ──bit 0: 1 rank──▶ 2 ──bit 2: 4 ranks──▶ 6
//! radix 3    1 ──last digit 2: 2 ranks──▶ 3 ──first digit 1: 3 ranks──▶ 6
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::about::rotates;
use crate::shapes::packed_blocks;
use crate::shapes::radix::{distances, powers, radix, radix_of};
use crate::{About, Steps};

const RADIX: Parameter =
    radix(2, "base of the digits: with a greater one, there are more steps, and a block travels in fewer of them");

pub const ABOUT: About = About::new("steps*alpha + blocks*n*beta", "P*steps")
    .exact_when(|_| true)
    .with_parameters(&[RADIX])
    .completing(|c| {
        let blocks: usize = steps(c).map(|step| step.blocks(c)).sum();
        vec![("steps", steps(c).count() as u64), ("blocks", blocks as u64)]
    })
    .paced(Steps {
        count: |c| steps(c).count(),
        destination: |c, step, rank| (rank + nth(c, step).distance) % c.ranks,
        elements: |c, step| nth(c, step).blocks(c) * c.count(0),
    })
    .symmetric(rotates);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, result) = (r.rank(), r.size(), c.input(r), c.result(r));
    let travelling = r.scratch(c.total());
    let (outgoing, arrived) = (r.scratch(c.total()), r.scratch(c.total()));
    for way in 0..size {
        r.copy(c.block(input, (rank + way) % size), c.block(travelling, way)).await;
    }
    for (number, step) in steps(c).enumerate() {
        let moving: Vec<_> = step.moving(c).collect();
        for (ordered, packed) in packed_blocks(c, &moving, travelling, outgoing) {
            r.copy(ordered, packed).await;
        }
        let (to, from) = ((rank + step.distance) % size, (rank + size - step.distance) % size);
        let packed = |span| c.blocks(span, 0, moving.len());
        let send = r.send_with(to, packed(outgoing), Steps::options(c, number));
        r.join(send, r.recv(from, packed(arrived))).await;
        for (ordered, packed) in packed_blocks(c, &moving, travelling, arrived) {
            r.copy(packed, ordered).await;
        }
    }
    for way in 0..size {
        r.copy(c.block(travelling, way), c.block(result, (rank + size - way) % size)).await;
    }
}

/// A step: how far blocks travel, and the power of the radix that belongs to the step's digit.
#[derive(Clone, Copy)]
struct Hop {
    distance: usize,
    power: usize,
}

impl Hop {
    /// The distances whose digit has the step's value.
    fn moving(self, c: &Call) -> impl Iterator<Item = usize> {
        let digit = move |way| way / self.power % radix_of(c);
        (0..c.ranks).filter(move |way| digit(*way) == self.distance / self.power)
    }

    /// The number of these distances: `power` of them in each full turn of the digit, and the rest in the last turn.
    fn blocks(self, c: &Call) -> usize {
        let turn = self.power.saturating_mul(radix_of(c));
        c.ranks / turn * self.power + (c.ranks % turn).saturating_sub(self.distance).min(self.power)
    }
}

fn steps(c: &Call) -> impl Iterator<Item = Hop> {
    powers(c).flat_map(|power| distances(c, power).map(move |distance| Hop { distance, power }))
}

fn nth(c: &Call, step: usize) -> Hop {
    steps(c).nth(step).expect("a step of the call")
}
