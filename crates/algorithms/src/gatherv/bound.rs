//! Lower bounds of gatherv: those of gather.
//!
//! Source: that of gather.

use hocket_core::demand::Demand;

use crate::gather::bound;

/// The demand on every algorithm.
pub const DEMAND: Demand = bound::DEMAND;
