//! One rank's part in the multicasts of one master.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::rc::Rc;

use hocket_algorithms::multicast::INLINE_BYTES;
use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Error, Result as Accepted, ensure};

use super::distribution;
use super::flight::{BAD_HEADER, COMPLETE, Flight, HEADER, NO_MEMORY, PAYLOAD, Place, Sky, tag};
use super::header::Header;
use super::members::Members;
use super::wire::{Event, LANE, Purpose, Wire};
use crate::buffers::Layout;
use crate::operation::{Operation, Progress};
use crate::transport::{Failure, Transport};

/// Number of multicasts with their own tags: the next one begins when the earliest of this many is complete.
pub const IN_FLIGHT: u64 = 256;
/// The largest number of bytes that the master has under way in several multicasts, and so that a member holds.
pub const MOST_BYTES_IN_FLIGHT: usize = 64 << 20;
/// The largest memory of released payloads that is kept for later ones, in bytes.
const MOST_BYTES_KEPT: usize = 64 << 20;

/// A multicast that was taken.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number in the domain, from 1 on.
    pub id: u64,
    /// Its payload, until it is released.
    pub data: *const u8,
    /// Size of the payload.
    pub bytes: usize,
    /// This rank's logical number.
    pub logical: usize,
    /// The receivers.
    pub members: Rc<Members>,
}

/// The result of checking for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A message has ended.
    News,
    /// No message has ended.
    Nothing,
    /// A function of the caller failed, or a message is invalid; all later calls fail.
    Failed(Failure),
}

/// A multicast at the master.
struct Issue {
    header: Header,
    payload: *const u8,
    message: Box<[u8]>,
    has_begun: bool,
    leaving: usize,
    is_complete: bool,
}

/// One rank's part; used by one thread at a time.
pub struct Domain {
    rank: usize,
    sky: Sky,
    rules: Rules,
    /// Buffer for the next header, for which a receive is always posted.
    incoming: Box<[u8]>,
    flights: BTreeMap<u64, Flight>,
    /// Number of multicasts taken here, modulo 2^32: the number of the next one.
    multicasts_taken: u32,
    offer: Option<(*mut u8, usize)>,
    spare_memory: Vec<Vec<u8>>,
    failure: Option<Failure>,
    issues: BTreeMap<u64, Issue>,
    waiting: VecDeque<u64>,
    last_id: u64,
    bytes_in_flight: usize,
    /// At the master, for each rank: the number of multicasts sent to it.
    sent: Vec<u32>,
}

impl Domain {
    /// Begins to listen as `rank` of `ranks` in the multicasts of `master`. Functions of `transport` are called with
    /// `user`.
    ///
    /// # Errors
    /// The code of a function that failed.
    pub fn new(
        (rank, ranks, master): (usize, usize, usize),
        rules: Rules,
        transport: Transport,
        user: *mut c_void,
    ) -> Result<Self, Failure> {
        let sky = Sky { wire: Rc::new(Wire::new(transport, user)), ranks, master, in_flight: IN_FLIGHT };
        let domain = Self {
            rank,
            sky,
            rules,
            incoming: vec![0; Header::most_bytes(ranks) + INLINE_BYTES].into(),
            flights: BTreeMap::new(),
            multicasts_taken: 0,
            offer: None,
            spare_memory: Vec::new(),
            failure: None,
            issues: BTreeMap::new(),
            waiting: VecDeque::new(),
            last_id: 0,
            bytes_in_flight: 0,
            sent: vec![0; if rank == master { ranks } else { 0 }],
        };
        domain.listen()?;
        Ok(domain)
    }

    fn listen(&self) -> Result<(), Failure> {
        let room = self.incoming.as_ptr().cast_mut();
        self.sky.wire.receive(Purpose::Header, room, self.incoming.len(), None, HEADER)
    }

    // The master

