//! A world in virtual time: turns verbs into operations of a clockwork, counts messages and records traces.

use std::iter::repeat;

use hocket_core::{
    At, Call, Features, Mode, Moment, Moments, Options, Path, Progress, Received, Source, Span, Step, Symmetry, Tag,
    Woken, World,
};
use hocket_machine::Node;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::clock::Clock;
use crate::network::{CircuitCounts, LinkUse, Passage};
use crate::options::{self, bytes};
use crate::trace::{Kind, Record};
use crate::working_memory::WorkingMemory;

/// The time at which a step was done, and the step's result.
pub type Arrival<C> = (C, Received);

/// The answer of a clockwork to a step: [`Progress`] with the clockwork's type of time.
pub enum StepStatus<C> {
    /// The outcome of the step is known.
    Done(Arrival<C>),
    /// The outcome will be in this slot.
    Waits(u32),
    /// The step will never be done.
    Never,
}

/// Keeps virtual time for all ranks. What is not described is as the method of [`World`] of that name.
pub trait Clockwork {
    /// The type of points in time.
    type Clock: Clock;

    fn features(&self) -> Features;
    /// As [`World::next`]. A clockwork that runs ranks in the order of time ends late after `until_s`.
    fn next(&mut self, until_s: f64) -> Option<usize>;
    /// Whether this rank runs here.
    fn runs(&self, _rank: usize) -> bool {
        true
    }
    /// No rank can go on. `waiting` is the first rank whose program has not ended.
    fn conclude(&mut self, waiting: Option<usize>);
    /// The run ends since some results are not complete at the deadline. `has_raced`: whether a rank has used `first`.
    fn end_late(&mut self, has_raced: bool);
    /// The time at this moment.
    fn time(&self, moment: Moment) -> Self::Clock;
    /// The moment after a step that began at `start` and ended at `end`.
    fn after(&self, start: Moment, end: Self::Clock) -> Moment;

    /// The running rank begins a step at this moment.
    #[inline(always)]
    fn begin(&mut self, _now: Moment) {}
    fn send(&mut self, rank: usize, now: Self::Clock, message: &Sending) -> StepStatus<Self::Clock>;
    /// `rank` is ready to receive at `now`.
    fn recv(&mut self, rank: usize, now: Self::Clock, from: Source, tag: Tag) -> StepStatus<Self::Clock>;
    /// `rank` works for `duration_s` from `now` on, or as soon after as it can.
    fn work(&mut self, rank: usize, now: Self::Clock, duration_s: f64) -> StepStatus<Self::Clock>;
    fn wait_until(&mut self, rank: usize, now: Self::Clock, until_s: f64) -> StepStatus<Self::Clock>;
    /// `rank` connects or disconnects at `now`. The outcome has length 1 if a circuit is open or there are none.
    fn switch(&mut self, rank: usize, now: Self::Clock, connection: Connection) -> StepStatus<Self::Clock> {
        StepStatus::Done((now, Received { source: rank as u32, len: usize::from(connection.connects) }))
    }
    /// The outcome of a step that waited, once it is known.
    fn take(&mut self, slot: u32) -> Option<Arrival<Self::Clock>>;
    /// This branch waits for the outcome in this slot.
    fn wait(&mut self, _slot: u32, _path: Path) {}
    /// Nothing waits for this step any more.
    fn withdraw(&mut self, rank: usize, slot: u32);
    fn drop_ended(&mut self) {}
    fn forget_peers(&mut self, rank: usize);
    fn woken(&self, _rank: usize) -> Option<&Woken> {
        None
    }
    fn wake(&mut self, _rank: usize, _path: Path, _comes_later: bool) {}
    fn poll_again(&mut self, _rank: usize) {}
    fn moments(&mut self) -> &mut dyn Moments {
        unreachable!("asked for where features say that there is one")
    }
}

/// The outcome of a simulation. Skipped fields appear in another form in results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine that ran: "symmetry", "dataflow" or "events".
    #[serde(skip)]
    pub engine: &'static str,
    /// The time from each rank's timer start (the common start by default) until its result was complete, in seconds;
    /// empty in [`Many`](crate::Many), which has `ends`.
    #[serde(skip)]
    pub rank_times_s: Vec<f64>,
    /// When the last rank ended, in seconds from the common start; 0 in [`Many`](crate::Many), which has `ends`.
    #[serde(skip)]
    pub end_s: f64,
    /// When the last rank reached each mark ([`hocket_core::Rank::mark`]), in seconds; empty in [`Many`](crate::Many).
    #[serde(skip)]
    pub marks_s: Vec<f64>,
    /// Messages sent by all ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub message_bytes: u64,
    /// The operations of each rank, in order of rank and time; empty unless requested.
    #[serde(skip)]
    pub trace: Vec<Record>,
    /// The use of each link of the network; empty in networks without contention.
    #[serde(skip)]
    pub links: Vec<LinkUse>,
    /// The passages of all links; empty unless requested.
    #[serde(skip)]
    pub passages: Vec<Passage>,
    /// The counts of circuit events; none where the network has no circuits.
    pub circuits: Option<CircuitCounts>,
}

