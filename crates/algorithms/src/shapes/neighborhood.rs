//! Parts of neighbourhood collectives: messages to all neighbours, and the routes of message combining on a grid.

use hocket_core::demand::Spread;
use hocket_core::{Call, Edge, Options, Rank, Source, Span, Stencil, Tag};

/// The block of an edge in a span that holds all blocks.
pub fn block(all: Span, edge: &Edge) -> Span {
    all.part(edge.elements.start, edge.elements.len())
}

/// The tag of an edge's message. Messages of up to 16 edges from one rank to another may arrive in any order.
fn tag(edge: &Edge) -> Tag {
    (edge.number % 16) as Tag
}

/// Copies a block, up to the shorter of the two lengths: in a wrong program, a rank may send itself more than it
/// receives.
pub async fn copy(r: &Rank<'_>, from: Span, into: Span) {
    let len = from.len.min(into.len);
    r.copy(from.part(0, len), into.part(0, len)).await;
}

/// Sends to all neighbours and receives from all neighbours, all at once.
pub async fn exchange(r: &Rank<'_>, c: &Call) {
    let (rank, input, result) = (r.rank(), c.input(r), c.result(r));
    let edges = c.neighbors().of(rank);
    for (to, from) in edges.with_itself(rank) {
        copy(r, block(input, to), block(result, from)).await;
    }
    let [to, from] = edges.with_others(rank);
    let receive = |edge: &Edge| r.recv_with(Source::Rank(edge.rank as u32), block(result, edge), tag(edge));
    let send =
        |edge: &Edge| r.send_with(edge.rank, block(input, edge), Options { tag: tag(edge), ..Options::default() });
    let (receives, sends) = (r.join_all(from.map(receive)), r.join_all(to.map(send)));
    r.join(receives, sends).await;
}

/// The most messages that a rank sends or receives if neighbours send directly. Counts ranks whose edges are known.
pub fn degree(c: &Call) -> usize {
    c.neighbors().entries().flat_map(|(rank, edges)| edges.with_others(rank).map(Iterator::count)).max().unwrap_or(0)
}

/// Whether all ranks send to the same relative places, in the same order, and some places belong to other ranks.
pub fn is_regular(c: &Call) -> bool {
    c.neighbors().stencil().is_some_and(|stencil| stencil.is_periodic) && degree(c) > 0
}

/// The values with which direct messages complete a call: their number (`edges`), and an upper bound on the messages
/// that follow each other at a rank (`waits`).
pub fn directly(c: &Call) -> Vec<(&'static str, u64)> {
    let edges: usize = c.neighbors().entries().map(|(rank, edges)| edges.with_others(rank)[0].clone().count()).sum();
    let waits = if is_regular(c) { 1 } else { 2 * degree(c) };
    vec![("edges", edges as u64), ("waits", waits as u64)]
}

/// The demand of the rank that has to receive from the most others.
pub fn gathering(c: &Call) -> Option<Spread> {
    let most = (0..c.ranks).max_by_key(|rank| sources(c, *rank).count())?;
    Spread::to_rank(most, 1 + sources(c, most).count())
}

/// The other ranks from which a rank receives something: each rank once, with the number of elements of its block.
pub fn sources(c: &Call, rank: usize) -> impl Iterator<Item = (usize, usize)> {
    let [_, from] = c.neighbors().of(rank).with_others(rank);
    let mut sources: Vec<_> = from.map(|edge| (edge.rank, edge.elements.len())).collect();
    sources.sort_unstable();
    sources.dedup_by_key(|(from, _)| *from);
    sources.into_iter()
}

/// Number of elements that a rank sends to the ranks for which `counts` holds.
pub fn elements_to(c: &Call, rank: usize, counts: &dyn Fn(usize) -> bool) -> usize {
    c.neighbors().of(rank).to.iter().filter(|edge| counts(edge.rank)).map(|edge| edge.elements.len()).sum()
}

/// The precondition of message combining.
pub fn needs_stencil(c: &Call) -> Option<&'static str> {
    c.neighbors().stencil().is_none().then_some(
        "needs a grid where all ranks have neighbours at the same relative positions, and blocks of equal size",
    )
}

