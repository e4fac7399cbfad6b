//! ReTri: in phase i, blocks travel 3^i ranks to the right or to the left, as digit i of their distance says.
//!
//! The distance of a block is the number of ranks from its source to its destination, to the right (+) or to the left
//! (-), whichever is shorter. Its digits are balanced ternary: each digit is +1, 0 or -1 and counts a power of three,
//! as in 2 = 3 - 1. In phase i, a rank sends the blocks with digit +1 to the right in one message, and the blocks with
//! digit -1 to the left in another one. On an optical network, the rank opens circuits for as many phases as its ports
//! allow. With four or more ports, too few for all phases, and overlap = on, half of the ports set up the next phases
//! while the other half carries the current ones.
//!
//! Source: A. Juerss, S. Schmid, "Revisiting Bruck: Phase-Efficient All-to-All Communication in Reconfigurable
//! Networks", arXiv:2605.26930 (2026): the messages, and circuits to both neighbours of a phase that change between
//! phases. C. Wu et al., "SWOT: Enabling Reconfiguration-Communication Overlap for Collective Communication in Optical
//! Networks", arXiv:2510.19322 (2025): half of the ports set up circuits while the other half carries messages. Both
//! papers also decide when to keep the circuits; this program always changes them.
//! Needs: nothing.
//! Counts: ceil(log3 P) phases. In a phase, a rank sends about 2 P/3 blocks, half of them each way.
//!
//! ```text
//! P = 6, blocks of rank 0    phase 0: 1 rank    phase 1: 3 ranks
//! to 1: distance +1          0 ──▶ 1
//! to 2: distance +3 - 1      0 ──▶ 5            5 ──▶ 2
//! to 3: distance +3                             0 ──▶ 3
//! to 4: distance -3 + 1      0 ──▶ 1            1 ──▶ 4
//! to 5: distance -1          0 ──▶ 5
//! so in phase 0, rank 0 sends the blocks for 1 and 4 to rank 1, and the blocks for 2 and 5 to rank 5
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Span, Tag, Unit};

use crate::about::{About, rotates};
use crate::shapes::packed_blocks;
use crate::shapes::rounds::{Rounds, change, distinct, release};

/// Whether ports set up circuits while other ports carry messages.
pub const OVERLAP: Parameter = Parameter {
    name: "overlap",
    unit: Unit::Choice(&["off", "on"]),
    default: ON,
    least: 0,
    tries: &[OFF],
    domain: Domain::Word,
    meaning: "on: with four or more ports, half set up circuits while half carry, if not all phases fit; off: never",
};

const OFF: u64 = 0;
const ON: u64 = 1;

pub const ABOUT: About = About::new("ceil(ports/k)*(phases*alpha + blocks*n*beta)", "P*sends")
    .exact_when(|_| true)
    .on_ports(|_| 2)
    .with_parameters(&[OVERLAP])
    .completing(counts)
    .symmetric(rotates);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, result) = (r.rank(), r.size(), c.input(r), c.result(r));
    let blocks = Blocks { travelling: r.scratch(c.total()), packed: [(); 4].map(|()| r.scratch(c.total())) };
    for way in 0..size {
        r.copy(c.block(input, (rank + way) % size), c.block(blocks.travelling, way)).await;
    }
    let (phases, ports) = (phases(size), r.circuits().unwrap_or(0));
    if c.parameter(OVERLAP.name) == OFF || ports < 4 || ports >= 2 * phases {
        let mut rounds = Rounds::new(r, 2, phases, |phase| neighbours(r, phase));
        for phase in 0..phases {
            rounds.enter(phase).await;
            blocks.travel(r, c, phase).await;
        }
        rounds.end().await;
    } else {
        overlap_set_up(r, c, &blocks, phases, ports / 4).await;
    }
    for way in 0..size {
        r.copy(c.block(blocks.travelling, way), c.block(result, (rank + size - way) % size)).await;
    }
}

