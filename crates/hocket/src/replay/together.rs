//! Collective calls put together from what each rank tells of them.

use std::collections::BTreeSet;

use hocket_algorithms::rules::Rules;
use hocket_core::{Error, Result, Tag};
use rustc_hash::FxHashMap;

use super::application::{Application, BLOCKING};
use super::collectives::{Collectives, Disagreement, Instance, Resolver, Said, Trouble};

/// The calls of all communicators: the n-th of every member of a communicator is one.
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
    /// How far apart two calls can be that are under way at a time, where they are only started.
    window: u32,
}

/// One call, with what each member says, [`NOTHING`] if it does not call, and the number of the call among its own.
struct Gathered {
    communicator: u32,
    is_started: bool,
    said: Box<[u32]>,
    calls: Box<[u32]>,
}

const NOTHING: u32 = u32::MAX;

/// The collective calls that a rank has made, and those that it has started and not waited for.
#[derive(Default)]
pub struct Started {
    /// How many, on each communicator.
    counts: FxHashMap<u32, u32>,
    requests: FxHashMap<u32, (u32, u32)>,
    open: FxHashMap<u32, BTreeSet<u32>>,
}

impl Started {
    /// The rank has waited for this request.
    pub fn end(&mut self, request: u32) {
        if let Some((communicator, number)) = self.requests.remove(&request) {
            self.open.entry(communicator).or_default().remove(&number);
        }
    }

    /// The number of the next call on a communicator, and how far back the earliest call lies that is under way.
    fn next(&mut self, communicator: u32, request: u32) -> (u32, u32) {
        let count = self.counts.entry(communicator).or_default();
        let number = *count;
        *count += 1;
        if request == BLOCKING {
            return (number, 0);
        }
        self.requests.insert(request, (communicator, number));
        let open = self.open.entry(communicator).or_default();
        open.insert(number);
        (number, number - open.first().unwrap_or(&number) + 1)
    }
}

/// Tags of one call.
const TAGS: Tag = 64;
/// The first tag of collectives; those of messages are below.
const FIRST_TAG: Tag = 1 << 31;

impl Together {
    pub fn new(communicators: &[Vec<usize>]) -> Self {
        let places = |members: &Vec<usize>| (0..).zip(members).map(|(place, member)| (*member as u32, place)).collect();
        let calls = |members| Calls { places: places(members), ..Calls::default() };
        Self { instances: Vec::new(), communicators: communicators.iter().map(calls).collect() }
    }

    /// The next call of `rank` says something on a communicator: which instance it is, and the place of the rank.
    pub fn tell(
        &mut self,
        application: &Application,
        rank: usize,
        started: &mut Started,
        (communicator, said, request): (u32, u32, u32),
    ) -> (u32, u32) {
        let calls = &mut self.communicators[communicator as usize];
        let (number, window) = started.next(communicator, request);
        calls.window = calls.window.max(window);
        let place = calls.places[&(rank as u32)];
        if number as usize == calls.instances.len() {
            calls.instances.push(self.instances.len() as u32);
            let none: Box<[u32]> = vec![NOTHING; calls.places.len()].into();
            let is_started = request != BLOCKING;
            self.instances.push(Gathered { communicator, is_started, said: none.clone(), calls: none });
        }
        let instance = calls.instances[number as usize];
        let gathered = &mut self.instances[instance as usize];
        gathered.said[place as usize] = said;
        gathered.calls[place as usize] = application.ranks[rank].calls.len() as u32;
        (instance, place)
    }

    /// Chooses an algorithm for every call, and tags: calls that are under way at a time have different ones.
    ///
    /// # Errors
    /// Members that do not agree, a call that is too large, or too many of them at a time.
    pub fn resolve(self, application: &Application, said: &[Said], rules: &Rules) -> Result<Collectives> {
        let blocks = self.communicators.iter().scan(0_u32, |end, calls| {
            let first = *end;
            *end = end.saturating_add(1 + calls.window);
            Some(first)
        });
        let blocks: Vec<_> = blocks.collect();
        if blocks.last().is_some_and(|last| *last >= FIRST_TAG / TAGS / 2) {
            return Err(Error::new(format!("{}: too many communicators and started collectives", application.file)));
        }
        let mut resolver = Resolver::new(said, rules)?;
        let mut numbers = vec![0; self.communicators.len()];
        let mut instances = Vec::with_capacity(self.instances.len());
        for gathered in &self.instances {
            let communicator = gathered.communicator as usize;
            let window = self.communicators[communicator].window;
            if let Some(silent) = gathered.said.iter().position(|said| *said == NOTHING) {
                return Err(gathered.missing(application, silent));
            }
            let way = resolver.way(&gathered.said, gathered.is_started);
            let way = way.map_err(|trouble| gathered.trouble(application, trouble))?;
            let block = if gathered.is_started { 1 + numbers[communicator] % window } else { 0 };
            numbers[communicator] += 1;
            let first_tag = FIRST_TAG + TAGS * (blocks[communicator] + block);
            let Gathered { communicator, is_started, .. } = *gathered;
            instances.push(Instance { communicator, way, first_tag, is_started });
        }
        Ok(Collectives { instances, ways: resolver.ways })
    }
}

impl Gathered {
    /// The call of the member at a place, as errors name it.
    fn told(&self, application: &Application, place: usize) -> (usize, String) {
        let rank = application.communicators[self.communicator as usize][place];
        (rank, application.told(rank, &application.ranks[rank].calls[self.calls[place] as usize]))
    }

    fn missing(&self, application: &Application, silent: usize) -> Error {
        let caller = self.said.iter().position(|said| *said != NOTHING).unwrap_or_default();
        let rank = application.communicators[self.communicator as usize][silent];
        Error::new(format!("{}, expected it on rank {rank} as well", self.told(application, caller).1))
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
