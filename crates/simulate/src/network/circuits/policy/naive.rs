//! Naive: a circuit for every message, closed when no message is queued for it; requests have no effect.

use super::Policy;

pub struct Naive;

impl Policy for Naive {}
