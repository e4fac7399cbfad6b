//! A pipeline over two levels: the parts of a composed algorithm run on one segment of the vector after another.
//!
//! ```text
//! step             0    1    2    3    4        a rank begins a step when its parts of the step before have ended
//! within groups    s0   s1   s2
//! between               s0   s1   s2
//! within again               s0   s1   s2
//! ```

use std::ops::Range;

use hocket_core::{Buffer, Call, Part, Rank, Span, Tag};

use crate::shapes::Segments;
use crate::shapes::levels::{Levels, PartParameter, Piece, group};

/// The first tag of a part that runs between groups while another part does. Under MPI, an operation has 64 tags.
pub const SECOND_TAG: Tag = 40;

/// The groups and the segments of a call.
pub struct Stages<'a> {
    call: &'a Call,
    /// The groups.
    pub levels: Levels,
    segments: Segments,
}

impl<'a> Stages<'a> {
    /// The groups and the segments of a call.
    pub fn of(call: &'a Call) -> Self {
        let segments = Segments::new(call, Span::new(Buffer::Result, call.count(0)));
        Self { call, levels: Levels::of(call), segments }
    }

    /// Number of segments.
    pub fn count(&self) -> usize {
        self.segments.count()
    }

    /// The segment that is at a stage, counted from 0, in a step.
    pub fn at(&self, step: usize, stage: usize) -> Option<usize> {
        step.checked_sub(stage).filter(|segment| *segment < self.count())
    }

    /// A part within all groups; `call` returns the call of a group for so many elements.
    pub fn within(&self, part: &PartParameter, call: impl Fn(usize, usize) -> Call) -> Piece {
        self.repeated(0..self.count(), |len| part.within(self.call, &self.levels, |group| call(group, len)))
    }

    /// A part between the groups, for some of the segments; `call` returns the call for so many elements.
    pub fn between(&self, part: &PartParameter, segments: Range<usize>, call: impl Fn(usize) -> Call) -> Piece {
        self.repeated(segments, |len| part.between(self.call, &call(len)))
    }

    /// A part with the calls of some of the segments: first those that are as long as the first one, group by group.
    fn repeated(&self, segments: Range<usize>, piece: impl Fn(usize) -> Piece) -> Piece {
        let last = self.count() - 1;
        let (many, has_last) = (self.before_last(&segments), usize::from(segments.contains(&last)));
        let (first_piece, last_piece) = (piece(self.segments.get(0).len), piece(self.segments.get(last).len));
        let groups = first_piece.part.calls.last().map_or(0, |(end, _)| *end);
        let first = first_piece.part.calls.into_iter().map(|(end, call)| (end * many, call));
        let last = last_piece.part.calls.into_iter().map(|(end, call)| (groups * many + end * has_last, call));
        Piece { part: Part { name: first_piece.part.name, calls: first.chain(last).collect() }, ..last_piece }
    }

    /// How many of some segments come before the last one of the vector.
    fn before_last(&self, segments: &Range<usize>) -> usize {
        segments.end.min(self.count() - 1).saturating_sub(segments.start)
    }

    /// The number of the call of a segment in a group, of `groups`.
    fn number(&self, segments: &Range<usize>, segment: usize, (group, groups): (usize, usize)) -> usize {
        let many = self.before_last(segments);
        if segment + 1 < self.count() { group * many } else { groups * many + group }
    }

    /// Runs a part within the group of this rank on a segment, if there is one.
    pub async fn run_within(&self, r: &Rank<'_>, part: &PartParameter, segment: Option<usize>, spans: (Span, Span)) {
        if let Some(segment) = segment {
            let (group, _) = self.levels.place(r.rank());
            let call = part.call(self.call, self.number(&(0..self.count()), segment, (group, self.levels.count())));
            part.run_in_group(r, self.call, &self.levels, self.cut(segment, spans), call, Some(0)).await;
        }
    }

    /// Runs a part of some of the segments between the groups on a segment, if there is one, among the ranks in this
    /// place of their groups. Its tags begin at `tag`.
    pub async fn run_between(
        &self,
        r: &Rank<'_>,
        (part, segments): (&PartParameter, Range<usize>),
        segment: Option<usize>,
        (place, tag): (usize, Tag),
        spans: (Span, Span),
    ) {
        if let Some(segment) = segment {
            let call = part.call(self.call, self.number(&segments, segment, (0, 1)));
            part.run_at_place(r, self.call, &self.levels, (place, Some(tag)), self.cut(segment, spans), call).await;
        }
    }

    /// A segment of both vectors; an empty one has none.
    fn cut(&self, segment: usize, (input, result): (Span, Span)) -> (Span, Span) {
        let all = self.segments.get(segment);
        let of = |vector: Span| if vector.len == 0 { vector } else { vector.part(all.offset, all.len) };
        (of(input), of(result))
    }
}

/// The size of the groups and the number of segments, with which a call is completed.
pub fn values(c: &Call) -> Vec<(&'static str, u64)> {
    [group(c), vec![("segments", Stages::of(c).count() as u64)]].concat()
}

/// Whether the formula is exact: no segments overlap, and all groups have the same number of ranks.
pub fn has_no_overlap(c: &Call) -> bool {
    Stages::of(c).count() == 1 && Levels::of(c).are_equal()
}

/// The ports of parts that run side by side: those within groups, and those between.
pub fn all_ports(c: &Call, pieces: &[Piece]) -> usize {
    let within = pieces.iter().filter(|piece| piece.is_within).map(|piece| piece.ports(c)).max().unwrap_or(1);
    within + pieces.iter().filter(|piece| !piece.is_within).map(|piece| piece.ports(c)).sum::<usize>()
}
