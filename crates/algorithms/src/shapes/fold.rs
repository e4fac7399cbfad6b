//! Any number of ranks, folded onto a power of two.

use hocket_core::{Rank, Span};

/// P ranks folded onto Q virtual ranks, Q <= P <= 2 Q. Q is a power of two for algorithms that flip bits. Of the first
/// 2 (P - Q) ranks, each even rank sits out, and its odd neighbour acts for both. Drawn for 6 ranks and Q = 4.
///
/// ```text
/// ranks         0 ─▶ 1   2 ─▶ 3   4   5
/// virtual            0        1   2   3
/// ```
pub struct Fold {
    active: usize,
    pairs: usize,
}

impl Fold {
    /// The fold of `ranks` ranks onto the largest power of two.
    pub fn new(ranks: usize) -> Self {
        Self::to_active(1 << ranks.ilog2(), ranks)
    }

    /// The fold of `ranks` ranks to_active `active` virtual ranks.
    pub fn to_active(active: usize, ranks: usize) -> Self {
        Self { active, pairs: ranks - active }
    }

    /// Number of virtual ranks, Q.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Whether `rank` sits out: rank + 1 acts for it.
    pub fn sits_out(&self, rank: usize) -> bool {
        rank < 2 * self.pairs && rank.is_multiple_of(2)
    }

    /// Whether `rank` also acts for rank - 1.
    pub fn speaks_for_two(&self, rank: usize) -> bool {
        rank < 2 * self.pairs && !rank.is_multiple_of(2)
    }

    /// The virtual rank of `rank`. A rank that sits out shares the virtual rank of its neighbour.
    pub fn virtual_rank(&self, rank: usize) -> usize {
        if rank < 2 * self.pairs { rank / 2 } else { rank - self.pairs }
    }

    /// The rank that acts as `virtual_rank`.
    pub fn rank_of(&self, virtual_rank: usize) -> usize {
        if virtual_rank < self.pairs { 2 * virtual_rank + 1 } else { virtual_rank + self.pairs }
    }

    /// Combines the vectors of the ranks that sit out into the vectors of their neighbours. Returns the virtual rank of
    /// this rank, or none if it sits out; then `result` already holds the end result.
    pub async fn enter(&self, r: &Rank<'_>, result: Span, scratch: Span) -> Option<usize> {
        if r.rank() >= 2 * self.pairs {
            return Some(self.virtual_rank(r.rank()));
        }
        // A box, so that the program of an unpaired rank stays small; of 2^K ranks, all are unpaired.
        Box::pin(self.enter_in_pairs(r, result, scratch)).await
    }

    async fn enter_in_pairs(&self, r: &Rank<'_>, result: Span, scratch: Span) -> Option<usize> {
        let rank = r.rank();
        if self.sits_out(rank) {
            r.send(rank + 1, result).await;
            r.recv(rank + 1, result).await;
            return None;
        }
        r.recv(rank - 1, scratch).await;
        r.reduce(rank - 1, scratch, result).await;
        Some(self.virtual_rank(rank))
    }

    /// Sends the end result to the neighbour that sits out, if there is one.
    pub async fn leave(&self, r: &Rank<'_>, result: Span) {
        if self.speaks_for_two(r.rank()) {
            r.send(r.rank() - 1, result).await;
        }
    }

    /// The first rank that `virtual_rank` acts for. For virtual rank Q, this is P.
    pub fn first_rank(&self, virtual_rank: usize) -> usize {
        virtual_rank + virtual_rank.min(self.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_ranks_are_each_spoken_for_once() {
        for ranks in 1..70 {
            let fold = Fold::new(ranks);
            assert_eq!((fold.first_rank(0), fold.first_rank(fold.active())), (0, ranks));
            for virtual_rank in 0..fold.active() {
                let rank = fold.rank_of(virtual_rank);
                let group = fold.first_rank(virtual_rank)..fold.first_rank(virtual_rank + 1);
                assert_eq!(rank, group.end - 1);
                assert_eq!(fold.speaks_for_two(rank), group.len() == 2);
                for member in group {
                    assert_eq!(fold.virtual_rank(member), virtual_rank);
                    assert_eq!(fold.sits_out(member), member != rank);
                }
            }
        }
    }
}
