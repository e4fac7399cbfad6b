//! One call of a collective: its arguments, and the location of its data.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Buffer, Counts, Error, Neighbors, Nodes, Rank, Result, Span, Stencil, ensure, names};

macro_rules! collectives {
    ($($variant:ident: $name:literal,)+) => {
        /// The collectives, named as in MPI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Collective {
            $($variant,)+
        }

        impl Collective {
            /// All collectives in alphabetical order, as in the registry, in `hocket.h` and in the Python package.
            pub const ALL: [Self; 16] = [$(Self::$variant,)+];

            /// The name used on the command line and for folders.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
collectives! {
    Allgather: "allgather",
    Allreduce: "allreduce",
    Alltoall: "alltoall",
    Alltoallv: "alltoallv",
    Barrier: "barrier",
    Broadcast: "broadcast",
    Exscan: "exscan",
    Gather: "gather",
    Gatherv: "gatherv",
    NeighborAllgather: "neighbor_allgather",
    NeighborAlltoall: "neighbor_alltoall",
    Reduce: "reduce",
    ReduceScatter: "reduce_scatter",
    Scan: "scan",
    Scatter: "scatter",
    Scatterv: "scatterv",
}

impl Collective {
    /// MPI's names in small letters, where they differ from Hocket's.
    pub const fn mpi_names(self) -> &'static [&'static str] {
        match self {
            Self::Broadcast => &["bcast"],
            Self::Allgather => &["allgatherv"],
            Self::Alltoallv => &["alltoallw"],
            Self::NeighborAllgather => &["neighbor_allgatherv"],
            Self::NeighborAlltoall => &["neighbor_alltoallv", "neighbor_alltoallw"],
            Self::ReduceScatter => &["reduce_scatter_block"],
            _ => &[],
        }
    }

    /// The collective with this name: Hocket's name, or MPI's in small letters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name || one.mpi_names().contains(&name))
    }

    /// Whether one rank is the root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Gather | Self::Gatherv | Self::Reduce | Self::Scatter | Self::Scatterv)
    }

    /// Whether contributions are combined by an operator.
    pub const fn reduces(self) -> bool {
        matches!(self, Self::Allreduce | Self::Exscan | Self::Reduce | Self::ReduceScatter | Self::Scan)
    }

    /// Whether a call has a message, and so a size.
    pub const fn has_size(self) -> bool {
        !matches!(self, Self::Barrier)
    }

    /// Whether only the root contributes.
    pub const fn is_from_root(self) -> bool {
        self.scatters() || matches!(self, Self::Broadcast)
    }

    /// Whether a contribution has a block for each rank, whose size is the size of the call.
    pub const fn sends_blocks(self) -> bool {
        self.scatters() || matches!(self, Self::Alltoall | Self::Alltoallv)
    }

    /// The collective that does the same with blocks of one size.
    pub const fn with_equal_blocks(self) -> Self {
        match self {
            Self::Alltoallv => Self::Alltoall,
            Self::Gatherv => Self::Gather,
            Self::Scatterv => Self::Scatter,
            _ => self,
        }
    }

    /// Whether the root receives a block from every rank.
    pub const fn gathers(self) -> bool {
        matches!(self, Self::Gather | Self::Gatherv)
    }

    /// Whether every rank receives a block from the root.
    pub const fn scatters(self) -> bool {
        matches!(self, Self::Scatter | Self::Scatterv)
    }

    /// Whether ranks communicate with their neighbours only.
    pub const fn has_neighbors(self) -> bool {
        matches!(self, Self::NeighborAllgather | Self::NeighborAlltoall)
    }

    /// The counts of blocks of `count` elements between the neighbours of a stencil.
    pub fn counts_of(self, stencil: Stencil, count: usize) -> Counts {
        Counts::Neighbors(Arc::new(Neighbors::of_stencil(stencil, self == Self::NeighborAllgather, count)))
    }

    /// Whether each rank has a block of its own, possibly of its own size.
    pub const fn has_blocks(self) -> bool {
        self.gathers() || self.scatters() || matches!(self, Self::Allgather | Self::ReduceScatter)
    }

    /// Whether all ranks know the size of every call, so that it may decide which algorithm they run. A neighbourhood's
    /// size is known if all blocks are the same size, see [`Call::size_is_known`].
    pub const fn size_is_known(self) -> bool {
        !matches!(self, Self::Alltoallv | Self::Gatherv | Self::Scatterv)
    }

    /// Whether the message of the MPI call (`--size`) is one block rather than the whole vector.
    pub const fn size_is_one_block(self) -> bool {
        self.gathers()
            || self.scatters()
            || self.has_neighbors()
            || matches!(self, Self::Allgather | Self::Alltoall | Self::Alltoallv)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The unit of a parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Bytes; text input takes units.
    Bytes,
    /// A switch: the value is the index of one of these words, counted from 0. Texts give the word.
    Choice(&'static [&'static str]),
}

