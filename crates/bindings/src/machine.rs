//! Machines as Python objects that stay in the compiled module: a file is parsed once.

use std::collections::BTreeMap;
use std::sync::Arc;

use hocket_algorithms::automatic::Surroundings;
use hocket_core::Nodes;
use hocket_machine::{Machine, Section};
use hocket_simulate::Platform;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::json;

use crate::wire::{raise, write};

/// A machine file.
#[pyclass(frozen, name = "Machine", module = "hocket._native")]
pub struct PythonMachine {
    text: String,
    file: String,
    said: String,
    platform: Arc<Platform>,
    surroundings: Arc<Surroundings>,
}

#[pymethods]
impl PythonMachine {
    #[new]
    fn new(text: String, file: String) -> PyResult<Self> {
        let machine = Machine::parse(&text, &file).map_err(raise)?;
        let platform = Platform::new(&machine).map_err(raise)?;
        let surroundings = Arc::new(hocket::surroundings(&platform));
        Ok(Self { said: said(&machine, &platform)?, text, file, platform: Arc::new(platform), surroundings })
    }

    /// The content of the file as JSON.
    fn said(&self) -> &str {
        &self.said
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

    /// The nodes of the ranks; unknown without a machine.
    pub fn nodes(machine: Option<&Self>) -> &Nodes {
        machine.map_or(&Nodes::Unknown, |machine| &machine.platform.nodes)
    }
}

fn said(machine: &Machine, platform: &Platform) -> PyResult<String> {
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
    write(&json!({
        "name": platform.name,
        "model": platform.network.name(),
        "network": texts(&machine.network),
        "node": texts(&machine.node),
        "host": machine.host.as_ref().map(texts).unwrap_or_default(),
        "noise": noise,
        "quantities": machine.network.read_so_far(),
    }))
}
