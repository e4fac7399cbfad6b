//! The load of links over time, kept on request.

use hocket_core::{Result, ensure};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The largest number of passages kept.
const MOST: usize = 1_000_000;

/// Rates that differ by at most this share count as equal: the difference is rounding.
const ALIKE: f64 = 1e-6;

/// Bytes that a link carries without a pause, at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Passage {
    /// The link.
    pub link: u32,
    /// The bytes.
    pub bytes: f64,
    /// When the link begins to carry them, in seconds.
    pub start_s: f64,
    /// When it has carried all of them, in seconds.
    pub end_s: f64,
}

impl Passage {
    fn bytes_per_s(&self) -> f64 {
        self.bytes / (self.end_s - self.start_s)
    }

    /// Whether `other` starts where this one ends, at the same rate.
    fn is_followed_by(&self, other: &Self) -> bool {
        self.end_s == other.start_s && (self.bytes_per_s() / other.bytes_per_s() - 1.0).abs() < ALIKE
    }
}

/// The passages of all links so far, if they are kept.
#[derive(Default)]
pub struct Passages(Option<PassageLog>);

#[derive(Default)]
struct PassageLog {
    passages: Vec<Passage>,
    /// The index of each link's last passage.
    last: FxHashMap<u32, usize>,
    is_full: bool,
}

impl Passages {
    /// Keeps passages from now on.
    pub fn keep(&mut self) {
        self.0 = Some(PassageLog::default());
    }

    #[inline]
    pub(super) fn note(&mut self, link: u32, bytes: f64, start_s: f64, end_s: f64) {
        if let Some(log) = &mut self.0 {
            log.note(Passage { link, bytes, start_s, end_s });
        }
    }

    /// Takes the passages, in the order of links and starts.
    ///
    /// # Errors
    /// There were too many.
    pub fn take(&mut self) -> Result<Vec<Passage>> {
        let PassageLog { mut passages, is_full, .. } = self.0.take().unwrap_or_default();
        ensure(!is_full, || format!("more than {MOST} passages over links, expected fewer ranks or bytes"))?;
        passages.sort_by(|a, b| {
            a.link.cmp(&b.link).then(a.start_s.total_cmp(&b.start_s)).then(a.end_s.total_cmp(&b.end_s))
        });
        Ok(passages)
    }
}

impl PassageLog {
    #[cold]
    fn note(&mut self, passage: Passage) {
        if passage.bytes == 0.0 {
            return;
        }
        let last = self.last.get(&passage.link).copied();
        match last.filter(|last| self.passages[*last].is_followed_by(&passage)) {
            Some(last) => {
                self.passages[last].bytes += passage.bytes;
                self.passages[last].end_s = passage.end_s;
            }
            None if self.passages.len() == MOST => self.is_full = true,
            None => {
                self.last.insert(passage.link, self.passages.len());
                self.passages.push(passage);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_kept_once_that_is_asked_for_and_no_more_than_so_many() {
        let mut passages = Passages::default();
        passages.note(0, 1.0, 0.0, 1.0);
        passages.keep();
        for number in 0..=MOST {
            passages.note(7, 1.0, 2.0 * number as f64, 2.0 * number as f64 + 1.0);
            if number == 1 {
                let list = passages.take().unwrap();
                assert_eq!(list.iter().map(|one| (one.link, one.start_s)).collect::<Vec<_>>(), [(7, 0.0), (7, 2.0)]);
                passages.keep();
            }
        }
        passages.note(7, 1.0, 1e9, 2e9);
        passages.note(7, 1.0, 3e9, 4e9);
        let refusal = passages.take().unwrap_err().to_string();
        assert_eq!(refusal, "more than 1000000 passages over links, expected fewer ranks or bytes");
    }

    #[test]
    fn a_pause_or_another_rate_begins_a_passage() {
        let mut passages = Passages::default();
        passages.keep();
        passages.note(0, 2.0, 0.0, 1.0);
        passages.note(0, 4.0, 1.0, 3.0);
        passages.note(0, 1.0, 3.0, 4.0);
        passages.note(1, 1.0, 4.0, 5.0);
        passages.note(0, 0.0, 4.0, 4.0);
        passages.note(0, 1.0, 5.0, 6.0);
        let list = passages.take().unwrap();
        let ends: Vec<_> = list.iter().map(|one| (one.link, one.bytes, one.start_s, one.end_s)).collect();
        assert_eq!(ends, [(0, 6.0, 0.0, 3.0), (0, 1.0, 3.0, 4.0), (0, 1.0, 5.0, 6.0), (1, 1.0, 4.0, 5.0)]);
    }
}
