//! Programs that only the events engine can time: any-source receives, `first`, and branches that compete.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use hocket_core::{Buffer, Call, Collective, Program, Rank, Source, Span, Winner};
use hocket_machine::Machine;
use hocket_record::{Action, Builder, Draft, Schedule, Wait};
use hocket_simulate::{Engine, Many, Options, Outcome, Platform, Trials, simulate, simulate_trials};
use proptest::prelude::*;

fn platform(network: &str) -> Platform {
    platform_of_nodes(network, "")
}

fn platform_of_nodes(network: &str, node: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\nreduce_bandwidth = \"1 GB/s\"\n{node}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
const LOGGP: &str = "model = \"loggp\"\nL = \"5 us\"\no = \"2 us\"\ng = \"3 us\"\nG = \"1 ns/B\"";
const UNLIMITED: &str = "ports = \"unlimited\"";

/// With unlimited ports.
fn hockney(protocol: &str) -> Platform {
    platform_of_nodes(&format!("{HOCKNEY}\nprotocol = \"{protocol}\""), UNLIMITED)
}

/// Networks without contention but for ports, and the keys of their nodes.
const APART: [(&str, &str); 13] = [
    ("protocol = \"eager\"", UNLIMITED),
    ("protocol = \"eager\"", "ports = 1"),
    ("protocol = \"eager\"", "ports = 2"),
    ("", UNLIMITED),
    ("", "ports = 1"),
    ("send_overhead = \"0.5 us\"", UNLIMITED),
    ("send_overhead = \"0.5 us\"", "ports = 1"),
    (LOCAL, UNLIMITED),
    (LOCAL, "ports = 2"),
    (LOCAL_IN_TURN, "ports = 1"),
    (LOCAL_LISTED, UNLIMITED),
    (LOGGP, ""),
    (LOGGP_LOCAL, ""),
];

/// Two ranks on a node, within which messages are faster.
const LOCAL: &str = "ranks_per_node = 2\nlocal.latency = \"0.3 us\"\nlocal.bandwidth = \"5 GB/s\"";
const LOCAL_IN_TURN: &str =
    "ranks_per_node = 3\nmap = \"cyclic\"\nlocal.latency = \"0.3 us\"\nlocal.bandwidth = \"5 GB/s\"";
const LOCAL_LISTED: &str =
    "map = [0, 1, 0, 2, 1, 0, 3, 2, 0, 1, 1, 0]\nlocal.latency = \"0.3 us\"\nlocal.bandwidth = \"5 GB/s\"";
const LOGGP_LOCAL: &str = "model = \"loggp\"\nL = \"5 us\"\no = \"2 us\"\ng = \"3 us\"\nG = \"1 ns/B\"\n\
                           ranks_per_node = 2\nlocal.L = \"0.3 us\"\nlocal.o_send = \"1 us\"\nlocal.o_receive = \"2 us\"\n\
                           local.G = \"0.5 ns/B\"\nlocal.both_ways = 1.7";

/// One of them, with noise or without.
fn apart(number: usize, noise: &str) -> Platform {
    let (keys, node) = APART[number];
    let network = if keys.starts_with("model") { keys.to_owned() } else { format!("{HOCKNEY}\n{keys}") };
    platform_of_nodes(&format!("{network}\n{noise}"), node)
}

fn run(program: &impl Program, ranks: usize, platform: &Platform, engine: Engine) -> hocket_core::Result<Outcome> {
    let call = Call::new(Collective::Broadcast, ranks, 1000);
    simulate(program, &call, platform, Options { engine, ..Options::default() })
}

/// Rank r computes r us and sends; rank 0 takes whatever comes first.
struct InOrderOfArrival(Mutex<Vec<usize>>);

impl Program for InOrderOfArrival {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() > 0 {
            r.compute((r.size() - r.rank()) as f64 * 1e-6).await;
            return r.send(0, c.result(r)).await;
        }
        for _ in 1..r.size() {
            let received = r.recv_any(c.result(r)).await;
            self.0.lock().unwrap().push(received.source as usize);
        }
    }
}

