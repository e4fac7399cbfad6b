//! Sizes of subtrees, which ranks tell each other: a rank knows only the size of its own block.

use hocket_core::{Call, Counts, Rank};

use crate::shapes::BinomialTree;

/// The base of the digits in which ranks tell a number, last digit first. The length of a message is one digit, as a
/// program sees the length of a received message, but not its data. If more digits follow, the message is longer by the
/// base.
pub const BASE: usize = 1 << 11;

/// The digits of a number: the length of each message.
pub fn digits(number: usize) -> impl Iterator<Item = usize> {
    let mut left = Some(number);
    std::iter::from_fn(move || {
        let number = left?;
        left = (number >= BASE).then_some(number / BASE);
        Some(number % BASE + if left.is_some() { BASE } else { 0 })
    })
}

async fn tell(r: &Rank<'_>, to: usize, number: usize) {
    let room = r.scratch(digits(number).max().unwrap_or(0));
    for digit in digits(number) {
        r.send(to, room.part(0, digit)).await;
    }
}

/// The number that another rank tells.
async fn hear(r: &Rank<'_>, from: usize) -> usize {
    r.reads_lengths();
    let room = r.scratch(2 * BASE - 1);
    let (mut number, mut place) = (0, 1);
    loop {
        let digit = r.recv(from, room).await.len;
        number += digit % BASE * place;
        place *= BASE;
        if digit < BASE {
            return number;
        }
    }
}

/// The number of elements in the subtree of each of a rank's children, the nearest first. A rank hears them from its
/// children, and tells its parent the number of its own subtree. The root knows the sizes of all blocks, so its
/// children tell it nothing.
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

/// The names in formulas for the sending of sizes: the `rounds`, the most `digits` of a size, the most bytes of these
/// digits (`digit_bytes`), and the messages of all `sizes`. None for a rank that knows only its own block.
pub fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    if matches!(c.counts, Counts::Own(_)) {
        return Vec::new();
    }
    let digit_counts: Vec<usize> = inner_subtree_sizes(c).map(|size| digits(size).count()).collect();
    let (most, largest) = (digit_counts.iter().max().copied().unwrap_or(0), c.total().min(2 * BASE - 1));
    let rounds = c.ranks.next_power_of_two().ilog2().saturating_sub(1) as usize;
    let values = [
        ("rounds", rounds),
        ("digits", most),
        ("digit_bytes", most * largest * c.element_bytes),
        ("sizes", digit_counts.into_iter().sum()),
    ];
    values.map(|(name, value)| (name, value as u64)).into()
}

/// The sizes of the subtrees of all ranks but the root and its children.
fn inner_subtree_sizes(c: &Call) -> impl Iterator<Item = usize> {
    let mut ends = Vec::with_capacity(c.ranks + 1);
    ends.push(0);
    for position in 0..c.ranks {
        ends.push(ends[position] + c.count((c.root + position) % c.ranks));
    }
    let inner = (1..c.ranks).filter(|position| !position.is_power_of_two());
    inner.map(move |first| ends[(first + (1 << first.trailing_zeros())).min(ends.len() - 1)] - ends[first])
}
