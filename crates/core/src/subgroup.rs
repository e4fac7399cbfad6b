//! Some of the ranks, as if there were no others: programs run among them as they stand.

use std::cell::OnceCell;
use std::future::Future;

use crate::{Buffer, Options, Path, Rank, Received, Side, Source, Span, Tag};

/// A rank as a member of a group. Its number is its place among the members, which may be in any order.
pub struct Subgroup<'r, R: Rank> {
    rank: &'r R,
    members: &'r [usize],
    place: usize,
    /// What the program's input and result are to the rank.
    input: Span,
    result: Span,
    /// Added to the tags of the program's messages.
    first_tag: Tag,
    /// How many of the rank's elements one of the program's is.
    element: usize,
    /// Where it is noted when the program is complete.
    completed: Option<&'r OnceCell<R::Moment>>,
    /// Whether its programs ask for circuits.
    has_circuits: bool,
}

impl<'r, R: Rank> Subgroup<'r, R> {
    /// `rank` as one of `members`, which ascend; messages have tags from `first_tag` on.
    ///
    /// # Panics
    /// When it is not one of them: a defect of the calling program.
    pub fn new(rank: &'r R, members: &'r [usize], (input, result): (Span, Span), first_tag: Tag) -> Self {
        let place = members.binary_search(&rank.rank()).expect("a member");
        Self::at(rank, (members, place), (input, result), first_tag, 1)
    }

    /// `rank` as the one of `members` that stands at `place`, whatever their order; messages have tags from `first_tag` on,
    /// and an element of the program is `element` elements of the rank.
    pub fn at(
        rank: &'r R,
        (members, place): (&'r [usize], usize),
        (input, result): (Span, Span),
        first_tag: Tag,
        element: usize,
    ) -> Self {
        Self { rank, members, place, input, result, first_tag, element, completed: None, has_circuits: true }
    }

    /// The same, and when the program says that it is complete, that is noted.
    pub fn completing(self, completed: &'r OnceCell<R::Moment>) -> Self {
        Self { completed: Some(completed), ..self }
    }

    /// The same, in which circuits come with the messages: what programs ask for at a time would be one wish.
    pub fn without_circuits(self) -> Self {
        Self { has_circuits: false, ..self }
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

impl<R: Rank> Rank for Subgroup<'_, R> {
    type Moment = R::Moment;

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

    fn send_with(&self, to: usize, data: Span, options: Options) -> impl Future<Output = ()> {
        let options = Options { tag: self.first_tag + options.tag, ..options };
        self.rank.send_with(self.members[to], self.span(data), options)
    }

    async fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Received {
        let sender = match from {
            Source::Rank(member) => Source::Rank(self.members[member as usize] as u32),
            Source::Any => Source::Any,
        };
        let received = self.rank.recv_with(sender, self.span(into), self.first_tag + tag).await;
        let place = || self.members.iter().position(|member| *member == received.source);
        let source = match from {
            Source::Rank(member) => member as usize,
            Source::Any => place().expect("members send to members"),
        };
        Received { source, len: received.len / self.element }
    }

    fn combine(&self, source: Span, target: Span, side: Side) -> impl Future<Output = ()> {
        self.rank.combine(self.span(source), self.span(target), side)
    }

    fn copy(&self, source: Span, target: Span) -> impl Future<Output = ()> {
        self.rank.copy(self.span(source), self.span(target))
    }

    fn compute(&self, time_s: f64) -> impl Future<Output = ()> {
        self.rank.compute(time_s)
    }

    async fn connect(&self, peer: usize) -> bool {
        !self.has_circuits || self.rank.connect(self.members[peer]).await
    }

    fn disconnect(&self, peer: usize) -> impl Future<Output = ()> {
        self.rank.disconnect(self.members[peer])
    }

    fn ports(&self) -> Option<usize> {
        if self.has_circuits { self.rank.ports() } else { None }
    }

    fn complete(&self) {
        if let Some(completed) = self.completed {
            completed.get_or_init(|| self.rank.moment());
        }
    }

    fn time_s(&self) -> Option<f64> {
        self.rank.time_s()
    }

    fn moment(&self) -> R::Moment {
        self.rank.moment()
    }

    fn set_moment(&self, moment: R::Moment) {
        self.rank.set_moment(moment);
    }

    fn path(&self) -> Path {
        self.rank.path()
    }

    fn set_path(&self, path: Path) {
        self.rank.set_path(path);
    }

    fn can_go_on(&self, path: Path) -> bool {
        self.rank.can_go_on(path)
    }

    fn wake(&self, path: Path) {
        self.rank.wake(path);
    }

    fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        self.rank.is_decided(a_ended, b_ended)
    }

    fn withdraw_branch(&self, has_ended: bool) {
        self.rank.withdraw_branch(has_ended);
    }
}
