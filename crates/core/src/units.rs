//! Quantities as people write them: "1.27 us", "64KiB", "100 Gbit/s". Inside, SI units: seconds, bytes, bytes/second.

use crate::{Error, Result};

/// A unit: its name, a power of ten, and a factor that a double holds exactly.
type Unit = (&'static str, i32, f64);

/// The micro sign and the Greek letter mu look alike.
const TIMES: &[Unit] = &[
    ("s", 0, 1.0),
    ("ms", -3, 1.0),
    ("us", -6, 1.0),
    ("\u{b5}s", -6, 1.0),
    ("\u{3bc}s", -6, 1.0),
    ("ns", -9, 1.0),
    ("ps", -12, 1.0),
];

const SIZES: &[Unit] = &[
    ("B", 0, 1.0),
    ("kB", 3, 1.0),
    ("KB", 3, 1.0),
    ("MB", 6, 1.0),
    ("GB", 9, 1.0),
    ("TB", 12, 1.0),
    ("KiB", 0, 1024.0),
    ("MiB", 0, 1_048_576.0),
    ("GiB", 0, 1_073_741_824.0),
    ("TiB", 0, 1_099_511_627_776.0),
];

const BITS: &[Unit] =
    &[("bit", 0, 0.125), ("kbit", 3, 0.125), ("Mbit", 6, 0.125), ("Gbit", 9, 0.125), ("Tbit", 12, 0.125)];

/// A time in seconds: "1.27 us".
///
/// # Errors
/// Not a number followed by a unit of time, negative, or not finite.
pub fn parse_time_s(text: &str) -> Result<f64> {
    quantity(text, "a time such as \"1.27 us\" (s, ms, us, ns, ps)", |unit| find(TIMES, unit))
}

/// A time per byte in seconds: "0.1 ns/B" or plainly "0.1 ns".
///
/// # Errors
/// As [`parse_time_s`].
pub fn parse_time_per_byte_s(text: &str) -> Result<f64> {
    let expected = "a time per byte such as \"0.1 ns/B\"";
    quantity(text, expected, |unit| find(TIMES, unit.strip_suffix("/B").unwrap_or(unit)))
}

/// A size in bytes: "8B", "64KiB", "1.5 MB"; a plain number counts bytes. KiB and MiB are powers of two, kB and MB of ten.
///
/// # Errors
/// Not a number followed by a unit of size, negative, not a whole number of bytes, or above 2^53.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let expected = "a whole number of bytes such as 8B, 64KiB or 1MB";
    let bytes = quantity(text, expected, |unit| find(SIZES, if unit.is_empty() { "B" } else { unit }))?;
    if bytes.fract() != 0.0 || bytes > 2f64.powi(53) {
        return Err(refuse(text, expected));
    }
    Ok(bytes as u64)
}

/// A rate in bytes per second: "3.87 GB/s" or "100 Gbit/s".
///
/// # Errors
/// Not a number followed by a unit of rate, zero or so little that its time per byte is not finite, negative, or not
/// finite.
pub fn parse_bytes_per_s(text: &str) -> Result<f64> {
    let expected = "a rate above zero such as \"3.87 GB/s\" or \"100 Gbit/s\"";
    let rate = quantity(text, expected, |unit| {
        let size = unit.strip_suffix("/s")?;
        find(SIZES, size).or_else(|| find(BITS, size))
    })?;
    if rate > 0.0 && (1.0 / rate).is_finite() { Ok(rate) } else { Err(refuse(text, expected)) }
}

fn find(units: &[Unit], name: &str) -> Option<Unit> {
    units.iter().find(|unit| unit.0 == name).copied()
}

fn refuse(text: &str, expected: &str) -> Error {
    Error::new(format!("got {text:?}, expected {expected}"))
}

fn quantity(text: &str, expected: &str, find: impl Fn(&str) -> Option<Unit>) -> Result<f64> {
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    let (number, name) = trimmed.split_at(end);
    let value = find(name.trim()).and_then(|unit| scaled(number, unit));
    value.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(|| refuse(text, expected))
}

/// The double nearest to `number` in this unit: the power of ten is part of the decimal number that is read.
fn scaled(number: &str, (_, power, factor): Unit) -> Option<f64> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let power = exponent.parse::<i32>().ok()?.checked_add(power)?;
    format!("{digits}e{power}").parse::<f64>().ok().map(|value| value * factor)
}
