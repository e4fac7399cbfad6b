//! Symbolic values: contributions, and the order in which they were combined.

use hocket_core::{Error, Result, budget};
use rustc_hash::FxHashMap;

/// A value: an index into the [`Arena`]. Equal values combine the same contributions in the same order, except for
/// swapped operands of a commutative operator, so floating-point results are equal to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);

impl Value {
    /// Memory that has never been written.
    pub const UNDEFINED: Self = Self(0);

    /// Its place among the values of its arena.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One order of combination, as a number: equal orders have equal numbers. Floating-point sums that are combined in the
/// same order are equal to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(u64);

impl Order {
    /// The contribution of a rank alone.
    fn of_rank(rank: u32) -> Self {
        Self(1).then(Self(rank.into()))
    }

    /// What was combined in this order, combined with what was combined in the other: the finalizer of MurmurHash3
    /// (A. Appleby, 2011), twice.
    fn then(self, other: Self) -> Self {
        let scrambled = |bits: u64| {
            let mixed = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53]
                .into_iter()
                .fold(bits, |bits: u64, factor: u64| (bits ^ bits >> 33).wrapping_mul(factor));
            mixed ^ mixed >> 33
        };
        Self(scrambled(scrambled(self.0).wrapping_add(other.0)))
    }
}

/// One contribution: element `element` of the input of `rank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Contribution {
    pub rank: u32,
    pub element: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Undefined,
    Leaf(Contribution),
    Combined(Value, Value),
}

/// Memory that walks through values reuse.
#[derive(Default)]
pub struct Walk {
    found: Vec<Contribution>,
    stack: Vec<Value>,
}

/// All values of a verification, each stored once.
pub struct Arena {
    nodes: Vec<Node>,
    /// The leftmost contribution of each value; the least one if operands may be swapped.
    first: Vec<Option<Contribution>>,
    known: FxHashMap<Node, Value>,
    is_commutative: bool,
    /// Why there is no room for more values; then whatever is combined is undefined.
    refusal: Option<Error>,
}

/// Initial room, in values.
const FEW: usize = 256;

/// The memory of one value: in the lists, and in the table with its spare places.
const VALUE_BYTES: f64 = (size_of::<Node>() + size_of::<Option<Contribution>>()) as f64 + TABLE_BYTES;
const TABLE_BYTES: f64 = (size_of::<(Node, Value)>() + 1) as f64 * 8.0 / 7.0;

/// A lower bound of the memory for `values` different values, in bytes.
pub fn bytes_of(values: f64) -> f64 {
    values * VALUE_BYTES
}

impl Arena {
    pub fn new(is_commutative: bool) -> Self {
        let mut arena = Self {
            nodes: Vec::with_capacity(FEW),
            first: Vec::with_capacity(FEW),
            known: FxHashMap::default(),
            is_commutative,
            refusal: None,
        };
        arena.add(Node::Undefined, None);
        arena
    }

    /// Why there is no room for more values; further combinations are then undefined.
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    pub fn leaf(&mut self, contribution: Contribution) -> Value {
        self.intern(Node::Leaf(contribution))
    }

    /// `left` combined with `right`, in this order.
    pub fn combine(&mut self, left: Value, right: Value) -> Value {
        let place = |value: Value| (self.first[value.0 as usize], value);
        let is_swapped = self.is_commutative && place(right) < place(left);
        self.intern(if is_swapped { Node::Combined(right, left) } else { Node::Combined(left, right) })
    }

    fn intern(&mut self, node: Node) -> Value {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        if let Err(refusal) = self.make_room() {
            self.refusal = Some(refusal);
            return Value::UNDEFINED;
        }
        let first = match node {
            Node::Undefined => None,
            Node::Leaf(contribution) => Some(contribution),
            Node::Combined(left, _) => self.first[left.0 as usize],
        };
        let value = self.add(node, first);
        self.known.insert(node, value);
        value
    }

    fn add(&mut self, node: Node, first: Option<Contribution>) -> Value {
        self.nodes.push(node);
        self.first.push(first);
        Value((self.nodes.len() - 1) as u32)
    }

    /// Makes room for one more value. While the table doubles, the old and the new one exist.
    fn make_room(&mut self) -> Result<()> {
        let values = self.nodes.len();
        if values < self.nodes.capacity() && self.known.len() < self.known.capacity() {
            return Ok(());
        }
        let more = bytes_of(values as f64) + TABLE_BYTES * values as f64;
        budget::check(format_args!("{values} expressions and as many more"), more)?;
        self.nodes.reserve_exact(values);
        self.first.reserve_exact(values);
        self.known.reserve(values);
        Ok(())
    }

    /// The first `most` contributions of a value, leftmost first, without undefined operands.
    pub fn contributions<'w>(&self, value: Value, most: usize, walk: &'w mut Walk) -> &'w [Contribution] {
        let Walk { found, stack } = walk;
        found.clear();
        stack.clear();
        stack.push(value);
        while let Some(value) = stack.pop() {
            match self.nodes[value.0 as usize] {
                Node::Undefined => {}
                Node::Leaf(contribution) => found.push(contribution),
                Node::Combined(left, right) => stack.extend([right, left]),
            }
            if found.len() == most {
                break;
            }
        }
        found
    }

    /// The order in which the contributions to each value are combined, whichever elements they are; none of undefined
    /// values.
    pub fn orders(&self) -> Vec<Option<Order>> {
        let mut orders: Vec<Option<Order>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let order = match node {
                Node::Undefined => None,
                Node::Leaf(contribution) => Some(Order::of_rank(contribution.rank)),
                Node::Combined(left, right) => {
                    orders[left.index()].zip(orders[right.index()]).map(|(left, right)| left.then(right))
                }
            };
            orders.push(order);
        }
        orders
    }

    /// The value as a formula over ranks, such as `(0+1)+2`, cut if it is long.
    pub fn show(&self, value: Value) -> String {
        const MOST: usize = 60;
        let mut text = String::new();
        self.write(value, true, &mut text, MOST);
        if text.len() > MOST {
            text.truncate(MOST);
            text.push('…');
        }
        text
    }

    fn write(&self, value: Value, is_outermost: bool, text: &mut String, most: usize) {
        if text.len() > most {
            return;
        }
        match self.nodes[value.0 as usize] {
            Node::Undefined => text.push_str("undefined"),
            Node::Leaf(contribution) => text.push_str(&contribution.rank.to_string()),
            Node::Combined(left, right) => {
                text.push_str(if is_outermost { "" } else { "(" });
                self.write(left, false, text, most);
                text.push('+');
                self.write(right, false, text, most);
                text.push_str(if is_outermost { "" } else { ")" });
            }
        }
    }
}
