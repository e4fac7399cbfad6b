//! Ports: limits on the messages that a node sends at a time, and receives at a time.
//!
//! A message holds a sending port of its sender from its start until its last byte has left, and a receiving port of
//! its receiver from its start until its last byte arrives. In the events engine, messages wait for ports ([`PortQueues`]).
//! The dataflow engine checks that none has to wait ([`Usage`]): in each direction, a node never has more messages under
//! way than ports, and has fewer of them at a time at which it has messages that take no time. These then find a free
//! port in any order of requests, and release it at once.

use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::clock::Clock;

/// For each node, the times at which its ports of one direction are free again.
pub struct Usage<C> {
    ports: usize,
    free: Vec<C>,
    /// The ports whose last message perhaps took no time.
    instant: FxHashSet<usize>,
}

impl<C: Clock> Usage<C> {
    /// Ports that are free from `start` on; nothing is noted without a limit.
    pub fn new(nodes: usize, limit: Option<usize>, start: C) -> Self {
        let ports = limit.unwrap_or(0);
        Self { ports, free: vec![start; nodes * ports], instant: FxHashSet::default() }
    }

    /// Notes a message that holds a port from `start` (not before `earliest`) to `end`. Returns false if it may wait.
    #[inline(always)]
    pub fn hold(&mut self, node: usize, earliest: C, start: C, end: impl FnOnce() -> C) -> bool {
        if self.ports == 0 {
            return true;
        }
        let end = end();
        if !end.exceeds(start) || !self.instant.is_empty() {
            return self.hold_beside_instant(node, earliest, start, end);
        }
        let is_free = |free: C| is_free(free, earliest, start);
        let port = if self.ports == 1 {
            Some(&mut self.free[node]).filter(|free| is_free(**free))
        } else {
            self.free[node * self.ports..][..self.ports].iter_mut().find(|free| is_free(**free))
        };
        let Some(port) = port else { return false };
        *port = end;
        true
    }

    /// The same, if this message, or an earlier one, perhaps takes no time.
    #[cold]
    fn hold_beside_instant(&mut self, node: usize, earliest: C, start: C, end: C) -> bool {
        let Self { ports, free, instant } = self;
        let is_apart = |port| !instant.contains(&port) || start.exceeds(free[port]) || end.is_at(start);
        let mut all = node * *ports..(node + 1) * *ports;
        let Some(port) = all.find(|port| is_free(free[*port], earliest, start) && is_apart(*port)) else {
            return false;
        };
        free[port] = end;
        if end.exceeds(start) {
            instant.remove(&port)
        } else {
            instant.insert(port)
        };
        true
    }
}

/// Whether a port that is free from `free` on is free at `start`. The order of a rank's own times, of which `earliest` is one,
/// takes fewer steps to prove than the order of two ranks' times.
#[inline(always)]
fn is_free<C: Clock>(free: C, earliest: C, start: C) -> bool {
    let is_after = |time: C| time.order(free).is_some_and(Ordering::is_ge);
    is_after(earliest) || is_after(start)
}

/// A message that asks for ports.
#[derive(Clone, Copy)]
pub struct Asking {
    pub from: u32,
    pub to: u32,
    /// The sender, and its message's number in the order of issue.
    pub order: (u32, u64),
    /// The engine's id of the message.
    pub id: u32,
}

/// Messages that wait for ports.
///
/// A message asks for a sending port as soon as it could start, and while holding it for a receiving port of its
/// receiver. Each is served in the order of requests; requests at one time are ordered by node, rank and program. A
/// message with both ports starts and waits for nothing more, so there is no deadlock.
pub struct PortQueues {
    sending: Vec<PortQueue>,
    receiving: Vec<PortQueue>,
    /// Messages that could start at the present time.
    asking: Vec<Asking>,
    /// Nodes that released a sending port at the present time, and nodes that released a receiving port.
    freed_nodes: [Vec<u32>; 2],
}

/// The ports of one direction of one node.
struct PortQueue {
    free: usize,
    waiting: VecDeque<Asking>,
}

impl PortQueue {
    /// Takes the next message that gets a port, if a message waits and a port is free.
    fn serve(&mut self) -> Option<Asking> {
        let next = if self.free > 0 { self.waiting.pop_front() } else { None };
        self.free -= usize::from(next.is_some());
        next
    }
}

impl PortQueues {
    /// Nodes with `ports` free ports in each direction.
    pub fn new(nodes: usize, ports: usize) -> Self {
        let lines = || (0..nodes).map(|_| PortQueue { free: ports, waiting: VecDeque::new() }).collect();
        Self { sending: lines(), receiving: lines(), asking: Vec::new(), freed_nodes: [Vec::new(), Vec::new()] }
    }

    /// A message could start now.
    pub fn ask(&mut self, message: Asking) {
        self.asking.push(message);
    }

    /// A message has left this node.
    pub fn sent(&mut self, node: u32) {
        self.sending[node as usize].free += 1;
        self.freed_nodes[0].push(node);
    }

    /// A message has reached this node.
    pub fn received(&mut self, node: u32) {
        self.receiving[node as usize].free += 1;
        self.freed_nodes[1].push(node);
    }

