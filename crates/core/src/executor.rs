//! Holding and resuming the programs of all ranks.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::{Result, budget};

/// The programs of ranks `0..len`, each resumed by its number. Worlds keep their own queues; a waker is used by branches of
/// one rank that wait for each other, and has the program polled once more.
pub struct Ranks<F> {
    programs: Pin<Box<[Option<F>]>>,
    running: usize,
    again: Again,
}

/// Polls a program, and once more when one of its branches has woken another.
pub struct Again {
    flag: Arc<Flag>,
    waker: Waker,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Default for Again {
    fn default() -> Self {
        let flag = Arc::<Flag>::default();
        Self { waker: flag.clone().into(), flag }
    }
}

impl Again {
    /// Resumes the program until it waits for something outside or ends.
    pub fn poll(&self, mut program: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
        loop {
            let polled = program.as_mut().poll(&mut Context::from_waker(&self.waker));
            if polled.is_ready() || !self.flag.0.load(Ordering::Relaxed) {
                return polled;
            }
            self.flag.0.store(false, Ordering::Relaxed);
        }
    }
}

/// Refuses so many ranks where there is no memory for their programs and for what a world keeps of each.
///
/// # Errors
/// As [`budget::check`].
pub fn check_ranks<R, F>(ranks: usize, kept_bytes: usize, _program: impl FnOnce(R) -> F) -> Result<()> {
    let each_bytes = kept_bytes + size_of::<Option<F>>();
    budget::check(format_args!("{ranks} ranks"), ranks as f64 * each_bytes as f64)
}

impl<F: Future<Output = ()>> Ranks<F> {
    /// The programs in rank order, none of them started.
    pub fn new(programs: impl IntoIterator<Item = F>) -> Self {
        let programs: Box<[_]> = programs.into_iter().map(Some).collect();
        Self { running: programs.len(), programs: Box::into_pin(programs), again: Again::default() }
    }

    /// Resumes `rank` until it waits again or ends. Resuming an ended rank does nothing.
    pub fn resume(&mut self, rank: usize) {
        let mut slot = nth(self.programs.as_mut(), rank);
        let Some(program) = slot.as_mut().as_pin_mut() else { return };
        if self.again.poll(program).is_ready() {
            slot.set(None);
            self.running -= 1;
        }
    }

    /// Whether every program has ended.
    pub fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// Whether the program of `rank` has ended.
    pub fn has_ended(&self, rank: usize) -> bool {
        self.programs[rank].is_none()
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether there are no ranks.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}

/// The pinned element `index` of a pinned slice.
#[allow(unsafe_code)]
pub(crate) fn nth<T>(slice: Pin<&mut [T]>, index: usize) -> Pin<&mut T> {
    // SAFETY: an element of a pinned slice is pinned with it: nobody can move it out through the pinned slice.
    unsafe { slice.map_unchecked_mut(|slice| &mut slice[index]) }
}

/// Runs one program whose verbs never wait; `false` when it waits all the same.
pub fn run_to_completion(program: impl Future<Output = ()>) -> bool {
    Again::default().poll(std::pin::pin!(program)).is_ready()
}

/// The ranks that can go on, taken in nested sweeps of ascending rank: 64 neighbours as long as one of them can go on,
/// then the next 64; so likewise with blocks of 64^2 ranks, and so on. What a sweep needs of memory stays near.
pub struct ReadyRanks {
    /// Bit i of level 0 says that rank i is ready; bit i of level k + 1, that word i of level k is not zero.
    levels: Vec<Box<[Cell<u64>]>>,
    /// The rank after which a sweep goes on.
    cursor: Cell<usize>,
}

impl ReadyRanks {
    /// None of `ranks` ranks.
    pub fn none(ranks: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = ranks;
        loop {
            bits = bits.div_ceil(64);
            levels.push(vec![Cell::new(0); bits].into_boxed_slice());
            if bits <= 1 {
                return Self { levels, cursor: Cell::new(0) };
            }
        }
    }

    /// All of `ranks` ranks.
    pub fn all(ranks: usize) -> Self {
        let ready = Self::none(ranks);
        (0..ranks).for_each(|rank| ready.push(rank));
        ready
    }

    /// `rank` can go on.
    pub fn push(&self, rank: usize) {
        let mut at = rank;
        for level in &self.levels {
            let word = &level[at / 64];
            let old = word.replace(word.get() | 1 << (at % 64));
            if old != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The next rank to resume.
    pub fn pop(&self) -> Option<usize> {
        let rank = self.next()?;
        self.cursor.set(rank);
        let mut at = rank;
        for level in &self.levels {
            let word = &level[at / 64];
            word.set(word.get() & !(1 << (at % 64)));
            if word.get() != 0 {
                break;
            }
            at /= 64;
        }
        Some(rank)
    }

    fn next(&self) -> Option<usize> {
        let mut at = self.cursor.get();
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)?.get();
            if word != 0 {
                let ahead = word & (u64::MAX << (at % 64) << 1);
                let bit = if ahead != 0 { ahead } else { word }.trailing_zeros();
                return Some(self.lowest_below(height, at / 64 * 64 + bit as usize));
            }
            at /= 64;
        }
        None
    }

    /// The lowest ready rank below bit `at` of the level of this height.
    fn lowest_below(&self, height: usize, at: usize) -> usize {
        self.levels[..height].iter().rev().fold(at, |at, level| at * 64 + level[at].get().trailing_zeros() as usize)
    }
}
