//! The lower bound of a call on a machine.

use hocket_core::demand::Demand;
use hocket_core::{Call, Result};

use crate::call_demand::{Bound, CallDemand};
use crate::network::{self, Network};
use crate::platform::Platform;

/// The times that no algorithm for `call`, with this demand, can beat on `platform`, with or without noise.
///
/// # Errors
/// As [`Platform::check_ranks`].
pub fn bound(call: &Call, demand: &Demand, platform: &Platform) -> Result<Bound> {
    platform.check_ranks(call.ranks)?;
    if call.ranks < 2 {
        return Ok(Bound::default());
    }
    Ok(platform.network.visit(Bounding(&CallDemand { call, demand, node: &platform.node })))
}

struct Bounding<'a>(&'a CallDemand<'a>);

impl network::Visitor for Bounding<'_> {
    type Output = Bound;

    fn visit<N: Network + Sync>(self, network: &N) -> Bound {
        network.bound(self.0)
    }
}