    /// Whether [`PortQueues::decide`] may assign a port at the present time.
    pub fn is_undecided(&self) -> bool {
        !self.asking.is_empty() || self.freed_nodes.iter().any(|nodes| !nodes.is_empty())
    }

    /// Assigns ports after all other events of the present time; appends the messages that start.
    pub fn decide(&mut self, starting: &mut Vec<u32>) {
        let [mut senders, mut receivers] = std::mem::take(&mut self.freed_nodes);
        self.asking.sort_unstable_by_key(|message| (message.from, message.order));
        for message in self.asking.drain(..) {
            self.sending[message.from as usize].waiting.push_back(message);
            senders.push(message.from);
        }
        senders.sort_unstable();
        for sender in senders {
            while let Some(message) = self.sending[sender as usize].serve() {
                self.receiving[message.to as usize].waiting.push_back(message);
                receivers.push(message.to);
            }
        }
        receivers.sort_unstable();
        for receiver in receivers {
            starting.extend(std::iter::from_fn(|| self.receiving[receiver as usize].serve()).map(|message| message.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message that could start at `ready` and holds its ports for `length`.
    #[derive(Clone, Copy, Debug)]
    struct Message {
        ready: u64,
        from: u32,
        to: u32,
        length: u64,
    }

    const NODES: u32 = 4;

    /// When each message starts.
    fn starts(messages: &[Message], ports: usize) -> Vec<u64> {
        let (mut queues, mut starts) = (PortQueues::new(NODES as usize, ports), vec![u64::MAX; messages.len()]);
        let mut now = 0;
        while starts.contains(&u64::MAX) {
            for (number, Message { ready, from, to, length }) in messages.iter().enumerate() {
                if starts[number] != u64::MAX && starts[number] + length == now {
                    queues.sent(*from);
                    queues.received(*to);
                }
                if *ready == now {
                    queues.ask(Asking { from: *from, to: *to, order: (*from, number as u64), id: number as u32 });
                }
            }
            let mut starting = Vec::new();
            queues.decide(&mut starting);
            starting.into_iter().for_each(|id| starts[id as usize] = now);
            now += 1;
        }
        starts
    }

    /// The time from which fewer than `ports` of these messages hold their ports.
    fn free_from(mut ends: Vec<u64>, ports: usize) -> u64 {
        ends.sort_unstable();
        ends.len().checked_sub(ports).map_or(0, |index| ends[index])
    }

    proptest! {
        /// `decide` follows the rules as equations: a message gets a sending port when it is ready, its predecessors
        /// have theirs, and fewer of them than ports are under way; likewise its receiving port.
        #[test]
        fn messages_start_when_the_rules_say(
            messages in prop::collection::vec((0..6_u64, 0..NODES, 0..NODES, 1..4_u64), 1..24), ports in 1..4_usize,
        ) {
            let message = |(ready, from, to, length)| Message { ready, from, to, length };
            let messages: Vec<_> = messages.into_iter().map(message).collect();
            let starts = starts(&messages, ports);
            let end = |i: &usize| starts[*i] + messages[*i].length;

            let mut order: Vec<_> = (0..messages.len()).collect();
            order.sort_by_key(|i| (messages[*i].ready, messages[*i].from, *i));
            let mut sending = vec![0; messages.len()];
            for (place, i) in order.iter().enumerate() {
                let before: Vec<_> = order[..place].iter().copied().filter(|j| messages[*j].from == messages[*i].from).collect();
                let last = before.iter().map(|j| sending[*j]).max().unwrap_or(0);
                sending[*i] = messages[*i].ready.max(last).max(free_from(before.iter().map(end).collect(), ports));
            }
            order.sort_by_key(|i| (sending[*i], messages[*i].from, messages[*i].ready, *i));
            for (place, i) in order.iter().enumerate() {
                let before: Vec<_> = order[..place].iter().copied().filter(|j| messages[*j].to == messages[*i].to).collect();
                let last = before.iter().map(|j| starts[*j]).max().unwrap_or(0);
                let expected = sending[*i].max(last).max(free_from(before.iter().map(end).collect(), ports));
                prop_assert_eq!(starts[*i], expected, "message {} of {:?}", i, messages);
            }
        }

        /// A usage accepts messages in order as long as no node has more of them under way than ports, or as many beside
        /// one that takes no time.
        #[test]
        fn usage_tells_whether_messages_would_wait(
            lengths in prop::collection::vec((0..3_u32, 0..4_u32), 1..12), ports in 1..4_usize,
        ) {
            let (mut usage, mut start, mut ends) = (Usage::new(1, Some(ports), 0.0), 0.0, Vec::new());
            let mut instant = f64::NAN;
            for (pause, length) in lengths {
                start += f64::from(pause);
                let end = start + f64::from(length);
                let is_beside_instant = length > 0 && start == instant;
                let under_way = ends.iter().filter(|end| **end > start).count() + usize::from(is_beside_instant);
                instant = if length == 0 { start } else { instant };
                let is_held = usage.hold(0, start, start, || end);
                prop_assert_eq!(is_held, under_way < ports);
                if !is_held {
                    break;
                }
                ends.push(end);
            }
        }
    }
}