impl Outcome {
    /// The longest of these times, in seconds.
    pub fn time_s(&self) -> f64 {
        self.rank_times_s.iter().copied().fold(0.0, f64::max)
    }

    /// The outcome of all ranks, if this is the outcome of the representatives of a symmetry.
    pub(crate) fn for_all_ranks(mut self, ranks: usize, symmetry: Option<Symmetry>) -> Self {
        if let Some(symmetry) = symmetry {
            let times = (ranks / symmetry.representatives()) as u64;
            self.rank_times_s = (0..ranks).map(|rank| self.rank_times_s[symmetry.place(rank)]).collect();
            (self.messages, self.message_bytes) = (self.messages * times, self.message_bytes * times);
        }
        self
    }
}

/// A message that a rank sends, with the fields of [`Options`].
pub struct Sending {
    pub to: u32,
    pub tag: Tag,
    pub mode: Mode,
    pub gap_packets: f32,
    /// Number of elements.
    pub len: usize,
}

/// A rank connects to a peer, or disconnects.
#[derive(Clone, Copy)]
pub struct Connection {
    pub peer: u32,
    pub connects: bool,
}

/// All ranks in virtual time, under the clockwork `C`.
pub struct InTime<C: Clockwork> {
    clockwork: C,
    node: Node,
    element_bytes: usize,
    /// How long a posted message occupies its sender, if less than other sends; in seconds.
    post_s: Option<f64>,
    has_circuits: bool,
    messages: u64,
    message_bytes: u64,
    memory: WorkingMemory,
    /// When the result of each rank was complete; meaningless while a rank runs.
    ends: Vec<C::Clock>,
    /// When the timer of each rank started; empty where none was started.
    begins: Vec<C::Clock>,
    stages: Vec<RankStage>,
    /// Number of ranks here whose results are not complete.
    incomplete: usize,
    /// The deadline; whether a rank wanted to go on after it; and whether a rank has used `first`.
    until_s: f64,
    is_late: bool,
    has_raced: bool,
    marks_s: Vec<f64>,
    trace: Option<Trace>,
}

/// When the timers of the ranks started and ended.
pub struct Timers<T> {
    /// Empty where all timers started at the common start.
    pub begins: Vec<T>,
    pub ends: Vec<T>,
}

impl<T: Clock> Timers<T> {
    fn lengths_s(&self) -> Vec<f64> {
        let begins_s = self.begins.iter().map(|begin| begin.seconds()).chain(repeat(0.0));
        self.ends.iter().zip(begins_s).map(|(end, begin_s)| end.seconds() - begin_s).collect()
    }
}

/// The state of a rank's program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankStage {
    Running,
    /// Its result is complete.
    Complete,
    Ended,
}

/// The operations of ranks, and the steps that wait.
#[derive(Default)]
struct Trace {
    records: Vec<Record>,
    waiting: FxHashMap<u32, Step>,
}

impl Trace {
    #[cold]
    fn wait(&mut self, slot: u32, step: Step) {
        self.waiting.insert(slot, step);
    }
}

/// Bytes kept per rank, besides the clockwork's and those of ranks that use scratch.
pub fn kept_bytes<C>() -> usize {
    size_of::<C>() + size_of::<RankStage>()
}

impl<C: Clockwork> InTime<C> {
    /// The first `ranks` ranks of the call; the others do not run.
    pub fn new(
        call: &Call,
        ranks: usize,
        clockwork: C,
        node: &Node,
        post_s: Option<f64>,
        options: &options::Options<'_>,
    ) -> Self {
        Self {
            node: node.clone(),
            element_bytes: call.element_bytes,
            post_s,
            has_circuits: clockwork.features().circuits.is_some(),
            ends: vec![clockwork.time(Moment::default()); ranks],
            begins: Vec::new(),
            incomplete: (0..ranks).filter(|rank| clockwork.runs(*rank)).count(),
            until_s: options.until_s,
            is_late: false,
            has_raced: false,
            clockwork,
            messages: 0,
            message_bytes: 0,
            memory: WorkingMemory::new(ranks, node, call.element_bytes),
            stages: vec![RankStage::Running; ranks],
            marks_s: Vec::new(),
            trace: options.trace.then(Trace::default),
        }
    }

