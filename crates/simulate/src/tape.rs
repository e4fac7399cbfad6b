//! The tape: the effect of a program on time, recorded once with symbolic clocks and evaluated for many trials.
//!
//! The dataflow engine runs the program with [`Symbol`]s. Taking the later of two, adding a length, or passing through
//! noise appends an operation, unless it is already on the tape. If the tape cannot decide a comparison, the engine
//! does not apply, or it assumes an outcome, and the tape checks in which trials it holds. A `first` has no winner
//! here: the rest of the program must not depend on it, which is checked by recording again with other [`Winners`].

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

use hocket_core::{Moment, Moments, Position};
use hocket_machine::noise::{Model, Resource};
use hocket_machine::{Noise, NoiseModel};
use rustc_hash::FxHashMap;

use crate::clock::{Clock, Occupation, Timing};
use crate::plan::{Plan, Step, StepKind};

/// The operations on clocks, in an order in which they can be evaluated.
pub struct Tape<'a> {
    noise: &'a Noise,
    nodes: RefCell<Vec<Node>>,
    /// The sources of the draws, for each operation with noise of processors, and of the network.
    sources: RefCell<[Vec<u64>; 2]>,
    lengths_s: RefCell<Vec<f64>>,
    length_numbers: RefCell<FxHashMap<u64, u32>>,
    /// A table of recent operations, to find them again.
    recent: RefCell<Vec<(Node, u32)>>,
    /// Branches of programs; every rank begins in the first one.
    branches: RefCell<Vec<Branch>>,
    /// Places in programs from which steps are counted.
    bases: RefCell<Vec<Position>>,
    winners: Winners,
    /// Number of winners asked for so far.
    races: Cell<u32>,
    has_first: Cell<bool>,
}

/// A step in a branch of a rank's program: orders its operations independently of times.
#[derive(Clone, Copy)]
struct Strand {
    branch: u32,
    step: u32,
}

/// The beginning of a branch.
#[derive(Clone, Copy)]
struct Branch {
    from: Strand,
    depth: u32,
    /// Whether the program may continue before the branch has ended.
    is_race: bool,
}

impl Strand {
    const START: Self = Self { branch: 0, step: 0 };

    fn next(self) -> Self {
        Self { step: self.step + 1, ..self }
    }

    /// Whether operations here are done before those there: an earlier step of the same branch, or on the way to it.
    fn is_before(mut self, mut other: Self, branches: &[Branch]) -> bool {
        while self.branch != other.branch {
            let (own, its) = (branches[self.branch as usize], branches[other.branch as usize]);
            if own.depth < its.depth {
                other = its.from;
            } else if own.is_race {
                return false;
            } else {
                self = own.from;
            }
        }
        self.step < other.step
    }
}

/// The assumed winners of `first`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winners {
    /// Always the first branch.
    First,
    /// Always the second one.
    Second,
    /// Aperiodically the first or the second, so that some winners are alike and some differ.
    Mixed,
}

/// One operation on earlier nodes. `b` is a node for operations on two times, else the number of a length or mark.
#[derive(Clone, Copy, PartialEq)]
struct Node {
    kind: StepKind,
    a: u32,
    b: u32,
}

/// The node of the common start.
const START: u32 = 0;
/// Slots of the table of recent operations.
const RECENT: usize = 1 << 12;
/// The steps of a search for a proof of order; without a proof, the engine does not apply.
const PROOF: u32 = 64;
/// The steps of a search for a reason to omit an operation.
const SHORT_CUT: u32 = 6;

impl<'a> Tape<'a> {
    /// An empty tape.
    pub fn new(noise: &'a Noise, winners: Winners) -> Self {
        let start = Node { kind: StepKind::Start, a: 0, b: 0 };
        Self {
            noise,
            nodes: RefCell::new(vec![start]),
            sources: RefCell::default(),
            lengths_s: RefCell::default(),
            length_numbers: RefCell::default(),
            recent: RefCell::new(vec![(start, START); RECENT]),
            branches: RefCell::new(vec![Branch { from: Strand::START, depth: 0, is_race: false }]),
            bases: RefCell::new(vec![Position::START]),
            winners,
            races: Cell::new(0),
            has_first: Cell::new(false),
        }
    }

