//! The log: calls, bytes and time by MPI function and algorithm (or the reason for leaving the call to MPI), and by
//! rule, ranks and size, so that the logs of all ranks can be merged.

use std::collections::BTreeMap;
use std::fmt;

use hocket_core::{Collective, Error, Result};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The largest number of entries with ranks and sizes; further calls are counted together.
const MOST_ENTRIES: usize = 4096;

/// The version of the format of a job's log.
pub const JOB_LOG_VERSION: u32 = 1;

/// The first line of a job's log; unknown texts are none.
#[derive(Debug, Serialize)]
pub struct Job {
    /// [`JOB_LOG_VERSION`].
    pub hocket_job_log: u32,
    /// The version of Hocket.
    pub hocket: &'static str,
    /// The version text of the MPI library.
    pub mpi: Option<String>,
    /// The file of the program.
    pub program: Option<String>,
    /// The user who ran it.
    pub user: Option<String>,
    /// The host of rank 0.
    pub host: Option<String>,
    /// The job number of the batch system.
    pub job: Option<String>,
    /// The file of rules.
    pub rules: Option<String>,
    /// When MPI was initialised, in UTC.
    pub start: Option<String>,
    /// The time from then until MPI was finalised.
    pub elapsed_s: f64,
    /// Number of ranks of MPI_COMM_WORLD.
    pub ranks: i32,
    /// Number of their nodes.
    pub nodes: i32,
}

impl Job {
    /// The line as JSON.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// A call of a collective for the log.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord<'a> {
    /// The MPI function that was called.
    pub function: &'a str,
    /// Its collective.
    pub collective: Collective,
    /// Number of ranks of its communicator.
    pub ranks: u32,
    /// Whether this rank counts the call for all ranks.
    pub is_counted: bool,
    /// The size for rules, if all ranks know it.
    pub size_bytes: Option<u64>,
    /// Bytes of this rank's data.
    pub bytes: u64,
    /// The time inside the call; NaN if it was not measured.
    pub time_s: f64,
}

/// How a call was done.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// By an algorithm, chosen by this rule.
    Algorithm { name: &'a str, rule: &'a str },
    /// By MPI, for this reason.
    Passed { reason: &'a str },
}

/// The key of calls that are counted together; texts by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    function: u32,
    collective: Collective,
    /// The name of the algorithm, or the reason.
    answer: u32,
    /// The rule of an algorithm; none if the call was left to MPI.
    rule: Option<u32>,
    /// None for entries beyond `MOST_ENTRIES`.
    ranks: Option<u32>,
    class: Option<SizeClass>,
}

/// Sizes with the same number of binary digits; 0 is the size 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SizeClass(u32);

impl SizeClass {
    fn of(size_bytes: u64) -> Self {
        Self(u64::BITS - size_bytes.leading_zeros())
    }

    fn least_bytes(self) -> u64 {
        if self.0 == 0 { 0 } else { 1 << (self.0 - 1) }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: u64,
    /// All calls of this process, also those that another rank counts.
    own_calls: u64,
    bytes: u64,
    time_s: f64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.own_calls += other.own_calls;
        self.bytes += other.bytes;
        self.time_s += other.time_s;
    }
}

/// Numbered texts.
#[derive(Debug, Default)]
struct Texts {
    numbers: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// Counts of one process, or of several.
#[derive(Debug, Default)]
pub struct Log {
    texts: Texts,
    counts: FxHashMap<Key, Count>,
}

/// An entry as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    collective: String,
    function: String,
    algorithm: Option<String>,
    rule: Option<String>,
    reason: Option<String>,
    ranks: Option<u32>,
    size_from_bytes: Option<u64>,
    calls: u64,
    bytes: u64,
    time_s: Option<f64>,
}

impl Log {
    /// Counts a call.
    pub fn count(&mut self, call: &CallRecord, answer: Answer) {
        let count = Count { calls: call.is_counted.into(), own_calls: 1, bytes: call.bytes, time_s: call.time_s };
        self.add(call, answer, call.size_bytes.map(SizeClass::of), Some(call.ranks), count);
    }

