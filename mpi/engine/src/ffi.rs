//! The functions of `hocket.h`, which documents them.
//!
//! SAFETY: the caller gives what the header asks for. `unsafe` blocks without a comment rely on that only.
#![allow(unsafe_code, missing_docs, clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Collective, Counts, Nodes, Pairs};

use crate::log::{Answer, CallRecord, JOB_LOG_VERSION, Job, Log};
use crate::neighbors::NeighborsC;
use crate::{Communicator, Layout, Operation, Progress, Transport};

/// See `hocket.h`. The latest rules. Rules are never dropped, because communicators hold their addresses.
#[unsafe(no_mangle)]
pub static hocket_rules: AtomicPtr<Rules> = AtomicPtr::new(std::ptr::null_mut());
static NO_RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
static LOG: LazyLock<Mutex<Log>> = LazyLock::new(Mutex::default);

/// `hocket_call`, in C layout.
#[repr(C)]
pub struct CallC {
    collective: i32,
    is_nonblocking: c_int,
    root: i32,
    in_place: c_int,
    commutative: c_int,
    count: usize,
    counts: *const usize,
    counts_from: *const usize,
    neighbors: *const NeighborsC,
    is_uniform: c_int,
    element_bytes: usize,
    pub(crate) layout: Layout,
}

impl CallC {
    /// The root; an invalid one becomes a number that is no rank.
    pub(crate) fn root(&self) -> usize {
        usize::try_from(self.root).unwrap_or(usize::MAX)
    }

    /// Converts the call, as `rank` gives it, into `call`, which has the number of ranks. None for an unknown
    /// collective, an invalid root, or missing neighbours.
    pub(crate) unsafe fn write(&self, call: &mut Call, rank: usize) -> Option<()> {
        call.collective = *COLLECTIVES.get(usize::try_from(self.collective).ok()?)?;
        if call.collective.has_neighbors() && (self.neighbors.is_null() || self.counts_from.is_null()) {
            return None;
        }
        // SAFETY: the caller gives one count per rank, if any.
        let list = |counts: *const usize| unsafe { std::slice::from_raw_parts(counts, call.ranks) };
        let counts = (!self.counts.is_null()).then(|| match self.counts_from.is_null() {
            true => Counts::each(list(self.counts)),
            // SAFETY: the caller gives a rank and a count for each block of a neighbour.
            false if call.collective.has_neighbors() => unsafe {
                let same = (call.collective == Collective::NeighborAllgather).then_some(self.count);
                let counts = [self.counts, self.counts_from];
                (*self.neighbors).counts(rank, call.ranks, same, counts, self.is_uniform != 0)
            },
            false => Counts::Pairs(Arc::new(Pairs::one_rank(rank, list(self.counts), list(self.counts_from)))),
        });
        call.root = usize::try_from(self.root).ok()?;
        let knows_own = call.collective.has_root() && !call.collective.size_is_known() && rank != call.root;
        call.counts = counts.unwrap_or(if knows_own { Counts::Own(self.count) } else { Counts::Equal(self.count) });
        call.in_place = self.in_place != 0;
        call.commutative = self.commutative != 0;
        call.element_bytes = self.element_bytes;
        Some(())
    }
}

/// `hocket_communicator`: a communicator, and its latest call, whose memory is reused.
pub struct CommunicatorC {
    communicator: Communicator,
    call: Call,
}

/// The collectives in the order of `hocket_collective`.
const COLLECTIVES: [Collective; 16] = Collective::ALL;

#[unsafe(no_mangle)]
pub extern "C" fn hocket_interface() -> c_int {
    1
}

fn rules() -> &'static Rules {
    // SAFETY: rules stored there are never dropped.
    unsafe { hocket_rules.load(Ordering::Acquire).as_ref() }.unwrap_or_else(|| LazyLock::force(&NO_RULES))
}

/// Writes a text, truncated to the room. Returns its whole length.
pub(crate) unsafe fn write(text: &str, into: *mut c_char, room: usize) -> usize {
    if room > 0 {
        let mut len = text.len().min(room - 1);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: the caller has room for this many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), into.cast(), len);
            *into.add(len) = 0;
        }
    }
    text.len()
}

