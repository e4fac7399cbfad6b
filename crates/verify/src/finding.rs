//! The results of a verification.

use std::fmt;

use hocket_core::Span;

use crate::Exploration;

/// The answer: right, or a counterexample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The counterexample; none when the program is right.
    pub counterexample: Option<Counterexample>,
    /// How orders of messages were tried, up to the counterexample if there is one.
    pub exploration: Exploration,
    /// The number of these orders, with eager and with rendezvous sends together.
    pub orders: usize,
    /// The number of decisions in these orders.
    pub decisions: usize,
    /// Messages received before an earlier one of the same two ranks with another tag: legal, but noteworthy.
    pub overtaking: usize,
    /// The work of all runs: elements of steps, steps under way that were looked at, and a number for each step.
    pub work: usize,
}

impl Verdict {
    /// Whether the program is right.
    pub fn is_ok(&self) -> bool {
        self.counterexample.is_none()
    }
}

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A result element lacks contributions, has some twice, has wrong ones, or was never written.
    WrongResult,
    /// Operands of a non-commutative operator are out of rank order.
    OperandOrder,
    /// Ranks combine the same contributions in different orders: floating-point results differ between ranks.
    RanksDiffer,
    /// The order of messages decides the order of combination: floating-point results differ between runs.
    RunsDiffer,
    /// Ranks wait for each other for ever.
    Deadlock,
    /// A rank continues without end.
    NeverEnds,
    /// A rank leaves a barrier before it knows that all others have come.
    LeftTooEarly,
    /// Two branches of one rank send to, or receive from, one peer with one tag: timing decides which messages match.
    AmbiguousOrder,
    /// A message that no rank receives.
    LeftOverMessage,
    /// A message longer than the span that receives it.
    Truncation,
    /// Two operations of one rank use the same elements at the same time, and one of them writes.
    BufferRace,
    /// The input, which is the caller's, is written.
    WriteToInput,
    /// An operand that was never written.
    UndefinedOperand,
    /// A span outside its buffer, or a peer that is not a rank.
    OutOfBounds,
    /// A copy or reduction whose source and target share elements.
    Overlap,
    /// The program fails by itself: it raises an exception.
    Failure,
    /// The program makes steps and ends without taking them.
    StepsNotTaken,
    /// The program behaves differently when the same call is run again.
    NotRepeatable,
    /// The program behaves differently when its ranks share no state.
    SharedState,
}

impl Kind {
    /// The printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongResult => "wrong result",
            Self::OperandOrder => "illegal operand order",
            Self::RanksDiffer => "order of combination differs between ranks",
            Self::RunsDiffer => "order of combination differs between message orders",
            Self::Deadlock => "deadlock",
            Self::NeverEnds => "program without end",
            Self::LeftTooEarly => "barrier left too early",
            Self::AmbiguousOrder => "order of messages depends on timing",
            Self::LeftOverMessage => "left-over message",
            Self::Truncation => "message longer than its receive",
            Self::BufferRace => "buffer race",
            Self::WriteToInput => "write to the input",
            Self::UndefinedOperand => "undefined operand",
            Self::OutOfBounds => "out of bounds",
            Self::Overlap => "overlapping operands",
            Self::Failure => "exception",
            Self::StepsNotTaken => "forgotten yield",
            Self::NotRepeatable => "other steps when run again",
            Self::SharedState => "ranks share state",
        }
    }

    /// What to expect of a further run of a correct call, and what is different in that run.
    pub(crate) const fn of_further_run(self) -> [&'static str; 2] {
        match self {
            Self::SharedState => [
                "the same steps and messages when each rank has global variables of its own, as its process has",
                "with global variables of its own",
            ],
            _ => ["the same steps and messages whenever the same call is run", "when run again"],
        }
    }
}

/// A counterexample as text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The kind of the mistake.
    pub kind: Kind,
    /// Whether sends were rendezvous; eager otherwise.
    pub is_rendezvous: bool,
    /// The ranks concerned, the one at fault first.
    pub ranks: Vec<usize>,
    /// The step of the first rank, counted from 1; none if the mistake is not in a step.
    pub step: Option<usize>,
    /// The elements concerned.
    pub span: Option<String>,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub got: String,
    /// Details: the operations involved, and the ranks that wait for each other.
    pub details: Vec<String>,
}

impl Counterexample {
    /// In no step, and without details.
    pub fn new(
        kind: Kind,
        is_rendezvous: bool,
        ranks: Vec<usize>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        let (expected, got, details) = (expected.into(), got.into(), Vec::new());
        Self { kind, is_rendezvous, ranks, step: None, span: None, expected, got, details }
    }

    /// The same with more details.
    pub(crate) fn with_details(mut self, more: Vec<String>) -> Self {
        self.details.extend(more);
        self
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.is_rendezvous { "rendezvous" } else { "eager" };
        write!(f, "{} ({protocol} sends): rank {}", self.kind.name(), self.ranks[0])?;
        if let Some(step) = self.step {
            write!(f, ", step {step}")?;
        }
        if let Some(span) = &self.span {
            write!(f, ", {span}")?;
        }
        write!(f, "\n  expected {}\n  got      {}", self.expected, self.got)?;
        self.details.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// What is wrong with operands that overlap.
pub(crate) struct Overlap {
    pub expected: String,
    pub got: String,
}

impl Overlap {
    /// None if the operands share no element.
    pub fn of(source: Span, target: Span) -> Option<Self> {
        let offset = source.offset.max(target.offset);
        let end = source.range().end.min(target.range().end);
        source.overlaps(target).then(|| Self {
            expected: "a source and a target that share no element, as MPI_Reduce_local needs".to_owned(),
            got: format!("{source} and {target}, which share {}", Span { offset, len: end - offset, ..source }),
        })
    }
}

/// The first lines in the order of their numbers, and how many more there are.
pub(crate) fn first_lines(mut lines: Vec<(usize, String)>) -> Vec<String> {
    const MOST: usize = 8;
    lines.sort_unstable();
    let more = lines.len().saturating_sub(MOST);
    let last = (more > 0).then(|| format!("and {more} more"));
    lines.into_iter().take(MOST).map(|(_, line)| line).chain(last).collect()
}
