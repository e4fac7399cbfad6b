//! The critical path of a call: the chain of operations and messages that determines its time, and its parts.
//!
//! The path is followed backwards from the end of the last rank. An operation begins when the previous one on its rank is
//! done; a message may have waited for its other end. The network model itself tells for which end a message waited and
//! what its time consists of. For this, the same message is simulated alone, once with each end late: on the machine, and
//! on variants of the machine with one kind of cost halved. This works because the time of a message alone is linear in the
//! costs. A reduction or copy waits for its processor as long as it takes longer than alone.
//!
//! With late ranks, the path starts where a rank begins the call. A message that a slow link delays is also simulated alone
//! with the faults; what it takes longer then is the fault's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use hocket_core::{Buffer, Call, Collective, Error, Program, Rank, Result, Side, Span, ensure};
use hocket_simulate::{Fault, Kind, Options, Platform, Record};
use serde::Serialize;

/// Relative to the end of an operation: smaller differences are rounding.
const SAME: f64 = 1e-9;

/// A part of the time on a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PathPart {
    Latency,
    Bandwidth,
    Overhead,
    Computation,
    Waiting,
    Fault,
    Noise,
}

/// Seconds by part.
pub type Parts = BTreeMap<PathPart, f64>;

/// A step of a critical path, from the moment when all its inputs are there to the end of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct PathStep {
    /// The operation whose end is the end of the step.
    pub event: Record,
    /// The rank where it starts: for a message whose other end came later, that of the other end; else the same rank.
    pub from_rank: usize,
    /// Start of the step, which is the end of the previous step.
    pub start_s: f64,
    /// The parts of its time; they add up to its length.
    pub parts_s: Parts,
}

impl PathStep {
    /// The step of an operation that waited for no other rank.
    fn at_rank(event: Record, parts_s: impl IntoIterator<Item = (PathPart, f64)>) -> Self {
        Self { event, from_rank: event.rank, start_s: event.start_s, parts_s: parts_s.into_iter().collect() }
    }
}

/// A machine without noise, and the same with half the latency and with half the overhead, where it has such costs.
#[derive(Clone)]
pub struct Variants {
    /// The machine.
    pub machine: Arc<Platform>,
    /// The machine with half of each of `HALF_COSTS`.
    pub with_half: [Option<Arc<Platform>>; 2],
}

const HALF_COSTS: [PathPart; 2] = [PathPart::Latency, PathPart::Overhead];

/// The machines that tell what a message consists of.
#[derive(Clone)]
pub struct PathMachines {
    /// For all messages, or for the first ones to each peer.
    pub first: Variants,
    /// For later messages, if first messages to peers cost more.
    pub later: Option<Variants>,
}

/// A run of a call whose critical path is asked for.
pub struct FirstTrial<'a> {
    /// Number of ranks.
    pub ranks: usize,
    /// The operations of all ranks.
    pub records: &'a [Record],
    /// The time of the call, from the last arrival.
    pub time_s: f64,
    /// The last arrival.
    pub arriving_s: f64,
}

impl PathMachines {
    /// The critical path of a call, in order of time, from the arrival of a rank to the last end. Of several paths that are
    /// equally long, it is one of them, which prefers messages. What operations take longer than in the run without noise,
    /// if there is one, counts as noise.
    ///
    /// # Errors
    /// The machine has circuits: a message alone would have none.
    pub fn path(
        &self,
        trial: &FirstTrial<'_>,
        faults: &[Fault],
        without_noise: Option<&[Record]>,
    ) -> Result<Vec<PathStep>> {
        let machine = &self.first.machine;
        let expected = "got the network model circuits, expected hockney, loggp, links or packets";
        ensure(machine.network.name() != "circuits", || format!("machine {}: {expected}", machine.name))?;
        let mut messages = Messages::new(self, trial.ranks, faults)?;
        let run = Run::new(trial.records);
        let mut steps = run.backwards(trial, &mut messages)?;
        steps.reverse();
        if let Some(records) = without_noise {
            separate_noise(&mut steps, &run, &Run::new(records), &mut messages)?;
        }
        Ok(steps.into_iter().map(|(_, step)| step).collect())
    }
}

