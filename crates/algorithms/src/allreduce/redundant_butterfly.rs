//! Redundant butterfly: recursive doubling, then T exchanges that pass on the final result to the first T partners.
//!
//! A rank that noise has delayed gets the result from a rank that noise has not delayed. After step i, the ranks form
//! 2^i independent allreduces, by their number mod 2^i. So a delay has not reached the partners of the first steps.
//! When P is not 2^K, the ranks form groups of two to four neighbours. The first two members of a group are hosts; the
//! other members are guests. All members send their vectors to both hosts. Then the first hosts of the groups form one
//! butterfly, and the second hosts another one. A guest takes the result that arrives first. With hosts = 1, a guest
//! has one host, as in a plain fold.
//!
//! Source: H. Matsumoto, R. Suda, "ジッタの影響を緩和する集団通信アルゴリズム" (see the jitter page of the docs).
//! Needs: nothing of the call. Its parameters need T <= log2 P (T <= 1 for one rank) and one or two hosts.
//! Counts: K = floor(log2 P) exchanges, and T redundant exchanges, each of which occupies its sender for o seconds (0
//! unless the machine sets it). When P is not 2^K, one more message is on the critical path, or two with one host.
//!
//! ```text
//! P = 4, T = 2    0 ◀─▶ 1   2 ◀─▶ 3           step 1: bit 0
//!                 0 ◀─────▶ 2   1 ◀─────▶ 3   step 2: bit 1
//!                 0 ◀─▶ 1   2 ◀─▶ 3           redundant exchange 1: the final result
//!                 0 ◀─────▶ 2   1 ◀─────▶ 3   redundant exchange 2: the final result
//!
//! P = 6, T = 1    [0 1 2]       [3 4 5]       groups: hosts 0, 1 and 3, 4; guests 2 and 5
//!                 0 ◀─▶ 1       3 ◀─▶ 4       step 1: the hosts of a group exchange
//!                 0 ◀─ 2 ─▶ 1   3 ◀─ 5 ─▶ 4           and receive the guest's vector
//!                 0 ◀─▶ 3       1 ◀─▶ 4       step 2: first hosts, second hosts
//!                 0 ◀─▶ 1       3 ◀─▶ 4       redundant exchange 1: the final result
//!                 0 ─▶ 2 ◀─ 1   3 ─▶ 5 ◀─ 4   a guest takes the copy that arrives first
//! ```

use std::ops::Range;

use hocket_core::{Call, Domain, Parameter, Rank, Side, Span, Unit, Winner};

use crate::about::{About, flips};
use crate::automatic::exchanges;
use crate::shapes::redundancy::{EXCHANGES, RedundantGroups, exchange_redundantly};

const HOSTS: Parameter = Parameter {
    name: "hosts",
    unit: Unit::Count,
    default: 2,
    least: 1,
    tries: &[1],
    domain: Domain::Given,
    meaning: "hosts of each rank beyond a power of two: 2 protect it against noise too, 1 is a plain fold",
};

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(floor(log2(P)) + (3-hosts)*(ceil(log2(P))-floor(log2(P))))*(alpha + n*beta) + \
     (floor(log2(P)) + ceil(P/2^(floor(log2(P))-1)) - 2)*n*gamma + min(T, floor(log2(P)))*o",
    "2^floor(log2(P))*(floor(log2(P)) + min(T, floor(log2(P)))) + 2*hosts*(P - 2^floor(log2(P)))",
)
.exact_when(|c| c.parameter(HOSTS.name) == 2 || c.ranks.is_power_of_two())
.on_ports(meeting)
.serving_others()
.refusing(refuses)
.with_parameters(&[EXCHANGES, HOSTS])
.with_automatic(&[exchanges::AUTOMATIC])
.combining("redundant_butterfly")
.symmetric(flips);

/// The most messages that a rank receives at a time: from all other members of its group, and redundant copies.
pub fn meeting(c: &Call) -> usize {
    if c.ranks.is_power_of_two() { 1 } else { 3 + c.parameter(EXCHANGES.name) as usize }
}