#[test]
fn a_receive_from_any_source_takes_the_earliest_arrival() {
    for protocol in ["eager", "rendezvous"] {
        let program = InOrderOfArrival(Mutex::default());
        let outcome = run(&program, 5, &hockney(protocol), Engine::Auto).unwrap();
        assert_eq!(outcome.engine, "events");
        assert_eq!(program.0.into_inner().unwrap(), [4, 3, 2, 1]);
        // Eager: rank 1 sends at 4 us, 1000 B take 2 us. Rendezvous: from 1 us on, four transfers of 2 us in a row.
        let expected = if protocol == "eager" { 6e-6 } else { 9e-6 };
        assert!((outcome.time_s() - expected).abs() < 1e-15, "{protocol}: {}", outcome.time_s());
    }
}

/// Networks in which messages meet: five nodes at a crossbar.
fn meeting(protocol: &str) -> [Platform; 3] {
    let models = ["model = \"links\"", "model = \"links\"\nsharing = \"fair\"", "model = \"packets\""];
    let shape = "topology = \"crossbar\"\nnodes = 5\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"500 ns\"";
    models.map(|model| platform(&format!("{model}\n{shape}\nprotocol = \"{protocol}\"")))
}

/// Where messages meet nobody knows before when one arrives: the receive learns of it then. Two links take 1 us, and 1000 B
/// take 1 us: messages follow each other at once, and from 1 us on if they have to ask.
#[test]
fn a_receive_from_any_source_takes_the_earliest_arrival_where_messages_meet() {
    for (protocol, expected) in [("eager", 6e-6), ("rendezvous", 9e-6)] {
        for platform in meeting(protocol) {
            let program = InOrderOfArrival(Mutex::default());
            let outcome = run(&program, 5, &platform, Engine::Auto).unwrap();
            assert_eq!(program.0.into_inner().unwrap(), [4, 3, 2, 1]);
            assert!((outcome.rank_times_s[0] - expected).abs() < 1e-14, "{protocol}: {}", outcome.rank_times_s[0]);
        }
    }
}

/// Branches wait for what another one does, once for each or once for all: all go on.
struct WaitForAnother {
    waiting: usize,
    by_tokens: bool,
}

impl Program for WaitForAnother {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let (tokens, earliest) = (r.tokens(0), r.earliest(1));
        let wait = async || {
            if self.by_tokens {
                tokens.take().await
            } else {
                earliest.wait().await
            }
            r.compute(1e-6).await;
        };
        let act = async {
            r.compute(2e-6).await;
            if self.by_tokens {
                tokens.put()
            } else {
                earliest.offer(())
            }
            r.compute(3e-6).await;
            if self.by_tokens {
                (1..self.waiting).for_each(|_| tokens.put());
            }
        };
        r.join(r.join_all((0..self.waiting).map(|_| wait())), act).await;
    }
}

#[test]
fn branches_that_wait_for_the_same_are_all_woken() {
    for (by_tokens, expected) in [(true, 6e-6), (false, 5e-6)] {
        for (engine, waiting) in [Engine::Dataflow, Engine::Events]
            .into_iter()
            .flat_map(|engine| [2, 3, 4, 7].map(|waiting| (engine, waiting)))
        {
            let outcome = run(&WaitForAnother { waiting, by_tokens }, 2, &hockney("eager"), engine).unwrap();
            assert!((outcome.time_s() - expected).abs() < 1e-15, "{engine:?}: {}", outcome.time_s());
        }
    }
}

/// A branch puts a token, and a later or an earlier one takes it. Counts the polls of both.
#[derive(Default)]
struct Handed {
    to_later: bool,
    polls: [AtomicU32; 2],
}

/// These steps, and how often they are polled.
async fn counted(polls: &AtomicU32, steps: impl Future<Output = ()>) {
    let mut steps = pin!(steps);
    poll_fn(|cx| {
        polls.fetch_add(1, Ordering::Relaxed);
        steps.as_mut().poll(cx)
    })
    .await;
}