    /// The clockwork, the times at which the ranks' results were complete, and the outcome.
    pub fn into_outcome(self, engine: &'static str) -> (C, Timers<C::Clock>, Outcome) {
        let mut trace = self.trace.unwrap_or_default().records;
        Record::sort(&mut trace);
        let mut timers = Timers { begins: self.begins, ends: self.ends };
        for times in [&mut timers.begins, &mut timers.ends] {
            let mut stages = self.stages.iter();
            times.retain(|_| stages.next() != Some(&RankStage::Running));
        }
        let outcome = Outcome {
            engine,
            rank_times_s: timers.lengths_s(),
            end_s: timers.ends.iter().map(|end| end.seconds()).fold(0.0, f64::max),
            marks_s: self.marks_s,
            messages: self.messages,
            message_bytes: self.message_bytes,
            trace,
            ..Outcome::default()
        };
        (self.clockwork, timers, outcome)
    }

    fn bytes(&self, len: usize) -> f64 {
        bytes(len, self.element_bytes)
    }

    #[inline(always)]
    fn send(&mut self, rank: usize, now: C::Clock, to: usize, len: usize, options: Options) -> StepStatus<C::Clock> {
        self.messages += 1;
        self.message_bytes += (len * self.element_bytes) as u64;
        let Options { tag, mode, gap_packets } = options;
        let message = Sending { to: to as u32, tag, mode, gap_packets: gap_packets as f32, len };
        let sent = self.clockwork.send(rank, now, &message);
        match self.post_s {
            Some(post_s) if mode == Mode::Posted => self.post(rank, now, len, post_s, &sent),
            _ => sent,
        }
    }

    /// The rank continues without waiting for the message.
    fn post(
        &mut self,
        rank: usize,
        now: C::Clock,
        len: usize,
        post_s: f64,
        sent: &StepStatus<C::Clock>,
    ) -> StepStatus<C::Clock> {
        if let StepStatus::Waits(slot) = sent {
            self.clockwork.withdraw(rank, *slot);
        }
        if post_s > 0.0 {
            return self.clockwork.work(rank, now, post_s);
        }
        StepStatus::Done((now, Received { source: rank as u32, len }))
    }

    #[inline(always)]
    fn work(&mut self, rank: usize, now: C::Clock, duration_s: f64) -> StepStatus<C::Clock> {
        if duration_s == 0.0 {
            return StepStatus::Done((now, Received { source: rank as u32, len: 0 }));
        }
        self.clockwork.work(rank, now, duration_s)
    }

    /// Touches new memory for `touch_s` before a step.
    #[cold]
    fn touch(&mut self, at: At, touch_s: f64) -> Progress {
        let status = self.work(at.rank, self.clockwork.time(at.now), touch_s);
        match self.answer(at, &Step::Compute { time_s: touch_s }, status) {
            Progress::Done((later, _)) => Progress::Again(later),
            Progress::Waits(ticket) => Progress::After(ticket),
            other => other,
        }
    }

    /// Whether this rank stops here, as it has no result at the deadline. The operations of all ranks up to the deadline
    /// are simulated, so that an engine that does not apply to them notices.
    #[cold]
    fn stops_late(&mut self, rank: usize) -> bool {
        let is_late = self.stages[rank] == RankStage::Running;
        self.is_late |= is_late;
        is_late
    }

    /// The result of this rank is complete.
    fn note_end(&mut self, rank: usize, now: Moment) {
        self.ends[rank] = self.clockwork.time(now);
        self.incomplete -= usize::from(self.stages[rank] == RankStage::Running);
    }

    /// The answer to a step. Inlined for each kind of step, so that it is compiled together with the code of that kind.
    #[inline(always)]
    fn answer(&mut self, at: At, step: &Step, status: StepStatus<C::Clock>) -> Progress {
        match status {
            StepStatus::Done((end, received)) => {
                if self.trace.is_some() {
                    self.record(at, end, *step, received);
                }
                Progress::Done((self.clockwork.after(at.now, end), received))
            }
            StepStatus::Waits(slot) => {
                if let Some(trace) = &mut self.trace {
                    trace.wait(slot, *step);
                }
                Progress::Waits(slot)
            }
            StepStatus::Never => Progress::Never,
        }
    }