/// How the value of a parameter is chosen for the least time, where a call leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Bytes of pieces: the automatic value or a power of two first, then others up to all data.
    Size,
    /// A number of ranks: a small one, or all.
    Ranks,
    /// One of these numbers.
    Among(&'static [u64]),
    /// A word of a switch.
    Word,
    /// It is not chosen: a machine, an application or a user gives it, or else it has its default.
    Given,
}

/// A parameter that an algorithm declares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as in `--param NAME=VALUE`.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: Unit,
    /// The value used when none is given.
    pub default: u64,
    /// The smallest value allowed.
    pub least: u64,
    /// Values that verification and tests try besides the default; in bytes, small ones, to cut small messages into
    /// many pieces. Values that the algorithm refuses in a call are skipped.
    pub tries: &'static [u64],
    /// How its value is chosen for the least time.
    pub domain: Domain,
    /// One line on the parameter's effect.
    pub meaning: &'static str,
}

impl Parameter {
    /// The number of a word of a switch.
    ///
    /// # Errors
    /// Another word, or a parameter that is no switch; the message names the words.
    pub fn number_of(&self, word: &str) -> Result<u64> {
        let words = self.words();
        words.iter().position(|name| *name == word).map(|number| number as u64).ok_or_else(|| {
            let hint = names::hint(word, words.iter().copied());
            Error::new(format!("parameter {}: got {word:?}, {hint}", self.name))
        })
    }

    /// The words of a switch; none for other parameters.
    pub fn words(&self) -> &'static [&'static str] {
        match self.unit {
            Unit::Choice(words) => words,
            Unit::Count | Unit::Bytes => &[],
        }
    }
}

/// One call of a collective, the same on every rank.
///
/// Layout of the buffers, in elements; `n` is the count of the call, or of a rank's block where blocks differ:
///
/// | collective | input | result |
/// |---|---|---|
/// | allreduce, scan | n | n |
/// | exscan | n | n, none at rank 0 |
/// | reduce | n | n at the root |
/// | broadcast | the root's result | n |
/// | reduce_scatter | all blocks | the own block |
/// | allgather | the own block | all blocks |
/// | gather, gatherv | the own block | all blocks at the root |
/// | scatter, scatterv | all blocks at the root | the own block |
/// | alltoall, alltoallv | a block for each rank | a block from each rank |
/// | neighbor_allgather | the own block | a block from each neighbour |
/// | neighbor_alltoall | a block for each neighbour | a block from each neighbour |
/// | barrier | none | none |
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Number of ranks.
    pub ranks: usize,
    /// The root, `0` where there is none.
    pub root: usize,
    /// Elements per block (`Equal`: or of a whole vector). Alltoallv may have `Pairs`; neighbourhoods have `Neighbors`.
    pub counts: Counts,
    /// Whether the input lies in the result buffer, where `MPI_IN_PLACE` puts it.
    pub in_place: bool,
    /// Whether operands may be swapped.
    pub commutative: bool,
    /// Size of one element, in bytes.
    pub element_bytes: usize,
    /// Values of the parameters the algorithm declares.
    pub parameters: Vec<(&'static str, u64)>,
    /// Packet pacing, see [`Call::gap_packets`]: no gap, one gap for all steps, or one for each.
    pub gap_packets: Arc<[f64]>,
    /// Which ranks share a node.
    pub nodes: Nodes,
    /// The calls of the algorithms that a composed algorithm is made of.
    pub parts: Arc<[Part]>,
}

