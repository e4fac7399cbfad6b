//! A call like an earlier one allocates no memory.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};

use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Collective, Counts};
use hocket_mpi::{Communicator, Completion, Layout, Progress, Transport};

/// Counts what each thread allocates: the thread that runs tests allocates at any time.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, at: *mut u8, memory: Memory) {
        unsafe { System.dealloc(at, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Slots of messages that have ended: here, all of them at once.
    static ENDED: RefCell<VecDeque<u32>> = RefCell::new(VecDeque::with_capacity(64));
}

unsafe extern "C" fn send(_: *mut c_void, slot: u32, _: *const c_void, _: usize, _: i32, _: u32) -> c_int {
    ENDED.with_borrow_mut(|ended| ended.push_back(slot));
    0
}

unsafe extern "C" fn receive(_: *mut c_void, slot: u32, _: *mut c_void, _: usize, _: i32, _: u32) -> c_int {
    ENDED.with_borrow_mut(|ended| ended.push_back(slot));
    0
}

unsafe extern "C" fn test(_: *mut c_void, _: c_int, into: *mut Completion, _: usize, count: *mut usize) -> c_int {
    let slot = ENDED.with_borrow_mut(VecDeque::pop_front);
    unsafe {
        *count = slot.is_some().into();
        if let Some(slot) = slot {
            *into = Completion { slot, source: 0, count: 0 };
        }
    }
    0
}

unsafe extern "C" fn combine(_: *mut c_void, _: *const c_void, _: *mut c_void, _: usize) -> c_int {
    0
}

unsafe extern "C" fn copy(_: *mut c_void, _: *const c_void, _: *mut c_void, _: usize) -> c_int {
    0
}

#[test]
fn a_call_like_an_earlier_one_allocates_nothing() {
    let transport = Transport { send, receive, test, reduce: combine, copy };
    let cases = [
        (Collective::Allreduce, "recursive_doubling"),
        (Collective::Allreduce, "rabenseifner"),
        (Collective::Allreduce, "ring"),
        (Collective::Broadcast, "binomial"),
        (Collective::Reduce, "binomial"),
        (Collective::Allgather, "ring"),
        (Collective::Allgather, "recursive_doubling"),
        (Collective::Alltoall, "pairwise_exchange"),
        (Collective::Barrier, "dissemination"),
        (Collective::ReduceScatter, "ring"),
        (Collective::Exscan, "doubling_123"),
        (Collective::Scan, "recursive_doubling"),
    ];
    for (collective, name) in cases {
        let rules: &Rules =
            Box::leak(Box::new(Rules::parse(&format!("{collective}: {name}"), "rule").expect("a rule")));
        let mut communicator = Communicator::new(5, transport);
        let (mut input, mut result) = (vec![0u8; 4096], vec![0u8; 4096]);
        let count = if collective == Collective::Barrier { 0 } else { 8 };
        let asked = Call { counts: Counts::Equal(count), element_bytes: 8, ..Call::new(collective, 16, 0) };
        let layout = Layout { extent: 8, true_lower_bound: 0, true_extent: 8 };
        let mut call = || {
            let mut operation = communicator.prepare(rules, &asked, false, layout).expect("accepted");
            operation.start(std::ptr::null_mut(), input.as_mut_ptr(), result.as_mut_ptr());
            while operation.advance(false) == Progress::Waits {}
            communicator.keep(operation);
        };
        (0..3).for_each(|_| call());
        let before = ALLOCATIONS.get();
        (0..10).for_each(|_| call());
        assert_eq!(ALLOCATIONS.get() - before, 0, "{collective} {name}");
    }
}