    /// Begins a multicast of `bytes` bytes at `payload`, which must stay there until it [has left](Self::has_left).
    /// Returns the number of the multicast; without members 0, which is always complete.
    ///
    /// # Errors
    /// A rank that is not the master, a bitmap with other ranks, or an algorithm that refuses.
    pub fn send(&mut self, bitmap: &[u8], payload: *const u8, bytes: usize) -> Accepted<u64> {
        let Sky { ranks, master, .. } = self.sky;
        ensure(self.rank == master, || {
            format!("rank {} sends a multicast, expected the master of the domain, rank {master}", self.rank)
        })?;
        let members = Members::new(bitmap, ranks).ok_or_else(|| {
            Error::new(format!("members: got ranks above {}, the last rank of the communicator", ranks - 1))
        })?;
        if members.is_empty() {
            return Ok(0);
        }
        let (algorithm, parameters) = distribution::choose(&self.rules, members.len(), bytes)?;
        let count = |rank: &u32| {
            let sent = &mut self.sent[*rank as usize];
            std::mem::replace(sent, sent.wrapping_add(1))
        };
        let earlier = members.ranks().iter().map(count).collect();
        self.last_id += 1;
        let header = Header {
            id: self.last_id,
            bytes,
            algorithm,
            parameters,
            is_inlined: bytes <= INLINE_BYTES,
            members: Rc::new(members),
            earlier,
        };
        let inline_payload = if header.is_inlined { slice(payload, bytes) } else { &[] };
        let message = header.encode(&header.earlier, ranks, inline_payload);
        let issue = Issue { header, payload, message, has_begun: false, leaving: 0, is_complete: false };
        self.issues.insert(self.last_id, issue);
        self.waiting.push_back(self.last_id);
        self.begin_those_that_may();
        Ok(self.last_id)
    }

    /// Whether the master's buffer is free again.
    pub fn has_left(&self, id: u64) -> bool {
        let is_here = |issue: &Issue| !issue.header.is_inlined && (!issue.has_begun || issue.leaving > 0);
        !self.issues.get(&id).is_some_and(is_here)
    }

    /// Whether every member has released the multicast.
    pub fn is_complete(&self, id: u64) -> bool {
        !self.issues.contains_key(&id)
    }

    /// Number of multicasts of this master that are not complete.
    pub fn incomplete(&self) -> usize {
        self.issues.len()
    }

    fn begin_those_that_may(&mut self) {
        while let Some(id) = self.waiting.front().copied() {
            let oldest = *self.issues.keys().next().expect("the waiting one is an issue");
            let bytes = self.issues[&id].header.bytes;
            let has_room = self.bytes_in_flight == 0 || self.bytes_in_flight + bytes <= MOST_BYTES_IN_FLIGHT;
            if id - oldest >= IN_FLIGHT || !has_room {
                return;
            }
            self.waiting.pop_front();
            self.bytes_in_flight += bytes;
            let outcome = self.begin(id);
            self.note(outcome);
        }
    }

    /// Sends a multicast to its first member.
    fn begin(&mut self, id: u64) -> Result<(), Failure> {
        let issue = self.issues.get_mut(&id).expect("it is an issue");
        issue.has_begun = true;
        let Header { bytes, is_inlined, .. } = issue.header;
        let (first, payload) = (issue.header.members.rank(0), slice(issue.payload, bytes));
        let wire = &self.sky.wire;
        wire.receive(Purpose::Complete(id), std::ptr::null_mut(), 0, Some(first), tag(id, COMPLETE, IN_FLIGHT))?;
        issue.leaving = 1;
        if first == self.rank {
            let header = issue.header.clone();
            return self.arrive(header, payload, true);
        }
        wire.send(Purpose::Issued(id), &issue.message, first, HEADER)?;
        if !is_inlined {
            issue.leaving = 2;
            wire.send(Purpose::Issued(id), payload, first, tag(id, PAYLOAD, IN_FLIGHT))?;
        }
        Ok(())
    }

    fn forget_if_over(&mut self, id: u64) {
        if self.issues.get(&id).is_some_and(|issue| issue.is_complete && issue.leaving == 0) {
            let issue = self.issues.remove(&id);
            self.bytes_in_flight -= issue.map_or(0, |issue| issue.header.bytes);
            self.begin_those_that_may();
        }
    }

    // The members

    /// Offers `room` to the next multicast if it has at most `bytes` bytes, until one is taken or the offer is
    /// [withdrawn](Self::withdraw). Returns false if there is an offer already.
    pub fn offer(&mut self, room: *mut u8, bytes: usize) -> bool {
        let is_free = self.offer.is_none();
        if is_free {
            self.offer = Some((room, bytes));
        }
        is_free
    }

    /// Withdraws the offer, if it has not been used.
    pub fn withdraw(&mut self) {
        self.offer = None;
    }

