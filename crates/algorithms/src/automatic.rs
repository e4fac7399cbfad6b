//! Automatic values: the value `auto` of a parameter, which is computed from the call and the machine.
//!
//! An algorithm declares them beside its parameters, as [`Automatic`]. The machine is described by
//! [`Surroundings`]: in virtual time from the machine file, in the rules of an MPI program by assumptions.

use std::fmt;
use std::sync::Arc;

use hocket_core::{Call, Error, Result};

use crate::{Entry, complete};

/// The text that asks for the automatic value of a parameter.
pub const AUTO: &str = "auto";

/// The automatic value of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Automatic {
    /// The parameter's name.
    pub parameter: &'static str,
    /// Takes from the machine what the value depends on, and gives the value for each call. Refuses a machine that does
    /// not say it.
    pub on: fn(&Surroundings) -> Result<Decide>,
}

/// The automatic value for a call that has values of all parameters: of this one, the default.
pub type Decide = Arc<dyn Fn(&Call) -> u64 + Send + Sync>;

/// The properties of a machine that automatic values depend on. An error says why the machine does not have one.
pub struct Surroundings {
    /// How long messages take.
    pub messages: Result<Messages>,
    /// How often and for how long messages are held up; none if they never are.
    pub noise: Result<Option<Noise>>,
    /// How often and for how long processors are held up, as far as that is known; none if they never are.
    pub held: Option<Noise>,
    /// Links and processors; none if the machine has no links.
    pub links: Option<Links>,
}

/// Messages on an idle network.
#[derive(Clone)]
pub struct Messages {
    /// How long a message of so many bytes takes, in seconds.
    pub transfer_s: Arc<dyn Fn(u64) -> f64 + Send + Sync>,
    /// How long it occupies its sender, in seconds.
    pub overhead_s: f64,
}

/// Noise whose events come at random, or at a random phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Mean time from the start of one event to that of the next, in seconds.
    pub interval_s: f64,
    /// Length of an event, in seconds.
    pub duration_s: f64,
}

/// Links and processors of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// How long a processor is busy with each message, in seconds.
    pub latency_s: f64,
    /// Bandwidth of a link.
    pub link_bytes_per_s: f64,
    /// How fast a processor combines; infinite if that takes no time.
    pub reduce_bytes_per_s: f64,
}

impl Surroundings {
    /// The assumptions about the machine on which an MPI program runs: 1 us of software per message, and links and
    /// processors of 10 GB/s, as in the preset `cluster`. Its noise is not known.
    pub fn assumed() -> Self {
        let unknown = || Error::new("the rules of an MPI program have no machine to take it from, expected a number");
        Self {
            messages: Err(unknown()),
            noise: Err(unknown()),
            held: None,
            links: Some(Links { latency_s: 1e-6, link_bytes_per_s: 10e9, reduce_bytes_per_s: 10e9 }),
        }
    }
}

/// Values that are given for an algorithm's parameters: numbers, and automatic ones.
#[derive(Clone, Default)]
pub struct Given {
    numbers: Vec<(String, u64)>,
    automatic: Vec<(&'static str, Decide)>,
}

impl Given {
    /// These numbers, and automatic values on a machine for the parameters that `automatic` names.
    ///
    /// # Errors
    /// A parameter that is not declared, a number below its least, a parameter without automatic value, or a machine that
    /// does not say what the value depends on.
    pub fn new<'a>(
        entry: &Entry,
        numbers: Vec<(String, u64)>,
        automatic: impl IntoIterator<Item = &'a str>,
        on: &Surroundings,
    ) -> Result<Self> {
        let automatic: Vec<&str> = automatic.into_iter().collect();
        let parameters = entry.about.parameters;
        let default = |name| parameters.iter().find(|declared| declared.name == name).map_or(0, |p| p.default);
        let named = automatic.iter().map(|name| ((*name).to_owned(), default(*name)));
        let all: Vec<_> = numbers.iter().cloned().chain(named).collect();
        complete(parameters, &all, 1).map_err(|error| error.at(entry))?;
        let automatic = automatic.into_iter().map(|name| {
            let declared = entry.about.automatic.iter().find(|automatic| automatic.parameter == name);
            let declared = declared.ok_or_else(|| has_none(&format!("{}/{}", entry.collective, entry.name), name))?;
            let decide = (declared.on)(on).map_err(|error| error.at(format!("{name}={AUTO}")))?;
            Ok((declared.parameter, decide))
        });
        Ok(Self { automatic: automatic.collect::<Result<_>>()?, numbers })
    }

    /// The values of the parameters that are automatic in a call.
    ///
    /// # Errors
    /// As [`Entry::accept`].
    pub fn automatic(&self, entry: &Entry, call: &Call) -> Result<Vec<(&'static str, u64)>> {
        if self.automatic.is_empty() {
            return Ok(Vec::new());
        }
        let call = entry.accept(call, &self.numbers)?;
        Ok(self.automatic.iter().map(|(name, decide)| (*name, decide(&call))).collect())
    }

    /// The call as the algorithm takes it with these values.
    ///
    /// # Errors
    /// As [`Entry::accept`].
    pub fn accept(&self, entry: &Entry, call: &Call) -> Result<Call> {
        let automatic = self.automatic(entry, call)?.into_iter().map(|(name, value)| (name.to_owned(), value));
        entry.accept(call, &self.numbers.iter().cloned().chain(automatic).collect::<Vec<_>>())
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let automatic = self.automatic.iter().map(|(name, _)| (*name, AUTO.to_owned()));
        let numbers = self.numbers.iter().map(|(name, value)| (name.as_str(), value.to_string()));
        f.debug_map().entries(numbers.chain(automatic)).finish()
    }
}

/// The refusal of `auto` for a parameter that takes numbers only.
pub fn has_none(algorithm: &str, parameter: &str) -> Error {
    Error::new(format!("{algorithm}: parameter {parameter} = {AUTO}, but it has no automatic value, expected a number"))
}

#[cfg(test)]
mod tests {
    use crate::CATALOGUE;

    #[test]
    fn automatic_values_are_of_parameters_that_are_declared() {
        for entry in CATALOGUE {
            for automatic in entry.about.automatic {
                assert!(entry.about.parameters.iter().any(|declared| declared.name == automatic.parameter), "{entry}");
            }
        }
    }
}
