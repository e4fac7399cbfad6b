//! The collective calls of an application: the matched calls of its ranks, and their algorithms.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use hocket_algorithms::Entry;
use hocket_algorithms::rules::Rules;
use hocket_core::{
    Buffer, Call, Collective, Counts, Error, Moment, Nodes, Pairs, Rank, Result, Span, Subgroup, Tag, ensure,
};
use serde::Deserialize;

/// The algorithms without a user's rule, similar to MPICH's. The last rule of each collective accepts any call.
pub const DEFAULT_RULES: &str = "\
allgather[size=..8KiB]: recursive_doubling
allgather[size=..8KiB]: bruck
allgather: ring
allreduce[size=..2KiB]: recursive_doubling
allreduce[ranks=5..]: rabenseifner
allreduce: recursive_doubling
alltoall[size=..256, ranks=8..]: bruck
alltoall[size=..32KiB]: linear
alltoall: pairwise_exchange
alltoall: linear
alltoallv: pairwise_exchange
barrier: dissemination
broadcast[size=..12KiB]: binomial
broadcast[ranks=..8]: binomial
broadcast[size=..512KiB, ranks=power_of_two]: scatter_doubling_allgather
broadcast: scatter_ring_allgather
exscan: doubling_123
gather: binomial
gatherv: linear
reduce: binomial
reduce: linear
reduce_scatter[size=..512KiB]: recursive_halving
reduce_scatter: pairwise
reduce_scatter: recursive_doubling
scan: recursive_doubling
scatter: binomial
scatterv: linear
";

/// A collective call as one rank gives it; names are as in traces.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct CallArguments {
    /// The blocking MPI function, and whether its nonblocking form was called.
    pub function: String,
    pub is_started: bool,
    pub root: usize,
    pub count: u64,
    pub counts: Option<Vec<u64>>,
    pub type_bytes: u64,
    pub recv_count: u64,
    pub recv_counts: Option<Vec<u64>>,
    pub recv_type_bytes: u64,
    pub commutative: bool,
    pub in_place: bool,
}

impl CallArguments {
    /// The function that was called.
    fn function_name(&self) -> String {
        match self.function.strip_prefix("MPI_") {
            Some(name) if self.is_started => format!("MPI_I{}", name.to_lowercase()),
            _ => self.function.clone(),
        }
    }

    /// Number of elements of the block for a rank, or of every block if all are alike.
    fn sent(&self, rank: usize) -> u64 {
        self.counts.as_ref().map_or(self.count, |counts| counts[rank])
    }

    fn received(&self, rank: usize) -> u64 {
        self.recv_counts.as_ref().map_or(self.recv_count, |counts| counts[rank])
    }

    fn sent_bytes(&self, rank: usize) -> u64 {
        self.sent(rank).saturating_mul(self.type_bytes)
    }

    fn received_bytes(&self, rank: usize) -> u64 {
        self.received(rank).saturating_mul(self.recv_type_bytes)
    }
}

/// The collective calls of an application.
#[derive(Default)]
pub struct Collectives {
    pub instances: Vec<Instance>,
    pub ways: Vec<Way>,
}

/// One call of all ranks of a communicator.
pub struct Instance {
    pub communicator: u32,
    /// The index in [`Collectives::ways`].
    pub way: u32,
    pub first_tag: Tag,
    /// Whether other calls can be under way at the same time.
    pub is_started: bool,
}

/// The algorithm of a call.
pub struct Way {
    entry: &'static Entry,
    call: Call,
}

impl Way {
    /// The collective and the algorithm.
    pub fn names(&self) -> (&'static str, &'static str) {
        (self.entry.collective.name(), self.entry.name)
    }
}

impl Collectives {
    /// The program of the rank at `place` in a call.
    pub async fn run(
        &self,
        r: &Rank<'_>,
        communicators: &[Vec<usize>],
        instance: u32,
        place: u32,
        completion: &OnceCell<Moment>,
    ) {
        let Instance { communicator, way, first_tag, is_started } = self.instances[instance as usize];
        let (members, place) = (&*communicators[communicator as usize], place as usize);
        let Way { entry, call } = &self.ways[way as usize];
        // The buffers hold no data, so their size does not matter.
        let [input, result] = [Buffer::Input, Buffer::Result].map(|buffer| Span::new(buffer, usize::MAX));
        let group = Subgroup::at(r, (members, place), (input, result), first_tag, call.element_bytes);
        let group = if is_started { group.without_circuits() } else { group };
        let group = group.completing(completion);
        entry.program().steps(&group.rank(), call).await;
    }
}