impl Program for Handed {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let tokens = r.tokens(0);
        let put = async {
            r.compute(1e-6).await;
            tokens.put();
            r.compute(1e-6).await;
        };
        let take = async {
            tokens.take().await;
            r.compute(3e-6).await;
        };
        let (put, take) = (counted(&self.polls[0], put), counted(&self.polls[1], take));
        if self.to_later {
            r.join(put, take).await;
        } else {
            r.join(take, put).await;
        }
    }
}

#[test]
fn branches_are_polled_only_for_what_concerns_them() {
    // The putting branch: at its begin and at the ends of its steps. The taking one: at its begin, for the token, and at the
    // end of its step.
    for to_later in [true, false] {
        let program = Handed { to_later, ..Handed::default() };
        let outcome = run(&program, 1, &hockney("eager"), Engine::Events).unwrap();
        assert_eq!(program.polls.map(AtomicU32::into_inner), [3, 3], "to later: {to_later}");
        assert!((outcome.time_s() - 4e-6).abs() < 1e-15);
    }
}

/// The same with all receives at once, posted when some messages are there, some on their way, and some not sent.
struct ManyFromAny(Mutex<Vec<usize>>);

impl Program for ManyFromAny {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() > 0 {
            r.compute((r.size() - r.rank()) as f64 * 1e-6).await;
            return r.send(0, c.result(r)).await;
        }
        r.compute(3.5e-6).await;
        let receives = r.join_all((1..r.size()).map(|_| r.recv_any(c.result(r)))).await;
        *self.0.lock().unwrap() = receives.iter().map(|received| received.source as usize).collect();
    }
}

#[test]
fn receives_from_any_source_take_messages_in_the_order_of_arrival() {
    for ranks in [5, 2000] {
        let program = ManyFromAny(Mutex::default());
        let outcome = run(&program, ranks, &hockney("eager"), Engine::Auto).unwrap();
        assert!(program.0.into_inner().unwrap().into_iter().eq((1..ranks).rev()), "{ranks} ranks");
        // Rank 1 sends last, at P - 1 us; its message takes 2 us.
        let expected = (ranks + 1) as f64 * 1e-6;
        assert!((outcome.rank_times_s[0] - expected).abs() < 1e-12, "{ranks} ranks: {:?}", outcome.rank_times_s[0]);
    }
}

/// All messages are there before the first is asked for, so that each receive finds all that are left.
struct AllAtOnce;

impl Program for AllAtOnce {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() > 0 {
            return r.send(0, c.result(r)).await;
        }
        for _ in 1..r.size() {
            r.recv_any(c.result(r)).await;
        }
    }
}

#[test]
fn many_messages_from_any_source_take_time_that_grows_with_their_square_only() {
    // An effort of P^3 takes minutes here.
    let outcome = run(&AllAtOnce, 5000, &hockney("eager"), Engine::Events).unwrap();
    assert!((outcome.time_s() - 2e-6).abs() < 1e-15, "{}", outcome.time_s());
}

/// The message of rank 1 is taken by the receive from any rank; the second message of rank 2 is sent before its first one
/// is there.
struct OneAfterAnother(Mutex<[usize; 2]>);

impl Program for OneAfterAnother {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (whole, empty) = (c.result(r), c.result(r).part(0, 0));
        match r.rank() {
            0 => {
                let (_, first) = r.join(r.recv_any(whole), r.recv(2, whole)).await;
                let second = r.recv(2, whole).await;
                *self.0.lock().unwrap() = [first.len, second.len];
            }
            1 => r.send(0, empty).await,
            _ => {
                let later = async {
                    r.compute(1.5e-6).await;
                    r.send(0, empty).await;
                };
                r.join(r.send(0, whole), later).await;
            }
        }
    }
}

#[test]
fn a_message_does_not_overtake_one_on_its_way() {
    let program = OneAfterAnother(Mutex::default());
    run(&program, 3, &hockney("eager"), Engine::Auto).unwrap();
    assert_eq!(program.0.into_inner().unwrap(), [1000, 0]);
}

