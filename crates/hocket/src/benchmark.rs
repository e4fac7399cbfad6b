//! Times as benchmarks measure them.

use hocket_algorithms::{Entry, find};
use hocket_core::{AnyProgram, Buffer, Call, Collective, Members, Program, Rank, Span, Subgroup, Symmetry, Tag};
use hocket_simulate::Ends;

/// How a benchmark measures the time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// All ranks call at the same time; until the last rank is done.
    #[default]
    Isolated,
    /// After a barrier, by the clock of each rank; the longest time of a rank. So does PICO.
    Barrier,
    /// After a barrier, by the clock of each rank; the mean of all ranks. So do the OSU micro-benchmarks.
    BarrierMean,
    /// Calls back to back, by the clock of each rank; the longest time of a rank, divided by the calls. So do the Intel
    /// MPI Benchmarks.
    Loop,
}

/// Calls before the first that is measured in a loop.
const WARM_UP: Tag = 4;
/// Calls that are measured in a loop.
const MEASURED: Tag = 16;
/// The distance between the tags of one call and the next, so that a late message of a call is not taken for one of the
/// next.
const TAGS: Tag = 1 << 27;
/// How many calls differ in their tags.
pub(crate) const DISTINCT: u32 = 1 << (Tag::BITS - TAGS.ilog2());

impl Way {
    /// All ways, by name.
    pub const ALL: [(&'static str, Self); 4] =
        [("isolated", Self::Isolated), ("pico", Self::Barrier), ("osu", Self::BarrierMean), ("imb", Self::Loop)];

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, way)| *way == self).expect("a way of the list").0
    }

    /// The time that the benchmark reports of a trial.
    pub fn time_s(self) -> fn(&Ends) -> f64 {
        if self == Self::BarrierMean { |ends| ends.mean_s } else { |ends| ends.last_s }
    }

    /// The times of one call in a trial. Marks count from the common start of isolated calls, so others have none.
    pub fn of_one_call(self, ends: Ends) -> Ends {
        let calls = if self == Self::Loop { f64::from(MEASURED) } else { 1.0 };
        let [first_s, mean_s, last_s] = [ends.first_s, ends.mean_s, ends.last_s].map(|time_s| time_s / calls);
        let marks_s = if self == Self::Isolated { ends.marks_s } else { Vec::new() };
        Ends { first_s, mean_s, last_s, end_s: ends.end_s, marks_s }
    }

    /// How many calls the benchmark makes.
    pub fn calls(self) -> f64 {
        if self == Self::Loop { f64::from(WARM_UP + MEASURED) } else { 1.0 }
    }

    /// How many messages the benchmark's barrier sends.
    pub fn barrier_messages(self, ranks: usize) -> f64 {
        let has_barrier = matches!(self, Self::Barrier | Self::BarrierMean);
        if has_barrier { ranks as f64 * (ranks as f64).log2().ceil() } else { 0.0 }
    }

    /// Calls `run` with the program that a benchmark runs.
    pub fn measure<T>(self, program: &dyn AnyProgram, call: &Call, run: impl FnOnce(&dyn AnyProgram) -> T) -> T {
        match self {
            Self::Isolated => run(program),
            Self::Barrier | Self::BarrierMean => run(&AfterBarrier::new(program, call.ranks)),
            Self::Loop => run(&BackToBack { program }),
        }
    }
}

/// A program after a barrier.
struct AfterBarrier<'a> {
    program: &'a dyn AnyProgram,
    barrier: &'static Entry,
    barrier_call: Call,
}

impl<'a> AfterBarrier<'a> {
    fn new(program: &'a dyn AnyProgram, ranks: usize) -> Self {
        let barrier = find(Collective::Barrier, "dissemination").expect("an algorithm of the catalogue");
        let call = barrier.accept(&Call::new(Collective::Barrier, ranks, 0), &[]);
        Self { program, barrier, barrier_call: call.expect("a call that every number of ranks can make") }
    }
}

impl Program for AfterBarrier<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        self.barrier.program().steps(r, &self.barrier_call).await;
        r.forget_peers();
        r.start_timer();
        self.program.steps(r, c).await;
    }

    fn symmetry(&self, c: &Call) -> Option<Symmetry> {
        self.barrier.program().symmetry(&self.barrier_call)?.and(self.program.symmetry(c)?)
    }
}

/// A program over and over: a rank begins its next call as soon as its program has ended.
struct BackToBack<'a> {
    program: &'a dyn AnyProgram,
}

impl Program for BackToBack<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        for number in 0..WARM_UP + MEASURED {
            if number == WARM_UP {
                r.start_timer();
            }
            with_own_tags(async |r, c| self.program.steps(r, c).await, (r, c), number).await;
        }
    }

    fn symmetry(&self, c: &Call) -> Option<Symmetry> {
        self.program.symmetry(c)
    }
}

/// Runs one of several calls by `run`, with tags that calls of other numbers do not have.
pub(crate) async fn with_own_tags(run: impl AsyncFnOnce(&Rank<'_>, &Call), (r, c): (&Rank<'_>, &Call), number: u32) {
    let (rank, place) = (r.rank(), |place| place);
    let input = Span::new(Buffer::Input, c.input_len(rank));
    let result = Span::new(Buffer::Result, c.result_room(rank));
    let members = Members::Computed(r.size(), &place);
    let group = Subgroup::at(r, (members, rank), (input, result), number * TAGS, 1);
    run(&group.rank(), c).await;
}
