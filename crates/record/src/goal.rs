//! GOAL, the text format of LogGOPSim: per rank, labelled sends, receives and calculations, and their dependencies.
//!
//! Source: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009. Sizes are in bytes,
//! calculations in nanoseconds. GOAL has no reductions or copies: they are written as calculations.

use std::fmt::Arguments;
use std::io::{self, Read, Write};

use hocket_core::{Buffer, Error, Result, Source, Span, ensure};
use rustc_hash::FxHashMap;

use crate::draft::{Action, Draft, Wait};
use crate::schedule::{Builder, Schedule};
use crate::words::WordReader;

/// Writes a schedule as GOAL, rank by rank. Reductions and copies take the times of `costs`.
///
/// # Errors
/// A calculation that is too long for GOAL, or an error of `out`.
pub fn to_goal(schedule: &Schedule, costs: Costs<'_>, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", schedule.ranks())?;
    let mut draft = Draft::default();
    for rank in 0..schedule.ranks() {
        schedule.unpack(rank, &mut draft);
        writeln!(out, "\nrank {rank} {{")?;
        for (number, (action, waits)) in draft.tasks().enumerate() {
            let place = || format!("rank {rank}, task {number}");
            match costs.operation(action, schedule).map_err(|e| io::Error::other(e.at(place())))? {
                Operation::Send { bytes, to, tag } => writeln!(out, "l{number}: send {bytes}b to {to} tag {tag}")?,
                Operation::Recv { bytes, from, tag } => {
                    let from = if let Source::Rank(from) = from { i64::from(from) } else { -1 };
                    writeln!(out, "l{number}: recv {bytes}b from {from} tag {tag}")?;
                }
                Operation::Calc { nanoseconds } => writeln!(out, "l{number}: calc {nanoseconds}")?,
            }
            for Wait { is_for_start, other, .. } in waits {
                let requires = if *is_for_start { "irequires" } else { "requires" };
                writeln!(out, "l{number} {requires} l{other}")?;
            }
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// Reads GOAL; `file` is the file's name in messages.
///
/// # Errors
/// An invalid text; the message has file, line and the expected text.
pub fn from_goal(text: impl Read, file: &str) -> Result<Schedule> {
    let mut reader = Reader { words: WordReader::new(text), word: Vec::new(), labels: FxHashMap::default() };
    reader.schedule().map_err(|e| e.at(format!("{file}:{}", reader.words.line())))
}

/// The times of reductions and copies, which GOAL writes as calculations: seconds as a function of bytes.
#[derive(Clone, Copy)]
pub struct Costs<'a> {
    /// Of a reduction.
    pub reduce_s: &'a dyn Fn(f64) -> f64,
    /// Of a copy.
    pub copy_s: &'a dyn Fn(f64) -> f64,
}

impl Default for Costs<'_> {
    /// No time.
    fn default() -> Self {
        Self { reduce_s: &|_| 0.0, copy_s: &|_| 0.0 }
    }
}

/// An operation of GOAL.
pub enum Operation {
    Send { bytes: u64, to: u32, tag: u32 },
    Recv { bytes: u64, from: Source, tag: u32 },
    Calc { nanoseconds: u64 },
}

impl Costs<'_> {
    /// The operation for an action.
    pub fn operation(self, action: &Action, schedule: &Schedule) -> Result<Operation> {
        let bytes = |span: Span| (span.len * schedule.element_bytes()) as u64;
        let calc = |time_s: f64| {
            let nanoseconds = (time_s * 1e9).round();
            ensure(nanoseconds <= MOST_NANOSECONDS as f64, || {
                format!("computes for {time_s:e} s, expected at most 2^53 ns in GOAL")
            })?;
            Ok(Operation::Calc { nanoseconds: nanoseconds as u64 })
        };
        match *action {
            Action::Send { to, tag, data } => Ok(Operation::Send { bytes: bytes(data), to, tag }),
            Action::Recv { from, tag, into } => Ok(Operation::Recv { bytes: bytes(into), from, tag }),
            Action::Combine { source, .. } => calc((self.reduce_s)(bytes(source) as f64)),
            Action::Copy { source, .. } => calc((self.copy_s)(bytes(source) as f64)),
            Action::Compute { time_s } => calc(time_s),
        }
    }
}

