//! Stencils: every place of a grid has the same relative neighbours.

use crate::{Error, Result};

/// A grid of ranks, in row-major order as in `MPI_Cart_create`, and the relative places to which every rank sends.
///
/// ```text
/// torus:2x3      0 ── 1 ── 2      offsets (-1,0) (+1,0) (0,-1) (0,+1), as in MPI; of a torus also across the border
///                │    │    │
///                3 ── 4 ── 5
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    /// Ranks along each dimension.
    pub dims: Vec<usize>,
    /// Whether the last rank along a dimension is a neighbour of the first.
    pub is_periodic: bool,
    /// The relative places.
    pub offsets: Vec<Vec<isize>>,
}

/// More dimensions would give a rank too many neighbours.
const MOST_DIMENSIONS: usize = 8;

impl Stencil {
    /// Parses `torus` or `mesh` (two neighbours along each dimension, with and without neighbours across the border) or
    /// `moore` (a torus with diagonals). Dimensions follow as in `torus:4x4x4`; the default is two nearly equal
    /// dimensions.
    ///
    /// # Errors
    /// Another word, or dimensions whose product is not `ranks`.
    pub fn parse(text: &str, ranks: usize) -> Result<Self> {
        let wrong = |why: String| Error::new(format!("neighbors: got {text:?}, {why}"));
        let (kind, shape) = text.split_once(':').map_or((text, None), |(kind, shape)| (kind, Some(shape)));
        let dims = match shape {
            Some(shape) => shape.split('x').map(|size| size.parse().ok().filter(|size| *size > 0)).collect(),
            None => Some(nearly_square(ranks)),
        };
        let dims: Vec<usize> = dims
            .filter(|dims: &Vec<usize>| dims.len() <= MOST_DIMENSIONS)
            .ok_or_else(|| wrong(format!("expected at most {MOST_DIMENSIONS} dimensions, such as torus:4x4x4")))?;
        if dims.iter().try_fold(1_usize, |all, size| all.checked_mul(*size)) != Some(ranks) {
            return Err(wrong(format!("expected dimensions whose product is {ranks}")));
        }
        let offsets = match kind {
            "torus" | "mesh" => along_axes(dims.len()),
            "moore" => with_diagonals(dims.len()),
            _ => return Err(wrong("expected torus, mesh or moore, such as torus:4x4x4".to_owned())),
        };
        Ok(Self { dims, is_periodic: kind != "mesh", offsets })
    }

    /// The rank at this offset from `rank`, if there is one.
    pub fn shifted(&self, rank: usize, offset: &[isize]) -> Option<usize> {
        let (mut rest, mut stride, mut at) = (rank, 1, 0);
        for (size, shift) in self.dims.iter().zip(offset).rev() {
            let moved = (rest % size) as isize + shift;
            let is_inside = (0..*size as isize).contains(&moved);
            if !(is_inside || self.is_periodic) {
                return None;
            }
            at += moved.rem_euclid(*size as isize) as usize * stride;
            stride *= size;
            rest /= size;
        }
        Some(at)
    }

    /// The indices of the blocks from `sources`, in the order of the offsets along which they arrive at `rank`.
    pub fn arriving(&self, rank: usize, sources: &[Option<usize>]) -> Vec<usize> {
        let mut blocks: Vec<usize> = Vec::new();
        for offset in &self.offsets {
            let source = self.shifted(rank, &offset.iter().map(|shift| -shift).collect::<Vec<_>>());
            let is_next = |block: &usize| sources[*block] == source && !blocks.contains(block);
            blocks.extend((0..sources.len()).find(is_next));
        }
        blocks
    }

    /// For each offset, the index of the opposite offset.
    pub(crate) fn opposites(&self) -> Vec<usize> {
        let leads_back = |one: &[isize], other: &[isize]| one.iter().zip(other).all(|(one, other)| *one == -other);
        let opposite = |offset: &Vec<isize>| self.offsets.iter().position(|other| leads_back(offset, other));
        self.offsets.iter().map(|offset| opposite(offset).expect("stencils with names lead back, too")).collect()
    }
}

/// The two dimensions that differ least, the longer one first.
fn nearly_square(ranks: usize) -> Vec<usize> {
    let short = (1..=ranks.isqrt()).rev().find(|size| ranks.is_multiple_of(*size)).unwrap_or(1);
    vec![ranks / short, short]
}

fn along_axes(dimensions: usize) -> Vec<Vec<isize>> {
    let step = |axis: usize, shift: isize| (0..dimensions).map(|other| if other == axis { shift } else { 0 }).collect();
    (0..dimensions).flat_map(|axis| [step(axis, -1), step(axis, 1)]).collect()
}

fn with_diagonals(dimensions: usize) -> Vec<Vec<isize>> {
    let digit = |number: usize, axis: usize| (number / 3_usize.pow((dimensions - 1 - axis) as u32) % 3) as isize - 1;
    let all =
        (0..3_usize.pow(dimensions as u32)).map(|number| (0..dimensions).map(|axis| digit(number, axis)).collect());
    all.filter(|offset: &Vec<isize>| offset.iter().any(|shift| *shift != 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_those_of_mpi() {
        let mesh = Stencil::parse("mesh:2x3", 6).unwrap();
        let of = |rank: usize| mesh.offsets.iter().map(|offset| mesh.shifted(rank, offset)).collect::<Vec<_>>();
        assert_eq!(of(0), [None, Some(3), None, Some(1)]);
        assert_eq!(of(4), [Some(1), None, Some(3), Some(5)]);
        let torus = Stencil { is_periodic: true, ..mesh };
        assert_eq!(torus.shifted(0, &[-1, -1]), Some(5));
        assert_eq!(Stencil::parse("torus", 12).unwrap().dims, [4, 3]);
        assert_eq!(Stencil::parse("moore:3x3x3", 27).unwrap().offsets.len(), 26);
    }

    #[test]
    fn bad_texts_are_refused_in_one_line() {
        for (text, why) in [
            ("ring", "expected torus, mesh or moore, such as torus:4x4x4"),
            ("torus:", "expected at most 8 dimensions, such as torus:4x4x4"),
            ("torus:0x4", "expected at most 8 dimensions, such as torus:4x4x4"),
            ("torus:1x1x1x1x1x1x1x1x4", "expected at most 8 dimensions, such as torus:4x4x4"),
            ("mesh:99999999999x99999999999", "expected dimensions whose product is 4"),
            ("moore:3x3", "expected dimensions whose product is 4"),
        ] {
            assert_eq!(Stencil::parse(text, 4).unwrap_err().to_string(), format!("neighbors: got {text:?}, {why}"));
        }
    }
}
