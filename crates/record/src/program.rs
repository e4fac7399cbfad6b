//! A schedule as a program.

use hocket_core::{Call, Options, Program, Rank, Side, Source, Waits};

use crate::schedule::{Action, Schedule};

impl Program for Schedule {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        r.scratch(self.scratch[r.rank()]);
        let tasks = &self.ranks[r.rank()];
        let waits = tasks.iter().map(|task| Waits { ends: &task.after, starts: &task.after_start });
        r.graph(waits, |task| act(r, &tasks[task].action)).await;
    }
}

async fn act(r: &Rank<'_>, action: &Action) {
    match *action {
        Action::Send { to, tag, data } => {
            r.send_with(to as usize, data, Options { tag, ..Options::default() }).await;
        }
        Action::Recv { from, tag, into } => {
            r.recv_with(Source::Rank(from), into, tag).await;
        }
        Action::Combine { source, target, is_source_left } => {
            let side = if is_source_left { Side::Left } else { Side::Right };
            r.combine(source, target, side).await;
        }
        Action::Copy { source, target } => r.copy(source, target).await,
        Action::Compute { time_s } => r.compute(time_s).await,
    }
}
