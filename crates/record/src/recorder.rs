//! Recording of a program: every verb becomes a task that waits for the previous tasks on its branch.

use std::collections::HashMap;
use std::ops::Range;

use hocket_core::{
    AnyProgram, At, Buffer, Call, Error, Features, Moment, Moments, Progress, Received, Result, Side, Source, Span,
    Step, Tag, World, check_ranks, run,
};

use crate::draft::{Action, Draft, Wait};
use crate::schedule::{Builder, Schedule};

/// The largest number of recordings: if lengths pass from rank to rank, each rank on the way, as in a tree, needs one.
const MOST_RECORDINGS: usize = 100;

/// Records the actions of `program` in `call`.
///
/// # Errors
/// A program whose steps depend on timing, because it receives from any source or uses `first`; receives and sends that
/// do not match; or more tasks than there is memory for.
///
/// A program may depend on the lengths of messages that it receives. It is recorded again until the lengths that its
/// receives reported are those that its sends have.
pub fn record(program: &dyn AnyProgram, call: &Call) -> Result<Schedule> {
    check_ranks(program, call, call.ranks, size_of::<Range<usize>>() + size_of::<usize>())?;
    let mut lengths = Lengths::default();
    for _ in 0..MOST_RECORDINGS {
        let recorder = run(program, call, Recorder::new(call.ranks, lengths));
        if let Some(failure) = recorder.failure {
            return Err(failure);
        }
        let schedule = recorder.builder.schedule(recorder.scratch, call.element_bytes);
        if recorder.reads_lengths {
            let sent = Lengths::of(&schedule);
            if recorder.lengths != sent {
                lengths = sent;
                continue;
            }
        }
        return if schedule.is_balanced() { Ok(schedule) } else { fit(&schedule) };
    }
    Err(Error::new("cannot be recorded: the lengths of messages depend on each other in a cycle"))
}

/// The lengths of all messages, in the order of sender, receiver, tag, and the sender's task.
#[derive(Default, PartialEq)]
struct Lengths(Vec<((u32, u32, Tag), u32, usize)>);

/// How many messages a rank has received so far from each sender, with each tag.
type MessageCounts = HashMap<(u32, Tag), usize>;

impl Lengths {
    fn of(schedule: &Schedule) -> Self {
        let mut sent = Vec::new();
        schedule.each_action(|rank, number, action| {
            if let Action::Send { to, tag, data } = *action {
                sent.push(((rank as u32, to, tag), number as u32, data.len));
            }
        });
        sent.sort_unstable();
        Self(sent)
    }

    /// The length of the next message that `rank` receives from this sender, if it is sent.
    fn next(&self, received: &mut MessageCounts, from: u32, rank: usize, tag: Tag) -> Option<usize> {
        let number = received.entry((from, tag)).or_default();
        let pair = (from, rank as u32, tag);
        let first = self.0.partition_point(|(other, ..)| *other < pair);
        let message = self.0.get(first + *number).filter(|(other, ..)| *other == pair);
        *number += 1;
        message.map(|(.., len)| *len)
    }
}

/// The schedule with each receive shortened to the length of its message, which a program need not know in advance.
fn fit(schedule: &Schedule) -> Result<Schedule> {
    let (mut builder, mut draft, lengths) = (Builder::default(), Draft::default(), Lengths::of(schedule));
    for rank in 0..schedule.ranks() {
        let mut received = MessageCounts::new();
        schedule.unpack(rank, &mut draft);
        for (number, action) in draft.actions.iter_mut().enumerate() {
            let Action::Recv { from: Source::Rank(from), tag, into } = action else { continue };
            match lengths.next(&mut received, *from, rank, *tag) {
                Some(len) if len <= into.len => into.len = len,
                _ => {
                    let text = format!("no message from rank {from} fits the receive into {into}");
                    return Err(Error::new(text).at(format!("rank {rank}, task {number}")));
                }
            }
        }
        builder.set(rank, &draft)?;
    }
    let scratch = (0..schedule.ranks()).map(|rank| schedule.scratch(rank)).collect();
    Ok(builder.schedule(scratch, schedule.element_bytes()))
}

/// Records the actions of ranks. Each rank runs to its end before the next one begins.
#[derive(Default)]
struct Recorder {
    builder: Builder,
    ranks: usize,
    scratch: Vec<usize>,
    /// The running rank; none before the first.
    running: Option<usize>,
    has_ended: bool,
    /// The tasks of the running rank.
    draft: Draft,
    groups: Groups,
    failure: Option<Error>,
    /// Whether a program depends on message lengths. `lengths` has those of the previous recording; others count as 0.
    reads_lengths: bool,
    lengths: Lengths,
    /// The messages that the running rank has received so far.
    received: MessageCounts,
}

impl Recorder {
    fn new(ranks: usize, lengths: Lengths) -> Self {
        Self { ranks, scratch: vec![0; ranks], has_ended: true, lengths, ..Self::default() }
    }

    /// The length of the next message from a rank to another one, which has room for `room` elements.
    fn length(&mut self, from: u32, rank: usize, tag: Tag, room: usize) -> usize {
        let len = self.lengths.next(&mut self.received, from, rank, tag);
        if self.reads_lengths { len.unwrap_or(0) } else { room }
    }