    /// Whether the program used `first`.
    pub fn has_first(&self) -> bool {
        self.has_first.get()
    }

    /// The plan that computes the nodes at which the timers of ranks start, if any do, and end.
    pub fn plan(self, begins: &[u32], ends: &[u32]) -> Plan {
        compile(self.nodes.into_inner(), self.sources.into_inner(), self.lengths_s.into_inner(), [begins, ends])
    }

    fn push(&self, node: Node) -> u32 {
        let nodes = &mut *self.nodes.borrow_mut();
        nodes.push(node);
        u32::try_from(nodes.len() - 1).expect("fewer than 2^32 operations")
    }

    /// The node of this operation: a known one if it is in the table.
    fn find_or_push(&self, node: Node) -> u32 {
        let hash = (u64::from(node.a) << 32 | u64::from(node.b)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (hash >> 52) as usize ^ node.kind as usize;
        let (earlier, number) = self.recent.borrow()[place];
        if earlier == node {
            return number;
        }
        let number = self.push(node);
        self.recent.borrow_mut()[place] = (node, number);
        number
    }

    fn length(&self, length_s: f64) -> u32 {
        let lengths_s = &mut *self.lengths_s.borrow_mut();
        *self.length_numbers.borrow_mut().entry(length_s.to_bits()).or_insert_with(|| {
            lengths_s.push(length_s);
            (lengths_s.len() - 1) as u32
        })
    }

    /// Whether `node` is certainly not before `target`: it was made from `target`, or is the same time with noise.
    fn is_after(&self, node: u32, target: u32, mut steps: u32) -> bool {
        target == START || reaches(&self.nodes.borrow(), node, target, &mut steps)
    }

    /// Whether `node` is certainly after `target`.
    fn exceeds(&self, node: u32, target: u32) -> bool {
        exceeds(&self.nodes.borrow(), &self.lengths_s.borrow(), node, target, &mut { PROOF })
    }

    fn later(&self, a: u32, b: u32) -> u32 {
        if self.is_after(a, b, SHORT_CUT) {
            a
        } else if self.is_after(b, a, SHORT_CUT) {
            b
        } else {
            self.find_or_push(Node { kind: StepKind::Later, a: a.min(b), b: a.max(b) })
        }
    }

    fn earlier(&self, a: u32, b: u32) -> u32 {
        self.has_first.set(true);
        if self.is_after(a, b, SHORT_CUT) {
            b
        } else if self.is_after(b, a, SHORT_CUT) {
            a
        } else {
            self.find_or_push(Node { kind: StepKind::Earlier, a: a.min(b), b: a.max(b) })
        }
    }
}

/// Whether `node` is certainly after `target`: it was made from `target` by adding some length.
fn exceeds(nodes: &[Node], lengths_s: &[f64], node: u32, target: u32, steps: &mut u32) -> bool {
    if node <= target || *steps == 0 {
        return false;
    }
    *steps -= 1;
    let Node { kind, a, b } = nodes[node as usize];
    let mut operand = |node| exceeds(nodes, lengths_s, node, target, steps);
    match kind {
        StepKind::Start | StepKind::Mark | StepKind::Less | StepKind::After | StepKind::NotBefore => false,
        StepKind::Later => operand(b) || operand(a),
        StepKind::Earlier => operand(b) && operand(a),
        StepKind::Plus | StepKind::Compute | StepKind::Transfer if lengths_s[b as usize] > 0.0 => {
            target == START || reaches(nodes, a, target, steps)
        }
        StepKind::Plus | StepKind::Begin | StepKind::Compute | StepKind::Transfer => operand(a),
    }
}

fn reaches(nodes: &[Node], node: u32, target: u32, steps: &mut u32) -> bool {
    if node == target {
        return true;
    }
    if node < target || *steps == 0 {
        return false;
    }
    *steps -= 1;
    let Node { kind, a, b } = nodes[node as usize];
    match kind {
        StepKind::Start | StepKind::Mark | StepKind::Less | StepKind::After | StepKind::NotBefore => false,
        StepKind::Later => a == target || reaches(nodes, b, target, steps) || reaches(nodes, a, target, steps),
        StepKind::Earlier => reaches(nodes, b, target, steps) && reaches(nodes, a, target, steps),
        StepKind::Plus | StepKind::Begin => reaches(nodes, a, target, steps),
        StepKind::Compute | StepKind::Transfer => {
            nodes[target as usize] == Node { kind: StepKind::Plus, a, b } || reaches(nodes, a, target, steps)
        }
    }
}

/// A clock whose value is a node of a tape. A moment has node and branch in one word; base, step and race in the other.
#[derive(Clone, Copy)]
pub struct Symbol<'t> {
    tape: &'t Tape<'t>,
    moment: Moment,
}

