//! The check of the symmetry that a program declares: every rank does what the rank does that stands for it.

use std::collections::HashMap;

use hocket_core::{AnyProgram, Call, Error, Result, Source};
use hocket_record::{Action, Schedule, Wait, record};

/// Checks the symmetry of a program in a call on its schedule. A program without schedule or without symmetry passes, and
/// so does one that is symmetric but for copies.
///
/// # Errors
/// A rank does something else, as far as times depend on it.
pub fn check_symmetry(program: &dyn AnyProgram, call: &Call) -> Result<()> {
    let Some(symmetry) = program.symmetry(call, true).filter(|symmetry| symmetry.divides(call.ranks)) else {
        return Ok(());
    };
    let Ok(schedule) = record(program, call) else { return Ok(()) };
    let mut acts_by_rank = HashMap::new();
    let mut is_alike = |rank: usize| {
        let representative = symmetry.representative(rank);
        let its_acts = || acts(&schedule, representative, |peer| peer);
        let expected = &*acts_by_rank.entry(representative).or_insert_with(its_acts);
        rank == representative || acts(&schedule, rank, |peer| symmetry.image([peer, rank], call.ranks)[0]) == *expected
    };
    match (0..call.ranks).find(|rank| !is_alike(*rank)) {
        None => Ok(()),
        Some(rank) => Err(Error::new(format!(
            "the declared symmetry {symmetry:?} is wrong: of {} ranks, rank {rank} does not do what rank {} does",
            call.ranks,
            symmetry.representative(rank)
        ))),
    }
}

/// An action as far as times depend on it: kind, peer, tag, elements (or time), and whether a copy moves nothing.
type Act = (&'static str, Option<usize>, u32, u64, bool);

fn acts(schedule: &Schedule, rank: usize, image: impl Fn(usize) -> usize) -> (Vec<Act>, Vec<Wait>) {
    let tasks = schedule.tasks(rank);
    let act = |action: &Action| match *action {
        Action::Send { to, tag, data } => ("send", Some(image(to as usize)), tag, data.len as u64, false),
        Action::Recv { from, tag, into } => {
            let Source::Rank(from) = from else { return ("recv", None, tag, into.len as u64, false) };
            ("recv", Some(image(from as usize)), tag, into.len as u64, false)
        }
        Action::Combine { source, .. } => ("combine", None, 0, source.len as u64, false),
        Action::Copy { source, target } => ("copy", None, 0, source.len as u64, source == target),
        Action::Compute { time_s } => ("compute", None, 0, time_s.to_bits(), false),
    };
    (tasks.actions.iter().map(act).collect(), tasks.waits)
}
