//! Ahead: programs say which circuits they will need. One is set up when both of its ends have asked for it, and stays until
//! both have disconnected. A message without a circuit gets one that is closed after it, and for which one that carries
//! nothing may have to go.
//!
//! That both ends ask is what keeps trees from deadlock: a child whose port its parent had reserved too early could not
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
