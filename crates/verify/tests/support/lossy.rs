//! A rank that forgets one of its reductions.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use hocket_core::{AnyProgram, Call, Program, Rank, Step, View};
use hocket_verify::{Limits, verify};

pub struct LossyRank<'a> {
    rank: &'a Rank<'a>,
    lost: Option<usize>,
    reductions: Cell<usize>,
}

impl<'a> LossyRank<'a> {
    pub fn new(rank: &'a Rank<'a>, lost: Option<usize>) -> Self {
        Self { rank, lost, reductions: Cell::new(0) }
    }
}

impl View for LossyRank<'_> {
    fn below(&self) -> &Rank<'_> {
        self.rank
    }

    fn step(&self, step: Step) -> Option<Step> {
        match step {
            Step::Combine { source, .. } if source.is_empty() => None,
            Step::Combine { .. } => {
                let number = self.reductions.replace(self.reductions.get() + 1);
                (self.lost != Some(number)).then_some(step)
            }
            _ => Some(step),
        }
    }
}

/// Number of reductions that `rank` makes in `program`.
pub fn operations(program: &dyn AnyProgram, call: &Call, rank: usize) -> usize {
    struct Counted<'a>(&'a dyn AnyProgram, usize, AtomicUsize);
    impl Program for Counted<'_> {
        async fn run(&self, r: &Rank<'_>, c: &Call) {
            let counting = LossyRank::new(r, None);
            self.0.steps(&Rank::through(&counting), c).await;
            if r.rank() == self.1 {
                self.2.store(counting.reductions.get(), Ordering::Relaxed);
            }
        }
    }
    let counted = Counted(program, rank, AtomicUsize::new(0));
    assert!(verify(&counted, None, call, Limits::default(), &|| false).is_ok_and(|verdict| verdict.is_ok()));
    counted.2.into_inner()
}
