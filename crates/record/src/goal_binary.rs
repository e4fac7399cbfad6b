//! GOAL's binary format, which LogGOPSim generates from the text and simulates.
//!
//! Source: `Parser.hpp` of LogGOPSim. Numbers are little-endian and unaligned. A file is the [`MAGIC`] number; the
//! number of ranks (4 bytes), the highest cpu and the highest nic (1 byte each); for each rank the start and end of its
//! part (8 bytes each, counted from after the magic number); and the parts in order. The part of a rank is the numbers
//! of operations and of roots, which wait for nothing (4 bytes each); the roots (4 bytes each); the operations (39
//! bytes each); and the followers (4 bytes each), to which the operations refer.

use std::io::{self, Read, Write};

use hocket_core::{Error, Result, Source, budget, ensure};

use crate::draft::{Action, Draft, Wait};
use crate::goal::{Costs, MOST_BYTES, MOST_NANOSECONDS, MOST_RANKS, Operation};
use crate::schedule::{Builder, Schedule};
use crate::words::unreadable;

/// The first eight bytes of a file, as a number.
pub const MAGIC: u64 = 4223;
const HEADER_BYTES: u64 = 6;
const ENTRY_BYTES: u64 = 16;
const OPERATION_BYTES: usize = 39;
/// Any rank as a source, or any tag.
const ANY: u32 = u32::MAX;
const SEND: u8 = 1;
const RECV: u8 = 2;
const CALC: u8 = 3;

/// Writes a schedule rank by rank. Reductions and copies take the times of `costs`.
///
/// # Errors
/// A calculation that is too long for GOAL, a tag that means any tag, or an error of `out`.
pub fn to_goal_binary(schedule: &Schedule, costs: Costs<'_>, mut out: impl Write) -> io::Result<()> {
    out.write_all(&MAGIC.to_le_bytes())?;
    out.write_all(&(schedule.ranks() as u32).to_le_bytes())?;
    out.write_all(&[0; 2])?;
    let mut draft = Draft::default();
    let mut start = HEADER_BYTES + ENTRY_BYTES * schedule.ranks() as u64;
    for rank in 0..schedule.ranks() {
        schedule.unpack(rank, &mut draft);
        let numbers = 2 + roots(&draft).count() + draft.waits.len();
        let end = start + (4 * numbers + OPERATION_BYTES * draft.actions.len()) as u64;
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        start = end;
    }
    let mut part = Vec::new();
    for rank in 0..schedule.ranks() {
        schedule.unpack(rank, &mut draft);
        part.clear();
        put_part(schedule, costs, rank, &draft, &mut part).map_err(io::Error::other)?;
        out.write_all(&part)?;
    }
    Ok(())
}

/// The tasks that wait for nothing.
fn roots(draft: &Draft) -> impl Iterator<Item = u32> {
    draft.tasks().zip(0..).filter(|((_, waits), _)| waits.is_empty()).map(|(_, number)| number)
}

/// Writes the part of a rank.
fn put_part(schedule: &Schedule, costs: Costs<'_>, rank: usize, draft: &Draft, part: &mut Vec<u8>) -> Result<()> {
    let mut put = |numbers: &[u32]| numbers.iter().for_each(|number| part.extend(number.to_le_bytes()));
    put(&[draft.actions.len() as u32, roots(draft).count() as u32]);
    roots(draft).for_each(|root| put(&[root]));
    let mut followers: Vec<_> = draft.waits.iter().map(|w| (w.other, w.is_for_start, w.task)).collect();
    followers.sort_unstable();
    let mut first = 0;
    for (number, (action, waits)) in draft.tasks().enumerate() {
        let (kind, peer, size, tag) = match costs.operation(action, schedule) {
            Ok(Operation::Send { tag: ANY, .. } | Operation::Recv { tag: ANY, .. }) => {
                Err(Error::new(format!("tag: got {ANY}, which means any tag, expected a lower tag")))
            }
            Ok(Operation::Send { bytes, to, tag }) => Ok((SEND, to, bytes, tag)),
            Ok(Operation::Recv { bytes, from: Source::Rank(from), tag }) => Ok((RECV, from, bytes, tag)),
            Ok(Operation::Recv { bytes, from: Source::Any, tag }) => Ok((RECV, ANY, bytes, tag)),
            Ok(Operation::Calc { nanoseconds }) => Ok((CALC, 0, nanoseconds, 0)),
            Err(error) => Err(error),
        }
        .map_err(|e| e.at(format!("rank {rank}, task {number}")))?;
        part.extend((waits.len() as u32).to_le_bytes());
        part.push(kind);
        part.extend(peer.to_le_bytes());
        part.extend(size.to_le_bytes());
        part.extend(tag.to_le_bytes());
        part.extend([0; 2]);
        for is_for_start in [false, true] {
            let count = followers[first..].iter().take_while(|f| (f.0 as usize, f.1) == (number, is_for_start)).count();
            part.extend((count as u32).to_le_bytes());
            part.extend((first as u32).to_le_bytes());
            first += count;
        }
    }
    followers.iter().for_each(|(.., task)| part.extend(task.to_le_bytes()));
    Ok(())
}

/// Reads the content after the magic number; `file` is the file's name in messages.
///
/// # Errors
/// An invalid file; the message has file, rank, operation and the expected value.
pub fn from_goal_binary(stream: impl Read, file: &str) -> Result<Schedule> {
    read(stream).map_err(|e| e.at(file))
}