/// Counts computation and waiting beyond those of the same operations without noise as noise.
fn separate_noise(
    steps: &mut [(usize, PathStep)],
    run: &Run<'_>,
    quiet: &Run<'_>,
    messages: &mut Messages<'_>,
) -> Result<()> {
    let numbers = run.numbers();
    let of_number: HashMap<_, _> = quiet.numbers().into_iter().enumerate().map(|(at, number)| (number, at)).collect();
    for (at, step) in steps {
        let counterpart = of_number.get(&numbers[*at]);
        let quiet_step = counterpart.map(|at| quiet.step(*at, messages)).transpose()?;
        let mut noise_s = 0.0;
        for part in [PathPart::Computation, PathPart::Waiting] {
            let with_noise_s = step.parts_s.get(&part).copied().unwrap_or(0.0);
            let of_quiet = |step: &PathStep| step.parts_s.get(&part).copied().unwrap_or(0.0).min(with_noise_s);
            let without_s = quiet_step.as_ref().map_or(with_noise_s, of_quiet);
            step.parts_s.insert(part, without_s);
            noise_s += with_noise_s - without_s;
        }
        step.parts_s.insert(PathPart::Noise, noise_s);
    }
    Ok(())
}

/// The operations of a run.
struct Run<'a> {
    records: &'a [Record],
    /// The other end of each send and receive: the k-th send from a rank to another with a tag belongs to the k-th receive.
    others: Vec<Option<usize>>,
    /// The first send of each rank to each other.
    firsts: HashSet<usize>,
}

impl<'a> Run<'a> {
    fn new(records: &'a [Record]) -> Self {
        let mut channels: HashMap<_, [Vec<usize>; 2]> = HashMap::new();
        let mut firsts: HashMap<_, usize> = HashMap::new();
        for (at, Record { rank, kind, peer, tag, start_s, .. }) in records.iter().enumerate() {
            let (ends, side) = match kind {
                Kind::Send => ((*rank, *peer), 0),
                Kind::Recv => ((*peer, *rank), 1),
                _ => continue,
            };
            channels.entry((ends, *tag)).or_default()[side].push(at);
            if side == 0 {
                let first = firsts.entry(ends).or_insert(at);
                *first = if *start_s < records[*first].start_s { at } else { *first };
            }
        }
        let mut others = vec![None; records.len()];
        for [sends, receives] in channels.into_values() {
            for (send, receive) in sends.into_iter().zip(receives) {
                (others[send], others[receive]) = (Some(receive), Some(send));
            }
        }
        Self { records, others, firsts: firsts.into_values().collect() }
    }

    /// An identity of each operation, without its time: rank, kind, peer, tag, and how many such came before.
    fn numbers(&self) -> Vec<(usize, Kind, usize, u32, usize)> {
        let mut counts = HashMap::new();
        let number = |one: &Record| {
            let count = counts.entry((one.rank, one.kind, one.peer, one.tag)).or_insert(0);
            *count += 1;
            (one.rank, one.kind, one.peer, one.tag, *count)
        };
        self.records.iter().map(number).collect()
    }

