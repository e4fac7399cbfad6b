//! The output of ibnetdiscover: switches and host adapters, and the cable at each port.
//!
//! Adapters of one host are cards of one node. Speeds are widths times rates, as "4xHDR" says. Every cable has two lines, and
//! counts once.

use std::collections::{HashMap, HashSet};

use hocket_core::{Error, Result};

use super::{Sketch, read_lines};

/// The rate of a lane by its name, in Gbit/s (InfiniBand Architecture Specification 1.7, volume 2).
const RATES: [(&str, f64); 9] = [
    ("SDR", 2.5),
    ("DDR", 5.0),
    ("QDR", 10.0),
    ("FDR10", 10.3),
    ("FDR", 14.1),
    ("EDR", 25.8),
    ("HDR", 53.1),
    ("NDR", 106.3),
    ("XDR", 212.5),
];

pub(super) fn is_form(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some())
}

/// The kind, the identifier and the name of a switch or adapter.
fn header(line: &str) -> Option<(bool, &str, &str)> {
    let kind = line.split_whitespace().next().filter(|word| ["Switch", "Ca", "Rt"].contains(word))?;
    let mut quoted = line.split('"').skip(1).step_by(2);
    Some((kind == "Ca", quoted.next()?, quoted.next().unwrap_or_default()))
}

/// The port of a line such as `[19] "S-0002c9020048be40"[3] # "leaf2" lid 4 4xHDR`, its neighbour with the port there,
/// and the speed.
fn port(line: &str) -> Option<(&str, &str, &str, f64)> {
    let (port, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (_, rest) = rest.split_once('"')?;
    let (neighbour, rest) = rest.split_once('"')?;
    let (port_there, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let speed = rest.split_whitespace().rev().find_map(speed)?;
    Some((port, neighbour, port_there, speed))
}

fn speed(word: &str) -> Option<f64> {
    let (width, rate) = word.split_once('x')?;
    let (_, rate) = RATES.into_iter().find(|(name, _)| *name == rate)?;
    Some(width.parse::<u8>().ok()? as f64 * rate)
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let mut sketch = Sketch::default();
    let mut numbers = HashMap::new();
    read_lines((1..).zip(text.lines()), |line| {
        let Some((is_node, identifier, name)) = header(line) else { return Ok(()) };
        let host = name.split_whitespace().next().filter(|_| is_node);
        let name = host.unwrap_or(if name.is_empty() { identifier } else { name });
        let is_taken = !is_node && sketch.numbers.contains_key(name);
        let name = if is_taken { format!("{name} {identifier}") } else { name.to_owned() };
        numbers.insert(identifier, sketch.vertex(&name, Some(is_node))?);
        Ok(())
    })?;
    let (mut own, mut seen) = (None, HashSet::new());
    read_lines((1..).zip(text.lines()), |line| {
        if let Some((_, identifier, _)) = header(line) {
            own = Some(identifier);
        }
        if !line.starts_with('[') {
            return Ok(());
        }
        let expected = "a port such as [19] \"S-0002c9020048be40\"[3] # \"leaf2\" lid 4 4xHDR";
        let refusal = || Error::new(format!("got {line:.60?}, expected {expected}"));
        let (port, neighbour, port_there, speed) = port(line).ok_or_else(refusal)?;
        let own = own.ok_or_else(refusal)?;
        let stranger = || Error::new(format!("got the neighbour {neighbour:?}, expected one with lines of its own"));
        let other = *numbers.get(neighbour).ok_or_else(stranger)?;
        let mut ends = [(own, port), (neighbour, port_there)];
        ends.sort_unstable();
        if seen.insert(ends) { sketch.join([numbers[own], other], speed) } else { Ok(()) }
    })?;
    Ok(sketch)
}
