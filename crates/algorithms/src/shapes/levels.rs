//! Algorithms made of algorithms: one runs within each group of ranks, another one between the groups.
//!
//! ```text
//! 7 ranks, group = 3        groups [0 1 2] [3 4 5] [6]
//!
//! within      0 1 2    3 4 5    6        an algorithm on each group
//! between     0 ────── 3 ────── 6        an algorithm on the ranks in the same place of all groups, here the first
//! ```

use std::ops::Range;
use std::sync::Arc;

use hocket_core::{
    Buffer, Call, Collective, Counts, Domain, Members, NodeList, Nodes, Parameter, Part, Rank, Span, Subgroup,
    Symmetry, Tag, Unit,
};

pub use crate::about::Piece;
use crate::about::{About, SEGMENT};
use crate::shapes::groups::{GROUP, Groups};
use crate::{Entry, find, names};

/// The segment size of the parts that have segments.
pub const SEGMENTS: Parameter = Parameter { tries: &[], ..SEGMENT };

/// The size of groups of the next level, for a part between groups that has groups itself.
pub const OUTER: Parameter = Parameter {
    name: "outer",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[],
    domain: Domain::Ranks,
    meaning: "groups per group of the next level, if the algorithm between groups has groups too; 0: its default",
};

/// The parameters of a call, without [`OUTER`] if no part has groups.
pub fn used_parameters(c: &Call) -> Vec<(&'static str, u64)> {
    let has_groups = |call: &Call| call.parameters.iter().any(|(name, _)| *name == GROUP.name);
    let has_outer = c.parts.iter().any(|part| part.calls.iter().any(|(_, call)| has_groups(call)));
    c.parameters.iter().copied().filter(|(name, _)| has_outer || *name != OUTER.name).collect()
}

/// The groups of a call's ranks: nodes, or a number of consecutive ranks.
pub enum Levels {
    /// Groups of consecutive ranks.
    Equal(Groups),
    /// Nodes with any ranks.
    Listed(Arc<NodeList>),
}

impl Levels {
    /// The groups of a call.
    pub fn of(c: &Call) -> Self {
        match &c.nodes {
            Nodes::Listed(nodes) if c.parameter(GROUP.name) == 0 => Self::Listed(nodes.clone()),
            _ => Self::Equal(Groups::of(c)),
        }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        match self {
            Self::Equal(groups) => groups.count,
            Self::Listed(nodes) => nodes.members.len(),
        }
    }

    /// Number of ranks in a group.
    pub fn size(&self, group: usize) -> usize {
        match self {
            Self::Equal(groups) => groups.members(group).len(),
            Self::Listed(nodes) => nodes.members[group].len(),
        }
    }

    /// Number of ranks in the largest group.
    pub fn largest(&self) -> usize {
        (0..self.count()).map(|group| self.size(group)).max().unwrap_or(1)
    }

    /// The group of a rank, and the rank's place in it.
    pub fn place(&self, rank: usize) -> (usize, usize) {
        match self {
            Self::Equal(groups) => (rank / groups.size, rank % groups.size),
            Self::Listed(nodes) => nodes.places[rank],
        }
    }

    /// The rank in a place of a group. After the last place comes the first one again.
    pub fn rank(&self, group: usize, place: usize) -> usize {
        match self {
            Self::Equal(groups) => groups.members(group).start + place % self.size(group),
            Self::Listed(nodes) => nodes.members[group][place % self.size(group)],
        }
    }

    /// Number of ranks of the groups before a group.
    pub fn ranks_before(&self, group: usize) -> usize {
        match self {
            Self::Equal(groups) => groups.members(group).start,
            Self::Listed(nodes) => nodes.members[..group].iter().map(Vec::len).sum(),
        }
    }

    /// The group, and the place in it, at a position when the groups come one after another.
    pub fn at(&self, position: usize) -> (usize, usize) {
        match self {
            Self::Equal(groups) => (position / groups.size, position % groups.size),
            Self::Listed(nodes) => {
                let (mut group, mut place) = (0, position);
                while place >= nodes.members[group].len() {
                    place -= nodes.members[group].len();
                    group += 1;
                }
                (group, place)
            }
        }
    }

    /// The ranks of a group, if they are consecutive.
    pub fn ranks(&self, group: usize) -> Range<usize> {
        let first = self.rank(group, 0);
        first..first + self.size(group)
    }

    /// The blocks of a group's consecutive ranks, in a span that holds the blocks of all ranks.
    pub fn blocks(&self, c: &Call, all: Span, group: usize) -> Span {
        let ranks = self.ranks(group);
        c.blocks(all, ranks.start, ranks.len())
    }

