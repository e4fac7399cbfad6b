//! The state of a policy in a run.

use std::sync::OnceLock;

use hocket_machine::{AnyTopology, Hop};

use super::super::faults::Faults;
use super::super::{Flight, Memo};
use super::map::{Edge, Map, Roads, Target};
use super::{Course, Lane, Leaving, Routing, RoutingPolicy, WHOLE, draw};

/// Chooses the ways of messages and packets.
pub(crate) struct Chooser<'a> {
    policy: &'a dyn RoutingPolicy,
    map: Map<'a>,
    seed: u64,
    /// What each link carries, in parts of a whole message, and the part of its bandwidth that it has; empty if the
    /// policy does not look at them.
    shares: Vec<u64>,
    parts: Vec<f64>,
    /// The courses of pairs of ranks, if they depend on nothing else.
    courses: Memo<Course>,
    course: Course,
}

impl<'a> Chooser<'a> {
    /// None for fixed routes.
    pub fn new(
        routing: &'a Routing,
        topology: &'a AnyTopology,
        roads: &'a OnceLock<Roads>,
        faults: &'a Faults,
    ) -> Option<Box<Self>> {
        let policy = routing.policy()?;
        let roads = roads.get_or_init(|| Roads::new(topology));
        let mut chooser = Self {
            policy,
            map: Map::new(topology, roads, faults),
            seed: 0,
            shares: vec![0; if policy.looks_at_loads() { topology.links() } else { 0 }],
            parts: Vec::new(),
            courses: Memo::new(topology.nodes()),
            course: Course::default(),
        };
        chooser.look_at_parts();
        Some(Box::new(chooser))
    }

    /// The seed of ways that are drawn.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn look_at_parts(&mut self) {
        self.parts = (0..self.shares.len()).map(|link| self.map.part(link as u32)).collect();
    }

    fn advance(&mut self, now_s: f64) {
        if self.map.advance(now_s) {
            self.courses.clear();
            self.look_at_parts();
        }
    }

    /// The course of a whole message that leaves now; none if no way leads there.
    pub fn lead_whole(&mut self, now_s: f64, flight: &Flight) -> Option<&Course> {
        self.advance(now_s);
        let Self { policy, map, seed, shares, parts, courses, course } = self;
        let load = |link: u32| shares[link as usize] as f64 / f64::from(WHOLE) / parts[link as usize];
        let nodes = [flight.from, flight.to];
        let flow = draw(*seed, flight.ranks.map(u64::from));
        let mut lead = |course: &mut Course| {
            course.clear();
            policy.lead(map, &Leaving { nodes, flow, number: 0, is_whole: true, load: &load }, course);
            course.merge();
        };
        let course = if policy.looks_at_loads() {
            lead(course);
            course
        } else {
            courses.get(flight.ranks, lead)
        };
        (course.links > 0 || flight.from == flight.to).then_some(course)
    }

    /// Replaces a route by the way of a packet, or of a message as a packet, unless no way leads there. Returns whether one
    /// does.
    pub fn lead_packet(
        &mut self,
        now_s: f64,
        flight: &Flight,
        number: u64,
        load: &dyn Fn(u32) -> f64,
        route: &mut Vec<Hop>,
    ) -> bool {
        self.advance(now_s);
        let nodes = [flight.from, flight.to];
        let flow = draw(self.seed, flight.ranks.map(u64::from));
        self.course.clear();
        self.policy.lead(&mut self.map, &Leaving { nodes, flow, number, is_whole: false, load }, &mut self.course);
        let is_there = self.course.links > 0 || flight.from == flight.to;
        if is_there {
            let lanes = self.course.lanes.iter().zip(0..);
            route.clear();
            route.extend(lanes.map(|(lane, channel)| Hop { link: lane.link, channel }));
        }
        is_there
    }

    /// Whether packets choose link by link, where they are.
    pub fn goes_by_routers(&self) -> bool {
        self.policy.goes_by_routers() && self.map.is_steady()
    }

    /// The links of a vertex that come nearer to a node.
    pub fn nearer(&mut self, vertex: usize, to: usize, links: &mut Vec<Edge>) {
        let distances = self.map.distances_to(Target::Vertex(to as u32));
        self.map.nearer(vertex as u32, &distances, links);
    }

    /// A message is on a lane from now on.
    pub fn add(&mut self, lane: Lane) {
        if let Some(shares) = self.shares.get_mut(lane.link as usize) {
            *shares += u64::from(lane.share);
        }
    }

    /// A message has left a lane.
    pub fn remove(&mut self, lane: Lane) {
        if let Some(shares) = self.shares.get_mut(lane.link as usize) {
            *shares -= u64::from(lane.share);
        }
    }
}
