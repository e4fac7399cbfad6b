//! An allreduce in lanes: within each group a reduce_scatter, between groups an allreduce of each chunk, then an allgather.
//!
//! A lane is the ranks that have the same place in all groups.

use hocket_core::{Call, Collective, Rank, Span};

use crate::shapes::levels::{Levels, PartParameter, Piece, chunk_call, part_call};

/// The parameters that choose the parts.
pub struct Lanes {
    /// The reduce_scatter within a group.
    pub reduce_scatter: PartParameter,
    /// The allreduce between the groups, in each lane.
    pub network: PartParameter,
    /// The allgather within a group.
    pub allgather: PartParameter,
}

impl Lanes {
    /// The parts of a call.
    pub fn pieces(&self, c: &Call) -> Vec<Piece> {
        let levels = Levels::of(c);
        let allreduce = |count| Call { in_place: true, ..part_call(c, Collective::Allreduce, levels.count(), count) };
        vec![
            self.reduce_scatter.within(c, &levels, |group| chunk_call(c, Collective::ReduceScatter, &levels, group)),
            self.network.in_lanes(c, &levels, allreduce),
            self.allgather.within(c, &levels, |group| chunk_call(c, Collective::Allgather, &levels, group)),
        ]
    }

    /// Runs the parts, one after another.
    pub async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (levels, result) = (Levels::of(c), c.result(r));
        let (group, place) = levels.place(r.rank());
        let own = r.scratch(self.reduce_scatter.call(c, group).count(place));
        self.reduce_scatter.run_within_groups(r, c, &levels, (c.input(r), own)).await;
        if place < levels.lanes() {
            self.network.run_in_lane(r, c, &levels, (Span::EMPTY, own)).await;
        }
        self.allgather.run_within_groups(r, c, &levels, (own, result)).await;
    }
}
