//! A subset of the ranks, numbered as if there were no others: programs run on it unchanged.

use std::cell::OnceCell;

use crate::rank::{Rank, View};
use crate::step::{Options, Received, Source, Step, Tag};
use crate::{Buffer, Moment, Span};

/// The ranks of a group, each at its place.
#[derive(Clone, Copy)]
pub enum Members<'a> {
    /// In this order.
    Listed(&'a [usize]),
    /// This many; the function gives the rank at each place.
    Computed(usize, &'a dyn Fn(usize) -> usize),
}

impl Members<'_> {
    fn len(self) -> usize {
        match self {
            Self::Listed(ranks) => ranks.len(),
            Self::Computed(count, _) => count,
        }
    }

    fn at(self, place: usize) -> usize {
        match self {
            Self::Listed(ranks) => ranks[place],
            Self::Computed(_, at) => at(place),
        }
    }
}

impl<'a> From<&'a [usize]> for Members<'a> {
    fn from(ranks: &'a [usize]) -> Self {
        Self::Listed(ranks)
    }
}

/// A rank as a member of a group. Its number is its place among the members, which may be in any order.
pub struct Subgroup<'r> {
    rank: &'r Rank<'r>,
    members: Members<'r>,
    place: usize,
    /// The rank's spans that are the program's input and result.
    input: Span,
    result: Span,
    /// Added to the tags of the program's messages.
    first_tag: Tag,
    /// Number of the rank's elements in one element of the program.
    element: usize,
    /// The cell for the moment at which the program is complete.
    completed: Option<&'r OnceCell<Moment>>,
    /// Whether the program may open circuits.
    has_circuits: bool,
}

impl<'r> Subgroup<'r> {
    /// `rank` as one of `members`, which ascend. Tags of messages start at `first_tag`.
    ///
    /// # Panics
    /// When `rank` is not a member: a defect of the calling program.
    pub fn new(rank: &'r Rank<'r>, members: &'r [usize], (input, result): (Span, Span), first_tag: Tag) -> Self {
        let place = members.binary_search(&rank.rank()).expect("a member");
        Self::at(rank, (members, place), (input, result), first_tag, 1)
    }

    /// `rank` as the member at `place`; `members` may be in any order. Tags of messages start at `first_tag`, and an
    /// element of the program is `element` elements of the rank.
    pub fn at(
        rank: &'r Rank<'r>,
        (members, place): (impl Into<Members<'r>>, usize),
        (input, result): (Span, Span),
        first_tag: Tag,
        element: usize,
    ) -> Self {
        let members = members.into();
        Self { rank, members, place, input, result, first_tag, element, completed: None, has_circuits: true }
    }

    /// The same subgroup; `completed` receives the moment at which the program is complete.
    pub fn completing(self, completed: &'r OnceCell<Moment>) -> Self {
        Self { completed: Some(completed), ..self }
    }

    /// The same subgroup without circuits opened ahead: the network would count requests of several programs as one.
    pub fn without_circuits(self) -> Self {
        Self { has_circuits: false, ..self }
    }

    /// The rank on which a program of the group runs.
    pub fn rank(&self) -> Rank<'_> {
        Rank::through(self)
    }

    fn span(&self, span: Span) -> Span {
        let (offset, len) = (span.offset * self.element, span.len * self.element);
        match span.buffer {
            Buffer::Input => self.input.part(offset, len),
            Buffer::Result => self.result.part(offset, len),
            Buffer::Scratch => Span { offset, len, ..span },
        }
    }
}

impl View for Subgroup<'_> {
    fn below(&self) -> &Rank<'_> {
        self.rank
    }

    fn rank(&self) -> usize {
        self.place
    }

    fn size(&self) -> usize {
        self.members.len()
    }

    fn scratch(&self, len: usize) -> Span {
        let all = self.rank.scratch((len + 1) * self.element - 1);
        Span { offset: all.offset.div_ceil(self.element), len, ..all }
    }

    fn circuits(&self) -> Option<usize> {
        if self.has_circuits { self.rank.circuits() } else { None }
    }

    fn step(&self, step: Step) -> Option<Step> {
        Some(match step {
            Step::Send { to, data, options } => {
                let options = Options { tag: self.first_tag + options.tag, ..options };
                Step::Send { to: self.members.at(to), data: self.span(data), options }
            }
            Step::Recv { from, into, tag } => {
                let from = match from {
                    Source::Rank(member) => Source::Rank(self.members.at(member as usize) as u32),
                    Source::Any => Source::Any,
                };
                Step::Recv { from, into: self.span(into), tag: self.first_tag + tag }
            }
            Step::Combine { source, target, side } => {
                Step::Combine { source: self.span(source), target: self.span(target), side }
            }
            Step::Copy { source, target } => Step::Copy { source: self.span(source), target: self.span(target) },
            Step::Compute { .. } | Step::Wait { .. } => step,
            Step::Connect { .. } if !self.has_circuits => return None,
            Step::Connect { peer } => Step::Connect { peer: self.members.at(peer) },
            Step::Disconnect { peer } => Step::Disconnect { peer: self.members.at(peer) },
        })
    }

    fn received(&self, step: &Step, received: Received) -> Received {
        let Step::Recv { from, .. } = step else { return received };
        let place = || (0..self.size()).find(|place| self.members.at(*place) == received.source as usize);
        let source = match from {
            Source::Rank(member) => *member,
            Source::Any => place().expect("members send to members") as u32,
        };
        Received { source, len: received.len / self.element }
    }

    fn complete(&self) {
        if let Some(completed) = self.completed {
            completed.get_or_init(|| self.rank.moment());
        }
    }
}
