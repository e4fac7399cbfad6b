//! The choice of the rank that continues next, and the polling of its program.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a program, and polls it again when one of its branches has woken another.
pub struct Poller {
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

impl Default for Poller {
    fn default() -> Self {
        let flag = Arc::<Flag>::default();
        Self { waker: flag.clone().into(), flag }
    }
}

impl Poller {
    /// Resumes the program until it waits for something outside or ends. Calls `poll_again` before each further poll.
    pub fn poll(
        &self,
        mut program: Pin<&mut (dyn Future<Output = ()> + '_)>,
        mut poll_again: impl FnMut(),
    ) -> Poll<()> {
        loop {
            let state = program.as_mut().poll(&mut Context::from_waker(&self.waker));
            if state.is_ready() || !self.flag.0.load(Ordering::Relaxed) {
                return state;
            }
            self.flag.0.store(false, Ordering::Relaxed);
            poll_again();
        }
    }
}

/// The pinned element `index` of a pinned slice.
#[allow(unsafe_code)]
pub(crate) fn nth<T>(slice: Pin<&mut [T]>, index: usize) -> Pin<&mut T> {
    // SAFETY: an element of a pinned slice is pinned with it: it cannot be moved out through the pinned slice.
    unsafe { slice.map_unchecked_mut(|slice| &mut slice[index]) }
}

/// Up to this many, ranks are "few": all are ready from the start. Of more, "many", a rank begins only when it is called
/// or when no other can go on. Seats are made in blocks of this many.
pub(crate) const FEW: usize = 1 << 16;

/// The ranks that can go on, taken in nested sweeps of ascending rank: 64 neighbours as long as one of them can go on,
/// then the next 64; likewise blocks of 64^2 ranks, and so on. A sweep uses memory that is close together.
///
/// With many ranks ([`Self::lazy`]), the 64 neighbours of the rank that became ready last are next: they and the
/// ranks that they wake are in the cache, even if their numbers are far apart.
pub struct ReadyRanks {
    /// Bit i: rank i is ready.
    words: Box<[u64]>,
    /// Bit i of level 0: word i is not zero. Bit i of level k + 1: word i of level k is not zero.
    levels: Vec<Box<[u64]>>,
    /// The rank after which a sweep goes on.
    cursor: usize,
    lazy: Option<LazyRanks>,
}

/// The state of many ranks, instead of levels.
struct LazyRanks {
    /// The non-zero words, in the order in which they became so, and some that are zero again.
    woken: Vec<u32>,
    /// Bit i: rank i has begun or is about to.
    has_begun: Box<[u64]>,
    /// All ranks of the words before this one have begun.
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
        Self { words: first, levels, cursor: 0, lazy: None }
    }

    /// All of `ranks` ranks.
    pub fn all(ranks: usize) -> Self {
        let mut ready = Self::none(ranks);
        (0..ranks).for_each(|rank| ready.push(rank));
        ready
    }

    /// All of `ranks` ranks. Of many ranks, one begins only when it is called or when no other can go on, so that few
    /// run at the same time where that suffices.
    pub fn lazy(ranks: usize) -> Self {
        if ranks <= FEW {
            return Self::all(ranks);
        }
        let mut has_begun = vec![0; ranks.div_ceil(64)].into_boxed_slice();
        if let Some(last) = has_begun.last_mut() {
            *last = if ranks.is_multiple_of(64) { 0 } else { u64::MAX << (ranks % 64) };
        }
        let lazy = LazyRanks { woken: Vec::new(), has_begun, cursor: 0 };
        Self { words: vec![0; ranks.div_ceil(64)].into_boxed_slice(), levels: Vec::new(), cursor: 0, lazy: Some(lazy) }
    }

