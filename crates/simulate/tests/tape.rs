//! Programs that depend on chance in more than their times: the tape must refuse them, and events take over.

use hocket_core::{Call, Collective, Options as Send, Program, Rank, Source, Span, Winner};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Many, Options, Outcome, Platform, Trials, simulate_trials};

const EVERYWHERE: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"1 us\"\ndeviation = \"1 us\"\n\
    [noise.network]\nmodel = \"poisson\"\ninterval = \"2 us\"\nduration = \"1 us\"\n";
const ON_PROCESSORS: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"1 us\"\ndeviation = \"1 us\"\n";

fn platform(noise: &str) -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
    let text = format!(
        "name = \"test\"\n[network]\n{network}\nsend_overhead = \"0 s\"\n[node]\nports = \"unlimited\"\n{noise}"
    );
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn run(program: &impl Program, noise: &str, engine: Engine) -> hocket_core::Result<Many> {
    let call = Call::new(Collective::Broadcast, 4, 4000);
    let trials = Trials { seed: 3, count: 64, ..Trials::default() };
    simulate_trials(program, &call, &platform(noise), trials, Options { engine, ..Options::default() })
}

/// Checks that dataflow refuses the program with this sentence, and that events find what they find when asked for.
fn assert_left_to_events(program: &impl Program, noise: &str, sentence: &str) {
    let refusal = run(program, noise, Engine::Dataflow).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refusal, format!("the dataflow engine does not apply: {sentence}"));
    let found = run(program, noise, Engine::Auto).unwrap();
    assert_eq!(found.first.engine, "events");
    assert_eq!(found, run(program, noise, Engine::Events).unwrap());
}

fn assert_applies(program: &impl Program, noise: &str) {
    let dataflow = run(program, noise, Engine::Dataflow).unwrap();
    let first = Outcome { engine: "events", ..dataflow.first };
    assert_eq!(Many { first, ..dataflow }, run(program, noise, Engine::Events).unwrap());
}

/// Receives a message, and computes 1 us for each 1000 elements that came.
async fn digest(r: &Rank<'_>, from: usize, c: &Call) {
    let received = r.recv(from, c.result(r)).await;
    r.compute(received.len as f64 * 1e-9).await;
}

fn part(r: &Rank<'_>, c: &Call, len: usize) -> Span {
    c.result(r).part(0, len)
}

/// Ranks 1 and 2 compute and send to rank 0, whose branches each pass on to rank 3, which treats the two messages unlike.
struct Relay {
    tags: [u32; 2],
}

impl Program for Relay {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let relay = |from: usize, tag| async move {
            r.recv(from, c.result(r)).await;
            r.send_with(3, part(r, c, 1000 * from), Send { tag, ..Send::default() }).await;
        };
        match r.rank() {
            0 => drop(r.join(relay(1, self.tags[0]), relay(2, self.tags[1])).await),
            3 => {
                for tag in self.tags {
                    let received = r.recv_with(Source::Rank(0), c.result(r), tag).await;
                    r.compute(received.len as f64 * 1e-9).await;
                }
            }
            _ => {
                r.compute(2e-6).await;
                r.send(0, c.result(r)).await;
            }
        }
    }
}

#[test]
fn the_order_of_messages_must_not_depend_on_timing() {
    let sentence = "the order of messages with the same two ranks and tag depends on timing";
    assert_left_to_events(&Relay { tags: [0, 0] }, EVERYWHERE, sentence);
    assert_applies(&Relay { tags: [0, 1] }, EVERYWHERE);
}

/// Rank 0 passes on the message of rank 1 or 2, whichever comes first: as long as it says, or always as long.
struct PassesOnTheFirst {
    len_by_winner: [usize; 2],
}

impl Program for PassesOnTheFirst {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        match r.rank() {
            0 => {
                let (winner, rest) = r.first(r.recv(1, c.result(r)), r.recv(2, c.result(r))).await;
                let len = self.len_by_winner[usize::from(matches!(winner, Winner::B(_)))];
                r.send(3, part(r, c, len)).await;
                rest.await;
            }
            3 => digest(r, 0, c).await,
            _ => {
                r.compute(2e-6).await;
                r.send(0, c.result(r)).await;
            }
        }
    }
}

const BY_WINNER: &str = "the steps of the program after a first depend on which branch ended earlier";

#[test]
fn what_follows_a_first_must_not_depend_on_the_winner() {
    assert_left_to_events(&PassesOnTheFirst { len_by_winner: [1000, 2000] }, EVERYWHERE, BY_WINNER);
    assert_applies(&PassesOnTheFirst { len_by_winner: [1000, 1000] }, EVERYWHERE);
}

