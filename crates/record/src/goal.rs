//! GOAL, the text format of LogGOPSim: per rank, labelled sends, receives and calculations, and their dependencies.
//!
//! Source: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009. Sizes are in bytes,
//! calculations in nanoseconds. GOAL knows no reductions or copies: they are written as calculations.

use std::fmt::{Arguments, Write as _};
use std::iter::Peekable;

use hocket_core::{Buffer, Error, Result, Span, budget};
use rustc_hash::FxHashMap;

use crate::recorder::TASKS_PER_LOOK;
use crate::schedule::{Action, Schedule, Task};

/// Writes a schedule as GOAL; reductions and copies cost the given seconds per byte.
///
/// # Errors
/// A calculation that takes longer than GOAL can say.
pub fn to_goal(schedule: &Schedule, reduce_s_per_byte: f64, copy_s_per_byte: f64) -> Result<String> {
    let mut text = format!("num_ranks {}\n", schedule.ranks.len());
    for (rank, tasks) in schedule.ranks.iter().enumerate() {
        let _ = writeln!(text, "\nrank {rank} {{");
        for (number, task) in tasks.iter().enumerate() {
            let bytes = |span: &Span| span.len * schedule.element_bytes;
            let calculation = |time_s: f64| {
                let nanoseconds = (time_s * 1e9).round();
                if nanoseconds <= MOST_NANOSECONDS as f64 {
                    return Ok(nanoseconds);
                }
                let text = format!("computes for {time_s:e} s, expected at most 2^53 ns in GOAL");
                Err(Error::new(text).at(format!("rank {rank}, task {number}")))
            };
            let calculates = |bytes: usize, s_per_byte: f64| calculation(bytes as f64 * s_per_byte);
            let _ = match &task.action {
                Action::Send { to, tag, data } => {
                    writeln!(text, "l{number}: send {}b to {to} tag {tag}", bytes(data))
                }
                Action::Recv { from, tag, into } => {
                    writeln!(text, "l{number}: recv {}b from {from} tag {tag}", bytes(into))
                }
                Action::Combine { source, .. } => {
                    writeln!(text, "l{number}: calc {}", calculates(bytes(source), reduce_s_per_byte)?)
                }
                Action::Copy { source, .. } => {
                    writeln!(text, "l{number}: calc {}", calculates(bytes(source), copy_s_per_byte)?)
                }
                Action::Compute { time_s } => writeln!(text, "l{number}: calc {}", calculation(*time_s)?),
            };
            for other in &task.after {
                let _ = writeln!(text, "l{number} requires l{other}");
            }
            for other in &task.after_start {
                let _ = writeln!(text, "l{number} irequires l{other}");
            }
        }
        text.push_str("}\n");
    }
    Ok(text)
}

/// Reads GOAL; `file` is the name that messages give.
///
/// # Errors
/// Text that is not GOAL: file, line, and the expected text.
pub fn from_goal(text: &str, file: &str) -> Result<Schedule> {
    let words = Words { rest: text, line: 1 }.peekable();
    let mut reader = Reader { words, line: 1, labels: FxHashMap::default(), tasks: 0 };
    let schedule = reader.schedule().map_err(|e| e.at(format!("{file}:{}", reader.line)))?;
    schedule.check().map_err(|e| e.at(file))?;
    Ok(schedule)
}

/// More ranks than any machine has.
const MOST_RANKS: usize = 1 << 26;
/// A message longer than any memory: 2^53 bytes.
const MOST_BYTES: u64 = 1 << 53;
/// A hundred days, counted exactly by a double.
const MOST_NANOSECONDS: u64 = 1 << 53;
/// Characters that a message shows of a word that is not understood.
const MOST_SHOWN: usize = 40;

struct Reader<'a> {
    words: Peekable<Words<'a>>,
    /// The line of the last word.
    line: usize,
    /// The labels of the rank that is being read, and their tasks in the order of the text.
    labels: FxHashMap<&'a str, u32>,
    /// The tasks read so far, of all ranks.
    tasks: usize,
}

/// A word or a mark, and its line.
type Word<'a> = (usize, &'a str);

