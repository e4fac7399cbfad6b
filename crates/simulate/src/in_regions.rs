//! The events engine, with the regions of a network side by side.

use std::mem::take;
use std::panic::resume_unwind;
use std::thread;

use hocket_core::{Error, Result};

use crate::border::Border;
use crate::events::{self, Events, Run};
use crate::exchange::Exchange;
use crate::in_time::{InTime, Outcome};
use crate::network::{Network, Part, Regions};
use crate::options::Options;

/// The fewest ranks of a thread: with fewer, threads mostly wait for each other.
const RANKS_OF_A_THREAD: usize = 128;

/// The number of threads, of these, that are worth it for one simulation.
pub fn useful_threads(ranks: usize, threads: usize) -> usize {
    threads.min(ranks / RANKS_OF_A_THREAD).max(1)
}

/// Runs a program on up to `options.threads` threads.
///
/// # Errors
/// As [`events::run`].
pub fn run<N: Network + Sync>(run: &Run<'_, N>) -> Result<Outcome> {
    let Run { call, network, options, .. } = *run;
    let is_observed = options.trace || options.passages;
    let is_one = is_observed || network.resources().is_some();
    let shared_network = network.shared_network().filter(|_| options.threads > 1 && !is_one);
    if let Some(regions) = shared_network.and_then(|shared_network| shared_network.regions(call.ranks, options.threads))
    {
        let has_room = events::check_size(run.program, run.call, run.network, regions.count).is_ok();
        if has_room && let Some(outcome) = side_by_side(run, &regions)? {
            return Ok(outcome);
        }
    }
    events::run(run)
}

/// The run of [`run`], with the regions side by side. None if that is not possible or does not pay off: a receive from any
/// source, threads that the system refuses, a failure that one run has to explain.
fn side_by_side<N: Network + Sync>(run: &Run<'_, N>, regions: &Regions) -> Result<Option<Outcome>> {
    let Run { program, call, network, trial, node, options } = *run;
    let exchange = Exchange::new(regions.count, !options.keeps_threads);
    let in_region = |number: usize, is_interrupted: &dyn Fn() -> bool| {
        let part = Part { regions, number: number as u16 };
        let Options { shuffle, until_s, .. } = options;
        let of_region = Options { is_interrupted, shuffle, until_s, ..Options::default() };
        let events = Events::new(call, network, trial, &of_region).in_region(Border::new(part, &exchange));
        let world = InTime::new(call, call.ranks, events, node, network.post_s(), &of_region);
        let (events, _, outcome) = hocket_core::run(program, call, world).into_outcome("events");
        let links = events.into_links().inspect_err(|_| exchange.stop())?;
        Ok(Outcome { links, ..outcome })
    };
    let parts = thread::scope(|scope| {
        let begin = |number| thread::Builder::new().spawn_scoped(scope, move || in_region(number, &|| false));
        let others: Vec<_> = (1..regions.count).map_while(|number| begin(number).ok()).collect();
        if others.len() + 1 < regions.count {
            exchange.stop();
        }
        let own = in_region(0, options.is_interrupted);
        let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect::<Vec<_>>()
    });
    if (options.is_interrupted)() {
        return Err(Error::interruption());
    }
    let lateness = Error::lateness();
    if parts.iter().any(|part| part.as_ref() == Err(&lateness)) {
        return Err(lateness);
    }
    if exchange.has_stopped() {
        return Ok(None);
    }
    Ok(parts.into_iter().collect::<Result<Vec<_>>>().ok().map(|parts| merge(parts, regions)))
}

/// The outcome of all regions.
fn merge(mut parts: Vec<Outcome>, regions: &Regions) -> Outcome {
    let mut times: Vec<_> = parts.iter_mut().map(|part| take(&mut part.rank_times_s).into_iter()).collect();
    let rank_times_s = regions.of_ranks().filter_map(|region| times[region].next()).collect();
    let all = parts.into_iter().reduce(|one, other| one.with_region(other));
    Outcome { rank_times_s, ..all.unwrap_or_default() }
}
