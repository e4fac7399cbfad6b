//! Rails: card i of every node is on rail i, one leaf switch for each pod of nodes; with or without spines between leaves.
//!
//! Keys: `nodes`, `rails` (cards of a node), `nodes_per_pod` (default all), `spines` (default 0). Every leaf has a link to
//! every spine. Without spines there is one pod.
//!
//! Source: W. Wang, M. Ghobadi, K. Shakeri, Y. Zhang, N. Hasani, "Rail-only: a low-cost high-performance network for
//! training LLMs with trillion parameters", HOTI 2024.

use hocket_core::Result;

use super::check_size;
use super::graph::{Graph, Parts};
use crate::Section;

pub(super) fn read(section: &Section) -> Result<Graph> {
    let (nodes, rails) = (section.count("nodes")?, section.count("rails")?);
    let per_pod = section.count_or("nodes_per_pod", nodes)?;
    let spines = section.count_up_to("spines", 0, 1 << 16)?;
    let pods = nodes.div_ceil(per_pod);
    section.ensure(spines != 0 || pods <= 1, "spines", "at least 1, as there are several pods")?;
    let links = nodes.saturating_add(pods.saturating_mul(spines)).saturating_mul(rails).saturating_mul(2);
    check_size(section, "rails", nodes, links)?;
    let mut parts = Parts::new(nodes, 2, "kind: links of nodes, links of spines");
    parts.names.extend((0..pods * rails).map(|leaf| format!("leaf {}.{}", leaf / rails, leaf % rails)));
    parts.names.extend((0..spines).map(|spine| format!("spine {spine}")));
    for node in 0..nodes {
        (0..rails).for_each(|rail| parts.join(node, nodes + node / per_pod * rails + rail, 0));
    }
    for leaf in nodes..nodes + pods * rails {
        (0..spines).for_each(|spine| parts.join(leaf, nodes + pods * rails + spine, 1));
    }
    parts.connect("rails")
}
