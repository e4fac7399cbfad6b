//! Which ranks share a node.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Which ranks of a call share a node, as far as a machine or MPI tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nodes {
    /// Neither tells.
    #[default]
    Unknown,
    /// This many successive ranks share a node; the last node may have fewer.
    Equal(usize),
    /// The ranks of every node.
    Listed(Arc<NodeList>),
}

/// Ranks by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeList {
    /// The ranks of each node, ascending; nodes in the order of their first ranks.
    pub members: Vec<Vec<usize>>,
    /// The node of each rank, and its place there.
    pub places: Vec<(usize, usize)>,
}

impl Nodes {
    /// The nodes of these ranks, renumbered by their places in the list.
    pub fn select(&self, ranks: &[usize]) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Equal(size) => Self::of(&ranks.iter().map(|rank| rank / size).collect::<Vec<_>>()),
            Self::Listed(nodes) => Self::of(&ranks.iter().map(|rank| nodes.places[*rank].0).collect::<Vec<_>>()),
        }
    }

    /// The nodes of ranks, from a number per rank that is equal on ranks of the same node.
    pub fn of<T: Copy + Eq + Hash>(names: &[T]) -> Self {
        let (mut members, mut places): (Vec<Vec<usize>>, Vec<_>) = (Vec::new(), Vec::with_capacity(names.len()));
        let mut numbers = HashMap::new();
        for (rank, name) in names.iter().enumerate() {
            let node = *numbers.entry(name).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            places.push((node, members[node].len()));
            members[node].push(rank);
        }
        let size = members.first().map_or(1, Vec::len);
        if places.iter().enumerate().all(|(rank, place)| *place == (rank / size, rank % size)) {
            return Self::Equal(size);
        }
        Self::Listed(Arc::new(NodeList { members, places }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_equal_or_listed() {
        assert_eq!(Nodes::of(&[7, 7, 3, 3, 9]), Nodes::Equal(2));
        assert_eq!(Nodes::of(&[5]), Nodes::Equal(1));
        let members = vec![vec![0, 2], vec![1, 3, 4]];
        let places = vec![(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)];
        assert_eq!(Nodes::of(&[1, 0, 1, 0, 0]), Nodes::Listed(Arc::new(NodeList { members, places })));
        let Nodes::Listed(uneven) = Nodes::of(&[0, 1, 1]) else { panic!("the first node is the smaller one") };
        assert_eq!(uneven.members, [vec![0], vec![1, 2]]);
        let uneven = Nodes::Listed(uneven);
        assert_eq!([uneven.select(&[2, 1]), uneven.select(&[1, 0])], [Nodes::Equal(2), Nodes::Equal(1)]);
        assert_eq!(Nodes::Equal(2).select(&[0, 1, 2, 3, 6]), Nodes::Equal(2));
    }
}