pub(crate) unsafe fn text<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    // SAFETY: the caller gives a text that ends with 0.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// Sets the rules of a text, with `earlier` in front of them.
unsafe fn set_rules(
    earlier: &Rules,
    rules: *const c_char,
    file: *const c_char,
    error: *mut c_char,
    room: usize,
) -> c_int {
    let (rules, file) = unsafe { (text(rules), text(file)) };
    match Rules::parse(&rules, &file).and_then(|rules| earlier.clone().with_fallback(rules)) {
        Ok(all) => {
            hocket_rules.store(Box::into_raw(Box::new(all)), Ordering::Release);
            0
        }
        Err(problem) => {
            unsafe { write(&problem.to_string(), error, room) };
            1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_set_rules(
    rules: *const c_char,
    file: *const c_char,
    error: *mut c_char,
    room: usize,
) -> c_int {
    unsafe { set_rules(&NO_RULES, rules, file, error, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_add_rules(
    more: *const c_char,
    file: *const c_char,
    error: *mut c_char,
    room: usize,
) -> c_int {
    unsafe { set_rules(rules(), more, file, error, room) }
}

#[unsafe(no_mangle)]
pub extern "C" fn hocket_has_rule(collective: i32, is_nonblocking: c_int) -> c_int {
    let collective = COLLECTIVES.get(collective as usize).copied();
    rules().mention(collective, is_nonblocking != 0).into()
}

#[unsafe(no_mangle)]
pub extern "C" fn hocket_left_below(collective: i32, ranks: i32) -> u64 {
    let rules = rules();
    let collective = COLLECTIVES.get(collective as usize).filter(|_| !rules.mention(None, true));
    collective.map_or(0, |&collective| rules.bytes_left_to_mpi(collective, ranks as usize, false))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_communicator_new(
    rank: i32,
    ranks: i32,
    transport: *const Transport,
) -> *mut CommunicatorC {
    let transport = unsafe { *transport };
    let communicator = Communicator::new(rank as usize, transport);
    Box::into_raw(Box::new(CommunicatorC { communicator, call: Call::new(Collective::Barrier, ranks as usize, 0) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_communicator_nodes(communicator: *mut CommunicatorC, nodes: *const i32) {
    let call = unsafe { &mut (*communicator).call };
    // SAFETY: as the header asks: one number per rank.
    let nodes = unsafe { std::slice::from_raw_parts(nodes, call.ranks) };
    call.nodes = Nodes::of(nodes);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_communicator_free(communicator: *mut CommunicatorC) {
    drop(unsafe { Box::from_raw(communicator) });
}

/// The state of an operation as a number.
pub(crate) unsafe fn progress(progress: Progress, code: *mut c_int) -> c_int {
    match progress {
        Progress::Waits => 0,
        Progress::Done => 1,
        Progress::Failed(failure) => {
            unsafe { *code = failure };
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_prepare(
    communicator: *mut CommunicatorC,
    call: *const CallC,
    reason: *mut *const c_char,
) -> *mut Operation {
    // SAFETY: as the header asks: a communicator, a call and its counts, one per rank.
    let (CommunicatorC { communicator, call }, asked) = unsafe { (&mut *communicator, &*call) };
    // SAFETY: as above.
    unsafe { asked.write(call, communicator.rank) }.expect("the header names the collectives");
    match communicator.prepare(rules(), call, asked.is_nonblocking != 0, asked.layout) {
        Ok(operation) => Box::into_raw(operation),
        Err(why) => {
            unsafe { *reason = why.as_ptr() };
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_start(
    operation: *mut Operation,
    input: *const c_void,
    result: *mut c_void,
    user: *mut c_void,
) {
    unsafe { &mut *operation }.start(user, input.cast::<u8>().cast_mut(), result.cast());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_advance(operation: *mut Operation, may_wait: c_int, code: *mut c_int) -> c_int {
    unsafe { progress((*operation).advance(may_wait != 0), code) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_algorithm(operation: *const Operation, into: *mut c_char, room: usize) -> usize {
    unsafe { write(&(*operation).entry.to_string(), into, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_complete_for_s(operation: *const Operation) -> f64 {
    unsafe { (*operation).complete_for().as_secs_f64() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_finish(communicator: *mut CommunicatorC, operation: *mut Operation) {
    unsafe { (*communicator).communicator.keep(Box::from_raw(operation)) };
}

/// `hocket_logged`, in C layout.
#[repr(C)]
pub struct LoggedC {
    function: *const c_char,
    collective: i32,
    ranks: i32,
    is_counted: c_int,
    has_size: c_int,
    size_bytes: usize,
    bytes: usize,
    time_s: f64,
}

/// Counts a call in the log.
unsafe fn count(call: *const LoggedC, answer: Answer) {
    // SAFETY: the header asks for a call.
    let call = unsafe { &*call };
    // SAFETY: the header asks for a text.
    let function = unsafe { text(call.function) };
    let record = CallRecord {
        function: &function,
        collective: COLLECTIVES[call.collective as usize],
        ranks: call.ranks as u32,
        is_counted: call.is_counted != 0,
        size_bytes: (call.has_size != 0).then_some(call.size_bytes as u64),
        bytes: call.bytes as u64,
        time_s: call.time_s,
    };
    log().count(&record, answer);
}

fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_ran(call: *const LoggedC, operation: *const Operation) {
    let operation = unsafe { &*operation };
    unsafe { count(call, Answer::Algorithm { name: operation.entry.name, rule: operation.rule }) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_passed(call: *const LoggedC, reason: *const c_char) {
    unsafe { count(call, Answer::Passed { reason: &text(reason) }) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_summary(into: *mut c_char, room: usize) -> usize {
    unsafe { write(&log().to_string(), into, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_lines(into: *mut c_char, room: usize) -> usize {
    unsafe { write(&log().lines(), into, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_merge(lines: *const c_char) -> c_int {
    let lines = unsafe { text(lines) };
    log().merge(&lines).is_err().into()
}

/// `hocket_job`, in C layout.
#[repr(C)]
pub struct JobC {
    mpi: *const c_char,
    program: *const c_char,
    user: *const c_char,
    host: *const c_char,
    job: *const c_char,
    rules: *const c_char,
    start: *const c_char,
    elapsed_s: f64,
    ranks: i32,
    nodes: i32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_job(job: *const JobC, into: *mut c_char, room: usize) -> usize {
    let job = unsafe { &*job };
    let text_of = |from: *const c_char| (!from.is_null()).then(|| unsafe { text(from) }.into_owned());
    let about = Job {
        hocket_job_log: JOB_LOG_VERSION,
        hocket: env!("CARGO_PKG_VERSION"),
        mpi: text_of(job.mpi),
        program: text_of(job.program),
        user: text_of(job.user),
        host: text_of(job.host),
        job: text_of(job.job),
        rules: text_of(job.rules),
        start: text_of(job.start),
        elapsed_s: job.elapsed_s,
        ranks: job.ranks,
        nodes: job.nodes,
    };
    unsafe { write(&about.line(), into, room) }
}