    /// The next multicast, if it has arrived.
    pub fn take(&mut self) -> Option<Message> {
        let multicasts_taken = self.multicasts_taken;
        let is_next = |flight: &&mut Flight| flight.is_to_take() && flight.header.earlier[0] == multicasts_taken;
        let flight = self.flights.values_mut().find(is_next).filter(|flight| flight.is_here())?;
        self.multicasts_taken = multicasts_taken.wrapping_add(1);
        self.offer = None;
        let Header { id, bytes, members, .. } = &flight.header;
        let (id, bytes, members, logical) = (*id, *bytes, members.clone(), flight.logical);
        Some(Message { id, data: flight.take(), bytes, logical, members })
    }

    /// Releases a multicast, and acknowledges it. Returns false if it was not taken or its group runs a program.
    pub fn release(&mut self, id: u64) -> bool {
        let Some(memory) = self.flights.get_mut(&id).and_then(Flight::release) else { return false };
        let spare_memory: usize = self.spare_memory.iter().map(Vec::capacity).sum();
        if memory.capacity() > 0 && spare_memory + memory.capacity() <= MOST_BYTES_KEPT {
            self.spare_memory.push(memory);
        }
        self.go_on(id);
        true
    }

    /// Number of multicasts that this rank has released and still has to acknowledge.
    pub fn acknowledgements_due(&self) -> usize {
        self.flights.values().filter(|flight| flight.is_released()).count()
    }

    /// Starts a collective over the group of a taken multicast, one at a time. Ranks and roots are logical numbers.
    ///
    /// # Errors
    /// A multicast that was not taken or whose group already runs a collective; a call that is invalid or refused.
    pub fn start(
        &mut self,
        id: u64,
        call: Call,
        layout: Layout,
        user: *mut c_void,
        buffers: (*mut u8, *mut u8),
    ) -> Accepted<()> {
        let flight = self.flights.get_mut(&id).ok_or_else(|| {
            Error::new(format!(
                "multicast {id}: unknown here, expected a multicast that this rank received and still holds"
            ))
        })?;
        let (rules, call) = (&self.rules, Call { ranks: flight.header.members.len(), ..call });
        let make = |logical| operation(rules, &call, layout, logical).map_err(|error| error.to_string());
        flight.begin(&self.sky, user, buffers, make).map_err(Error::new)?;
        self.go_on(id);
        Ok(())
    }

    /// The progress of the collective over the group of a multicast; `Done` if there is none.
    pub fn collective(&mut self, id: u64) -> Progress {
        match (self.failure, self.flights.get_mut(&id)) {
            (Some(failure), _) => Progress::Failed(failure),
            (None, Some(flight)) => flight.collective().unwrap_or(Progress::Done),
            (None, None) => Progress::Done,
        }
    }

