//! Sets of numbers that fill up from below, cheap to copy.

use std::rc::Rc;

/// A set of numbers, kept as bits in words of 64. Full words before the first missing number are only counted, so that
/// one word, which takes no memory of its own, is mostly enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Set {
    /// Number of full words before `first`.
    full: usize,
    /// The word with the first missing number.
    first: u64,
    /// The words behind it; the last one is not empty.
    rest: Option<Rc<[u64]>>,
}

impl Set {
    /// The numbers below `end` that are not in the set, in ascending order.
    pub fn missing(&self, end: usize) -> impl Iterator<Item = usize> {
        (64 * self.full..end).filter(|number| !self.contains(*number))
    }

    /// Whether a number is in the set.
    pub fn contains(&self, number: usize) -> bool {
        self.word(number / 64) >> (number % 64) & 1 == 1
    }

    /// This set with an additional number.
    pub fn insert(&self, number: usize) -> Self {
        let (at, bit) = (number / 64, 1 << (number % 64));
        if at == self.full && self.first | bit != u64::MAX {
            return Self { first: self.first | bit, ..self.clone() };
        }
        let word = |i: usize| self.word(i) | if i == at { bit } else { 0 };
        Self::of_words(self.full, self.end().max(at + 1), word)
    }

    /// The union of both sets.
    pub fn union(&self, other: &Self) -> Self {
        if other.is_within(self) {
            return self.clone();
        }
        if self.is_within(other) {
            return other.clone();
        }
        let word = |i: usize| self.word(i) | other.word(i);
        Self::of_words(self.full.max(other.full), self.end().max(other.end()), word)
    }

    fn is_within(&self, other: &Self) -> bool {
        (other.full.min(self.end())..self.end()).all(|i| self.word(i) & !other.word(i) == 0)
    }

    /// The set of the words below `end`; words below `full` are known to be full.
    fn of_words(full: usize, end: usize, word: impl Fn(usize) -> u64) -> Self {
        let full = (full..end).find(|i| word(*i) != u64::MAX).unwrap_or(end);
        let first = if full < end { word(full) } else { 0 };
        Self { full, first, rest: (full + 1 < end).then(|| (full + 1..end).map(word).collect()) }
    }

    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(self.full) {
            None => u64::MAX,
            Some(0) => self.first,
            Some(behind) => self.rest().get(behind - 1).copied().unwrap_or(0),
        }
    }

    fn end(&self) -> usize {
        let rest = self.rest();
        self.full + rest.len() + usize::from(self.first != 0 || !rest.is_empty())
    }

    fn rest(&self) -> &[u64] {
        self.rest.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_what_was_put_into_it_in_whatever_order() {
        let numbers = [0, 1, 63, 64, 65, 127, 128, 200];
        let all = (0..192).filter(|number| *number != 70).chain([300]);
        let (up, down) = (all.clone().collect::<Vec<_>>(), all.collect::<Vec<_>>().into_iter().rev());
        let up = up.into_iter().fold(Set::default(), |set, number| set.insert(number));
        let down = down.fold(Set::default(), |set, number| set.insert(number));
        assert_eq!(up, down);
        assert_eq!(up.missing(194).collect::<Vec<_>>(), [70, 192, 193]);
        for number in numbers {
            let is_missing = up.missing(number + 1).any(|missing| missing == number);
            assert_eq!(is_missing, number == 200, "{number}");
        }
    }

    #[test]
    fn a_union_has_the_numbers_of_both() {
        let low = (0..64).fold(Set::default().insert(130), |set, number| set.insert(number));
        let high = (64..128).fold(Set::default(), |set, number| set.insert(number));
        assert_eq!(low.union(&high), high.union(&low));
        assert_eq!(low.union(&high).missing(133).collect::<Vec<_>>(), [128, 129, 131, 132]);
        assert_eq!(low.union(&Set::default()), low);
    }
}