/// The edges on which a rank sends, and the edges on which it receives. Each has the number of its relative place in
/// the stencil.
pub fn edges_by_place<'a>(c: &'a Call, stencil: &Stencil, rank: usize) -> [Vec<(usize, &'a Edge)>; 2] {
    let edges = c.neighbors().of(rank);
    let exists = |is_backward: bool, offset: &[isize]| {
        let offset = if is_backward { opposite(offset) } else { offset.to_vec() };
        stencil.shifted(rank, &offset).is_some()
    };
    [(false, &edges.to), (true, &edges.from)].map(|(is_backward, edges)| {
        let places = (0..stencil.offsets.len()).filter(|place| exists(is_backward, &stencil.offsets[*place]));
        places.zip(edges).collect()
    })
}

/// A round of message combining: all pieces that go the same distance along one dimension, in one message.
pub struct Round {
    way: Vec<isize>,
    pieces: Vec<Parcel>,
}

/// A block on its way.
struct Parcel {
    /// Where the sending rank holds the block, and where the receiving rank holds it.
    places: [usize; 2],
    /// The way from the block's own rank to here, and the way on. A rank holds the block if both end ranks exist.
    behind: Vec<isize>,
    ahead: Vec<isize>,
}

impl Parcel {
    fn is_held(&self, stencil: &Stencil, rank: usize) -> bool {
        stencil.shifted(rank, &opposite(&self.behind)).is_some() && stencil.shifted(rank, &self.ahead).is_some()
    }
}

fn opposite(offset: &[isize]) -> Vec<isize> {
    offset.iter().map(|shift| -shift).collect()
}

/// An offset, with 0 for a dimension and all later ones.
fn before(offset: &[isize], dimension: usize) -> Vec<isize> {
    offset.iter().enumerate().map(|(i, shift)| if i < dimension { *shift } else { 0 }).collect()
}

/// An offset, with 0 for all dimensions but one.
fn along_dimension(dimension: usize, offset: &[isize]) -> Vec<isize> {
    offset.iter().enumerate().map(|(i, shift)| if i == dimension { *shift } else { 0 }).collect()
}

/// The offsets of a stencil. On a torus, none is negative, so that offsets to the same rank are equal.
fn offsets(stencil: &Stencil) -> Vec<Vec<isize>> {
    let least = |shift: isize, size: usize| if stencil.is_periodic { shift.rem_euclid(size as isize) } else { shift };
    let offset =
        |offset: &Vec<isize>| offset.iter().zip(&stencil.dims).map(|(shift, size)| least(*shift, *size)).collect();
    stencil.offsets.iter().map(offset).collect()
}

/// The rounds along all dimensions. `pieces` returns the ways and the pieces of one dimension.
fn rounds(dimensions: usize, pieces: impl Fn(usize) -> Vec<(Vec<isize>, Parcel)>) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for (way, piece) in (0..dimensions).flat_map(pieces) {
        match rounds.iter_mut().find(|round| round.way == way) {
            Some(round) => round.pieces.push(piece),
            None => rounds.push(Round { way, pieces: vec![piece] }),
        }
    }
    rounds
}

/// The rounds of neighbor_alltoall: each block goes to its destination, along one dimension after the other.
pub fn alltoall_rounds(stencil: &Stencil) -> Vec<Round> {
    let offsets = offsets(stencil);
    let piece = |(place, offset): (usize, &Vec<isize>), dimension: usize| {
        let behind = before(offset, dimension);
        let ahead = offset.iter().zip(&behind).map(|(all, way)| all - way).collect();
        (along_dimension(dimension, offset), Parcel { places: [place; 2], behind, ahead })
    };
    rounds(stencil.dims.len(), |dimension| {
        let moves = offsets.iter().enumerate().filter(|(_, offset)| offset[dimension] != 0);
        moves.map(|offset| piece(offset, dimension)).collect()
    })
}

