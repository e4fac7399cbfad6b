//! Symbolic values: contributions, and the order in which they were combined.

use hocket_core::{Call, Error, Result, budget};
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
        Self(1).append(Self(rank.into()))
    }

    /// What was combined in this order, combined with what was combined in the other: the finalizer of MurmurHash3
    /// (A. Appleby, 2011), twice.
    fn append(self, other: Self) -> Self {
        let scramble = |bits: u64| {
            let hash = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53]
                .into_iter()
                .fold(bits, |bits: u64, factor: u64| (bits ^ bits >> 33).wrapping_mul(factor));
            hash ^ hash >> 33
        };
        Self(scramble(scramble(self.0).wrapping_add(other.0)))
    }
}

/// One contribution: element `element` of the input of `rank`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Contribution {
    pub rank: u32,
    pub element: u32,
}

/// How a value came about.
enum Node {
    Undefined,
    Leaf(Contribution),
    Combined([Value; 2]),
}

/// Memory that walks through values reuse.
#[derive(Default)]
pub struct Walk {
    contributions: Vec<Contribution>,
    stack: Vec<Value>,
}

/// All values of a verification, each stored once: undefined memory, the contributions of all ranks, and what was combined.
pub struct Arena {
    /// In the order of the ranks.
    contributions: Vec<Contribution>,
    /// The operands of each combined value.
    operands: Vec<[Value; 2]>,
    /// The leftmost contribution of each combined value; the least one if operands may be swapped.
    first: Vec<Value>,
    memo: FxHashMap<[Value; 2], Value>,
    is_commutative: bool,
    /// Why there is no room for more values; then whatever is combined is undefined.
    refusal: Option<Error>,
}

/// Initial room, in combined values.
const FEW: usize = 256;

/// The memory of one combined value: in the lists, and in the table with its spare places.
const COMBINED_BYTES: f64 = size_of::<[Value; 3]>() as f64 + TABLE_BYTES;
const TABLE_BYTES: f64 = (size_of::<([Value; 2], Value)>() + 1) as f64 * 8.0 / 7.0;

/// A lower bound of the memory for so many different values, in bytes.
pub fn bytes_of(contributions: f64, combined: f64) -> f64 {
    contributions * size_of::<Contribution>() as f64 + combined * COMBINED_BYTES
}

impl Arena {
    /// The values before any operation of this call.
    pub fn new(call: &Call) -> Self {
        let elements = |rank| 0..call.input_of(rank as usize).len as u32;
        let of_rank = |rank| elements(rank).map(move |element| Contribution { rank, element });
        Self {
            contributions: (0..call.ranks as u32).flat_map(of_rank).collect(),
            operands: Vec::with_capacity(FEW),
            first: Vec::with_capacity(FEW),
            memo: FxHashMap::default(),
            is_commutative: call.commutative,
            refusal: None,
        }
    }

    /// Why there is no room for more values; further combinations are then undefined.
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// The contributions of a rank.
    pub fn input_of(&self, rank: usize) -> impl Iterator<Item = Value> + use<> {
        let before = |rank| self.contributions.partition_point(|one| (one.rank as usize) < rank) as u32;
        (before(rank)..before(rank + 1)).map(|before| Value(before + 1))
    }

    /// The place of a combined value in the lists; none for other values.
    fn place(&self, value: Value) -> Option<usize> {
        value.index().checked_sub(1 + self.contributions.len())
    }

    /// `left` combined with `right`, in this order.
    pub fn combine(&mut self, left: Value, right: Value) -> Value {
        let first = |value| self.place(value).map_or(value, |at| self.first[at]);
        let is_swapped = self.is_commutative && (first(right), right) < (first(left), left);
        let (operands, first) = if is_swapped { ([right, left], first(right)) } else { ([left, right], first(left)) };
        if let Some(value) = self.memo.get(&operands) {
            return *value;
        }
        if let Err(refusal) = self.make_room() {
            self.refusal = Some(refusal);
            return Value::UNDEFINED;
        }
        self.operands.push(operands);
        self.first.push(first);
        let value = Value((self.contributions.len() + self.operands.len()) as u32);
        self.memo.insert(operands, value);
        value
    }

    /// Makes room for one more value. While the table doubles, the old and the new one exist.
    fn make_room(&mut self) -> Result<()> {
        let values = self.operands.len();
        if values < self.operands.capacity() && self.memo.len() < self.memo.capacity() {
            return Ok(());
        }
        let more = bytes_of(0.0, values as f64) + TABLE_BYTES * values as f64;
        budget::check(format_args!("{values} expressions and as many more"), more)?;
        self.operands.reserve_exact(values);
        self.first.reserve_exact(values);
        self.memo.reserve(values);
        Ok(())
    }

    fn node(&self, value: Value) -> Node {
        match self.place(value) {
            Some(at) => Node::Combined(self.operands[at]),
            None if value == Value::UNDEFINED => Node::Undefined,
            None => Node::Leaf(self.contributions[value.index() - 1]),
        }
    }

    /// The first `most` contributions of a value, leftmost first, without undefined operands.
    pub fn contributions<'w>(&self, value: Value, most: usize, walk: &'w mut Walk) -> &'w mut [Contribution] {
        let Walk { contributions, stack } = walk;
        contributions.clear();
        stack.clear();
        stack.push(value);
        while let Some(value) = stack.pop() {
            match self.node(value) {
                Node::Undefined => {}
                Node::Leaf(contribution) => contributions.push(contribution),
                Node::Combined([left, right]) => stack.extend([right, left]),
            }
            if contributions.len() == most {
                break;
            }
        }
        contributions
    }

    /// The order in which the contributions to each value are combined, whichever elements they are; none of undefined
    /// values.
    pub fn orders(&self) -> Vec<Option<Order>> {
        let values = 1 + self.contributions.len() + self.operands.len();
        let mut orders: Vec<Option<Order>> = Vec::with_capacity(values);
        for value in 0..values as u32 {
            orders.push(match self.node(Value(value)) {
                Node::Undefined => None,
                Node::Leaf(contribution) => Some(Order::of_rank(contribution.rank)),
                Node::Combined([left, right]) => {
                    orders[left.index()].zip(orders[right.index()]).map(|(left, right)| left.append(right))
                }
            });
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
        match self.node(value) {
            Node::Undefined => text.push_str("undefined"),
            Node::Leaf(contribution) => text.push_str(&contribution.rank.to_string()),
            Node::Combined([left, right]) => {
                text.push_str(if is_outermost { "" } else { "(" });
                self.write(left, false, text, most);
                text.push('+');
                self.write(right, false, text, most);
                text.push_str(if is_outermost { "" } else { ")" });
            }
        }
    }
}
