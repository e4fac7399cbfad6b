//! Packets choose their ways, and routers the next links of packets.

use super::router::{LAST, Routers};

impl Routers<'_> {
    /// The next packet of a message takes its way. Returns false if it waits for ever.
    pub fn lead_packet(&mut self, number: u32) -> bool {
        let Some(mut ways) = self.ways.take() else { return true };
        let flight = self.messages.get(number).flight;
        let count = ways.counts[flight.from];
        ways.counts[flight.from] += 1;
        let mut hops = std::mem::take(&mut self.messages.hops);
        let queue = |link: u32| self.queue(link);
        let is_led = ways.chooser.lead_packet(self.now_s, &flight, count, &queue, &mut hops);
        self.messages.hops = hops;
        self.ways = Some(ways);
        if !is_led {
            return self.finds_way(number, self.now_s);
        }
        self.messages.take_route(number, self.network, &self.wiring);
        let start = self.messages.get(number).route;
        self.choose_link(start, flight.from, flight.to);
        true
    }

    /// The router chooses the next link of the packet that is the first of a buffer.
    pub fn choose_link_behind(&mut self, buffer: usize, packet: u32, at: u32) {
        if self.ways.as_ref().is_some_and(|ways| ways.turns.is_some()) {
            let link = self.inputs[buffer].feeder as usize;
            let (_, vertex) = self.network.fabric.topology.ends(link);
            let to = self.messages.get(packet & !LAST).flight.to;
            self.choose_link(at, vertex, to);
        }
    }

    fn choose_link(&mut self, at: u32, vertex: usize, to: usize) {
        let Some(mut ways) = self.ways.take() else { return };
        if let Some(turns) = &mut ways.turns
            && vertex != to
        {
            ways.chooser.nearer(vertex, to, &mut ways.links);
            let count = ways.links.len();
            ways.links.rotate_left(turns[vertex] as usize % count);
            turns[vertex] = turns[vertex].wrapping_add(1);
            let least =
                ways.links.iter().min_by(|one, other| self.queue(one.number).total_cmp(&self.queue(other.number)));
            if let Some(link) = least {
                let step = &mut self.messages.steps[at as usize];
                *step = self.wiring.step(link.number, self.wiring.channel(*step));
            }
        }
        self.ways = Some(ways);
    }

    /// The packets that wait for a link, and those in the buffers behind it.
    fn queue(&self, link: u32) -> f64 {
        let behind = self.wiring.buffers[link as usize] as usize;
        let buffers = &self.inputs[behind..behind + self.network.channels];
        let packets: u32 = buffers.iter().map(|buffer| u32::from(buffer.packets)).sum();
        f64::from(self.outputs[link as usize].requests + packets)
    }
}