impl Operation {
    /// The action of the operation.
    pub fn action(self) -> Action {
        let span = |bytes: u64| Span::new(Buffer::Scratch, bytes as usize);
        match self {
            Self::Send { bytes, to, tag } => Action::Send { to, tag, data: span(bytes) },
            Self::Recv { bytes, from, tag } => Action::Recv { from, tag, into: span(bytes) },
            Self::Calc { nanoseconds } => Action::Compute { time_s: nanoseconds as f64 / 1e9 },
        }
    }
}

/// More ranks than any machine has.
pub const MOST_RANKS: usize = 1 << 26;
/// The largest message: 2^53 bytes, which exceeds any memory.
pub const MOST_BYTES: u64 = 1 << 53;
/// The longest calculation: about a hundred days, exact as a double.
pub const MOST_NANOSECONDS: u64 = 1 << 53;
/// The number of characters of an unknown word that a message shows.
const MOST_SHOWN: usize = 40;

struct Reader<R> {
    words: WordReader<R>,
    /// The last word.
    word: Vec<u8>,
    /// The labels of the rank being read, and their tasks in the order of the text.
    labels: FxHashMap<Box<[u8]>, u32>,
}

impl<R: Read> Reader<R> {
    fn peek(&mut self) -> Result<&[u8]> {
        self.words.peek()
    }

    /// Takes the next word into `word`.
    fn next(&mut self, expected: Arguments<'_>) -> Result<()> {
        ensure(!self.peek()?.is_empty(), || format!("the text ends here, expected {expected}"))?;
        self.word.clear();
        self.word.extend(self.words.peek()?);
        self.words.take();
        Ok(())
    }

    fn word(&mut self, expected: &str) -> Result<()> {
        self.next(format_args!("{expected:?}"))?;
        if self.word == expected.as_bytes() { Ok(()) } else { Err(self.refuse(format_args!("{expected:?}"))) }
    }

    /// The error for an unexpected last word.
    fn refuse(&self, expected: Arguments<'_>) -> Error {
        Error::new(format!("got {}, expected {expected}", quote(&self.word)))
    }

    fn number(&mut self, most: u64, expected: Arguments<'_>) -> Result<u64> {
        self.next(expected)?;
        number(&self.word).filter(|number| *number <= most).ok_or_else(|| self.refuse(expected))
    }

    fn peer(&mut self, size: usize) -> Result<u32> {
        Ok(self.number(size as u64 - 1, format_args!("a rank below {size}"))? as u32)
    }

    fn schedule(&mut self) -> Result<Schedule> {
        self.word("num_ranks")?;
        let size = self.number(MOST_RANKS as u64, format_args!("a number of ranks up to 2^26"))? as usize;
        ensure(size != 0, || "got 0 ranks, expected at least 1")?;
        let (mut builder, mut draft) = (Builder::default(), Draft::default());
        let (mut scratch, mut are_read) = (vec![0; size], vec![false; size]);
        while !self.peek()?.is_empty() {
            self.word("rank")?;
            let rank = self.peer(size)? as usize;
            let is_new = !std::mem::replace(&mut are_read[rank], true);
            ensure(is_new, || format!("rank {rank} is defined twice, expected each rank once"))?;
            self.rank(size, &mut draft)?;
            builder.set(rank, &draft)?;
            scratch[rank] = draft.scratch();
        }
        Ok(builder.schedule(scratch, 1))
    }