    /// The algorithm that distributed a taken multicast.
    pub fn distribution(&self, id: u64) -> Option<&'static str> {
        let Header { algorithm, is_inlined, .. } = &self.flights.get(&id)?.header;
        if *is_inlined { Some("inlined") } else { Some(hocket_algorithms::CATALOGUE[*algorithm as usize].name) }
    }

    /// A header arrived, with its payload or before it. `is_local`: the payload is in this rank's memory.
    fn arrive(&mut self, header: Header, payload: &[u8], is_local: bool) -> Result<(), Failure> {
        let (id, bytes, is_inlined) = (header.id, header.bytes, header.is_inlined);
        let place = if is_local { Place::Borrowed(payload.as_ptr()) } else { self.place(&header)? };
        let at = place.at();
        let mut flight = Flight::new(&self.sky, self.rank, header, place, if is_inlined { payload } else { &[] })?;
        if is_inlined && !is_local {
            fill(at, payload);
        }
        if is_inlined || is_local || flight.logical > 0 {
            flight.distribute(&self.sky)?;
        } else {
            let from = Some(self.sky.master);
            self.sky.wire.receive(Purpose::Payload(id), at, bytes, from, tag(id, PAYLOAD, IN_FLIGHT))?;
        }
        if self.flights.insert(id, flight).is_some() {
            return Err(BAD_HEADER);
        }
        self.go_on(id);
        Ok(())
    }

    /// Copies the master's payload, which it distributed as the first member, to the place for taken multicasts.
    fn give_back(&mut self, id: u64) -> Result<(), Failure> {
        let Some((header, payload)) = self.flights.get(&id).and_then(|f| Some((f.header.clone(), f.borrows()?))) else {
            return Ok(());
        };
        let place = self.place(&header)?;
        fill(place.at(), slice(payload, header.bytes));
        if let Some(flight) = self.flights.get_mut(&id) {
            flight.put(place);
        }
        self.has_left_once(id);
        Ok(())
    }

    fn has_left_once(&mut self, id: u64) {
        self.issues.get_mut(&id).into_iter().for_each(|issue| issue.leaving -= 1);
        self.forget_if_over(id);
    }

    /// A place for the payload: the offered buffer if this is the next multicast and fits, else memory.
    fn place(&mut self, header: &Header) -> Result<Place, Failure> {
        if header.earlier.first() == Some(&self.multicasts_taken)
            && let Some((room, _)) = self.offer.take_if(|(_, bytes)| header.bytes <= *bytes)
        {
            return Ok(Place::Offered(room));
        }
        let fits = |memory: &Vec<u8>| memory.capacity() >= header.bytes && memory.capacity() / 4 <= header.bytes;
        let mut memory = match self.spare_memory.iter().position(fits) {
            Some(index) => self.spare_memory.swap_remove(index),
            None => Vec::new(),
        };
        memory.try_reserve_exact(header.bytes.saturating_sub(memory.len())).map_err(|_| NO_MEMORY)?;
        memory.resize(header.bytes, 0);
        Ok(Place::Owned(memory))
    }

    // Progress

    /// Takes ended messages and continues all multicasts. If it `may_wait` and no message has ended, waits for one.
    pub fn advance(&mut self, may_wait: bool) -> Outcome {
        if let Some(failure) = self.failure {
            return Outcome::Failed(failure);
        }
        let events = self.sky.wire.look(may_wait);
        let has_news = events.as_ref().is_ok_and(|events| !events.is_empty());
        let outcome = events.and_then(|events| events.into_iter().try_for_each(|event| self.handle(event)));
        self.note(outcome);
        match self.failure {
            Some(failure) => Outcome::Failed(failure),
            None if has_news => Outcome::News,
            None => Outcome::Nothing,
        }
    }

    fn handle(&mut self, Event { purpose, source, count }: Event) -> Result<(), Failure> {
        match purpose {
            Purpose::Header => {
                let message = self.incoming[..count].to_vec();
                self.listen()?;
                let (header, payload) = Header::decode(&message, self.sky.ranks).ok_or(BAD_HEADER)?;
                debug_assert!(header.members.logical(source).is_some() || source == self.sky.master);
                return self.arrive(header, payload, false);
            }
            Purpose::Payload(id) => {
                if let Some(flight) = self.flights.get_mut(&id) {
                    flight.distribute(&self.sky)?;
                }
                self.go_on(id);
            }
            Purpose::Ack(id) => {
                self.flights.get_mut(&id).into_iter().for_each(Flight::note_acknowledgement);
                self.go_on(id);
            }
            Purpose::Told(id) => {
                self.flights.get_mut(&id).into_iter().for_each(Flight::has_left);
                self.go_on(id);
            }
            Purpose::Program(lane, ..) => self.go_on(lane.id),
            Purpose::Complete(id) => {
                self.issues.get_mut(&id).into_iter().for_each(|issue| issue.is_complete = true);
                self.forget_if_over(id);
            }
            Purpose::Issued(id) => self.has_left_once(id),
        }
        Ok(())
    }

    /// Continues one multicast, and removes it if it is over.
    fn go_on(&mut self, id: u64) {
        let Some(flight) = self.flights.get_mut(&id) else { return };
        let outcome = flight.advance(&self.sky);
        if flight.is_over() {
            self.flights.remove(&id);
        }
        self.note(outcome);
        let outcome = self.give_back(id);
        self.note(outcome);
    }

    fn note(&mut self, outcome: Result<(), Failure>) {
        self.failure = self.failure.or(outcome.err());
    }
}

/// The algorithm that the rules choose for a collective over a group.
fn operation(rules: &Rules, call: &Call, layout: Layout, logical: usize) -> Accepted<Box<Operation>> {
    let (entry, call) = rules.decide(call, false)?;
    Ok(Box::new(Operation::new(entry, call, layout, logical, LANE)))
}

#[allow(unsafe_code)]
fn slice<'p>(payload: *const u8, bytes: usize) -> &'p [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the caller keeps the payload until the multicast has left.
    unsafe { std::slice::from_raw_parts(payload, bytes) }
}

#[allow(unsafe_code)]
fn fill(place: *mut u8, payload: &[u8]) {
    if !payload.is_empty() && place.cast_const() != payload.as_ptr() {
        // SAFETY: a place has room for its payload.
        unsafe { place.copy_from(payload.as_ptr(), payload.len()) };
    }
}
