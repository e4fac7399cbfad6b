//! A machine as the rules for automatic values see it.

use std::sync::Arc;

use hocket_algorithms::automatic::{Costs, Links, Messages, Noise, Surroundings};
use hocket_core::{Error, Result};
use hocket_machine::NoiseModel;
use hocket_simulate::{Fabric, NetworkModel, Platform};

/// Collects the quantities of a machine on which automatic values depend.
pub fn surroundings(platform: &Platform) -> Surroundings {
    Surroundings {
        costs: costs(platform),
        messages: messages_on(platform),
        noise: noise(platform),
        processor_noise: processor_noise(platform),
        links: links(platform),
    }
}

/// A message of this many bytes is long enough to tell the bandwidth.
const LONG_BYTES: u64 = 1 << 20;

/// What messages cost without contention. In networks with links, latency is the processors' and that of one link.
pub fn costs(platform: &Platform) -> Costs {
    let ports = if let NetworkModel::Hockney(network) = &platform.network { network.ports } else { None };
    let (alpha_s, beta_s_per_byte) = match (messages_on(platform), links(platform)) {
        (Ok(messages), _) => {
            let alpha_s = (messages.transfer_s)(0);
            (alpha_s, ((messages.transfer_s)(LONG_BYTES) - alpha_s) / LONG_BYTES as f64)
        }
        (Err(_), Some(links)) => (links.latency_s, 1.0 / links.link_bytes_per_s),
        (Err(_), None) => (0.0, 0.0),
    };
    Costs { alpha_s, beta_s_per_byte, gamma_s_per_byte: platform.node.reduce.last_s_per_byte(), ports }
}

fn messages_on(platform: &Platform) -> Result<Messages> {
    match &platform.network {
        NetworkModel::Hockney(network) => {
            let line = network.between;
            let transfer_s = move |bytes: u64| line.alpha_s + bytes as f64 * line.beta_s_per_byte;
            Ok(Messages { transfer_s: Arc::new(transfer_s), overhead_s: network.send_overhead_s.unwrap_or(0.0) })
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

fn processor_noise(platform: &Platform) -> Option<Noise> {
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

fn links(platform: &Platform) -> Option<Links> {
    let link_bytes_per_s = match &platform.network {
        NetworkModel::Links(network) => network.link_bytes_per_s,
        NetworkModel::Packets(network) => 1.0 / network.link_s_per_byte,
        _ => return None,
    };
    Some(Links {
        latency_s: platform.network.fabric().map_or(0.0, Fabric::processor_s),
        link_bytes_per_s,
        reduce_bytes_per_s: 1.0 / platform.node.reduce.last_s_per_byte(),
    })
}
