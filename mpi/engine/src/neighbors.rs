//! The Rust form of a rank's neighbours in `hocket.h`.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::Arc;

use hocket_core::{Counts, Neighborhood, Neighbors, Sent, Stencil};

/// `hocket_neighbors`, in C layout.
#[repr(C)]
pub struct NeighborsC {
    sent: i32,
    received: i32,
    destinations: *const i32,
    sources: *const i32,
    is_cartesian: c_int,
    dimensions: i32,
    is_periodic: c_int,
    sizes: *const i32,
    offsets: *const i32,
}

/// A list of `count` numbers; empty if there is no list.
unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    // SAFETY: the caller gives this many.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count) } }
}

/// Ranks; a negative number means a block without rank.
unsafe fn ranks(first: *const i32, count: i32) -> Vec<Option<usize>> {
    // SAFETY: the caller gives this many.
    unsafe { list(first, count as usize) }.iter().map(|rank| usize::try_from(*rank).ok()).collect()
}

impl NeighborsC {
    /// The counts of a rank that sends `same` elements to all its neighbours, or else blocks of `counts[0]`.
    pub unsafe fn counts(
        &self,
        rank: usize,
        ranks_of_call: usize,
        same: Option<usize>,
        counts: [*const usize; 2],
        is_uniform: bool,
    ) -> Counts {
        // SAFETY: the caller gives a rank for each block.
        let [to, from] = unsafe { [ranks(self.destinations, self.sent), ranks(self.sources, self.received)] };
        // SAFETY: as above.
        let stencil = unsafe { self.stencil() };
        let blocks = |ranks: &[Option<usize>], counts| {
            // SAFETY: the caller gives a count for each block.
            let counts = unsafe { list(counts, ranks.len()) };
            ranks.iter().copied().zip(counts.iter().copied()).collect::<Vec<_>>()
        };
        let sent = blocks(&to, counts[0]);
        let sent = same.map_or(Sent::Blocks(&sent), |len| Sent::Same(&to, len));
        let arriving: Vec<_> = match &stencil {
            _ if self.is_cartesian != 0 => (0..from.len()).map(|block| block ^ 1).collect(),
            Some(stencil) => stencil.arriving(rank, &from),
            None => (0..from.len()).collect(),
        };
        let edges = Neighborhood::new(sent, &blocks(&from, counts[1]), arriving.into_iter());
        Counts::Neighbors(Arc::new(Neighbors::one_rank(rank, ranks_of_call, edges, is_uniform, stencil)))
    }

    /// The grid, if all ranks know it.
    unsafe fn stencil(&self) -> Option<Stencil> {
        let dimensions = usize::try_from(self.dimensions).ok().filter(|count| *count > 0)?;
        // SAFETY: the caller gives a size per dimension, and an offset per dimension and sent block.
        let (sizes, offsets) =
            unsafe { (list(self.sizes, dimensions), list(self.offsets, dimensions * self.sent as usize)) };
        Some(Stencil {
            dims: sizes.iter().map(|size| *size as usize).collect(),
            is_periodic: self.is_periodic != 0,
            offsets: offsets
                .chunks(dimensions)
                .map(|place| place.iter().map(|shift| *shift as isize).collect())
                .collect(),
        })
    }
}
