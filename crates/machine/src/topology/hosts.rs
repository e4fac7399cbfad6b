//! Files of hosts: on which host each rank of a job is, as launchers write or read it.
//!
//! | form | lines |
//! |---|---|
//! | rankfile of Open MPI | `rank 0=node1 slot=0` |
//! | output of `srun -l hostname` or `mpiexec -l hostname` | `0: node1` or `[0] node1` |
//! | hostfile | `node1 slots=4` (Open MPI), `node1:4` (MPICH), or `node1` for one rank |
//! | variables of Slurm | `SLURM_JOB_NODELIST=node[1-3]`, `SLURM_TASKS_PER_NODE=2(x2),1` |

use std::collections::{BTreeMap, HashMap};

use hocket_core::{Error, Result};

/// The largest number of ranks in a list.
pub(super) const MOST_LISTED: usize = 1 << 22;

/// The largest number of hosts that one list names, and the longest name of one.
const MOST_HOSTS: usize = 1 << 18;
const LONGEST_NAME: usize = 255;
/// The largest number of brackets in the name of hosts.
const MOST_BRACKETS: usize = 4;

const OF_RANKFILE: &str = "a line such as \"rank 0=node1 slot=0\"";
const OF_LABELS: &str = "a line such as \"0: node1\"";
const OF_HOSTFILE: &str = "a line such as \"node1 slots=4\", \"node1:4\" or \"node1\"";
const OF_SLURM: &str = "SLURM_JOB_NODELIST=node[1-3] and SLURM_TASKS_PER_NODE=2(x2),1, or such";

/// The node of each rank: hosts are numbered in the order of their first ranks. `file` is the file's name in messages.
///
/// # Errors
/// A line of another form than the first one, ranks that are missing, or more than 2^22 ranks.
pub fn nodes_of_ranks(text: &str, file: &str) -> Result<Vec<usize>> {
    hosts_of_ranks(text, file).map(|hosts| hosts.of_ranks)
}

/// The hosts of a job.
pub(super) struct Hosts {
    /// For each rank, the number of its host.
    pub of_ranks: Vec<usize>,
    /// The name of each host.
    pub names: Vec<String>,
}

/// As [`nodes_of_ranks`], with the names of the nodes.
pub(super) fn hosts_of_ranks(text: &str, file: &str) -> Result<Hosts> {
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(before, _)| before).trim());
    let lines: Vec<_> = (1..).zip(lines).filter(|(_, line)| !line.is_empty()).collect();
    let reader = Lines { lines, file };
    let Some((_, first)) = reader.lines.first() else {
        return Err(Error::new("got no lines, expected a rankfile, a hostfile or variables of Slurm").at(file));
    };
    let hosts = match () {
        () if first.starts_with("SLURM_") => reader.variables()?,
        () if of_rankfile(first).is_some() => reader.of_ranks(of_rankfile, OF_RANKFILE)?,
        () if of_label(first).is_some() => reader.of_ranks(of_label, OF_LABELS)?,
        () => reader.hostfile()?,
    };
    if hosts.of_ranks.len() > MOST_LISTED {
        return Err(Error::new("got more ranks, expected at most 2^22").at(file));
    }
    Ok(hosts.in_order_of_ranks())
}

impl Hosts {
    fn of(ranks: impl IntoIterator<Item = usize>, names: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { of_ranks: ranks.into_iter().collect(), names: names.into_iter().map(Into::into).collect() }
    }

    /// The same hosts, with the numbers 0, 1, and so on, in the order of their first ranks.
    fn in_order_of_ranks(self) -> Self {
        let (mut numbers, mut names) = (HashMap::new(), Vec::new());
        let mut renumber = |host: usize| {
            *numbers.entry(host).or_insert_with(|| {
                names.push(self.names[host].clone());
                names.len() - 1
            })
        };
        let of_ranks = self.of_ranks.iter().map(|host| renumber(*host)).collect();
        Self { of_ranks, names }
    }
}

/// The names of hosts in the order of their numbers.
fn in_order<N>(numbers: HashMap<N, usize>) -> Vec<N> {
    let mut names: Vec<_> = numbers.into_iter().collect();
    names.sort_unstable_by_key(|(_, number)| *number);
    names.into_iter().map(|(name, _)| name).collect()
}

/// The node of each rank if each node is filled before the next one.
pub(super) fn fill(counts: &[usize]) -> Vec<usize> {
    counts.iter().enumerate().flat_map(|(node, count)| std::iter::repeat_n(node, *count)).collect()
}

/// The node of each rank if the nodes take the ranks in turn, those that are full excepted.
pub(super) fn deal(counts: &[usize]) -> Vec<usize> {
    let mut turns: Vec<_> =
        counts.iter().enumerate().flat_map(|(node, n)| (0..*n).map(move |turn| (turn, node))).collect();
    turns.sort_unstable();
    turns.into_iter().map(|(_, node)| node).collect()
}

/// The rank and the host of a line such as `rank 0=node1 slot=0`.
fn of_rankfile(line: &str) -> Option<(usize, &str)> {
    let (rank, rest) = line.strip_prefix("rank")?.split_once('=')?;
    Some((number(rank.trim())?, rest.split_whitespace().next()?))
}

/// The rank and the host of a line such as `0: node1` or `[0] node1`.
fn of_label(line: &str) -> Option<(usize, &str)> {
    let in_brackets = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let (rank, host) = in_brackets.or_else(|| line.split_once(':'))?;
    let host = host.trim();
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace) && number(host).is_none();
    Some((number(rank)?, host)).filter(|_| is_host)
}

