//! Lower bounds of exscan.
//!
//! - Latency and bandwidth: as scan. All ranks have to hear of rank 0.
//! - Computation: every result except the first two takes a combination.
//!
//! Source: as scan.

use hocket_core::demand::Demand;

use crate::scan::bound;

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand { combinations: |c| c.ranks.saturating_sub(2) * c.count(0), ..bound::DEMAND };
