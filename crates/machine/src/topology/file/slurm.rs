//! Slurm's topology.conf: switches with their nodes and switches, or blocks of nodes.
//!
//! Blocks have a switch each, and one switch joins them. `LinkSpeed` is a number for all cables of a switch.

use hocket_core::{Error, Result};

use super::super::hosts::expand_list;
use super::{Sketch, read_lines};

pub(super) fn is_form(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, line)| key(line).is_some())
}

/// The lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

/// What a line is about.
fn key(line: &str) -> Option<&'static str> {
    ["switchname", "blockname", "blocksizes"]
        .into_iter()
        .find(|key| line.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key)))
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let mut sketch = Sketch::default();
    read_lines(lines(text), |line| read_line(&mut sketch, line))?;
    Ok(sketch)
}

fn read_line(sketch: &mut Sketch, line: &str) -> Result<()> {
    let refusal = || Error::new(format!("got {line:.60?}, expected SwitchName=leaf1 Nodes=node[01-18], or such"));
    let is_block = match key(line).ok_or_else(refusal)? {
        "blocksizes" => return Ok(()),
        key => key == "blockname",
    };
    let mut words = line.split_whitespace().map(|word| word.split_once('=').ok_or_else(refusal));
    let (_, name) = words.next().ok_or_else(refusal)??;
    let switch = sketch.vertex(name, Some(false))?;
    let (mut members, mut speed) = (Vec::new(), 1.0);
    for word in words {
        let (key, value) = word?;
        match key.to_ascii_lowercase().as_str() {
            "linkspeed" => speed = value.parse().map_err(|_| refusal())?,
            key @ ("nodes" | "switches") => {
                for member in expand_list(value).ok_or_else(refusal)? {
                    members.push(sketch.vertex(&member, Some(key == "nodes"))?);
                }
            }
            _ => return Err(refusal()),
        }
    }
    if is_block {
        members.push(sketch.vertex("between blocks", Some(false))?);
    }
    members.into_iter().try_for_each(|member| sketch.join([member, switch], speed))
}
