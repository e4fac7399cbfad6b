//! The values that a user gives for the parameters of a call.

use std::fmt;

use hocket_core::{Call, Result};

use crate::automatic::{AUTO, Decide, Formula, Surroundings, has_none};
use crate::{Entry, complete};

/// The values given for an algorithm's parameters: numbers, and automatic values.
#[derive(Clone, Default)]
pub struct ParameterValues {
    numbers: Vec<(String, u64)>,
    automatic: Vec<(&'static str, Decide)>,
}

impl ParameterValues {
    /// These numbers, and the automatic values on a machine for the parameters that `automatic` names.
    ///
    /// # Errors
    /// An undeclared parameter, a number below the parameter's least value, a parameter without automatic value, or a
    /// machine that lacks what the value depends on.
    pub fn new<'a>(
        entry: &Entry,
        numbers: Vec<(String, u64)>,
        automatic: impl IntoIterator<Item = &'a str>,
        surroundings: &Surroundings,
    ) -> Result<Self> {
        let automatic: Vec<&str> = automatic.into_iter().collect();
        let default = |name| entry.about.parameter(name).map_or(0, |parameter| parameter.default);
        let defaults = automatic.iter().map(|name| ((*name).to_owned(), default(*name)));
        let all: Vec<_> = numbers.iter().cloned().chain(defaults).collect();
        complete(entry.about.parameters, &all, 1).map_err(|error| error.at(entry))?;
        let formula = Formula { cost: entry.about.cost, ports: entry.about.ports };
        let automatic = automatic.into_iter().map(|name| {
            let declared = entry.about.automatic.iter().find(|automatic| automatic.parameter == name);
            let declared = declared.ok_or_else(|| has_none(&format!("{}/{}", entry.collective, entry.name), name))?;
            let decide = (declared.read)(formula, surroundings).map_err(|error| error.at(format!("{name}={AUTO}")))?;
            Ok((declared.parameter, decide))
        });
        Ok(Self { automatic: automatic.collect::<Result<_>>()?, numbers })
    }

    /// The values of the parameters that are automatic in a call.
    pub fn automatic(&self, entry: &Entry, call: &Call) -> Result<Vec<(&'static str, u64)>> {
        if self.automatic.is_empty() {
            return Ok(Vec::new());
        }
        let call = entry.accept(call, &self.numbers)?;
        Ok(self.automatic.iter().map(|(name, decide)| (*name, decide(&call))).collect())
    }

    /// The call with these values, as the algorithm accepts it.
    pub fn accept(&self, entry: &Entry, call: &Call) -> Result<Call> {
        let automatic = self.automatic(entry, call)?.into_iter().map(|(name, value)| (name.to_owned(), value));
        entry.accept(call, &self.numbers.iter().cloned().chain(automatic).collect::<Vec<_>>())
    }
}

impl fmt::Debug for ParameterValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let automatic = self.automatic.iter().map(|(name, _)| (*name, AUTO.to_owned()));
        let numbers = self.numbers.iter().map(|(name, value)| (name.as_str(), value.to_string()));
        f.debug_map().entries(numbers.chain(automatic)).finish()
    }
}
