//! One multicast at one member, from its header to its last acknowledgement.
//!
//! ```text
//! header ─▶ told the children ─▶ payload is here ─▶ taken ─▶ released ┐
//!                           └──▶ acknowledged by the children ────────┴─▶ acknowledged to the parent
//! ```

use std::ffi::c_void;
use std::rc::Rc;

use hocket_algorithms::shapes::BinomialTree;

use super::distribution;
use super::header::Header;
use super::wire::{LANE, Lane, Purpose, Wire};
use crate::buffers::Layout;
use crate::operation::{Operation, Progress};
use crate::transport::Failure;

/// Number of tags of one multicast; the tags of `IN_FLIGHT` multicasts follow each other from `FIRST_TAG` on.
pub const TAGS: u32 = 64;
/// The first tag and the number of tags of the distributing program, and of a program over the group.
pub const DISTRIBUTION: (u32, u32) = (0, 29);
pub const COLLECTIVE: (u32, u32) = (32, 29);
pub const PAYLOAD: u32 = 61;
const ACK: u32 = 62;
pub const COMPLETE: u32 = 63;
/// The tag of headers.
pub const HEADER: u32 = 0;
/// The first tag of the multicasts.
pub const FIRST_TAG: u32 = TAGS;

/// The failures of a domain: an invalid header, and no memory for a payload.
pub const BAD_HEADER: Failure = -2;
pub const NO_MEMORY: Failure = -4;

/// The layout of a payload of bytes.
const BYTES: Layout = Layout { extent: 1, true_lower_bound: 0, true_extent: 1 };

/// The place of a payload.
pub enum Place {
    /// In the caller's buffer.
    Offered(*mut u8),
    /// In the flight's own memory.
    Owned(Vec<u8>),
    /// In the master's buffer, if the master is the first member and distributes from there.
    Borrowed(*const u8),
}

impl Place {
    pub fn at(&self) -> *mut u8 {
        match self {
            Self::Offered(at) => *at,
            Self::Owned(memory) => memory.as_ptr().cast_mut(),
            Self::Borrowed(at) => at.cast_mut(),
        }
    }
}

/// The progress of the payload.
enum Stage {
    /// On its way from the master.
    Coming,
    /// On its way among the members.
    Distributed(Running),
    /// Arrived.
    Here,
}

/// Whether the caller has the payload.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PayloadState {
    No,
    Taken,
    Released,
}

/// A program among the members.
struct Running {
    operation: Box<Operation>,
    /// Keeps the operation's `user` alive.
    _lane: Rc<Lane>,
}

impl Running {
    fn start(mut operation: Box<Operation>, lane: Rc<Lane>, input: *mut u8, result: *mut u8) -> Self {
        operation.start(lane.as_user(), input, result);
        Self { operation, _lane: lane }
    }
}

/// One multicast at one member.
pub struct Flight {
    pub header: Header,
    pub logical: usize,
    place: Place,
    /// The rank to which this rank sends its acknowledgement.
    parent: usize,
    stage: Stage,
    payload_state: PayloadState,
    acks_missing: usize,
    /// Headers on their way to the children.
    headers: Vec<Box<[u8]>>,
    leaving: usize,
    has_acknowledged: bool,
    /// A program over the group, started by the caller.
    collective: Option<Running>,
}

/// The tag of a multicast's messages of one kind.
pub fn tag(id: u64, kind: u32, in_flight: u64) -> u32 {
    FIRST_TAG + (id % in_flight) as u32 * TAGS + kind
}

/// The domain's data that its flights need.
#[derive(Clone)]
pub struct Sky {
    pub wire: Rc<Wire>,
    pub ranks: usize,
    pub master: usize,
    /// Number of multicasts with their own tags.
    pub in_flight: u64,
}

impl Sky {
    fn lane(&self, header: &Header, (first, count): (u32, u32)) -> Rc<Lane> {
        let first = tag(header.id, first, self.in_flight);
        Lane::new(header.id, self.wire.clone(), header.members.clone(), (first, count))
    }
}

impl Flight {
    /// A multicast that this header announces to `rank`; `payload` came with it if it is inlined. Tells the children.
    pub fn new(sky: &Sky, rank: usize, header: Header, place: Place, payload: &[u8]) -> Result<Self, Failure> {
        let members = header.members.clone();
        let logical = members.logical(rank).ok_or(BAD_HEADER)?;
        let tree = BinomialTree::new(logical, 0, members.len());
        if header.earlier.len() != tree.subtree(logical).len() {
            return Err(BAD_HEADER);
        }
        let parent = tree.parent().map_or(sky.master, |parent| members.rank(parent));
        let mut flight = Self {
            header,
            logical,
            place,
            parent,
            stage: Stage::Coming,
            payload_state: PayloadState::No,
            acks_missing: 0,
            headers: Vec::new(),
            leaving: 0,
            has_acknowledged: false,
            collective: None,
        };
        flight.tell_children(sky, &tree, payload)?;
        Ok(flight)
    }

