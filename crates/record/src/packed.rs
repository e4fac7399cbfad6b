//! The tasks of one rank as bytes, about ten per task: the form that schedules keep and run.
//!
//! A task is a head (see [`Head`]); the number of tasks that it waits for, if several; its action; and two lists of
//! followers: the tasks that wait for its start, and those that wait for its end. Numbers are in base 128, lowest
//! digits first; each byte except the last has its highest bit set. A list is its length and, for each task, the
//! distance of its number from the next task's number, and, unless that is 0, the distance of its place in bytes. In
//! front of the first task, which never waits, is the list of the other tasks that wait for nothing.

use hocket_core::{Buffer, Error, Options, Result, Side, Source, Span, Step, Tag, Tasks};

use crate::draft::{Action, Draft, Wait};

/// The kinds of actions.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Kind {
    Send,
    Recv,
    RecvAny,
    CombineLeft,
    CombineRight,
    Copy,
    Compute,
    /// A computation of whole nanoseconds.
    Nanoseconds,
}

const KINDS: [Kind; 8] = [
    Kind::Send,
    Kind::Recv,
    Kind::RecvAny,
    Kind::CombineLeft,
    Kind::CombineRight,
    Kind::Copy,
    Kind::Compute,
    Kind::Nanoseconds,
];

/// The first byte of a task: its kind in the lowest three bits, then a bit for each of its parts.
#[derive(Clone, Copy)]
struct Head(u8);

impl Head {
    /// The number of tasks that it waits for, if several.
    const WAITS: u8 = 1 << 3;
    /// The list of tasks that wait for its end.
    const STARTS: u8 = 1 << 4;
    /// Only the next task waits for its end; there is no list.
    const NEXT: u8 = 1 << 5;
    /// The list of tasks that wait for its start.
    const ENDS: u8 = 1 << 6;
    /// A tag.
    const TAG: u8 = 1 << 7;

    fn kind(self) -> Kind {
        KINDS[usize::from(self.0 & 7)]
    }

    fn has(self, part: u8) -> bool {
        self.0 & part != 0
    }
}

/// A time in nanoseconds, if it is a whole number of them.
fn nanoseconds(time_s: f64) -> Option<u64> {
    let nanoseconds = (time_s * 1e9).round();
    let is_whole = (0.0..=9e15).contains(&nanoseconds) && nanoseconds / 1e9 == time_s;
    is_whole.then_some(nanoseconds as u64)
}

/// Packs the tasks of one rank after another, in reused memory.
#[derive(Default)]
pub struct Packer {
    /// For each wait: (the awaited task, whether its end is awaited, the waiting task), sorted.
    followers: Vec<(u32, bool, u32)>,
    /// The number of tasks that each task waits for.
    waits: Vec<u32>,
    /// The bytes of the tasks so far, in reverse order.
    reversed: Vec<u8>,
    /// The distance of the beginning of each task from the end.
    beginnings: Vec<u32>,
    task: Vec<u8>,
}

impl Packer {
    /// Appends the tasks to `bytes`. The draft must be sorted.
    ///
    /// # Errors
    /// Tasks that take more than 2 GiB.
    pub fn pack(&mut self, draft: &Draft, bytes: &mut Vec<u8>) -> Result<()> {
        let tasks = draft.actions.len();
        if tasks == 0 {
            return Ok(());
        }
        self.note_waits(draft);
        self.reversed.clear();
        self.beginnings.clear();
        self.beginnings.resize(tasks, 0);
        let mut followers = std::mem::take(&mut self.followers);
        for (number, action) in draft.actions.iter().enumerate().rev() {
            let first = followers.partition_point(|(other, ..)| (*other as usize) < number);
            self.task.clear();
            self.put_task(number, action, &followers[first..]);
            followers.truncate(first);
            self.reversed.extend(self.task.iter().rev());
            let beginning = u32::try_from(self.reversed.len()).ok().filter(|place| *place < u32::MAX / 2);
            self.beginnings[number] = beginning.ok_or_else(|| Error::new("a rank's tasks take more than 2 GiB"))?;
        }
        self.followers = followers;
        self.task.clear();
        let roots = self.waits.iter().zip(0..).skip(1).filter(|(waits, _)| **waits == 0);
        let roots: Vec<_> = roots.map(|(_, number)| (0, true, number)).collect();
        self.put_places(0, self.beginnings[0], &roots);
        bytes.extend(&self.task);
        bytes.extend(self.reversed.iter().rev());
        Ok(())
    }

