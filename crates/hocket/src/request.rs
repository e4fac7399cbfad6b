//! Requests: calls and the settings of their parameters, as users give them, become calls and values here.

use std::borrow::Cow;

use hocket_algorithms::automatic::{AUTO, Surroundings};
use hocket_algorithms::parameter_values::ParameterValues;
use hocket_algorithms::shapes::torus::AXES;
use hocket_algorithms::{Entry, complete, find};
use hocket_core::{Call, Collective, Error, Nodes, Parameter, Result, Stencil, Unit, ensure, names, units};
use hocket_machine::Layout;
use hocket_simulate::Platform;
use serde::{Deserialize, Serialize};

use crate::pacing::Gap;

/// The name of the gap between packets, a parameter of algorithms with steps.
pub const GAP: &str = "gap";
/// The parameter of algorithms that know which rank is late.
const LATE: &str = "late";
/// Number of axes that every algorithm for tori takes.
const LEAST_AXES: usize = 3;
/// Number of letters to which a text is cut in errors.
const MOST_LETTERS: usize = 58;

/// More ranks than any machine has; more are refused before memory is allocated.
const MOST_RANKS: usize = 1 << 26;
/// An upper bound of the neighbours that a stencil gives a rank.
const MOST_NEIGHBORS: usize = 1 << 13;

/// A call of an algorithm. Results echo it, without fields that they show in another form or ignore.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// Name of the collective.
    pub collective: String,
    /// Name of the algorithm; empty if none is needed.
    #[serde(default)]
    pub algorithm: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Message of the MPI call, in bytes.
    pub size_bytes: u64,
    /// The root, where the collective has one.
    pub root: usize,
    /// The stencil of a neighbourhood, see [`Stencil::parse`].
    pub neighbors: Option<String>,
    /// Size of an element; messages are cut between elements.
    pub element_bytes: usize,
    /// Whether input and result share memory.
    pub in_place: bool,
    /// Whether operands may be swapped.
    #[serde(skip_serializing)]
    pub commutative: bool,
    /// What the algorithm's parameters are set to.
    #[serde(default, skip_serializing)]
    pub parameters: Vec<(String, Setting)>,
}

impl CallRequest {
    /// The request for a schedule; its name is in the place of an algorithm's.
    pub fn of_schedule(name: String, ranks: usize) -> Self {
        Self {
            collective: "schedule".to_owned(),
            algorithm: name,
            ranks,
            size_bytes: 0,
            root: 0,
            neighbors: None,
            element_bytes: 1,
            in_place: false,
            commutative: true,
            parameters: Vec::new(),
        }
    }

    /// The algorithm of the catalogue.
    pub fn entry(&self) -> Result<&'static Entry> {
        find(collective(&self.collective)?, &self.algorithm)
    }

    /// The call, independently of the algorithm.
    ///
    /// # Errors
    /// An invalid call, or a size that is not a whole number of elements.
    pub fn call(&self) -> Result<Call> {
        let Self { ranks, size_bytes, element_bytes, .. } = *self;
        ensure(ranks != 0 && ranks <= MOST_RANKS, || format!("ranks: got {ranks}, expected 1 to {MOST_RANKS}"))?;
        ensure(element_bytes > 0 && size_bytes % element_bytes as u64 == 0, || {
            format!("size: got {size_bytes} B, expected a whole number of elements of {element_bytes} B")
        })?;
        let collective = collective(&self.collective)?;
        let elements = usize::try_from(size_bytes / element_bytes as u64).unwrap_or(usize::MAX);
        let blocks = if collective.has_neighbors() { ranks.saturating_mul(MOST_NEIGHBORS) } else { ranks };
        let bytes = elements.checked_mul(blocks).and_then(|all| all.checked_mul(element_bytes));
        ensure(bytes.is_some_and(|bytes| bytes <= 1 << 62), || {
            format!("size: got {size_bytes} B on {ranks} ranks, expected less than 2^62 B in all")
        })?;
        check_root(collective, self.root)?;
        let mut call = Call {
            root: self.root,
            element_bytes,
            in_place: self.in_place,
            commutative: self.commutative,
            ..Call::new(collective, ranks, elements)
        };
        if let Some(text) = &self.neighbors {
            ensure(collective.has_neighbors(), || {
                format!("neighbors: got {text:?}, but {collective} is no neighbourhood collective")
            })?;
            call.counts = collective.counts_of(Stencil::parse(text, ranks)?, elements);
        }
        call.check()?;
        Ok(call)
    }
}

/// A machine as calls are made for it.
#[derive(Clone, Copy)]
pub struct OnMachine<'a> {
    /// The machine.
    pub platform: &'a Platform,
    /// The same as the rules for automatic values see it.
    pub surroundings: &'a Surroundings,
    /// The rank that is late in all trials, if one is.
    pub late_rank: Option<usize>,
}

/// A call that an algorithm has accepted.
pub struct Accepted {
    /// The call, with all values.
    pub call: Call,
    /// What the parameters were set to.
    pub values: CallValues,
}

