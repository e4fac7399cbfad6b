//! The parameters of a network of circuits, from a machine file.

use hocket_core::Result;
use hocket_machine::{Machine, Section};

use super::super::Fabric;
use super::changes::{Change, Supply};
use super::policy::{PolicyName, Times};

/// The model's parameters, keys of `[network]` besides those of the fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuits {
    pub(in crate::network) fabric: Fabric,
    /// `latency`: alpha, in seconds.
    pub latency_s: f64,
    /// `bandwidth`: B, in bytes per second.
    pub bytes_per_s: f64,
    /// `ports`: k, the ports of each node.
    pub ports: usize,
    /// The times of set-up and release under the policy.
    pub times: Times,
    /// `policy`.
    pub policy: PolicyName,
    /// `requests`: whether a request that cannot be granted at once is refused.
    pub is_refusing: bool,
    /// `wavelengths` of each link in each direction.
    pub wavelengths: Option<usize>,
    /// `changes`, in the order of time.
    pub(super) changes: Vec<Change>,
}

/// The largest number of wavelengths.
const MOST_WAVELENGTHS: usize = 4096;

impl Circuits {
    pub(in crate::network) fn read(machine: &Machine) -> Result<Self> {
        let fabric = Fabric::read(machine)?;
        let section = &machine.network;
        machine.node.forbid(&["ports"], "the key ports in [network] instead")?;
        let policy = section.required_choice("policy", PolicyName::ALL)?;
        let is_short = section.contains("wavelengths");
        let wavelengths = section.count_up_to("wavelengths", MOST_WAVELENGTHS, MOST_WAVELENGTHS)?;
        let wavelengths = is_short.then_some(wavelengths);
        let mut changes = section.optional_list("changes", Change::parse)?;
        for change in &changes {
            check_change(section, *change, fabric.topology.nodes(), wavelengths.is_some())?;
        }
        changes.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        Ok(Self {
            fabric,
            latency_s: section.time_s("latency")?,
            bytes_per_s: section.bytes_per_s("bandwidth")?,
            ports: section.count("ports")?,
            times: policy.policy().times(times(section)?),
            policy,
            is_refusing: section.choice("requests", &[("waits", false), ("refused", true)])?,
            wavelengths,
            changes,
        })
    }

    /// How long an open circuit carries a message, in seconds.
    pub(super) fn duration_s(&self, bytes: f64) -> f64 {
        self.latency_s + bytes / self.bytes_per_s
    }
}

fn times(section: &Section) -> Result<Times> {
    let is_waited = section.choice("final_release", &[("merged", false), ("waited", true)])?;
    let final_s = |release_s: f64| if is_waited { release_s } else { 0.0 };
    match section.optional_time_s("reconfiguration")? {
        Some(_) if section.contains("set_up") || section.contains("release") => {
            Err(section.reject("reconfiguration", "either reconfiguration, or set_up and release"))
        }
        Some(gamma_s) => Ok(Times { set_up_s: gamma_s, release_s: 0.0, final_release_s: final_s(gamma_s) }),
        None if !section.contains("set_up") && !section.contains("release") => {
            Err(section.reject("reconfiguration", "a time such as \"10 ms\", or the keys set_up and release"))
        }
        None => {
            let (set_up_s, release_s) = (section.time_s("set_up")?, section.time_s("release")?);
            Ok(Times { set_up_s, release_s, final_release_s: final_s(release_s) })
        }
    }
}

/// Refuses a change of ports or wavelengths that the network does not have.
fn check_change(section: &Section, change: Change, nodes: usize, has_wavelengths: bool) -> Result<()> {
    match change.what {
        Supply::Ports { node: Some(node), .. } if node >= nodes => {
            Err(section.reject("changes", &format!("nodes below {nodes}, but a change names node {node}")))
        }
        Supply::Wavelengths(_) if !has_wavelengths => {
            Err(section.reject("changes", "a key `wavelengths` beside changes of wavelengths"))
        }
        Supply::Wavelengths(count) if count > MOST_WAVELENGTHS => {
            Err(section.reject("changes", &format!("at most {MOST_WAVELENGTHS} wavelengths")))
        }
        _ => Ok(()),
    }
}
