//! The choice of the rank that continues next, and the polling of its program.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

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

/// The pinned element `index` of a pinned slice.
#[allow(unsafe_code)]
pub(crate) fn nth<T>(slice: Pin<&mut [T]>, index: usize) -> Pin<&mut T> {
    // SAFETY: an element of a pinned slice is pinned with it: it cannot be moved out through the pinned slice.
    unsafe { slice.map_unchecked_mut(|slice| &mut slice[index]) }
}

/// The ranks that can go on, taken in nested sweeps of ascending rank: 64 neighbours as long as one of them can go on,
/// then the next 64; likewise with blocks of 64^2 ranks, and so on. A sweep uses memory that is close together.
pub struct ReadyRanks {
    /// Bit i says that rank i is ready.
    words: Box<[u64]>,
    /// Bit i of level 0 says that word i is not zero; bit i of level k + 1, that word i of level k is not.
    levels: Vec<Box<[u64]>>,
    /// The rank after which a sweep goes on.
    cursor: usize,
}

/// The bits above bit `at`.
fn above(at: usize) -> u64 {
    u64::MAX << (at % 64) << 1
}

impl ReadyRanks {
    /// None of `ranks` ranks.
    pub fn none(ranks: usize) -> Self {
        let words = |bits: usize| vec![0; bits.div_ceil(64)].into_boxed_slice();
        let (first, mut levels) = (words(ranks), Vec::new());
        let mut bits = first.len();
        while bits > 1 {
            levels.push(words(bits));
            bits = bits.div_ceil(64);
        }
        Self { words: first, levels, cursor: 0 }
    }

    /// All of `ranks` ranks.
    pub fn all(ranks: usize) -> Self {
        let mut ready = Self::none(ranks);
        (0..ranks).for_each(|rank| ready.push(rank));
        ready
    }

    /// `rank` can go on.
    #[inline]
    pub fn push(&mut self, rank: usize) {
        let word = &mut self.words[rank / 64];
        if std::mem::replace(word, *word | 1 << (rank % 64)) == 0 {
            self.note(rank / 64);
        }
    }

    /// Word `at` is no longer zero.
    fn note(&mut self, mut at: usize) {
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            if std::mem::replace(word, *word | 1 << (at % 64)) != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The next rank to resume.
    #[inline]
    pub fn pop(&mut self) -> Option<usize> {
        let mut at = self.cursor / 64;
        if *self.words.get(at)? == 0 {
            at = self.next_word(at)?;
        }
        let word = &mut self.words[at];
        let ahead = if at == self.cursor / 64 { *word & above(self.cursor) } else { 0 };
        let bit = if ahead != 0 { ahead } else { *word }.trailing_zeros();
        *word &= !(1 << bit);
        self.cursor = at * 64 + bit as usize;
        if *word == 0 {
            self.forget(at);
        }
        Some(self.cursor)
    }

    /// Word `at` has become zero.
    fn forget(&mut self, mut at: usize) {
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The word that a sweep goes on with after word `at`, which is zero.
    fn next_word(&self, mut at: usize) -> Option<usize> {
        for (height, level) in self.levels.iter().enumerate() {
            let word = level[at / 64];
            if word != 0 {
                let ahead = word & above(at);
                let bit = if ahead != 0 { ahead } else { word }.trailing_zeros();
                return Some(self.lowest_below(height, at / 64 * 64 + bit as usize));
            }
            at /= 64;
        }
        None
    }

    /// The lowest word that is not zero below bit `at` of the level of this height.
    fn lowest_below(&self, height: usize, at: usize) -> usize {
        self.levels[..height].iter().rev().fold(at, |at, level| at * 64 + level[at].trailing_zeros() as usize)
    }
}
