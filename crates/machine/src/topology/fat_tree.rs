//! Fat tree: switches in levels, each with children below and parents above, and nodes at the bottom.
//!
//! Keys, both level by level from the lowest: `down` (children of a switch), `up` (parents of a node, then of switches;
//! as many numbers as `down`). A k-ary n-tree has `down` = [k, k, ..., k], `up` = [1, k, ..., k].
//!
//! Level l has subtrees of M(l) = down(1) ... down(l) nodes, with W(l) = up(1) ... up(l) switches at their tops; level
//! 0 is the nodes. Switch r at the top of a subtree has the parents r + q W(l), q = 0, 1, ..., at the top of the next
//! larger subtree. Links are numbered level by level, child by child, parent by parent, each up link before its down
//! link.
//!
//! Routes go up to the first level at which both ends lie in one subtree, then down. Up from level l they take parent d
//! / W(l) mod up(l+1), where d is the destination (D-mod-k): all messages to a node come down the same way, and the
//! messages of a shift permutation on a k-ary tree never share a link. One virtual channel is enough: down links never
//! wait for up links.
//!
//! Sources: S. Öhring, M. Ibel, S. K. Das, M. J. Kumar, "On generalized fat trees", IPPS 1995; E. Zahavi, "Fat-tree
//! routing and node ordering providing contention free traffic for MPI global collectives", J. Parallel and Distributed
//! Computing 72 (2012).

use hocket_core::Result;
use hocket_core::units::count_in_words;

use super::picture::{items, lines};
use super::{Half, Hop, Spot, Topology, check_size};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    down: Vec<usize>,
    up: Vec<usize>,
    /// Level 0 is the nodes.
    levels: Vec<Level>,
}

/// The nodes or switches at one height.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    /// M: number of nodes of each subtree whose top is at this level.
    below: usize,
    /// W: number of nodes or switches at the top of each subtree.
    tops: usize,
    /// Number of nodes or switches at this level.
    vertices: usize,
    /// The first vertex of this level.
    first_vertex: usize,
    /// The first link between this level and the level above.
    first_link: usize,
}

/// The largest number of subtrees in a picture.
const MOST_LINES: usize = 12;

impl FatTree {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let (down, up) = (section.sizes("down")?, section.sizes("up")?);
        section.ensure(up.len() == down.len(), "up", &format!("{} numbers, as in `down`", down.len()))?;
        let tree = Self { levels: levels(&down, &up), down, up };
        check_size(section, "up", tree.nodes(), tree.links())?;
        Ok(tree)
    }

    fn height(&self) -> usize {
        self.down.len()
    }

    /// The link between a vertex of this level and one of its parents.
    fn link(&self, level: usize, vertex: usize, parent: usize, is_down: bool) -> usize {
        self.levels[level].first_link + 2 * (vertex * self.up[level] + parent) + usize::from(is_down)
    }

    /// The lower level of a link, its lower end in that level, and the index of the parent.
    fn place(&self, link: usize) -> (usize, usize, usize) {
        let level = self.levels[1..].partition_point(|above| above.first_link <= link);
        let position = (link - self.levels[level].first_link) / 2;
        (level, position / self.up[level], position % self.up[level])
    }

    fn level_of(&self, vertex: usize) -> usize {
        self.levels.partition_point(|level| level.first_vertex <= vertex) - 1
    }

    /// The link between a level and the next, within the subtrees that contain node `inside`, by the digits of a number.
    fn hop(&self, level: usize, inside: usize, number: usize, is_down: bool) -> Hop {
        let Level { below, tops, .. } = self.levels[level];
        let vertex = inside / below * tops + number % tops;
        Hop { link: self.link(level, vertex, number / tops % self.up[level], is_down) as u32, channel: 0 }
    }

    /// Appends the links from one node to another; the parents are the digits of a number.
    pub fn route_by(&self, from: usize, to: usize, number: usize, hops: &mut Vec<Hop>) {
        let meeting = self.meeting(from, to);
        hops.extend((0..meeting).map(|level| self.hop(level, from, number, false)));
        hops.extend((0..meeting).rev().map(|level| self.hop(level, to, number, true)));
    }

    /// The first level at which both nodes lie in one subtree.
    fn meeting(&self, a: usize, b: usize) -> usize {
        self.levels.iter().take_while(|level| a / level.below != b / level.below).count()
    }

    /// A line for a level, after a line for the links above it.
    fn row(&self, number: usize) -> String {
        let Level { vertices, below, .. } = self.levels[number];
        let what = match number {
            0 => count_in_words(vertices, "node"),
            _ => format!("{}, each above {}", count_in_words(vertices, "switch"), count_in_words(below, "node")),
        };
        let links =
            self.up.get(number).map(|up| format!("{:9}│ {} each way\n", "", count_in_words(vertices * up, "link")));
        format!("{}level {number}  {what}\n", links.unwrap_or_default())
    }
}

