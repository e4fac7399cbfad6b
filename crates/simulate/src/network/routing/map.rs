//! The shortest ways over the links of a topology.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hocket_machine::AnyTopology;
use rustc_hash::FxHashMap;

use super::super::Memo;
use super::super::faults::Faults;
use super::course::{Course, Lane, one_of};

/// A link by its number, its length, and the vertex to which it leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub number: u32,
    length: u16,
    end: u32,
}

/// Where a way ends: at a vertex, or at any vertex of the set with this number in [`Map::middles`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Vertex(u32),
    Middle(u32),
}

/// The topology's links by their ends, the same in all runs.
#[derive(Debug)]
pub struct Roads {
    out: Vec<Vec<Edge>>,
    into: Vec<Vec<Edge>>,
    /// Sets of vertices; Valiant's routing passes through one of them.
    middles: Vec<Range<usize>>,
    /// For each vertex, and then for each set of vertices, the length of the shortest way from each vertex to it while all
    /// links are up, once it was asked for.
    distances: Vec<OnceLock<Arc<[u16]>>>,
}

impl Roads {
    pub fn new(topology: &AnyTopology) -> Self {
        let mut out = vec![Vec::new(); topology.vertices()];
        let mut into = out.clone();
        for link in 0..topology.links() {
            let (from, to) = topology.ends(link);
            let leading_to =
                |end: usize| Edge { number: link as u32, length: topology.length_of(link), end: end as u32 };
            out[from].push(leading_to(to));
            into[to].push(leading_to(from));
        }
        let middles = topology.middles();
        let distances = vec![OnceLock::new(); out.len() + middles.len()];
        Self { out, into, middles, distances }
    }
}

/// The topology's links that are up now, and how far away vertices are.
pub(crate) struct Map<'a> {
    topology: &'a AnyTopology,
    roads: &'a Roads,
    /// For each target asked for, the length of the shortest way from each vertex to it, if links can be down.
    distances: FxHashMap<Target, Arc<[u16]>>,
    faults: &'a Faults,
    /// Whether a link is down at some time.
    has_gaps: bool,
    /// The times at which links change, and how many of them have passed.
    changes_s: Vec<f64>,
    changes_passed: usize,
    /// The shortest ways between pairs of vertices.
    ways: Option<Memo<Ways>>,
}

/// No way leads there.
const NOWHERE: u16 = u16::MAX;

impl<'a> Map<'a> {
    pub fn new(topology: &'a AnyTopology, roads: &'a Roads, faults: &'a Faults) -> Self {
        let changes = faults.changes();
        let has_gaps = changes.iter().any(|(.., part)| *part <= 0.0);
        let mut changes_s: Vec<_> = changes.into_iter().map(|(time_s, ..)| time_s).collect();
        changes_s.sort_by(f64::total_cmp);
        let distances = FxHashMap::default();
        Self { topology, roads, distances, faults, has_gaps, changes_s, changes_passed: 0, ways: None }
    }

    /// Whether links never change, once the run has begun.
    pub fn is_steady(&self) -> bool {
        self.changes_s.iter().all(|time_s| *time_s <= 0.0)
    }

    /// It is now so late. Returns whether links have changed since the last time.
    pub fn advance(&mut self, now_s: f64) -> bool {
        let count = self.changes_s.partition_point(|time_s| *time_s <= now_s);
        let has_changed = std::mem::replace(&mut self.changes_passed, count) != count;
        if has_changed {
            self.distances.clear();
            self.ways = None;
        }
        has_changed
    }

    /// The part of its bandwidth that a link has now.
    pub fn part(&self, link: u32) -> f64 {
        let now_s = self.changes_passed.checked_sub(1).map_or(0.0, |last| self.changes_s[last]);
        self.faults.of(link).map_or(1.0, |rates| rates.part_at(now_s))
    }

