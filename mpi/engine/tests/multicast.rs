//! Multicasts among ranks whose messages come in any order, as far as MPI allows it: of different senders. Sends are
//! eager or not, at random. Each member takes what it was sent, in the order in which it was sent.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};

use hocket_algorithms::find;
use hocket_algorithms::multicast::INLINE_BYTES;
use hocket_core::{Call, Collective, Counts, Side};
use hocket_memory::{Operator, operator};
use hocket_mpi::multicast::{
    Domain, IN_FLIGHT, MOST_BYTES_IN_FLIGHT, Members, Message, Outcome, PAPER, SIMULATED, rules,
};
use hocket_mpi::{ANY_SOURCE, Completion, Layout, Progress, Transport};
use proptest::prelude::*;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// All ranks of a test.
struct World {
    state: RefCell<State>,
}

struct State {
    random: Random,
    /// Of each sender and receiver, what is under way.
    under_way: Vec<VecDeque<Sent>>,
    /// Of each rank, messages that came and no receive wanted, and receives.
    unexpected: Vec<VecDeque<Sent>>,
    receives: Vec<VecDeque<Receive>>,
    ended: Vec<Vec<Completion>>,
}

struct Sent {
    slot: u32,
    from: usize,
    tag: u32,
    data: Data,
}

/// What an eager send has copied; else where it lies.
enum Data {
    Copied(Vec<u8>),
    Lies(*const u8, usize),
}

struct Receive {
    slot: u32,
    from: i32,
    tag: u32,
    into: *mut u8,
    room: usize,
    extent: usize,
}

/// What the functions of one rank are called with.
struct User<'a> {
    world: &'a World,
    rank: usize,
    extent: usize,
    operator: Option<&'a Operator>,
}

impl State {
    fn new(ranks: usize, seed: u64) -> Self {
        let mut state = Self {
            random: Random(seed),
            under_way: Vec::new(),
            unexpected: Vec::new(),
            receives: Vec::new(),
            ended: Vec::new(),
        };
        state.under_way.resize_with(ranks * ranks, VecDeque::new);
        state.unexpected.resize_with(ranks, VecDeque::new);
        state.receives.resize_with(ranks, VecDeque::new);
        state.ended.resize_with(ranks, Vec::new);
        state
    }

    /// A message and its receive have met.
    fn deliver(&mut self, to: usize, sent: &Sent, receive: &Receive) {
        let (data, bytes) = match &sent.data {
            Data::Copied(copy) => (copy.as_ptr(), copy.len()),
            Data::Lies(at, bytes) => (*at, *bytes),
        };
        assert!(bytes <= receive.room, "a message of {bytes} B into room for {}", receive.room);
        if bytes > 0 {
            // SAFETY: there is room, and the sender waits.
            unsafe { receive.into.copy_from_nonoverlapping(data, bytes) };
        }
        let count = bytes / receive.extent;
        self.ended[to].push(Completion { slot: receive.slot, source: sent.from as u32, count });
        if matches!(sent.data, Data::Lies(..)) {
            self.ended[sent.from].push(Completion { slot: sent.slot, source: 77, count: 0 });
        }
    }

    /// A message comes, from any rank.
    fn one_comes(&mut self, to: usize) {
        let ranks = self.ended.len();
        let first = self.random.below(ranks);
        let of = |from: usize| (first + from) % ranks * ranks + to;
        let Some(from) = (0..ranks).find(|from| !self.under_way[of(*from)].is_empty()) else { return };
        let sent = self.under_way[of(from)].pop_front().unwrap();
        let wanted = |r: &Receive| r.tag == sent.tag && (r.from == ANY_SOURCE || r.from == sent.from as i32);
        match self.receives[to].iter().position(wanted) {
            Some(index) => {
                let receive = self.receives[to].remove(index).unwrap();
                self.deliver(to, &sent, &receive);
            }
            None => self.unexpected[to].push_back(sent),
        }
    }