/// The number of members, and what each gives; a single entry if all are equal.
type Shape = (usize, Box<[u32]>);

/// Matches the calls of ranks, and chooses their algorithms.
pub struct Resolver<'a> {
    arguments: &'a [CallArguments],
    rules: &'a Rules,
    defaults: Rules,
    ways_by_shape: HashMap<Shape, Vec<(Nodes, u32)>>,
    pub ways: Vec<Way>,
}

/// Two members that disagree, and on what.
pub struct Disagreement {
    pub places: (usize, usize),
    /// The expected and the actual text of the second member.
    pub expected: String,
    pub got: String,
}

/// The reason why a call cannot be replayed.
pub enum Trouble {
    Members(Disagreement),
    Call(Error),
}

impl<'a> Resolver<'a> {
    /// A resolver for calls in which each rank gives one of `arguments`.
    ///
    /// # Errors
    /// Invalid default rules: a defect.
    pub fn new(arguments: &'a [CallArguments], rules: &'a Rules) -> Result<Self> {
        let defaults = Rules::parse(DEFAULT_RULES, "default rules")?;
        Ok(Self { arguments, rules, defaults, ways_by_shape: HashMap::new(), ways: Vec::new() })
    }

    /// The way of a call in which the members give these, on these nodes.
    ///
    /// # Errors
    /// Members that disagree, or a call that is too large.
    pub fn way(&mut self, members: &[u32], nodes: &Nodes) -> std::result::Result<u32, Trouble> {
        let are_alike = members.iter().all(|arguments| *arguments == members[0]);
        let key = (members.len(), if are_alike { members[..1].into() } else { members.into() });
        let earlier = self.ways_by_shape.get(&key).into_iter().flatten().find(|(other, _)| other == nodes);
        if let Some((_, way)) = earlier {
            return Ok(*way);
        }
        let all: Vec<_> = members.iter().map(|arguments| &self.arguments[*arguments as usize]).collect();
        check(&all).map_err(Trouble::Members)?;
        let way = self.choose(&all, nodes).map_err(Trouble::Call)?;
        self.ways.push(way);
        let number = (self.ways.len() - 1) as u32;
        self.ways_by_shape.entry(key).or_default().push((nodes.clone(), number));
        Ok(number)
    }

    fn choose(&self, all: &[&CallArguments], nodes: &Nodes) -> Result<Way> {
        let call = match collective(&all[0].function) {
            Collective::Alltoallv => exchange(all)?,
            collective => call(collective, all)?,
        };
        let call = Call { nodes: nodes.clone(), ..call };
        let choice = self.rules.decide(&call, all[0].is_started).or_else(|_| self.defaults.decide(&call, false));
        choice.map(|(entry, call)| Way { entry, call })
    }
}

/// The collective of a function; alltoallv for functions whose blocks differ from pair to pair.
fn collective(function: &str) -> Collective {
    Collective::from_name(&function.replace("MPI_", "").to_lowercase()).unwrap_or(Collective::Alltoallv)
}

