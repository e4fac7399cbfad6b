//! Grids: the common parts of tori and meshes. Nodes are numbered with the first axis fastest.

use super::picture::indices_to_draw;
use super::{Half, Spot};

/// Number of nodes along each axis, first axis first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub dims: Vec<usize>,
}

/// One axis of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Number of nodes along the axis.
    pub size: usize,
    /// Difference of the numbers of neighbours along the axis.
    pub stride: usize,
}

/// Names of the first axes; others are numbered.
const AXES: [&str; 3] = ["x", "y", "z"];

/// The offset of a step along the third axis in a drawing.
const SLANT: [f64; 2] = [0.45, 0.3];

/// The largest number of nodes that a picture shows along an axis.
const MOST_ALONG: usize = 12;
/// The largest number of planes that a picture shows.
const MOST_PLANES: usize = 4;

impl Axis {
    pub fn coordinate(self, node: usize) -> usize {
        node / self.stride % self.size
    }

    /// The next coordinate in a direction, around the ring.
    pub fn next(self, at: usize, is_plus: bool) -> usize {
        match (is_plus, at) {
            (true, at) if at + 1 == self.size => 0,
            (true, at) => at + 1,
            (false, 0) => self.size - 1,
            (false, at) => at - 1,
        }
    }

    /// The node with coordinate `to` instead of `at` along this axis, from `node`.
    pub fn moved(self, node: usize, at: usize, to: usize) -> usize {
        node + to * self.stride - at * self.stride
    }
}

impl Grid {
    pub fn nodes(&self) -> usize {
        self.dims.iter().product()
    }

    pub fn axes(&self) -> impl Iterator<Item = Axis> {
        self.dims.iter().scan(1, |next, size| {
            let stride = *next;
            *next *= size;
            Some(Axis { size: *size, stride })
        })
    }

    pub fn axis(&self, axis: usize) -> Axis {
        Axis { size: self.dims[axis], stride: self.dims[..axis].iter().product() }
    }

    /// The mean over pairs of distinct nodes, from the mean over all pairs of coordinates of an axis of a given size.
    pub fn mean(&self, mean_of_axis: impl Fn(f64) -> f64) -> f64 {
        let nodes = self.nodes() as f64;
        let sum: f64 = self.dims.iter().map(|size| mean_of_axis(*size as f64)).sum();
        if nodes > 1.0 { sum * nodes / (nodes - 1.0) } else { 0.0 }
    }

    /// Number of nodes in a plane across the longest axis, if the axis can be halved.
    pub fn cut(&self) -> Option<usize> {
        let longest = self.dims.iter().copied().max().unwrap_or(1);
        longest.is_multiple_of(2).then(|| self.nodes() / longest)
    }