/// Rank 0 takes two messages from ranks 1 and 2 each, and tells rank 3 whether the same rank was first both times.
struct ComparesWinners;

impl Program for ComparesWinners {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let receive = |from, tag| async move { r.recv_with(Source::Rank(from), c.result(r), tag).await };
        match r.rank() {
            0 => {
                let (first, first_rest) = r.first(receive(1, 0), receive(2, 0)).await;
                let (second, second_rest) = r.first(receive(1, 1), receive(2, 1)).await;
                let are_alike = matches!((first, second), (Winner::A(_), Winner::A(_)) | (Winner::B(_), Winner::B(_)));
                r.send(3, part(r, c, if are_alike { 1000 } else { 3000 })).await;
                first_rest.await;
                second_rest.await;
            }
            3 => digest(r, 0, c).await,
            _ => {
                for tag in 0..2 {
                    r.compute(2e-6).await;
                    r.send_with(0, c.result(r), Send { tag, ..Send::default() }).await;
                }
            }
        }
    }
}

#[test]
fn nor_on_whether_two_winners_are_alike() {
    assert_left_to_events(&ComparesWinners, EVERYWHERE, BY_WINNER);
}

/// Rank 0 sends to rank 3 when the message of rank 1 is there, and in another branch when that of rank 2 is there, too. If
/// it comes first, both branches send at the same time, and the program has the other branch go first.
struct Ties;

impl Program for Ties {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let receive = |from, tag| async move { r.recv_with(Source::Rank(from), c.result(r), tag).await };
        let when_both_are_there = async {
            r.join(receive(1, 0), receive(2, 0)).await;
            r.send(3, part(r, c, 3000)).await;
        };
        let when_one_is_there = async {
            receive(1, 1).await;
            r.send(3, part(r, c, 1000)).await;
        };
        match r.rank() {
            0 => drop(r.join(when_both_are_there, when_one_is_there).await),
            3 => {
                r.send(2, Span::EMPTY).await;
                digest(r, 0, c).await;
                digest(r, 0, c).await;
            }
            1 => {
                r.compute(2e-6).await;
                let copy = |tag| r.send_with(0, c.result(r), Send { tag, ..Send::default() });
                r.join(copy(0), copy(1)).await;
            }
            _ => {
                r.recv(3, Span::EMPTY).await;
                r.compute(2e-6).await;
                r.send(0, c.result(r)).await;
            }
        }
    }
}

#[test]
fn branches_that_may_send_at_the_same_time_are_not_in_order() {
    let sentence = "the order of messages with the same two ranks and tag depends on timing";
    assert_left_to_events(&Ties, ON_PROCESSORS, sentence);
}

/// Rank 0 sends twice at the same time, one message after the other.
struct Successive;

impl Program for Successive {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        match r.rank() {
            0 => {
                r.send(3, part(r, c, 3000)).await;
                r.send(3, part(r, c, 1000)).await;
            }
            3 => {
                digest(r, 0, c).await;
                digest(r, 0, c).await;
            }
            _ => {}
        }
    }
}

#[test]
fn messages_of_one_branch_are_in_order_also_at_the_same_time() {
    assert_applies(&Successive, EVERYWHERE);
}

/// Rank 0 takes the earlier of two messages, and withdraws the other receive.
struct DropsTheRest;

impl Program for DropsTheRest {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        match r.rank() {
            0 => drop(r.first(r.recv(1, c.result(r)), r.recv(2, c.result(r))).await),
            3 => {}
            _ => {
                r.compute(2e-6).await;
                r.send(0, c.result(r)).await;
            }
        }
    }
}

/// Rank 0 takes what comes first.
struct TakesAny;

impl Program for TakesAny {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() > 0 {
            r.compute(2e-6).await;
            return r.send(0, part(r, c, 1000 * r.rank())).await;
        }
        for _ in 1..r.size() {
            let received = r.recv_any(c.result(r)).await;
            r.compute(received.len as f64 * 1e-9).await;
        }
    }
}

#[test]
fn what_only_the_order_of_time_decides_is_left_to_events() {
    let dropped = "the losing branch of a first is dropped, and its operations have to be undone";
    assert_left_to_events(&DropsTheRest, EVERYWHERE, dropped);
    assert_left_to_events(&TakesAny, EVERYWHERE, "a receive takes its message from any source");
}
