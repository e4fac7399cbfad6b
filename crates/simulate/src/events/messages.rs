//! Messages of the events engine: one record for each, from its send until it is delivered.

use crate::network::Parcel;

pub struct Message {
    pub from: u32,
    pub to: u32,
    /// Number of elements.
    pub len: usize,
    /// The properties on which its time depends.
    pub parcel: Parcel,
    /// The place in the sender's program where it was sent.
    pub position: u64,
    /// Of two messages of one sender, the later one has the higher number.
    pub number: u64,
    pub gap_packets: f32,
    pub is_posted: bool,
    pub stage: Stage,
    /// The ends that still need the record: the sender, until it is done or an event of its own tells that it is, and
    /// the receiver, until the message is delivered.
    pub ends_left: u8,
    /// When its request arrives, or when it has arrived; infinite while that is unknown.
    pub time_s: f64,
    /// When it left its sender, when it arrives if its receiver is ready, and the part of this time that does not depend
    /// on its size.
    pub left_s: f64,
    pub arrival_s: f64,
    pub latency_s: f64,
    /// When its last byte has passed the resources that ranks share; minus infinity if there are none.
    pub passed_s: f64,
    /// When its first byte can pass these resources, and later when it is at its receiver.
    pub first_s: f64,
    /// The slots of its send and of its receive. None of a send whose end another event tells, or of a receive that is not
    /// posted.
    pub sender_slot: Option<u32>,
    pub receiver_slot: Option<u32>,
}

/// How far a message has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A rendezvous waits for its receive.
    Requested,
    /// It waits for ports or an interface, or is on its way.
    UnderWay,
    /// It has arrived, or it is known when it will.
    Here,
}

impl Message {
    /// A message of the rank `from` to the rank `to`, whose sender waits in this slot.
    pub fn new([from, to]: [u32; 2], len: usize, parcel: Parcel, sender_slot: u32) -> Self {
        Self {
            from,
            to,
            len,
            parcel,
            position: 0,
            number: 0,
            gap_packets: 0.0,
            is_posted: false,
            stage: Stage::UnderWay,
            ends_left: 2,
            time_s: f64::INFINITY,
            left_s: f64::NAN,
            arrival_s: f64::NAN,
            latency_s: 0.0,
            passed_s: f64::NEG_INFINITY,
            first_s: f64::NAN,
            sender_slot: Some(sender_slot),
            receiver_slot: None,
        }
    }
}

/// All messages, by id. The ids of ended messages are reused.
#[derive(Default)]
pub struct Messages {
    all: Vec<Message>,
    free: Vec<u32>,
}

impl Messages {
    #[inline(always)]
    pub fn add(&mut self, message: Message) -> u32 {
        let id = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(id as usize) {
            Some(place) => *place = message,
            None => self.all.push(message),
        }
        id
    }

    #[inline(always)]
    pub fn get(&self, id: u32) -> &Message {
        &self.all[id as usize]
    }

    #[inline(always)]
    pub fn get_mut(&mut self, id: u32) -> &mut Message {
        &mut self.all[id as usize]
    }

    /// One end of the message is done with it.
    #[inline(always)]
    pub fn release(&mut self, id: u32) {
        let message = &mut self.all[id as usize];
        message.ends_left -= 1;
        if message.ends_left == 0 {
            self.free.push(id);
        }
    }

    /// Both ends are done with the message.
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }
}
