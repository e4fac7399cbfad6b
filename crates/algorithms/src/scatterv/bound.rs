//! Lower bounds of scatterv: those of scatter.
//!
//! Source: that of scatter.

use hocket_core::demand::Demand;

use crate::scatter::bound;

/// The demand on every algorithm.
pub const DEMAND: Demand = bound::DEMAND;
