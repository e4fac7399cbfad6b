//! Several calls at once, each on ranks of its own.

use std::ops::Range;

use hocket_core::{AnyProgram, Buffer, Call, Collective, Members, Program, Rank, Result, Span, Subgroup, ensure};
use hocket_simulate::{DelayedProgram, Options, Outcome, Platform, Trials, simulate_trials};

use crate::cadence::{Cadence, InCadence, marking};

/// A call on some ranks of a machine.
pub struct Part<'a> {
    /// The program.
    pub program: &'a dyn AnyProgram,
    /// The call, as the program accepts it on these ranks.
    pub call: Call,
    /// Its cadence; none for one call.
    pub cadence: Option<Cadence>,
    /// The ranks of the machine, in the order of the ranks of the call.
    pub ranks: Vec<usize>,
}

/// Several calls at once, in one trial.
pub struct Together {
    /// When the last rank of each call ends, in seconds.
    pub times_s: Vec<f64>,
    /// The calls at once.
    pub outcome: Outcome,
    /// Each call by itself, on the same ranks.
    pub isolated_calls: Vec<IsolatedCall>,
}

/// One of several calls, without the others.
pub struct IsolatedCall {
    /// When its last rank ends, in seconds.
    pub time_s: f64,
    /// The bytes on each link of the network; empty in networks without contention.
    pub links_bytes: Vec<f64>,
}

/// The largest number of calls at once.
const MOST: usize = 1 << 15;

/// Runs several calls at once, and each of them alone. All begin at the same time; in noise, `trials.first` is the
/// trial.
///
/// # Errors
/// Too many calls; a rank of two calls; or as [`simulate_trials`].
pub fn simulate_together(
    parts: &[Part<'_>],
    platform: &Platform,
    trials: Trials,
    options: Options<'_>,
) -> Result<Together> {
    ensure(parts.len() <= MOST, || format!("together: got {} calls, expected at most {MOST}", parts.len()))?;
    let jobs = Jobs { parts, platform, trials: Trials { count: 1, until_interval: None, ..trials } };
    let (times_s, outcome) = jobs.run_some(0..parts.len(), options)?;
    let silent_options = Options { trace: false, passages: false, ..options };
    let isolated_call = |part| {
        let (times_s, outcome) = jobs.run_some(part..part + 1, silent_options)?;
        Ok(IsolatedCall { time_s: times_s[0], links_bytes: outcome.links.iter().map(|link| link.bytes).collect() })
    };
    Ok(Together { times_s, outcome, isolated_calls: (0..parts.len()).map(isolated_call).collect::<Result<_>>()? })
}

/// Several calls on a machine.
struct Jobs<'a> {
    parts: &'a [Part<'a>],
    platform: &'a Platform,
    trials: Trials,
}

impl Jobs<'_> {
    /// Runs some of the calls. Returns the time of each, and the outcome.
    fn run_some(&self, numbers: Range<usize>, options: Options<'_>) -> Result<(Vec<f64>, Outcome)> {
        let Self { parts, platform, trials } = *self;
        let program = JobsProgram::new(parts, numbers.clone(), platform)?;
        let world = Call::new(Collective::Barrier, program.places.len(), 0);
        let mut many = simulate_trials(&program, &world, platform, trials, options)?;
        let marks_s = many.ends.swap_remove(0).marks_s;
        let time_s = |part| marks_s.get(part).copied().unwrap_or(0.0);
        Ok((numbers.map(time_s).collect(), many.first))
    }
}

/// The program of all ranks of a machine: each runs its call, or nothing. The end of a call is the mark of its number.
struct JobsProgram<'a> {
    parts: &'a [Part<'a>],
    platform: &'a Platform,
    /// The call of each rank, and the rank's number in the call.
    places: Vec<Option<(u16, usize)>>,
}

impl<'a> JobsProgram<'a> {
    fn new(parts: &'a [Part<'a>], numbers: Range<usize>, platform: &'a Platform) -> Result<Self> {
        let size = parts.iter().flat_map(|part| &part.ranks).max().map_or(0, |last| last + 1);
        let mut places = vec![None; size.max(1)];
        for number in numbers {
            for (place, rank) in parts[number].ranks.iter().enumerate() {
                ensure(places[*rank].replace((number as u16, place)).is_none(), || {
                    format!("together: got rank {rank} in two calls, expected it in one")
                })?;
            }
        }
        Ok(Self { parts, platform, places })
    }
}

impl Program for JobsProgram<'_> {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let Some((number, place)) = self.places[r.rank()] else { return };
        let Part { program, call, cadence, ranks } = &self.parts[usize::from(number)];
        let delayed_program = DelayedProgram::new(*program, self.platform);
        let repeated = cadence.map(|cadence| InCadence { program: &delayed_program, cadence });
        let program: &dyn AnyProgram = repeated.as_ref().map_or(&delayed_program, |repeated| repeated);
        let spans = [(Buffer::Input, call.input_len(place)), (Buffer::Result, call.result_len(place))];
        let [input, result] = spans.map(|(buffer, len)| Span::new(buffer, len * call.element_bytes));
        let members = Members::Listed(ranks);
        let group = Subgroup::at(r, (members, place), (input, result), 0, call.element_bytes);
        marking(program, (&group.rank(), call), r, number).await;
    }
}
