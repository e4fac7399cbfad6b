//! A communicator: it chooses the algorithm of a call, and keeps the operations of earlier calls for equal ones.

use std::ffi::CString;

use hocket_algorithms::rules::Rules;
use hocket_core::Call;

use crate::buffers::Layout;
use crate::operation::Operation;
use crate::transport::Transport;

/// Whether the operation for `kept` can also run `call`. Parameters follow from the rest and are not compared.
fn are_alike(call: &Call, kept: &Call) -> bool {
    call.collective == kept.collective
        && call.root == kept.root
        && call.counts == kept.counts
        && call.in_place == kept.in_place
        && call.commutative == kept.commutative
        && call.element_bytes == kept.element_bytes
}

/// The algorithms of one communicator.
pub struct Communicator {
    pub(crate) rank: usize,
    transport: Transport,
    /// The rules used last.
    rules: Option<&'static Rules>,
    /// Operations that are not running, the most recently used one at the end.
    #[expect(clippy::vec_box, reason = "C is given the boxes, and a new one would have to be allocated")]
    idle: Vec<Box<Operation>>,
    /// Calls that are left to MPI: the call, whether it is nonblocking, and the reason.
    passed: Vec<(Call, bool, CString)>,
}

/// The largest number of kept operations, and of remembered calls that are left to MPI.
const MOST_KEPT: usize = 32;

impl Communicator {
    /// A communicator as seen by its rank `rank`.
    pub fn new(rank: usize, transport: Transport) -> Self {
        Self { rank, transport, rules: None, idle: Vec::with_capacity(MOST_KEPT + 1), passed: Vec::new() }
    }

    /// The algorithm that `rules` choose for the call, not yet started. Different rules than before drop everything
    /// kept from earlier calls.
    ///
    /// # Errors
    /// The reason why the call is left to MPI.
    pub fn prepare(
        &mut self,
        rules: &'static Rules,
        call: &Call,
        is_nonblocking: bool,
        layout: Layout,
    ) -> Result<Box<Operation>, &CString> {
        if self.rules.is_none_or(|last| !std::ptr::eq(last, rules)) {
            self.rules = Some(rules);
            self.idle.clear();
            self.passed.clear();
        }
        let fits = |operation: &Operation| {
            operation.is_nonblocking == is_nonblocking && operation.layout == layout && are_alike(call, &operation.call)
        };
        if let Some(index) = self.idle.iter().rposition(|operation| fits(operation)) {
            return Ok(self.idle.remove(index));
        }
        let is_passed = |(kept, kind, _): &(Call, bool, CString)| *kind == is_nonblocking && are_alike(call, kept);
        if let Some(index) = self.passed.iter().position(is_passed) {
            return Err(&self.passed[index].2);
        }
        match rules.decide_by_rule(call, is_nonblocking) {
            Ok((rule, entry, call)) => {
                let mut operation = Box::new(Operation::new(entry, call, layout, self.rank, self.transport));
                operation.is_nonblocking = is_nonblocking;
                operation.rule = rule;
                Ok(operation)
            }
            Err(reason) => {
                let reason = CString::new(reason.to_string()).unwrap_or_default();
                self.passed.truncate(MOST_KEPT);
                self.passed.insert(0, (call.clone(), is_nonblocking, reason));
                Err(&self.passed[0].2)
            }
        }
    }

    /// Keeps an operation that is done, to run it again.
    pub fn keep(&mut self, operation: Box<Operation>) {
        if self.idle.len() == MOST_KEPT {
            self.idle.remove(0);
        }
        self.idle.push(operation);
    }
}