/// Rank 0 takes the message of rank 1 or that of rank 2, whichever comes first, and later the other one.
struct FirstOfTwo {
    delay_s: f64,
    winner: OnceLock<usize>,
}

impl Program for FirstOfTwo {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        match r.rank() {
            0 => {
                let (a, b) = (r.scratch(1000), r.scratch(1000));
                let (winner, rest) = r.first(r.recv(1, a), r.recv(2, b)).await;
                let source = match winner {
                    Winner::A(received) | Winner::B(received) => received.source,
                };
                self.winner.set(source as usize).unwrap();
                r.send(3, c.result(r)).await;
                rest.await;
            }
            1 => {
                r.compute(self.delay_s).await;
                r.send(0, c.result(r)).await;
            }
            2 => {
                r.compute(5e-6).await;
                r.send(0, c.result(r)).await;
            }
            _ => {
                r.recv(0, c.result(r)).await;
            }
        }
    }
}

#[test]
fn first_goes_on_at_the_earlier_of_its_branches() {
    for (delay_s, winner) in [(1e-6, 1), (9e-6, 2)] {
        let program = || FirstOfTwo { delay_s, winner: OnceLock::new() };
        let platform = hockney("eager");
        let (events, dataflow) = (program(), program());
        let outcome = run(&events, 4, &platform, Engine::Events).unwrap();
        assert_eq!(events.winner.get(), Some(&winner));
        // The earlier message is there at min(delay, 5 us) + 2 us; passing it on takes 2 us.
        let passed_on = delay_s.min(5e-6) + 4e-6;
        assert!((outcome.rank_times_s[3] - passed_on).abs() < 1e-15, "{:?}", outcome.rank_times_s);
        let same = run(&dataflow, 4, &platform, Engine::Dataflow).unwrap();
        assert_eq!(same.rank_times_s, outcome.rank_times_s);
    }
}

/// Rank 0 takes the earlier of two messages, and then another one of the rank that came second.
struct DropsTheRest;

impl Program for DropsTheRest {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        match r.rank() {
            0 => {
                let (a, b) = (r.scratch(1000), r.scratch(1000));
                drop(r.first(r.recv(1, a), r.recv(2, b)).await);
                r.recv(2, b).await;
            }
            1 => r.send(0, c.result(r)).await,
            _ => {
                r.compute(5e-6).await;
                r.send(0, c.result(r)).await;
                r.compute(5e-6).await;
                r.send(0, c.result(r)).await;
            }
        }
    }
}

#[test]
fn a_dropped_rest_leaves_its_message_to_the_next_receive() {
    // The first message of rank 2 is there at 5 + 2 us; dataflow, which has let the rest receive it, steps aside.
    let outcome = run(&DropsTheRest, 3, &hockney("eager"), Engine::Auto).unwrap();
    assert_eq!(outcome.engine, "events");
    assert!((outcome.rank_times_s[0] - 7e-6).abs() < 1e-15, "{:?}", outcome.rank_times_s);
}

/// Two branches of rank 0 compete for its processor: which of them comes first is known in the order of time only.
struct CompetingBranches;

impl Program for CompetingBranches {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() > 0 {
            r.compute(if r.rank() == 1 { 9e-6 } else { 0.0 }).await;
            return r.send(0, c.result(r)).await;
        }
        let branch = |from| async move {
            r.recv(from, c.result(r)).await;
            r.compute(10e-6).await;
        };
        r.join(branch(1), branch(2)).await;
    }
}

#[test]
fn branches_that_compete_for_a_processor_are_left_to_the_events_engine() {
    let loggp = platform("model = \"loggp\"\nL = \"5 us\"\no = \"2 us\"");
    let outcome = run(&CompetingBranches, 3, &loggp, Engine::Auto).unwrap();
    assert_eq!(outcome.engine, "events");
    // From 2: there at 7 us, taken in until 9 us, computes until 19 us. From 1: there at 16 us, waits for the processor,
    // taken in until 21 us, computes until 31 us.
    assert!((outcome.time_s() - 31e-6).abs() < 1e-15, "{}", outcome.time_s());
    let refusal = run(&CompetingBranches, 3, &loggp, Engine::Dataflow).unwrap_err().to_string();
    assert!(refusal.starts_with("the dataflow engine does not apply: "), "{refusal}");
}

