//! A slow and simple reference model: full packets of one time slot each, no latencies, one port.

use std::collections::VecDeque;

use hocket_machine::{Hop, Topology};

use hocket_simulate::Packets;

/// A message: from, to, packets.
pub type Transfer = (usize, usize, u32);

/// A packet: its message and its number of hops so far.
type Packet = (usize, usize);

/// A buffer, or the packets that a node will send.
#[derive(Default)]
struct Queue {
    packets: VecDeque<Packet>,
    /// The slots until which leaving packets take room.
    leaving: Vec<u32>,
}

/// A router: its queues, and for each output the slot from which it is free and the queue whose turn is next.
struct Router {
    queues: Vec<usize>,
    outputs: Vec<(Option<usize>, u32, usize)>,
}

/// For each message, the slot at which its last packet has arrived.
pub fn arrivals(network: &Packets, orders: &[Transfer]) -> Vec<u32> {
    let (topology, channels) = (&network.fabric.topology, network.channels);
    let (links, mut left) = (topology.links(), orders.iter().map(|order| order.2).collect::<Vec<_>>());
    let mut queues: Vec<_> = (0..links * channels + topology.nodes()).map(|_| Queue::default()).collect();
    for (message, (from, _, packets)) in orders.iter().enumerate() {
        queues[links * channels + from].packets.extend((0..*packets).map(|_| (message, 0)));
    }
    let routes: Vec<_> = orders.iter().map(|(from, to, _)| route(&**topology, *from, *to)).collect();
    let mut routers: Vec<_> = (0..topology.nodes()).map(|node| router(&**topology, channels, node)).collect();
    let mut ends = vec![0; orders.len()];
    let mut now = 0;
    while left.iter().any(|left| *left > 0) {
        let mut moves = Vec::new();
        for router in &mut routers {
            for (link, free, turn) in router.outputs.iter_mut().filter(|(_, free, _)| *free <= now) {
                let can_leave = |place: &usize| {
                    let queue = &queues[router.queues[*place]];
                    let is_giving = queue.leaving.iter().any(|end| *end > now);
                    let Some((message, hops)) = queue.packets.front().filter(|_| !is_giving) else { return false };
                    let next = routes[*message].get(*hops);
                    next.map(|hop| hop.link as usize) == *link
                        && next.is_none_or(|hop| {
                            places_taken(&queues[buffer(hop, channels)], now) < network.buffer_packets
                        })
                };
                let mut places = (0..router.queues.len()).map(|step| (*turn + step) % router.queues.len());
                if let Some(place) = places.find(can_leave) {
                    (*free, *turn) = (now + 1, place + 1);
                    moves.push(router.queues[place]);
                }
            }
        }
        for queue in &moves {
            let (message, hops) = queues[*queue].packets.pop_front().unwrap();
            queues[*queue].leaving.push(now + 1);
            match routes[message].get(hops) {
                Some(hop) => queues[buffer(hop, channels)].packets.push_back((message, hops + 1)),
                None => (left[message], ends[message]) = (left[message] - 1, now + 1),
            }
        }
        now += u32::from(moves.is_empty());
    }
    ends
}

fn route(topology: &dyn Topology, from: usize, to: usize) -> Vec<Hop> {
    let mut hops = Vec::new();
    topology.route(from, to, &mut hops);
    hops
}

/// The router of a node: the buffers of incoming links and the port; outgoing links and the ejection.
fn router(topology: &dyn Topology, channels: usize, node: usize) -> Router {
    let links = || 0..topology.links();
    let incoming = links().filter(|link| topology.ends(*link).1 == node);
    let buffers = incoming.flat_map(|link| (0..channels).map(move |channel| link * channels + channel));
    let outgoing = links().filter(|link| topology.ends(*link).0 == node).map(Some);
    Router {
        queues: buffers.chain([topology.links() * channels + node]).collect(),
        outputs: outgoing.chain([None]).map(|output| (output, 0, 0)).collect(),
    }
}

fn buffer(hop: &Hop, channels: usize) -> usize {
    hop.link as usize * channels + usize::from(hop.channel)
}

/// Number of packets that take room in a buffer.
fn places_taken(queue: &Queue, now: u32) -> usize {
    queue.packets.len() + queue.leaving.iter().filter(|end| **end > now).count()
}