    fn add(&mut self, call: &CallRecord, answer: Answer, class: Option<SizeClass>, ranks: Option<u32>, count: Count) {
        let (answer, rule) = match answer {
            Answer::Algorithm { name, rule } => (name, Some(self.texts.number(rule))),
            Answer::Passed { reason } => (reason, None),
        };
        let function = self.texts.number(call.function);
        let answer = self.texts.number(answer);
        let key = Key { function, collective: call.collective, answer, rule, ranks, class };
        let has_room = self.counts.len() < MOST_ENTRIES || self.counts.contains_key(&key);
        let key = if has_room { key } else { Key { ranks: None, class: None, ..key } };
        self.counts.entry(key).or_default().add(count);
    }

    /// Adds the [`Log::lines`] of another process.
    pub fn merge(&mut self, lines: &str) -> Result<()> {
        for line in lines.lines() {
            let line: Line = serde_json::from_str(line).map_err(|error| Error::new(error.to_string()))?;
            let collective = Collective::from_name(&line.collective).ok_or_else(|| Error::new("unknown collective"))?;
            let answer = match (&line.algorithm, &line.rule, &line.reason) {
                (Some(name), Some(rule), None) => Answer::Algorithm { name, rule },
                (None, None, Some(reason)) => Answer::Passed { reason },
                _ => return Err(Error::new("expected an algorithm and its rule, or a reason")),
            };
            let time_s = line.time_s.unwrap_or(f64::NAN);
            let count = Count { calls: line.calls, own_calls: 0, bytes: line.bytes, time_s };
            let (function, ranks, is_counted) = (line.function.as_str(), 0, false);
            let call = CallRecord { function, collective, ranks, is_counted, size_bytes: None, bytes: 0, time_s };
            self.add(&call, answer, line.size_from_bytes.map(SizeClass::of), line.ranks, count);
        }
        Ok(())
    }

    /// One line of JSON per entry, sorted by texts.
    pub fn lines(&self) -> String {
        let line = |(key, count): (&Key, &Count)| {
            let text = |number| self.texts.text(number).to_owned();
            Line {
                collective: key.collective.name().to_owned(),
                function: text(key.function),
                algorithm: key.rule.map(|_| text(key.answer)),
                rule: key.rule.map(text),
                reason: key.rule.is_none().then(|| text(key.answer)),
                ranks: key.ranks,
                size_from_bytes: key.class.map(SizeClass::least_bytes),
                calls: count.calls,
                bytes: count.bytes,
                time_s: (!count.time_s.is_nan()).then_some(count.time_s),
            }
        };
        let mut lines: Vec<Line> = self.counts.iter().map(line).collect();
        lines.sort_by(|one, other| {
            let texts = |line: &Line| {
                (
                    line.collective.clone(),
                    line.function.clone(),
                    line.ranks,
                    line.size_from_bytes,
                    line.algorithm.clone(),
                )
            };
            (texts(one), &one.rule, &one.reason).cmp(&(texts(other), &other.rule, &other.reason))
        });
        lines.iter().map(|line| serde_json::to_string(line).unwrap_or_default() + "\n").collect()
    }
}

