//! The lower bound of a call on a machine.

use hocket_core::demand::Demand;
use hocket_core::{Call, Result};

use crate::call_demand::{Bound, CallDemand};
use crate::network::{self, Network};
use crate::platform::Platform;

/// The times that no algorithm for `call`, with this demand, can beat on `platform`, with or without noise.
pub fn bound(call: &Call, demand: &Demand, platform: &Platform) -> Result<Bound> {
    platform.check_ranks(call.ranks)?;
    if call.ranks < 2 {
        return Ok(Bound::NONE);
    }
    let bound = platform.network.visit(Bounding(&CallDemand { call, demand, node: &platform.node }));
    Ok(bound.after(platform.node.call_overhead_s))
}

struct Bounding<'a>(&'a CallDemand<'a>);

impl network::Visitor for Bounding<'_> {
    type Output = Bound;

    fn visit<N: Network>(self, network: &N) -> Bound {
        let bound = network.bound(self.0);
        let shared_s = network.resources().and_then(|(resources, placement)| resources.passing_s(self.0, placement));
        Bound { bandwidth_s: bound.bandwidth_s.into_iter().chain(shared_s).reduce(f64::max), ..bound }
    }
}