    /// The operations on the path and their steps, from the end of the simulation to the arrival of a rank; none if the
    /// last arrival ends it.
    fn backwards(&self, trial: &FirstTrial<'_>, messages: &mut Messages<'_>) -> Result<Vec<(usize, PathStep)>> {
        let end_s = trial.time_s + trial.arriving_s;
        if trial.time_s <= SAME * end_s {
            return Ok(Vec::new());
        }
        let mut ended: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
        for (at, one) in self.records.iter().enumerate().filter(|(_, one)| one.end_s > one.start_s) {
            ended.entry((one.rank, one.end_s.to_bits())).or_default().push(at);
        }
        // Work after the results are complete does not count.
        let before = ended.iter().filter(|((_, time), _)| f64::from_bits(*time) <= end_s * (1.0 + SAME));
        let has_receive = |each: &[usize]| each.iter().any(|at| self.records[*at].kind == Kind::Recv);
        let last = before.max_by_key(|((rank, time), each)| (*time, has_receive(each), *rank));
        let mut place = last.map_or((0, 0), |(place, _)| *place);
        let mut steps = Vec::new();
        while let Some(candidates) = ended.get_mut(&place).filter(|candidates| !candidates.is_empty()) {
            let order = |at: usize| (self.records[at].kind != Kind::Recv, self.records[at].start_s.to_bits());
            let (number, _) = candidates.iter().enumerate().min_by_key(|(_, at)| order(**at)).expect("not empty");
            let at = candidates.remove(number);
            let step = self.step(at, messages)?;
            place = (step.from_rank, step.start_s.to_bits());
            steps.push((at, step));
        }
        Ok(steps)
    }

    /// The step that ends with an operation; the step of a message starts at the end that came later.
    fn step(&self, at: usize, messages: &mut Messages<'_>) -> Result<PathStep> {
        let event = self.records[at];
        let taken_s = event.end_s - event.start_s;
        let work = |waiting_s| {
            PathStep::at_rank(event, [(PathPart::Computation, taken_s - waiting_s), (PathPart::Waiting, waiting_s)])
        };
        match (event.kind, self.others[at]) {
            (Kind::Compute, _) => Ok(work(0.0)),
            (Kind::Reduce | Kind::Copy, _) => {
                let waiting_s = taken_s - messages.work_s(event.kind, event.bytes as usize)?;
                Ok(work(if waiting_s > SAME * event.end_s { waiting_s } else { 0.0 }))
            }
            (Kind::Send, Some(other)) => self.message_step([at, other], SEND, messages),
            (Kind::Recv, Some(other)) => self.message_step([other, at], RECV, messages),
            _ => Ok(PathStep::at_rank(event, [(PathPart::Waiting, taken_s)])),
        }
    }

    /// The step that ends with one end of a message.
    fn message_step(&self, ends: [usize; 2], end: usize, messages: &mut Messages<'_>) -> Result<PathStep> {
        let [send, recv] = ends.map(|at| &self.records[at]);
        let (event, is_first) = ([*send, *recv][end], self.firsts.contains(&ends[SEND]));
        let slack_s = SAME * event.end_s;
        let late = messages.late(is_first, [send.rank, recv.rank], send.bytes as usize)?;
        // For each end, when the operation would be done if this end were late and nothing else were under way.
        let ready = [SEND, RECV].map(|late_end| {
            late[late_end][end].map(|lateness| ([send, recv][late_end].start_s + lateness.all_s, late_end, lateness))
        });
        let possible = ready.into_iter().flatten().filter(|(ready_s, ..)| *ready_s <= event.end_s + slack_s);
        let Some((ready_s, late_end, lateness)) =
            possible.max_by_key(|(ready_s, late_end, _)| (ready_s.to_bits(), Reverse(*late_end)))
        else {
            // The rank continues before the message has left.
            return Ok(PathStep::at_rank(event, [(PathPart::Overhead, event.end_s - event.start_s)]));
        };
        let first = [send, recv][late_end];
        let mut parts_s: Parts = HALF_COSTS.into_iter().zip(lateness.parts_s).collect();
        let waiting_s = event.end_s - ready_s;
        if waiting_s > slack_s {
            let delay_s = messages.delay_s(is_first, send, recv)?[end];
            let fault_s = if delay_s < waiting_s - slack_s { delay_s } else { waiting_s };
            parts_s.extend([(PathPart::Fault, fault_s), (PathPart::Waiting, waiting_s - fault_s)]);
        }
        let rest_s = event.end_s - first.start_s - parts_s.values().sum::<f64>();
        // The rest of a message without bytes is rounding.
        let longest = || parts_s.iter().max_by(|one, other| one.1.total_cmp(other.1)).map(|(part, _)| *part);
        let part = if send.bytes > 0.0 { PathPart::Bandwidth } else { longest().unwrap_or(PathPart::Latency) };
        *parts_s.entry(part).or_insert(0.0) += rest_s;
        Ok(PathStep { event, from_rank: first.rank, start_s: first.start_s, parts_s })
    }
}