/// Checks that the members agree on the function, its root, and the data between each pair of ranks.
fn check(all: &[&CallArguments]) -> std::result::Result<(), Disagreement> {
    let agree = |first: usize, other: usize, expected: String, got: String| {
        if expected == got { Ok(()) } else { Err(Disagreement { places: (first, other), expected, got }) }
    };
    let bytes = |bytes: u64| format!("{bytes} B");
    let list = |arguments: &CallArguments, of: fn(&CallArguments, usize) -> u64| {
        let has_list = arguments.counts.is_some() || arguments.recv_counts.is_some();
        let blocks = 0..if has_list { all.len() } else { 1 };
        blocks.map(|rank| of(arguments, rank).to_string()).collect::<Vec<_>>().join(", ") + " B"
    };
    let collective = collective(&all[0].function);
    let root = all[0].root;
    for (place, arguments) in all.iter().enumerate() {
        let first = all[0];
        let function_and_root = |arguments: &CallArguments| match collective.has_root() {
            true => format!("{} with root {}", arguments.function_name(), arguments.root),
            false => arguments.function_name(),
        };
        agree(0, place, function_and_root(first), function_and_root(arguments))?;
        let agree_with_first = |of| agree(0, place, list(first, of), list(arguments, of));
        match collective {
            Collective::Barrier => {}
            Collective::Alltoallv => {
                for (other, from) in all.iter().enumerate() {
                    let sent = pair_bytes(from, place);
                    agree(other, place, bytes(sent), bytes(arguments.received_bytes(other)))?;
                }
            }
            collective if !collective.has_root() && std::ptr::eq(*arguments, first) => {}
            Collective::Allgather | Collective::Alltoall => agree_with_first(CallArguments::received_bytes)?,
            Collective::Gather | Collective::Gatherv if place != root => {
                agree(root, place, bytes(all[root].received_bytes(place)), bytes(arguments.sent_bytes(place)))?;
            }
            Collective::Scatter | Collective::Scatterv if place != root => {
                agree(root, place, bytes(all[root].sent_bytes(place)), bytes(arguments.received_bytes(place)))?;
            }
            collective if collective.gathers() || collective.scatters() => {}
            _ => agree_with_first(CallArguments::sent_bytes)?,
        }
    }
    Ok(())
}

/// The bytes that a rank sends to another in an alltoallv. In place, it sends as much as it receives.
fn pair_bytes(from: &CallArguments, to: usize) -> u64 {
    if from.in_place { from.received_bytes(to) } else { from.sent_bytes(to) }
}

/// The largest number of bytes of all blocks together.
const MOST_BYTES: u64 = 1 << 50;

fn check_size(bytes: u64) -> Result<()> {
    ensure(bytes <= MOST_BYTES, || "expected at most 2^50 B in all blocks together")
}

/// The call as given by a rank that knows all of it.
fn call(collective: Collective, all: &[&CallArguments]) -> Result<Call> {
    let root = if collective.has_root() { all[0].root } else { 0 };
    let arguments = all[root];
    let is_received = collective.gathers() || matches!(collective, Collective::Allgather | Collective::Alltoall);
    let (count, counts, element_bytes) = if is_received {
        (arguments.recv_count, &arguments.recv_counts, arguments.recv_type_bytes)
    } else {
        (arguments.count, &arguments.counts, arguments.type_bytes)
    };
    let ranks = all.len();
    let most = counts.iter().flatten().copied().fold(count, u64::max);
    check_size(most.saturating_mul(element_bytes).saturating_mul(ranks as u64))?;
    // Types without data have no bytes.
    let elements = |count: u64| if element_bytes == 0 { 0 } else { count as usize };
    let counts = match counts {
        Some(counts) => Counts::each(&counts.iter().map(|count| elements(*count)).collect::<Vec<_>>()),
        None => Counts::Equal(elements(count)),
    };
    Ok(Call {
        root,
        counts,
        element_bytes: element_bytes.max(1) as usize,
        in_place: arguments.in_place,
        commutative: arguments.commutative,
        ..Call::new(collective, ranks, 0)
    })
}

/// As [`call`], for an alltoallv, with elements of one byte.
fn exchange(all: &[&CallArguments]) -> Result<Call> {
    let bytes = |from: usize, to: usize| pair_bytes(all[from], to);
    let pairs = (0..all.len()).flat_map(|from| (0..all.len()).map(move |to| (from, to)));
    check_size(pairs.fold(0, |total: u64, (from, to)| total.saturating_add(bytes(from, to))))?;
    let pairs = Pairs::all_pairs(all.len(), |from, to| bytes(from, to) as usize);
    let in_place = all.iter().all(|arguments| arguments.in_place);
    Ok(Call { counts: Counts::Pairs(Arc::new(pairs)), in_place, ..Call::new(Collective::Alltoallv, all.len(), 0) })
}