    fn is_switch(&self, vertex: u32) -> bool {
        let nodes = self.topology.nodes();
        vertex as usize >= nodes || self.topology.vertices() == nodes
    }

    /// The length of the shortest way from each vertex to a target.
    pub fn distances_to(&mut self, target: Target) -> Arc<[u16]> {
        if self.has_gaps {
            if let Some(distances) = self.distances.get(&target) {
                return Arc::clone(distances);
            }
            let distances = self.measure(target);
            self.distances.insert(target, Arc::clone(&distances));
            return distances;
        }
        let place = match target {
            Target::Vertex(vertex) => vertex as usize,
            Target::Middle(number) => self.roads.out.len() + number as usize,
        };
        Arc::clone(self.roads.distances[place].get_or_init(|| self.measure(target)))
    }

    fn measure(&self, target: Target) -> Arc<[u16]> {
        let mut distances = vec![NOWHERE; self.roads.out.len()];
        let members = match target {
            Target::Vertex(vertex) => vertex as usize..vertex as usize + 1,
            Target::Middle(number) => self.roads.middles[number as usize].clone(),
        };
        distances[members.clone()].fill(0);
        let mut at_distance = vec![members.map(|vertex| vertex as u32).collect::<Vec<_>>()];
        let mut distance = 0;
        while distance < at_distance.len() {
            for vertex in std::mem::take(&mut at_distance[distance]) {
                let is_passed = distance == 0 || self.is_switch(vertex);
                if !is_passed || usize::from(distances[vertex as usize]) < distance {
                    continue;
                }
                for link in self.roads.into[vertex as usize].iter().filter(|link| self.is_up(link.number)) {
                    let length = distance + usize::from(link.length);
                    if length < usize::from(distances[link.end as usize]) {
                        distances[link.end as usize] = length as u16;
                        at_distance.resize(at_distance.len().max(length + 1), Vec::new());
                        at_distance[length].push(link.end);
                    }
                }
            }
            distance += 1;
        }
        distances.into()
    }

    /// The links of a vertex that begin shortest ways to a target.
    pub fn nearer(&self, vertex: u32, distances: &[u16], links: &mut Vec<Edge>) {
        let distance = distances[vertex as usize];
        let comes_nearer = |link: &&Edge| {
            let left = distances[link.end as usize];
            Some(left) == distance.checked_sub(link.length)
                && (left == 0 || self.is_switch(link.end))
                && self.is_up(link.number)
        };
        links.clear();
        links.extend(self.roads.out[vertex as usize].iter().filter(comes_nearer));
    }

    fn is_up(&self, link: u32) -> bool {
        !self.has_gaps || self.part(link) > 0.0
    }

    /// The sets of vertices by which Valiant's routing leads from node to node.
    pub fn middles_between(&mut self, [from, to]: [u32; 2]) -> Vec<u32> {
        let least = u16::from(self.topology.vertices() > self.topology.nodes());
        let to_receiver = self.distances_to(Target::Vertex(to));
        let is_away = |distance: u16| (least + 1..NOWHERE).contains(&distance);
        let mut middles = Vec::new();
        for number in 0..self.roads.middles.len() as u32 {
            let from_middle = to_receiver[self.roads.middles[number as usize].clone()].iter().copied().min();
            let to_middle = self.distances_to(Target::Middle(number))[from as usize];
            if from_middle.is_some_and(is_away) && is_away(to_middle) {
                middles.push(number);
            }
        }
        middles
    }

