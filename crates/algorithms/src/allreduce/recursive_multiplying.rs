//! Recursive multiplying: in each step the ranks of a group of k exchange their vectors, everyone with everyone.
//!
//! k is the parameter `radix`; with k = 2 this is recursive_doubling. The algorithm runs on Q = m k^i ranks: the last
//! step joins m <= k groups, as many as P has room for. The P-Q ranks left over fold first, as in recursive_doubling.
//!
//! Source: A. Ruefenacht, M. Bull, S. Booth, "Generalisation of recursive doubling for AllReduce: now with simulation",
//! Parallel Computing 69 (2017).
//! Needs: nothing; operands are combined in rank order, and all ranks combine in the same order.
//! Counts: one step for each factor f of Q. In a step, a rank sends f-1 messages of n bytes at a time. When P is not Q,
//! two more messages are on the critical path.
//!
//! ```text
//! P = 6, radix 3    0 ◀─▶ 1 ◀─▶ 2 ◀─▶ 0   3 ◀─▶ 4 ◀─▶ 5 ◀─▶ 3     step 0: groups of 3
//!                   0 ◀─▶ 3   1 ◀─▶ 4   2 ◀─▶ 5                   step 1: groups of 2
//! ```

use hocket_core::{Call, Parameter, Rank, Side, Span};

use crate::About;
use crate::shapes::radix::{Multiplying, radix};

const RADIX: Parameter = radix(4, "ranks in a group, which exchange their vectors all at once");

pub const ABOUT: About = About::new(
    "steps*(2*ceil(ports/k)-1)*(alpha + n*beta) + others*n*gamma + folds*(2*alpha + 2*n*beta + n*gamma)",
    "active*others + 2*(P-active)",
)
.exact_when(|_| true)
.on_ports(|c| Multiplying::of(c).most_others())
.with_parameters(&[RADIX])
.completing(|c| Multiplying::of(c).counts())
.combining("recursive_multiplying");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (vector, Multiplying { fold, steps }) = (c.result(r), Multiplying::of(c));
    let most = steps.iter().map(|groups| groups.size).max().unwrap_or(1);
    let arrived: Vec<_> = (0..most).map(|_| r.scratch(vector.len)).collect();
    r.copy(c.input(r), vector).await;
    let Some(me) = fold.enter(r, vector, arrived[0]).await else { return };
    for groups in steps {
        let others = groups.others(me).map(|(position, other)| (position, fold.rank_of(other)));
        let sends = r.join_all(others.clone().map(|(_, peer)| r.send(peer, vector)));
        let receives = r.join_all(others.map(|(position, peer)| r.recv(peer, arrived[position])));
        r.join(sends, receives).await;
        combine_in_order(r, &arrived[..groups.size], groups.position(me), vector).await;
    }
    fold.leave(r, vector).await;
}

/// Combines the vectors of a group into the vector of this rank, in the order of the members.
pub async fn combine_in_order(r: &Rank<'_>, arrived: &[Span], own: usize, vector: Span) {
    if own > 0 {
        for next in &arrived[1..own] {
            r.combine(*next, arrived[0], Side::Right).await;
        }
        r.combine(arrived[0], vector, Side::Left).await;
    }
    for next in &arrived[own + 1..] {
        r.combine(*next, vector, Side::Right).await;
    }
}
