//! Machines as Python objects that stay in the compiled module: a file is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hocket::critical_path::{PathMachines, Variants};
use hocket::request::OnMachine;
use hocket_algorithms::automatic::Surroundings;
use hocket_core::Result;
use hocket_machine::topology::hosts;
use hocket_machine::{Changes, Layout, Machine, Noise, Protocol, Scaled, Section, Values};
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
    quiet: OnceLock<(Arc<Platform>, Surroundings)>,
}

#[pymethods]
impl PythonMachine {
    #[new]
    fn new(text: String, file: String) -> PyResult<Self> {
        Self::read(text, file).map_err(raise)
    }

    /// The machine with the values of one of its protocols in place.
    fn with_protocol(&self, name: &str) -> PyResult<Self> {
        let protocol = Protocol::read(&self.text, &self.file, name).map_err(raise)?;
        Self::new(protocol.text(), format!("{}:{name}", self.file))
    }

    /// Another machine, by changes of the text; none if it stays the same.
    fn variant(
        &self,
        moves: Vec<(Vec<String>, Vec<String>)>,
        without: Vec<Vec<String>>,
        values: String,
        scaled: Scaled,
    ) -> PyResult<Option<Self>> {
        let changes = Changes { moves, without, values, scaled };
        let text = changes.make(&self.text, &self.file).map_err(raise)?;
        (text != self.text).then(|| Self::new(text, self.file.clone())).transpose()
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
    fn read(text: String, file: String) -> Result<Self> {
        let machine = Machine::parse(&text, &file)?;
        if let Some(text) = machine.text_with_hosts()? {
            return Self::read(text, file);
        }
        let platform = Platform::new(&machine)?;
        hocket::barrier_of(&platform)?;
        for name in &machine.protocols {
            let protocol = Protocol::read(&text, &file, name)?;
            Self::read(protocol.text(), file.clone()).map_err(|error| protocol.translate(&error))?;
        }
        let surroundings = Arc::new(hocket::surroundings(&platform));
        let (sections, platform) = (sections(&machine, &platform)?, Arc::new(platform));
        Ok(Self { text, file, sections, platform, surroundings, quiet: OnceLock::new() })
    }

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
        if self.platform.noise.is_quiet() {
            return self.view(late_rank);
        }
        let (platform, surroundings) = self.quiet.get_or_init(|| {
            let platform = without_noise(&self.platform);
            let surroundings = hocket::surroundings(&platform);
            (platform, surroundings)
        });
        OnMachine { platform, surroundings, late_rank }
    }

    /// The machines that tell what a message consists of; `halves` are half of the latency, and of the overhead.
    pub fn path_machines(&self, halves: &[Scaled; 2]) -> Result<PathMachines> {
        let variant = |text: &str, changes: &Changes| {
            let new = changes.make(text, &self.file)?;
            let machine = (new != text).then(|| Platform::new(&Machine::parse(&new, &self.file)?)).transpose()?;
            Ok(machine.map(|machine| (new, without_noise(&machine))))
        };
        let variants = |(text, machine): (String, Arc<Platform>)| {
            let half = |scaled: &Scaled| {
                let machine = variant(&text, &Changes { scaled: scaled.clone(), ..Changes::default() })?;
                Ok(machine.map(|(_, machine)| machine))
            };
            Ok(Variants { machine, with_half: [half(&halves[0])?, half(&halves[1])?] })
        };
        let without = vec![["*", "new_peer"].map(str::to_owned).to_vec()];
        let later = variant(&self.text, &Changes { without, ..Changes::default() })?;
        let first = (self.text.clone(), without_noise(&self.platform));
        Ok(PathMachines { first: variants(first)?, later: later.map(variants).transpose()? })
    }

    /// The network, if messages share its links.
    fn fabric(&self) -> PyResult<&Fabric> {
        let name = &self.platform.name;
        let error = || Error::new_err(format!("machine {name} has no topology, expected a machine with a topology"));
        self.platform.network.fabric().ok_or_else(error)
    }
}

fn without_noise(platform: &Platform) -> Arc<Platform> {
    Arc::new(Platform { noise: Noise::default(), ..platform.clone() })
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

fn sections(machine: &Machine, platform: &Platform) -> Result<Value> {
    let texts = |section: &Section| {
        section.values().map(|(key, text)| (key.to_owned(), text.to_owned())).collect::<BTreeMap<_, _>>()
    };
    let mut noise = BTreeMap::new();
    for kind in ["os", "network"] {
        let section = machine.noise.optional_section(kind)?;
        if !section.is_empty() {
            noise.insert(kind, texts(&section));
        }
    }
    let mut parts = BTreeMap::new();
    for (name, section) in [("network", &machine.network), ("node", &machine.node)] {
        for part in section.parts() {
            parts.insert(format!("{name}.{part}"), texts(&section.optional_section(part)?));
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
        "is_random": !platform.is_certain(),
        "parts": parts,
        "protocols": machine.protocols,
        "discrepancies": machine.discrepancies,
        "quantities": machine.network.read_so_far(),
    }))
}
