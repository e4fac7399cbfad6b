//! `[node]`: the ranks' processors.

use hocket_core::Result;

use crate::Section;

/// The times of a rank's work. Network models read further keys of `[node]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// `reduce_bandwidth` (1 / gamma), `reduce_latency`: combining operands.
    pub reduce: Work,
    /// `copy_bandwidth`, `copy_latency`: copying data.
    pub copy: Work,
    /// `call_overhead`: from the call of a collective until its program begins, in seconds; 0 when the key is absent.
    pub call_overhead_s: f64,
    /// The section `scratch`: working memory that is new in each call; none when the library keeps its buffers.
    pub scratch: Option<Scratch>,
    /// `barrier`: the algorithm of the barrier before a measured call, or "none"; a dissemination when the key is absent.
    pub barrier: Option<String>,
}

impl Node {
    /// Reads the keys. `from` lists the starts of ranges of sizes; rates and latencies have one value per range, or one
    /// for all.
    pub fn read(section: &Section) -> Result<Self> {
        let starts = section.ranges_bytes("from")?;
        Ok(Self {
            reduce: Work::read(section, &starts, "reduce")?,
            copy: Work::read(section, &starts, "copy")?,
            call_overhead_s: section.time_s_or("call_overhead", 0.0)?,
            scratch: Scratch::read(section)?,
            barrier: section.optional_text("barrier", |name| Ok(name.to_owned()))?,
        })
    }
}

/// Working memory that is new in each call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scratch {
    /// `from`: the smallest buffer that is new memory, in bytes.
    pub from_bytes: f64,
    /// `together_from`: the smallest size of several buffers that are new memory, in bytes; infinite when absent.
    pub together_from_bytes: f64,
    /// `per_byte`: the time of the first touch, in seconds per byte.
    pub s_per_byte: f64,
}

impl Scratch {
    fn read(node: &Section) -> Result<Option<Self>> {
        let Some(section) = node.section_if_any("scratch")? else { return Ok(None) };
        let bytes = |key: &str| Ok(section.optional_bytes(key)?.map(|bytes| bytes as f64));
        let from_bytes = bytes("from")?.ok_or_else(|| section.reject("from", "a size such as \"1 MiB\""))?;
        let together_from_bytes = bytes("together_from")?.unwrap_or(f64::INFINITY);
        let s_per_byte = section.optional_times_per_byte_s("per_byte", 1)?;
        let s_per_byte =
            s_per_byte.ok_or_else(|| section.reject("per_byte", "a time per byte such as \"0.2 ns/B\""))?[0];
        section.finish()?;
        Ok(Some(Self { from_bytes, together_from_bytes, s_per_byte }))
    }
}

/// The time of work as a function of its bytes: for each range of sizes, a latency and a time per byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    first: Line,
    /// The start in bytes of each further range, and its times.
    others: Vec<(f64, Line)>,
}

/// The times of one range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    latency_s: f64,
    s_per_byte: f64,
}

impl Line {
    #[inline]
    fn time_s(self, bytes: f64) -> f64 {
        self.latency_s + bytes * self.s_per_byte
    }
}

impl Default for Work {
    /// Work that takes no time.
    fn default() -> Self {
        Self { first: Line::default(), others: Vec::new() }
    }
}

impl Work {
    fn read(section: &Section, starts_bytes: &[u64], name: &str) -> Result<Self> {
        let count = starts_bytes.len();
        let rates = section.optional_rates_bytes_per_s(&format!("{name}_bandwidth"), count)?;
        let latencies_s = section.optional_times_s(&format!("{name}_latency"), count)?;
        let line = |at: usize| Line {
            latency_s: latencies_s.as_ref().map_or(0.0, |latencies_s| latencies_s[at]),
            s_per_byte: rates.as_ref().map_or(0.0, |rates| 1.0 / rates[at]),
        };
        let others = (1..count).map(|at| (starts_bytes[at] as f64, line(at))).collect();
        Ok(Self { first: line(0), others })
    }

    /// The time of work on `bytes`, in seconds.
    #[inline]
    pub fn time_s(&self, bytes: f64) -> f64 {
        if self.others.is_empty() {
            return self.first.time_s(bytes);
        }
        let range = self.others.iter().rev().find(|(start, _)| *start <= bytes);
        range.map_or(self.first, |(_, line)| *line).time_s(bytes)
    }

    /// Seconds per byte if the time is proportional to the bytes: one range without latency.
    pub fn s_per_byte(&self) -> Option<f64> {
        (self.others.is_empty() && self.first.latency_s == 0.0).then_some(self.first.s_per_byte)
    }

    /// The time per byte of the largest operands, in seconds.
    pub fn last_s_per_byte(&self) -> f64 {
        self.others.last().map_or(self.first, |(_, line)| *line).s_per_byte
    }

    /// The least time per byte of any range, in seconds.
    pub fn least_s_per_byte(&self) -> f64 {
        self.others.iter().map(|(_, line)| line.s_per_byte).fold(self.first.s_per_byte, f64::min)
    }
}