    /// For each axis, the nodes with the lower half of its coordinates.
    pub fn halves(&self) -> Vec<Half<'_>> {
        let half = |axis: Axis| -> Half<'_> { Box::new(move |node| axis.coordinate(node) < axis.size / 2) };
        self.axes().filter(|axis| axis.size > 1).map(half).collect()
    }

    pub fn link_name(&self, node: usize, axis: usize, is_plus: bool) -> String {
        format!("{}{} from {}", if is_plus { '+' } else { '-' }, axis_name(axis), self.node_name(node))
    }

    /// A plane of the first two axes is a panel.
    pub fn spot(&self, node: usize, axis: usize, is_plus: bool) -> Spot {
        let sign = if is_plus { '+' } else { '-' };
        let width = self.dims[0];
        Spot {
            panel: format!("{sign}{}", axis_name(axis)),
            place: self.place(node),
            column: node % width,
            row: self.dims.get(1).map_or(0, |height| node / width % height),
            axes: ["x", if self.dims.len() > 1 { "y" } else { "" }],
        }
    }

    /// The third axis is drawn aslant; further axes place copies of the three to the right of and below each other.
    pub fn position(&self, node: usize) -> [f64; 2] {
        let depth = self.dims.get(2).map_or(0, |size| size - 1) as f64;
        let mut spacing = SLANT.map(|step| 1.0 + depth * step);
        let mut at = [0.0; 2];
        for (number, axis) in self.axes().enumerate() {
            let coordinate = axis.coordinate(node) as f64;
            if number == 2 {
                at = [at[0] + coordinate * SLANT[0], at[1] - coordinate * SLANT[1]];
                continue;
            }
            let side = if number < 2 { number } else { (number + 1) % 2 };
            at[side] += coordinate * spacing[side];
            spacing[side] = spacing[side] * axis.size as f64 + 1.0;
        }
        at
    }

    pub fn node_name(&self, node: usize) -> String {
        let coordinates: Vec<_> = self.axes().map(|axis| axis.coordinate(node).to_string()).collect();
        format!("({})", coordinates.join(","))
    }

    /// The planes of the first two axes; lines leave them if the axes are closed to rings.
    pub fn picture(&self, is_closed: bool, label: &dyn Fn(usize) -> String) -> String {
        let area: usize = self.dims.iter().take(2).product();
        let plane = |number: Option<usize>| match number {
            None => "…\n".to_owned(),
            Some(number) => self.heading(number * area) + &self.plane(number * area, is_closed, label),
        };
        let planes: Vec<_> = indices_to_draw(self.nodes() / area, MOST_PLANES).into_iter().map(plane).collect();
        planes.join("\n")
    }

    /// The coordinates of a node along the axes from the third on.
    fn place(&self, node: usize) -> String {
        let place = |(number, axis): (usize, Axis)| format!("{} = {}", axis_name(number), axis.coordinate(node));
        self.axes().enumerate().skip(2).map(place).collect::<Vec<_>>().join(", ")
    }

    /// The coordinates of a plane, as a line.
    fn heading(&self, node: usize) -> String {
        let place = self.place(node);
        if place.is_empty() { place } else { place + "\n" }
    }

    fn plane(&self, first: usize, is_closed: bool, label: &dyn Fn(usize) -> String) -> String {
        let columns = indices_to_draw(self.dims[0], MOST_ALONG);
        let rows = self.dims.get(1).map_or_else(|| vec![Some(0)], |size| indices_to_draw(*size, MOST_ALONG));
        let cell = |x: &Option<usize>, y: &Option<usize>| match (x, y) {
            (Some(x), Some(y)) => label(first + y * self.dims[0] + x),
            (None, Some(_)) => "…".to_owned(),
            (_, None) => "⋮".to_owned(),
        };
        let head: Vec<_> = columns.iter().map(number).collect();
        let body: Vec<Vec<_>> = rows.iter().map(|y| columns.iter().map(|x| cell(x, y)).collect()).collect();
        let width = head.iter().chain(body.iter().flatten()).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let bars = line("", &vec!["│".to_owned(); columns.len()], width, " ", " ");
        let edge = if is_closed { "─" } else { " " };
        let body = rows.iter().zip(&body).map(|(y, cells)| match y {
            Some(_) if self.dims.len() > 1 => line(&format!("y {}", number(y)), cells, width, "─", edge),
            Some(_) => line("", cells, width, "─", edge),
            None => line("", cells, width, " ", " "),
        });
        let body = body.collect::<Vec<_>>().join(&bars);
        let border = if is_closed && self.dims.len() > 1 { bars } else { String::new() };
        format!("{}{border}{body}{border}", line("x", &head, width, " ", " "))
    }
}

/// A line of a picture: a name, then cells with separators between them and at both ends.
fn line(name: &str, cells: &[String], width: usize, between: &str, edge: &str) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
    let line = format!("{name:4} {edge} {} {edge}", cells.join(&format!(" {between} ")));
    format!("{}\n", line.trim_end())
}

fn axis_name(axis: usize) -> String {
    AXES.get(axis).map_or_else(|| format!("axis {axis}"), |name| (*name).to_owned())
}

fn number(number: &Option<usize>) -> String {
    number.map_or_else(|| "…".to_owned(), |number| number.to_string())
}