    /// Walks from vertices with shares to a target. `keep` leaves those links of a vertex that are taken; they have equal
    /// shares. Returns the shares with which ways arrive at vertices of the target, none where no way leads there.
    pub fn walk(
        &mut self,
        starts: &[(u32, u32)],
        target: Target,
        keep: &mut dyn FnMut(u32, &mut Vec<Edge>),
        course: &mut Course,
    ) -> Vec<(u32, u32)> {
        let distances = self.distances_to(target);
        let place = |vertex: u32| (Reverse(distances[vertex as usize]), vertex);
        let mut front: BTreeMap<_, _> =
            starts.iter().map(|(vertex, share)| (place(*vertex), (*share, course.links))).collect();
        let (mut ends, mut links) = (Vec::new(), Vec::new());
        while let Some(((Reverse(distance), vertex), (share, behind))) = front.pop_first() {
            if distance == 0 {
                ends.push((vertex, share));
                course.links = course.links.max(behind);
            }
            if distance == 0 || distance == NOWHERE {
                continue;
            }
            self.nearer(vertex, &distances, &mut links);
            keep(vertex, &mut links);
            for (lane, link) in divide(share, &links) {
                course.lanes.push(lane);
                let (all, longest) = front.entry(place(link.end)).or_default();
                (*all, *longest) = (*all + lane.share, (behind + 1).max(*longest));
            }
        }
        ends
    }

    /// Walks from node to node with a share of a message.
    pub fn lead(
        &mut self,
        [from, to]: [usize; 2],
        share: u32,
        mut keep: impl FnMut(u32, &mut Vec<Edge>),
        course: &mut Course,
    ) {
        self.walk(&[(from as u32, share)], Target::Vertex(to as u32), &mut keep, course);
    }

    /// Walks over the ways of the least load: all of them, or those that `one` of so many links of a vertex takes.
    /// Returns this load; infinite if no way leads there. Nodes of a switch have the ways of this switch.
    pub fn lead_least(
        &mut self,
        [from, to]: [usize; 2],
        share: u32,
        load: &dyn Fn(u32) -> f64,
        one: &mut dyn FnMut(u32, &mut Vec<Edge>),
        course: &mut Course,
    ) -> f64 {
        if from == to {
            return 0.0;
        }
        let (first, out) = self.switch_of(from as u32, &self.roads.out[from]);
        let (last, into) = self.switch_of(to as u32, &self.roads.into[to]);
        let mut memo = self.ways.take().unwrap_or_else(|| Memo::new(self.roads.out.len()));
        let ways = memo.get([first, last], |ways| self.find_ways([first, last], ways));
        let least = if ways.vertices.last().is_some_and(|(vertex, _)| *vertex == last) {
            let behind = into.map_or(0.0, |link| load(link.number));
            course.lanes.extend(out.map(|link| Lane { link: link.number, share }));
            let (least, links) = ways.lead_least((share, u32::from(out.is_some())), (load, behind), one, course);
            course.lanes.extend(into.map(|link| Lane { link: link.number, share }));
            course.links = course.links.max(links + u32::from(into.is_some()));
            least
        } else {
            f64::INFINITY
        };
        self.ways = Some(memo);
        out.map_or(least, |link| load(link.number).max(least))
    }

    /// The switch of a node that has one link, with this link; else the vertex itself.
    fn switch_of(&self, vertex: u32, links: &[Edge]) -> (u32, Option<Edge>) {
        match links {
            [link] if !self.has_gaps && !self.is_switch(vertex) && self.is_switch(link.end) => (link.end, Some(*link)),
            _ => (vertex, None),
        }
    }

    fn find_ways(&mut self, [from, to]: [u32; 2], ways: &mut Ways) {
        let distances = self.distances_to(Target::Vertex(to));
        let Ways { vertices, links } = ways;
        *vertices = vec![(from, 0..0)];
        links.clear();
        let (mut nearer, mut places) = (Vec::new(), FxHashMap::from_iter([(from, 0)]));
        let mut next = 0;
        while let Some((vertex, own)) = vertices.get_mut(next) {
            self.nearer(*vertex, &distances, &mut nearer);
            *own = links.len()..links.len() + nearer.len();
            links.extend_from_slice(&nearer);
            vertices
                .extend(nearer.iter().filter(|link| places.insert(link.end, 0).is_none()).map(|link| (link.end, 0..0)));
            next += 1;
        }
        vertices.sort_by_key(|(vertex, _)| Reverse(distances[*vertex as usize]));
        places.extend((0..).zip(&*vertices).map(|(place, (vertex, _))| (*vertex, place)));
        links.iter_mut().for_each(|link| link.end = places[&link.end]);
    }
}

