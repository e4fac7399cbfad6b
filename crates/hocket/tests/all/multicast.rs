//! Multicasts with groups that overlap, all in flight, in the verify world: each member gets what it was sent, in order, and
//! nobody waits for ever. And what becomes of members that serve one at a time.

use hocket_algorithms::find;
use hocket_algorithms::multicast::{Multicast, Multicasts, Way};
use hocket_algorithms::shapes::BinomialTree;
use hocket_core::{Call, Collective, Mode, Options, Program, Rank, Source, Span, Subgroup, Tag};
use hocket_verify::{Kind, Limits, Verdict, verify};

const ALGORITHMS: [&str; 6] =
    ["binomial", "scatter_ring_allgather", "scatter_doubling_allgather", "chain", "double_tree", "linear"];

/// A multicast, unless the algorithm refuses the group.
fn multicast(algorithm: &str, members: &[usize], bytes: usize) -> Option<Multicast> {
    let algorithm = find(Collective::Broadcast, algorithm).unwrap();
    let has_segments = algorithm.about.parameter("segment").is_some();
    let parameters: Vec<_> = has_segments.then(|| ("segment".to_owned(), 2)).into_iter().collect();
    let call = algorithm.accept(&Call::new(Collective::Broadcast, members.len(), bytes), &parameters).ok()?;
    Some(Multicast { members: members.to_vec(), call, algorithm })
}

/// What `inner` delivers, and then directly from the root what it does not: together, a broadcast.
struct Filled<'m, P> {
    all: &'m [Multicast],
    inner: P,
}

impl<P: Program> Program for Filled<'_, P> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        self.inner.run(r, c).await;
        let mut offset = 0;
        for (number, multicast) in self.all.iter().enumerate() {
            let data = c.result(r).part(offset, multicast.call.count(0));
            offset += data.len;
            let tag = 1_000_000 + number as Tag;
            for rank in (0..r.size()).filter(|rank| !multicast.members.contains(rank) && *rank != c.root) {
                if r.rank() == c.root {
                    r.send_with(rank, data, Options { tag, ..Options::default() }).await;
                } else if r.rank() == rank {
                    r.recv_with(Source::Rank(c.root as u32), data, tag).await;
                }
            }
        }
    }
}

fn judge(ranks: usize, root: usize, all: &[Multicast], inner: impl Program) -> Verdict {
    let count = all.iter().map(|multicast| multicast.call.count(0)).sum();
    let call = Call { root, ..Call::new(Collective::Broadcast, ranks, count) };
    let limits = Limits { most_exhaustive: 100, samples: 10, ..Limits::default() };
    verify(&Filled { all, inner }, None, &call, limits, &|| false).unwrap()
}

/// Groups of six ranks that overlap in both directions, and some that are the same.
const GROUPS: [&[usize]; 7] =
    [&[0, 1, 2, 3], &[2, 3, 4, 5], &[3, 5], &[1, 2, 4, 5], &[3], &[0, 1, 2, 3, 4, 5], &[0, 1]];

#[test]
fn overlapping_multicasts_in_flight_are_right_and_free_of_deadlock() {
    for algorithm in ALGORITHMS {
        for bytes in [0, 1, 3, 4, 7] {
            for inline_bytes in [0, 3] {
                for root in [0, 3, 5] {
                    let all: Vec<_> = GROUPS.iter().filter_map(|group| multicast(algorithm, group, bytes)).collect();
                    for way in [Way::Multicast, Way::Acknowledged] {
                        let verdict = judge(6, root, &all, Multicasts { all: &all, way, inline_bytes });
                        let at = format!("{algorithm}, {bytes} B, master {root}, {way:?}");
                        assert_eq!(verdict.counterexample, None, "{at}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_communicator_that_is_there_does_what_a_multicast_does() {
    for algorithm in ALGORITHMS {
        let all: Vec<_> = GROUPS[5..].iter().filter_map(|group| multicast(algorithm, group, 5)).collect();
        let verdict = judge(6, 0, &all, Multicasts { all: &all, way: Way::Static, inline_bytes: 0 });
        assert_eq!(verdict.counterexample, None, "{algorithm}");
    }
}

/// Members that serve one multicast at a time, in the order in which they are told. The length of a header says of which.
struct OneAtATime<'m>(&'m [Multicast]);

const HEADER: Tag = 999;

impl Program for OneAtATime<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let bytes = self.0[0].call.count(0);
        let data = |number: usize| c.result(r).part(number * bytes, bytes);
        let posted = |tag| Options { tag, mode: Mode::Posted, ..Options::default() };
        let headers = r.scratch(self.0.len());
        let tell = async |rank, number: usize| r.send_with(rank, headers.part(0, number + 1), posted(HEADER)).await;
        if r.rank() == c.root {
            for (number, multicast) in self.0.iter().enumerate() {
                tell(multicast.members[0], number).await;
                r.send_with(multicast.members[0], data(number), posted(64 * number as Tag + 63)).await;
            }
        }
        for _ in self.0.iter().filter(|multicast| multicast.members.contains(&r.rank())) {
            let number = r.recv_with(Source::Any, r.scratch(self.0.len()), HEADER).await.len - 1;
            let Multicast { members, algorithm, call } = &self.0[number];
            let tag = 64 * number as Tag;
            if members[0] == r.rank() {
                r.recv_with(Source::Rank(c.root as u32), data(number), tag + 63).await;
            }
            let place = members.iter().position(|member| *member == r.rank()).expect("told");
            for child in BinomialTree::new(place, 0, members.len()).children().rev() {
                tell(members[child], number).await;
            }
            let group = Subgroup::new(r, members, (Span::EMPTY, data(number)), tag);
            algorithm.program().steps(&group.rank(), call).await;
        }
    }
}

#[test]
fn one_at_a_time_waits_for_ever_where_messages_go_both_ways() {
    // Ranks 2 and 3 are told of both by others, of one in this order, of one in that.
    let groups = [[1, 2, 3, 4], [0, 2, 3, 5]];
    for (algorithm, ends) in
        [("binomial", true), ("scatter_ring_allgather", false), ("scatter_doubling_allgather", false), ("chain", true)]
    {
        let all: Vec<_> = groups.iter().filter_map(|group| multicast(algorithm, group, 8)).collect();
        let found = judge(7, 6, &all, OneAtATime(&all)).counterexample.map(|counterexample| counterexample.kind);
        assert_eq!(found, (!ends).then_some(Kind::Deadlock), "{algorithm}");
        let inner = Multicasts { all: &all, way: Way::Acknowledged, inline_bytes: 0 };
        assert_eq!(judge(7, 6, &all, inner).counterexample, None, "{algorithm}, all in flight");
    }
}
