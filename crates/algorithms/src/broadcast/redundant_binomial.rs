//! Redundant binomial tree: a binomial broadcast, then T exchanges across its highest branches.
//!
//! A rank whose branch noise has delayed gets the message from a rank of another branch. In exchange j, the partner's
//! distance from the root differs in bit K - j, where K = ceil(log2 P); a rank without such a partner has no exchange.
//! Bit K - 1 separates the ranks that the root's first message reaches from the other ranks.
//!
//! Source: the redundant exchanges of H. Matsumoto, R. Suda, "ジッタの影響を緩和する集団通信アルゴリズム" (see the jitter page of the docs),
//! on the binomial tree.
//! Needs: nothing of the call. Its parameter needs T <= 2 and T <= log2 P (T <= 1 for one rank).
//! Counts: K rounds, and T redundant exchanges, each of which occupies its sender for o seconds.
//!
//! ```text
//! P = 4, T = 1    0 ───▶ 2              round 1
//!                 0 ─▶ 1   2 ─▶ 3       round 2
//!                 0 ◀──▶ 2   1 ◀──▶ 3   redundant exchange 1: bit 1
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::allreduce::redundant_butterfly::refuses_exchanges;
use crate::shapes::BinomialTree;
use crate::shapes::redundancy::{EXCHANGES, exchange_redundantly};

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*ceil(log2(P))*(alpha + n*beta) + min(T, ceil(log2(P)))*o",
    "P - 1 + min(T, 1)*2*floor(P - 2^(ceil(log2(P))-1)) + \
         max(T - 1, 0)*2*(2^(ceil(log2(P))-2) + max(0, P - 3*2^(ceil(log2(P))-2)))",
)
.exact_when(|c| c.ranks.is_power_of_two())
.on_ports(|c| if c.ranks.is_power_of_two() { 1 } else { 2 + c.parameter(EXCHANGES.name) as usize })
.serving_others()
.refusing(refuses)
.with_parameters(&[EXCHANGES]);

fn refuses(c: &Call) -> Option<&'static str> {
    if c.parameter(EXCHANGES.name) > 2 {
        return Some("needs T <= 2: further exchanges stay within a branch");
    }
    refuses_exchanges(c)
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let tree = BinomialTree::new(r.rank(), c.root, r.size());
    let result = c.result(r);
    let rounds = r.size().next_power_of_two().ilog2();
    let redundant = rounds.min(c.parameter(EXCHANGES.name) as u32);
    let distances = (1..=redundant).map(|exchange| tree.relative() ^ (1 << (rounds - exchange)));
    let partners: Vec<_> = distances.filter(|v| *v < r.size()).map(|v| tree.rank_at(v)).collect();

    // The caller may change the result as soon as it is complete, while this rank still serves others.
    let message = r.scratch(result.len);
    if tree.parent().is_none() {
        r.copy(result, message).await;
    }
    let own = async {
        if let Some(parent) = tree.parent() {
            r.recv(parent, message).await;
        }
        for child in tree.children().rev() {
            r.send(child, message).await;
        }
        message
    };
    exchange_redundantly(r, result.len, &partners, own, async |span| {
        if tree.parent().is_some() {
            r.copy(span, result).await;
        }
        r.complete();
    })
    .await;
}