    fn note_waits(&mut self, draft: &Draft) {
        self.waits.clear();
        self.waits.resize(draft.actions.len(), 0);
        self.followers.clear();
        for Wait { task, is_for_start, other } in &draft.waits {
            self.waits[*task as usize] += 1;
            self.followers.push((*other, !is_for_start, *task));
        }
        if !self.followers.is_sorted() {
            self.followers.sort_unstable();
        }
    }

    fn put_task(&mut self, number: usize, action: &Action, followers: &[(u32, bool, u32)]) {
        let (starts, ends) = followers.split_at(followers.partition_point(|(_, is_for_end, _)| !is_for_end));
        let next = number as u32 + 1;
        let is_next = matches!(ends, [(.., follower)] if *follower == next);
        let waits = self.waits[number];
        let mut head = action.kind() as u8;
        for (part, is_there) in [
            (Head::WAITS, waits > 1),
            (Head::STARTS, !starts.is_empty()),
            (Head::NEXT, is_next),
            (Head::ENDS, !is_next && !ends.is_empty()),
            (Head::TAG, action.tag() != 0),
        ] {
            head |= if is_there { part } else { 0 };
        }
        self.task.push(head);
        if waits > 1 {
            put(&mut self.task, waits.into());
        }
        action.put(&mut self.task);
        let end = self.reversed.len() as u32;
        if !starts.is_empty() {
            self.put_places(next, end, starts);
        }
        if !ends.is_empty() && !is_next {
            self.put_places(next, end, ends);
        }
    }

    /// Writes the list of these followers, relative to the task `next`, whose distance from the end is `beginning`.
    fn put_places(&mut self, next: u32, beginning: u32, followers: &[(u32, bool, u32)]) {
        put(&mut self.task, followers.len() as u64);
        for (.., task) in followers {
            put(&mut self.task, (task - next).into());
            if *task != next {
                put(&mut self.task, (beginning - self.beginnings[*task as usize]).into());
            }
        }
    }
}

impl Action {
    fn kind(&self) -> Kind {
        match *self {
            Self::Send { .. } => Kind::Send,
            Self::Recv { from: Source::Rank(_), .. } => Kind::Recv,
            Self::Recv { from: Source::Any, .. } => Kind::RecvAny,
            Self::Combine { is_source_left: true, .. } => Kind::CombineLeft,
            Self::Combine { .. } => Kind::CombineRight,
            Self::Copy { .. } => Kind::Copy,
            Self::Compute { time_s } if nanoseconds(time_s).is_some() => Kind::Nanoseconds,
            Self::Compute { .. } => Kind::Compute,
        }
    }