    /// Number of lanes: the places that every group has.
    pub fn lanes(&self) -> usize {
        match self {
            Self::Equal(groups) => groups.last(),
            Self::Listed(nodes) => nodes.members.iter().map(Vec::len).min().unwrap_or(1),
        }
    }

    /// Whether all groups have the same number of ranks.
    pub fn are_equal(&self) -> bool {
        match self {
            Self::Equal(groups) => groups.are_equal(),
            Self::Listed(nodes) => nodes.members.iter().all(|members| members.len() == nodes.members[0].len()),
        }
    }

    /// Whether the groups, one after another, list all ranks in order.
    pub fn are_in_order(&self) -> bool {
        match self {
            Self::Equal(_) => true,
            Self::Listed(nodes) => nodes.members.iter().flatten().copied().eq(0..nodes.places.len()),
        }
    }
}

/// A parameter of composed algorithms that names the algorithm of a part.
#[derive(Clone, Copy, Debug)]
pub struct PartParameter {
    /// The collective of the part.
    pub collective: Collective,
    /// The parameter: its values are the algorithms of the collective.
    pub parameter: Parameter,
}

/// A parameter that chooses an algorithm of a collective.
pub const fn choice(collective: Collective, name: &'static str, default: &str, meaning: &'static str) -> PartParameter {
    let words = names(collective);
    let (unit, default) = (Unit::Choice(words), number(words, default));
    let parameter = Parameter { name, unit, default, least: 0, tries: &[], domain: Domain::Word, meaning };
    PartParameter { collective, parameter }
}

/// The choice of the algorithm between the groups. Tests try `other` besides the default.
pub const fn network(collective: Collective, default: &str, other: &str) -> PartParameter {
    choice(collective, "network", default, "the algorithm between the groups").trying(other)
}

/// As [`network`], for an algorithm that runs in each lane.
pub const fn network_in_lanes(collective: Collective, default: &str, other: &str) -> PartParameter {
    choice(collective, "network", default, "the algorithm between the groups, in each lane").trying(other)
}

/// The numbers of the algorithms of any collective, for tries, which are references to constants.
const NUMBERS: &[u64; 32] = &{
    let mut numbers = [0; 32];
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] = i as u64;
        i += 1;
    }
    numbers
};

/// The parameter of this name for the shape of a part's trees: the name of the part, then `_shape`.
pub const fn shape(name: &'static str, of: Parameter) -> Parameter {
    Parameter { name, tries: &[], ..of }
}

const fn number(words: &[&str], word: &str) -> u64 {
    let mut number = 0;
    while !are_equal(words[number].as_bytes(), word.as_bytes()) {
        number += 1;
    }
    number as u64
}