impl<'t> Symbol<'t> {
    fn new(tape: &'t Tape<'t>, node: u32, strand: Strand, base: u32, is_racing: bool) -> Self {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let moment = Moment::of([pair(strand.branch, node), pair(base, strand.step << 1 | u32::from(is_racing))]);
        Self { tape, moment }
    }

    /// The node of the symbol.
    pub fn node(self) -> u32 {
        self.moment.words()[0] as u32
    }

    /// The index in [`Tape::bases`] from which the steps of the strand are counted.
    fn base(self) -> u32 {
        (self.moment.words()[1] >> 32) as u32
    }

    fn strand(self) -> Strand {
        let [first, second] = self.moment.words();
        Strand { branch: (first >> 32) as u32, step: second as u32 >> 1 }
    }

    fn is_racing(self) -> bool {
        self.moment.words()[1] & 1 == 1
    }

    fn at(self, node: u32) -> Self {
        let [first, second] = self.moment.words();
        Self { moment: Moment::of([first >> 32 << 32 | u64::from(node), second]), ..self }
    }

    /// The same time one step later.
    fn next(self) -> Self {
        let [first, second] = self.moment.words();
        Self { moment: Moment::of([first, second + 2]), ..self }
    }

    fn racing(self, is_racing: bool) -> Self {
        let [first, second] = self.moment.words();
        Self { moment: Moment::of([first, second & !1 | u64::from(is_racing)]), ..self }
    }

    fn place(self) -> Position {
        Position(self.tape.bases.borrow()[self.base() as usize].0.wrapping_add(u64::from(self.strand().step)))
    }

    /// The same time on this strand at this place.
    fn at_place(self, strand: Strand, place: Position) -> Self {
        let bases = &mut *self.tape.bases.borrow_mut();
        bases.push(Position(place.0.wrapping_sub(u64::from(strand.step))));
        Self::new(self.tape, self.node(), strand, bases.len() as u32 - 1, self.is_racing())
    }
}

/// The node and strand at which an operation was issued.
#[derive(Clone, Copy)]
pub struct Issue {
    node: u32,
    strand: Strand,
}

impl Clock for Symbol<'_> {
    type Issue = Issue;

    fn issue(self) -> Issue {
        Issue { node: self.node(), strand: self.strand() }
    }

    fn is_at(self, other: Self) -> bool {
        self.node() == other.node()
    }

    fn exceeds(self, other: Self) -> bool {
        self.tape.exceeds(self.node(), other.node())
    }

    fn is_issued_after(self, earlier: Issue) -> bool {
        earlier.strand.is_before(self.strand(), &self.tape.branches.borrow())
            || self.tape.exceeds(self.node(), earlier.node)
    }

    fn max(self, other: Self) -> Self {
        self.at(self.tape.later(self.node(), other.node()))
    }

    fn plus(self, seconds: f64) -> Self {
        if seconds == 0.0 {
            return self;
        }
        self.at(self.tape.find_or_push(Node { kind: StepKind::Plus, a: self.node(), b: self.tape.length(seconds) }))
    }

    fn less(self, seconds: f64) -> Self {
        self.at(self.tape.find_or_push(Node { kind: StepKind::Less, a: self.node(), b: self.tape.length(seconds) }))
    }

    fn comes_after(self, other: Self, or_with: bool) -> bool {
        match self.order(other) {
            Some(Ordering::Less) => return false,
            Some(Ordering::Equal) => return or_with,
            Some(Ordering::Greater) if or_with => return true,
            // `Greater` means "not before" here, so the times may be equal.
            Some(Ordering::Greater) | None => (),
        }
        let kind = if or_with { StepKind::NotBefore } else { StepKind::After };
        self.tape.find_or_push(Node { kind, a: self.node(), b: other.node() });
        true
    }

    fn order(self, other: Self) -> Option<Ordering> {
        let (own, its) = (self.node(), other.node());
        if own == its {
            Some(Ordering::Equal)
        } else if self.tape.is_after(own, its, PROOF) {
            Some(Ordering::Greater)
        } else if self.tape.is_after(its, own, PROOF) {
            Some(Ordering::Less)
        } else {
            None
        }
    }

    fn note(self, mark: u16) {
        self.tape.push(Node { kind: StepKind::Mark, a: self.node(), b: mark.into() });
    }

    fn position(self) -> u64 {
        self.place().0
    }

    fn seconds(self) -> f64 {
        f64::NAN
    }
}

