//! Lower bounds of scatterv: the bounds of scatter.
//!
//! Source: as scatter.

use hocket_core::demand::Demand;

use crate::scatter::bound;

/// The demand on every algorithm.
pub const DEMAND: Demand = bound::DEMAND;
