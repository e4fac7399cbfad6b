//! Neighbourhoods: for each rank of a neighbourhood collective, the ranks to which it sends and from which it receives.

use std::ops::Range;

use crate::Stencil;

/// An edge of the graph of neighbours, as one of its two ranks sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The other rank.
    pub rank: usize,
    /// Number of preceding edges from the same rank to the same rank.
    pub number: usize,
    /// The elements of this rank's input that it sends, or of its result that it receives.
    pub elements: Range<usize>,
}

/// The edges of one rank. The two ranks of an edge give it the same number.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighborhood {
    /// The edges on which it sends.
    pub to: Vec<Edge>,
    /// The edges on which it receives.
    pub from: Vec<Edge>,
    /// Elements of its input.
    pub input_len: usize,
    /// Elements of its result.
    pub result_len: usize,
}

/// The blocks of a buffer in order: the rank (none for `MPI_PROC_NULL`) and number of elements of each.
pub type Blocks<'a> = &'a [(Option<usize>, usize)];

/// The data that a rank sends.
#[derive(Clone, Copy, Debug)]
pub enum Sent<'a> {
    /// A block for each neighbour.
    Blocks(Blocks<'a>),
    /// The same elements, of this number, to all neighbours.
    Same(&'a [Option<usize>], usize),
}

/// The ranges of successive blocks, and the total number of elements.
fn ranges(blocks: Blocks<'_>) -> (Vec<Range<usize>>, usize) {
    let mut end = 0;
    let range = |(_, len): &(Option<usize>, usize)| {
        end += len;
        end - len..end
    };
    (blocks.iter().map(range).collect(), end)
}

/// The edges of the blocks that have a rank.
fn edges(blocks: impl Iterator<Item = (Option<usize>, Range<usize>)>) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for (rank, elements) in blocks.filter_map(|(rank, elements)| Some((rank?, elements))) {
        let number = edges.iter().filter(|edge| edge.rank == rank).count();
        edges.push(Edge { rank, number, elements });
    }
    edges
}

impl Neighborhood {
    /// The edges for the data that a rank sends and the blocks that it receives. `arriving` lists the indices of the
    /// received blocks; it orders several edges from the same rank.
    pub fn new(sent: Sent<'_>, received: Blocks<'_>, arriving: impl Iterator<Item = usize>) -> Self {
        let (to, input_len) = match sent {
            Sent::Blocks(blocks) => {
                let (ranges, len) = ranges(blocks);
                (edges(blocks.iter().map(|(rank, _)| *rank).zip(ranges)), len)
            }
            Sent::Same(ranks, len) => (edges(ranks.iter().map(|rank| (*rank, 0..len))), len),
        };
        let (ranges, result_len) = ranges(received);
        let from = edges(arriving.map(|block| (received[block].0, ranges[block].clone())));
        Self { to, from, input_len, result_len }
    }

    /// The edges to others, and from others, that carry elements.
    pub fn with_others(&self, rank: usize) -> [impl Iterator<Item = &Edge> + Clone; 2] {
        [&self.to, &self.from]
            .map(|edges| edges.iter().filter(move |edge: &&Edge| edge.rank != rank && !edge.elements.is_empty()))
    }

    /// The edges from a rank to itself: the elements of its input, and their destination in its result.
    pub fn with_itself(&self, rank: usize) -> impl Iterator<Item = (&Edge, &Edge)> {
        let [to, from] = [&self.to, &self.from].map(|edges| edges.iter().filter(move |edge| edge.rank == rank));
        to.zip(from)
    }
}

/// The known edges: of all ranks, or of one rank, as MPI tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    ranks: usize,
    first: usize,
    edges_by_rank: Vec<Neighborhood>,
    /// Whether all ranks know that all blocks have the same number of elements.
    is_uniform: bool,
    stencil: Option<Stencil>,
}

impl Neighbors {
    /// The edges of one of `ranks` ranks. `is_uniform`: all ranks know that all blocks have equal sizes. `stencil`: all
    /// ranks know that the graph is this stencil; edges arrive in the order of its offsets.
    pub fn one_rank(
        rank: usize,
        ranks: usize,
        edges: Neighborhood,
        is_uniform: bool,
        stencil: Option<Stencil>,
    ) -> Self {
        Self { ranks, first: rank, edges_by_rank: vec![edges], is_uniform, stencil }
    }

    /// A stencil whose blocks all have `count` elements; if `sends_same`, a rank sends the same elements to all.
    pub fn of_stencil(stencil: Stencil, sends_same: bool, count: usize) -> Self {
        let neighbors = Self::of_uneven_stencil(&stencil, sends_same, |_, _| count);
        Self { is_uniform: true, stencil: Some(stencil), ..neighbors }
    }

