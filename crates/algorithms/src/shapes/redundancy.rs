//! Redundant exchanges: a rank sends on the final result, and takes a copy that arrives before its own result.

use hocket_core::{Domain, Mode, Options, Parameter, Rank, Source, Span, Tag, Unit};

/// The number of redundant exchanges.
pub const EXCHANGES: Parameter = Parameter {
    name: "T",
    unit: Unit::Count,
    default: 1,
    least: 0,
    tries: &[0, 2],
    domain: Domain::Given,
    meaning: "redundant exchanges: how many of the first partners a rank sends the final result",
};

/// Distinguishes redundant copies from the messages of the algorithm itself.
const COPY: Tag = 1;

/// Runs `own`, which returns where it left the final result. Then runs a redundant exchange with each partner in turn:
/// the rank sends the final result as soon as it has it, from its own exchanges or from an earlier copy. Calls `use_result`
/// with the place of the result. Afterwards, a rank whose copy came first still serves the ranks that wait for its own
/// exchanges. The rank reaches mark t when it has the result after t exchanges.
///
/// ```text
/// own exchanges ──▶ result? ──▶ send to partner 1 ──▶ result? ──▶ send to partner 2 ──▶ result? ──▶ then
///                               copy of partner 1 ───────┘        copy of partner 2 ───────┘
/// ```
///
/// Source: the redundant butterfly of H. Matsumoto and R. Suda (see the jitter page of the docs), with
/// t_p = min(t_p, t_q + alpha + n beta + noise) per exchange.
pub fn exchange_redundantly<'a>(
    r: &'a Rank<'a>,
    len: usize,
    partners: &'a [usize],
    own: impl Future<Output = Span> + 'a,
    use_result: impl AsyncFnOnce(Span) + 'a,
) -> impl Future<Output = ()> + 'a {
    // In a box of its own, as the rest lasts longer.
    let own = Box::pin(own);
    async move {
        let results: Vec<_> =
            (0..=partners.len()).map(|exchange| r.earliest(if exchange == 0 { 1 } else { 2 })).collect();
        let own = async { results[0].offer(own.await) };
        let copies = partners.iter().zip(&results[1..]).map(async |(partner, result)| {
            let copy = r.scratch(len);
            r.recv_with(Source::Rank(*partner as u32), copy, COPY).await;
            result.offer(copy);
        });
        let sends = partners.iter().zip(results.windows(2)).enumerate().map(async |(exchange, (partner, results))| {
            let span = results[0].wait().await;
            r.mark(exchange as u16);
            r.send_with(*partner, span, Options { tag: COPY, mode: Mode::Posted, ..Options::default() }).await;
            results[1].offer(span);
        });
        let last = async {
            let span = results[partners.len()].wait().await;
            r.mark(partners.len() as u16);
            use_result(span).await;
        };
        r.join(r.join(own, r.join_in_turn(copies)), r.join(r.join_in_turn(sends), last)).await;
    }
}

/// Ranks in 2^(K - 1) groups of neighbours, where 2^K is the largest power of two up to P. So each group has two to
/// four members. The first two members are the hosts of the group, the others its guests. The first hosts of all groups
/// form one butterfly, the second hosts another one. Drawn for 7 ranks.
///
/// ```text
/// group 0        group 1
/// [0 1 2]        [3 4 5 6]      hosts 0, 1 and 3, 4; guests 2 and 5, 6
/// ```
pub struct RedundantGroups {
    ranks: usize,
    /// The number of groups.
    pub groups: usize,
}

impl RedundantGroups {
    /// The groups of this many ranks, at least two.
    pub fn new(ranks: usize) -> Self {
        Self { ranks, groups: 1 << (ranks.ilog2() - 1) }
    }

    /// Steps of the butterfly between groups.
    pub fn steps(&self) -> u32 {
        self.groups.ilog2()
    }

    /// The first member of a group.
    pub fn first(&self, group: usize) -> usize {
        group * self.ranks / self.groups
    }

    /// The group of a rank.
    pub fn of(&self, rank: usize) -> usize {
        ((rank + 1) * self.groups - 1) / self.ranks
    }

    /// The members of a group.
    pub fn members(&self, group: usize) -> std::ops::Range<usize> {
        self.first(group)..self.first(group + 1)
    }
}