    fn tell_children(&mut self, sky: &Sky, tree: &BinomialTree, payload: &[u8]) -> Result<(), Failure> {
        let Header { id, members, earlier, .. } = &self.header;
        for child in tree.children().rev() {
            let message = self.header.encode(&earlier[tree.subtree(child)], sky.ranks, payload);
            let to = members.rank(child);
            sky.wire.receive(Purpose::Ack(*id), std::ptr::null_mut(), 0, Some(to), tag(*id, ACK, sky.in_flight))?;
            sky.wire.send(Purpose::Told(*id), &message, to, HEADER)?;
            self.headers.push(message);
            self.leaving += 1;
            self.acks_missing += 1;
        }
        Ok(())
    }

    /// Starts the distribution of the payload from its place, unless it came with its header.
    pub fn distribute(&mut self, sky: &Sky) -> Result<(), Failure> {
        let Header { algorithm, parameters, members, bytes, is_inlined, .. } = &self.header;
        if *is_inlined {
            self.stage = Stage::Here;
            return Ok(());
        }
        let algorithm_of_header = distribution::algorithm_of_header(*algorithm, parameters, members.len(), *bytes);
        let (entry, call) = algorithm_of_header.ok_or(BAD_HEADER)?;
        let lane = sky.lane(&self.header, DISTRIBUTION);
        let operation = Box::new(Operation::new(entry, call, BYTES, self.logical, LANE));
        self.stage = Stage::Distributed(Running::start(operation, lane, std::ptr::null_mut(), self.place.at()));
        Ok(())
    }

    /// Continues as far as possible.
    pub fn advance(&mut self, sky: &Sky) -> Result<(), Failure> {
        if let Stage::Distributed(running) = &mut self.stage {
            match running.operation.advance(false) {
                Progress::Waits => {}
                Progress::Done => self.stage = Stage::Here,
                Progress::Failed(failure) => return Err(failure),
            }
        }
        if let Some(running) = &mut self.collective
            && let Progress::Failed(failure) = running.operation.advance(false)
        {
            return Err(failure);
        }
        if self.payload_state == PayloadState::Released && self.acks_missing == 0 && !self.has_acknowledged {
            self.has_acknowledged = true;
            self.leaving += 1;
            let kind = if self.logical == 0 { COMPLETE } else { ACK };
            let id = self.header.id;
            sky.wire.send(Purpose::Told(id), &[], self.parent, tag(id, kind, sky.in_flight))?;
        }
        Ok(())
    }

    /// A header or an acknowledgement has left.
    pub fn has_left(&mut self) {
        self.leaving -= 1;
    }

    /// A child and all members below it in the tree have released the multicast.
    pub fn note_acknowledgement(&mut self) {
        self.acks_missing -= 1;
    }

    /// Whether the multicast is over at this member.
    pub fn is_over(&self) -> bool {
        self.has_acknowledged && self.leaving == 0
    }

    /// Whether the caller has not taken the payload yet.
    pub fn is_to_take(&self) -> bool {
        self.payload_state == PayloadState::No
    }

    /// Whether the caller has released the payload.
    pub fn is_released(&self) -> bool {
        self.payload_state == PayloadState::Released
    }

    /// Whether the caller can take the payload.
    pub fn is_here(&self) -> bool {
        matches!(self.stage, Stage::Here)
    }

    /// The master's buffer, if the payload is distributed and only has to be copied elsewhere.
    pub fn borrows(&self) -> Option<*const u8> {
        match self.place {
            Place::Borrowed(at) if self.is_here() => Some(at),
            _ => None,
        }
    }

    /// Changes the place of the payload.
    pub fn put(&mut self, place: Place) {
        self.place = place;
    }

    /// The caller takes the payload.
    pub fn take(&mut self) -> *const u8 {
        self.payload_state = PayloadState::Taken;
        self.place.at()
    }

    /// The caller releases the payload. Returns its memory, empty if it is the caller's; none if the caller does not
    /// have the payload, or a program is running over the group.
    pub fn release(&mut self) -> Option<Vec<u8>> {
        if self.payload_state != PayloadState::Taken || self.collective.is_some() {
            return None;
        }
        self.payload_state = PayloadState::Released;
        match std::mem::replace(&mut self.place, Place::Owned(Vec::new())) {
            Place::Owned(memory) => Some(memory),
            Place::Offered(_) | Place::Borrowed(_) => Some(Vec::new()),
        }
    }

    /// Starts a program over the group, made by `make` for this member's logical number.
    pub fn begin(
        &mut self,
        sky: &Sky,
        user: *mut c_void,
        (input, result): (*mut u8, *mut u8),
        make: impl FnOnce(usize) -> Result<Box<Operation>, String>,
    ) -> Result<(), String> {
        let refusal = match self.payload_state {
            PayloadState::Taken if self.collective.is_none() => None,
            PayloadState::Taken => Some("a collective of this group still runs, expected it to be complete"),
            _ => Some("not received yet, expected a multicast that this rank received and still holds"),
        };
        if let Some(reason) = refusal {
            return Err(format!("multicast {}: {reason}", self.header.id));
        }
        let lane = sky.lane(&self.header, COLLECTIVE);
        lane.set_user(user);
        self.collective = Some(Running::start(make(self.logical)?, lane, input, result));
        Ok(())
    }

    /// The progress of the program over the group, which is dropped when it is done.
    pub fn collective(&mut self) -> Option<Progress> {
        let progress = self.collective.as_mut()?.operation.advance(false);
        if progress == Progress::Done {
            self.collective = None;
        }
        Some(progress)
    }
}