fn read(mut stream: impl Read) -> Result<Schedule> {
    let mut next = |length: u64| {
        let mut bytes = Vec::new();
        budget::check("the section of a rank", length as f64)?;
        stream.by_ref().take(length).read_to_end(&mut bytes).map_err(unreadable)?;
        ensure((bytes.len() as u64) >= length, || "the file ends too early")?;
        Ok(bytes)
    };
    let header = next(HEADER_BYTES)?;
    let ranks = Bytes(&header).number() as usize;
    if ranks == 0 || ranks > MOST_RANKS || header[4..] != [0; 2] {
        let text = format!("got {ranks} ranks, cpus up to {}, nics up to {}", header[4], header[5]);
        return Err(Error::new(format!("{text}, expected 1 to 2^26 ranks with one cpu and one nic each")));
    }
    let table = next(ENTRY_BYTES * ranks as u64)?;
    let mut table = Bytes(&table);
    let (mut builder, mut scratch) = (Builder::default(), Vec::new());
    let mut place = HEADER_BYTES + ENTRY_BYTES * ranks as u64;
    for rank in 0..ranks {
        let (start, end) = (table.long(), table.long());
        if start != place || end < start {
            let text = format!(
                "section: got bytes {start} to {end}, expected it to start at {place}, after the previous rank's"
            );
            return Err(Error::new(text).at(format!("rank {rank}")));
        }
        let part = next(end - start)?;
        let draft = draft(&part, rank, ranks)?;
        builder.set(rank, &draft)?;
        scratch.push(draft.scratch());
        place = end;
    }
    Ok(builder.schedule(scratch, 1))
}

/// The tasks of one rank.
fn draft(part: &[u8], rank: usize, ranks: usize) -> Result<Draft> {
    let short = |text: String| Error::new(text).at(format!("rank {rank}"));
    let head = part.first_chunk::<8>().ok_or_else(|| {
        short("section: got less than 8 bytes, expected the numbers of tasks and of roots".to_owned())
    })?;
    let mut bytes = Bytes(head);
    let (tasks, roots) = (bytes.number() as usize, bytes.number() as usize);
    let first = head.len() + 4 * roots;
    let appendix = first + OPERATION_BYTES * tasks;
    if part.len() < appendix || !(part.len() - appendix).is_multiple_of(4) {
        let text = format!("section: got {} bytes, expected at least {appendix} for {tasks} operations", part.len());
        return Err(short(text));
    }
    let place = |task| format!("rank {rank}, task {task}");
    let (operations, followers) = part[first..].split_at(OPERATION_BYTES * tasks);
    let mut draft = Draft::default();
    let mut expected_waits = Vec::new();
    for operation in operations.chunks_exact(OPERATION_BYTES) {
        let number = draft.actions.len() as u32;
        let mut bytes = Bytes(operation);
        expected_waits.push(bytes.number());
        let outcome = action(&mut bytes, ranks).and_then(|action| {
            draft.push(action);
            for is_for_start in [false, true] {
                let (count, start) = (bytes.number() as usize, bytes.number() as usize);
                let total = followers.len() / 4;
                let list = followers.get(4 * start..4 * (start + count)).filter(|_| count > 0).unwrap_or_default();
                ensure(list.len() >= 4 * count, || {
                    format!("followers: got {start} to {}, expected some of {total}", start + count)
                })?;
                let mut list = Bytes(list);
                for _ in 0..count {
                    let task = list.number();
                    ensure((task as usize) < tasks, || {
                        format!("follower: got {task}, expected an operation below {tasks}")
                    })?;
                    draft.waits.push(Wait { task, is_for_start, other: number });
                }
            }
            Ok(())
        });
        outcome.map_err(|e| e.at(place(number as usize)))?;
    }
    let mut waits = vec![0; tasks];
    draft.waits.iter().for_each(|wait| waits[wait.task as usize] += 1);
    if let Some(task) = (0..tasks).find(|task| waits[*task] != expected_waits[*task]) {
        let text = format!(
            "waits for {} operations, but {} operations list it as a follower",
            expected_waits[task], waits[task]
        );
        return Err(Error::new(text).at(place(task)));
    }
    draft.sort().map_err(|e| e.at(format!("rank {rank}")))?;
    Ok(draft)
}

/// Reads an action, up to its followers.
fn action(bytes: &mut Bytes<'_>, ranks: usize) -> Result<Action> {
    let ([kind], peer, size, tag) = (bytes.take(), bytes.number(), bytes.long(), bytes.number());
    let [cpu, nic] = bytes.take();
    let most = if kind == CALC { MOST_NANOSECONDS } else { MOST_BYTES };
    let has_peer = (peer as usize) < ranks || kind == CALC || (kind, peer) == (RECV, ANY);
    ensure((SEND..=CALC).contains(&kind), || format!("kind: got {kind}, expected 1 (send), 2 (recv) or 3 (calc)"))?;
    ensure(has_peer, || format!("peer: got {peer}, expected a rank below {ranks}"))?;
    ensure(size <= most, || format!("size: got {size}, expected at most 2^53"))?;
    ensure(tag != ANY || kind == CALC, || "tag: got any tag, expected a single tag")?;
    ensure([cpu, nic] == [0; 2], || {
        format!("got cpu {cpu} and nic {nic}, expected 0 for both, as each rank has one cpu and one nic")
    })?;
    let operation = match kind {
        SEND => Operation::Send { bytes: size, to: peer, tag },
        RECV if peer == ANY => Operation::Recv { bytes: size, from: Source::Any, tag },
        RECV => Operation::Recv { bytes: size, from: Source::Rank(peer), tag },
        _ => Operation::Calc { nanoseconds: size },
    };
    Ok(operation.action())
}

/// Bytes from which numbers are read; there must be enough.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_at(N);
        self.0 = rest;
        std::array::from_fn(|at| head[at])
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