/// A part of a composed algorithm: an algorithm that several groups of ranks run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// The calls of successive groups, each with the number after the last group that makes it.
    pub calls: Vec<(usize, Call)>,
}

impl Part {
    /// The call of a group.
    pub fn call(&self, group: usize) -> &Call {
        &self.calls[self.calls.partition_point(|(end, _)| *end <= group)].1
    }
}

impl Call {
    /// A call of `count` one-byte elements (a barrier: none) over `ranks` ranks: root 0, commutative, not in place.
    /// Neighbours lie on a torus of two nearly equal dimensions.
    pub fn new(collective: Collective, ranks: usize, count: usize) -> Self {
        let counts = match collective {
            Collective::Barrier => Counts::Equal(0),
            Collective::ReduceScatter => Counts::even(count, ranks),
            _ if collective.has_neighbors() && ranks > 0 => {
                let torus = Stencil::parse("torus", ranks).expect("any number of ranks is a torus of two dimensions");
                collective.counts_of(torus, count)
            }
            _ => Counts::Equal(count),
        };
        Self {
            collective,
            ranks,
            root: 0,
            counts,
            in_place: false,
            commutative: true,
            element_bytes: 1,
            parameters: Vec::new(),
            gap_packets: Arc::default(),
            nodes: Nodes::Unknown,
            parts: Arc::default(),
        }
    }

    /// Checks the call itself, independently of the algorithm.
    ///
    /// # Errors
    /// No ranks; a root that is not a rank; counts that do not fit the collective or its ranks; in place:
    /// neighbourhoods, or blocks that differ between two ranks.
    pub fn check(&self) -> Result<()> {
        let Self { collective, ranks, root, in_place, .. } = self;
        ensure(*ranks > 0, || "ranks: got 0, expected at least 1")?;
        ensure(root < ranks, || format!("root: got {root}, expected a rank below {ranks}"))?;
        ensure(collective.has_neighbors() == matches!(self.counts, Counts::Neighbors(_)), || {
            format!("counts: got {collective}, expected counts of edges for neighbourhood collectives only")
        })?;
        match &self.counts {
            Counts::Equal(_) => Ok(()),
            Counts::Offsets(offsets) => {
                ensure(collective.has_blocks(), || {
                    format!("counts: got one count per rank, but {collective} has one count for all ranks")
                })?;
                let counts = offsets.len() - 1;
                ensure(counts == *ranks, || {
                    format!("counts: got {counts} counts, expected one for each of the {ranks} ranks")
                })
            }
            Counts::Own(_) => ensure(!collective.size_is_known(), || {
                format!("counts: got the count of one rank, but {collective} needs the counts of all ranks")
            }),
            Counts::Neighbors(neighbors) => {
                let number = neighbors.ranks();
                ensure(number == *ranks, || {
                    format!("neighbors: got the neighbours of {number} ranks, expected the neighbours of {ranks}")
                })?;
                ensure(!in_place, || format!("in_place: {collective} has no in-place form"))
            }
            Counts::Pairs(pairs) => {
                ensure(*collective == Collective::Alltoallv, || {
                    format!("counts: got counts for pairs of ranks, but {collective} has none")
                })?;
                let number = pairs.ranks();
                ensure(number == *ranks, || {
                    format!("counts: got the counts of {number} ranks, expected the counts of {ranks}")
                })?;
                ensure(
                    !in_place || pairs.are_symmetric(),
                    || "counts: expected blocks of equal size in both directions between two ranks of an in-place call",
                )
            }
        }
    }

    /// The same data in another collective: how a composed algorithm calls its parts.
    pub fn in_collective(&self, collective: Collective, root: usize) -> Self {
        Self { collective, root, ..self.clone() }
    }

    /// Value of a declared parameter.
    ///
    /// # Panics
    /// When the algorithm does not declare it: a defect of the calling program.
    #[inline]
    pub fn parameter(&self, name: &str) -> u64 {
        let parameter = self.parameters.iter().find(|(key, _)| *key == name);
        parameter.unwrap_or_else(|| panic!("parameter {name} is not declared")).1
    }

    /// Idle packet times between two packets of a message of step `step`, for algorithms that have steps.
    pub fn gap_packets(&self, step: usize) -> f64 {
        match &*self.gap_packets {
            [] => 0.0,
            [gap] => *gap,
            gaps => gaps[step],
        }
    }