const SEND: usize = 0;
const RECV: usize = 1;

/// A message alone, of which one end is late: the time from there until an end is done, and what of it are the costs of
/// `HALF_COSTS`.
#[derive(Clone, Copy)]
struct Lateness {
    all_s: f64,
    parts_s: [f64; 2],
}

/// For each late end, and each end of the message; none if that is done before the late end starts.
type Late = [[Option<Lateness>; 2]; 2];

/// What messages with the same times have in common: whether they are the first to a peer, their bytes, and their ranks or
/// the level of these, the number of ranks on their node, and whether the two are one.
type Kinship = (bool, usize, [usize; 3]);

/// Messages and work alone, each simulated once.
struct Messages<'a> {
    machines: &'a PathMachines,
    /// The machines with the faults, for first and later messages.
    faulty: Option<[Platform; 2]>,
    call: Call,
    late: HashMap<Kinship, Late>,
    works_s: HashMap<(Kind, usize), f64>,
}

impl<'a> Messages<'a> {
    fn new(machines: &'a PathMachines, ranks: usize, faults: &[Fault]) -> Result<Self> {
        let later = machines.later.as_ref().unwrap_or(&machines.first);
        let with_faults = |variants: &Variants| Ok::<_, Error>(variants.machine.with_faults(faults)?.into_owned());
        let faulty = if faults.is_empty() { None } else { Some([with_faults(&machines.first)?, with_faults(later)?]) };
        let call = Call { element_bytes: 1, ..Call::new(Collective::Broadcast, ranks, 0) };
        Ok(Self { machines, faulty, call, late: HashMap::new(), works_s: HashMap::new() })
    }

    fn variants(&self, is_first: bool) -> &'a Variants {
        self.machines.later.as_ref().filter(|_| !is_first).unwrap_or(&self.machines.first)
    }

    /// The times of a message alone between two ranks; pairs at the same distance share one simulation.
    fn late(&mut self, is_first: bool, ranks: [usize; 2], bytes: usize) -> Result<Late> {
        let variants = self.variants(is_first);
        let distance = match variants.machine.network.fabric() {
            Some(_) => [ranks[0], ranks[1], 0],
            None => {
                let within = variants.machine.network.within(ranks, self.call.ranks);
                let [level, on_node] = within.map_or([u32::MAX, 0], |one| [one.level, one.ranks_on_node]);
                [level as usize, on_node as usize, usize::from(ranks[0] == ranks[1])]
            }
        };
        let key = (is_first, bytes, distance);
        if let Some(late) = self.late.get(&key) {
            return Ok(*late);
        }
        let lone = Lone { ranks, waits_s: [0.0; 2], bytes };
        let [send_s, recv_s] = lone.ends_s(&self.call, &variants.machine)?;
        let wait_s = 2.0 * send_s.max(recv_s);
        let mut late = Late::default();
        for (late_end, of_end) in late.iter_mut().enumerate() {
            let mut lone = Lone { ranks, waits_s: [0.0; 2], bytes };
            lone.waits_s[late_end] = wait_s;
            *of_end = lone.lateness(&self.call, variants, wait_s)?;
        }
        self.late.insert(key, late);
        Ok(late)
    }

    /// How much later the ends of a message are with the faults, if it is alone.
    fn delay_s(&self, is_first: bool, send: &Record, recv: &Record) -> Result<[f64; 2]> {
        let Some(faulty) = &self.faulty else { return Ok([0.0; 2]) };
        let lone =
            Lone { ranks: [send.rank, recv.rank], waits_s: [send.start_s, recv.start_s], bytes: send.bytes as usize };
        // Alone, it may be on a link that goes down for good.
        let Ok(ends_s) = lone.ends_s(&self.call, &faulty[usize::from(!is_first)]) else { return Ok([0.0; 2]) };
        let without_s = lone.ends_s(&self.call, &self.variants(is_first).machine)?;
        Ok([SEND, RECV].map(|end| (ends_s[end] - without_s[end]).max(0.0)))
    }

    /// The time of a reduction or copy alone.
    fn work_s(&mut self, kind: Kind, bytes: usize) -> Result<f64> {
        if let Some(work_s) = self.works_s.get(&(kind, bytes)) {
            return Ok(*work_s);
        }
        let records = records_of(&LoneWork { kind, bytes }, &self.call, &self.machines.first.machine)?;
        let work_s = records.iter().map(|one| one.end_s - one.start_s).sum();
        self.works_s.insert((kind, bytes), work_s);
        Ok(work_s)
    }
}

