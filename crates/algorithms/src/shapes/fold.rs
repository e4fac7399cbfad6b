//! Any number of ranks, folded onto a power of two.

use hocket_core::{Rank, Span};

/// P ranks folded onto Q virtual ranks, in groups of up to k ranks, Q <= P <= k Q. Of each group but those of a lone rank,
/// the last rank acts for all, and the others sit out. Groups are pairs unless said otherwise, and Q is a power of two
/// for algorithms that flip bits. Drawn for 6 ranks and Q = 4.
///
/// ```text
/// ranks         0 ─▶ 1   2 ─▶ 3   4   5
/// virtual            0        1   2   3
/// ```
pub struct Fold {
    active: usize,
    sitting_out: usize,
    group: usize,
}

impl Fold {
    /// The fold of `ranks` ranks, in pairs, onto the largest power of two.
    pub fn new(ranks: usize) -> Self {
        Self::to_active(1 << ranks.ilog2(), ranks)
    }

    /// The fold of `ranks` ranks, in pairs, onto `active` virtual ranks.
    pub fn to_active(active: usize, ranks: usize) -> Self {
        Self::in_groups(2, active, ranks)
    }

    /// The fold of `ranks` ranks, in groups of up to `group`, onto `active` virtual ranks.
    pub fn in_groups(group: usize, active: usize, ranks: usize) -> Self {
        Self { active, sitting_out: ranks - active, group }
    }

    /// Number of virtual ranks, Q.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Whether `rank` sits out: the last rank of its group acts for it.
    pub fn sits_out(&self, rank: usize) -> bool {
        rank != self.rank_of(self.virtual_rank(rank))
    }

    /// Whether `rank`, in a fold in pairs, also acts for rank - 1.
    pub fn speaks_for_two(&self, rank: usize) -> bool {
        rank < 2 * self.sitting_out && !rank.is_multiple_of(2)
    }

    /// The virtual rank of `rank`. A rank that sits out shares the virtual rank of its group.
    pub fn virtual_rank(&self, rank: usize) -> usize {
        let end_of_groups = self.sitting_out + self.sitting_out.div_ceil(self.group - 1);
        if rank < end_of_groups { rank / self.group } else { rank - self.sitting_out }
    }

    /// The rank that acts as `virtual_rank`.
    pub fn rank_of(&self, virtual_rank: usize) -> usize {
        self.first_rank(virtual_rank + 1) - 1
    }

    /// In pairs, combines the vectors of the ranks that sit out into the vectors of their neighbours. Returns the virtual rank of
    /// this rank, or none if it sits out; then `result` already holds the end result.
    pub async fn enter(&self, r: &Rank<'_>, result: Span, scratch: Span) -> Option<usize> {
        if r.rank() >= 2 * self.sitting_out {
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
        virtual_rank + (virtual_rank * (self.group - 1)).min(self.sitting_out)
    }
}
