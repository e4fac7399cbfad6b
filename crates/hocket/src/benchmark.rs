//! Times as benchmarks measure them.

use hocket_algorithms::{Entry, find};
use hocket_core::{
    AnyProgram, Buffer, Call, Collective, Members, Program, Rank, Result, Span, Subgroup, Symmetry, Tag,
};
use hocket_simulate::{Ends, Platform};

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

/// The name of no barrier.
const NO_BARRIER: &str = "none";
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

    /// The barrier before the call: its algorithm and its call.
    ///
    /// # Errors
    /// A barrier that there is not, or that does not run on so many ranks.
    pub fn barrier(self, platform: &Platform, ranks: usize) -> Result<Option<(&'static Entry, Call)>> {
        let entry = match self {
            Self::Barrier | Self::BarrierMean => barrier_of(platform)?,
            Self::Isolated | Self::Loop => None,
        };
        let with_call =
            |entry: &'static Entry| Ok((entry, entry.accept(&Call::new(Collective::Barrier, ranks, 0), &[])?));
        entry.map(with_call).transpose()
    }

    /// Calls `run` with the program that a benchmark runs.
    ///
    /// # Errors
    /// As [`Self::barrier`], or of `run`.
    pub fn measure<T>(
        self,
        program: &dyn AnyProgram,
        call: &Call,
        platform: &Platform,
        run: impl FnOnce(&dyn AnyProgram) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Isolated => run(program),
            Self::Barrier | Self::BarrierMean => {
                run(&AfterBarrier { program, barrier: self.barrier(platform, call.ranks)? })
            }
            Self::Loop => run(&BackToBack { program }),
        }
    }
}

/// The algorithm of the barrier before a measured call on a machine: that of `node.barrier`; none for "none".
pub fn barrier_of(platform: &Platform) -> Result<Option<&'static Entry>> {
    match platform.node.barrier.as_deref().unwrap_or("dissemination") {
        NO_BARRIER => Ok(None),
        name => find(Collective::Barrier, name).map(Some).map_err(|e| e.at("node.barrier")),
    }
}

/// A program after a barrier, if there is one.
struct AfterBarrier<'a> {
    program: &'a dyn AnyProgram,
    barrier: Option<(&'static Entry, Call)>,
}

impl Program for AfterBarrier<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if let Some((barrier, call)) = &self.barrier {
            barrier.program().steps(r, call).await;
        }
        r.forget_peers();
        r.start_timer();
        self.program.steps(r, c).await;
    }

    fn symmetry(&self, c: &Call, with_copies: bool) -> Option<Symmetry> {
        let of_program = self.program.symmetry(c, with_copies)?;
        match &self.barrier {
            Some((barrier, call)) => barrier.program().symmetry(call, with_copies)?.and(of_program),
            None => Some(of_program),
        }
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

    fn symmetry(&self, c: &Call, with_copies: bool) -> Option<Symmetry> {
        self.program.symmetry(c, with_copies)
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