impl fmt::Display for Log {
    /// This process's calls, a line per function and algorithm or reason; numbers come first, to be aligned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>9} {:>15} {:>11}  function, algorithm", "calls", "bytes", "time")?;
        let (mut ran, mut left_to_mpi) = (BTreeMap::<_, Count>::new(), BTreeMap::<_, Count>::new());
        for (key, count) in &self.counts {
            let what = (self.texts.text(key.function), key.collective.name(), self.texts.text(key.answer));
            let counts = if key.rule.is_some() { &mut ran } else { &mut left_to_mpi };
            counts.entry(what).or_default().add(*count);
        }
        for ((function, collective, name), Count { own_calls, bytes, time_s, .. }) in ran {
            writeln!(f, "{own_calls:>9} {bytes:>15} {time_s:>9.6} s  {function} {collective} {name}")?;
        }
        for ((function, _, reason), Count { own_calls, .. }) in left_to_mpi {
            writeln!(f, "{own_calls:>9} {:>15} {:>11}  {function} left to MPI: {reason}", "", "")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Answer = Answer::Algorithm { name: "ring", rule: "allreduce: ring" };

    fn call(function: &str, ranks: u32, size_bytes: u64, time_s: f64) -> CallRecord<'_> {
        let (collective, bytes) = (Collective::Allreduce, size_bytes);
        CallRecord { function, collective, ranks, is_counted: true, size_bytes: Some(size_bytes), bytes, time_s }
    }

    #[test]
    fn counts_by_function_and_algorithm() {
        let mut log = Log::default();
        log.count(&call("MPI_Allreduce", 4, 8, 0.5), RING);
        log.count(&call("MPI_Allreduce", 2, 16, 0.25), RING);
        log.count(&call("MPI_Bcast", 2, 16, 0.25), Answer::Passed { reason: "no rule for it" });
        let text = log.to_string();
        assert!(text.contains("        2              24  0.750000 s  MPI_Allreduce allreduce ring\n"), "{text}");
        assert!(
            text.contains("        1                              MPI_Bcast left to MPI: no rule for it\n"),
            "{text}"
        );
    }

    #[test]
    fn logs_of_ranks_make_that_of_the_job() {
        let mut logs = [Log::default(), Log::default()];
        for (rank, log) in logs.iter_mut().enumerate() {
            for size_bytes in [0, 8, 15, 16] {
                log.count(&CallRecord { is_counted: rank == 0, ..call("MPI_Allreduce", 2, size_bytes, 0.5) }, RING);
            }
            let reason = Answer::Passed { reason: "a rule says \"native\"" };
            log.count(&CallRecord { size_bytes: None, ..call("MPI_Iallreduce", 2, 3, f64::NAN) }, reason);
        }
        let [mut first, second] = logs;
        first.merge(&second.lines()).expect("its lines");
        let entry = |from, calls, bytes, time_s| {
            format!(
                "{{\"collective\":\"allreduce\",\"function\":\"MPI_Allreduce\",\"algorithm\":\"ring\",\
                 \"rule\":\"allreduce: ring\",\"reason\":null,\"ranks\":2,\"size_from_bytes\":{from},\
                 \"calls\":{calls},\"bytes\":{bytes},\"time_s\":{time_s:?}}}\n"
            )
        };
        // Bytes and times of both ranks are added; calls are counted by the first.
        let expected = [entry(0, 1, 0, 1.0), entry(8, 2, 46, 2.0), entry(16, 1, 32, 1.0)].concat();
        let (ran, rest) = (first.lines(), "\"size_from_bytes\":null,\"calls\":2,\"bytes\":6,\"time_s\":null}\n");
        assert!(
            ran.starts_with(&expected) && ran.ends_with(rest) && ran.contains("a rule says \\\"native\\\""),
            "{ran}"
        );
        let mut second = Log::default();
        second.merge(&ran).expect("its own lines");
        assert_eq!(second.lines(), ran);
        assert!(second.merge("{}").is_err() && second.merge("[").is_err());
    }

    #[test]
    fn what_is_too_much_for_a_log_is_counted_together() {
        let mut log = Log::default();
        for ranks in 0..MOST_ENTRIES as u32 + 100 {
            log.count(&call("MPI_Allreduce", ranks, 8, 0.0), RING);
        }
        assert_eq!(log.counts.len(), MOST_ENTRIES + 1);
        assert_eq!(log.counts.values().map(|count| count.calls).sum::<u64>(), MOST_ENTRIES as u64 + 100);
        assert!(log.lines().contains("\"ranks\":null,\"size_from_bytes\":null,\"calls\":100,"));
    }
}
