//! Symbolic values: contributions, and the order in which they were combined.

use rustc_hash::FxHashMap;

/// A value: an index into the [`Arena`]. Equal values were combined from the same contributions in the same order, up to
/// swapping two operands where the operator is commutative, so floating-point results are equal to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);

impl Value {
    /// Memory that has never been written.
    pub const UNDEFINED: Self = Self(0);
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

/// All values of a verification, each stored once.
pub struct Arena {
    nodes: Vec<Node>,
    /// The leftmost contribution of each value: the least, where operands may be swapped.
    first: Vec<Option<Contribution>>,
    known: FxHashMap<Node, Value>,
    is_commutative: bool,
}

impl Arena {
    pub fn new(is_commutative: bool) -> Self {
        Self { nodes: vec![Node::Undefined], first: vec![None], known: FxHashMap::default(), is_commutative }
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
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.first.push(match node {
                Node::Undefined => None,
                Node::Leaf(contribution) => Some(contribution),
                Node::Combined(left, _) => self.first[left.0 as usize],
            });
            Value((self.nodes.len() - 1) as u32)
        })
    }

    /// The contributions of a value, leftmost first, at most `most` of them; undefined operands are left out.
    pub fn contributions(&self, value: Value, most: usize) -> Vec<Contribution> {
        let mut found = Vec::new();
        let mut stack = vec![value];
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

    /// The value as a formula over ranks, such as `(0+1)+2`; long ones are cut.
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
