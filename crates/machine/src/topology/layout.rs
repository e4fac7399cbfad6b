//! Layouts: how the grid of a job lies on a torus.
//!
//! In "16x4, 16x4" a job of 64 x 64 nodes lies on a torus of 16 x 4 x 16 x 4: each axis of the job winds as a snake through
//! two axes of the torus. It goes along the first of them, one step along the second, and back along the first. With more
//! axes, the snake of the first ones is one step of the next. So neighbours in the job are neighbours on the torus.

use hocket_core::{Error, Result};

use crate::section::MOST_NODES;

/// For each axis of the job, the sizes of the torus's axes through which it winds; first axes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout(Vec<Vec<usize>>);

impl Layout {
    /// Reads a text such as "16x4, 16x4".
    ///
    /// # Errors
    /// Something else, or more than 2^26 nodes.
    pub fn parse(text: &str) -> Result<Self> {
        let size = |text: &str| text.trim().parse().ok().filter(|size| *size > 0);
        let axis = |text: &str| text.split('x').map(size).collect::<Option<Vec<_>>>();
        let axes: Option<Vec<Vec<usize>>> = text.split(',').map(axis).collect();
        let product =
            |axes: &Vec<Vec<_>>| axes.iter().flatten().try_fold(1usize, |nodes, size| nodes.checked_mul(*size));
        axes.filter(|axes| product(axes).is_some_and(|nodes| nodes <= MOST_NODES)).map(Self).ok_or_else(|| {
            Error::new(format!(
                "got \"{text:.60}\", expected the sizes of a torus by axes of the job, such as \"16x4, 16x4\""
            ))
        })
    }

    /// The sizes of the torus.
    pub fn torus(&self) -> Vec<usize> {
        self.0.concat()
    }

    /// The sizes of the job's grid.
    pub fn job(&self) -> Vec<usize> {
        self.0.iter().map(|axes| axes.iter().product()).collect()
    }

    /// The node at each place of the job's grid; places are numbered with the first axis fastest.
    pub fn nodes(&self) -> Vec<usize> {
        let places: usize = self.job().iter().product();
        (0..places).map(|place| self.node(place)).collect()
    }

    fn node(&self, mut place: usize) -> usize {
        let (mut node, mut stride) = (0, 1);
        for axes in &self.0 {
            let length: usize = axes.iter().product();
            node += stride * on_snake(axes, place % length);
            (place, stride) = (place / length, stride * length);
        }
        node
    }
}

/// The node at a place of the snake through a grid.
fn on_snake(sizes: &[usize], place: usize) -> usize {
    let (mut node, mut stride) = (0, 1);
    for size in sizes {
        let (at, turn) = (place / stride % size, place / stride / size);
        node += stride * if turn.is_multiple_of(2) { at } else { size - 1 - at };
        stride *= size;
    }
    node
}
