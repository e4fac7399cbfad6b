//! Matching of the collective calls of all ranks.

use hocket_algorithms::rules::Rules;
use hocket_core::{Error, Nodes, Result, Tag};
use rustc_hash::FxHashMap;

use super::application::Application;
use super::collectives::{Collectives, Disagreement, Instance, Resolver, Said, Trouble};

/// The calls on all communicators: the n-th calls of all members of a communicator match.
pub struct Together {
    instances: Vec<Gathered>,
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
struct Gathered {
    communicator: u32,
    said: Box<[u32]>,
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

impl Together {
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
        made: &mut Counts,
        (communicator, said): (u32, u32),
    ) -> (u32, u32) {
        let calls = &mut self.communicators[communicator as usize];
        let count = made.entry(communicator).or_default();
        let number = *count;
        *count += 1;
        let place = calls.places[&(rank as u32)];
        if number as usize == calls.instances.len() {
            calls.instances.push(self.instances.len() as u32);
            let none: Box<[u32]> = vec![NOTHING; calls.places.len()].into();
            self.instances.push(Gathered { communicator, said: none.clone(), calls: none });
        }
        let instance = calls.instances[number as usize];
        let gathered = &mut self.instances[instance as usize];
        gathered.said[place as usize] = said;
        gathered.calls[place as usize] = application.ranks[rank].calls.len() as u32;
        (instance, place)
    }

    /// Chooses an algorithm for every call, and tags that keep the messages of calls apart.
    ///
    /// # Errors
    /// Members that disagree, or a call that is too large.
    pub fn resolve(
        self,
        application: &Application,
        said: &[Said],
        rules: &Rules,
        nodes: &Nodes,
    ) -> Result<Collectives> {
        let mut resolver = Resolver::new(said, rules)?;
        let nodes: Vec<_> = application.communicators.iter().map(|members| nodes.among(members)).collect();
        let mut instances = Vec::with_capacity(self.instances.len());
        for (number, gathered) in self.instances.iter().enumerate() {
            if let Some(silent) = gathered.said.iter().position(|said| *said == NOTHING) {
                return Err(gathered.missing(application, silent));
            }
            let way = resolver
                .way(&gathered.said, &nodes[gathered.communicator as usize])
                .map_err(|trouble| gathered.trouble(application, trouble))?;
            let first_tag = FIRST_TAG + TAGS * (number % CALLS) as Tag;
            let is_started = said[gathered.said[0] as usize].is_started;
            instances.push(Instance { communicator: gathered.communicator, way, first_tag, is_started });
        }
        Ok(Collectives { instances, ways: resolver.ways })
    }
}

impl Gathered {
    /// The rank and the call of a member, as errors name it.
    fn told(&self, application: &Application, place: usize) -> (usize, String) {
        let rank = application.communicators[self.communicator as usize][place];
        (rank, application.told(rank, &application.ranks[rank].calls[self.calls[place] as usize]))
    }

    fn missing(&self, application: &Application, silent: usize) -> Error {
        let caller = self.said.iter().position(|said| *said != NOTHING).unwrap_or_default();
        let rank = application.communicators[self.communicator as usize][silent];
        Error::new(format!("{}, expected the same call on rank {rank}", self.told(application, caller).1))
    }

    fn trouble(&self, application: &Application, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Call(error) => error.at(self.told(application, 0).1),
            Trouble::Members(Disagreement { places: (first, other), expected, got }) => {
                let (told, rank) = (self.told(application, other).1, self.told(application, first).0);
                let line = application.ranks[rank].calls[self.calls[first] as usize].line;
                let line = if line > 0 { format!(", line {line}") } else { String::new() };
                Error::new(format!("{told}: got {got}, expected {expected} as on rank {rank}{line}"))
            }
        }
    }
}
