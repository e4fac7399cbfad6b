//! Static schedules: tasks and their dependencies.

use std::ops::Range;

use hocket_core::{Call, Error, Program, Rank, Result, Source, budget};
use rustc_hash::FxHashMap;

use crate::draft::{Action, Draft};
use crate::packed::{Packed, Packer};

/// The tasks of every rank. As a program it runs in any world, see [`hocket_core::Program`].
#[derive(Clone, Debug)]
pub struct Schedule {
    element_bytes: usize,
    /// Number of elements of working memory of each rank.
    scratch: Vec<usize>,
    /// The range of each rank's tasks in `bytes`.
    ranks: Vec<Range<usize>>,
    bytes: Vec<u8>,
    tasks: u64,
    /// A sum of hashes, added for sends and subtracted for receives: 0 if each send meets a receive of its length.
    balance: u64,
}

/// Number of bytes of tasks between two checks of memory.
const BYTES_PER_LOOK: usize = 1 << 20;

/// Builds a schedule, rank by rank.
#[derive(Default)]
pub struct Builder {
    packer: Packer,
    ranks: Vec<Range<usize>>,
    bytes: Vec<u8>,
    tasks: u64,
    balance: u64,
    /// The length of `bytes` at the latest check of memory.
    seen_bytes: usize,
}

impl Builder {
    /// Sets the tasks of a rank that has none yet. They must be sorted.
    ///
    /// # Errors
    /// Tasks of one rank that take more than 2 GiB, or of all ranks that take more memory than there is.
    pub fn set(&mut self, rank: usize, tasks: &Draft) -> Result<()> {
        let start = self.bytes.len();
        self.packer.pack(tasks, &mut self.bytes).map_err(|e| e.at(format!("rank {rank}")))?;
        if self.ranks.len() <= rank {
            self.ranks.resize(rank + 1, 0..0);
        }
        self.ranks[rank] = start..self.bytes.len();
        self.tasks += tasks.actions.len() as u64;
        self.balance = tasks.actions.iter().map(|action| action.balance(rank)).fold(self.balance, u64::wrapping_add);
        if self.bytes.len() - self.seen_bytes >= BYTES_PER_LOOK {
            self.seen_bytes = self.bytes.len();
            budget::look()?;
        }
        Ok(())
    }

    /// The schedule, with the working memory of each rank and the size of elements.
    pub fn schedule(self, scratch: Vec<usize>, element_bytes: usize) -> Schedule {
        let Self { mut ranks, mut bytes, tasks, balance, .. } = self;
        ranks.resize(scratch.len(), 0..0);
        bytes.shrink_to_fit();
        Schedule { element_bytes, scratch, ranks, bytes, tasks, balance }
    }
}

impl Action {
    /// The term of an action in [`Schedule::balance`].
    fn balance(&self, rank: usize) -> u64 {
        let mixed = |from: u32, to: u32, tag: u32, len: usize| {
            let pair = (u64::from(from) << 32 | u64::from(to)) ^ u64::from(tag).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let message = mix(pair).wrapping_add(len as u64);
            mix(message)
        };
        match *self {
            Self::Send { to, tag, data } => mixed(rank as u32, to, tag, data.len),
            Self::Recv { from: Source::Rank(from), tag, into } => {
                mixed(from, rank as u32, tag, into.len).wrapping_neg()
            }
            Self::Recv { from: Source::Any, .. } => 1,
            Self::Combine { .. } | Self::Copy { .. } | Self::Compute { .. } => 0,
        }
    }
}

/// The finisher of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.sizes().eq(other.sizes()) && self.contents().eq(other.contents())
    }
}

impl Schedule {
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Size of an element, in bytes.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Number of elements of working memory of a rank.
    pub fn scratch(&self, rank: usize) -> usize {
        self.scratch[rank]
    }

    /// Number of tasks of all ranks together.
    pub fn task_count(&self) -> u64 {
        self.tasks
    }

    /// The tasks of a rank; none waits for a later one.
    pub fn tasks(&self, rank: usize) -> Draft {
        let mut draft = Draft::default();
        self.unpack(rank, &mut draft);
        draft
    }

    /// Replaces the content of `draft` by the tasks of a rank.
    pub fn unpack(&self, rank: usize, draft: &mut Draft) {
        self.packed(rank).unpack(draft);
    }

    /// Bytes that are equal if and only if the schedules are.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.sizes().flat_map(usize::to_le_bytes).collect();
        self.contents().for_each(|content| bytes.extend(content));
        bytes
    }

    /// The sizes of an element, of the ranks' working memories, and of their packed tasks.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let numbers = [self.element_bytes, self.ranks.len()].into_iter().chain(self.scratch.iter().copied());
        numbers.chain(self.ranks.iter().map(Range::len))
    }

    /// The packed tasks of each rank.
    fn contents(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ranks()).map(|rank| self.packed(rank).0)
    }

    fn packed(&self, rank: usize) -> Packed<'_> {
        Packed(&self.bytes[self.ranks[rank].clone()])
    }

    /// Whether each message meets a receive of its length.
    pub(crate) fn is_balanced(&self) -> bool {
        self.balance == 0
    }

    /// Calls `each` with the rank, the number and the action of every task.
    pub(crate) fn each_action(&self, mut each: impl FnMut(usize, usize, &Action)) {
        let mut draft = Draft::default();
        for rank in 0..self.ranks() {
            self.unpack(rank, &mut draft);
            draft.actions.iter().enumerate().for_each(|(number, action)| each(rank, number, action));
        }
    }

    /// Checks that the longest message of each pair and tag fits the longest receive, as it is truncated otherwise. The
    /// run finds messages without receive.
    ///
    /// # Errors
    /// The first message that does not fit.
    pub fn check_messages(&self) -> Result<()> {
        if self.is_balanced() {
            return Ok(());
        }
        budget::check(
            "the messages of this schedule",
            self.tasks as f64 * size_of::<((Source, usize, u32), usize)>() as f64,
        )?;
        let mut room = FxHashMap::default();
        self.each_action(|rank, _, action| {
            if let Action::Recv { from, tag, into } = action {
                let most = room.entry((*from, rank, *tag)).or_insert(0);
                *most = into.len.max(*most);
            }
        });
        let mut outcome = Ok(());
        self.each_action(|rank, _, action| {
            let Action::Send { to, tag, data } = action else { return };
            let room_from = |from| room.get(&(from, *to as usize, *tag)).copied();
            let Some(most) = room_from(Source::Rank(rank as u32)).max(room_from(Source::Any)) else { return };
            if data.len > most && outcome.is_ok() {
                let (sent, most) = (data.len * self.element_bytes, most * self.element_bytes);
                outcome = Err(Error::new(format!(
                    "rank {rank} sends {sent} B to rank {to} (tag {tag}), which receives at most {most} B: truncated"
                )));
            }
        });
        outcome
    }
}

impl Program for Schedule {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        r.scratch(self.scratch[r.rank()]);
        r.graph(self.packed(r.rank())).await;
    }
}