    fn tag(&self) -> Tag {
        if let Self::Send { tag, .. } | Self::Recv { tag, .. } = *self { tag } else { 0 }
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        if self.tag() != 0 {
            put(bytes, self.tag().into());
        }
        match *self {
            Self::Send { to: peer, data: span, .. } | Self::Recv { from: Source::Rank(peer), into: span, .. } => {
                put(bytes, peer.into());
                put_span(bytes, span);
            }
            Self::Recv { from: Source::Any, into, .. } => put_span(bytes, into),
            Self::Combine { source, target, .. } | Self::Copy { source, target } => {
                put_span(bytes, source);
                put_beginning(bytes, target);
            }
            Self::Compute { time_s } => match nanoseconds(time_s) {
                Some(nanoseconds) => put(bytes, nanoseconds),
                None => bytes.extend(time_s.to_le_bytes()),
            },
        }
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        bytes.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_span(bytes: &mut Vec<u8>, span: Span) {
    put_beginning(bytes, span);
    put(bytes, span.len as u64);
}

/// Writes a span without its length.
fn put_beginning(bytes: &mut Vec<u8>, span: Span) {
    put(bytes, (span.offset as u64) << 2 | span.buffer as u64);
}

/// A position in bytes that are read.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    #[inline(always)]
    fn number(&mut self) -> u64 {
        let mut byte = self.byte();
        let mut number = u64::from(byte & 0x7F);
        let mut shift = 7;
        while byte >> 7 == 1 {
            byte = self.byte();
            number |= u64::from(byte & 0x7F) << shift;
            shift += 7;
        }
        number
    }

    fn skip_numbers(&mut self, count: usize) {
        for _ in 0..count {
            while self.byte() >> 7 == 1 {}
        }
    }

    fn span(&mut self) -> Span {
        let beginning = self.beginning();
        Span { len: self.number() as usize, ..beginning }
    }

    /// A span without its length.
    fn beginning(&mut self) -> Span {
        const BUFFERS: [Buffer; 4] = [Buffer::Input, Buffer::Result, Buffer::Scratch, Buffer::Scratch];
        let number = self.number();
        Span { buffer: BUFFERS[number as usize & 3], offset: (number >> 2) as usize, len: 0 }
    }

    /// Reads a head, and the number of tasks that the task waits for; 1 unless they are several.
    fn head(&mut self) -> (Head, u32) {
        let head = Head(self.byte());
        let waits = if head.has(Head::WAITS) { self.number() as u32 } else { 1 };
        (head, waits)
    }

    fn action(&mut self, head: Head) -> Action {
        let tag = if head.has(Head::TAG) { self.number() as Tag } else { 0 };
        match head.kind() {
            Kind::Send => Action::Send { to: self.number() as u32, tag, data: self.span() },
            Kind::Recv => Action::Recv { from: Source::Rank(self.number() as u32), tag, into: self.span() },
            Kind::RecvAny => Action::Recv { from: Source::Any, tag, into: self.span() },
            kind @ (Kind::CombineLeft | Kind::CombineRight | Kind::Copy) => {
                let source = self.span();
                let target = Span { len: source.len, ..self.beginning() };
                match kind {
                    Kind::Copy => Action::Copy { source, target },
                    _ => Action::Combine { source, target, is_source_left: kind == Kind::CombineLeft },
                }
            }
            Kind::Nanoseconds => Action::Compute { time_s: self.number() as f64 / 1e9 },
            Kind::Compute => Action::Compute { time_s: f64::from_le_bytes(std::array::from_fn(|_| self.byte())) },
        }
    }

    fn skip_action(&mut self, head: Head) {
        let numbers = match head.kind() {
            Kind::Send | Kind::Recv | Kind::CombineLeft | Kind::CombineRight | Kind::Copy => 3,
            Kind::RecvAny => 2,
            Kind::Nanoseconds => 1,
            Kind::Compute => {
                self.at += size_of::<f64>();
                0
            }
        };
        self.skip_numbers(numbers + usize::from(head.has(Head::TAG)));
    }

    fn skip_list(&mut self) {
        for _ in 0..self.number() {
            if self.number() > 0 {
                self.skip_numbers(1);
            }
        }
    }

    /// Calls `each` with the tasks of a list, relative to `next`.
    fn list(&mut self, next: Place, mut each: impl FnMut(Place)) {
        for _ in 0..self.number() {
            let further = self.number() as u32;
            let distance = if further == 0 { 0 } else { self.number() as u32 };
            each(Place { number: next.number + further, at: next.at + distance });
        }
    }

    /// From the followers of the task at `place`: returns the task after it.
    fn end(mut self, head: Head, place: Place) -> Place {
        for part in [Head::STARTS, Head::ENDS] {
            if head.has(part) {
                self.skip_list();
            }
        }
        Place { number: place.number + 1, at: self.at as u32 }
    }

    /// From the followers of a task: calls `each` with the tasks that wait for its start.
    fn starts(mut self, head: Head, next: Place, each: impl FnMut(Place)) {
        if head.has(Head::STARTS) {
            self.list(next, each);
        }
    }

    /// From the followers of a task: calls `each` with the tasks that wait for its end.
    fn ends(mut self, head: Head, next: Place, mut each: impl FnMut(Place)) {
        if head.has(Head::NEXT) {
            return each(next);
        }
        if head.has(Head::STARTS) {
            self.skip_list();
        }
        if head.has(Head::ENDS) {
            self.list(next, each);
        }
    }
}

/// A task: its number, and its position in the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    number: u32,
    at: u32,
}

