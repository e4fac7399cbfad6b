//! A rank that forgets one of its reductions.

use std::cell::Cell;
use std::future::Future;

use hocket_core::{Call, Options, Program, Rank, Received, Side, Source, Span, Tag};
use hocket_verify::{Limits, verify};

pub struct LossyRank<'a, R> {
    rank: &'a R,
    lost: Option<usize>,
    reductions: Cell<usize>,
}

impl<'a, R: Rank> LossyRank<'a, R> {
    pub fn new(rank: &'a R, lost: Option<usize>) -> Self {
        Self { rank, lost, reductions: Cell::new(0) }
    }
}

impl<R: Rank> Rank for LossyRank<'_, R> {
    type Moment = R::Moment;

    fn rank(&self) -> usize {
        self.rank.rank()
    }
    fn size(&self) -> usize {
        self.rank.size()
    }
    fn scratch(&self, len: usize) -> Span {
        self.rank.scratch(len)
    }
    fn send_with(&self, to: usize, data: Span, options: Options) -> impl Future<Output = ()> {
        self.rank.send_with(to, data, options)
    }
    fn recv_with(&self, from: Source, into: Span, tag: Tag) -> impl Future<Output = Received> {
        self.rank.recv_with(from, into, tag)
    }
    async fn combine(&self, source: Span, target: Span, side: Side) {
        if source.is_empty() {
            return;
        }
        let number = self.reductions.replace(self.reductions.get() + 1);
        if self.lost != Some(number) {
            self.rank.combine(source, target, side).await;
        }
    }
    fn copy(&self, source: Span, target: Span) -> impl Future<Output = ()> {
        self.rank.copy(source, target)
    }
    fn compute(&self, time_s: f64) -> impl Future<Output = ()> {
        self.rank.compute(time_s)
    }
    fn moment(&self) -> Self::Moment {
        self.rank.moment()
    }
    fn set_moment(&self, moment: Self::Moment) {
        self.rank.set_moment(moment);
    }
}

/// Number of reductions that `rank` makes in `program`.
pub fn operations(program: &impl Program, call: &Call, rank: usize) -> usize {
    struct Counted<'a, P>(&'a P, usize, Cell<usize>);
    impl<P: Program> Program for Counted<'_, P> {
        async fn run(&self, r: &impl Rank, c: &Call) {
            let counting = LossyRank::new(r, None);
            self.0.run(&counting, c).await;
            if r.rank() == self.1 {
                self.2.set(counting.reductions.get());
            }
        }
    }
    let counted = Counted(program, rank, Cell::new(0));
    assert!(verify(&counted, call, Limits::default()).is_ok());
    counted.2.get()
}
