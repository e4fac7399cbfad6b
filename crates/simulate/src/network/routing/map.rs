//! The shortest ways over the links of a topology.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hocket_machine::AnyTopology;
use rustc_hash::FxHashMap;

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
    /// The places of vertices among the ways that are looked at; others are not in range.
    places: Vec<usize>,
}

/// No way leads there.
const NOWHERE: u16 = u16::MAX;

impl<'a> Map<'a> {
    pub fn new(topology: &'a AnyTopology, roads: &'a Roads, faults: &'a Faults) -> Self {
        let changes = faults.changes();
        let has_gaps = changes.iter().any(|(.., part)| *part <= 0.0);
        let mut changes_s: Vec<_> = changes.into_iter().map(|(time_s, ..)| time_s).collect();
        changes_s.sort_by(f64::total_cmp);
        let (distances, places) = (FxHashMap::default(), Vec::new());
        Self { topology, roads, distances, faults, has_gaps, changes_s, changes_passed: 0, places }
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
    /// Returns this load; infinite if no way leads there.
    pub fn lead_least(
        &mut self,
        [from, to]: [usize; 2],
        share: u32,
        load: &dyn Fn(u32) -> f64,
        one: &mut dyn FnMut(u32, &mut Vec<Edge>),
        course: &mut Course,
    ) -> f64 {
        let distances = self.distances_to(Target::Vertex(to as u32));
        let mut ways = self.ways(from as u32, &distances);
        let mut links = Vec::new();
        for way in (0..ways.len()).rev() {
            if ways[way].vertex == to as u32 {
                continue;
            }
            let of_link = |link: &Edge| load(link.number).max(ways[self.places[link.end as usize]].load);
            ways[way].load = ways[way].links.iter().map(of_link).fold(f64::INFINITY, f64::min);
        }
        ways[0].share = share;
        for way in 0..ways.len() {
            let Way { vertex, load: least, share, behind, .. } = ways[way];
            if vertex == to as u32 {
                course.links = course.links.max(behind);
            }
            if share == 0 || ways[way].links.is_empty() {
                continue;
            }
            let is_least = |link: &&Edge| load(link.number).max(ways[self.places[link.end as usize]].load) == least;
            links.clear();
            links.extend(ways[way].links.iter().filter(is_least));
            one(vertex, &mut links);
            for (lane, link) in divide(share, &links) {
                course.lanes.push(lane);
                let next = &mut ways[self.places[link.end as usize]];
                (next.share, next.behind) = (next.share + lane.share, next.behind.max(behind + 1));
            }
        }
        ways.iter().for_each(|way| self.places[way.vertex as usize] = usize::MAX);
        ways[0].load
    }

    /// The vertices on shortest ways from a vertex, the farthest first, with their places in this order.
    fn ways(&mut self, from: u32, distances: &[u16]) -> Vec<Way> {
        let way = |vertex: u32| Way { vertex, links: Vec::new(), load: 0.0, share: 0, behind: 0 };
        let mut ways = vec![way(from)];
        self.places.resize(self.roads.out.len(), usize::MAX);
        let mut next = 0;
        while next < ways.len() {
            let mut links = Vec::new();
            self.nearer(ways[next].vertex, distances, &mut links);
            for link in &links {
                if self.places[link.end as usize] == usize::MAX {
                    self.places[link.end as usize] = 0;
                    ways.push(way(link.end));
                }
            }
            ways[next].links = links;
            next += 1;
        }
        ways.sort_by_key(|way| Reverse(distances[way.vertex as usize]));
        ways.iter().enumerate().for_each(|(place, way)| self.places[way.vertex as usize] = place);
        ways
    }
}

/// A vertex on shortest ways.
struct Way {
    vertex: u32,
    /// Its links that come nearer.
    links: Vec<Edge>,
    /// The load of the least loaded way from here.
    load: f64,
    /// The share of the message that passes here, and the number of links behind it.
    share: u32,
    behind: u32,
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