    /// Reads the tasks of one rank, which may refer to later ones.
    fn rank(&mut self, size: usize, draft: &mut Draft) -> Result<()> {
        self.word("{")?;
        self.labels.clear();
        draft.clear();
        loop {
            self.next(format_args!("a task or \"}}\""))?;
            if self.word == b"}" {
                return draft.sort();
            }
            if self.peek()? == b":" {
                let label = self.word.as_slice().into();
                self.word(":")?;
                self.next(format_args!("send, recv or calc"))?;
                let task = draft.push(self.action(size)?);
                if let Some((label, _)) = self.labels.remove_entry(&label) {
                    return Err(Error::new(format!(
                        "label {} is defined twice, expected different labels",
                        quote(&label)
                    )));
                }
                self.labels.insert(label, task);
            } else if matches!(self.word.as_slice(), b"send" | b"recv" | b"calc") {
                draft.push(self.action(size)?);
            } else {
                self.requirement(draft)?;
            }
        }
    }

    /// Reads a requirement; its first word has been read.
    fn requirement(&mut self, draft: &mut Draft) -> Result<()> {
        let label = self.word.clone();
        self.next(format_args!("\"requires\" or \"irequires\""))?;
        let is_for_start = match self.word.as_slice() {
            b"requires" => false,
            b"irequires" => true,
            kind => {
                let (kind, label) = (quote(kind), quote(&label));
                let text = format!("got {kind} after {label}, expected \":\", \"requires\" or \"irequires\"");
                return Err(Error::new(text));
            }
        };
        self.next(format_args!("a label"))?;
        let find = |name: &[u8]| {
            let text = || format!("unknown label {}, expected the label of a task above", quote(name));
            self.labels.get(name).copied().ok_or_else(|| Error::new(text()))
        };
        draft.waits.push(Wait { task: find(&label)?, is_for_start, other: find(&self.word)? });
        Ok(())
    }

    /// Reads an action; its first word has been read.
    fn action(&mut self, size: usize) -> Result<Action> {
        let operation = match self.word.as_slice() {
            b"send" => {
                let bytes = self.bytes()?;
                self.word("to")?;
                Operation::Send { bytes, to: self.peer(size)?, tag: self.tag()? }
            }
            b"recv" => {
                let bytes = self.bytes()?;
                self.word("from")?;
                Operation::Recv { bytes, from: self.source(size)?, tag: self.tag()? }
            }
            b"calc" => {
                let nanoseconds = self.number(MOST_NANOSECONDS, format_args!("nanoseconds up to 2^53"))?;
                Operation::Calc { nanoseconds }
            }
            _ => return Err(self.refuse(format_args!("send, recv or calc"))),
        };
        for resource in ["cpu", "nic"] {
            if self.peek()? == resource.as_bytes() {
                self.word(resource)?;
                self.number(0, format_args!("{resource} 0, as each rank has one {resource}"))?;
            }
        }
        Ok(operation.action())
    }

    fn source(&mut self, size: usize) -> Result<Source> {
        if self.peek()? == b"-1" {
            self.word("-1")?;
            return Ok(Source::Any);
        }
        self.peer(size).map(Source::Rank)
    }

    fn bytes(&mut self) -> Result<u64> {
        self.number(MOST_BYTES, format_args!("a size in bytes such as 8b"))
    }

    fn tag(&mut self) -> Result<u32> {
        if self.peek()? != b"tag" {
            return Ok(0);
        }
        self.word("tag")?;
        Ok(self.number(u64::from(u32::MAX), format_args!("a tag below 2^32"))? as u32)
    }
}

/// The number in a word, which may end with b for bytes.
fn number(word: &[u8]) -> Option<u64> {
    let digits = word.strip_suffix(b"b").unwrap_or(word);
    let value = |digit: &u8| digit.is_ascii_digit().then(|| u64::from(digit - b'0'));
    let append = |number: u64, digit: u64| number.checked_mul(10)?.checked_add(digit);
    let number = digits.iter().try_fold(0, |number, digit| append(number, value(digit)?));
    number.filter(|_| !digits.is_empty())
}

/// A word in quotes, cut if it is long.
fn quote(word: &[u8]) -> String {
    let word = String::from_utf8_lossy(word);
    match word.char_indices().nth(MOST_SHOWN) {
        None => format!("{word:?}"),
        Some((end, _)) => format!("{:?}...", &word[..end]),
    }
}