/// The timing that records a tape.
pub struct Recording<'t>(pub &'t Tape<'t>);

impl<'t> Recording<'t> {
    fn symbol(&self, moment: Moment) -> Symbol<'t> {
        Symbol { tape: self.0, moment }
    }

    /// Appends an operation that meets noise.
    fn meet(&self, model: &NoiseModel, kind: StepKind, occupation: Occupation, start: Symbol<'t>) -> Symbol<'t> {
        let (tape, source) = (self.0, model.draw(occupation.victim, occupation.origin, occupation.position));
        kind.side().into_iter().for_each(|side| tape.sources.borrow_mut()[side].push(source));
        start.at(tape.push(Node { kind, a: start.node(), b: tape.length(occupation.length_s) }))
    }
}

impl<'t> Timing for Recording<'t> {
    type Clock = Symbol<'t>;
    const HAS_MOMENTS: bool = true;

    fn start(&self) -> Symbol<'t> {
        self.symbol(Moment::default())
    }

    fn time(&self, moment: Moment) -> Symbol<'t> {
        self.symbol(moment)
    }

    fn place(&self, moment: Moment) -> Position {
        self.symbol(moment).place()
    }

    fn after(&self, start: Moment, end: Symbol<'t>) -> Moment {
        self.symbol(start).next().at(end.node()).moment
    }

    fn moments(&mut self) -> &mut dyn Moments {
        self
    }

    fn pass(&self, occupation: Occupation, start: Symbol<'t>) -> Symbol<'t> {
        let Some(model) = self.0.noise.on(occupation.resource) else { return start.plus(occupation.length_s) };
        let kind = match occupation.resource {
            Resource::Processor => StepKind::Compute,
            Resource::Network => StepKind::Transfer,
        };
        self.meet(model, kind, occupation, start)
    }

    fn interrupts(&self) -> bool {
        self.0.noise.os.is_some()
    }

    fn begin(&self, occupation: Occupation, free: Symbol<'t>) -> Symbol<'t> {
        let noise = self.0.noise.on_message(occupation.length_s);
        noise.map_or(free, |model| self.meet(model, StepKind::Begin, occupation, free))
    }
}

impl Moments for Recording<'_> {
    fn later(&mut self, one: Moment, other: Moment) -> Moment {
        let (one, other) = (self.symbol(one), self.symbol(other));
        one.max(other).at_place(one.strand(), one.place().join(other.place())).moment
    }

    fn is_before(&mut self, _: Moment, _: Moment) -> bool {
        let race = self.0.races.replace(self.0.races.get().wrapping_add(1));
        self.0.has_first.set(true);
        match self.0.winners {
            Winners::First => false,
            Winners::Second => true,
            Winners::Mixed => race.count_ones() % 2 == 1,
        }
    }

    fn branch(&mut self, start: Moment, index: usize) -> Moment {
        let start = self.symbol(start);
        let strand = {
            let branches = &mut *self.0.branches.borrow_mut();
            let from = start.strand();
            let depth = branches[from.branch as usize].depth + 1;
            branches.push(Branch { from, depth, is_race: start.is_racing() });
            Strand { branch: (branches.len() - 1) as u32, step: 0 }
        };
        start.racing(false).at_place(strand, start.place().branch(index)).moment
    }

    fn after_join(&mut self, start: Moment, end: Moment) -> Moment {
        let (start, end) = (self.symbol(start), self.symbol(end));
        end.racing(start.is_racing()).at_place(start.strand().next(), end.place()).moment
    }

    fn racing(&mut self, now: Moment) -> Moment {
        self.symbol(now).racing(true).moment
    }

    fn after_first(&mut self, now: Moment, winner: Moment) -> Moment {
        let (now, winner) = (self.symbol(now), self.symbol(winner));
        now.max(winner).next().moment
    }

    fn settle_first(&mut self, earlier: Moment, later: Moment) -> (Moment, Moment) {
        let (earlier, later) = (self.symbol(earlier), self.symbol(later));
        let (first, last) = (self.0.earlier(earlier.node(), later.node()), self.0.later(earlier.node(), later.node()));
        (earlier.at(first).moment, later.at(last).moment)
    }
}

