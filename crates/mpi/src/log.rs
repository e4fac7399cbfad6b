//! The log: calls, bytes and time by MPI function and algorithm, and calls that were left to MPI, with the reason.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of one process.
#[derive(Debug, Default)]
pub struct Log {
    ran: BTreeMap<String, BTreeMap<String, Count>>,
    passed: BTreeMap<String, BTreeMap<String, Count>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: u64,
    bytes: u64,
    time_s: f64,
}

impl Log {
    /// An empty log.
    pub const fn new() -> Self {
        Self { ran: BTreeMap::new(), passed: BTreeMap::new() }
    }

    /// A call of the MPI function `function` ran this algorithm.
    pub fn ran(&mut self, function: &str, algorithm: &str, bytes: u64, time_s: f64) {
        count(&mut self.ran, function, algorithm, bytes, time_s);
    }

    /// A call of the MPI function `function` was left to MPI.
    pub fn passed(&mut self, function: &str, reason: &str) {
        count(&mut self.passed, function, reason, 0, 0.0);
    }
}

fn count(counts: &mut BTreeMap<String, BTreeMap<String, Count>>, function: &str, what: &str, bytes: u64, time_s: f64) {
    if !counts.get(function).is_some_and(|inner| inner.contains_key(what)) {
        counts.entry(function.to_owned()).or_default().insert(what.to_owned(), Count::default());
    }
    if let Some(count) = counts.get_mut(function).and_then(|inner| inner.get_mut(what)) {
        count.calls += 1;
        count.bytes += bytes;
        count.time_s += time_s;
    }
}

impl fmt::Display for Log {
    /// One line for each entry; numbers first, so that they are aligned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>9} {:>15} {:>11}  function, algorithm", "calls", "bytes", "time")?;
        let pairs = |counts: &BTreeMap<String, BTreeMap<String, Count>>| -> Vec<(String, String, Count)> {
            let inner = |(function, by): (&String, &BTreeMap<String, Count>)| {
                by.iter().map(|(what, count)| (function.clone(), what.clone(), *count)).collect::<Vec<_>>()
            };
            counts.iter().flat_map(inner).collect()
        };
        for (function, algorithm, Count { calls, bytes, time_s }) in pairs(&self.ran) {
            writeln!(f, "{calls:>9} {bytes:>15} {time_s:>9.6} s  {function} {algorithm}")?;
        }
        for (function, reason, Count { calls, .. }) in pairs(&self.passed) {
            writeln!(f, "{calls:>9} {:>15} {:>11}  {function} left to MPI: {reason}", "", "")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_function_and_algorithm() {
        let mut log = Log::new();
        log.ran("MPI_Allreduce", "allreduce ring", 8, 0.5);
        log.ran("MPI_Allreduce", "allreduce ring", 16, 0.25);
        log.passed("MPI_Bcast", "no rule for it");
        let text = log.to_string();
        assert!(text.contains("        2              24  0.750000 s  MPI_Allreduce allreduce ring\n"), "{text}");
        assert!(text.contains("  MPI_Bcast left to MPI: no rule for it\n"), "{text}");
    }
}
