//! The description of a deadlock of packets.

use super::router::Routers;

/// The largest number of links named.
const MOST_NAMED: usize = 8;

impl Routers<'_> {
    /// One line about the circle in which packets wait.
    pub fn who_waits(&self) -> String {
        let circle = self.circle();
        let mut names: Vec<_> = circle.iter().take(MOST_NAMED).map(|buffer| self.name(*buffer)).collect();
        if circle.len() > MOST_NAMED {
            names.push(format!("{} more", circle.len() - MOST_NAMED));
        }
        names.extend(circle.first().map(|buffer| self.name(*buffer)));
        format!(
            "deadlock: {} messages are in flight, and packets wait in a cycle, each for room in the buffer behind the \
             next link: {}",
            self.messages.under_way(),
            names.join(" -> ")
        )
    }

    /// Buffers in a circle: each holds a packet that waits for room in the next one.
    fn circle(&self) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = (0..self.inputs.len()).find_map(|input| self.waits_for(input));
        while let Some(buffer) = next {
            if let Some(start) = chain.iter().position(|other| *other == buffer) {
                chain.drain(..start);
                return chain;
            }
            chain.push(buffer);
            next = self.waits_for(buffer);
        }
        chain
    }

    /// The buffer for which the first packet of an input waits.
    fn waits_for(&self, input: usize) -> Option<usize> {
        let input = &self.inputs[input];
        let output = self.wiring.output(input.step);
        let is_blocked = input.wants && output < self.wiring.links;
        is_blocked.then(|| (self.wiring.buffers[output] + self.wiring.channel(input.step)) as usize)
    }

    /// The name of a buffer's link, and its channel if there are several.
    fn name(&self, buffer: usize) -> String {
        let link = self.wiring.feeders[buffer] as usize;
        let name = self.network.fabric.topology.link_name(link);
        let channel = buffer - self.wiring.buffers[link] as usize;
        if self.network.channels == 1 { name } else { format!("{name} (channel {channel})") }
    }
}
