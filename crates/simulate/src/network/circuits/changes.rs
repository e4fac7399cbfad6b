//! Changes of ports and wavelengths during a run: the key `changes`.

use hocket_core::{Error, Result, units};

/// The supply of the network from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The time, in seconds from the common start.
    pub time_s: f64,
    pub what: Supply,
}

/// A number of working ports, or of wavelengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// Of one node, or of every node.
    Ports { node: Option<usize>, ports: usize },
    /// Of every link.
    Wavelengths(usize),
}

const EXPECTED: &str = "a time and the ports or wavelengths from then on, such as \"3 ms: node 5 has 1 port\", \"3 ms: nodes have 2 ports\" or \
     \"2 ms: 2 wavelengths\"";

impl Change {
    /// Reads a text such as "3 ms: node 5 has 1 port".
    pub fn parse(text: &str) -> Result<Self> {
        let refusal = || Error::new(format!("got {text:?}, expected {EXPECTED}"));
        let (time, what) = text.split_once(':').ok_or_else(refusal)?;
        let time_s = units::parse_time_s(time.trim()).map_err(|_| refusal())?;
        let number = |word: &str| word.parse::<usize>().map_err(|_| refusal());
        let what = match *what.split_whitespace().collect::<Vec<_>>() {
            ["node", node, "has", ports, "port" | "ports"] => {
                Supply::Ports { node: Some(number(node)?), ports: number(ports)? }
            }
            ["nodes", "have", ports, "port" | "ports"] => Supply::Ports { node: None, ports: number(ports)? },
            [count, "wavelength" | "wavelengths"] => Supply::Wavelengths(number(count)?),
            _ => return Err(refusal()),
        };
        Ok(Self { time_s, what })
    }
}
