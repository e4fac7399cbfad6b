//! Ahead: programs say which circuits they will need. A circuit is set up when both of its ends have requested it, and
//! stays until both have disconnected. A message without a circuit gets one that is closed after the message; an idle
//! circuit may be closed for it.
//!
//! Requests from both ends keep trees free of deadlock: otherwise a parent could reserve a child's port too early, and
//! the child could not serve its own children.

use super::Policy;

pub struct Ahead;

impl Policy for Ahead {
    fn ports(&self, ports: usize) -> usize {
        ports
    }

    fn opens(&self, requests: [bool; 2]) -> bool {
        requests == [true; 2]
    }

    fn keeps(&self, is_asked_for: bool) -> bool {
        is_asked_for
    }

    fn evicts(&self, for_messages: bool) -> bool {
        for_messages
    }
}
