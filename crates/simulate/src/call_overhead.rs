//! The program of a collective, as its caller sees it.

use hocket_core::{AnyProgram, Call, Program, Rank, Symmetry};

use crate::platform::Platform;

/// A program that begins after the overhead of its call.
pub struct DelayedProgram<'a> {
    program: &'a dyn AnyProgram,
    overhead_s: f64,
}

impl<'a> DelayedProgram<'a> {
    /// The program, delayed by the machine's `call_overhead`.
    pub fn new(program: &'a dyn AnyProgram, platform: &Platform) -> Self {
        Self { program, overhead_s: platform.node.call_overhead_s }
    }
}

impl Program for DelayedProgram<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if self.overhead_s > 0.0 {
            r.compute(self.overhead_s).await;
        }
        self.program.steps(r, c).await;
    }

    fn symmetry(&self, c: &Call, with_copies: bool) -> Option<Symmetry> {
        self.program.symmetry(c, with_copies)
    }
}

/// Calls `run` with the program, delayed_program by the machine's `delayed`.
pub fn with_call_overhead<T>(
    program: &dyn AnyProgram,
    platform: &Platform,
    run: impl FnOnce(&dyn AnyProgram) -> T,
) -> T {
    let delayed_program = DelayedProgram::new(program, platform);
    if delayed_program.overhead_s > 0.0 { run(&delayed_program) } else { run(program) }
}
