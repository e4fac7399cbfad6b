//! GOAL, the text format of LogGOPSim: per rank, labelled sends, receives and calculations, and their dependencies.
//!
//! Source: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009. Sizes are in bytes,
//! calculations in nanoseconds. GOAL knows no reductions or copies: they are written as calculations.

use std::collections::HashMap;
use std::fmt::Write as _;

use hocket_core::{Buffer, Error, Result, Span};

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
                    return Ok(format!("calc {nanoseconds}"));
                }
                let text = format!("computes for {time_s:e} s, expected at most 2^53 ns in GOAL");
                Err(Error::new(text).at(format!("rank {rank}, task {number}")))
            };
            let action = match &task.action {
                Action::Send { to, tag, data } => format!("send {}b to {to} tag {tag}", bytes(data)),
                Action::Recv { from, tag, into } => format!("recv {}b from {from} tag {tag}", bytes(into)),
                Action::Combine { source, .. } => calculation(bytes(source) as f64 * reduce_s_per_byte)?,
                Action::Copy { source, .. } => calculation(bytes(source) as f64 * copy_s_per_byte)?,
                Action::Compute { time_s } => calculation(*time_s)?,
            };
            let _ = writeln!(text, "l{number}: {action}");
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
    let open_comment = |line| Error::new("a comment without end, expected \"*/\"").at(format!("{file}:{line}"));
    let mut reader = Reader { tokens: tokens(text).map_err(open_comment)?, at: 0, line: 1 };
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

/// A rank as it is read: tasks in the order of the text, which may name later ones.
#[derive(Default)]
struct Draft {
    labels: HashMap<String, u32>,
    tasks: Vec<Task>,
}

