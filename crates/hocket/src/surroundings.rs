//! A machine as the rules for automatic values see it.

use std::sync::Arc;

use hocket_algorithms::automatic::{Links, Messages, Noise, Surroundings};
use hocket_core::{Error, Result};
use hocket_machine::{Machine, NoiseModel};
use hocket_simulate::{Fabric, NetworkModel, Platform};

/// Collects the quantities of a machine and its platform on which automatic values depend.
///
/// # Errors
/// An invalid bandwidth or time in the machine file.
pub fn surroundings(machine: &Machine, platform: &Platform) -> Result<Surroundings> {
    Ok(Surroundings {
        messages: messages(machine, platform),
        noise: noise(platform),
        held: held(platform),
        links: links(machine, platform)?,
    })
}

fn messages(machine: &Machine, platform: &Platform) -> Result<Messages> {
    match &platform.network {
        NetworkModel::Hockney(network) => {
            let (latency_s, bytes_per_s) = (network.between.alpha_s, machine.network.bytes_per_s("bandwidth")?);
            Ok(Messages {
                transfer_s: Arc::new(move |bytes| latency_s + bytes as f64 / bytes_per_s),
                overhead_s: network.send_overhead_s.unwrap_or(0.0),
            })
        }
        NetworkModel::Loggp(network) => {
            let (level, overhead_s) = (network.between.clone(), network.between.of(0.0).o[0]);
            let transfer_s = move |bytes: u64| level.of(bytes as f64).time_s(bytes as f64);
            Ok(Messages { transfer_s: Arc::new(transfer_s), overhead_s })
        }
        other => {
            let (name, model) = (&platform.name, other.name());
            Err(Error::new(format!("machine {name} has the network model {model}, expected hockney or loggp")))
        }
    }
}

fn noise(platform: &Platform) -> Result<Option<Noise>> {
    match &platform.noise.network {
        None => Ok(None),
        Some(NoiseModel::Poisson(poisson)) => {
            Ok(Some(Noise { interval_s: poisson.interval_s, duration_s: poisson.duration_s }))
        }
        Some(other) => {
            let (name, model) = (&platform.name, other.name());
            Err(Error::new(format!("machine {name} has the network noise model {model}, expected poisson")))
        }
    }
}

fn held(platform: &Platform) -> Option<Noise> {
    match &platform.noise.os {
        Some(NoiseModel::Poisson(poisson)) => {
            Some(Noise { interval_s: poisson.interval_s, duration_s: poisson.duration_s })
        }
        Some(NoiseModel::Periodic(periodic)) => {
            Some(Noise { interval_s: periodic.period_s, duration_s: periodic.duration_s })
        }
        _ => None,
    }
}

fn links(machine: &Machine, platform: &Platform) -> Result<Option<Links>> {
    let Some(link_bytes_per_s) = machine.network.optional_bytes_per_s("link_bandwidth")? else { return Ok(None) };
    let reduce_bytes_per_s = machine.node.optional_bytes_per_s("reduce_bandwidth")?;
    Ok(Some(Links {
        latency_s: platform.network.fabric().map_or(0.0, Fabric::processor_s),
        link_bytes_per_s,
        reduce_bytes_per_s: reduce_bytes_per_s.unwrap_or(f64::INFINITY),
    }))
}
