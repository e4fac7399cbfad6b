//! Matching of the collective calls of all ranks.

use hocket_algorithms::rules::Rules;
use hocket_core::{Error, Nodes, Result, Tag};
use rustc_hash::FxHashMap;

use super::application::Application;
use super::collectives::{CallArguments, Collectives, Disagreement, Instance, Resolver, Trouble};

/// The calls on all communicators: the n-th calls of all members of a communicator match.
pub struct CollectiveCalls {
    instances: Vec<MatchedCall>,
    communicators: Vec<Calls>,
}

/// The calls of one communicator.
#[derive(Default)]
struct Calls {
    /// The place of each member.
    places: FxHashMap<u32, u32>,
    instances: Vec<u32>,
}

/// One call: each member's data ([`NOTHING`] if it does not call), and the call's index among its calls.
struct MatchedCall {
    communicator: u32,
    arguments: Box<[u32]>,
    calls: Box<[u32]>,
}

const NOTHING: u32 = u32::MAX;

/// The number of collective calls of a rank on each communicator.
pub type Counts = FxHashMap<u32, u32>;

/// Number of tags of one call.
const TAGS: Tag = 64;
/// The first tag of collectives; tags of messages are lower.
const FIRST_TAG: Tag = 1 << 31;
/// Number of calls with tags of their own; calls this far apart are never under way at the same time.
const CALLS: usize = (FIRST_TAG / TAGS) as usize;

impl CollectiveCalls {
    pub fn new(communicators: &[Vec<usize>]) -> Self {
        let places = |members: &Vec<usize>| (0..).zip(members).map(|(place, member)| (*member as u32, place)).collect();
        let calls = |members| Calls { places: places(members), ..Calls::default() };
        Self { instances: Vec::new(), communicators: communicators.iter().map(calls).collect() }
    }

    /// Notes the next call of `rank` on a communicator. Returns the instance, and the place of the rank.
    pub fn tell(
        &mut self,
        application: &Application,
        rank: usize,
        counts: &mut Counts,
        (communicator, arguments): (u32, u32),
    ) -> (u32, u32) {
        let calls = &mut self.communicators[communicator as usize];
        let count = counts.entry(communicator).or_default();
        let number = *count;
        *count += 1;
        let place = calls.places[&(rank as u32)];
        if number as usize == calls.instances.len() {
            calls.instances.push(self.instances.len() as u32);
            let none: Box<[u32]> = vec![NOTHING; calls.places.len()].into();
            self.instances.push(MatchedCall { communicator, arguments: none.clone(), calls: none });
        }
        let instance = calls.instances[number as usize];
        let call = &mut self.instances[instance as usize];
        call.arguments[place as usize] = arguments;
        call.calls[place as usize] = application.ranks[rank].calls.len() as u32;
        (instance, place)
    }

    /// Chooses an algorithm for every call, and tags that keep the messages of calls apart.
    ///
    /// # Errors
    /// Members that disagree, or a call that is too large.
    pub fn resolve(
        self,
        application: &Application,
        arguments: &[CallArguments],
        rules: &Rules,
        nodes: &Nodes,
    ) -> Result<Collectives> {
        let mut resolver = Resolver::new(arguments, rules)?;
        let nodes: Vec<_> = application.communicators.iter().map(|members| nodes.select(members)).collect();
        let mut instances = Vec::with_capacity(self.instances.len());
        for (number, call) in self.instances.iter().enumerate() {
            if let Some(silent) = call.arguments.iter().position(|arguments| *arguments == NOTHING) {
                return Err(call.missing(application, silent));
            }
            let way = resolver
                .way(&call.arguments, &nodes[call.communicator as usize])
                .map_err(|trouble| call.trouble(application, trouble))?;
            let first_tag = FIRST_TAG + TAGS * (number % CALLS) as Tag;
            let is_started = arguments[call.arguments[0] as usize].is_started;
            instances.push(Instance { communicator: call.communicator, way, first_tag, is_started });
        }
        Ok(Collectives { instances, ways: resolver.ways })
    }
}

impl MatchedCall {
    /// The rank and the call of a member, as errors name it.
    fn describe(&self, application: &Application, place: usize) -> (usize, String) {
        let rank = application.communicators[self.communicator as usize][place];
        (rank, application.describe(rank, &application.ranks[rank].calls[self.calls[place] as usize]))
    }

    fn missing(&self, application: &Application, silent: usize) -> Error {
        let caller = self.arguments.iter().position(|arguments| *arguments != NOTHING).unwrap_or_default();
        let rank = application.communicators[self.communicator as usize][silent];
        Error::new(format!("{}, expected the same call on rank {rank}", self.describe(application, caller).1))
    }

    fn trouble(&self, application: &Application, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Call(error) => error.at(self.describe(application, 0).1),
            Trouble::Members(Disagreement { places: (first, other), expected, got }) => {
                let (call, rank) = (self.describe(application, other).1, self.describe(application, first).0);
                let line = application.ranks[rank].calls[self.calls[first] as usize].line;
                let line = if line > 0 { format!(", line {line}") } else { String::new() };
                Error::new(format!("{call}: got {got}, expected {expected} as on rank {rank}{line}"))
            }
        }
    }
}