/// One message, of which the ends compute before: the send and the receive.
struct Lone {
    ranks: [usize; 2],
    waits_s: [f64; 2],
    bytes: usize,
}

impl Program for Lone {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let data = Span::new(Buffer::Result, self.bytes);
        let [source, destination] = self.ranks;
        let begin = async |end: usize| {
            if self.waits_s[end] > 0.0 {
                r.compute(self.waits_s[end]).await;
            }
        };
        let send = async {
            if r.rank() == source {
                begin(SEND).await;
                r.send(destination, data).await;
            }
        };
        let receive = async {
            if r.rank() == destination {
                begin(RECV).await;
                r.recv(source, data).await;
            }
        };
        r.join(send, receive).await;
    }
}

impl Lone {
    /// When the send and the receive are done.
    fn ends_s(&self, call: &Call, platform: &Platform) -> Result<[f64; 2]> {
        let records = records_of(self, call, platform)?;
        let end_s = |kind| records.iter().find(|one| one.kind == kind).map_or(0.0, |one| one.end_s);
        Ok([Kind::Send, Kind::Recv].map(end_s))
    }

    /// What each end takes from the start of the late end on.
    fn lateness(&self, call: &Call, variants: &Variants, wait_s: f64) -> Result<[Option<Lateness>; 2]> {
        let ends_s = self.ends_s(call, &variants.machine)?;
        let mut parts_s = [[0.0; 2]; 2];
        for (number, platform) in variants.with_half.iter().enumerate() {
            let less_s = platform.as_ref().map_or(Ok(ends_s), |platform| self.ends_s(call, platform))?;
            for end in [SEND, RECV] {
                parts_s[end][number] = 2.0 * (ends_s[end] - less_s[end]);
            }
        }
        let lateness = |end: usize| Lateness { all_s: ends_s[end] - wait_s, parts_s: parts_s[end] };
        Ok([SEND, RECV].map(|end| (ends_s[end] >= wait_s).then(|| lateness(end))))
    }
}

/// One reduction or copy, on rank 0.
struct LoneWork {
    kind: Kind,
    bytes: usize,
}

impl Program for LoneWork {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let [source, target] = [Buffer::Input, Buffer::Result].map(|buffer| Span::new(buffer, self.bytes));
        match self.kind {
            _ if r.rank() > 0 => (),
            Kind::Reduce => r.combine(source, target, Side::Right).await,
            _ => r.copy(source, target).await,
        }
    }
}

fn records_of(program: &impl Program, call: &Call, platform: &Platform) -> Result<Vec<Record>> {
    let options = Options { trace: true, ..Options::default() };
    Ok(hocket_simulate::simulate(program, call, platform, options)?.trace)
}
