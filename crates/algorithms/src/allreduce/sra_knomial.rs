//! SRA k-nomial: reduce_scatter ("scatter-reduce") in groups of k, then allgather by the same exchanges backwards.
//!
//! k is the parameter `radix`; with k = 2 this is rabenseifner. The algorithm runs on Q = m k^i ranks: the last step
//! joins m <= k groups, as many as P has room for. The P-Q ranks left over fold first, as in recursive_doubling.
//!
//! Source: UCC, `coll_patterns/sra_knomial.h` and `tl/ucp/allreduce/allreduce_sra_knomial.c`, its default for long
//! vectors; R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036 (k = 2).
//! Needs: nothing; operands are combined in rank order, and one rank alone combines each chunk.
//! Counts: two steps for each factor f of Q. In a step, a rank sends f-1 messages at a time, each of one part in f of
//! the chunks on which its group works. When P is not Q, two more messages of n bytes are on the critical path; the
//! formula is then an upper bound, as it rounds chunks of n/Q bytes up to multiples of n/P.
//!
//! ```text
//! P = 6, radix 3    0 ◀─▶ 1 ◀─▶ 2 ◀─▶ 0   3 ◀─▶ 4 ◀─▶ 5 ◀─▶ 3     thirds: 0 and 3 keep the first one
//!                   0 ◀─▶ 3   1 ◀─▶ 4   2 ◀─▶ 5                   halves of these: 0 keeps chunk 0, 3 chunk 1
//!                   the same exchanges backwards give every rank all chunks
//! ```

use std::ops::Range;

use hocket_core::{Call, Parameter, Rank};

use super::recursive_multiplying::combine_in_order;
use crate::About;
use crate::shapes::radix::{Multiplying, RadixGroups, radix};

const RADIX: Parameter = radix(4, "ranks in a group, which exchange parts of their vectors all at once");

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k)-1)*2*(steps*alpha + chunks*ceil(P/active)/P*n*beta) + ceil(P/active)*(active-1)/P*n*gamma \
     + folds*(2*alpha + 2*n*beta + n*gamma)",
    "2*active*others + 2*(P-active)",
)
.exact_when(|c| Multiplying::of(c).fold.active() == c.ranks && c.count(0).is_multiple_of(c.ranks))
.on_ports(|c| Multiplying::of(c).most_others())
.with_parameters(&[RADIX])
.completing(counts)
.combining("recursive_multiplying");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (vector, Multiplying { fold, steps }) = (c.result(r), Multiplying::of(c));
    r.copy(c.input(r), vector).await;
    let Some(me) = fold.enter(r, vector, r.scratch(vector.len)).await else { return };

    let part = |step: &Step, position: usize| {
        let Range { start, end } = step.part(position);
        vector.chunks(start, end - start, fold.active())
    };
    let parts = parts(&steps, me, fold.active());
    let longest = parts.first().map_or(0, |step| part(step, step.groups.position(me)).len);
    let most = steps.iter().map(|groups| groups.size).max().unwrap_or(1);
    let arrived: Vec<_> = (0..most).map(|_| r.scratch(longest)).collect();

    for step in &parts {
        let own = part(step, step.groups.position(me));
        let arrived: Vec<_> = arrived[..step.groups.size].iter().map(|span| span.part(0, own.len)).collect();
        let others = step.groups.others(me).map(|(position, other)| (position, fold.rank_of(other)));
        let exchange = |(position, peer)| r.sendrecv(peer, part(step, position), peer, arrived[position]);
        r.join_all(others.map(exchange)).await;
        combine_in_order(r, &arrived, step.groups.position(me), own).await;
    }
    for step in parts.iter().rev() {
        let own = part(step, step.groups.position(me));
        let others = step.groups.others(me).map(|(position, other)| (position, fold.rank_of(other)));
        r.join_all(others.map(|(position, peer)| r.sendrecv(peer, own, peer, part(step, position)))).await;
    }
    fold.leave(r, vector).await;
}

/// A step of the reduce_scatter: the groups, and the chunks on which the group of this rank works.
struct Step {
    groups: RadixGroups,
    chunks: Range<usize>,
}

impl Step {
    /// The chunks that the member at this position keeps.
    fn part(&self, position: usize) -> Range<usize> {
        let (start, len) = (self.chunks.start, self.chunks.len() / self.groups.size);
        start + position * len..start + (position + 1) * len
    }
}

/// The steps of virtual rank `me` of `active`.
fn parts(steps: &[RadixGroups], me: usize, active: usize) -> Vec<Step> {
    let keep = |chunks: &mut Range<usize>, groups: &RadixGroups| {
        let step = Step { groups: *groups, chunks: chunks.clone() };
        *chunks = step.part(groups.position(me));
        Some(step)
    };
    steps.iter().scan(0..active, keep).collect()
}

/// The values in formulas: the counts of the steps, and the `chunks` of a message of each step, added up.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let multiplying = Multiplying::of(c);
    let steps = parts(&multiplying.steps, 0, multiplying.fold.active());
    let chunks: usize = steps.iter().map(|step| step.part(0).len()).sum();
    multiplying.counts().into_iter().chain([("chunks", chunks as u64)]).collect()
}
