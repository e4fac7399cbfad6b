//! The order in which a rank issues the messages of one pair with one tag.

use hocket_core::{Source, Tag};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::draft::{Action, Draft};
use crate::schedule::Schedule;

/// Two tasks of one rank of different lengths, both sends to or both receives from one peer with one tag, whose order
/// the schedule leaves open: timing decides which messages and receives match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unordered {
    /// The rank.
    pub rank: usize,
    /// The numbers of the two tasks.
    pub tasks: [u32; 2],
}

impl Schedule {
    /// The first two tasks whose order depends on timing and decides which messages and receives match.
    pub fn unordered(&self) -> Option<Unordered> {
        let mut draft = Draft::default();
        (0..self.ranks()).find_map(|rank| {
            self.unpack(rank, &mut draft);
            unordered(&draft).map(|tasks| Unordered { rank, tasks })
        })
    }
}

/// The key of messages that are matched in order, and the length.
fn pair(action: &Action) -> Option<((bool, Source, Tag), usize)> {
    match *action {
        Action::Send { to, tag, data } => Some(((true, Source::Rank(to), tag), data.len)),
        Action::Recv { from, tag, into } => Some(((false, from, tag), into.len)),
        Action::Combine { .. } | Action::Copy { .. } | Action::Compute { .. } => None,
    }
}

fn unordered(draft: &Draft) -> Option<[u32; 2]> {
    let beginnings: Vec<_> =
        draft.tasks().scan(0, |place, (_, waits)| Some(std::mem::replace(place, *place + waits.len()))).collect();
    // For each key, the tasks of which none certainly comes after another.
    let mut latest: FxHashMap<_, Vec<(u32, usize)>> = FxHashMap::default();
    for (action, task) in draft.actions.iter().zip(0..) {
        let Some((pair, len)) = pair(action) else { continue };
        let others = latest.entry(pair).or_default();
        others.retain(|(other, _)| !is_behind(draft, &beginnings, *other, task));
        if let Some((other, _)) = others.iter().find(|(_, other_len)| *other_len != len) {
            return Some([*other, task]);
        }
        others.push((task, len));
    }
    None
}

/// Whether `task` certainly starts after `earlier` has started. `beginnings` has the first wait of each task.
fn is_behind(draft: &Draft, beginnings: &[usize], earlier: u32, task: u32) -> bool {
    let (mut open, mut seen) = (vec![task], FxHashSet::default());
    while let Some(task) = open.pop() {
        for wait in draft.waits[beginnings[task as usize]..].iter().take_while(|wait| wait.task == task) {
            if wait.other == earlier {
                return true;
            }
            if wait.other > earlier && seen.insert(wait.other) {
                open.push(wait.other);
            }
        }
    }
    false
}
