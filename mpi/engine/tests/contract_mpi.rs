//! Every algorithm of the catalogue under the communicator gives what it gives in memory: with messages that wait for their
//! receives and end in any order, with elements that have gaps, and again when an operation runs a second time.
#![allow(unsafe_code)]

#[path = "../../../crates/hocket/tests/all/sweeps.rs"]
mod sweeps;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};

use hocket::cases;
use hocket_algorithms::rules::Rules;
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective, Side};
use hocket_memory::{Operator, operator};
use hocket_mpi::{ANY_SOURCE, Communicator, Completion, Layout, Operation, Progress, Transport};

/// All ranks of a test: messages that wait for their receives, and the other way round.
struct World<'a> {
    operator: &'a Operator,
    extent: usize,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    sends: Vec<VecDeque<Message>>,
    receives: Vec<VecDeque<Message>>,
    ended: Vec<Vec<Completion>>,
    random: u64,
}

/// A send that waits at its receiver, or a receive.
struct Message {
    slot: u32,
    /// The sender; of a receive, from whom it is wanted.
    from: i32,
    tag: u32,
    at: *mut u8,
    count: usize,
}

/// What the functions of one rank are called with.
struct User<'a> {
    world: &'a World<'a>,
    rank: usize,
}

impl World<'_> {
    fn copy(&self, source: *const u8, target: *mut u8, count: usize) {
        let bytes = self.operator.element_bytes;
        for index in 0..count {
            // SAFETY: both have so many elements.
            unsafe { source.add(index * self.extent).copy_to(target.add(index * self.extent), bytes) };
        }
    }

    fn deliver(&self, state: &mut State, to: usize, send: &Message, receive: &Message) {
        assert!(send.count <= receive.count, "a message of {} into room for {}", send.count, receive.count);
        self.copy(send.at, receive.at, send.count);
        state.ended[to].push(Completion { slot: receive.slot, source: send.from as u32, count: send.count });
        state.ended[send.from as usize].push(Completion { slot: send.slot, source: 0, count: 0 });
    }
}

fn take(queue: &mut VecDeque<Message>, is_wanted: impl Fn(&Message) -> bool) -> Option<Message> {
    let index = queue.iter().position(is_wanted)?;
    queue.remove(index)
}

unsafe fn user<'a>(user: *mut c_void) -> &'a User<'a> {
    // SAFETY: operations are started with one.
    unsafe { &*user.cast() }
}

unsafe extern "C" fn send(at: *mut c_void, slot: u32, data: *const c_void, count: usize, to: i32, tag: u32) -> c_int {
    let User { world, rank } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    let message = Message { slot, from: *rank as i32, tag, at: data.cast::<u8>().cast_mut(), count };
    let to = to as usize;
    let wanted = |m: &Message| m.tag == tag && (m.from == message.from || m.from == ANY_SOURCE);
    match take(&mut state.receives[to], wanted) {
        Some(receive) => world.deliver(state, to, &message, &receive),
        None => state.sends[to].push_back(message),
    }
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
    let User { world, rank } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    let message = Message { slot, from, tag, at: into.cast(), count };
    match take(&mut state.sends[*rank], |m| m.tag == tag && (m.from == from || from == ANY_SOURCE)) {
        Some(send) => world.deliver(state, *rank, &send, &message),
        None => state.receives[*rank].push_back(message),
    }
    0
}

/// Ends one message at most, any one.
unsafe extern "C" fn test(at: *mut c_void, _: c_int, ended: *mut Completion, _: usize, count: *mut usize) -> c_int {
    let User { world, rank } = unsafe { user(at) };
    let state = &mut *world.state.borrow_mut();
    state.random = state.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let waiting = &mut state.ended[*rank];
    let found = (!waiting.is_empty()).then(|| waiting.swap_remove((state.random >> 33) as usize % waiting.len()));
    // SAFETY: there is room for one.
    unsafe {
        *count = found.is_some().into();
        if let Some(found) = found {
            *ended = found;
        }
    }
    0
}

