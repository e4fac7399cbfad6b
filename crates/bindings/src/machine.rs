//! Machines as Python objects that stay in the compiled module: a file is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hocket::request::OnMachine;
use hocket_algorithms::automatic::Surroundings;
use hocket_machine::topology::hosts;
use hocket_machine::{Layout, Machine, Noise, Section, Values};
use hocket_simulate::{Fabric, Platform};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{Value, json};

use crate::topology;
use crate::wire::{Error, Plain, raise};

/// A machine file.
#[pyclass(frozen, name = "Machine", module = "hocket._native")]
pub struct PythonMachine {
    text: String,
    file: String,
    sections: Value,
    platform: Arc<Platform>,
    surroundings: Arc<Surroundings>,
    /// Both without noise, once they are asked for.
    quiet: OnceLock<(Platform, Surroundings)>,
}

#[pymethods]
impl PythonMachine {
    #[new]
    fn new(text: String, file: String) -> PyResult<Self> {
        let machine = Machine::parse(&text, &file).map_err(raise)?;
        if let Some(text) = machine.text_with_hosts().map_err(raise)? {
            return Self::new(text, file);
        }
        let platform = Platform::new(&machine).map_err(raise)?;
        hocket::barrier_of(&platform).map_err(raise)?;
        let surroundings = Arc::new(hocket::surroundings(&platform));
        let (sections, platform) = (sections(&machine, &platform)?, Arc::new(platform));
        Ok(Self { text, file, sections, platform, surroundings, quiet: OnceLock::new() })
    }

    /// The name of the machine and its model, the texts of all keys by section, and their values.
    #[getter]
    fn sections(&self) -> Plain<&Value> {
        Plain(&self.sections)
    }

    /// The text of its file; the node of each rank is in it, even if the file names a file of hosts for that.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The card of a rank, given its place on its node and the number of ranks there; 0 without cards.
    fn card_of(&self, place: usize, ranks: usize) -> usize {
        self.platform.network.resources().and_then(|resources| resources.card_of(place, ranks)).unwrap_or(0)
    }

    /// The facts and the picture of the machine's network; none without a topology.
    fn topology(&self) -> Option<Plain<Value>> {
        self.platform.network.fabric().map(|fabric| Plain(topology::facts(fabric)))
    }

    /// The first nodes and switches of the network, and the first links, at most `most` of each.
    fn topology_parts(&self, most: usize) -> PyResult<Plain<Value>> {
        Ok(Plain(topology::parts(self.fabric()?, most)))
    }

    /// The links from the node of one rank to the node of another, with the virtual channel of each.
    fn topology_route(&self, source: usize, target: usize) -> PyResult<Plain<Value>> {
        Ok(Plain(topology::route(self.fabric()?, source, target)?))
    }

    /// Pickles the machine.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Bound<'py, PyString>, Bound<'py, PyString>)) {
        (py.get_type::<Self>().into_any(), (PyString::new(py, &self.text), PyString::new(py, &self.file)))
    }
}

impl PythonMachine {
    /// The machine as the engines use it.
    pub fn platform(&self) -> Arc<Platform> {
        self.platform.clone()
    }

    /// The machine as the rules for automatic values see it.
    pub fn surroundings(&self) -> Arc<Surroundings> {
        self.surroundings.clone()
    }

    /// The machine as calls are made for it; `late_rank` is the rank that is late in all trials, if one is.
    pub fn view(&self, late_rank: Option<usize>) -> OnMachine<'_> {
        OnMachine { platform: &self.platform, surroundings: &self.surroundings, late_rank }
    }

    /// As [`Self::view`], without noise.
    pub fn quiet_view(&self, late_rank: Option<usize>) -> OnMachine<'_> {
        let view = self.view(late_rank);
        if view.platform.noise.is_quiet() {
            return view;
        }
        let (platform, surroundings) = self.quiet.get_or_init(|| {
            let platform = Platform { noise: Noise::default(), ..(*self.platform).clone() };
            let surroundings = hocket::surroundings(&platform);
            (platform, surroundings)
        });
        OnMachine { platform, surroundings, ..view }
    }

    /// The network, if messages share its links.
    fn fabric(&self) -> PyResult<&Fabric> {
        let name = &self.platform.name;
        let error = || Error::new_err(format!("machine {name} has no topology, expected a machine with a topology"));
        self.platform.network.fabric().ok_or_else(error)
    }
}

/// The sizes of the grid of a job that lies so on a torus.
#[pyfunction]
pub fn shape_of_job(layout: &str) -> PyResult<Vec<usize>> {
    Layout::parse(layout).map(|layout| layout.job()).map_err(|error| raise(error.at("layout")))
}

/// The node of each rank by a file of hosts.
#[pyfunction]
pub fn nodes_of_ranks(text: &str, file: &str) -> PyResult<Vec<usize>> {
    hosts::nodes_of_ranks(text, file).map_err(raise)
}

/// The values of a machine file in which numbers are left open, with an example in place of each.
#[pyfunction]
pub fn skeleton_quantities(text: &str, file: &str) -> PyResult<Plain<Values>> {
    let machine = Machine::parse_skeleton(text, file).map_err(raise)?;
    Platform::new(&machine).map_err(raise)?;
    Ok(Plain(machine.network.read_so_far()))
}

fn sections(machine: &Machine, platform: &Platform) -> PyResult<Value> {
    let texts = |section: &Section| {
        section.values().map(|(key, text)| (key.to_owned(), text.to_owned())).collect::<BTreeMap<_, _>>()
    };
    let mut noise = BTreeMap::new();
    for kind in ["os", "network"] {
        let section = machine.noise.optional_section(kind).map_err(raise)?;
        if !section.is_empty() {
            noise.insert(kind, texts(&section));
        }
    }
    let mut parts = BTreeMap::new();
    for (name, section) in [("network", &machine.network), ("node", &machine.node)] {
        for part in section.parts() {
            parts.insert(format!("{name}.{part}"), texts(&section.optional_section(part).map_err(raise)?));
        }
    }
    parts.extend(machine.gpu.as_ref().map(|gpu| ("gpu".to_owned(), texts(gpu))));
    parts.extend(machine.levels.iter().enumerate().map(|(number, level)| (format!("level[{number}]"), texts(level))));
    Ok(json!({
        "name": platform.name,
        "model": platform.network.name(),
        "network": texts(&machine.network),
        "node": texts(&machine.node),
        "host": machine.host.as_ref().map(texts).unwrap_or_default(),
        "noise": noise,
        "parts": parts,
        "protocols": machine.protocols,
        "discrepancies": machine.discrepancies,
        "quantities": machine.network.read_so_far(),
    }))
}
