//! A machine as the rules for automatic values see it.

use std::sync::Arc;

use hocket_algorithms::automatic::{Costs, Links, Messages, Noise, Surroundings};
use hocket_core::{Error, Result};
use hocket_machine::NoiseModel;
use hocket_simulate::{Fabric, Line, NetworkModel, Platform};

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

/// What messages of this many bytes cost without contention. Where there are links, each message goes over one.
pub fn costs(platform: &Platform) -> Arc<dyn Fn(u64) -> Costs + Send + Sync> {
    let (line, reduce) = (line(platform), platform.node.reduce.clone());
    let ports = if let NetworkModel::Hockney(network) = &platform.network { network.ports } else { None };
    Arc::new(move |bytes| {
        let bytes = bytes as f64;
        let Line { alpha_s, beta_s_per_byte, .. } = line(bytes);
        let gamma_s_per_byte = if bytes > 0.0 { reduce.time_s(bytes) / bytes } else { 0.0 };
        Costs { alpha_s, beta_s_per_byte, gamma_s_per_byte, ports }
    })
}

/// The time of a message of this many bytes, as a line.
fn line(platform: &Platform) -> Box<dyn Fn(f64) -> Line + Send + Sync> {
    let wire = match &platform.network {
        NetworkModel::Links(network) => [network.link_latency_s, 1.0 / network.link_bytes_per_s],
        NetworkModel::Packets(network) => [network.link_latency_s, network.link_s_per_byte],
        NetworkModel::Circuits(network) => [network.latency_s, 1.0 / network.bytes_per_s],
        NetworkModel::Hockney(_) | NetworkModel::Loggp(_) => [0.0, 0.0],
    };
    let level = match &platform.network {
        NetworkModel::Hockney(network) => {
            let line = network.between;
            return Box::new(move |_| line);
        }
        NetworkModel::Loggp(network) => Some(&network.between),
        other => other.fabric().map(|fabric| &fabric.host),
    };
    let level = level.cloned();
    Box::new(move |bytes| as_line(level.as_ref().map_or(wire, |level| level.line(bytes, wire))))
}

fn as_line([alpha_s, beta_s_per_byte]: [f64; 2]) -> Line {
    Line { alpha_s, beta_s_per_byte, node_s_per_byte: 0.0 }
}

/// The number of successive ranks on a node, and the time of a message of `bytes` across it, as a line; none if it costs as
/// much as one between nodes, or if other ranks share nodes.
pub fn local_line(platform: &Platform, bytes: f64) -> Option<(usize, Line)> {
    let (levels, placement) = match &platform.network {
        NetworkModel::Hockney(network) => {
            let line = network.levels.as_ref()?.across_node()?;
            return Some((network.placement.ranks_per_node()?, *line));
        }
        NetworkModel::Loggp(network) => (&network.levels, &network.placement),
        other => (&other.fabric()?.levels, &other.fabric()?.placement),
    };
    let level = levels.as_ref()?.across_node()?;
    Some((placement.ranks_per_node()?, as_line(level.line(bytes, [0.0, 0.0]))))
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