/// The relative places that a block passes in neighbor_allgather, each once. The first one is its own rank.
fn places_passed(stencil: &Stencil) -> Vec<Vec<isize>> {
    let mut places = vec![vec![0; stencil.dims.len()]];
    for offset in offsets(stencil) {
        for dimension in 1..=offset.len() {
            let place = before(&offset, dimension);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// The rounds of neighbor_allgather: along each dimension, a block goes to the ranks that need it or pass it on.
pub fn allgather_rounds(stencil: &Stencil) -> Vec<Round> {
    let places_passed = places_passed(stencil);
    let index = |place: &[isize]| places_passed.iter().position(|other| other == place).expect("it came that way");
    rounds(stencil.dims.len(), |dimension| {
        let ends = |place: &&Vec<isize>| place[dimension] != 0 && before(place, dimension + 1) == **place;
        let piece = |place: &Vec<isize>| {
            let (behind, ahead) = (before(place, dimension), along_dimension(dimension, place));
            (ahead.clone(), Parcel { places: [index(&behind), index(place)], behind, ahead })
        };
        places_passed.iter().filter(ends).map(piece).collect()
    })
}

/// How many blocks of other ranks a rank holds in neighbor_allgather, and the number of each neighbour's block among
/// them. The rank's own block has number 0.
pub fn places(stencil: &Stencil) -> (usize, Vec<usize>) {
    let places_passed = places_passed(stencil);
    let index = |offset: &Vec<isize>| places_passed.iter().position(|other| other == offset).expect("it came there");
    (places_passed.len() - 1, offsets(stencil).iter().map(index).collect())
}

/// Passes pieces on, round by round. `block_at` returns the span in which a rank holds a piece.
pub async fn pass_on(r: &Rank<'_>, stencil: &Stencil, rounds: &[Round], block_at: impl Fn(usize) -> Span) {
    let (rank, len) = (r.rank(), block_at(0).len);
    let most = if len == 0 { 0 } else { rounds.iter().map(|round| round.pieces.len()).max().unwrap_or(0) };
    let [outgoing, arrived] = [(); 2].map(|()| r.scratch(most * len));
    let nth = |all: Span, index: usize| all.part(index * len, len);
    for round in rounds.iter().filter(|_| len > 0) {
        let [to, from] = [round.way.clone(), opposite(&round.way)].map(|way| stencil.shifted(rank, &way));
        let pieces = |at: Option<usize>| {
            round.pieces.iter().filter(move |piece| at.is_some_and(|at| piece.is_held(stencil, at))).enumerate()
        };
        let (sent, received) = (|| pieces(to.and(Some(rank))), || pieces(from));
        for (index, piece) in sent() {
            r.copy(block_at(piece.places[0]), nth(outgoing, index)).await;
        }
        let [send_len, receive_len] = [sent().count() * len, received().count() * len];
        let send = to.filter(|_| send_len > 0).map(|to| r.send(to, outgoing.part(0, send_len)));
        let receive = from.filter(|_| receive_len > 0).map(|from| r.recv(from, arrived.part(0, receive_len)));
        r.join_optional(send, receive).await;
        for (index, piece) in received() {
            r.copy(nth(arrived, index), block_at(piece.places[1])).await;
        }
    }
}

/// The values with which message combining completes a call: rounds, blocks that a rank sends in all of them, messages.
pub fn combined(c: &Call, rounds: fn(&Stencil) -> Vec<Round>) -> Vec<(&'static str, u64)> {
    let stencil = c.neighbors().stencil().expect("others are refused");
    let rounds = if c.count(0) == 0 { Vec::new() } else { rounds(stencil) };
    let sends = |round: &Round, rank: usize| {
        stencil.shifted(rank, &round.way).is_some() && round.pieces.iter().any(|piece| piece.is_held(stencil, rank))
    };
    let senders = |round: &Round| match stencil.is_periodic {
        true => c.ranks,
        false => (0..c.ranks).filter(|rank| sends(round, *rank)).count(),
    };
    let blocks: usize = rounds.iter().map(|round| round.pieces.len()).sum();
    let messages: usize = rounds.iter().map(senders).sum();
    vec![("rounds", rounds.len() as u64), ("blocks", blocks as u64), ("messages", messages as u64)]
}