/// All phases, in groups of `group` phases. The next group's circuits are set up while one group's circuits carry
/// messages.
async fn overlap_set_up(r: &Rank<'_>, c: &Call, blocks: &Blocks, phases: usize, group: usize) {
    let peers = |first: usize| distinct((first..phases.min(first + group)).flat_map(|phase| neighbours(r, phase)));
    let mut open = peers(0);
    change(r, &[], &open).await;
    for first in (0..phases).step_by(group) {
        let next = distinct([peers(first), peers(first + group)].concat());
        let messages = async {
            for phase in first..phases.min(first + group) {
                blocks.travel(r, c, phase).await;
            }
        };
        r.join(messages, change(r, &open, &next)).await;
        open = next;
    }
    release(r, &open).await;
}

/// The blocks at a rank, by the distance they have to go; and room to pack the blocks of four messages: to the right,
/// to the left, and the two that arrive.
struct Blocks {
    travelling: Span,
    packed: [Span; 4],
}

impl Blocks {
    async fn travel(&self, r: &Rank<'_>, c: &Call, phase: usize) {
        let [right, left] = neighbours(r, phase);
        let rightwards = self.move_those_of(r, c, (right, left), (phase, 1));
        let leftwards = self.move_those_of(r, c, (left, right), (phase, -1));
        r.join(rightwards, leftwards).await;
    }

    /// Sends the blocks with this digit to one rank, and stores the blocks that come from the other rank.
    async fn move_those_of(&self, r: &Rank<'_>, c: &Call, (to, from): (usize, usize), digit: (usize, i64)) {
        let moving: Vec<_> = moving(c.ranks, digit).collect();
        if moving.is_empty() {
            return;
        }
        let side = usize::from(digit.1 < 0);
        let (outgoing, arrived) = (self.packed[side], self.packed[2 + side]);
        for (ordered, packed) in packed_blocks(c, &moving, self.travelling, outgoing) {
            r.copy(ordered, packed).await;
        }
        let packed = |span| c.blocks(span, 0, moving.len());
        r.sendrecv_with((to, packed(outgoing)), (from, packed(arrived)), side as Tag).await;
        for (ordered, packed) in packed_blocks(c, &moving, self.travelling, arrived) {
            r.copy(packed, ordered).await;
        }
    }
}

/// ceil(log3 P)
fn phases(ranks: usize) -> usize {
    (0..).find(|phases| 3_usize.saturating_pow(*phases) >= ranks).unwrap_or(0) as usize
}

/// The ranks 3^phase to the right and to the left.
fn neighbours(r: &Rank<'_>, phase: usize) -> [usize; 2] {
    let distance = 3_usize.pow(phase as u32) % r.size();
    [(r.rank() + distance) % r.size(), (r.rank() + r.size() - distance) % r.size()]
}

/// The distances that have this digit in this place. A block goes the shorter way round; of two equal ways, to the
/// right.
fn moving(ranks: usize, (place, digit): (usize, i64)) -> impl Iterator<Item = usize> {
    (0..ranks).filter(move |way| {
        let way = *way as i64;
        let signed = if 2 * way > ranks as i64 { way - ranks as i64 } else { way };
        digits(signed).nth(place) == Some(digit)
    })
}

/// Balanced ternary digits of a number, the last one first.
fn digits(number: i64) -> impl Iterator<Item = i64> {
    std::iter::successors(Some(number), |left| Some((left - digit(*left)) / 3)).map(digit)
}

/// The last balanced ternary digit.
fn digit(number: i64) -> i64 {
    (number + 1).rem_euclid(3) - 1
}

fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let messages_of_phase = |phase: usize| [1, -1].map(|digit| moving(c.ranks, (phase, digit)).count() as u64);
    let (mut blocks, mut sends) = (0, 0);
    for [right, left] in (0..phases(c.ranks)).map(messages_of_phase) {
        blocks += right.max(left);
        sends += u64::from(right > 0) + u64::from(left > 0);
    }
    vec![("phases", phases(c.ranks) as u64), ("blocks", blocks), ("sends", sends)]
}
