//! A communicator: it chooses the algorithm of a call, and keeps the operations of earlier calls for equal ones.

use std::ffi::CString;

use hocket_algorithms::rules::Rules;
use hocket_core::Call;

use crate::buffers::Layout;
use crate::operation::Operation;
use crate::transport::Transport;

/// Whether the operation for `earlier` can also run `call`. Parameters follow from the rest and are not compared.
fn are_alike(call: &Call, earlier: &Call) -> bool {
    call.collective == earlier.collective
        && call.root == earlier.root
        && call.counts == earlier.counts
        && call.in_place == earlier.in_place
        && call.commutative == earlier.commutative
        && call.element_bytes == earlier.element_bytes
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
    calls_left_to_mpi: Vec<(Call, bool, CString)>,
}

/// The largest number of kept operations, and of remembered calls that are left to MPI.
const MOST_KEPT: usize = 32;

impl Communicator {
    /// A communicator as seen by its rank `rank`.
    pub fn new(rank: usize, transport: Transport) -> Self {
        Self { rank, transport, rules: None, idle: Vec::with_capacity(MOST_KEPT + 1), calls_left_to_mpi: Vec::new() }
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
            self.calls_left_to_mpi.clear();
        }
        let fits = |operation: &Operation| {
            operation.is_nonblocking == is_nonblocking && operation.layout == layout && are_alike(call, &operation.call)
        };
        if let Some(index) = self.idle.iter().rposition(|operation| fits(operation)) {
            return Ok(self.idle.remove(index));
        }
        let is_passed =
            |(earlier, kind, _): &(Call, bool, CString)| *kind == is_nonblocking && are_alike(call, earlier);
        if let Some(index) = self.calls_left_to_mpi.iter().position(is_passed) {
            return Err(&self.calls_left_to_mpi[index].2);
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
                self.calls_left_to_mpi.truncate(MOST_KEPT);
                self.calls_left_to_mpi.insert(0, (call.clone(), is_nonblocking, reason));
                Err(&self.calls_left_to_mpi[0].2)
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
