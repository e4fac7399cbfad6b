//! The verify world: a message is a symbolic expression. Is a program right, free of deadlock, deterministic, and the same
//! on all ranks to the last bit?
//!
//! A program is run with eager and with rendezvous sends. Each element of a buffer holds an expression that says which
//! contributions were combined in which order. Where the order of messages matters (any-source receives, `first`), every
//! order is tried when there are few, and a seeded sample when there are many.

mod check;
mod choices;
mod expression;
mod finding;
mod set;
mod world;

pub use choices::{Exploration, Limits};
pub use finding::{Counterexample, Kind, Verdict};
pub use world::check_room;

use choices::Choices;
use expression::Arena;
use hocket_core::{AnyProgram, Call, run};
use world::Symbolic;

/// Runs `program` symbolically and judges it, up to the first counterexample. The call must be valid, see
/// [`Call::check`].
pub fn verify(program: &dyn AnyProgram, call: &Call, limits: Limits) -> Verdict {
    let mut exploration = Exploration::Deterministic;
    let (mut overtaking, mut orders, mut decisions) = (0, 0, 0);
    let mut arena = Arena::new(call.commutative);
    for is_rendezvous in [false, true] {
        let mut choices = Choices::new(limits);
        let mut results = None;
        loop {
            let world = run(program, call, Symbolic::new(call, is_rendezvous, &mut arena, &mut choices));
            orders += 1;
            overtaking = overtaking.max(world.overtaking());
            let counterexample = world.finding().or_else(|| check::results(&world, &mut results));
            if let Some(counterexample) = counterexample {
                return Verdict {
                    counterexample: Some(counterexample),
                    exploration: choices.exploration(),
                    orders,
                    decisions: decisions + choices.decisions(),
                    overtaking,
                };
            }
            if !choices.advance() {
                break;
            }
        }
        decisions += choices.decisions();
        exploration = exploration.max(choices.exploration());
    }
    Verdict { counterexample: None, exploration, orders, decisions, overtaking }
}
