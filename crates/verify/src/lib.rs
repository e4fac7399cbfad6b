//! The verify world: a message is a symbolic expression. It checks whether a program is correct, free of deadlock,
//! deterministic, and equal on all ranks to the last bit.
//!
//! A program is run with eager and with rendezvous sends. Each element of a buffer holds an expression: the
//! contributions and the order of their combination. Where the order of messages matters (any-source receives,
//! `first`), all orders are tried if there are few, else a seeded sample.

mod check;
mod choices;
mod expression;
mod finding;
mod messages;
mod order;
mod set;
mod uses;
mod world;

pub use choices::{Exploration, Limits};
pub use expression::Order;
pub use finding::{Counterexample, Kind, Verdict};
pub use order::orders;
pub use world::check_room;

use choices::Choices;
use expression::Arena;
use hocket_core::{AnyProgram, Call, Result, run};
use messages::Messages;
use world::Symbolic;

/// Runs `program` symbolically and judges it, up to the first counterexample. The call must be valid, see
/// [`Call::check`]. The ranks of `second_program`, the same program, share no state: its first run must take the same steps.
///
/// # Errors
/// Too little memory for the expressions or the steps; `is_interrupted` returns true, or the deadline of the limits is
/// over; or a run takes too much work ([`hocket_core::Error::lateness`]).
pub fn verify(
    program: &dyn AnyProgram,
    second_program: Option<&dyn AnyProgram>,
    call: &Call,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Verdict> {
    let mut arena = Arena::new(call);
    let mut results = [None, None];
    let (mut overtaking, mut work) = (0, 0);
    let repetition = limits.runs_again.then_some((Kind::NotRepeatable, program));
    let mut further: Vec<_> = repetition
        .into_iter()
        .chain(second_program.map(|second_program| (Kind::SharedState, second_program)))
        .collect();
    let verdict = explore(&PROTOCOLS, limits, |is_rendezvous, choices| {
        let world = Symbolic::new(call, is_rendezvous, &mut arena, choices, is_interrupted);
        let world = run(program, call, world);
        world.check_ran()?;
        overtaking = overtaking.max(world.overtaking());
        work += world.work();
        let counterexample = world.finding().or_else(|| check::results(&world, &mut results));
        if counterexample.is_some() || further.is_empty() {
            return Ok(counterexample);
        }
        let first = world.step_records();
        let is_reversed = choices.exploration() == Exploration::Deterministic;
        for (kind, program) in further.drain(..) {
            let mut choices = Choices::new(limits);
            let world = Symbolic::new(call, is_rendezvous, &mut arena, &mut choices, is_interrupted);
            let world = run(program, call, world.in_reverse(is_reversed));
            world.check_ran()?;
            work += world.work();
            let counterexample = world.differs_from(&first, kind).or_else(|| check::results(&world, &mut results));
            if counterexample.is_some() {
                return Ok(counterexample);
            }
        }
        Ok(None)
    });
    Ok(Verdict { overtaking, work, ..verdict? })
}

/// Runs a program once, and returns the expected number of runs that [`verify`] takes, and of their decisions.
pub fn estimate_runs(
    program: &dyn AnyProgram,
    call: &Call,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<(usize, usize)> {
    let (mut arena, mut choices) = (Arena::new(call), Choices::new(limits));
    let world = run(program, call, Symbolic::new(call, false, &mut arena, &mut choices, is_interrupted));
    world.check_ran()?;
    if world.finding().is_some() {
        return Ok((1, choices.decisions()));
    }
    let (runs, decisions) = choices.expected();
    Ok((PROTOCOLS.len() * runs + usize::from(limits.runs_again), PROTOCOLS.len() * decisions))
}

/// Runs a schedule symbolically with eager sends, and judges its results as those of the call. All of its receives must
/// name their senders. Findings name tasks.
pub fn verify_tasks(
    schedule: &dyn AnyProgram,
    call: &Call,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Verdict> {
    let mut arena = Arena::new(call);
    explore(&PROTOCOLS[..1], limits, |is_rendezvous, choices| {
        let world = Symbolic::new(call, is_rendezvous, &mut arena, choices, is_interrupted).of_tasks();
        let world = run(schedule, call, world);
        world.check_ran()?;
        Ok(world.finding().or_else(|| check::results(&world, &mut [None, None])))
    })
}

/// Checks only the messages of a program, up to the first counterexample: a deadlock, a message that is left over, or
/// one that is longer than its receive. The call only gives the number of ranks and the size of elements. Where
/// `sends_wait`, sends are also rendezvous.
///
/// # Errors
/// `is_interrupted` returns true.
pub fn verify_messages(
    program: &dyn AnyProgram,
    call: &Call,
    sends_wait: bool,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Verdict> {
    explore(if sends_wait { &PROTOCOLS } else { &PROTOCOLS[..1] }, limits, |is_rendezvous, choices| {
        run(program, call, Messages::new(call, is_rendezvous, choices, is_interrupted)).finding()
    })
}

/// The exploration of a program. A program that is not repeatable has more orders than its decisions show.
fn exploration_of(verdict: &Verdict, choices: &Choices) -> Exploration {
    match &verdict.counterexample {
        Some(counterexample) if counterexample.kind == Kind::NotRepeatable => Exploration::Sampled,
        _ => choices.exploration(),
    }
}

/// Eager sends, then rendezvous sends.
const PROTOCOLS: [bool; 2] = [false, true];

/// Tries orders of messages, with sends that are rendezvous or not, up to the first counterexample.
fn explore(
    rendezvous: &[bool],
    limits: Limits,
    mut run: impl FnMut(bool, &mut Choices) -> Result<Option<Counterexample>>,
) -> Result<Verdict> {
    let exploration = Exploration::Deterministic;
    let mut verdict = Verdict { counterexample: None, exploration, orders: 0, decisions: 0, overtaking: 0, work: 0 };
    for is_rendezvous in rendezvous.iter().copied() {
        let mut choices = Choices::new(limits);
        loop {
            let counterexample = run(is_rendezvous, &mut choices)?;
            verdict.counterexample =
                counterexample.map(|counterexample| counterexample.with_details(choices.descriptions()));
            verdict.orders += 1;
            if verdict.counterexample.is_some() {
                verdict.exploration = exploration_of(&verdict, &choices);
                verdict.decisions += choices.decisions();
                return Ok(verdict);
            }
            if !choices.advance() {
                break;
            }
        }
        verdict.decisions += choices.decisions();
        verdict.exploration = verdict.exploration.max(choices.exploration());
    }
    Ok(verdict)
}
