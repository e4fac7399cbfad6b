//! Parts that all pictures of topologies share: long repetitions are left out.

use std::f64::consts::TAU;

/// Links in a row of a map, where nothing else decides.
pub const ROW: usize = 32;

/// The position of one of so many vertices that are 1 apart on a circle around (0, 0), the first at the top.
pub fn on_circle(number: usize, vertices: usize) -> [f64; 2] {
    let (turn, radius) = (number as f64 / vertices as f64, (vertices as f64 / TAU).max(1.0));
    [radius * libm::sin(TAU * turn), -radius * libm::cos(TAU * turn)]
}

/// So many things to draw: all, or the first ones and the last with a gap between.
pub fn shown(count: usize, most: usize) -> Vec<Option<usize>> {
    if count <= most {
        return (0..count).map(Some).collect();
    }
    (0..most - 2).map(Some).chain([None, Some(count - 1)]).collect()
}

/// Items of a line that are shown.
const MOST_ITEMS: usize = 8;

/// A line of items, some left out.
pub fn items(numbers: std::ops::Range<usize>, text: impl Fn(usize) -> String) -> String {
    let item = |number: Option<usize>| number.map_or_else(|| "…".to_owned(), |number| text(numbers.start + number));
    let items: Vec<_> = shown(numbers.len(), MOST_ITEMS).into_iter().map(item).collect();
    items.join(" ")
}

/// Lines, some left out.
pub fn lines(count: usize, most: usize, text: impl Fn(usize) -> String) -> String {
    let line = |number: Option<usize>| number.map_or_else(|| "…\n".to_owned(), &text);
    shown(count, most).into_iter().map(line).collect()
}
