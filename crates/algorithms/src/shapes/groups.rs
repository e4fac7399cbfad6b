//! Groups of neighbouring ranks, such as the ranks of a node, for algorithms in two levels.

use std::ops::Range;

use hocket_core::{Call, Domain, Nodes, Parameter, Unit};

/// The size of the groups, a parameter of these algorithms.
pub const GROUP: Parameter = Parameter {
    name: "group",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[1, 3],
    domain: Domain::Ranks,
    meaning: "consecutive ranks per group; the last group may be smaller. 0: the ranks of a node, 4 if unknown",
};

/// The size of groups if nodes are unknown.
const USUAL: usize = 4;

/// The groups of a call: all have the same size, except for a smaller last one. Drawn for 7 ranks and group = 3.
///
/// ```text
/// group       0         1       2
/// ranks    [0 1 2]   [3 4 5]   [6]      3, 4 and 5 all communicate with rank 6, the only rank of group 2
/// ```
pub struct Groups {
    ranks: usize,
    /// Number of members of each group, except the last one.
    pub size: usize,
    /// Number of groups.
    pub count: usize,
}

impl Groups {
    /// The groups of a call, by its parameter and its nodes.
    pub fn of(c: &Call) -> Self {
        let size = match (c.parameter(GROUP.name), &c.nodes) {
            (0, Nodes::Equal(size)) => *size,
            (0, _) => USUAL,
            (size, _) => usize::try_from(size).unwrap_or(c.ranks),
        };
        let size = size.min(c.ranks);
        Self { ranks: c.ranks, size, count: c.ranks.div_ceil(size) }
    }

    /// The members of a group. After the last group comes group 0 again.
    pub fn members(&self, group: usize) -> Range<usize> {
        let start = group % self.count * self.size;
        start..(start + self.size).min(self.ranks)
    }

    /// Number of members of the last group.
    pub fn last(&self) -> usize {
        self.members(self.count - 1).len()
    }

    /// The most ranks of another group with which a rank of the last group communicates.
    pub fn share(&self) -> usize {
        self.size.div_ceil(self.last())
    }

    /// Whether all groups have the same size.
    pub fn are_equal(&self) -> bool {
        self.last() == self.size
    }

    /// Number of ordered pairs of different ranks in the same group.
    pub fn pairs(&self) -> usize {
        (self.count - 1) * self.size * (self.size - 1) + self.last() * (self.last() - 1)
    }
}