    #[cold]
    fn record(&mut self, At { rank, now: start }: At, end: C::Clock, step: Step, received: Received) {
        let (kind, peer, tag, len) = match step {
            Step::Send { to, data, options } => (Kind::Send, to, options.tag, data.len),
            Step::Recv { tag, .. } => (Kind::Recv, received.source as usize, tag, received.len),
            Step::Combine { source, .. } => (Kind::Reduce, rank, 0, source.len),
            Step::Copy { source, .. } => (Kind::Copy, rank, 0, source.len),
            Step::Compute { .. } => (Kind::Compute, rank, 0, 0),
            Step::Wait { .. } => return,
            Step::Connect { peer } => (Kind::Connect, peer, 0, 0),
            Step::Disconnect { peer } => (Kind::Disconnect, peer, 0, 0),
        };
        let (start_s, end_s, bytes) = (self.clockwork.time(start).seconds(), end.seconds(), self.bytes(len));
        if let Some(trace) = &mut self.trace {
            trace.records.push(Record { rank, kind, peer, tag, bytes, start_s, end_s });
        }
    }
}

impl<C: Clockwork> World for InTime<C> {
    fn features(&self) -> Features {
        self.clockwork.features()
    }

    fn next(&mut self) -> Option<usize> {
        let next = self.clockwork.next(if self.incomplete == 0 { f64::INFINITY } else { self.until_s });
        if next.is_none() && self.is_late {
            self.clockwork.end_late(self.has_raced);
        } else if next.is_none() {
            let waits = |rank: usize| self.stages[rank] != RankStage::Ended && self.clockwork.runs(rank);
            let waiting = (0..self.stages.len()).find(|rank| waits(*rank));
            self.clockwork.conclude(waiting);
        }
        next
    }

