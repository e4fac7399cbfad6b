//! Common parts of pictures of topologies. Long repetitions are left out.

use std::f64::consts::TAU;

/// Default number of links in a row of a map.
pub const ROW: usize = 32;

/// The position of a vertex on a circle around (0, 0), vertices 1 apart, the first at the top.
pub fn on_circle(number: usize, vertices: usize) -> [f64; 2] {
    let (turn, radius) = (number as f64 / vertices as f64, (vertices as f64 / TAU).max(1.0));
    [radius * libm::sin(TAU * turn), -radius * libm::cos(TAU * turn)]
}

/// The indices to draw: all, or the first ones and the last with a gap (none) between.
pub fn indices_to_draw(count: usize, most: usize) -> Vec<Option<usize>> {
    if count <= most {
        return (0..count).map(Some).collect();
    }
    (0..most - 2).map(Some).chain([None, Some(count - 1)]).collect()
}

/// The largest number of items shown in a line.
const MOST_ITEMS: usize = 8;

/// A line of items; some are left out if there are many.
pub fn items(numbers: std::ops::Range<usize>, text: impl Fn(usize) -> String) -> String {
    let item = |number: Option<usize>| number.map_or_else(|| "…".to_owned(), |number| text(numbers.start + number));
    let items: Vec<_> = indices_to_draw(numbers.len(), MOST_ITEMS).into_iter().map(item).collect();
    items.join(" ")
}

/// Lines; some are left out if there are many.
pub fn lines(count: usize, most: usize, text: impl Fn(usize) -> String) -> String {
    let line = |number: Option<usize>| number.map_or_else(|| "…\n".to_owned(), &text);
    indices_to_draw(count, most).into_iter().map(line).collect()
}
