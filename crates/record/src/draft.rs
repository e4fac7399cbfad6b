//! The tasks of one rank in a form that can be edited.

use hocket_core::{Buffer, Result, Source, Span, Tag, ensure};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The action of a task. Its form in JSON names the kind, as in `{"compute": {"time_s": 0.5}}`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Action {
    Send {
        to: u32,
        tag: Tag,
        #[serde(with = "Piece")]
        data: Span,
    },
    Recv {
        #[serde(with = "Sender")]
        from: Source,
        tag: Tag,
        #[serde(with = "Piece")]
        into: Span,
    },
    /// target = source ∘ target if `is_source_left`, else target ∘ source.
    Combine {
        #[serde(with = "Piece")]
        source: Span,
        #[serde(with = "Piece")]
        target: Span,
        is_source_left: bool,
    },
    Copy {
        #[serde(with = "Piece")]
        source: Span,
        #[serde(with = "Piece")]
        target: Span,
    },
    Compute {
        time_s: f64,
    },
}

impl Action {
    /// The spans that the action uses.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let spans = match *self {
            Self::Send { data: one, .. } | Self::Recv { into: one, .. } => [Some(one), None],
            Self::Combine { source, target, .. } | Self::Copy { source, target } => [Some(source), Some(target)],
            Self::Compute { .. } => [None, None],
        };
        spans.into_iter().flatten()
    }
}

/// A wait of a task for the start or the end of an earlier task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The number of the task that waits.
    pub task: u32,
    /// Whether it waits for the start of the other task; else for its end.
    pub is_for_start: bool,
    /// The number of the other task.
    pub other: u32,
}

/// The tasks of one rank and their waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The action of each task.
    pub actions: Vec<Action>,
    /// The waits of the tasks.
    pub waits: Vec<Wait>,
}

impl Draft {
    /// Adds a task without waits. Returns its number.
    pub fn push(&mut self, action: Action) -> u32 {
        self.actions.push(action);
        self.actions.len() as u32 - 1
    }

    /// Number of elements of scratch that the tasks need.
    pub(crate) fn scratch(&self) -> usize {
        let spans = self.actions.iter().flat_map(Action::spans).filter(|span| span.buffer == Buffer::Scratch);
        spans.map(|span| span.offset + span.len).max().unwrap_or(0)
    }

    /// Removes all tasks.
    pub fn clear(&mut self) {
        self.actions.clear();
        self.waits.clear();
    }

    /// Sorts tasks so that none waits for a later one, and waits by task. Otherwise tasks keep their order.
    ///
    /// # Errors
    /// Tasks that wait for each other in a circle.
    pub fn sort(&mut self) -> Result<()> {
        if self.waits.iter().any(|wait| wait.other >= wait.task) {
            let places = self.places()?;
            let mut actions: Vec<_> = places.iter().zip(&self.actions).collect();
            actions.sort_unstable_by_key(|(place, _)| **place);
            self.actions = actions.into_iter().map(|(_, action)| *action).collect();
            let moved = |task: u32| places[task as usize];
            self.waits.iter_mut().for_each(|w| *w = Wait { task: moved(w.task), other: moved(w.other), ..*w });
        }
        if !self.waits.is_sorted() {
            self.waits.sort_unstable();
        }
        Ok(())
    }

    /// The position of each task in an order in which none waits for a later one.
    fn places(&self) -> Result<Vec<u32>> {
        let tasks = self.actions.len();
        let mut missing = vec![0; tasks];
        let mut followers = vec![Vec::new(); tasks];
        for wait in &self.waits {
            missing[wait.task as usize] += 1;
            followers[wait.other as usize].push(wait.task as usize);
        }
        let mut ready: std::collections::BTreeSet<_> = (0..tasks).filter(|task| missing[*task] == 0).collect();
        let mut places = vec![0; tasks];
        let mut next_place = 0;
        while let Some(task) = ready.pop_first() {
            places[task] = next_place;
            next_place += 1;
            for follower in &followers[task] {
                missing[*follower] -= 1;
                if missing[*follower] == 0 {
                    ready.insert(*follower);
                }
            }
        }
        ensure((next_place as usize) >= tasks, || "tasks of this rank require each other in a cycle")?;
        Ok(places)
    }

    /// Each action with its waits. The waits must be sorted by task.
    pub fn tasks(&self) -> impl Iterator<Item = (&Action, &[Wait])> {
        let mut waits = self.waits.as_slice();
        self.actions.iter().zip(0..).map(move |(action, task)| {
            let (own, others) = waits.split_at(waits.partition_point(|wait| wait.task <= task));
            waits = others;
            (action, own)
        })
    }
}

/// The written form of a [`Source`]: the number of a rank, or null for any.
struct Sender;

impl Sender {
    fn serialize<S: Serializer>(from: &Source, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let rank = if let Source::Rank(rank) = from { Some(rank) } else { None };
        rank.serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Source, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Source::Any, Source::Rank))
    }
}

/// The written form of a [`Span`].
#[derive(Deserialize, Serialize)]
#[serde(remote = "Span", deny_unknown_fields)]
struct Piece {
    #[serde(with = "BufferName")]
    buffer: Buffer,
    offset: usize,
    len: usize,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Buffer", rename_all = "snake_case")]
enum BufferName {
    Input,
    Result,
    Scratch,
}