const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl PartParameter {
    /// The same choice, of which tests try this algorithm besides the default.
    pub const fn trying(self, other: &str) -> Self {
        let tries = std::slice::from_ref(&NUMBERS[number(names(self.collective), other) as usize]);
        Self { parameter: Parameter { tries, ..self.parameter }, ..self }
    }

    /// The algorithm that the call names.
    fn entry(&self, c: &Call) -> &'static Entry {
        let name = self.parameter.words()[c.parameter(self.parameter.name) as usize];
        find(self.collective, name).expect("a word of the choice")
    }

    /// Values of the part's parameters: those that all parts share, then those whose names begin with the part's name.
    fn shared_values(&self, c: &Call, entry: &Entry) -> Vec<(String, u64)> {
        let of_all = [(SEGMENT.name, SEGMENT.name), (OUTER.name, GROUP.name)];
        let of_all = |own| of_all.into_iter().find(|(name, _)| *name == own).map(|(_, part)| part);
        let of_part = |own: &'static str| own.strip_prefix(self.parameter.name)?.strip_prefix('_');
        let all = c.parameters.iter().filter_map(|(own, value)| Some((of_all(*own)?, *value)));
        let own = c.parameters.iter().filter_map(|(own, value)| Some((of_part(own)?, *value)));
        let is_declared = |(name, _): &(&str, u64)| entry.about.parameter(name).is_some();
        all.chain(own).filter(is_declared).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The part, run by `groups` groups of ranks; `call` returns the call of each group.
    fn piece(&self, c: &Call, is_within: bool, groups: usize, call: impl Fn(usize) -> Call) -> Piece {
        let mut calls: Vec<(usize, Call)> = Vec::new();
        for group in 0..groups {
            let call = call(group);
            match calls.last_mut() {
                Some((end, last)) if *last == call => *end += 1,
                _ => calls.push((group + 1, call)),
            }
        }
        let entry = self.entry(c);
        let part = Part { name: self.parameter.name, calls };
        Piece {
            collective: self.collective,
            algorithm: entry.name,
            is_within,
            part,
            values: self.shared_values(c, entry),
        }
    }

    /// The part within all groups; `call` returns the call of each group.
    pub fn within(&self, c: &Call, levels: &Levels, call: impl Fn(usize) -> Call) -> Piece {
        self.piece(c, true, levels.count(), call)
    }

    /// The part within one group.
    pub fn within_one_group(&self, c: &Call, call: &Call) -> Piece {
        self.piece(c, true, 1, |_| call.clone())
    }

    /// The part between the groups.
    pub fn between(&self, c: &Call, call: &Call) -> Piece {
        self.piece(c, false, 1, |_| call.clone())
    }

    /// The part between the groups, in lanes; each lane has one chunk of a vector.
    pub fn in_lanes(&self, c: &Call, levels: &Levels, call: impl Fn(usize) -> Call) -> Piece {
        let (whole, lanes) = (Span::new(Buffer::Result, c.count(0)), levels.lanes());
        self.piece(c, false, lanes, |lane| call(whole.chunk(lane, lanes).len))
    }

    /// The part's call in a group, or in a lane.
    pub fn call<'a>(&self, c: &'a Call, group: usize) -> &'a Call {
        let part = c.parts.iter().find(|part| part.name == self.parameter.name).expect("a part of the algorithm");
        part.call(group)
    }

    /// Runs the part within all groups.
    pub async fn run_within_groups(&self, r: &Rank<'_>, c: &Call, levels: &Levels, spans: (Span, Span)) {
        let (group, _) = levels.place(r.rank());
        self.run_in_group(r, c, levels, spans, self.call(c, group), None).await;
    }

    /// Runs the part within one group, the group of this rank.
    pub async fn run_within_own_group(&self, r: &Rank<'_>, c: &Call, levels: &Levels, spans: (Span, Span)) {
        self.run_in_group(r, c, levels, spans, self.call(c, 0), None).await;
    }

    /// Runs the part between the groups, among the ranks in this place of their groups.
    pub async fn run_between_groups(&self, r: &Rank<'_>, c: &Call, levels: &Levels, place: usize, spans: (Span, Span)) {
        self.run_at_place(r, c, levels, (place, None), spans, self.call(c, 0)).await;
    }

    /// Runs the part between the groups, among the last rank of each.
    pub async fn run_between_last(&self, r: &Rank<'_>, c: &Call, levels: &Levels, spans: (Span, Span)) {
        let (group, _) = levels.place(r.rank());
        let member = |group| levels.rank(group, levels.size(group) - 1);
        self.run(r, c, (Members::Computed(levels.count(), &member), group), spans, self.call(c, 0), None).await;
    }

    /// Runs the part between the groups in the lane of this rank, among the ranks in the same place.
    pub async fn run_in_lane(&self, r: &Rank<'_>, c: &Call, levels: &Levels, spans: (Span, Span)) {
        let (_, place) = levels.place(r.rank());
        self.run_at_place(r, c, levels, (place, None), spans, self.call(c, place)).await;
    }

    /// Runs a call of the part among the ranks in this place of their groups; `own_tag` is as in `run`.
    pub(super) async fn run_at_place(
        &self,
        r: &Rank<'_>,
        c: &Call,
        levels: &Levels,
        (place, own_tag): (usize, Option<Tag>),
        spans: (Span, Span),
        call: &Call,
    ) {
        let (group, _) = levels.place(r.rank());
        let member = |group| levels.rank(group, place);
        self.run(r, c, (Members::Computed(levels.count(), &member), group), spans, call, own_tag).await;
    }

    /// Runs a call of the part in the group of this rank; `own_tag` is as in `run`.
    pub(super) async fn run_in_group(
        &self,
        r: &Rank<'_>,
        c: &Call,
        levels: &Levels,
        spans: (Span, Span),
        call: &Call,
        own_tag: Option<Tag>,
    ) {
        let (group, place) = levels.place(r.rank());
        let member = |place| levels.rank(group, place);
        self.run(r, c, (Members::Computed(levels.size(group), &member), place), spans, call, own_tag).await;
    }

    /// Runs a call of the part. `own_tag`: for a part that runs beside others, the first of its tags.
    async fn run(
        &self,
        r: &Rank<'_>,
        c: &Call,
        team: (Members<'_>, usize),
        spans: (Span, Span),
        call: &Call,
        own_tag: Option<Tag>,
    ) {
        let group = Subgroup::at(r, team, spans, own_tag.unwrap_or(0), 1);
        let group = if own_tag.is_some() { group.without_circuits() } else { group };
        self.entry(c).program().steps(&group.rank(), call).await;
    }
}

