//! Quantities as people write them: "1.27 us", "64KiB", "100 Gbit/s". Parsed values are in s, bytes or bytes/s.

use crate::names::did_you_mean;
use crate::{Error, Result};

/// A unit: its name, a power of ten, and a factor that a double holds exactly.
type NamedUnit = (&'static str, i32, f64);

/// Both the micro sign and the Greek letter mu are accepted: they look alike.
const TIMES: &[NamedUnit] = &[
    ("s", 0, 1.0),
    ("ms", -3, 1.0),
    ("us", -6, 1.0),
    ("\u{b5}s", -6, 1.0),
    ("\u{3bc}s", -6, 1.0),
    ("ns", -9, 1.0),
    ("ps", -12, 1.0),
];

const SIZES: &[NamedUnit] = &[
    ("B", 0, 1.0),
    ("kB", 3, 1.0),
    ("MB", 6, 1.0),
    ("GB", 9, 1.0),
    ("TB", 12, 1.0),
    ("KiB", 0, 1024.0),
    ("MiB", 0, 1_048_576.0),
    ("GiB", 0, 1_073_741_824.0),
    ("TiB", 0, 1_099_511_627_776.0),
];

const BITS: &[NamedUnit] =
    &[("bit", 0, 0.125), ("kbit", 3, 0.125), ("Mbit", 6, 0.125), ("Gbit", 9, 0.125), ("Tbit", 12, 0.125)];

const WAITS: &[NamedUnit] = &[("min", 0, 60.0), ("m", 0, 60.0), ("h", 0, 3600.0)];

/// Other names of the units of time, for suggestions.
const WORDS_OF_TIMES: &[(&str, &[&str])] = &[
    ("s", &["sec", "second"]),
    ("ms", &["msec", "millisec", "millisecond"]),
    ("us", &["usec", "microsec", "microsecond", "\u{b5}sec", "\u{3bc}sec"]),
    ("ns", &["nsec", "nanosec", "nanosecond"]),
    ("ps", &["psec", "picosec", "picosecond"]),
];

/// A count with its noun: "1 call", "2 calls", "3 switches".
pub fn count_in_words(count: usize, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// A time in seconds: "1.27 us".
///
/// # Errors
/// Not a number followed by a unit of time, negative, or not finite.
pub fn parse_time_s(text: &str) -> Result<f64> {
    quantity(text, "a time such as \"1.27 us\" (s, ms, us, ns, ps)", |unit| find(TIMES, unit), meant_times)
}

/// Two times in seconds, as "20" and "80 us": the first one may leave out the unit of the second one.
pub fn parse_time_range_s(first: &str, second: &str) -> Result<[f64; 2]> {
    let unit = second.trim().trim_start_matches(is_of_number);
    let first_s = parse_time_s(first).or_else(|e| parse_time_s(&format!("{first}{unit}")).map_err(|_| e))?;
    Ok([first_s, parse_time_s(second)?])
}

/// A duration in seconds: "90s", "30m", "2 h", or as [`parse_time_s`] reads it.
pub fn parse_duration_s(text: &str) -> Result<f64> {
    let find = |unit: &str| find(WAITS, unit).or_else(|| find(TIMES, unit));
    quantity(text, "a time such as 90s, 30m or 2h", find, meant_times)
}

/// A time per byte in seconds: "0.1 ns/B" or plainly "0.1 ns".
pub fn parse_time_per_byte_s(text: &str) -> Result<f64> {
    let expected = "a time per byte such as \"0.1 ns/B\"";
    quantity(text, expected, |unit| find(TIMES, unit.strip_suffix("/B").unwrap_or(unit)), meant_times)
}

/// A size in bytes: "8B", "64KiB", "1.5 MB"; a plain number counts bytes. KiB and MiB are powers of two, kB and MB of
/// ten.
///
/// # Errors
/// Not a number followed by a unit of size, negative, not a whole number of bytes, or above 2^53.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let expected = "a whole number of bytes such as 8B, 64KiB or 1MB";
    let find = |unit: &str| find(SIZES, if unit.is_empty() { "B" } else { unit });
    let bytes = quantity(text, expected, find, |unit| meant_amounts(unit, "", SIZES))?;
    if bytes.fract() != 0.0 || bytes > 2f64.powi(53) {
        return Err(refuse(text, expected));
    }
    Ok(bytes as u64)
}

/// A rate in bytes per second: "3.87 GB/s" or "100 Gbit/s".
///
/// # Errors
/// Not a number followed by a unit of rate, negative, not finite, or so small that its time per byte is not finite.
pub fn parse_bytes_per_s(text: &str) -> Result<f64> {
    let expected = "a rate above zero such as \"3.87 GB/s\" or \"100 Gbit/s\"";
    let find = |unit: &str| {
        let size = unit.strip_suffix("/s")?;
        find(SIZES, size).or_else(|| find(BITS, size))
    };
    let rate = quantity(text, expected, find, meant_rates)?;
    if rate > 0.0 && (1.0 / rate).is_finite() { Ok(rate) } else { Err(refuse(text, expected)) }
}

fn find(units: &[NamedUnit], name: &str) -> Option<NamedUnit> {
    units.iter().find(|unit| unit.0 == name).copied()
}

fn refuse(text: &str, expected: &str) -> Error {
    Error::new(format!("got {text:?}, expected {expected}"))
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E')
}

fn quantity(
    text: &str,
    expected: &str,
    find: impl Fn(&str) -> Option<NamedUnit>,
    suggest: impl Fn(&str) -> Vec<String>,
) -> Result<f64> {
    let trimmed = text.trim();
    let end = trimmed.find(|c| !is_of_number(c)).unwrap_or(trimmed.len());
    let (number, rest) = trimmed.split_at(end);
    let name = rest.trim_start();
    let space = &rest[..rest.len() - name.len()];
    let value = find(name).and_then(|unit| scaled(number, unit));
    value.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(|| {
        let units = if find(name).is_none() && number.parse::<f64>().is_ok() { suggest(name) } else { Vec::new() };
        let suggestions: Vec<_> = units.iter().map(|unit| format!("{number}{space}{unit}")).collect();
        match &suggestions[..] {
            [] => refuse(text, expected),
            suggestions => Error::new(format!("got {text:?}, {}", did_you_mean(suggestions))),
        }
    })
}

/// The units of time that an unknown name may mean.
fn meant_times(name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let (time, per_byte) = name.strip_suffix("/b").map_or((&name[..], ""), |time| (time, "/B"));
    let is_meant = |unit: &str, words: &[&str]| {
        unit == time || words.iter().any(|word| *word == time || time.strip_suffix('s') == Some(word))
    };
    let units = WORDS_OF_TIMES.iter().filter(|(unit, words)| is_meant(unit, words));
    units.map(|(unit, _)| format!("{unit}{per_byte}")).collect()
}

/// The rates that an unknown name may mean: "Gbps", "MB/sec", "GB".
fn meant_rates(name: &str) -> Vec<String> {
    let endings = ["/s", "/S", "/sec", "/second", "ps"];
    let amount = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let is_bits = amount.ends_with('b') || amount.to_lowercase().trim_end_matches('s').ends_with("bit");
    meant_amounts(amount, "/s", if is_bits { BITS } else { SIZES })
}

/// The units among `units` that an unknown name may mean, by its prefix: "K", "kb", "MBytes".
fn meant_amounts(name: &str, ending: &str, units: &[NamedUnit]) -> Vec<String> {
    let letters = name.to_lowercase();
    let prefix = prefix(name);
    let base = letters.strip_suffix('s').unwrap_or(&letters).trim_start_matches(|letter| Some(letter) == prefix);
    let is_meant = |unit: &str| match base {
        "" => prefix.is_some(),
        "b" | "byte" => true,
        "ib" | "ibyte" => unit.ends_with("iB"),
        "bit" => unit.ends_with("bit"),
        _ => false,
    };
    let exact = find(units, name).map(|unit| unit.0);
    let similar = units.iter().map(|unit| unit.0).filter(|unit| self::prefix(unit) == prefix && is_meant(unit));
    exact.map_or_else(|| similar.collect(), |unit| vec![unit]).iter().map(|unit| format!("{unit}{ending}")).collect()
}

/// The prefix letter in the name of an amount.
fn prefix(name: &str) -> Option<char> {
    name.to_lowercase().chars().next().filter(|letter| "kmgt".contains(*letter))
}

/// The double nearest to `number` in this unit. The power of ten joins the decimal number, so that it is exact.
fn scaled(number: &str, (_, power, factor): NamedUnit) -> Option<f64> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let power = exponent.parse::<i32>().ok()?.checked_add(power)?;
    format!("{digits}e{power}").parse::<f64>().ok().map(|value| value * factor)
}