unsafe extern "C" fn reduce(at: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    let User { world, .. } = unsafe { user(at) };
    for index in 0..count {
        let bytes = world.operator.element_bytes;
        // SAFETY: both have so many elements.
        let (source, target) = unsafe {
            let source = std::slice::from_raw_parts(source.cast::<u8>().add(index * world.extent), bytes);
            (source, std::slice::from_raw_parts_mut(target.cast::<u8>().add(index * world.extent), bytes))
        };
        world.operator.apply(source, target, Side::Left);
    }
    0
}

unsafe extern "C" fn copy(at: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    unsafe { user(at) }.world.copy(source.cast(), target.cast(), count);
    0
}

const TRANSPORT: Transport = Transport { send, receive, test, reduce, copy };

/// Elements with gaps between them, as they lie in a buffer of the caller.
fn spread(packed: &[u8], bytes: usize, extent: usize) -> Vec<u8> {
    let mut all = vec![0xEE; packed.len() / bytes * extent];
    for (element, place) in packed.chunks(bytes).zip(all.chunks_mut(extent)) {
        place[..bytes].copy_from_slice(element);
    }
    all
}

fn inputs(call: &Call) -> Vec<Vec<u8>> {
    let value = |rank: usize, i: usize| ((rank * 7919 + i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8;
    let len = |rank: usize| call.input_len(rank) * call.element_bytes;
    (0..call.ranks).map(|rank| (0..len(rank)).map(|i| value(rank, i)).collect()).collect()
}

/// A rank's buffers, its input in place.
fn buffers(call: &Call, rank: usize, input: &[u8], extent: usize) -> (Vec<u8>, Vec<u8>) {
    let bytes = call.element_bytes;
    let (mut apart, mut result) = (Vec::new(), vec![0; call.result_room(rank) * bytes]);
    let place = call.input_of(rank);
    match place.buffer {
        hocket_core::Buffer::Input => apart = input.to_vec(),
        _ => result[place.offset * bytes..][..input.len()].copy_from_slice(input),
    }
    (spread(&apart, bytes, extent), spread(&result, bytes, extent))
}

/// Runs a call under one communicator per rank, twice, and compares with its run in memory.
fn check(entry: &Entry, call: &Call, parameters: &[(String, u64)], operator: &Operator, gap: usize) -> bool {
    let call = Call { commutative: operator.commutative, element_bytes: operator.element_bytes, ..call.clone() };
    let Ok(accepted) = entry.accept(&call, parameters) else { return false };
    let inputs = inputs(&call);
    let expected = hocket::run(entry, &accepted, Some(operator), &inputs).expect("runs in memory");
    let written = |(name, value): &(String, u64)| {
        let declared = entry.about.parameters.iter().find(|parameter| parameter.name == name).expect("declared");
        match declared.words().get(*value as usize) {
            Some(word) => format!(", {name}={word}"),
            None => format!(", {name}={value}"),
        }
    };
    let values: String = parameters.iter().map(written).collect();
    let rules = rules(&format!("{}: {}{values}", entry.collective, entry.name));
    let extent = call.element_bytes + gap;
    let world = World { operator, extent, state: RefCell::default() };
    {
        let state = &mut *world.state.borrow_mut();
        state.sends.resize_with(call.ranks, VecDeque::new);
        state.receives.resize_with(call.ranks, VecDeque::new);
        state.ended.resize_with(call.ranks, Vec::new);
    }
    let layout = Layout { extent: extent as isize, true_lower_bound: 0, true_extent: call.element_bytes };
    let users: Vec<_> = (0..call.ranks).map(|rank| User { world: &world, rank }).collect();
    let mut communicators: Vec<_> = (0..call.ranks).map(|rank| Communicator::new(rank, TRANSPORT)).collect();
    for round in 0..2 {
        let mut buffers: Vec<_> = (0..call.ranks).map(|rank| buffers(&call, rank, &inputs[rank], extent)).collect();
        let mut start = |rank: usize| -> Box<Operation> {
            let mut operation = communicators[rank].prepare(rules, &call, false, layout).expect("accepted");
            let (input, result) = &mut buffers[rank];
            let user = std::ptr::from_ref(&users[rank]).cast_mut().cast();
            operation.start(user, input.as_mut_ptr(), result.as_mut_ptr());
            operation
        };
        let mut running: Vec<_> = (0..call.ranks).map(|rank| Some(start(rank))).collect();
        let mut idle_rounds = 0;
        while running.iter().any(Option::is_some) {
            idle_rounds += 1;
            assert!(idle_rounds < 100_000, "{entry} never ends: {call:?}");
            for rank in 0..call.ranks {
                let Some(operation) = &mut running[rank] else { continue };
                match operation.advance(false) {
                    Progress::Waits => {}
                    Progress::Done => communicators[rank].keep(running[rank].take().expect("running")),
                    Progress::Failed(code) => panic!("{entry} failed with {code}"),
                }
            }
        }
        let state = world.state.borrow();
        assert!(state.sends.iter().all(VecDeque::is_empty), "{entry} leaves messages: {call:?}");
        assert!(state.receives.iter().all(VecDeque::is_empty), "{entry} leaves receives: {call:?}");
        for (rank, expected) in expected.iter().enumerate() {
            let place = call.result_of(rank);
            let (input, result) = &buffers[rank];
            let whole = if place.buffer == hocket_core::Buffer::Input { input } else { result };
            let elements = whole.chunks(extent).skip(place.offset).take(place.len);
            let got: Vec<u8> = elements.flat_map(|element| &element[..call.element_bytes]).copied().collect();
            assert_eq!(&got, expected, "{entry} at rank {rank}, round {round}: {call:?}");
        }
    }
    true
}

fn check_at_all_ranks(entry: &Entry) {
    let operators = [operator("u64", "sum").unwrap(), operator("matrix2x2_u64", "prod").unwrap()];
    let mut accepted = 0;
    for ranks in cases::rank_counts().filter(|ranks| ![10, 11, 13, 14, 15, 31, 32].contains(ranks)) {
        let has_all = sweeps::has_all_values_in_long_sweeps(ranks);
        let parameters: Vec<_> =
            cases::parameters(entry).into_iter().take(if has_all { usize::MAX } else { 1 }).collect();
        let calls = cases::calls_also_in_place(entry.collective, ranks).filter(sweeps::is_for_long_sweeps);
        for (number, call) in calls.enumerate() {
            let gap = if call.root.is_multiple_of(2) { 0 } else { 8 };
            // Where nothing is combined, operators only tell the size of elements: they take turns.
            let operators = if entry.collective.reduces() {
                &operators[..]
            } else {
                &operators[number.count_ones() as usize % 2..][..1]
            };
            for (parameters, operator) in
                parameters.iter().flat_map(|values| operators.iter().map(move |o| (values, o)))
            {
                accepted += usize::from(check(entry, &call, parameters, operator, gap));
            }
        }
    }
    assert!(accepted > 0, "{entry} refused every call");
}

#[test]
fn every_algorithm_that_reduces_gives_under_libhocket_what_it_gives_in_memory() {
    CATALOGUE.iter().filter(|entry| entry.collective.reduces()).for_each(check_at_all_ranks);
}

#[test]
fn every_algorithm_that_does_not_reduce_gives_under_libhocket_what_it_gives_in_memory() {
    CATALOGUE.iter().filter(|entry| !entry.collective.reduces()).for_each(check_at_all_ranks);
}

/// Rules as communicators take them: never dropped.
fn rules(text: &str) -> &'static Rules {
    Box::leak(Box::new(Rules::parse(text, "rules").expect("good rules")))
}

#[test]
fn other_rules_choose_anew() {
    let (ring, doubling, native) =
        (rules("allreduce: ring"), rules("allreduce: recursive_doubling"), rules("allreduce: native"));
    let mut communicator = Communicator::new(0, TRANSPORT);
    let layout = Layout { extent: 8, true_lower_bound: 0, true_extent: 8 };
    let call = Call { element_bytes: 8, ..Call::new(Collective::Allreduce, 4, 16) };
    for (rules, expected) in [
        (ring, Some("ring")),
        (ring, Some("ring")),
        (doubling, Some("recursive_doubling")),
        (native, None),
        (ring, Some("ring")),
    ] {
        match communicator.prepare(rules, &call, false, layout) {
            Ok(operation) => {
                assert_eq!(Some(operation.entry.name), expected);
                communicator.keep(operation);
            }
            Err(reason) => {
                assert_eq!(None, expected);
                assert_eq!(reason.to_str(), Ok("a rule says native"));
            }
        }
    }
}
