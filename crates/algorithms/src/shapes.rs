//! Building blocks that several algorithms share: trees, rings, groups and grids of ranks, blocks and segments of
//! vectors, and the exchanges of messages over them.

pub mod bine;
pub mod channels;
pub mod circulant;
mod double_tree;
mod fold;
pub mod groups;
mod halving;
pub mod in_order_tree;
mod input;
mod k_nomial_tree;
pub mod levels;
mod mirrored_trees;
pub mod neighborhood;
mod packing;
pub mod pat;
pub mod pipeline;
mod pre_order_tree;
pub mod radix;
pub mod redundancy;
mod ring;
mod rotation;
pub mod rounds;
mod segments;
pub mod stages;
mod star;
pub mod subtree_sizes;
pub mod switch;
pub mod torus;
pub mod torus_buckets;
pub mod torus_trees;

pub use double_tree::{DoubleTree, TreeEdge};
pub use fold::Fold;
pub use halving::{Halves, group_start, half_range, halve, halve_and_double, pass_on, without_partner};
pub use input::input_apart_from_result;
pub use k_nomial_tree::{BinomialTree, KnomialTree};
pub use mirrored_trees::{TreeNode, tree_node};
pub use packing::packed_blocks;
pub use pre_order_tree::PreOrderTree;
pub use ring::Ring;
pub use rotation::{Rotation, rotated_blocks, rotated_chunks};
pub use segments::{Segments, exchange};
pub use star::Star;
