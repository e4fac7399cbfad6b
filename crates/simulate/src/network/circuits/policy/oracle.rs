//! Oracle: as naive, but set-up and release take no time, as if every circuit had been foreseen.

use super::{Policy, Times};

pub struct Oracle;

impl Policy for Oracle {
    fn times(&self, _times: Times) -> Times {
        Times { set_up_s: 0.0, release_s: 0.0, final_release_s: 0.0 }
    }
}