struct Stuck;

impl Program for Stuck {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        r.recv((r.rank() + 1) % r.size(), c.result(r)).await;
    }
}

/// Ranks 0 and 1 of a node send to ranks 2 and 3 of another, both at 1 us; the lower one, or the other, gets there in two steps.
struct SharingAPort {
    lower_in_two_steps: bool,
}

impl Program for SharingAPort {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() >= 2 {
            r.recv(r.rank() - 2, c.result(r)).await;
            return;
        }
        let steps = if (r.rank() == 0) == self.lower_in_two_steps { 2 } else { 1 };
        for _ in 0..steps {
            r.compute(1e-6 / f64::from(steps)).await;
        }
        r.send(r.rank() + 2, c.result(r)).await;
    }
}

#[test]
fn ranks_of_a_node_take_its_ports_in_their_order() {
    for protocol in ["eager", "rendezvous"] {
        let platform = platform_of_nodes(&format!("{HOCKNEY}\nprotocol = \"{protocol}\"\n{LOCAL}"), "ports = 1");
        let times = [true, false].map(|lower_in_two_steps| {
            run(&SharingAPort { lower_in_two_steps }, 4, &platform, Engine::Events).unwrap().rank_times_s
        });
        assert_eq!(times[0], times[1], "{protocol}");
        assert!(times[0][2] < times[0][3], "{protocol}: {times:?}");
    }
}

#[test]
fn a_deadlock_is_an_error_that_says_who_waits() {
    let error = run(&Stuck, 3, &hockney("eager"), Engine::Auto).unwrap_err().to_string();
    assert_eq!(error, "deadlock: rank 0 waits for ever for a message from rank 1 (tag 0)");
}

#[test]
fn a_simulation_can_be_interrupted() {
    struct Endless;
    impl Program for Endless {
        async fn run(&self, r: &Rank<'_>, c: &Call) {
            loop {
                r.sendrecv(r.rank() ^ 1, c.result(r), r.rank() ^ 1, c.result(r)).await;
            }
        }
    }
    let call = Call::new(Collective::Broadcast, 2, 1);
    for engine in [Engine::Dataflow, Engine::Events] {
        let options = Options { engine, is_interrupted: &|| true, ..Options::default() };
        let error = simulate(&Endless, &call, &hockney("eager"), options).unwrap_err().to_string();
        assert_eq!(error, "interrupted");
    }
}

#[test]
fn a_rank_that_never_waits_can_be_interrupted() {
    struct RunsAhead;
    impl Program for RunsAhead {
        async fn run(&self, r: &Rank<'_>, _: &Call) {
            loop {
                r.compute(1e-9).await;
            }
        }
    }
    for engine in [Engine::Dataflow, Engine::Events] {
        let options = Options { engine, is_interrupted: &|| true, ..Options::default() };
        let call = Call::new(Collective::Broadcast, 2, 1);
        let error = simulate(&RunsAhead, &call, &hockney("eager"), options).unwrap_err().to_string();
        assert_eq!(error, "interrupted");
    }
}

/// Rank 2 computes for 3 us, and then for 1 us. Beside this, it sends to its neighbour on the node and to rank 0.
#[test]
fn a_send_that_waited_for_the_interface_comes_before_work_that_is_ready_then() {
    let nothing = Span::new(Buffer::Scratch, 0);
    let (send, receive) = (
        |to| Action::Send { to, tag: 0, data: nothing },
        Action::Recv { from: Source::Rank(2), tag: 0, into: nothing },
    );
    let work = |time_s| Action::Compute { time_s };
    let actions = [vec![receive], vec![], vec![work(3e-6), send(3), work(1e-6), send(0)], vec![receive]];
    let mut builder = Builder::default();
    for (rank, actions) in actions.into_iter().enumerate() {
        let waits = if rank == 2 { vec![Wait { task: 2, is_for_start: false, other: 0 }] } else { Vec::new() };
        builder.set(rank, &Draft { actions, waits }).unwrap();
    }
    let schedule = builder.schedule(vec![0; 4], 1);
    let run = |engine| run(&schedule, 4, &platform_of_nodes(LOGGP_LOCAL, ""), engine);
    // The first message leaves at 3 us, when the processor is free, and so is the interface then. The second message has
    // waited for it, and goes on before the other work: o + o + L after 4 us.
    assert!((run(Engine::Auto).unwrap().rank_times_s[0] - 13e-6).abs() < 1e-15);
    assert!(run(Engine::Dataflow).is_err(), "work and message are ready at the same time");
}