    /// `rank` has something to do, and begins if it has not begun.
    #[inline]
    pub fn call(&mut self, rank: usize) {
        if let Some(lazy) = &mut self.lazy {
            let (word, bit) = (&mut lazy.has_begun[rank / 64], 1 << (rank % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.push(rank);
            }
        }
    }

    /// `rank` can go on.
    #[inline]
    pub fn push(&mut self, rank: usize) {
        let word = &mut self.words[rank / 64];
        if std::mem::replace(word, *word | 1 << (rank % 64)) == 0 {
            self.note(rank / 64);
        }
    }

    /// Word `at` has become non-zero.
    fn note(&mut self, mut at: usize) {
        if let Some(lazy) = &mut self.lazy {
            lazy.woken.push(at as u32);
        }
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            if std::mem::replace(word, *word | 1 << (at % 64)) != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The lowest of the ranks that can go on; not for many ranks.
    #[inline]
    pub fn pop_lowest(&mut self) -> Option<usize> {
        let top = self.levels.last().unwrap_or(&self.words);
        if *top.first()? == 0 {
            return None;
        }
        let at = self.lowest_below(self.levels.len(), 0);
        let word = &mut self.words[at];
        let rank = at * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        if *word == 0 {
            self.forget(at);
        }
        Some(rank)
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

    /// The word with which a sweep continues after word `at`, which is zero.
    fn next_word(&mut self, mut at: usize) -> Option<usize> {
        if let Some(lazy) = &mut self.lazy {
            return lazy.next_word(&mut self.words);
        }
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

    /// The lowest non-zero word below bit `at` of the level of this height.
    fn lowest_below(&self, height: usize, at: usize) -> usize {
        self.levels[..height].iter().rev().fold(at, |at, level| at * 64 + level[at].trailing_zeros() as usize)
    }
}

impl LazyRanks {
    /// The word that became non-zero last; if none is left, the word of the first rank that has not begun, now ready.
    fn next_word(&mut self, words: &mut [u64]) -> Option<usize> {
        while let Some(at) = self.woken.pop() {
            if words[at as usize] != 0 {
                return Some(at as usize);
            }
        }
        while *self.has_begun.get(self.cursor)? == u64::MAX {
            self.cursor += 1;
        }
        let bit = 1 << self.has_begun[self.cursor].trailing_ones();
        self.has_begun[self.cursor] |= bit;
        words[self.cursor] = bit;
        Some(self.cursor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// More than few, and no multiple of 64.
    const MANY: usize = FEW + 100;

    #[test]
    fn each_of_many_ranks_begins_once_when_it_is_called_or_in_the_order_of_numbers() {
        let mut ready = ReadyRanks::lazy(MANY);
        assert_eq!(ready.pop(), Some(0));
        ready.call(MANY - 1);
        ready.call(0);
        ready.call(2);
        assert_eq!([ready.pop(), ready.pop(), ready.pop()], [Some(2), Some(MANY - 1), Some(1)]);
        ready.call(2);
        ready.push(2);
        ready.push(2);
        assert_eq!([ready.pop(), ready.pop()], [Some(2), Some(3)]);
        assert!((4..MANY - 1).eq(std::iter::from_fn(|| ready.pop())));
    }

    #[test]
    fn of_many_ranks_the_64_neighbours_go_on_of_which_one_became_ready_last() {
        let mut ready = ReadyRanks::lazy(MANY);
        while ready.pop().is_some() {}
        [70, 5, 1000, 64, 6].into_iter().for_each(|rank| ready.push(rank));
        let next = std::array::from_fn(|_| ready.pop());
        assert_eq!(next, [Some(1000), Some(5), Some(6), Some(64), Some(70), None]);
    }

    #[test]
    fn the_lowest_rank_is_found_in_words_of_all_levels() {
        for ranks in [1, 64, 65, 64 * 64 + 1, 64 * 64 * 64 + 1] {
            let mut ready = ReadyRanks::none(ranks);
            let some = [ranks - 1, 0, ranks / 2, ranks / 65];
            some.into_iter().for_each(|rank| ready.push(rank));
            let expected: BTreeSet<_> = some.into_iter().collect();
            assert!(std::iter::from_fn(|| ready.pop_lowest()).eq(expected), "{ranks} ranks");
            ready.push(ranks - 1);
            assert_eq!([ready.pop_lowest(), ready.pop_lowest()], [Some(ranks - 1), None]);
        }
    }

    #[test]
    fn few_ranks_are_ready_from_the_start() {
        let mut ready = ReadyRanks::lazy(FEW);
        ready.call(7);
        let mut ranks: Vec<_> = std::iter::from_fn(|| ready.pop()).collect();
        ranks.sort_unstable();
        assert!((0..FEW).eq(ranks));
    }
}
