//! Identifiers of a program's branches, for worlds that know which branches can go on: only these are polled.

/// A branch of a program, identified by the `join`s that lead to it. From the highest bit: the index of the branch at
/// each `join`, a 1 that ends the indices, then zeros. The lowest bit is set where further branches have no identifiers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(u64);

impl Path {
    /// The whole program.
    pub const ROOT: Self = Self(1 << 63);
    /// The whole program, whose branches have no identifiers of their own.
    pub const WHOLE: Self = Self(Self::ROOT.0 | 1);

    /// Of a step for which no branch waits yet.
    pub const NONE: Self = Self(u64::MAX);

    /// The same branch, whose further branches have no identifiers of their own.
    #[inline]
    pub fn as_a_whole(self) -> Self {
        Self(self.0 | 1)
    }

    /// This path; the whole program, where it is not known which branch waits.
    #[inline]
    pub fn or_whole(self) -> Self {
        if self == Self::NONE { Self::WHOLE } else { self }
    }

    /// Whether the branches of a `join` here have identifiers of their own.
    #[inline]
    pub fn has_branches(self) -> bool {
        self.0 & 1 == 0
    }

    /// Branch `index` of `count` that a `join` begins here.
    #[inline]
    pub fn branch(self, index: usize, count: usize) -> Self {
        let (width, end) = (width(count), self.end());
        if !self.has_branches() || width >= end {
            return self.as_a_whole();
        }
        Self(self.0 ^ 1 << end | (index as u64) << 1 << (end - width) | 1 << (end - width))
    }

    /// Of `count` branches of a `join` parent, the first index from `from` on that meets `other`, if any.
    #[inline]
    fn next_branch(self, from: usize, count: usize, other: Self) -> Option<usize> {
        let (width, end) = (width(count), self.end());
        if !self.meets(other) {
            return None;
        }
        if other.end() >= end || width >= end {
            return Some(from);
        }
        let lowest = end - width + 1;
        // A single branch at the root of all has no bits of its own.
        let index = |path: u64| path.checked_shr(lowest).unwrap_or(0) as usize & ((1 << width) - 1);
        // The path of several branches may end within their indices: then it has their common bits.
        let others = if other.end() < lowest { 0 } else { (2 << other.end()) - 1 };
        let (next, last) = (index(other.0 & !others).max(from), index(other.0 | others).min(count - 1));
        (next <= last).then_some(next)
    }

    /// Whether one of the paths leads to the other.
    #[inline]
    pub fn meets(self, other: Self) -> bool {
        (self.0 ^ other.0) >> self.end().max(other.end()) <= 1
    }

    /// Whether a `join` polls this branch after the other one. Operations of [`Operations`](crate::Operations), which are polled in
    /// another order, do not wake each other.
    #[inline]
    pub fn comes_after(self, other: Self) -> bool {
        self.0 > other.0 && !self.meets(other)
    }

    /// The longest path that leads to both.
    #[inline]
    pub fn common(self, other: Self) -> Self {
        let different = (self.0 ^ other.0) & !1;
        let end = match different.checked_ilog2() {
            Some(bit) => bit.max(self.end()).max(other.end()),
            None => self.end(),
        };
        let path = Self(self.0 >> end << end | 1 << end);
        if self.has_branches() && other.has_branches() { path } else { path.as_a_whole() }
    }

    /// The position of the bit that ends the path.
    fn end(self) -> u32 {
        (self.0 & !1).trailing_zeros()
    }
}

/// Number of bits of the index of one of `count` branches.
#[inline]
fn width(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

/// Branches of one program that can go on: up to three of them, or else all.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    paths: [Path; 3],
    count: u8,
}

impl Woken {
    /// None.
    pub const NONE: Self = Self { paths: [Path::WHOLE; 3], count: 0 };

    /// Adds a branch that can go on.
    #[inline]
    pub fn add(&mut self, path: Path) {
        match self.paths.get_mut(self.count as usize) {
            Some(place) => {
                *place = path;
                self.count += 1;
            }
            None => self.paths[0] = Path::WHOLE,
        }
    }

    /// Of `count` branches of a `join` at `parent`, the first from `from` on that can go on; else `count`.
    #[inline]
    pub fn next_branch(&self, parent: Path, from: usize, count: usize) -> usize {
        let (end, width) = (parent.end(), width(count));
        // The bits behind the index of a branch. A path that has some of them leads to or through one branch.
        let behind = if width > 0 && width <= end { (1 << (end - width + 1)) - 2 } else { 0 };
        let mut next = count;
        for woken in &self.paths[..self.count as usize] {
            let index = match woken.0 & behind {
                0 => parent.next_branch(from, count, *woken).unwrap_or(count),
                _ if (woken.0 ^ parent.0) >> end > 1 => count,
                _ => (woken.0 >> (end - width + 1)) as usize & ((1 << width) - 1),
            };
            if from <= index && index < next {
                next = index;
            }
        }
        next
    }