fn number(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The hosts of a line of a hostfile, and the number of ranks on each.
fn of_hostfile(line: &str) -> Option<(Vec<String>, usize)> {
    let mut words = line.split_whitespace();
    let hosts = words.next()?;
    let (hosts, mut count) = match hosts.rsplit_once(':') {
        Some((hosts, count)) => (hosts, number(count)?),
        None => (hosts, 1),
    };
    for word in words {
        let (key, value) = word.split_once('=')?;
        if key == "slots" {
            count = number(value)?;
        }
    }
    Some((expand_list(hosts)?, count)).filter(|_| (1..=MOST_LISTED).contains(&count))
}

/// The hosts of a list such as `login1,node[001-004]`.
pub(super) fn expand_list(list: &str) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    let mut depth = 0;
    let is_comma = |letter: char| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    };
    for pattern in list.split(is_comma) {
        if pattern.matches('[').count() > MOST_BRACKETS {
            return None;
        }
        expand(pattern, &mut hosts)?;
    }
    Some(hosts)
}

/// Appends the hosts of a pattern such as `node[001-004,7]`.
fn expand(pattern: &str, hosts: &mut Vec<String>) -> Option<()> {
    let Some((before, rest)) = pattern.split_once('[') else {
        let is_name = (1..=LONGEST_NAME).contains(&pattern.len()) && !pattern.contains([']', '=', '"']);
        hosts.push(pattern.to_owned());
        return (is_name && hosts.len() <= MOST_HOSTS).then_some(());
    };
    let (ranges, after) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last) = (number(first)?, number(last)?);
        if last < first || last - first >= MOST_HOSTS || width > LONGEST_NAME {
            return None;
        }
        (first..=last).try_for_each(|number| expand(&format!("{before}{number:0width$}{after}"), hosts))?;
    }
    Some(())
}

/// The numbers of a list such as `2(x3),1`.
fn counts(list: &str) -> Option<Vec<usize>> {
    let mut counts = Vec::new();
    for part in list.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (number(count)?, number(times.strip_suffix(')')?)?),
            None => (number(part)?, 1),
        };
        if count == 0 || count > MOST_LISTED || times > MOST_HOSTS - counts.len() {
            return None;
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    (counts.iter().sum::<usize>() <= MOST_LISTED).then_some(counts)
}

/// The lines of a file that say something, with their numbers.
struct Lines<'a> {
    lines: Vec<(usize, &'a str)>,
    file: &'a str,
}

impl Lines<'_> {
    fn refuse(&self, (number, line): (usize, &str), expected: &str) -> Error {
        Error::new(format!("got \"{line:.60}\", expected {expected}")).at(format!("{}:{number}", self.file))
    }

    /// The hosts of ranks that are named line by line, in any order.
    fn of_ranks(&self, read: fn(&str) -> Option<(usize, &str)>, expected: &str) -> Result<Hosts> {
        let mut numbers = HashMap::new();
        let mut hosts = vec![None; self.lines.len()];
        let last = hosts.len() - 1;
        for line in &self.lines {
            let (rank, host) = read(line.1).ok_or_else(|| self.refuse(*line, expected))?;
            let next = numbers.len();
            let host = *numbers.entry(host).or_insert(next);
            let place = hosts.get_mut(rank).filter(|place| place.is_none());
            let place = place.ok_or_else(|| self.refuse(*line, &format!("each of the ranks 0 to {last} once")))?;
            *place = Some(host);
        }
        Ok(Hosts::of(hosts.into_iter().flatten(), in_order(numbers)))
    }

    fn hostfile(&self) -> Result<Hosts> {
        let mut numbers = HashMap::new();
        let mut nodes = Vec::new();
        for line in &self.lines {
            let (hosts, count) = of_hostfile(line.1).ok_or_else(|| self.refuse(*line, OF_HOSTFILE))?;
            if hosts.len() * count > MOST_LISTED - nodes.len() {
                return Err(self.refuse(*line, "at most 2^22 ranks in all"));
            }
            for host in hosts {
                let next = numbers.len();
                nodes.extend(std::iter::repeat_n(*numbers.entry(host).or_insert(next), count));
            }
        }
        Ok(Hosts::of(nodes, in_order(numbers)))
    }

    /// The nodes by the variables that Slurm sets in a job; those of a step come first.
    fn variables(&self) -> Result<Hosts> {
        let mut variables = BTreeMap::new();
        for line in &self.lines {
            let (name, value) = line.1.split_once('=').ok_or_else(|| self.refuse(*line, OF_SLURM))?;
            variables.insert(name, (*line, value.trim_matches('"')));
        }
        let missing = || Error::new(format!("got other variables, expected {OF_SLURM}")).at(self.file);
        let find = |name| variables.get(name).copied();
        let steps = ["SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE"];
        let is_step = steps.iter().all(|name| variables.contains_key(name));
        let [of_hosts, of_counts] = if is_step { steps } else { ["SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE"] };
        let (host_line, hosts) = find(of_hosts).or_else(|| find("SLURM_NODELIST")).ok_or_else(missing)?;
        let (count_line, tasks) = find(of_counts).ok_or_else(missing)?;
        let hosts = expand_list(hosts).ok_or_else(|| self.refuse(host_line, OF_SLURM))?;
        let counts = counts(tasks).filter(|counts| counts.len() == hosts.len());
        let expected = format!("the numbers of ranks of {} hosts, such as 2(x2),1", hosts.len());
        let counts = counts.ok_or_else(|| self.refuse(count_line, &expected))?;
        match find("SLURM_DISTRIBUTION").map(|(line, value)| (line, value.split([':', ',']).next())) {
            None | Some((_, Some("block"))) => Ok(Hosts::of(fill(&counts), hosts)),
            Some((_, Some("cyclic"))) => Ok(Hosts::of(deal(&counts), hosts)),
            Some((line, _)) => Err(self.refuse(line, "block or cyclic, or the output of `srun -l hostname`")),
        }
    }
}
