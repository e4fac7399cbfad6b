//! Keep: every circuit stays until another one needs its port or its wavelength; the least recently used one goes
//! first. `connect` opens a circuit early, and `disconnect` closes it early.

use super::Policy;

pub struct Keep;

impl Policy for Keep {
    fn opens(&self, requests: [bool; 2]) -> bool {
        requests.contains(&true)
    }

    fn keeps(&self, _is_asked_for: bool) -> bool {
        true
    }

    fn closes_early(&self) -> bool {
        true
    }

    fn evicts(&self, _for_messages: bool) -> bool {
        true
    }
}
