//! Numbers for the inputs and outputs of all routers.

use super::parameters::Packets;

/// Outputs are links, then ejections, `links + node`. Inputs are numbered router by router: the buffers of incoming
/// links, channel by channel, then the node's ports. A step of a route is `output << shift | channel`, the first
/// channel of those for a link of the way.
pub(super) struct Wiring {
    pub links: usize,
    pub nodes: usize,
    /// Number of ports of a node.
    pub ports: usize,
    /// The bits that hold a channel.
    pub shift: u32,
    /// Number of 64-bit words for a set of inputs of any router.
    pub words: usize,
    /// The first input of each router; at the end, the number of inputs.
    pub starts: Vec<u32>,
    /// For each input its source: a link, or for a port the number of outputs plus the port.
    pub feeders: Vec<u32>,
    /// For each link, the input that is the buffer of its channel 0.
    pub buffers: Vec<u32>,
    /// For each port of all nodes, its input.
    pub port_inputs: Vec<u32>,
}

impl Wiring {
    pub fn new(network: &Packets) -> Self {
        let topology = &network.fabric.topology;
        let (links, nodes, ports) = (topology.links(), topology.nodes(), network.fabric.ports);
        let mut wiring = Self {
            links,
            nodes,
            ports,
            shift: network.channels.next_power_of_two().trailing_zeros(),
            words: 1,
            starts: vec![0],
            feeders: Vec::new(),
            buffers: vec![0; links],
            port_inputs: Vec::new(),
        };
        let mut incoming = vec![Vec::new(); topology.vertices()];
        for link in 0..links {
            incoming[topology.ends(link).1].push(link);
        }
        for (vertex, links) in incoming.iter().enumerate() {
            wiring.add_router(vertex, links, network.channels);
        }
        wiring
    }

    /// Numbers the inputs of the next router.
    fn add_router(&mut self, vertex: usize, links: &[usize], channels: usize) {
        let start = self.feeders.len();
        for link in links {
            self.buffers[*link] = self.feeders.len() as u32;
            self.feeders.extend(std::iter::repeat_n(*link as u32, channels));
        }
        if vertex < self.nodes {
            for port in self.ports_of(vertex) {
                self.port_inputs.push(self.feeders.len() as u32);
                self.feeders.push((self.outputs() + port) as u32);
            }
        }
        self.words = self.words.max((self.feeders.len() - start).div_ceil(64));
        self.starts.push(self.feeders.len() as u32);
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.links + self.nodes
    }

    pub fn ports_of(&self, node: usize) -> std::ops::Range<usize> {
        node * self.ports..(node + 1) * self.ports
    }

    /// The step over a link, or with `links + node` into the node.
    pub fn step(&self, output: u32, channel: u32) -> u32 {
        (output << self.shift) | channel
    }

    pub fn output(&self, step: u32) -> usize {
        (step >> self.shift) as usize
    }

    pub fn channel(&self, step: u32) -> u32 {
        step & ((1 << self.shift) - 1)
    }
}