/// A random schedule: messages in one global order, every task waiting for some earlier tasks of its rank. So there is no
/// deadlock, but plenty of branches that run side by side, and messages of one pair with one tag.
pub fn schedules(ranks: usize) -> impl Strategy<Value = Schedule> {
    let message = (0..ranks, 0..ranks, 0..3_usize, 0..3_u32, any::<[u8; 2]>(), any::<bool>());
    prop::collection::vec(message, 1..4 * ranks - 2).prop_map(move |messages| {
        let mut ranks = vec![Draft::default(); ranks];
        let mut push = |rank: usize, action: Action, waits: u8| {
            let task = ranks[rank].push(action);
            let recent = (0..task).rev().take(8).enumerate();
            let others = recent.filter(|(bit, _)| waits >> bit & 1 == 1).map(|(_, other)| other);
            ranks[rank].waits.extend(others.map(|other| Wait { task, is_for_start: false, other }));
        };
        for (from, to, thousands, tag, [sender_waits, receiver_waits], computes) in messages {
            let span = Span::new(Buffer::Scratch, 1000 * thousands);
            if computes {
                push(from, Action::Compute { time_s: 1e-6 * f64::from(tag + 1) }, receiver_waits);
            }
            push(from, Action::Send { to: to as u32, tag: tag / 2, data: span }, sender_waits);
            push(to, Action::Recv { from: Source::Rank(from as u32), tag: tag / 2, into: span }, receiver_waits);
        }
        let mut builder = Builder::default();
        for (rank, draft) in ranks.iter_mut().enumerate() {
            draft.sort().unwrap();
            builder.set(rank, draft).unwrap();
        }
        builder.schedule(vec![0; ranks.len()], 1)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn engines_agree_on_whatever_dataflow_applies_to(schedule in schedules(4), network in 0..APART.len()) {
        let platform = apart(network, "");
        let events = run(&schedule, 4, &platform, Engine::Events);
        if let Ok(dataflow) = run(&schedule, 4, &platform, Engine::Dataflow) {
            prop_assert_eq!(Outcome { engine: "events", ..dataflow }, events.unwrap());
        }
    }
    #[test]
    fn engines_agree_under_noise(
        schedule in schedules(4), network in 0..APART.len(), [stalls, on_messages] in any::<[bool; 2]>(),
    ) {
        let overlap = if stalls { "stall" } else { "arrival" };
        let os = format!("[noise.os]\nmodel = \"periodic\"\nperiod = \"3 us\"\nduration = \"1 us\"\noverlap = \"{overlap}\"");
        let messages = "[noise.network]\nmodel = \"poisson\"\ninterval = \"3 us\"\nduration = \"1 us\"";
        // Without noise on messages times are often equal.
        let messages = if on_messages { format!("{messages}\noverlap = \"{overlap}\"") } else { String::new() };
        let platform = apart(network, &format!("{os}\n{messages}"));
        let call = Call::new(Collective::Broadcast, 4, 1000);
        let many = |engine| {
            let trials = Trials { seed: 5, count: 8, ..Trials::default() };
            simulate_trials(&schedule, &call, &platform, trials, Options { engine, ..Options::default() })
        };
        if let Ok(dataflow) = many(Engine::Dataflow) {
            let first = Outcome { engine: "events", ..dataflow.first };
            prop_assert_eq!(Many { first, ..dataflow }, many(Engine::Events).unwrap());
        }
    }
}