    /// The task for `step`; none if the step takes no time in any world.
    fn task(&mut self, rank: usize, step: &Step) -> Option<Action> {
        Some(match *step {
            Step::Send { to, data, options } => Action::Send { to: to as u32, tag: options.tag, data },
            Step::Recv { from: from @ Source::Rank(_), into, tag } => Action::Recv { from, tag, into },
            Step::Recv { from: Source::Any, .. } => {
                self.refuse(rank, "receives from any source, so its next steps depend on which message arrives first");
                return None;
            }
            Step::Combine { source, target, side } => {
                Action::Combine { source, target, is_source_left: side == Side::Left }
            }
            Step::Copy { source, target } if source == target => return None,
            Step::Copy { source, target } => Action::Copy { source, target },
            Step::Compute { time_s } => Action::Compute { time_s },
            Step::Wait { .. } | Step::Connect { .. } | Step::Disconnect { .. } => return None,
        })
    }

    fn refuse(&mut self, rank: usize, why: &str) {
        self.failure.get_or_insert_with(|| Error::new(format!("cannot be recorded: rank {rank} {why}")));
    }
}

impl World for Recorder {
    fn features(&self) -> Features {
        Features { has_moments: true, ..Features::PLAIN }
    }

    fn next(&mut self) -> Option<usize> {
        if let Some(rank) = self.running.filter(|_| !self.has_ended) {
            self.refuse(rank, "never ends");
        }
        let next = self.running.map_or(0, |rank| rank + 1);
        self.running = Some(next);
        self.received.clear();
        self.has_ended = false;
        (self.failure.is_none() && next < self.ranks).then_some(next)
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let (source, len) = match *step {
            Step::Recv { from: Source::Rank(from), into, tag } => (from, self.length(from, at.rank, tag, into.len)),
            Step::Recv { into, .. } => (0, into.len),
            _ => (at.rank as u32, 1),
        };
        let now = match self.task(at.rank, step) {
            None => at.now,
            Some(action) => {
                let task = self.draft.push(action);
                let others = self.groups.tasks(at.now);
                self.draft.waits.extend(others.iter().map(|other| Wait { task, is_for_start: false, other: *other }));
                Groups::one(task)
            }
        };
        Progress::Done((now, Received { source, len }))
    }

    fn scratch(&mut self, At { rank, .. }: At, len: usize) -> Span {
        let offset = self.scratch[rank];
        self.scratch[rank] += len;
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn reads_lengths(&mut self, _: usize) {
        self.reads_lengths = true;
    }

    fn end(&mut self, rank: usize, _: Moment) {
        self.has_ended = true;
        if let Err(error) = self.builder.set(rank, &self.draft) {
            self.failure.get_or_insert(error);
        }
        self.draft.clear();
        self.groups.lists.clear();
    }

    fn moments(&mut self) -> &mut dyn Moments {
        &mut self.groups
    }

    fn race(&mut self, rank: usize) {
        self.refuse(rank, "uses first, so its next steps depend on which branch ends earlier");
    }
}

/// The tasks for which a branch's next task waits. The first word of a moment is their number; the second is the index
/// of the first one in `lists`, or the only task.
#[derive(Default)]
struct Groups {
    lists: Vec<u32>,
    /// The only task of the moment passed to [`Groups::tasks`] last.
    only: [u32; 1],
}

impl Groups {
    fn one(task: u32) -> Moment {
        Moment::of([1, task.into()])
    }

    fn tasks(&mut self, moment: Moment) -> &[u32] {
        match moment.words() {
            [1, task] => {
                self.only = [task as u32];
                &self.only
            }
            [count, start] => &self.lists[start as usize..][..count as usize],
        }
    }
}

impl Moments for Groups {
    fn later(&mut self, one: Moment, other: Moment) -> Moment {
        if one == other {
            return one;
        }
        let mut tasks = self.tasks(one).to_vec();
        tasks.extend(self.tasks(other));
        tasks.sort_unstable();
        tasks.dedup();
        if let [task] = tasks[..] {
            return Self::one(task);
        }
        let start = self.lists.len();
        self.lists.extend(&tasks);
        Moment::of([tasks.len() as u64, start as u64])
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::Options;

    use super::*;

    #[test]
    fn a_task_waits_for_those_before_it_on_its_branch() {
        let mut world = Recorder::new(1, Lengths::default());
        assert_eq!(world.next(), Some(0));
        let span = Span::new(Buffer::Input, 1);
        let mut issue = |now, step: Step| match world.issue(At { rank: 0, now }, &step) {
            Progress::Done((moment, _)) => moment,
            other => panic!("{other:?}"),
        };
        let start = Moment::default();
        let sent = issue(start, Step::Send { to: 0, data: span, options: Options::default() });
        let received = issue(start, Step::Recv { from: Source::Rank(0), into: span, tag: 0 });
        let latest = world.moments().later(sent, received);
        world.issue(At { rank: 0, now: latest }, &Step::Compute { time_s: 1.0 });
        let waits: Vec<_> = world.draft.waits.iter().map(|wait| (wait.task, wait.other)).collect();
        assert_eq!(waits, [(2, 0), (2, 1)]);
    }

    #[test]
    fn a_receive_from_any_source_cannot_be_recorded() {
        let mut world = Recorder::new(1, Lengths::default());
        let step = Step::Recv { from: Source::Any, into: Span::EMPTY, tag: 0 };
        world.issue(At { rank: 0, now: Moment::default() }, &step);
        assert!(world.failure.is_some_and(|why| why.to_string().contains("receives from any source")));
    }
}
