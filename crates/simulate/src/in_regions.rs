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

#[cfg(test)]
mod tests {
    use hocket_core::{Buffer, Call, Collective, Program, Rank, Source, Span};
    use hocket_machine::{Machine, Noise};

    use super::*;
    use crate::clock::Trial;
    use crate::network::{Meeting, SharedNetwork};
    use crate::{NetworkModel, Platform};

    /// Data goes around a ring: every rank sends to the next one and receives from the one before, or from any.
    struct RingExchange {
        rounds: usize,
        is_from_any: bool,
    }

    impl Program for RingExchange {
        async fn run(&self, r: &Rank<'_>, _: &Call) {
            let (next, last) = ((r.rank() + 1) % r.size(), (r.rank() + r.size() - 1) % r.size());
            let from = if self.is_from_any { Source::Any } else { Source::Rank(last as u32) };
            for _ in 0..self.rounds {
                let receive = r.recv_with(from, Span::new(Buffer::Result, 1000), 0);
                r.join(r.send(next, Span::new(Buffer::Input, 1000)), receive).await;
            }
        }
    }

    #[test]
    fn regions_are_simulated_side_by_side_unless_a_rank_receives_from_any() {
        let models = ["links\"", "packets\"\npacket = \"600 B\"\nrouter_latency = \"0.2 us\""];
        for (model, is_from_any) in models.into_iter().flat_map(|model| [(model, false), (model, true)]) {
            let text = format!(
                "name = \"torus\"\n[network]\nmodel = \"{model}\ntopology = \"torus\"\ndims = [40]\n\
                 link_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"\n"
            );
            let platform = Platform::new(&Machine::parse(&text, "torus.toml").unwrap()).unwrap();
            let call = Call::new(Collective::Barrier, 40, 0);
            let program = RingExchange { rounds: 1000, is_from_any };
            let network_of_links: &dyn SharedNetwork = match &platform.network {
                NetworkModel::Links(links) => links,
                NetworkModel::Packets(packets) => packets,
                other => panic!("{other:?}"),
            };
            let network = &Meeting(network_of_links);
            let noise = Noise::default();
            let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
            let options = Options { keeps_threads: true, ..Options::default() };
            let run = Run { program: &program, call: &call, network, trial: &trial, node: &platform.node, options };
            let regions = network_of_links.regions(call.ranks, 3).unwrap();
            let outcome = side_by_side(&run, &regions).unwrap();
            let expected = events::run(&run).unwrap();
            if !is_from_any {
                let late = Run { options: Options { until_s: expected.time_s() / 2.0, ..options }, ..run };
                assert_eq!(side_by_side(&late, &regions), Err(Error::lateness()), "{model}");
            }
            assert_eq!(outcome, (!is_from_any).then_some(expected), "{model}, from any: {is_from_any}");
        }
    }
}