impl CallRequest {
    /// The call on a machine, if there is one, as an algorithm of the catalogue accepts it.
    ///
    /// # Errors
    /// An invalid call, wrong settings, or a call that the algorithm or the machine refuses.
    pub fn accept(&self, entry: &Entry, machine: Option<OnMachine<'_>>) -> Result<Accepted> {
        let signature = Signature::from(entry);
        let (element_bytes, platform) = (self.element_bytes as u64, machine.map(|machine| machine.platform));
        let late_rank = machine.and_then(|machine| machine.late_rank);
        let values = signature.values_on(&self.parameters, element_bytes, self.ranks, platform, late_rank)?;
        let nodes = platform.map_or(Ok(Nodes::Unknown), |platform| platform.nodes(self.ranks))?;
        let call = Call { nodes, ..self.call()? };
        Ok(Accepted {
            call: accept_values(entry, &call, &values, machine.map(|machine| machine.surroundings))?,
            values,
        })
    }
}

/// The call as the algorithm accepts it, with the automatic values.
///
/// # Errors
/// The algorithm refuses the call, or has no automatic value that is asked for.
pub fn accept_values(
    entry: &Entry,
    call: &Call,
    values: &CallValues,
    surroundings: Option<&Surroundings>,
) -> Result<Call> {
    let numbers = values.numbers.clone();
    match surroundings {
        Some(surroundings) if !values.automatic.is_empty() => {
            let automatic = values.automatic.iter().map(String::as_str);
            ParameterValues::new(entry, numbers, automatic, surroundings)?.accept(entry, call)
        }
        _ => entry.accept(call, &numbers),
    }
}

/// The collective of this name, see [`Collective::from_name`].
pub fn collective(name: &str) -> Result<Collective> {
    Collective::from_name(name)
        .ok_or_else(|| Error::new(names::unknown("collective", name, Collective::ALL.iter().map(|c| c.name()))))
}

/// Checks that the collective has a root if one is given.
///
/// # Errors
/// A root for a collective without.
pub(crate) fn check_root(collective: Collective, root: usize) -> Result<()> {
    ensure(root == 0 || collective.has_root(), || format!("root: got {root}, but {collective} has no root"))?;
    Ok(())
}

/// What a user sets a parameter to.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Setting {
    Whole(u64),
    Real(f64),
    /// A size with a unit, the word of a switch, `auto`, or a gap.
    Text(String),
}

impl Setting {
    /// The value that the call and the machine decide.
    pub fn automatic() -> Self {
        Self::Text(AUTO.to_owned())
    }