pub fn refuses(c: &Call) -> Option<&'static str> {
    if c.parameter(HOSTS.name) > 2 {
        return Some("needs one or two hosts");
    }
    refuses_exchanges(c)
}

/// The precondition of redundant exchanges with the partners of a butterfly.
pub fn refuses_exchanges(c: &Call) -> Option<&'static str> {
    (c.parameter(EXCHANGES.name) > u64::from(c.ranks.ilog2().max(1)))
        .then_some("needs T <= log2 P, the number of exchanges that can be repeated")
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, result) = (c.input(r), c.result(r));
    if r.size() == 1 {
        return r.copy(input, result).await;
    }
    let groups = RedundantGroups::new(r.size());
    let group = groups.of(r.rank());
    let hosts = groups.first(group)..groups.first(group) + 2;
    let serving = if c.parameter(HOSTS.name) == 2 { hosts.clone() } else { hosts.start + 1..hosts.end };
    if !hosts.contains(&r.rank()) {
        return be_guest(r, input, result, &[serving.start, serving.end - 1]).await;
    }
    let class = r.rank() - hosts.start;
    let guests = if serving.contains(&r.rank()) { hosts.end..groups.members(group).end } else { 0..0 };
    let other_host = hosts.start + 1 - class;
    let between = |step: u32| groups.first(group ^ (1 << step)) + class;
    let partners: Vec<_> = std::iter::once(other_host).chain((0..groups.steps()).map(between)).collect();

    // The caller may change the input as soon as the result is complete, while this rank still serves others.
    let work = r.scratch(result.len);
    r.copy(input, work).await;
    let own = async {
        let scratch = r.scratch(result.len);
        meet_group(r, work, other_host, guests.clone(), serving.len() == 2).await;
        for peer in &partners[1..] {
            r.sendrecv(*peer, work, *peer, scratch).await;
            r.reduce(*peer, scratch, work).await;
        }
        work
    };
    let redundant = c.parameter(EXCHANGES.name) as usize;
    exchange_redundantly(r, result.len, &partners[..redundant.min(partners.len())], own, async |span| {
        r.copy(span, result).await;
        r.join_all(guests.clone().map(|guest| r.send(guest, result))).await;
        r.complete();
    })
    .await;
}

/// Combines the vectors of the whole group in rank order. With two hosts, a host combines the guests' vectors after the
/// hosts' exchange, so that it does not wait for messages to the other host. With one host, it combines them before.
async fn meet_group(r: &Rank<'_>, work: Span, other_host: usize, guests: Range<usize>, have_two_hosts: bool) {
    let vectors: Vec<_> = guests.clone().map(|_| r.scratch(work.len)).collect();
    let theirs = r.scratch(work.len);
    let receives = r.join_all(guests.zip(&vectors).map(|(guest, vector)| r.recv(guest, *vector)));
    let exchange = r.sendrecv(other_host, work, other_host, theirs);
    if have_two_hosts {
        r.join(exchange, receives).await;
        r.reduce(other_host, theirs, work).await;
        combine_all(r, &vectors, work).await;
    } else {
        receives.await;
        combine_all(r, &vectors, work).await;
        exchange.await;
        r.reduce(other_host, theirs, work).await;
    }
}

async fn combine_all(r: &Rank<'_>, vectors: &[Span], work: Span) {
    for vector in vectors {
        r.combine(*vector, work, Side::Right).await;
    }
}

/// Sends the vector to the hosts, and takes the result that arrives first.
async fn be_guest(r: &Rank<'_>, input: Span, result: Span, hosts: &[usize; 2]) {
    let [first, second] = *hosts;
    if first == second {
        r.send(first, input).await;
        r.recv(first, result).await;
        return;
    }
    r.join(r.send(first, input), r.send(second, input)).await;
    let copies = [r.scratch(result.len), r.scratch(result.len)];
    let (winner, rest) = r.first(r.recv(first, copies[0]), r.recv(second, copies[1])).await;
    let copy = match winner {
        Winner::A(_) => copies[0],
        Winner::B(_) => copies[1],
    };
    r.copy(copy, result).await;
    r.complete();
    rest.await;
}
