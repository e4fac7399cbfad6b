//! Redundant butterfly: the allreduce of this name, with empty vectors.
//!
//! Source: as allreduce redundant_butterfly. A message says that all ranks have entered the barrier.
//! Needs: nothing of the call. Its parameters need T <= log2 P (T <= 1 for one rank) and one or two hosts.
//! Counts: K = floor(log2 P) exchanges, and T redundant exchanges, each of which occupies its sender for o seconds.
//! When P is not 2^K, one more message is on the critical path, or two with one host.
//!
//! ```text
//! P = 4, T = 1    0 ◀─▶ 1   2 ◀─▶ 3           step 1: bit 0
//!                 0 ◀─────▶ 2   1 ◀─────▶ 3   step 2: bit 1
//!                 0 ◀─▶ 1   2 ◀─▶ 3           redundant exchange 1: all ranks have entered
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::allreduce::redundant_butterfly as allreduce;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(floor(log2(P)) + (3-hosts)*(ceil(log2(P))-floor(log2(P))))*alpha \
     + min(T, floor(log2(P)))*o",
    allreduce::ABOUT.messages,
)
.exact_when(allreduce::ABOUT.cost_is_exact)
.on_ports(allreduce::meeting)
.serving_others()
.refusing(allreduce::refuses)
.with_parameters(allreduce::ABOUT.parameters)
.with_automatic(allreduce::ABOUT.automatic)
.symmetric(allreduce::ABOUT.symmetry);

pub async fn program(r: &Rank<'_>, c: &Call) {
    allreduce::program(r, &c.in_collective(Collective::Allreduce, 0)).await;
}