    /// A stencil with `count(rank, offset)` elements on the edge from a rank along an offset. Block i of the result
    /// comes from the neighbour to which block i of the input goes.
    pub fn of_uneven_stencil(stencil: &Stencil, sends_same: bool, count: impl Fn(usize, usize) -> usize) -> Self {
        let ranks = stencil.dims.iter().product();
        let (opposites, count) = (stencil.opposites(), |from, place| count(from, if sends_same { 0 } else { place }));
        let edges = |rank| {
            let neighbors: Vec<_> = stencil.offsets.iter().map(|offset| stencil.shifted(rank, offset)).collect();
            let blocks =
                |count: &dyn Fn(usize) -> usize| (0..neighbors.len()).map(|i| (neighbors[i], count(i))).collect();
            let sent: Vec<_> = blocks(&|place| count(rank, place));
            let received: Vec<_> = blocks(&|place| count(neighbors[place].unwrap_or(rank), opposites[place]));
            let sent = if sends_same { Sent::Same(&neighbors, count(rank, 0)) } else { Sent::Blocks(&sent) };
            Neighborhood::new(sent, &received, opposites.iter().copied())
        };
        Self { ranks, first: 0, edges_by_rank: (0..ranks).map(edges).collect(), is_uniform: false, stencil: None }
    }

    /// A graph: `to` lists the neighbours to which a rank sends, with repetitions and itself allowed; `count(from, to)`
    /// is the elements of an edge. Blocks are received in the order of the ranks that send them.
    pub fn of_graph(
        ranks: usize,
        sends_same: bool,
        to: impl Fn(usize) -> Vec<usize>,
        count: impl Fn(usize, usize) -> usize,
    ) -> Self {
        let count = |from, to| count(from, if sends_same { from } else { to });
        let edges = |rank| {
            let sent: Vec<_> = to(rank).into_iter().map(|to| (Some(to), count(rank, to))).collect();
            let ranks_sent: Vec<_> = sent.iter().map(|(to, _)| *to).collect();
            let arriving = (0..ranks).flat_map(|from| to(from).into_iter().filter(|to| *to == rank).map(move |_| from));
            let received: Vec<_> = arriving.map(|from| (Some(from), count(from, rank))).collect();
            let sent = if sends_same { Sent::Same(&ranks_sent, count(rank, rank)) } else { Sent::Blocks(&sent) };
            Neighborhood::new(sent, &received, 0..received.len())
        };
        Self { ranks, first: 0, edges_by_rank: (0..ranks).map(edges).collect(), is_uniform: false, stencil: None }
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// The edges of a rank.
    ///
    /// # Panics
    /// When they are unknown: a defect of the calling program.
    pub fn of(&self, rank: usize) -> &Neighborhood {
        &self.edges_by_rank[rank - self.first]
    }

    /// The ranks whose edges are known, with the edges.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &Neighborhood)> {
        self.edges_by_rank.iter().enumerate().map(|(index, edges)| (self.first + index, edges))
    }

    /// Whether all ranks know that all blocks have the same number of elements.
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// The stencil, if all ranks know it and know that all blocks have the same number of elements.
    pub fn stencil(&self) -> Option<&Stencil> {
        self.stencil.as_ref().filter(|_| self.is_uniform)
    }

    /// The sender's view of this edge of `rank`.
    pub fn of_sender(&self, rank: usize, edge: &Edge) -> &Edge {
        let mut sent = self.of(edge.rank).to.iter();
        sent.find(|other| other.rank == rank && other.number == edge.number).expect("every edge has two ends")
    }

    /// The largest known block.
    pub(crate) fn largest(&self) -> usize {
        let edges = self.edges_by_rank.iter().flat_map(|edges| edges.to.iter().chain(&edges.from));
        edges.map(|edge| edge.elements.len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_neighbors_that_are_the_same_rank_cross() {
        let stencil = |dims: &str| Stencil::parse(dims, 2).unwrap();
        let both_ways = Neighbors::of_stencil(stencil("torus:2"), false, 3);
        let [to_left, to_right] = &both_ways.of(0).to[..] else { panic!("two edges") };
        assert_eq!((to_left.elements.clone(), to_right.elements.clone()), (0..3, 3..6));
        let received: Vec<_> =
            both_ways.of(1).from.iter().map(|edge| (edge.elements.clone(), both_ways.of_sender(1, edge))).collect();
        assert_eq!(received, [(3..6, to_left), (0..3, to_right)]);
    }

    #[test]
    fn what_is_missing_across_a_border_has_room() {
        let mesh = Neighbors::of_stencil(Stencil::parse("mesh:3", 3).unwrap(), false, 2);
        assert_eq!(mesh.of(0).from, [Edge { rank: 1, number: 0, elements: 2..4 }]);
        assert_eq!(mesh.of(0).result_len, 4);
        let same = Neighbors::of_stencil(Stencil::parse("mesh:3", 3).unwrap(), true, 2);
        assert_eq!((same.of(1).input_len, same.of(1).result_len), (2, 4));
    }
}