    fn is_auto(&self) -> bool {
        matches!(self, Self::Text(text) if text == AUTO)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Text(text) if text.chars().nth(MOST_LETTERS).is_some() => {
                write!(f, "'{}…", text.chars().take(MOST_LETTERS + 1).collect::<String>())
            }
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

/// The values of the parameters of a call.
#[derive(Clone, Debug, Default)]
pub struct CallValues {
    /// The numbers of all declared parameters, except automatic ones.
    pub numbers: Vec<(String, u64)>,
    /// The parameters whose values the machine decides.
    pub automatic: Vec<String>,
    /// The gap between packets, for algorithms with steps.
    pub gap: Option<String>,
}

impl CallValues {
    /// The gap between packets; 0 without steps.
    pub fn gap(&self) -> Result<Gap> {
        self.gap.as_deref().map_or(Ok(Gap::default()), Gap::parse)
    }
}

/// The parameters that an algorithm declares.
#[derive(Clone)]
pub struct Signature {
    /// The collective and the name, as in "allreduce ring".
    label: String,
    parameters: Cow<'static, [Parameter]>,
    has_steps: bool,
}

impl From<&Entry> for Signature {
    fn from(entry: &Entry) -> Self {
        let parameters = Cow::Borrowed(entry.about.parameters);
        Self { label: entry.to_string(), parameters, has_steps: entry.about.steps.is_some() }
    }
}

impl Signature {
    /// The parameters of a program of the user.
    pub fn own(label: String, parameters: Vec<Parameter>) -> Self {
        Self { label, parameters: Cow::Owned(parameters), has_steps: false }
    }

    /// The values of a call on a machine, if there is one: the settings, the sizes of the machine's torus, the rank
    /// that is late, and the defaults. Only on a machine, values may be automatic.
    ///
    /// # Errors
    /// As [`Self::values`], or a torus that does not fit.
    pub fn values_on(
        &self,
        settings: &[(String, Setting)],
        element_bytes: u64,
        ranks: usize,
        platform: Option<&Platform>,
        late_rank: Option<usize>,
    ) -> Result<CallValues> {
        let mut settings = settings.to_vec();
        if let Some(platform) = platform {
            settings.extend(self.torus(&settings, ranks, platform)?);
        }
        // Arrivals of a rank that there is not are refused later.
        let takes_late = self.declares(LATE) && !is_set(&settings, LATE);
        if let Some(late) = late_rank.filter(|late| takes_late && *late < ranks) {
            settings.push((LATE.to_owned(), Setting::Whole(late as u64)));
        }
        let is_automatic = |name: &str, value: &Setting| platform.is_some() && !self.is_gap(name) && value.is_auto();
        let (automatic, others): (Vec<_>, Vec<_>) =
            settings.into_iter().partition(|(name, value)| is_automatic(name, value));
        let automatic: Vec<_> = automatic.into_iter().map(|(name, _)| name).collect();
        let mut values = self.values(&others, element_bytes)?;
        values.numbers.retain(|(name, _)| !automatic.contains(name));
        Ok(CallValues { automatic, ..values })
    }

    /// The settings as numbers, and the defaults. Bytes are rounded down to whole elements, at least one.
    ///
    /// # Errors
    /// An undeclared parameter, a value without its unit, or one below the least value.
    pub fn values(&self, settings: &[(String, Setting)], element_bytes: u64) -> Result<CallValues> {
        let gap = self.has_steps.then(|| gap(settings)).transpose()?;
        let numbers = settings.iter().filter(|(name, _)| !self.is_gap(name));
        let numbers = numbers.map(|(name, value)| Ok((name.clone(), self.number(name, value)?)));
        let numbers = complete(&self.parameters, &numbers.collect::<Result<Vec<_>>>()?, element_bytes);
        let numbers = numbers.map_err(|error| error.at(&self.label))?;
        let numbers = numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(CallValues { numbers, automatic: Vec::new(), gap })
    }

    /// A setting as a number: bytes for a size with a unit, or the number of a switch's word.
    pub fn number(&self, name: &str, value: &Setting) -> Result<u64> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        let words = parameter.map_or(&[][..], Parameter::words);
        let word = if let Setting::Text(word) = value { word } else { "" };
        let refuse = |expected: &str| Error::new(format!("parameter {name}: got {value}, {expected}"));
        if !words.is_empty() {
            let number = words.iter().position(|each| *each == word);
            return number.map(|number| number as u64).ok_or_else(|| refuse(&names::hint(word, words.iter().copied())));
        }
        match value {
            Setting::Whole(number) => Ok(*number),
            Setting::Text(text) if parameter.is_some_and(|parameter| parameter.unit == Unit::Bytes) => {
                units::parse_bytes(text).map_err(|error| error.at(format!("parameter {name}")))
            }
            _ => Err(refuse("expected a whole number")),
        }
    }

    fn is_gap(&self, name: &str) -> bool {
        self.has_steps && name == GAP
    }

    fn declares(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// The sizes of the machine's torus, if the algorithm takes sizes and none is set.
    fn torus(
        &self,
        settings: &[(String, Setting)],
        ranks: usize,
        platform: &Platform,
    ) -> Result<Vec<(String, Setting)>> {
        let axes: Vec<_> = self
            .parameters
            .iter()
            .map(|parameter| parameter.name)
            .filter(|name| AXES.iter().any(|axis| axis.name == *name))
            .collect();
        let takes_torus = AXES[..LEAST_AXES].iter().all(|axis| axes.contains(&axis.name));
        let Some(fabric) = platform.network.fabric() else { return Ok(Vec::new()) };
        if !takes_torus || AXES.iter().any(|axis| is_set(settings, axis.name)) {
            return Ok(Vec::new());
        }
        let (label, machine) = (&self.label, &platform.name);
        let job = fabric.topology.layout().map(Layout::job);
        let sizes = match job.as_deref().or(fabric.topology.torus()) {
            Some(sizes) if sizes.len() <= axes.len() => sizes,
            other => {
                let name = fabric.topology.name().replace('_', " ");
                let kind = other.map_or(name, |sizes| format!("{}-dimensional torus", sizes.len()));
                return Err(Error::new(format!(
                    "{label} needs a torus of up to {} axes, but machine {machine} is a {kind}",
                    axes.len()
                )));
            }
        };
        ensure(ranks == sizes.iter().product::<usize>(), || {
            let torus = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
            let (last, others) = axes.split_last().expect("three axes at least");
            let (product, others) = (axes.join(" * "), others.join(", "));
            format!(
                "{label} needs {product} = P, but the torus of machine {machine} is {torus}, and no {others} or {last} \
                 was given (P = {ranks})"
            )
        })?;
        Ok(axes.iter().zip(sizes).map(|(axis, size)| ((*axis).to_owned(), Setting::Whole(*size as u64))).collect())
    }
}

fn is_set(settings: &[(String, Setting)], name: &str) -> bool {
    settings.iter().any(|(other, _)| other == name)
}

/// The gap that is set; 0 by default.
fn gap(settings: &[(String, Setting)]) -> Result<String> {
    let text = match settings.iter().find(|(name, _)| name == GAP) {
        None => "0".to_owned(),
        Some((_, Setting::Text(text))) => text.clone(),
        Some((_, number)) => number.to_string(),
    };
    Gap::parse(&text).map(|_| text)
}
