//! Messages of the events engine, before and while they are on their way.

/// The facts about a message before it leaves.
#[derive(Clone, Copy)]
pub struct Envelope {
    pub from: u32,
    pub to: u32,
    pub len: usize,
    /// The place in the sender's program where the message was sent.
    pub position: u64,
    /// Of two messages of one sender, the later one has the higher number.
    pub number: u64,
    pub gap_packets: f32,
    pub is_posted: bool,
    /// As [`Within::is_switched`](crate::network::Within::is_switched).
    pub is_switched: bool,
    /// As [`Parcel::is_new`](crate::network::Parcel::is_new).
    pub is_new: bool,
}

/// A message on its way through a network with contention, an interface or a port.
#[derive(Clone, Copy)]
pub struct Flying {
    pub envelope: Envelope,
    pub left_s: f64,
    /// When its last byte has passed the resources that ranks share; minus infinity if there are none.
    pub passed_s: f64,
    /// When its first byte can pass these resources, and later when it is at its receiver.
    pub first_s: f64,
    pub sender_slot: Option<u32>,
    pub receiver_slot: Option<u32>,
    /// Its place in the mailboxes while it waits for its receive.
    pub place: Option<u32>,
    /// Number of milestones (sent, arrived) still ahead; either may come first.
    pub milestones_left: u8,
}

impl Flying {
    pub fn new(envelope: Envelope, left_s: f64, sender_slot: Option<u32>, receiver_slot: Option<u32>) -> Self {
        Self {
            envelope,
            left_s,
            passed_s: f64::NEG_INFINITY,
            first_s: f64::NAN,
            sender_slot,
            receiver_slot,
            place: None,
            milestones_left: 2,
        }
    }
}

/// A message that has no receive yet.
pub struct UnmatchedMessage {
    pub envelope: Envelope,
    /// The arrival time of the message, or of a rendezvous's request; infinite while unknown.
    pub time_s: f64,
    pub state: Delivery,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The arrival time is known.
    Known,
    /// The message is on its way, with this flight; an event will tell its arrival.
    Flying(u32),
    /// A rendezvous waits for its receive, and its sender waits in this slot.
    Rendezvous(u32),
}

/// Messages on their way, by index.
#[derive(Default)]
pub struct Flights {
    flying: Vec<Flying>,
    free: Vec<u32>,
}

impl Flights {
    #[inline(always)]
    pub fn add(&mut self, flying: Flying) -> u32 {
        let number = self.free.pop().unwrap_or(self.flying.len() as u32);
        match self.flying.get_mut(number as usize) {
            Some(place) => *place = flying,
            None => self.flying.push(flying),
        }
        number
    }

    #[inline(always)]
    pub fn get(&self, number: u32) -> &Flying {
        &self.flying[number as usize]
    }

    #[inline(always)]
    pub fn get_mut(&mut self, number: u32) -> &mut Flying {
        &mut self.flying[number as usize]
    }

    /// The message has passed a milestone. After the last one, the next message may reuse its index.
    #[inline(always)]
    pub fn pass(&mut self, number: u32) -> &Flying {
        let flying = &mut self.flying[number as usize];
        flying.milestones_left -= 1;
        if flying.milestones_left == 0 {
            self.free.push(number);
        }
        flying
    }

    pub fn remove(&mut self, number: u32) -> Flying {
        self.free.push(number);
        self.flying[number as usize]
    }
}