impl<'a> Reader<'a> {
    fn look(&mut self) -> Result<Option<Word<'a>>> {
        let open_comment = |line| {
            self.line = line;
            Error::new("a comment without end, expected \"*/\"")
        };
        self.words.peek().copied().transpose().map_err(open_comment)
    }

    fn peek(&mut self) -> Result<Option<&'a str>> {
        Ok(self.look()?.map(|(_, word)| word))
    }

    fn next(&mut self, expected: Arguments<'_>) -> Result<&'a str> {
        let Some((line, word)) = self.look()? else {
            return Err(Error::new(format!("the text ends here, expected {expected}")));
        };
        self.line = line;
        self.words.next();
        Ok(word)
    }

    fn word(&mut self, expected: &str) -> Result<()> {
        let got = self.next(format_args!("{expected:?}"))?;
        if got == expected { Ok(()) } else { Err(Error::new(format!("got {}, expected {expected:?}", shown(got)))) }
    }

    fn number(&mut self, most: u64, expected: Arguments<'_>) -> Result<u64> {
        let got = self.next(expected)?;
        let digits = got.strip_suffix('b').unwrap_or(got);
        digits
            .parse()
            .ok()
            .filter(|number| *number <= most)
            .ok_or_else(|| Error::new(format!("got {}, expected {expected}", shown(got))))
    }

    fn peer(&mut self, size: usize) -> Result<u32> {
        Ok(self.number(size as u64 - 1, format_args!("a rank below {size}"))? as u32)
    }

    fn schedule(&mut self) -> Result<Schedule> {
        self.word("num_ranks")?;
        let size = self.number(MOST_RANKS as u64, format_args!("a number of ranks up to 2^26"))? as usize;
        if size == 0 {
            return Err(Error::new("got 0 ranks, expected at least 1"));
        }
        let mut ranks: Vec<Option<Vec<Task>>> = vec![None; size];
        while self.peek()?.is_some() {
            self.word("rank")?;
            let rank = self.peer(size)? as usize;
            if ranks[rank].is_some() {
                return Err(Error::new(format!("rank {rank} stands here for the second time")));
            }
            ranks[rank] = Some(self.rank(size)?);
        }
        let ranks: Vec<_> = ranks.into_iter().map(Option::unwrap_or_default).collect();
        let room = |tasks: &Vec<Task>| tasks.iter().flat_map(Task::spans).map(|span| span.len).max().unwrap_or(0);
        Ok(Schedule { format: Schedule::FORMAT, element_bytes: 1, scratch: ranks.iter().map(room).collect(), ranks })
    }

    /// The tasks of one rank, which may name later ones.
    fn rank(&mut self, size: usize) -> Result<Vec<Task>> {
        self.word("{")?;
        self.labels.clear();
        let mut tasks = Vec::new();
        loop {
            match self.next(format_args!("a task or \"}}\""))? {
                "}" => {
                    tasks.shrink_to_fit();
                    return in_order(tasks);
                }
                label if self.peek()? == Some(":") => {
                    self.word(":")?;
                    let action = self.action(size)?;
                    if self.labels.insert(label, tasks.len() as u32).is_some() {
                        return Err(Error::new(format!("label {} stands here for the second time", shown(label))));
                    }
                    tasks.push(Task { action, after: Vec::new(), after_start: Vec::new() });
                    self.tasks += 1;
                    if self.tasks.is_multiple_of(TASKS_PER_LOOK) {
                        budget::look()?;
                    }
                }
                label => self.requirement(&mut tasks, label)?,
            }
        }
    }

    fn requirement(&mut self, tasks: &mut [Task], label: &str) -> Result<()> {
        let kind = self.next(format_args!("\"requires\" or \"irequires\""))?;
        if !matches!(kind, "requires" | "irequires") {
            let (kind, label) = (shown(kind), shown(label));
            let text = format!("got {kind} after {label}, expected \":\", \"requires\" or \"irequires\"");
            return Err(Error::new(text));
        }
        let other = self.next(format_args!("a label"))?;
        let find = |name: &str| {
            let text = || format!("label {} is not known, expected one of a task above", shown(name));
            self.labels.get(name).copied().ok_or_else(|| Error::new(text()))
        };
        let (task, other) = (find(label)?, find(other)?);
        let Task { after, after_start, .. } = &mut tasks[task as usize];
        let waits_for = if kind == "requires" { after } else { after_start };
        waits_for.push(other);
        Ok(())
    }

    fn action(&mut self, size: usize) -> Result<Action> {
        let action = match self.next(format_args!("send, recv or calc"))? {
            "send" => {
                let data = self.bytes()?;
                self.word("to")?;
                Action::Send { to: self.peer(size)?, tag: self.tag()?, data }
            }
            "recv" => {
                let into = self.bytes()?;
                self.word("from")?;
                Action::Recv { from: self.peer(size)?, tag: self.tag()?, into }
            }
            "calc" => {
                let nanoseconds = self.number(MOST_NANOSECONDS, format_args!("nanoseconds up to 2^53"))?;
                Action::Compute { time_s: nanoseconds as f64 / 1e9 }
            }
            verb => return Err(Error::new(format!("got {}, expected send, recv or calc", shown(verb)))),
        };
        while let Some(resource @ ("cpu" | "nic")) = self.peek()? {
            self.word(resource)?;
            self.number(0, format_args!("{resource} 0: ranks have one {resource}"))?;
        }
        Ok(action)
    }

    fn bytes(&mut self) -> Result<Span> {
        let bytes = self.number(MOST_BYTES, format_args!("a size in bytes such as 8b"))?;
        Ok(Span::new(Buffer::Scratch, bytes as usize))
    }

    fn tag(&mut self) -> Result<u32> {
        if self.peek()? != Some("tag") {
            return Ok(0);
        }
        self.word("tag")?;
        Ok(self.number(u64::from(u32::MAX), format_args!("a tag below 2^32"))? as u32)
    }
}

