use std::collections::HashMap;

use hocket_algorithms::shapes::torus::*;
use hocket_algorithms::shapes::torus_trees::*;

/// For each directed link, the number of trees that have it.
type Shares = HashMap<(usize, usize), usize>;

fn one_way(sizes: &[usize]) -> Trees {
    Trees::new(Torus::new(sizes), false)
}

/// All tori of this many axes, with these sizes along each axis.
fn shapes(sizes: &[usize], axes: u32) -> impl Iterator<Item = Vec<usize>> {
    let count = sizes.len();
    (0..count.pow(axes)).map(move |number| (0..axes).map(|axis| sizes[number / count.pow(axis) % count]).collect())
}

/// Fails if no link leads from `rank` to `child` in the direction of the tree.
fn check_link(tree: &TorusTree<'_>, rank: usize, child: usize) {
    let [from, to] = [rank, child].map(|rank| tree.coordinates(rank));
    let moved: Vec<_> = (0..from.len()).filter(|i| from[*i] != to[*i]).collect();
    let is_link = matches!(moved[..], [i] if (from[i] + 1) % tree.sizes()[i] == to[i]);
    assert!(is_link, "{rank} to {child} of {:?}", tree.port);
}

/// Returns the height of the tree and counts its links. Adds to `most_children`. Checks that the tree spans the
/// torus, that parents and children agree, and that the heights of children increase.
fn checked_height(tree: &TorusTree<'_>, shares: &mut Shares, most_children: &mut usize) -> usize {
    let (root, ranks) = (tree.root, tree.port.torus.ranks());
    let (mut reached, mut heights) = (vec![root], vec![0; ranks]);
    for number in 0..ranks {
        let rank = *reached.get(number).unwrap_or_else(|| panic!("{:?} reaches {number} ranks only", tree.port));
        for child in tree.place(rank).children {
            assert_eq!(tree.place(child).parent, Some(rank), "{:?}", tree.port);
            check_link(tree, rank, child);
            *shares.entry((rank, child)).or_default() += 1;
            reached.push(child);
        }
    }
    assert_eq!((reached.len(), tree.place(root).parent), (ranks, None), "{:?}", tree.port);
    for rank in reached.iter().rev() {
        let children = tree.place(*rank).children;
        let is_sorted = children.is_sorted_by(|a, b| heights[*a] < heights[*b]);
        assert!(is_sorted, "{:?}: children of {rank}", tree.port);
        heights[*rank] = children.last().map_or(0, |child| heights[*child] + 1);
        *most_children = children.len().max(*most_children);
    }
    heights[root]
}

/// Checks that all trees have the declared height, that one has the most children, and that no two share a link.
fn check(trees: &Trees, root: usize) {
    let (mut shares, mut most_children) = (Shares::new(), 0);
    for port in &trees.ports {
        assert_eq!(checked_height(&TorusTree { port, root }, &mut shares, &mut most_children), trees.height());
    }
    assert_eq!(most_children, trees.most_children(), "{:?}", trees.torus);
    assert_eq!(shares.len(), trees.count() * (trees.torus.ranks() - 1), "links of {:?}", trees.torus);
    assert!(shares.values().all(|trees| *trees == 1), "{:?}", trees.torus);
}

/// All roots of a small torus, and some of a large one.
fn roots(torus: Torus) -> impl Iterator<Item = usize> {
    (0..torus.ranks()).step_by(if torus.ranks() <= 64 { 1 } else { 37 })
}

#[test]
fn three_trees_span_the_torus_share_no_link_and_are_of_height_x_y_z_minus_2() {
    for sizes in shapes(&[2, 3, 4, 5, 6, 7, 8], 3) {
        let trees = one_way(&sizes);
        assert_eq!((trees.count(), trees.height()), (3, sizes.iter().sum::<usize>() - 2), "{sizes:?}");
        roots(trees.torus).for_each(|root| check(&trees, root));
    }
}

#[test]
fn on_the_k_computer_they_are_of_height_84_from_any_root() {
    let trees = one_way(&[48, 6, 32]);
    assert_eq!((trees.count(), trees.height()), (3, 84));
    [0, 1, 47, 48, 5000, 9215].into_iter().for_each(|root| check(&trees, root));
}

#[test]
fn axes_of_one_rank_have_no_tree_and_the_others_span_all_the_same() {
    for sizes in shapes(&[1, 2, 3, 5], 3).filter(|sizes| sizes.contains(&1)) {
        let trees = one_way(&sizes);
        roots(trees.torus).for_each(|root| check(&trees, root));
    }
}

#[test]
fn trees_in_both_directions_of_any_number_of_axes_span_the_torus_and_share_no_link() {
    let of_many_axes = [vec![2; 6], vec![3; 5], vec![3, 1, 4, 2, 3], vec![4, 3, 1, 5, 3], vec![2, 3, 2, 2, 3, 2]];
    let all = (1..=4).flat_map(|axes| shapes(&[1, 2, 3, 4], axes)).chain(of_many_axes);
    for sizes in all.chain([vec![17], vec![16, 9], vec![8, 8, 8]]) {
        let trees = Trees::new(Torus::new(&sizes), !sizes.contains(&2));
        let axes = trees.torus.axes().count();
        assert_eq!(trees.count(), if sizes.contains(&2) { axes } else { 2 * axes }, "{sizes:?}");
        roots(trees.torus).for_each(|root| check(&trees, root));
    }
}

#[test]
fn along_an_axis_of_two_ranks_mirrored_trees_would_share_links() {
    let mut shares = Shares::new();
    for port in &Trees::new(Torus::new(&[2, 3, 3]), true).ports {
        checked_height(&TorusTree { port, root: 0 }, &mut shares, &mut 0);
    }
    for ((from, to), trees) in shares {
        assert_eq!(trees, if from / 2 == to / 2 { 2 } else { 1 }, "{from} to {to}");
    }
}