fn levels(down: &[usize], up: &[usize]) -> Vec<Level> {
    let all: usize = down.iter().product();
    let mut levels = vec![Level { below: 1, tops: 1, vertices: all, first_vertex: 0, first_link: 0 }];
    for (down, up) in down.iter().zip(up) {
        let last = levels[levels.len() - 1];
        let (below, tops) = (last.below * down, last.tops.saturating_mul(*up));
        levels.push(Level {
            below,
            tops,
            vertices: (all / below).saturating_mul(tops),
            first_vertex: last.first_vertex.saturating_add(last.vertices),
            first_link: last.first_link.saturating_add(last.vertices.saturating_mul(*up).saturating_mul(2)),
        });
    }
    levels
}

impl Topology for FatTree {
    fn nodes(&self) -> usize {
        self.levels[0].vertices
    }

    fn vertices(&self) -> usize {
        let top = self.levels[self.height()];
        top.first_vertex + top.vertices
    }

    fn links(&self) -> usize {
        self.levels[self.height()].first_link
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        let (level, vertex, parent) = self.place(link);
        let (own, next) = (self.levels[level], self.levels[level + 1]);
        let (subtree, top) = (vertex / own.tops, vertex % own.tops);
        let lower = own.first_vertex + vertex;
        let upper = next.first_vertex + subtree / self.down[level] * next.tops + top + parent * own.tops;
        if link.is_multiple_of(2) { (lower, upper) } else { (upper, lower) }
    }

    fn kinds(&self) -> (usize, &'static str) {
        (self.height(), "level, from the nodes up")
    }

    fn kind_of(&self, link: usize) -> usize {
        self.place(link).0
    }

    fn link_name(&self, link: usize) -> String {
        let (level, vertex, parent) = self.place(link);
        let from = self.vertex_name(self.ends(link).0);
        if link.is_multiple_of(2) {
            return format!("up {parent} from {from}");
        }
        let child = vertex / self.levels[level].tops % self.down[level];
        format!("down {child} from {from}")
    }

    fn vertex_name(&self, vertex: usize) -> String {
        if vertex < self.nodes() {
            return format!("node {vertex}");
        }
        let level = self.level_of(vertex);
        format!("switch {level}.{}", vertex - self.levels[level].first_vertex)
    }

    /// The links of each subtree are a row.
    fn spot(&self, link: usize) -> Spot {
        let (level, vertex, parent) = self.place(link);
        let in_row = self.levels[level].tops * self.down[level];
        let direction = if link.is_multiple_of(2) { "up from" } else { "down to" };
        let lower = if level == 0 { "nodes".to_owned() } else { format!("switches of level {level}") };
        Spot {
            panel: format!("{direction} {lower}"),
            place: String::new(),
            column: vertex % in_row * self.up[level] + parent,
            row: vertex / in_row,
            axes: ["link of the subtree", "subtree"],
        }
    }

    /// Each level is a line, stretched to the length of the longest.
    fn position(&self, vertex: usize) -> [f64; 2] {
        let level = self.level_of(vertex);
        let Level { vertices, first_vertex, .. } = self.levels[level];
        let width = self.levels.iter().map(|level| level.vertices).max().unwrap_or(1) as f64;
        let column = (vertex - first_vertex) as f64 + 0.5;
        [column * width / vertices as f64, (self.height() - level) as f64 * (1.0 + width / 8.0)]
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        self.route_by(from, to, to, hops);
    }

    /// Up to the highest switches that have more than one child, and down.
    fn longest_route(&self) -> usize {
        2 * self.meeting(0, self.nodes() - 1)
    }

    /// From a node, routes to M(l) - M(l-1) others turn at level l and have 2 l links.
    fn mean_route(&self) -> f64 {
        let links_of_routes = |(level, pair): (usize, &[Level])| 2 * (level + 1) * (pair[1].below - pair[0].below);
        let total: usize = self.levels.windows(2).enumerate().map(links_of_routes).sum();
        total as f64 / (self.nodes() - 1).max(1) as f64
    }

    /// The first half of the subtrees below the highest switches.
    fn halves(&self) -> Vec<Half<'_>> {
        let Some((top, below)) = self.levels.split_last() else { return Vec::new() };
        let subtrees = below.last().map_or(1, |level| top.below / level.below);
        let is_in_first_half = move |vertex: usize| {
            let level = below.iter().rfind(|level| vertex >= level.first_vertex);
            level.is_some_and(|level| {
                let first_node = (vertex - level.first_vertex) / level.tops * level.below;
                vertex < top.first_vertex && first_node < subtrees / 2 * (top.below / subtrees)
            })
        };
        vec![Box::new(is_in_first_half)]
    }

    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        let levels: String = (0..=self.height()).rev().map(|number| self.row(number)).collect();
        let below = self.down[0];
        let leaf = |number: usize| {
            let first = number * self.levels[1].tops;
            let last = first + self.levels[1].tops - 1;
            let switches = if first == last { format!("1.{first}") } else { format!("1.{first} to 1.{last}") };
            format!("switch {switches} ─ {}\n", items(number * below..(number + 1) * below, label))
        };
        format!("{levels}\n{}", lines(self.nodes() / below, MOST_LINES, leaf))
    }
}