/// The shortest ways from a vertex to another.
#[derive(Clone, Default)]
struct Ways {
    /// The vertices on them, the farthest first, with the range of their links that come nearer.
    vertices: Vec<(u32, Range<usize>)>,
    /// The links. Their ends are places in `vertices`.
    links: Vec<Edge>,
}

impl Ways {
    /// Walks over the ways of the least load with a share, which has passed so many links. Ways go on behind with a load.
    /// Returns the load of these ways, and the number of links of the longest one.
    fn lead_least(
        &self,
        start: (u32, u32),
        (load, behind): (&dyn Fn(u32) -> f64, f64),
        one: &mut dyn FnMut(u32, &mut Vec<Edge>),
        course: &mut Course,
    ) -> (f64, u32) {
        let (loads, by_link) = self.loads(load, behind);
        let mut at_vertices = vec![(0, 0); self.vertices.len()];
        at_vertices[0] = start;
        let mut links = Vec::new();
        for (place, (vertex, own)) in self.vertices.iter().enumerate() {
            let (share, hops) = at_vertices[place];
            if share == 0 || own.is_empty() {
                continue;
            }
            links.clear();
            links.extend(own.clone().filter(|link| by_link[*link] == loads[place]).map(|link| self.links[link]));
            one(*vertex, &mut links);
            for (lane, link) in divide(share, &links) {
                course.lanes.push(lane);
                let (all, most) = &mut at_vertices[link.end as usize];
                (*all, *most) = (*all + lane.share, (hops + 1).max(*most));
            }
        }
        (loads[0], at_vertices[at_vertices.len() - 1].1)
    }

    /// The load of the least loaded way from each vertex, and of the one by each link.
    fn loads(&self, load: &dyn Fn(u32) -> f64, behind: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut loads, mut by_link) = (vec![behind; self.vertices.len()], vec![0.0; self.links.len()]);
        for (place, (_, own)) in self.vertices.iter().enumerate().rev().skip(1) {
            loads[place] = f64::INFINITY;
            for link in own.clone() {
                let Edge { number, end, .. } = self.links[link];
                by_link[link] = load(number).max(loads[end as usize]);
                loads[place] = loads[place].min(by_link[link]);
            }
        }
        (loads, by_link)
    }
}

/// The lanes of equal parts of a share on these links, without those that round to nothing.
fn divide(share: u32, links: &[Edge]) -> impl Iterator<Item = (Lane, &Edge)> {
    let (count, more) = (links.len() as u32, share % links.len() as u32);
    let part = move |number: u32| share / count + u32::from(number < more);
    let lanes = (0..).zip(links).map(move |(number, link)| (Lane { link: link.number, share: part(number) }, link));
    lanes.filter(|(lane, _)| lane.share > 0)
}

/// Keeps a link in turn, beginning with that of d-mod-k. What is left of both numbers is for the next switch.
pub(super) fn in_turn(links: &mut Vec<Edge>, to: &mut u64, turn: &mut u64) {
    let count = links.len() as u64;
    let place = (*to % count + *turn % count) % count;
    (*to, *turn) = (*to / count, *turn / count);
    only(links, place as usize);
}

/// Keeps all links.
pub(super) fn all(_: u32, _: &mut Vec<Edge>) {}

/// Keeps one of the links, by a random number.
pub(super) fn any(links: &mut Vec<Edge>, random: u64) {
    only(links, one_of(links.len(), random));
}

/// Keeps the link at this place.
pub(super) fn only(links: &mut Vec<Edge>, place: usize) {
    links.swap(0, place);
    links.truncate(1);
}