    /// Whether this branch, or one further on, can go on.
    #[inline]
    pub fn includes(&self, path: Path) -> bool {
        self.paths[..self.count as usize].iter().any(|woken| woken.meets(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_meets_those_that_it_leads_on_to_and_no_others() {
        let paths = |from: Path, count: usize| (0..count).map(move |index| from.branch(index, count));
        for first in paths(Path::ROOT, 5) {
            assert!(first.has_branches() && first.meets(Path::ROOT) && Path::WHOLE.meets(first));
            for second in paths(first, 3) {
                for other in paths(Path::ROOT, 5).flat_map(|other| paths(other, 3).chain([other])) {
                    let is_on_the_way = other == first || other == second;
                    assert_eq!(second.meets(other), is_on_the_way, "{second:?} {other:?}");
                    assert_eq!(other.meets(second.as_a_whole()), is_on_the_way, "{second:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn what_two_paths_have_in_common_leads_on_to_both() {
        let first = Path::ROOT.branch(1, 3);
        let [a, b] = [0, 1].map(|index| first.branch(index, 2).branch(1, 4));
        for (one, other) in [(a, b), (first, a), (a, a), (Path::ROOT.branch(2, 3), a)] {
            let common = one.common(other);
            assert_eq!(common, other.common(one));
            assert!(common.meets(one) && common.meets(other), "{one:?} {other:?}");
        }
        assert!(!a.common(b).meets(Path::ROOT.branch(2, 3)));
        assert_eq!((a.common(a), a.as_a_whole().common(a)), (a, a.as_a_whole()));
    }

    #[test]
    fn branches_are_not_told_apart_where_there_is_no_room() {
        let deep = (0..30).fold(Path::ROOT, |path, _| path.branch(3, 4));
        assert!(deep.has_branches() && deep.branch(1, 2).has_branches());
        assert_eq!(deep.branch(5, 8), deep.as_a_whole());
        assert_eq!(deep.branch(5, 8).branch(0, 2), deep.as_a_whole());
        assert_eq!(Path::ROOT.branch(0, 1), Path::ROOT);
    }

    #[test]
    fn a_branch_comes_after_those_with_lower_indices_at_the_first_join_that_parts_them() {
        let first = Path::ROOT.branch(1, 4);
        let later =
            [Path::ROOT.branch(2, 4), Path::ROOT.branch(3, 4).branch(0, 2), Path::ROOT.branch(2, 4).as_a_whole()];
        for later in later.into_iter().chain([Path::ROOT.branch(2, 4).common(Path::ROOT.branch(3, 4))]) {
            for here in [first, first.branch(1, 2), first.as_a_whole(), first.common(Path::ROOT.branch(0, 4))] {
                assert!(later.comes_after(here) && !here.comes_after(later), "{later:?} {here:?}");
            }
        }
        for other in [first, first.branch(1, 2), Path::ROOT, Path::WHOLE, first.common(later[0])] {
            assert!(!other.comes_after(first) && !first.comes_after(other), "{other:?}");
        }
    }

    #[test]
    fn branches_of_none_are_none_until_somebody_waits() {
        assert_eq!((Path::NONE.branch(1, 3), Path::NONE.as_a_whole()), (Path::NONE, Path::NONE));
        assert_eq!((Path::NONE.or_whole(), Path::ROOT.branch(1, 3).or_whole()), (Path::WHOLE, Path::ROOT.branch(1, 3)));
    }

    #[test]
    fn the_next_branch_is_the_first_that_is_included() {
        let paths = |from: Path, count: usize| (0..count).map(move |index| from.branch(index, count));
        let deep = (0..19).fold(Path::ROOT, |path, _| path.branch(3, 8));
        for here in [Path::ROOT, Path::ROOT.branch(1, 3), Path::WHOLE, deep] {
            let further = paths(here, 5).flat_map(|path| paths(path, 3).chain([path, path.as_a_whole()]));
            let common = paths(here, 5).flat_map(|one| paths(here, 5).map(move |other| one.common(other)));
            for path in further.chain(common).chain([here, Path::ROOT, Path::WHOLE]) {
                let mut woken = Woken::NONE;
                woken.add(path);
                woken.add(here.branch(3, 5));
                for from in 0..=5 {
                    let first = (from..5).find(|index| woken.includes(here.branch(*index, 5)));
                    assert_eq!(woken.next_branch(here, from, 5), first.unwrap_or(5), "{here:?} {path:?} {from}");
                }
            }
        }
    }

    #[test]
    fn many_are_all() {
        let mut woken = Woken::NONE;
        assert!(!woken.includes(Path::ROOT));
        (0..3).for_each(|index| woken.add(Path::ROOT.branch(index, 8)));
        assert!(woken.includes(Path::ROOT.branch(2, 8)) && !woken.includes(Path::ROOT.branch(7, 8)));
        woken.add(Path::ROOT.branch(3, 8));
        assert!(woken.includes(Path::ROOT.branch(7, 8)));
    }
}