/// Drops the nodes that no end, mark or check needs, and gives every value a place that is reused after its last use.
fn compile(mut nodes: Vec<Node>, mut sources: [Vec<u64>; 2], lengths_s: Vec<f64>, timers: [&[u32]; 2]) -> Plan {
    let needs = needs(&nodes, &timers.concat());
    let mut places = Places { free: Vec::new(), count: 1 };
    let mut steps = Vec::with_capacity(needs.iter().filter(|need| **need & IS_NEEDED != 0).count());
    // The number of sources passed, and of sources kept; kept ones move to the front.
    let (mut positions, mut counts) = ([0; 2], [0; 2]);
    for number in 1..nodes.len() {
        let (node, need) = (nodes[number], needs[number]);
        if let Some(side) = node.kind.side() {
            sources[side][counts[side]] = sources[side][positions[side]];
            positions[side] += 1;
            counts[side] += usize::from(need & IS_NEEDED != 0);
        }
        if need & IS_NEEDED == 0 {
            continue;
        }
        // A node that has become a step stores its place in the field of its first operand.
        let place = |node: u32| nodes[node as usize].a;
        let (a, b) = (place(node.a), if node.kind.has_number() { node.b } else { place(node.b) });
        places.free.extend((need & LAST_OF_A != 0).then_some(a));
        places.free.extend((need & LAST_OF_B != 0).then_some(b));
        let out = if node.kind.has_result() { places.take() } else { 0 };
        steps.push(Step { kind: node.kind, a, b, out });
        nodes[number].a = out;
    }
    for (sources, count) in sources.iter_mut().zip(counts) {
        sources.truncate(count);
    }
    let [begins, ends] = timers.map(|times| times.iter().map(|time| nodes[*time as usize].a).collect());
    let mark_counts = steps.iter().filter(|step| step.kind == StepKind::Mark).map(|step| step.b as usize + 1);
    let marks = mark_counts.max().unwrap_or(0);
    Plan { steps, sources, lengths_s, places: places.count as usize, begins, ends, marks }
}

/// The node is needed: by an end or another needed node, or because it has no result (a mark or check).
const IS_NEEDED: u8 = 1;
/// This is the last use of the first operand.
const LAST_OF_A: u8 = 2;
/// This is the last use of the second operand.
const LAST_OF_B: u8 = 4;

/// These flags of each node.
fn needs(nodes: &[Node], ends: &[u32]) -> Vec<u8> {
    let mut needs = vec![0; nodes.len()];
    needs[START as usize] = IS_NEEDED;
    for end in ends {
        needs[*end as usize] = IS_NEEDED;
    }
    for (number, node) in nodes.iter().enumerate().rev() {
        if !node.kind.has_result() {
            needs[number] = IS_NEEDED;
        }
        if needs[number] & IS_NEEDED == 0 {
            continue;
        }
        let [a, b] = node.inputs();
        for (input, last) in [(a, LAST_OF_A), (b, LAST_OF_B)] {
            if let Some(input) = input
                && needs[input as usize] & IS_NEEDED == 0
            {
                needs[input as usize] |= IS_NEEDED;
                needs[number] |= last;
            }
        }
    }
    needs
}

impl Node {
    fn inputs(&self) -> [Option<u32>; 2] {
        match self.kind {
            StepKind::Start => [None, None],
            StepKind::Later | StepKind::Earlier | StepKind::After | StepKind::NotBefore => [Some(self.a), Some(self.b)],
            StepKind::Plus | StepKind::Less | StepKind::Begin => [Some(self.a), None],
            StepKind::Compute | StepKind::Transfer | StepKind::Mark => [Some(self.a), None],
        }
    }
}

/// The places of values while a plan is evaluated.
struct Places {
    free: Vec<u32>,
    count: u32,
}

impl Places {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}
