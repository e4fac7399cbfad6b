//! Ahead: programs say which circuits they will need. A circuit is set up when both of its ends have asked for it, and
//! stays until both have disconnected. A message without a circuit gets one that is closed after the message, and for
//! which an idle circuit may have to be closed.
//!
//! Requests from both ends keep trees from deadlock: a child whose port its parent had reserved too early could not
//! serve its own children.

use super::Policy;

pub struct Ahead;

impl Policy for Ahead {
    fn ports(&self, ports: usize) -> usize {
        ports
    }

    fn opens(&self, asked: [bool; 2]) -> bool {
        asked == [true; 2]
    }

    fn keeps(&self, is_asked_for: bool) -> bool {
        is_asked_for
    }

    fn evicts(&self, for_messages: bool) -> bool {
        for_messages
    }
}