    fn is_quiet(&self) -> bool {
        let has_headers_only = self.receives.iter().all(|receives| receives.len() == 1);
        has_headers_only
            && self.under_way.iter().all(VecDeque::is_empty)
            && self.unexpected.iter().all(VecDeque::is_empty)
            && self.ended.iter().all(Vec::is_empty)
    }
}

unsafe fn user<'a>(user: *mut c_void) -> &'a User<'a> {
    // SAFETY: domains and collectives are started with one.
    unsafe { &*user.cast() }
}

unsafe extern "C" fn send(at: *mut c_void, slot: u32, data: *const c_void, count: usize, to: i32, tag: u32) -> c_int {
    let User { world, rank, extent, .. } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    assert!(tag < 32768, "MPI promises no more tags");
    let (data, bytes) = (data.cast::<u8>(), count * extent);
    let data = if bytes == 0 {
        Data::Copied(Vec::new())
    } else if state.random.below(2) == 0 {
        Data::Copied(unsafe { std::slice::from_raw_parts(data, bytes) }.to_vec())
    } else {
        Data::Lies(data, bytes)
    };
    if matches!(data, Data::Copied(_)) {
        state.ended[*rank].push(Completion { slot, source: 77, count: 0 });
    }
    let ranks = state.ended.len();
    state.under_way[rank * ranks + to as usize].push_back(Sent { slot, from: *rank, tag, data });
    0
}

unsafe extern "C" fn receive(
    at: *mut c_void,
    slot: u32,
    into: *mut c_void,
    count: usize,
    from: i32,
    tag: u32,
) -> c_int {
    let User { world, rank, extent, .. } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    let receive = Receive { slot, from, tag, into: into.cast(), room: count * extent, extent: *extent };
    let wanted = |sent: &Sent| sent.tag == tag && (from == ANY_SOURCE || from == sent.from as i32);
    match state.unexpected[*rank].iter().position(wanted) {
        Some(index) => {
            let sent = state.unexpected[*rank].remove(index).unwrap();
            state.deliver(*rank, &sent, &receive);
        }
        None => state.receives[*rank].push_back(receive),
    }
    0
}

unsafe extern "C" fn test(at: *mut c_void, _: c_int, ended: *mut Completion, _: usize, count: *mut usize) -> c_int {
    let User { world, rank, .. } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    state.one_comes(*rank);
    let State { random, ended: all, .. } = state;
    let waiting = &mut all[*rank];
    let found = (!waiting.is_empty()).then(|| waiting.swap_remove(random.below(waiting.len())));
    // SAFETY: there is room for one.
    unsafe {
        *count = found.is_some().into();
        found.into_iter().for_each(|found| *ended = found);
    }
    0
}

unsafe extern "C" fn reduce(at: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    let User { extent, operator, .. } = unsafe { user(at) };
    let bytes = count * extent;
    // SAFETY: both have so many elements.
    let (source, target) = unsafe {
        (std::slice::from_raw_parts(source.cast(), bytes), std::slice::from_raw_parts_mut(target.cast(), bytes))
    };
    operator.unwrap().apply(source, target, Side::Left);
    0
}

unsafe extern "C" fn copy(at: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    let User { extent, .. } = unsafe { user(at) };
    // SAFETY: both have so many elements.
    unsafe { source.cast::<u8>().copy_to(target.cast(), count * extent) };
    0
}

const TRANSPORT: Transport = Transport { send, receive, test, reduce, copy };

fn bitmap(members: &[usize], ranks: usize) -> Vec<u8> {
    let mut bitmap = vec![0; Members::bitmap_bytes(ranks)];
    members.iter().for_each(|rank| bitmap[rank / 8] |= 1 << (rank % 8));
    bitmap
}

fn payload(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i.wrapping_mul(31).wrapping_add(number * 97 + i / 256)) as u8).collect()
}

