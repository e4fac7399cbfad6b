//! `[[discrepancy]]`: how far measured times were from simulated ones.

use hocket_core::{Collective, Error, Result, names};
use serde::Serialize;

use crate::Section;

/// The calls of one kind, and two factors of the simulated time: nine of ten measured calls of the kind took a time
/// between them. Values come from calls that the machine was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Discrepancy {
    /// The collective of the kind; none if the kind has calls of any.
    pub collective: Option<&'static str>,
    /// The algorithm; none for any.
    pub algorithm: Option<String>,
    /// The least size of a call, in bytes.
    pub from_bytes: u64,
    /// Sizes are below it; none if there is no limit.
    pub below_bytes: Option<u64>,
    /// The smaller factor.
    pub low: f64,
    /// The larger factor.
    pub high: f64,
    /// Nine of ten times, two algorithms took times whose ratio is within this factor of the simulated ratio.
    pub ratio: f64,
    /// How many calls of the kind were measured.
    pub calls: usize,
    /// On how many ranks at most.
    pub ranks: usize,
}

impl Discrepancy {
    /// Reads a section.
    pub fn read(section: &Section) -> Result<Self> {
        let from_bytes = section.optional_bytes("from")?.unwrap_or(0);
        let below_bytes = section.optional_bytes("below")?;
        let is_above = below_bytes.is_none_or(|below| below > from_bytes);
        section.ensure(is_above, "below", "a size larger than `from`")?;
        let low = section.number("low")?;
        section.ensure(low > 0.0, "low", "a number above 0")?;
        let high = section.number("high")?;
        section.ensure(high >= low, "high", "a number of at least `low`")?;
        let ratio = section.number_from("ratio", 1.0)?;
        let read = Self {
            collective: section.optional_text("collective", collective)?,
            algorithm: section.optional_text("algorithm", |name| Ok(name.to_owned()))?,
            from_bytes,
            below_bytes,
            low,
            high,
            ratio: if section.contains("ratio") { ratio } else { high / low },
            calls: section.count("calls")?,
            ranks: section.count("ranks")?,
        };
        section.finish()?;
        Ok(read)
    }
}

fn collective(name: &str) -> Result<&'static str> {
    let hint = || names::hint(name, Collective::ALL.into_iter().map(Collective::name));
    let collective = Collective::from_name(name);
    collective.map(Collective::name).ok_or_else(|| Error::new(format!("got \"{name}\", {}", hint())))
}
