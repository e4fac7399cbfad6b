//! The memory limit of this process: work that needs more is refused before the system ends the process.
//!
//! The limit is the environment variable `HOCKET_MEMORY`, such as "4GiB". By default it is 15/16 of the memory that the
//! process already uses plus what is free, within the machine, its control groups and its address space. The sixteenth
//! covers growth between two checks. On systems other than Linux there is no default limit.

use std::fmt::Display;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::{Result, ensure, units};

/// The environment variable that sets a limit.
const VARIABLE: &str = "HOCKET_MEMORY";

/// Smaller amounts are not checked.
const SMALL_BYTES: f64 = (64 << 20) as f64;

/// Refuses work that needs `more_bytes` in addition if the process would then exceed the limit. The estimate must be a
/// lower bound of the real need.
///
/// # Errors
/// A limit below the need, or an invalid value of `HOCKET_MEMORY`.
pub fn check(what: impl Display, more_bytes: f64) -> Result<()> {
    if more_bytes < SMALL_BYTES { Ok(()) } else { fits(what, more_bytes) }
}

/// Refuses to continue work that holds more memory than the limit.
pub fn look() -> Result<()> {
    fits("the work", 0.0)
}

/// Makes room in a list for one more element, after checking the memory for the grown list.
#[inline]
pub fn room_for_one<T>(list: &mut Vec<T>, what: impl Display) -> Result<()> {
    if list.len() == list.capacity() {
        let more = list.len().max(64);
        check(what, (more * size_of::<T>()) as f64)?;
        list.reserve_exact(more);
    }
    Ok(())
}

fn fits(what: impl Display, more_bytes: f64) -> Result<()> {
    let Some(held_bytes) = held_bytes() else { return Ok(()) };
    let (limit_bytes, source) = match stated_bytes()? {
        Some(bytes) => (bytes, VARIABLE),
        None => match left_bytes() {
            Some(left) => ((held_bytes + left) * 15.0 / 16.0, "this machine"),
            None => return Ok(()),
        },
    };
    let needed_bytes = held_bytes + more_bytes;
    ensure(needed_bytes <= limit_bytes, || {
        let (need, limit) = (format_bytes(needed_bytes), format_bytes(limit_bytes));
        format!("{what}: needs at least {need} of memory, expected at most the {limit} that {source} allows")
    })
}

fn stated_bytes() -> Result<Option<f64>> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let bytes = units::parse_bytes(&text.to_string_lossy()).map_err(|error| error.at(VARIABLE))?;
    Ok(Some(bytes as f64))
}

/// The memory that this process holds, in bytes.
fn held_bytes() -> Option<f64> {
    kilobytes(&read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The memory that this process may still take, in bytes.
fn left_bytes() -> Option<f64> {
    let on_machine = read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable:"));
    let lefts = [on_machine, left_of_address_space(), left_in_groups()];
    lefts.into_iter().flatten().reduce(f64::min)
}

/// The value of a line such as "VmRSS:  123 kB", in bytes.
fn kilobytes(text: &str, name: &str) -> Option<f64> {
    let number = text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?;
    number.trim().parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
}

/// Bytes left in the address space under `ulimit -v`; none without a limit.
fn left_of_address_space() -> Option<f64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit_bytes = limit.split_whitespace().next()?.parse::<f64>().ok()?;
    Some(limit_bytes - kilobytes(&read_to_string("/proc/self/status").ok()?, "VmSize:")?)
}

/// Bytes left in the tightest control group: the process's own or one that contains it.
fn left_in_groups() -> Option<f64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let lefts = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", &UNIFIED),
            _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", &SEPARATE),
            _ => return None,
        };
        let own = PathBuf::from(format!("{root}{path}"));
        let folders = own.ancestors().take_while(|folder| folder.starts_with(root));
        folders.filter_map(|folder| names.left_bytes(folder)).reduce(f64::min)
    });
    lefts.reduce(f64::min)
}

/// The file names under which a version of control groups reports memory.
struct Names {
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the file cache that the system can reclaim.
    files: &'static str,
}

const UNIFIED: Names = Names { limit: "memory.max", usage: "memory.current", files: "inactive_file " };
const SEPARATE: Names =
    Names { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", files: "total_inactive_file " };

impl Names {
    fn left_bytes(&self, folder: &Path) -> Option<f64> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let read = |name: &str| read_to_string(folder.join(name)).ok();
        let limit = number(&read(self.limit)?)?;
        let files = read("memory.stat")?.lines().find_map(|line| number(line.strip_prefix(self.files)?)).unwrap_or(0.0);
        Some(limit - number(&read(self.usage)?)? + files)
    }
}

/// As "21.9 GiB".
fn format_bytes(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"];
    let (mut number, mut unit) = (bytes / f64::from(1 << 20), 0);
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        (number, unit) = (number / 1024.0, unit + 1);
    }
    format!("{number:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_taken_and_what_cannot_is_refused_with_both_numbers() {
        assert_eq!(check("little", 1.0), Ok(()));
        assert_eq!(look(), Ok(()));
        let error = check("2^60 bytes", 2f64.powi(60)).unwrap_err().to_string();
        let expected = "2^60 bytes: needs at least 1.0 EiB of memory, expected at most the ";
        assert!(error.starts_with(expected) && error.ends_with(" GiB that this machine allows"), "{error}");
    }

    #[test]
    fn a_control_group_is_read_in_both_versions() {
        for names in [UNIFIED, SEPARATE] {
            let folder = std::env::temp_dir().join(format!("hocket-group-{}-{}", names.limit, std::process::id()));
            std::fs::create_dir(&folder).unwrap();
            let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
            write(names.limit, "1000\n");
            write(names.usage, "600\n");
            write("memory.stat", &format!("anon 500\n{}100\n", names.files));
            assert_eq!(names.left_bytes(&folder), Some(500.0));
            write(names.limit, "max\n");
            assert_eq!(names.left_bytes(&folder), None);
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn bytes_are_told_in_words() {
        assert_eq!(format_bytes(100.0 * 1024.0 * 1024.0), "100.0 MiB");
        assert_eq!(format_bytes(1.5 * 1024f64.powi(3)), "1.5 GiB");
        assert_eq!(format_bytes(1024f64.powi(8)), "1024.0 ZiB");
    }
}