    #[inline(always)]
    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let At { rank, now } = at;
        let time = self.clockwork.time(now);
        if time.seconds() > self.until_s && self.stops_late(rank) {
            return Progress::Never;
        }
        self.clockwork.begin(now);
        if let Some(touch_s) = self.memory.touch(rank, step) {
            return self.touch(at, touch_s);
        }
        let duration_s = match *step {
            Step::Send { to, data, options } => {
                let status = self.send(rank, time, to, data.len, options);
                return self.answer(at, step, status);
            }
            Step::Recv { from, tag, .. } => {
                let status = self.clockwork.recv(rank, time, from, tag);
                return self.answer(at, step, status);
            }
            Step::Wait { until_s } => {
                let status = self.clockwork.wait_until(rank, time, until_s);
                return self.answer(at, step, status);
            }
            Step::Connect { .. } | Step::Disconnect { .. } if !self.has_circuits => {
                return Progress::Done((now, Received { source: rank as u32, len: 1 }));
            }
            Step::Connect { peer } | Step::Disconnect { peer } => {
                let connects = matches!(step, Step::Connect { .. });
                let status = self.clockwork.switch(rank, time, Connection { peer: peer as u32, connects });
                return self.answer(at, step, status);
            }
            Step::Combine { source, .. } => self.node.reduce.time_s(self.bytes(source.len)),
            Step::Copy { source, target } if source == target => 0.0,
            Step::Copy { source, .. } => self.node.copy.time_s(self.bytes(source.len)),
            Step::Compute { time_s } => time_s,
        };
        let status = self.work(rank, time, duration_s);
        self.answer(at, step, status)
    }

    #[inline(always)]
    fn take(&mut self, at: At, ticket: u32) -> Option<hocket_core::Outcome> {
        let (end, received) = self.clockwork.take(ticket)?;
        if let Some(step) = self.trace.as_mut().and_then(|trace| trace.waiting.remove(&ticket)) {
            self.record(at, end, step, received);
        }
        Some((self.clockwork.after(at.now, end), received))
    }

    fn wait(&mut self, ticket: u32, path: Path) {
        self.clockwork.wait(ticket, path);
    }

    fn withdraw(&mut self, rank: usize, ticket: u32) {
        self.clockwork.withdraw(rank, ticket);
        if let Some(trace) = &mut self.trace {
            trace.waiting.remove(&ticket);
        }
    }

    fn scratch(&mut self, at: At, len: usize) -> Span {
        self.memory.take(at, len)
    }

    fn complete(&mut self, rank: usize, now: Moment) {
        self.note_end(rank, now);
        self.stages[rank] = RankStage::Complete;
    }

    fn mark(&mut self, _: usize, mark: u16, now: Moment) {
        let (time, number) = (self.clockwork.time(now), usize::from(mark));
        time.note(mark);
        if self.marks_s.len() <= number {
            self.marks_s.resize(number + 1, 0.0);
        }
        self.marks_s[number] = self.marks_s[number].max(time.seconds());
    }

    fn forget_peers(&mut self, rank: usize) {
        self.clockwork.forget_peers(rank);
    }

    fn start_timer(&mut self, rank: usize, now: Moment) {
        if self.begins.is_empty() {
            self.begins = vec![self.clockwork.time(Moment::default()); self.ends.len()];
        }
        self.begins[rank] = self.clockwork.time(now);
    }

    fn end(&mut self, rank: usize, now: Moment) {
        if self.stages[rank] == RankStage::Running {
            self.note_end(rank, now);
        }
        self.stages[rank] = RankStage::Ended;
    }

    fn race(&mut self, _: usize) {
        self.has_raced = true;
    }

    fn time_s(&self, now: Moment) -> Option<f64> {
        Some(self.clockwork.time(now).seconds()).filter(|seconds| !seconds.is_nan())
    }

    fn moments(&mut self) -> &mut dyn Moments {
        self.clockwork.moments()
    }

    fn drop_ended(&mut self, _: usize) {
        self.clockwork.drop_ended();
    }

    #[inline]
    fn woken(&self, rank: usize) -> Option<&Woken> {
        self.clockwork.woken(rank)
    }

    fn wake(&mut self, rank: usize, path: Path, comes_later: bool) {
        self.clockwork.wake(rank, path, comes_later);
    }

    fn poll_again(&mut self, rank: usize) {
        self.clockwork.poll_again(rank);
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::{Buffer, Collective, Progress};
    use hocket_machine::{Machine, Noise};

    use super::*;
    use crate::clock::{Quiet, Trial};
    use crate::dataflow::{Dataflow, How, Order};
    use crate::events::Events;
    use crate::network::Hockney;
    use crate::{NetworkModel, Platform};

    /// A latency of 1 us, and 1 ns per byte; messages are eager.
    fn hockney() -> Hockney {
        let text = "name = \"test\"\n[network]\nmodel = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n\
                    protocol = \"eager\"\n";
        let platform = Platform::new(&Machine::parse(text, "test.toml").unwrap()).unwrap();
        let NetworkModel::Hockney(hockney) = platform.network else { panic!("asked for") };
        hockney
    }

    /// Rank 0 computes for 3 us and sends 1000 bytes, rank 1 receives at once: the steps end at 3, 5 and 5 us.
    fn check<C: Clockwork>(mut world: InTime<C>) {
        let data = Span::new(Buffer::Input, 1000);
        let mut steps = [
            vec![Step::Send { to: 1, data, options: Options::default() }, Step::Compute { time_s: 3e-6 }],
            vec![Step::Recv { from: Source::Rank(0), into: data, tag: 0 }],
        ];
        let (mut moments, mut waiting) = ([Moment::default(); 2], [None; 2]);
        while let Some(rank) = world.next() {
            if let Some(ticket) = waiting[rank]
                && let Some((moment, _)) = world.take(At { rank, now: moments[rank] }, ticket)
            {
                (moments[rank], waiting[rank]) = (moment, None);
            }
            while let Some(step) = steps[rank].pop_if(|_| waiting[rank].is_none()) {
                match world.issue(At { rank, now: moments[rank] }, &step) {
                    Progress::Done((moment, _)) => moments[rank] = moment,
                    Progress::Waits(ticket) => {
                        world.wait(ticket, Path::ROOT);
                        waiting[rank] = Some(ticket);
                    }
                    other => panic!("{step:?}: {other:?}"),
                }
            }
        }
        for rank in 0..2 {
            assert!(waiting[rank].is_none());
            world.end(rank, moments[rank]);
        }
        let (_, _, outcome) = world.into_outcome("either");
        assert_eq!(outcome.rank_times_s, [5e-6, 5e-6]);
        assert_eq!((outcome.messages, outcome.message_bytes), (1, 1000));
    }

    #[test]
    fn steps_take_their_time_in_both_engines() {
        let (call, network, node) = (Call::new(Collective::Barrier, 2, 0), hockney(), Node::default());
        let options = crate::Options::default();
        let how = How { order: Order::OfRanks, symmetry: None };
        check(InTime::new(&call, 2, Dataflow::new(&call, &network, Quiet, how, options), &node, None, &options));
        let noise = Noise::default();
        let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: 2 };
        check(InTime::new(&call, 2, Events::new(&call, &network, &trial, &options), &node, None, &options));
    }
}
