//! Laws of the building blocks that algorithms share.

mod circulant;
mod double_tree;
mod fold;
mod groups;
mod halving;
mod k_nomial_tree;
mod mirrored_trees;
mod packing;
mod radix;
mod redundancy;
mod ring;
mod rotation;
mod segments;
mod subtree_sizes;
mod torus;
mod torus_trees;
