//! Numbers for the inputs and outputs of all routers.

use hocket_machine::Topology;

use super::Packets;

/// Inputs are buffers, `link << shift | channel`, and then engines, `buffers + node * engines + engine`. Outputs are links,
/// and then the ejections of the nodes, `links + node`.
pub(super) struct Wiring {
    pub links: usize,
    pub nodes: usize,
    /// Engines of a node.
    pub engines: usize,
    /// Channels that buffers are numbered by, as a power of two.
    pub shift: u32,
    pub buffers: usize,
    /// 64-bit words for a set of inputs of any router.
    pub words: usize,
    /// The inputs of router after router.
    pub inputs: Vec<u32>,
    /// For each output, where in `inputs` its router's begin.
    pub starts: Vec<u32>,
    /// For each input, its place among those of its router.
    pub places: Vec<u32>,
}

impl Wiring {
    pub fn new(network: &Packets) -> Self {
        let topology = &network.fabric.topology;
        let (links, nodes, engines) = (topology.links(), topology.nodes(), network.fabric.engines);
        let shift = network.channels.next_power_of_two().trailing_zeros();
        let buffers = links << shift;
        let mut wiring = Self {
            links,
            nodes,
            engines,
            shift,
            buffers,
            words: 1,
            inputs: Vec::new(),
            starts: Vec::new(),
            places: vec![0; buffers + nodes * engines],
        };
        let starts = wiring.number_inputs(topology);
        wiring.starts.extend((0..links).map(|link| starts[topology.ends(link).0]));
        wiring.starts.extend(&starts[..nodes]);
        wiring
    }

    /// Fills in the inputs of every router, and returns where they begin.
    fn number_inputs(&mut self, topology: &impl Topology) -> Vec<u32> {
        let mut incoming = vec![Vec::new(); topology.vertices()];
        for link in 0..self.links {
            incoming[topology.ends(link).1].extend((link << self.shift)..((link + 1) << self.shift));
        }
        for node in 0..self.nodes {
            incoming[node].extend(self.engines_of(node));
        }
        let mut starts = Vec::with_capacity(incoming.len());
        for inputs in incoming {
            starts.push(self.inputs.len() as u32);
            self.words = self.words.max(inputs.len().div_ceil(64));
            for (place, input) in inputs.into_iter().enumerate() {
                self.places[input] = place as u32;
                self.inputs.push(input as u32);
            }
        }
        starts
    }

    /// The inputs that are engines of a node.
    pub fn engines_of(&self, node: usize) -> std::ops::Range<usize> {
        let first = self.buffers + node * self.engines;
        first..first + self.engines
    }

    /// The node of an engine.
    pub fn node_of(&self, engine: usize) -> usize {
        (engine - self.buffers) / self.engines
    }

    /// The output that leads to what a step of a route names: a buffer, or `buffers + node` for the ejection at the end.
    pub fn output_to(&self, step: u32) -> usize {
        let step = step as usize;
        if step < self.buffers { step >> self.shift } else { step - self.buffers + self.links }
    }
}
