//! Sizes that ranks tell each other: those of subtrees, of which a rank knows its own block only.

use hocket_core::{Call, Options, Rank, Source, Tag};

use crate::pattern::BinomialTree;

/// Digits of a number that is told, and their base, enough for every number of elements. A number is told by the lengths of messages, since a program sees the length of a
/// message that it has received, but not its data.
const DIGITS: u32 = 5;
const BASE: usize = 1 << 13;

/// Tells a number to another rank: its digits, each as a message of so many elements.
async fn tell(r: &Rank<'_>, to: usize, number: usize) {
    let digit = |place: u32| number / BASE.pow(place) % BASE;
    let digits = r.scratch((0..DIGITS).map(digit).max().unwrap_or(0));
    let send = |place: Tag| r.send_with(to, digits.part(0, digit(place)), Options { tag: place, ..Options::default() });
    r.join_all((0..DIGITS).map(send)).await;
}

/// The number that another rank tells.
async fn hear(r: &Rank<'_>, from: usize) -> usize {
    r.reads_lengths();
    let room = r.scratch(DIGITS as usize * (BASE - 1));
    let receive = |place: Tag| {
        let into = room.part(place as usize * (BASE - 1), BASE - 1);
        async move { r.recv_with(Source::Rank(from as u32), into, place).await.len * BASE.pow(place) }
    };
    r.join_all((0..DIGITS).map(receive)).await.into_iter().sum()
}

/// The elements of the subtrees of a rank's children, the nearest first. Every rank but the root hears them from its children, and tells
/// its parent those of its own subtree; the root knows the sizes of all blocks, and is told nothing.
pub async fn subtrees(r: &Rank<'_>, c: &Call, tree: &BinomialTree) -> Vec<usize> {
    let mut sizes = Vec::new();
    let Some(parent) = tree.parent() else { return sizes };
    for child in tree.children() {
        sizes.push(hear(r, child).await);
    }
    if parent != c.root {
        tell(r, parent, c.count(r.rank()) + sizes.iter().sum::<usize>()).await;
    }
    sizes
}

/// The most messages that a rank sends at a time.
pub fn at_a_time(c: &Call) -> usize {
    if c.ranks > 3 { DIGITS as usize } else { 1 }
}

/// What telling sizes completes a call with: the rounds in which they are told, the bytes that tell one at most, and the messages.
pub fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let levels = c.ranks.next_power_of_two().ilog2();
    let largest = (0..c.ranks).map(|rank| c.count(rank)).max().unwrap_or(0);
    let told = largest.saturating_mul(c.ranks).min(DIGITS as usize * (BASE - 1));
    vec![
        ("rounds", u64::from(levels.saturating_sub(1))),
        ("told", (told * c.element_bytes) as u64),
        ("sizes", u64::from(DIGITS) * (c.ranks as u64 - 1 - u64::from(levels))),
    ]
}