    /// Whether no rank has its result before all ranks have begun.
    pub fn waits_for_all(&self) -> bool {
        match self.collective {
            Collective::Barrier => true,
            Collective::Allgather
            | Collective::Allreduce
            | Collective::Alltoall
            | Collective::Alltoallv
            | Collective::ReduceScatter => {
                matches!(self.counts, Counts::Equal(count) if count > 0)
            }
            _ => false,
        }
    }

    /// Elements of a block: the own one if no other is known, the largest known one if pairs of ranks have their own.
    #[inline]
    pub fn count(&self, block: usize) -> usize {
        match &self.counts {
            Counts::Equal(count) => *count,
            Counts::Offsets(offsets) => offsets[block + 1] - offsets[block],
            Counts::Own(count) => *count,
            Counts::Pairs(pairs) => pairs.largest(),
            Counts::Neighbors(neighbors) => neighbors.largest(),
        }
    }

    /// First element of block `block` among all blocks.
    ///
    /// # Panics
    /// When pairs of ranks have their own blocks, or only the own block is known: a defect of the calling program.
    #[inline]
    pub fn offset(&self, block: usize) -> usize {
        match &self.counts {
            Counts::Equal(count) => count * block,
            Counts::Offsets(offsets) => offsets[block],
            Counts::Own(_) | Counts::Pairs(_) | Counts::Neighbors(_) => panic!("no rank is told where all blocks lie"),
        }
    }

    /// Elements of all blocks together.
    #[inline]
    pub fn total(&self) -> usize {
        self.offset(self.ranks)
    }

    /// The blocks `first .. first + count` of a span that holds all blocks.
    #[inline]
    pub fn blocks(&self, all: Span, first: usize, count: usize) -> Span {
        let start = self.offset(first);
        all.part(start, self.offset(first + count) - start)
    }

    /// Block `block` of a span that holds all blocks.
    #[inline]
    pub fn block(&self, all: Span, block: usize) -> Span {
        self.blocks(all, block, 1)
    }

    /// Elements from one rank to another.
    #[inline]
    pub fn pair_count(&self, from: usize, to: usize) -> usize {
        self.range_to(from, to).len()
    }

    /// The block of `rank` to another rank, in a span that holds its blocks to all ranks.
    #[inline]
    pub fn block_to(&self, all: Span, rank: usize, to: usize) -> Span {
        let range = self.range_to(rank, to);
        all.part(range.start, range.len())
    }

    /// The block of `rank` from another rank, in a span that holds its blocks from all ranks.
    #[inline]
    pub fn block_from(&self, all: Span, rank: usize, from: usize) -> Span {
        let range = self.range_from(rank, from);
        all.part(range.start, range.len())
    }

    fn range_to(&self, rank: usize, to: usize) -> Range<usize> {
        match &self.counts {
            Counts::Pairs(pairs) => pairs.range_to(rank, to),
            _ => self.offset(to)..self.offset(to + 1),
        }
    }

    fn range_from(&self, rank: usize, from: usize) -> Range<usize> {
        match &self.counts {
            Counts::Pairs(pairs) => pairs.range_from(rank, from),
            _ => self.offset(from)..self.offset(from + 1),
        }
    }

    /// The edges of a neighbourhood collective.
    ///
    /// # Panics
    /// When the collective is another: a defect of the calling program.
    pub fn neighbors(&self) -> &Neighbors {
        match &self.counts {
            Counts::Neighbors(neighbors) => neighbors,
            _ => panic!("{} has no neighbours", self.collective),
        }
    }

    /// Whether all ranks know the size of this call.
    pub fn size_is_known(&self) -> bool {
        match &self.counts {
            Counts::Neighbors(neighbors) => neighbors.is_uniform(),
            _ => self.collective.size_is_known(),
        }
    }

