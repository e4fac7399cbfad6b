//! Lower bounds of gatherv: the bounds of gather.
//!
//! Source: as gather.

use hocket_core::demand::Demand;

use crate::gather::bound;

/// The demand on every algorithm.
pub const DEMAND: Demand = bound::DEMAND;
