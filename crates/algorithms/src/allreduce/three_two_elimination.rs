//! 3-2 elimination: Rabenseifner's algorithm, but the last of an odd number of ranks gives its halves to two others.
//!
//! Source: R. Rabenseifner, J. L. Träff, "More efficient reduction algorithms for non-power-of-two number of processors
//! in message-passing parallel systems", EuroPVM/MPI 2004, LNCS 3241.
//! Needs: nothing; operands are combined in rank order, and one rank alone combines each chunk.
//! Counts: K = floor(log2 P) steps of n/2, n/4, .. n/2^K bytes, and the same backwards. A step with an odd number of
//! ranks takes two messages of its size; rabenseifner takes two messages of n bytes instead. The formula rounds chunks
//! of n/2^K bytes up to multiples of n/P.
//!
//! ```text
//! P = 7 halves    0 ◀─▶ 1   2 ◀─▶ 3   4 ─▶ 5 ─▶ 4   6 ─▶ 4, 5    0, 2, 4 keep the lower half, 1, 3, 5 the upper one
//!       quarters  0 ─▶ 2 ─▶ 0   4 ─▶ 0, 2                       three ranks again: 4 is done
//!                 1 ─▶ 3 ─▶ 1   5 ─▶ 1, 3                       and 5 is done
//!       and back: 0 and 2 give 4 its half, 1 and 3 give 5 its half; 4 and 5 give 6 both halves
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::about::{About, flips_evenly};

pub const ABOUT: About =
    About::new("rounds*2*alpha + ceil(P/2^floor(log2(P)))*halves/P*n*(2*beta + gamma)", "messages")
        .exact_when(|c| c.ranks.is_power_of_two() && c.count(0).is_multiple_of(c.ranks))
        .completing(counts)
        .combining("three_two_elimination")
        .symmetric(flips_evenly);

/// Ranks that divide a part of the vector: `first` keeps the lower half, `second` the upper half. If the number of
/// ranks is odd, one group has a `third` rank, which keeps nothing.
struct Group {
    first: usize,
    second: usize,
    third: Option<usize>,
    lower: Span,
    upper: Span,
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, result) = (r.rank(), c.result(r));
    r.copy(c.input(r), result).await;
    let steps = r.size().ilog2();
    let scratch = r.scratch(result.chunks(0, (1 << steps) / 2, 1 << steps).len);
    let more = r.scratch(scratch.len);

    let (mut first_chunk, mut place, mut groups) = (0, rank, Vec::new());
    for step in 0..steps {
        let group = group(r.size(), result, rank, step, place, first_chunk);
        halve(r, &group, scratch, more).await;
        let is_second = rank == group.second;
        let is_third = group.third == Some(rank);
        first_chunk += usize::from(is_second) << (steps - step - 1);
        place = (place / 2).min((r.size() >> step) / 2 - 1);
        groups.push(group);
        if is_third {
            break;
        }
    }
    for group in groups.iter().rev() {
        double(r, group).await;
    }
}

/// The group of `rank` in `step`. `place`: its place among the ranks that work on the chunks from `first_chunk` on.
///
/// These ranks are 2^step apart. The ranks at places 2 i and 2 i + 1 get place i of the two halves.
fn group(ranks: usize, result: Span, rank: usize, step: u32, place: usize, first_chunk: usize) -> Group {
    let (steps, active) = (ranks.ilog2(), ranks >> step);
    let pair = (place / 2).min(active / 2 - 1);
    let rank_at = |other: usize| rank + (other << step) - (place << step);
    let half = 1 << (steps - step - 1);
    let chunks = |first| result.chunks(first, half, 1 << steps);
    Group {
        first: rank_at(2 * pair),
        second: rank_at(2 * pair + 1),
        third: (!active.is_multiple_of(2) && pair == active / 2 - 1).then(|| rank_at(2 * pair + 2)),
        lower: chunks(first_chunk),
        upper: chunks(first_chunk + half),
    }
}

/// The first rank gets the sum of the lower halves, the second rank the sum of the upper halves.
async fn halve(r: &Rank<'_>, group: &Group, scratch: Span, more: Span) {
    let Group { first, second, third, lower, upper } = *group;
    let room = |half: Span| (scratch.part(0, half.len), more.part(0, half.len));
    if r.rank() == first {
        let (of_second, of_third) = room(lower);
        let Some(third) = third else {
            r.sendrecv(second, upper, second, of_second).await;
            r.combine(of_second, lower, Side::Right).await;
            return;
        };
        r.sendrecv(second, upper, third, of_third).await;
        r.recv(second, of_second).await;
        r.combine(of_second, lower, Side::Right).await;
        r.combine(of_third, lower, Side::Right).await;
    } else if r.rank() == second {
        let (of_first, of_third) = room(upper);
        let Some(third) = third else {
            r.sendrecv(first, lower, first, of_first).await;
            r.combine(of_first, upper, Side::Left).await;
            return;
        };
        r.recv(first, of_first).await;
        r.sendrecv(first, lower, third, of_third).await;
        r.combine(of_first, upper, Side::Left).await;
        r.combine(of_third, upper, Side::Right).await;
    } else {
        r.send(first, lower).await;
        r.send(second, upper).await;
    }
}

/// All ranks of the group get both halves.
async fn double(r: &Rank<'_>, group: &Group) {
    let Group { first, second, third, lower, upper } = *group;
    match (r.rank() == first, r.rank() == second, third) {
        (true, _, None) => {
            r.sendrecv(second, lower, second, upper).await;
        }
        (_, true, None) => {
            r.sendrecv(first, upper, first, lower).await;
        }
        (true, _, Some(third)) => {
            r.sendrecv(third, lower, second, upper).await;
            r.send(second, lower).await;
        }
        (_, true, Some(third)) => {
            r.send(first, upper).await;
            r.sendrecv(third, upper, first, lower).await;
        }
        _ => {
            r.recv(first, lower).await;
            r.recv(second, upper).await;
        }
    }
}

/// The values in formulas. `rounds`: messages one after another, each way; `halves`: their size in chunks; and all
/// `messages`.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let steps = c.ranks.ilog2();
    let odd = |step: u32| c.ranks >> step & 1;
    let rounds: usize = (0..steps).map(|step| 1 + odd(step)).sum();
    let halves: usize = (0..steps).map(|step| (1 + odd(step)) << (steps - step - 1)).sum();
    let messages: usize = (0..steps).map(|step| ((c.ranks >> step) + odd(step)) << (step + 1)).sum();
    vec![("rounds", rounds as u64), ("halves", halves as u64), ("messages", messages as u64)]
}