    /// Elements that rank `rank` contributes.
    #[inline]
    pub fn input_len(&self, rank: usize) -> usize {
        match self.collective {
            Collective::Barrier => 0,
            Collective::Allreduce | Collective::Exscan | Collective::Scan | Collective::Reduce => self.count(0),
            Collective::Allgather | Collective::Gather | Collective::Gatherv => self.count(rank),
            Collective::ReduceScatter | Collective::Alltoall => self.total(),
            Collective::Alltoallv => self.range_to(rank, self.ranks - 1).end,
            Collective::NeighborAllgather | Collective::NeighborAlltoall => self.neighbors().of(rank).input_len,
            Collective::Broadcast if rank == self.root => self.count(0),
            Collective::Scatter | Collective::Scatterv if rank == self.root => self.total(),
            Collective::Broadcast | Collective::Scatter | Collective::Scatterv => 0,
        }
    }

    /// Elements that rank `rank` receives.
    #[inline]
    pub fn result_len(&self, rank: usize) -> usize {
        match self.collective {
            Collective::Barrier => 0,
            Collective::Allreduce | Collective::Scan | Collective::Broadcast => self.count(0),
            Collective::Exscan if rank > 0 => self.count(0),
            Collective::Reduce if rank == self.root => self.count(0),
            Collective::Gather | Collective::Gatherv if rank == self.root => self.total(),
            Collective::Exscan | Collective::Reduce | Collective::Gather | Collective::Gatherv => 0,
            Collective::ReduceScatter | Collective::Scatter | Collective::Scatterv => self.count(rank),
            Collective::Allgather | Collective::Alltoall => self.total(),
            Collective::Alltoallv => self.range_from(rank, self.ranks - 1).end,
            Collective::NeighborAllgather | Collective::NeighborAlltoall => self.neighbors().of(rank).result_len,
        }
    }

    /// Whether the input of `rank` shares memory with its result: always in a broadcast, which has one buffer; as in
    /// MPI, only at the root of an in-place reduce, gather or scatter.
    #[inline]
    pub fn is_in_place(&self, rank: usize) -> bool {
        let at_root = !self.collective.has_root() || rank == self.root;
        self.collective == Collective::Broadcast || (self.in_place && at_root)
    }

    /// Elements for which the result buffer of `rank` must have room: its result, and its input when in place.
    pub fn result_room(&self, rank: usize) -> usize {
        let input = if self.is_in_place(rank) { self.input_len(rank) } else { 0 };
        if self.collective.scatters() { self.result_len(rank) } else { self.result_len(rank).max(input) }
    }

    /// The size of the call's message in bytes, as `--size` and rules count it: one block where the MPI call takes the
    /// size of a block, else the whole vector.
    #[inline]
    pub fn size_bytes(&self) -> u64 {
        let elements = match self.collective {
            Collective::ReduceScatter => self.total(),
            _ => self.count(0),
        };
        (elements * self.element_bytes) as u64
    }

    /// The span of the input of `rank`.
    #[inline]
    pub fn input_of(&self, rank: usize) -> Span {
        let len = self.input_len(rank);
        if !self.is_in_place(rank) || self.collective.scatters() {
            return Span::new(Buffer::Input, len);
        }
        match self.collective {
            Collective::Allgather | Collective::Gather | Collective::Gatherv => {
                self.block(Span::new(Buffer::Result, self.total()), rank)
            }
            _ => Span::new(Buffer::Result, len),
        }
    }

    /// The span of the result of `rank`. In an in-place scatter, the root's block stays in the input.
    #[inline]
    pub fn result_of(&self, rank: usize) -> Span {
        if self.collective.scatters() && self.is_in_place(rank) {
            return self.block(Span::new(Buffer::Input, self.total()), rank);
        }
        Span::new(Buffer::Result, self.result_len(rank))
    }

    /// Whether a program may write `span` of rank `rank`. The input belongs to the caller and may be read-only memory;
    /// only the part that holds the result (at the root of an in-place scatter) may be written.
    pub fn may_write(&self, rank: usize, span: Span) -> bool {
        span.buffer != Buffer::Input || span.is_empty() || self.result_of(rank).contains(span)
    }

    /// The span of the input of the running rank.
    #[inline]
    pub fn input(&self, r: &Rank<'_>) -> Span {
        self.input_of(r.rank())
    }

    /// The span of the result of the running rank.
    #[inline]
    pub fn result(&self, r: &Rank<'_>) -> Span {
        self.result_of(r.rank())
    }
}
