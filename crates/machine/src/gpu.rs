//! `[gpu]`: the accelerators of a node, as NCCL's tables see them. No simulation reads it.

use hocket_core::Result;

use crate::Section;

const GENERATIONS: [(&str, ()); 4] = [("volta", ()), ("ampere", ()), ("hopper", ()), ("blackwell", ())];
const LINKS: [(&str, ()); 3] = [("nvswitch", ()), ("nvlink", ()), ("pcie", ())];
const PROCESSORS: [(&str, ()); 3] = [("intel", ()), ("amd", ()), ("other", ())];

/// Checks the keys, whose values are among those read so far:
///
/// - `generation`: of the accelerators;
/// - `links` between those of a node, by default "nvswitch";
/// - `processor`: who made the hosts' processors, by default "intel";
/// - `channels`, `channel_bandwidth`: the channels of a job within a node;
/// - `network_channels`, `network_channel_bandwidth`: those of a job on several nodes, by default one for each card.
pub(crate) fn check(section: &Section) -> Result<()> {
    section.required_choice("generation", &GENERATIONS)?;
    section.choice("links", &LINKS)?;
    section.choice("processor", &PROCESSORS)?;
    section.count("channels")?;
    section.bytes_per_s("channel_bandwidth")?;
    section.count_or("network_channels", 1)?;
    section.optional_bytes_per_s("network_channel_bandwidth")?;
    section.finish()
}