/// A word in quotes, cut if it is long.
fn shown(word: &str) -> String {
    match word.char_indices().nth(MOST_SHOWN) {
        None => format!("{word:?}"),
        Some((end, _)) => format!("{:?}...", &word[..end]),
    }
}

/// The tasks, each behind those that it waits for; tasks that do not depend on each other keep their order.
fn in_order(tasks: Vec<Task>) -> Result<Vec<Task>> {
    let others = |task: &Task| task.after.iter().chain(&task.after_start).copied().max();
    if tasks.iter().zip(0..).all(|(task, number)| others(task).is_none_or(|latest| latest < number)) {
        return Ok(tasks);
    }
    let mut missing: Vec<_> = tasks.iter().map(|task| task.after.len() + task.after_start.len()).collect();
    let mut waiting = vec![Vec::new(); tasks.len()];
    for (number, task) in tasks.iter().enumerate() {
        task.after.iter().chain(&task.after_start).for_each(|other| waiting[*other as usize].push(number));
    }
    let mut ready: std::collections::BTreeSet<_> = (0..tasks.len()).filter(|task| missing[*task] == 0).collect();
    let mut place = vec![0; tasks.len()];
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(task) = ready.pop_first() {
        place[task] = order.len() as u32;
        order.push(task);
        for other in &waiting[task] {
            missing[*other] -= 1;
            if missing[*other] == 0 {
                ready.insert(*other);
            }
        }
    }
    if order.len() < tasks.len() {
        return Err(Error::new("tasks of this rank require each other in a circle"));
    }
    let moved = |others: &[u32]| others.iter().map(|other| place[*other as usize]).collect();
    let task = |number: usize| {
        let Task { action, after, after_start } = &tasks[number];
        Task { action: action.clone(), after: moved(after), after_start: moved(after_start) }
    };
    Ok(order.into_iter().map(task).collect())
}

/// The words and marks of a text, without comments. An error is the line of a comment that does not end.
struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = std::result::Result<Word<'a>, usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.skip(self.rest.find(|c: char| !c.is_whitespace()));
            let comment = if self.rest.starts_with("/*") {
                let Some(end) = self.rest[2..].find("*/") else { return Some(Err(self.line)) };
                Some(end + 4)
            } else if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.rest.find('\n')
            } else {
                return self.word().map(Ok);
            };
            self.skip(comment);
        }
    }
}

impl<'a> Words<'a> {
    /// Goes on at this place, or at the end.
    fn skip(&mut self, to: Option<usize>) {
        let (skipped, rest) = self.rest.split_at(to.unwrap_or(self.rest.len()));
        self.line += skipped.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
    }

    fn word(&mut self) -> Option<Word<'a>> {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ':' | '/');
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end.max(1).min(self.rest.len()));
        self.rest = rest;
        (!word.is_empty()).then_some((self.line, word))
    }
}
