//! Quantities as people write them: "1.27 us", "64KiB", "100 Gbit/s". Inside, SI units: seconds, bytes, bytes/second.

use crate::{Error, Result};

const TIMES: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12)];

const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

const BITS: &[(&str, f64)] = &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("Tbit", 1e12)];

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
    let bytes = quantity(text, expected, |unit| if unit.is_empty() { Some(1.0) } else { find(SIZES, unit) })?;
    if bytes.fract() != 0.0 || bytes > 2f64.powi(53) {
        return Err(refuse(text, expected));
    }
    Ok(bytes as u64)
}

/// A rate in bytes per second: "3.87 GB/s" or "100 Gbit/s".
///
/// # Errors
/// Not a number followed by a unit of rate, zero, negative, or not finite.
pub fn parse_bytes_per_s(text: &str) -> Result<f64> {
    let expected = "a rate above zero such as \"3.87 GB/s\" or \"100 Gbit/s\"";
    let rate = quantity(text, expected, |unit| {
        let size = unit.strip_suffix("/s")?;
        find(SIZES, size).or_else(|| find(BITS, size).map(|bits| bits / 8.0))
    })?;
    if rate > 0.0 { Ok(rate) } else { Err(refuse(text, expected)) }
}

fn find(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

fn refuse(text: &str, expected: &str) -> Error {
    Error::new(format!("got {text:?}, expected {expected}"))
}

fn quantity(text: &str, expected: &str, factor: impl Fn(&str) -> Option<f64>) -> Result<f64> {
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let value = number.parse::<f64>().ok().zip(factor(unit.trim())).map(|(number, factor)| scale(number, factor));
    value.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(|| refuse(text, expected))
}

/// Multiplies so that "1 us" is the double nearest to 1e-6: small factors divide by their exact inverse.
fn scale(number: f64, factor: f64) -> f64 {
    if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor }
}