/// The tasks of one rank.
#[derive(Clone, Copy)]
pub struct Packed<'a>(pub &'a [u8]);

impl Packed<'_> {
    fn cursor(&self, at: usize) -> Cursor<'_> {
        Cursor { bytes: self.0, at }
    }

    /// Replaces the content of `draft` by the tasks.
    pub fn unpack(self, draft: &mut Draft) {
        draft.clear();
        if self.0.is_empty() {
            return;
        }
        let mut cursor = self.cursor(0);
        cursor.skip_list();
        while cursor.at < self.0.len() {
            let place = Place { number: draft.actions.len() as u32, at: cursor.at as u32 };
            let (head, _) = cursor.head();
            draft.actions.push(cursor.action(head));
            let followers = cursor;
            let next = followers.end(head, place);
            cursor.at = next.at as usize;
            let wait = |is_for_start| move |task: Place| Wait { task: task.number, is_for_start, other: place.number };
            followers.starts(head, next, |task| draft.waits.push(wait(true)(task)));
            followers.ends(head, next, |task| draft.waits.push(wait(false)(task)));
        }
        draft.waits.sort_unstable();
    }

    /// The head of a task, and the place of its followers.
    fn followers(&self, place: Place) -> (Head, Cursor<'_>) {
        let mut cursor = self.cursor(place.at as usize);
        let (head, _) = cursor.head();
        cursor.skip_action(head);
        (head, cursor)
    }
}

impl Tasks for Packed<'_> {
    type Place = Place;

    fn first(&self, mut each: impl FnMut(Place)) {
        if self.0.is_empty() {
            return;
        }
        let mut cursor = self.cursor(0);
        cursor.skip_list();
        let first = Place { number: 0, at: cursor.at as u32 };
        each(first);
        self.cursor(0).list(first, each);
    }

    fn number(place: Place) -> u32 {
        place.number
    }

    fn waits(&self, place: Place) -> u32 {
        self.cursor(place.at as usize).head().1
    }

    #[inline]
    fn step(&self, place: Place) -> Step {
        let mut cursor = self.cursor(place.at as usize);
        let (head, _) = cursor.head();
        match cursor.action(head) {
            Action::Send { to, tag, data } => {
                Step::Send { to: to as usize, data, options: Options { tag, ..Options::default() } }
            }
            Action::Recv { from, tag, into } => Step::Recv { from, into, tag },
            Action::Combine { source, target, is_source_left } => {
                Step::Combine { source, target, side: if is_source_left { Side::Left } else { Side::Right } }
            }
            Action::Copy { source, target } => Step::Copy { source, target },
            Action::Compute { time_s } => Step::Compute { time_s },
        }
    }

    fn at_start(&self, place: Place, each: impl FnMut(Place)) {
        if Head(self.0[place.at as usize]).has(Head::STARTS) {
            let (head, followers) = self.followers(place);
            followers.starts(head, followers.end(head, place), each);
        }
    }

    fn at_end(&self, place: Place, each: impl FnMut(Place)) {
        if Head(self.0[place.at as usize]).has(Head::NEXT | Head::ENDS) {
            let (head, followers) = self.followers(place);
            followers.ends(head, followers.end(head, place), each);
        }
    }
}