struct Reader<'a> {
    tokens: Vec<(usize, &'a str)>,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    fn next(&mut self, expected: &str) -> Result<&'a str> {
        match self.tokens.get(self.at) {
            Some((line, token)) => {
                self.line = *line;
                self.at += 1;
                Ok(token)
            }
            None => Err(Error::new(format!("the text ends here, expected {expected}"))),
        }
    }

    fn word(&mut self, expected: &str) -> Result<()> {
        let got = self.next(&format!("{expected:?}"))?;
        if got == expected { Ok(()) } else { Err(Error::new(format!("got {}, expected {expected:?}", shown(got)))) }
    }

    fn number(&mut self, most: u64, expected: &str) -> Result<u64> {
        let got = self.next(expected)?;
        let digits = got.strip_suffix('b').unwrap_or(got);
        digits
            .parse()
            .ok()
            .filter(|number| *number <= most)
            .ok_or_else(|| Error::new(format!("got {}, expected {expected}", shown(got))))
    }

    fn schedule(&mut self) -> Result<Schedule> {
        self.word("num_ranks")?;
        let size = self.number(MOST_RANKS as u64, "a number of ranks up to 2^26")? as usize;
        if size == 0 {
            return Err(Error::new("got 0 ranks, expected at least 1"));
        }
        let mut ranks: Vec<Option<Vec<Task>>> = vec![None; size];
        while self.peek().is_some() {
            self.word("rank")?;
            let rank = self.number(size as u64 - 1, &format!("a rank below {size}"))? as usize;
            if ranks[rank].is_some() {
                return Err(Error::new(format!("rank {rank} stands here for the second time")));
            }
            ranks[rank] = Some(self.rank(size)?);
        }
        let ranks: Vec<_> = ranks.into_iter().map(Option::unwrap_or_default).collect();
        let room = |tasks: &Vec<Task>| tasks.iter().flat_map(Task::spans).map(|span| span.len).max().unwrap_or(0);
        Ok(Schedule { format: Schedule::FORMAT, element_bytes: 1, scratch: ranks.iter().map(room).collect(), ranks })
    }

    fn rank(&mut self, size: usize) -> Result<Vec<Task>> {
        self.word("{")?;
        let mut draft = Draft::default();
        loop {
            match self.next("a task or \"}\"")? {
                "}" => return in_order(draft.tasks),
                label if self.peek() == Some(":") => {
                    self.word(":")?;
                    let action = self.action(size)?;
                    if draft.labels.insert(label.to_owned(), draft.tasks.len() as u32).is_some() {
                        return Err(Error::new(format!("label {} stands here for the second time", shown(label))));
                    }
                    draft.tasks.push(Task { action, after: Vec::new(), after_start: Vec::new() });
                }
                label => self.requirement(&mut draft, label)?,
            }
        }
    }

    fn requirement(&mut self, draft: &mut Draft, label: &str) -> Result<()> {
        let find = |name: &str| {
            let known = draft.labels.get(name).copied();
            let text = || format!("label {} is not known, expected one of a task above", shown(name));
            known.ok_or_else(|| Error::new(text()))
        };
        let kind = self.next("\"requires\" or \"irequires\"")?;
        if !matches!(kind, "requires" | "irequires") {
            let (kind, label) = (shown(kind), shown(label));
            let text = format!("got {kind} after {label}, expected \":\", \"requires\" or \"irequires\"");
            return Err(Error::new(text));
        }
        let other = self.next("a label")?;
        let (task, other) = (find(label)?, find(other)?);
        let task = &mut draft.tasks[task as usize];
        if kind == "requires" {
            task.after.push(other)
        } else {
            task.after_start.push(other)
        }
        Ok(())
    }

    fn action(&mut self, size: usize) -> Result<Action> {
        let verb = self.next("send, recv or calc")?;
        let peer = format!("a rank below {size}");
        let action = match verb {
            "send" => {
                let data = self.bytes()?;
                self.word("to")?;
                let to = self.number(size as u64 - 1, &peer)? as u32;
                Action::Send { to, tag: self.tag()?, data }
            }
            "recv" => {
                let into = self.bytes()?;
                self.word("from")?;
                let from = self.number(size as u64 - 1, &peer)? as u32;
                Action::Recv { from, tag: self.tag()?, into }
            }
            "calc" => Action::Compute { time_s: self.number(MOST_NANOSECONDS, "nanoseconds up to 2^53")? as f64 / 1e9 },
            _ => return Err(Error::new(format!("got {}, expected send, recv or calc", shown(verb)))),
        };
        while let Some(resource @ ("cpu" | "nic")) = self.peek() {
            self.word(resource)?;
            self.number(0, &format!("{resource} 0: ranks have one {resource}"))?;
        }
        Ok(action)
    }

    fn bytes(&mut self) -> Result<Span> {
        let bytes = self.number(MOST_BYTES, "a size in bytes such as 8b")?;
        Ok(Span::new(Buffer::Scratch, bytes as usize))
    }

    fn tag(&mut self) -> Result<u32> {
        if self.peek() != Some("tag") {
            return Ok(0);
        }
        self.word("tag")?;
        Ok(self.number(u64::from(u32::MAX), "a tag below 2^32")? as u32)
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

/// Words and punctuation with their lines; comments are left out. The error is the line of a comment that does not end.
fn tokens(text: &str) -> std::result::Result<Vec<(usize, &str)>, usize> {
    let mut found = Vec::new();
    let mut comment_since = None;
    for (number, line) in text.lines().enumerate() {
        let mut rest = line;
        while !rest.is_empty() {
            if comment_since.is_some() {
                let Some(end) = rest.find("*/") else { break };
                comment_since = None;
                rest = &rest[end + 2..];
                continue;
            }
            let start = rest.trim_start();
            if start.starts_with("//") || start.starts_with('#') || start.is_empty() {
                break;
            }
            if let Some(comment) = start.strip_prefix("/*") {
                comment_since = Some(number + 1);
                rest = comment;
                continue;
            }
            let is_mark = |c: char| matches!(c, '{' | '}' | ':');
            let end = match start.chars().next() {
                Some(mark) if is_mark(mark) => 1,
                _ => start.find(|c: char| c.is_whitespace() || is_mark(c) || c == '/').unwrap_or(start.len()).max(1),
            };
            let end = (end..=start.len()).find(|at| start.is_char_boundary(*at)).unwrap_or(start.len());
            found.push((number + 1, &start[..end]));
            rest = &start[end..];
        }
    }
    comment_since.map_or(Ok(found), Err)
}