impl About {
    /// The algorithm runs these pieces, within groups and between them, and accepts the calls that all of them accept.
    pub const fn in_groups(self, pieces: fn(&Call) -> Vec<Piece>) -> Self {
        self.completing(group).made_of(pieces)
    }
}

/// A call of a part: another collective over other ranks, with the whole call's commutativity and element size.
pub fn part_call(c: &Call, collective: Collective, ranks: usize, count: usize) -> Call {
    let fresh = Call::new(collective, ranks, count);
    Call { commutative: c.commutative, element_bytes: c.element_bytes, ..fresh }
}

/// The size of the groups, with which a composed call is completed; none if the groups are listed nodes.
pub fn group(c: &Call) -> Vec<(&'static str, u64)> {
    match Levels::of(c) {
        Levels::Equal(groups) => vec![(GROUP.name, groups.size as u64)],
        Levels::Listed(_) => Vec::new(),
    }
}

/// The call of a part that moves or combines a vector within a group, in one chunk for each lane.
pub fn chunk_call(c: &Call, collective: Collective, levels: &Levels, group: usize) -> Call {
    let (whole, lanes) = (Span::new(Buffer::Result, c.count(0)), levels.lanes());
    let count = |place| if place < lanes { whole.chunk(place, lanes).len } else { 0 };
    let counts: Vec<_> = (0..levels.size(group)).map(count).collect();
    Call { counts: Counts::each(&counts), ..part_call(c, collective, counts.len(), 0) }
}

/// The call of a part that moves or combines the blocks of the ranks of a group.
pub fn of_blocks(c: &Call, collective: Collective, levels: &Levels, group: usize) -> Call {
    let counts = match &c.counts {
        Counts::Equal(count) => Counts::Equal(*count),
        _ => Counts::each(&levels.ranks(group).map(|block| c.count(block)).collect::<Vec<_>>()),
    };
    Call { counts, ..part_call(c, collective, levels.size(group), 0) }
}

/// The call of a part that moves or combines the blocks of all groups; the blocks of a group are one block.
pub fn of_groups(c: &Call, collective: Collective, levels: &Levels) -> Call {
    let all = Span::new(Buffer::Result, c.total());
    let counts = match &c.counts {
        Counts::Equal(count) if levels.are_equal() => Counts::Equal(count * levels.size(0)),
        _ => Counts::each(&(0..levels.count()).map(|group| levels.blocks(c, all, group).len).collect::<Vec<_>>()),
    };
    Call { counts, ..part_call(c, collective, levels.count(), 0) }
}

/// The precondition of composed reductions: if groups are not consecutive ranks, they combine out of rank order.
pub fn needs_order_or_commutative(c: &Call) -> Option<&'static str> {
    (!c.commutative && !Levels::of(c).are_in_order())
        .then_some("needs a commutative operator, or consecutive ranks on each node: it combines node by node")
}

/// The precondition of algorithms that move the blocks of a group as one block.
pub fn needs_order(c: &Call) -> Option<&'static str> {
    (!Levels::of(c).are_in_order()).then_some("needs consecutive ranks on each node: it moves their blocks as one")
}

/// The precondition of prefix sums of whole groups.
pub fn needs_order_of_groups(c: &Call) -> Option<&'static str> {
    (!Levels::of(c).are_in_order())
        .then_some("needs consecutive ranks on each node: the sum of a node covers consecutive ranks")
}

/// The precondition of algorithms in which each rank has a counterpart in every other group.
pub fn needs_equal_groups(c: &Call) -> Option<&'static str> {
    (!Levels::of(c).are_equal())
        .then_some("needs the same number of ranks in all groups: each rank has a counterpart in every other group")
}

/// The symmetry of an algorithm that does the same in all groups: the one that its parts between them have.
pub fn symmetry_between_groups(c: &Call, pieces: &[Piece]) -> Option<Symmetry> {
    let Levels::Equal(groups) = Levels::of(c) else { return None };
    let mut between = None;
    for piece in pieces {
        let part = c.parts.iter().find(|part| part.name == piece.part.name)?;
        let [(_, call)] = part.calls.as_slice() else { return None };
        if !piece.is_within {
            // With its copies, as the whole algorithm cannot say that some of them differ.
            let symmetry = Entry::of(piece).program().symmetry(call, true)?.of_groups(groups.size)?;
            between = Some(between.map_or(Some(symmetry), |others: Symmetry| others.and(symmetry))?);
        }
    }
    between.filter(|_| groups.are_equal())
}
