//! The times of a replay's calls, and the waiting in them.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::application::{Action, Application, BLOCKING};
use super::program::Times;

/// The use of time in a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Accounts {
    /// The times of calls, by function, the longest first.
    pub functions: Vec<FunctionUse>,
    /// The use of time of each rank.
    pub rank_uses: Vec<RankUse>,
    /// The algorithms of the collective calls.
    pub algorithms: Vec<AlgorithmUse>,
}

impl Accounts {
    pub(crate) fn new(application: &Application, times_s: &Times) -> Self {
        let (mut functions, rank_uses) = uses(application, times_s);
        functions.sort_by(|a, b| b.time_s.total_cmp(&a.time_s).then_with(|| a.function.cmp(&b.function)));
        Self { functions, rank_uses, algorithms: algorithms(application) }
    }
}

/// The times of the calls of one function, added up over all ranks.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionUse {
    /// The MPI function.
    pub function: String,
    /// Number of calls.
    pub calls: u64,
    /// The time inside the calls, in seconds.
    pub time_s: f64,
    /// The part of it spent waiting for other ranks, in seconds.
    pub waiting_s: f64,
}

/// The use of time of one rank.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RankUse {
    /// The time at its end, in seconds.
    pub time_s: f64,
    /// The time in MPI calls, in seconds.
    pub mpi_s: f64,
    /// The part of it spent waiting for other ranks, in seconds.
    pub waiting_s: f64,
}

/// The use of an algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct AlgorithmUse {
    /// The collective.
    pub collective: &'static str,
    /// The algorithm.
    pub algorithm: &'static str,
    /// Number of calls, each counted once per communicator.
    pub calls: u64,
}

/// When each message was sent, and when the last member had come to each collective call.
struct Others {
    sent_s: Vec<f64>,
    together_s: Vec<f64>,
}

impl Others {
    fn new(application: &Application, times_s: &Times) -> Self {
        let mut others = Self {
            sent_s: vec![0.0; application.messages.len()],
            together_s: vec![0.0; application.collectives.instances.len()],
        };
        for (rank, times_s) in times_s.iter().enumerate() {
            for (call, [start_s, _]) in application.ranks[rank].calls.iter().zip(times_s) {
                application.actions(rank, call).iter().for_each(|action| others.note(action, *start_s));
            }
        }
        others
    }

    fn note(&mut self, action: &Action, start_s: f64) {
        match *action {
            Action::Send { message, .. } | Action::Exchange { sent: message, .. } => {
                self.sent_s[message as usize] = start_s;
            }
            Action::Collective { instance, .. } => {
                let together_s = &mut self.together_s[instance as usize];
                *together_s = together_s.max(start_s);
            }
            _ => {}
        }
    }

    /// When the other ranks had done their part for an action.
    fn ready_s(&self, action: &Action) -> Option<f64> {
        match *action {
            Action::Receive { message, .. } | Action::Exchange { received: message, .. } => {
                Some(self.sent_s[message as usize])
            }
            Action::Collective { instance, .. } => Some(self.together_s[instance as usize]),
            _ => None,
        }
    }
}

/// The uses of calls and ranks.
fn uses(application: &Application, times_s: &Times) -> (Vec<FunctionUse>, Vec<RankUse>) {
    let others = Others::new(application, times_s);
    let function =
        |function: &String| FunctionUse { function: function.clone(), calls: 0, time_s: 0.0, waiting_s: 0.0 };
    let mut functions: Vec<_> = application.functions.iter().map(function).collect();
    let mut ranks = Vec::new();
    for (rank, times_s) in times_s.iter().enumerate() {
        let mut usage = RankUse::default();
        let mut ready_by_request = FxHashMap::default();
        for (call, [start_s, end_s]) in application.ranks[rank].calls.iter().zip(times_s) {
            let waiting_s = (ready_s(application, rank, &others, &mut ready_by_request, call) - start_s)
                .clamp(0.0, end_s - start_s);
            let of = &mut functions[call.function as usize];
            of.calls += 1;
            of.time_s += end_s - start_s;
            of.waiting_s += waiting_s;
            usage.mpi_s += end_s - start_s;
            usage.waiting_s += waiting_s;
            usage.time_s = *end_s;
        }
        ranks.push(usage);
    }
    functions.retain(|of| of.calls > 0);
    (functions, ranks)
}

/// When the other ranks had done all that a call waits for.
fn ready_s(
    application: &Application,
    rank: usize,
    others: &Others,
    ready_by_request: &mut FxHashMap<u32, f64>,
    call: &super::application::Call,
) -> f64 {
    let mut latest_s = 0.0_f64;
    for action in application.actions(rank, call) {
        match *action {
            Action::Wait { first, count } => {
                let requests = application.requests(rank, first, count).iter();
                latest_s = requests.filter_map(|request| ready_by_request.remove(request)).fold(latest_s, f64::max);
            }
            Action::Receive { request, .. } | Action::Collective { request, .. } if request != BLOCKING => {
                ready_by_request.extend(others.ready_s(action).map(|ready_s| (request, ready_s)));
            }
            _ => latest_s = others.ready_s(action).map_or(latest_s, |ready_s| latest_s.max(ready_s)),
        }
    }
    latest_s
}

/// The algorithms of the collective calls.
fn algorithms(application: &Application) -> Vec<AlgorithmUse> {
    let mut uses: Vec<AlgorithmUse> = Vec::new();
    for instance in &application.collectives.instances {
        let (collective, algorithm) = application.collectives.ways[instance.way as usize].names();
        match uses.iter_mut().find(|usage| (usage.collective, usage.algorithm) == (collective, algorithm)) {
            Some(usage) => usage.calls += 1,
            None => uses.push(AlgorithmUse { collective, algorithm, calls: 1 }),
        }
    }
    uses.sort_by_key(|usage| (usage.collective, usage.algorithm));
    uses
}
