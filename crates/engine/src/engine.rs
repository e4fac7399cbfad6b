//! One engine per communicator: it chooses the algorithm of a call, and keeps the operations of earlier calls for
//! calls like them.

use std::ffi::CString;

use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Collective, Counts};

use crate::buffers::Layout;
use crate::operation::Operation;
use crate::transport::Transport;

/// The arguments of a call. Two calls with the same arguments run the same operation, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The collective.
    pub collective: Collective,
    /// Whether the call returns before it is complete.
    pub is_nonblocking: bool,
    /// The root, 0 where there is none.
    pub root: usize,
    /// Elements per block, or of the vector.
    pub count: usize,
    /// Elements of each rank's block, where they differ.
    pub counts: Option<&'a [usize]>,
    /// Whether this rank's input lies in its result.
    pub in_place: bool,
    /// Whether operands may be swapped.
    pub commutative: bool,
    /// Size of an element's data.
    pub element_bytes: usize,
    /// How elements lie in memory.
    pub layout: Layout,
}

impl Request<'_> {
    pub(crate) fn call(&self, ranks: usize) -> Call {
        let counts = self.counts.map_or(Counts::Equal(self.count), Counts::each);
        let Self { collective, root, in_place, commutative, element_bytes, .. } = *self;
        Call { root, counts, in_place, commutative, element_bytes, ..Call::new(collective, ranks, 0) }
    }

    fn is_like(&self, kind: &Kind) -> bool {
        let call = &kind.call;
        let counts_are_equal = match (&call.counts, self.counts) {
            (Counts::Equal(count), None) => *count == self.count,
            (Counts::Offsets(offsets), Some(counts)) => {
                offsets.windows(2).map(|pair| pair[1] - pair[0]).eq(counts.iter().copied())
            }
            _ => false,
        };
        counts_are_equal
            && kind.layout == self.layout
            && kind.is_nonblocking == self.is_nonblocking
            && call.collective == self.collective
            && call.root == self.root
            && call.in_place == self.in_place
            && call.commutative == self.commutative
            && call.element_bytes == self.element_bytes
    }
}

/// The arguments that similar calls share.
#[derive(Debug)]
pub struct Kind {
    pub(crate) call: Call,
    pub(crate) layout: Layout,
    is_nonblocking: bool,
}

impl Kind {
    /// Calls that return when they are complete.
    pub(crate) fn blocking(call: Call, layout: Layout) -> Self {
        Self { call, layout, is_nonblocking: false }
    }
}

/// The algorithms of one communicator.
pub struct Engine {
    rank: usize,
    ranks: usize,
    transport: Transport,
    /// The rules that were asked last.
    rules: Option<&'static Rules>,
    /// Operations that are not running, the one used last at the end.
    #[expect(clippy::vec_box, reason = "C is given the boxes, and a new one would have to be allocated")]
    idle: Vec<Box<Operation>>,
    /// Calls that are left to MPI, and why.
    passed: Vec<(Kind, CString)>,
}

/// Operations that an engine keeps, and calls of which it remembers that they are left to MPI.
const MOST_KEPT: usize = 32;

impl Engine {
    /// An engine of rank `rank` of `ranks`.
    pub fn new(rank: usize, ranks: usize, transport: Transport) -> Self {
        Self { rank, ranks, transport, rules: None, idle: Vec::with_capacity(MOST_KEPT + 1), passed: Vec::new() }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The algorithm that `rules` have for the call, not yet started. With other rules than before, what was kept of
    /// earlier calls is dropped.
    ///
    /// # Errors
    /// The reason why MPI has to do it.
    pub fn prepare(&mut self, rules: &'static Rules, request: &Request<'_>) -> Result<Box<Operation>, &CString> {
        if self.rules.is_none_or(|last| !std::ptr::eq(last, rules)) {
            self.rules = Some(rules);
            self.idle.clear();
            self.passed.clear();
        }
        if let Some(index) = self.idle.iter().rposition(|operation| request.is_like(&operation.kind)) {
            return Ok(self.idle.remove(index));
        }
        if let Some(index) = self.passed.iter().position(|(kind, _)| request.is_like(kind)) {
            return Err(&self.passed[index].1);
        }
        let Request { layout, is_nonblocking, .. } = *request;
        let kind = Kind { call: request.call(self.ranks), layout, is_nonblocking };
        match rules.decide(&kind.call, is_nonblocking) {
            Ok((entry, call)) => Ok(Box::new(Operation::new(entry, call, kind, self.rank, self.transport))),
            Err(reason) => {
                self.passed.truncate(MOST_KEPT);
                self.passed.insert(0, (kind, CString::new(reason.to_string()).unwrap_or_default()));
                Err(&self.passed[0].1)
            }
        }
    }

    /// The operation is done, and can run again.
    pub fn keep(&mut self, operation: Box<Operation>) {
        if self.idle.len() == MOST_KEPT {
            self.idle.remove(0);
        }
        self.idle.push(operation);
    }
}
