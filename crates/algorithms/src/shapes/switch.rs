//! Algorithms through the switch of a node, which combines and copies messages on their way.
//!
//! Each block of a vector has a star: the rank of the block is the center, and all other ranks send to it or receive from
//! it. All stars work at the same time. A program without the switch's costs is right as well: the ranks combine.

use hocket_core::{Buffer, Call, Collective, Nodes, Parameter, Span};

use crate::about::{self, About};
use crate::automatic::segments;
use crate::shapes::Segments;

/// The size of segments: those of all channels of NCCL together, which pass through the switch at once.
pub const SEGMENT: Parameter = Parameter { default: 1 << 20, ..about::SEGMENT };

/// The most ranks that share a switch: more than in any machine of today, and few enough for a star for each of them.
const MOST_RANKS: usize = 1024;

/// The precondition of these algorithms.
pub fn needs_one_node(c: &Call) -> Option<&'static str> {
    let is_one = match &c.nodes {
        Nodes::Unknown => true,
        Nodes::Equal(size) => *size >= c.ranks,
        Nodes::Listed(nodes) => nodes.members.len() == 1,
    };
    let sentence = "needs all ranks on one node, at most 1024: its messages go through the switch of the node";
    (!is_one || c.ranks > MOST_RANKS).then_some(sentence)
}

/// The centers of all stars, as `rank` joins them: first its own, so that not all ranks begin with the same one.
pub fn centers(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    (rank..ranks).chain(0..rank)
}

/// The block of a center: its chunk of the vector, or in collectives with blocks its block.
pub fn block(c: &Call, vector: Span, center: usize) -> Span {
    match c.collective {
        Collective::Allreduce => vector.chunk(center, c.ranks),
        _ => c.block(vector, center),
    }
}

impl About {
    /// The algorithm sends the blocks of all stars through the switch of a node, in segments.
    pub const fn through_switch(self) -> Self {
        self.exact_when(|_| false)
            .made_for("switch")
            .with_parameters(&[SEGMENT])
            .with_automatic(&[segments::BY_FORMULA])
            .completing(counts)
    }
}

/// The values of [`longest_and_segments`] for the blocks of all stars.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let len = if c.collective == Collective::Allreduce { c.count(0) } else { c.total() };
    longest_and_segments(c, (0..c.ranks).map(|center| block(c, Span::new(Buffer::Result, len), center)))
}

/// Names for the formulas: `longest`, the bytes of the longest part of the data, and `all_segments` of all parts.
pub fn longest_and_segments(c: &Call, parts: impl Iterator<Item = Span>) -> Vec<(&'static str, u64)> {
    let (mut longest, mut segments) = (0, 0);
    for part in parts {
        longest = longest.max(part.len * c.element_bytes);
        segments += Segments::new(c, part).count();
    }
    vec![("longest", longest as u64), ("all_segments", segments as u64)]
}
