//! A list of edges: a line for each cable, with the names of its ends, and its speed if there is a third column.

use hocket_core::{Error, Result};

use super::{Sketch, read_lines};

/// The names of the first two columns.
const HEADERS: [[&str; 2]; 2] = [["from", "to"], ["source", "target"]];

pub(super) fn is_form(text: &str) -> bool {
    let first: Vec<_> = text.lines().next().unwrap_or("").split(',').map(str::trim).collect();
    HEADERS.iter().any(|header| first.starts_with(header))
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let mut sketch = Sketch::default();
    let lines = (1..).zip(text.lines()).skip(1).filter(|(_, line)| !line.trim().is_empty());
    read_lines(lines, |line| read_line(&mut sketch, line))?;
    Ok(sketch)
}

fn read_line(sketch: &mut Sketch, line: &str) -> Result<()> {
    let refusal = || Error::new(format!("got {line:.60?}, expected two names and a speed above 0, as node1,leaf1,100"));
    let cells: Vec<_> = line.split(',').map(str::trim).collect();
    let (from, to, speed) = match cells[..] {
        [from, to] => (from, to, 1.0),
        [from, to, speed, ..] => (from, to, speed.parse().map_err(|_| refusal())?),
        _ => return Err(refusal()),
    };
    let ends = [sketch.vertex(from, None)?, sketch.vertex(to, None)?];
    sketch.join(ends, speed)
}