/// One multicast to be sent.
#[derive(Clone, Debug)]
struct Task {
    members: Vec<usize>,
    bytes: usize,
    /// The collective that the members run over their group.
    collective: Option<Collective>,
}

/// A member's part in a task that it has taken.
struct Work {
    task: usize,
    id: u64,
    pause: usize,
    input: Vec<u8>,
    result: Vec<u8>,
    has_begun: bool,
}

const COUNT: usize = 5;

fn call(task: &Task, collective: Collective) -> Call {
    let count = if collective == Collective::Barrier { 0 } else { COUNT };
    Call { element_bytes: 8, counts: Counts::Equal(count), ..Call::new(collective, task.members.len(), count) }
}

fn input(task: usize, call: &Call, logical: usize) -> Vec<u8> {
    let value = |i: usize| (task as u64 * 1000 + logical as u64 * 31 + i as u64) << 20;
    (0..call.input_len(logical)).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// Runs tasks, all begun as soon as the master comes to it.
fn check(ranks: usize, master: usize, rule: &str, tasks: &[Task], seed: u64) {
    let sum = operator("u64", "sum").unwrap();
    let world = World { state: RefCell::new(State::new(ranks, seed)) };
    let user = |rank, extent, operator| User { world: &world, rank, extent, operator };
    let users: Vec<_> = (0..ranks).map(|rank| user(rank, 1, None)).collect();
    let with_elements: Vec<_> = (0..ranks).map(|rank| user(rank, 8, Some(&sum))).collect();
    let pointer = |user: &User<'_>| std::ptr::from_ref(user).cast_mut().cast::<c_void>();
    let domain =
        |rank| Domain::new((rank, ranks, master), rules(rule).unwrap(), TRANSPORT, pointer(&users[rank])).unwrap();
    let mut domains: Vec<_> = (0..ranks).map(domain).collect();
    let payloads: Vec<_> = tasks.iter().enumerate().map(|(number, task)| payload(number, task.bytes)).collect();

    let mut random = Random(seed ^ 0x5555);
    let mut ids: Vec<u64> = Vec::new();
    let mut expected: Vec<VecDeque<usize>> = vec![VecDeque::new(); ranks];
    tasks.iter().enumerate().for_each(|(n, task)| task.members.iter().for_each(|rank| expected[*rank].push_back(n)));
    let mut rooms: Vec<Vec<u8>> = (0..ranks).map(|_| vec![0; 20_000]).collect();
    let mut works: Vec<Vec<Work>> = (0..ranks).map(|_| Vec::new()).collect();
    let mut turns = 0;
    loop {
        turns += 1;
        assert!(turns < 200_000 + 20_000 * tasks.len(), "never ends: {tasks:?}");
        for rank in 0..ranks {
            if random.below(3) == 0 {
                continue;
            }
            let domain = &mut domains[rank];
            if rank == master && ids.len() < tasks.len() && random.below(2) == 0 {
                let (task, payload) = (&tasks[ids.len()], &payloads[ids.len()]);
                let id = domain.send(&bitmap(&task.members, ranks), payload.as_ptr(), payload.len()).unwrap();
                assert_eq!(id == 0, task.members.is_empty());
                assert!(id != 0 || domain.is_complete(id) && domain.has_left(id));
                ids.push(id);
            }
            if random.below(2) == 0 {
                domain.offer(rooms[rank].as_mut_ptr(), rooms[rank].len());
            }
            assert!(!matches!(domain.advance(false), Outcome::Failed(_)));
            if let Some(message) = domain.take() {
                assert!(domain.offer(rooms[rank].as_mut_ptr(), 0), "no offer outlives what is taken");
                domain.withdraw();
                let number = expected[rank].pop_front().expect("one more");
                works[rank].push(taken(&tasks[number], number, &payloads[number], rank, &message, random.below(9)));
            }
            works[rank].retain_mut(|work| {
                let task = &tasks[work.task];
                if let Some(collective) = task.collective {
                    if !work.has_begun {
                        begin(domain, work, task, collective, pointer(&with_elements[rank]));
                    }
                    match domain.collective(work.id) {
                        Progress::Waits => {
                            assert!(!domain.release(work.id), "released at work");
                            return true;
                        }
                        Progress::Done => {}
                        Progress::Failed(code) => panic!("failed with {code}"),
                    }
                }
                work.pause = work.pause.saturating_sub(1);
                if work.pause == 0 {
                    assert!(domain.release(work.id) && !domain.release(work.id), "once");
                    finished(work, task, &sum, task.members.iter().position(|member| *member == rank).unwrap());
                }
                work.pause > 0
            });
        }
        let is_over = ids.len() == tasks.len() && domains[master].incomplete() == 0;
        if is_over && world.state.borrow().is_quiet() {
            break;
        }
    }
    assert!(expected.iter().all(VecDeque::is_empty) && works.iter().all(Vec::is_empty));
    assert!(ids.iter().all(|id| domains[master].is_complete(*id) && domains[master].has_left(*id)));
}

fn taken(task: &Task, number: usize, payload: &[u8], rank: usize, message: &Message, pause: usize) -> Work {
    assert_eq!(message.bytes, payload.len(), "task {number} at rank {rank}");
    let got = if payload.is_empty() { &[] } else { unsafe { std::slice::from_raw_parts(message.data, message.bytes) } };
    assert!(got == payload, "task {number} at rank {rank}: wrong content");
    assert_eq!(message.members.rank(message.logical), rank);
    assert!(message.members.ranks().iter().map(|rank| *rank as usize).eq(task.members.iter().copied()));
    let mut work =
        Work { task: number, id: message.id, pause, input: Vec::new(), result: Vec::new(), has_begun: false };
    if let Some(collective) = task.collective {
        let call = call(task, collective);
        work.input = input(number, &call, message.logical);
        work.result = vec![0; call.result_room(message.logical) * 8];
        if collective == Collective::Broadcast && message.logical == 0 {
            work.result = work.input.clone();
        }
    }
    work
}

fn begin(domain: &mut Domain, work: &mut Work, task: &Task, collective: Collective, user: *mut c_void) {
    let call = call(task, collective);
    let layout = Layout { extent: 8, true_lower_bound: 0, true_extent: 8 };
    work.has_begun = true;
    let buffers = (work.input.as_mut_ptr(), work.result.as_mut_ptr());
    domain.start(work.id, call.clone(), layout, user, buffers).unwrap();
    let again = domain.start(work.id, call, layout, user, buffers);
    assert!(domain.collective(work.id) == Progress::Done || again.is_err(), "one at a time");
}

fn finished(work: &Work, task: &Task, sum: &Operator, logical: usize) {
    let Some(collective) = task.collective else { return };
    let call = call(task, collective);
    let inputs: Vec<_> = (0..call.ranks).map(|logical| input(work.task, &call, logical)).collect();
    let name = match collective {
        Collective::Allreduce => "linear",
        Collective::Barrier => "dissemination",
        Collective::Allgather => "ring",
        Collective::Alltoall
        | Collective::Alltoallv
        | Collective::Broadcast
        | Collective::Gather
        | Collective::Gatherv => "linear",
        Collective::Reduce | Collective::Scatter | Collective::Scatterv => "linear",
        Collective::ReduceScatter => "pairwise",
        Collective::Exscan | Collective::Scan => "recursive_doubling",
        Collective::NeighborAllgather | Collective::NeighborAlltoall => unreachable!("groups have no neighbours"),
    };
    let entry = find(collective, name).unwrap();
    let results = hocket::run(entry, &entry.accept(&call, &[]).unwrap(), Some(sum), &inputs).unwrap();
    assert_eq!(work.result[..results[logical].len()], results[logical], "{collective} of task {}", work.task);
}

/// The collectives of groups, which have no neighbours.
fn of_groups() -> impl Iterator<Item = Collective> {
    Collective::ALL.into_iter().filter(|collective| !collective.has_neighbors())
}

fn task(members: impl IntoIterator<Item = usize>, bytes: usize) -> Task {
    Task { members: members.into_iter().collect(), bytes, collective: None }
}

/// Sizes round the edges.
fn sizes() -> [usize; 8] {
    [0, 1, 3, INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 20_000, 65_521]
}

const CHAIN: &str = "broadcast: chain, segment=1KiB";
const DOUBLE_TREE: &str = "broadcast: double_tree, segment=1KiB";
const DOUBLING: &str = "broadcast: scatter_doubling_allgather";
const TREE: &str = "broadcast: binomial";

#[test]
fn groups_of_all_sizes_with_any_master() {
    for rule in ["", SIMULATED, PAPER, CHAIN, DOUBLE_TREE, DOUBLING, TREE] {
        for (ranks, master) in [(1, 0), (2, 0), (2, 1), (5, 2), (8, 7), (19, 9)] {
            let tasks: Vec<_> =
                (0..=ranks).flat_map(|size| sizes().map(|bytes| task(ranks - size..ranks, bytes))).collect();
            check(ranks, master, rule, &tasks, 1 + ranks as u64);
        }
    }
}

#[test]
fn the_master_inside_outside_and_first_of_the_group() {
    for master in 0..6 {
        let groups = [vec![0], vec![3], vec![5], vec![1, 3, 5], vec![0, 2, 3, 4], (0..6).collect(), vec![]];
        let tasks: Vec<_> = groups.iter().flat_map(|group| sizes().map(|bytes| task(group.clone(), bytes))).collect();
        check(6, master, "", &tasks, 7);
    }
}

#[test]
fn ranks_round_the_edges_of_words() {
    for ranks in [63, 64, 65, 128, 130] {
        let edges = [0, 7, 8, 31, 32, 62, 63, 64, 65, 127, 128, 129].into_iter().filter(|rank| *rank < ranks);
        let tasks = [
            task(edges.clone(), 1),
            task([ranks - 1], 9000),
            task(edges, 9000),
            task(0..ranks, 10),
            task((0..ranks).filter(|rank| rank % 3 == 1), 20_000),
        ];
        check(ranks, ranks / 2, "", &tasks, ranks as u64);
    }
}

#[test]
fn more_multicasts_than_have_tags_of_their_own() {
    let tasks: Vec<_> = (0..700).map(|i| task([1 + i % 3, 5], i % 40)).collect();
    check(6, 0, "", &tasks, 3);
}

/// Lets all ranks go on until nothing more happens; how many multicasts the last one has taken, and released.
fn settle(domains: &mut [Domain]) -> usize {
    let (mut taken, mut idle) = (0, 0);
    while idle < 50 {
        let news = domains.iter_mut().map(|domain| domain.advance(false) == Outcome::News);
        idle = if news.filter(|has_news| *has_news).count() > 0 { 0 } else { idle + 1 };
        while let Some(message) = domains.last_mut().unwrap().take() {
            assert!(domains.last_mut().unwrap().release(message.id));
            taken += 1;
        }
    }
    taken
}

#[test]
fn the_master_holds_back_what_is_too_much_until_the_oldest_is_complete() {
    let large = vec![1u8; MOST_BYTES_IN_FLIGHT / 2 + 1];
    for (payload, count, begun) in [(&large[..1], 300, IN_FLIGHT as usize - 1), (&large[..], 3, 0)] {
        let world = World { state: RefCell::new(State::new(3, 5)) };
        let users = [0, 1, 2].map(|rank| User { world: &world, rank, extent: 1, operator: None });
        let pointer = |rank: usize| std::ptr::from_ref(&users[rank]).cast_mut().cast();
        let domain = |rank| Domain::new((rank, 3, 0), rules("").unwrap(), TRANSPORT, pointer(rank)).unwrap();
        let mut domains = [0, 1, 2].map(domain);
        let held = domains[0].send(&[0b010], payload.as_ptr(), payload.len()).unwrap();
        let send = |_| domains[0].send(&[0b100], payload.as_ptr(), payload.len()).unwrap();
        let others: Vec<_> = (0..count).map(send).collect();
        assert_eq!(settle(&mut domains), begun, "while the first one is held");
        let left = others.iter().filter(|id| domains[0].is_complete(**id)).count();
        assert_eq!((left, domains[1].take().map(|message| message.id)), (begun, Some(held)));
        assert!(domains[1].release(held));
        assert_eq!(begun + settle(&mut domains), count);
        assert_eq!(domains[0].incomplete(), 0);
    }
}

#[test]
fn every_collective_runs_over_groups() {
    for ranks in [2, 7] {
        let groups = [(0..ranks).collect(), (1..ranks).collect::<Vec<_>>(), vec![ranks - 1], vec![0, ranks - 1]];
        let of = |collective| move |members: &Vec<usize>| Task { members: members.clone(), bytes: 10, collective };
        let tasks: Vec<_> = of_groups().flat_map(|one| groups.iter().map(of(Some(one)))).collect();
        check(ranks, 0, "", &tasks, 11);
    }
}

#[test]
fn what_is_refused() {
    let world = World { state: RefCell::new(State::new(3, 1)) };
    let user = User { world: &world, rank: 1, extent: 1, operator: None };
    let pointer = std::ptr::from_ref(&user).cast_mut().cast();
    let domain = |master| Domain::new((1, 3, master), rules("measured").unwrap(), TRANSPORT, pointer).unwrap();
    let refused = |mut domain: Domain, bitmap: &[u8]| domain.send(bitmap, [1].as_ptr(), 1).unwrap_err().to_string();
    assert_eq!(refused(domain(0), &[1]), "rank 1 sends a multicast, expected the master of the domain, rank 0");
    assert_eq!(refused(domain(1), &[8]), "members: got ranks above 2, the last rank of the communicator");
    assert!(!domain(1).release(1) && domain(1).take().is_none());
}

#[test]
fn a_message_that_is_no_header_is_a_failure_and_no_hang() {
    let world = World { state: RefCell::new(State::new(2, 1)) };
    let users = [0, 1].map(|rank| User { world: &world, rank, extent: 1, operator: None });
    let [pointer, other] = [0, 1].map(|rank| std::ptr::from_ref(&users[rank]).cast_mut().cast());
    let mut domain = Domain::new((0, 2, 0), rules("").unwrap(), TRANSPORT, pointer).unwrap();
    unsafe { send(other, 0, b"something else".as_ptr().cast(), 14, 0, 0) };
    let outcomes: Vec<_> = (0..3).map(|_| domain.advance(true)).collect();
    assert_eq!(outcomes.last(), Some(&Outcome::Failed(-2)), "{outcomes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn overlapping_groups_in_flight(
        ranks in 1usize..14,
        master in 0usize..14,
        rule in 0usize..7,
        seed in any::<u64>(),
        groups in prop::collection::vec((any::<u16>(), 0usize..8, 0usize..15), 0..40),
    ) {
        let rule = ["", SIMULATED, PAPER, CHAIN, DOUBLE_TREE, DOUBLING, TREE][rule];
        let one = |(bits, size, collective): &(u16, usize, usize)| Task {
            members: (0..ranks).filter(|rank| bits >> rank & 1 == 1).collect(),
            bytes: sizes()[*size],
            collective: of_groups().nth(*collective),
        };
        let tasks: Vec<_> = groups.iter().map(one).collect();
        check(ranks, master % ranks, rule, &tasks, seed);
    }
}
