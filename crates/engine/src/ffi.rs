//! The functions of `hocket.h`. What they do is written there; here is how they reach Rust.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use hocket_algorithms::rules::Rules;
use hocket_core::Collective;

use crate::{Engine, Layout, Log, Operation, Progress, Request, Transport};

/// The rules set last: they are never dropped, as engines know them by their place.
static RULES: AtomicPtr<Rules> = AtomicPtr::new(std::ptr::null_mut());
static NO_RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
static LOG: Mutex<Log> = Mutex::new(Log::new());

/// `hocket_call`.
#[repr(C)]
pub struct CallC {
    collective: i32,
    is_nonblocking: c_int,
    root: i32,
    in_place: c_int,
    commutative: c_int,
    count: usize,
    counts: *const usize,
    element_bytes: usize,
    layout: Layout,
}

/// The collectives in the order of `hocket_collective`.
const COLLECTIVES: [Collective; 10] = Collective::ALL;

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_interface() -> c_int {
    1
}

fn rules() -> &'static Rules {
    // SAFETY: what is stored there is never dropped.
    unsafe { RULES.load(Ordering::Acquire).as_ref() }.unwrap_or_else(|| LazyLock::force(&NO_RULES))
}

/// Writes a text, cut off where there is no room; its whole length.
pub(crate) unsafe fn write(text: &str, into: *mut c_char, room: usize) -> usize {
    if room > 0 {
        let mut len = text.len().min(room - 1);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: the caller has room for so many bytes.
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

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_set_rules(
    rules: *const c_char,
    file: *const c_char,
    error: *mut c_char,
    room: usize,
) -> c_int {
    // SAFETY: as the header asks.
    let (rules, file) = unsafe { (text(rules), text(file)) };
    match Rules::parse(&rules, &file) {
        Ok(rules) => {
            RULES.store(Box::into_raw(Box::new(rules)), Ordering::Release);
            0
        }
        Err(problem) => {
            // SAFETY: as the header asks.
            unsafe { write(&problem.to_string(), error, room) };
            1
        }
    }
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_has_rule(collective: i32, is_nonblocking: c_int) -> c_int {
    let named = COLLECTIVES.get(collective as usize).copied();
    rules().mention(named, is_nonblocking != 0).into()
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_new(rank: i32, ranks: i32, transport: *const Transport) -> *mut Engine {
    // SAFETY: as the header asks.
    let transport = unsafe { *transport };
    Box::into_raw(Box::new(Engine::new(rank as usize, ranks as usize, transport)))
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_free(engine: *mut Engine) {
    // SAFETY: as the header asks.
    drop(unsafe { Box::from_raw(engine) });
}

/// The request of a call over so many ranks; none if there is no such collective.
pub(crate) unsafe fn request(call: &CallC, ranks: usize) -> Option<Request<'_>> {
    // SAFETY: the caller gives one count per rank, if any.
    let counts = (!call.counts.is_null()).then(|| unsafe { std::slice::from_raw_parts(call.counts, ranks) });
    Some(Request {
        collective: *COLLECTIVES.get(usize::try_from(call.collective).ok()?)?,
        is_nonblocking: call.is_nonblocking != 0,
        root: usize::try_from(call.root).ok()?,
        count: call.count,
        counts,
        in_place: call.in_place != 0,
        commutative: call.commutative != 0,
        element_bytes: call.element_bytes,
        layout: call.layout,
    })
}

/// The progress of an operation, as a number.
pub(crate) unsafe fn progress(progress: Progress, code: *mut c_int) -> c_int {
    match progress {
        Progress::Waits => 0,
        Progress::Done => 1,
        Progress::Failed(failure) => {
            // SAFETY: as the header asks.
            unsafe { *code = failure };
            -1
        }
    }
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_prepare(
    engine: *mut Engine,
    call: *const CallC,
    reason: *mut *const c_char,
) -> *mut Operation {
    // SAFETY: as the header asks: an engine, a call and its counts, one per rank.
    let (engine, request) = unsafe { (&mut *engine, request(&*call, (*engine).ranks())) };
    let request = request.expect("the header names the collectives");
    match engine.prepare(rules(), &request) {
        Ok(operation) => Box::into_raw(operation),
        Err(why) => {
            // SAFETY: as the header asks.
            unsafe { *reason = why.as_ptr() };
            std::ptr::null_mut()
        }
    }
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_start(
    operation: *mut Operation,
    input: *const c_void,
    result: *mut c_void,
    user: *mut c_void,
) {
    // SAFETY: as the header asks.
    unsafe { &mut *operation }.start(user, input.cast::<u8>().cast_mut(), result.cast());
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_advance(operation: *mut Operation, may_wait: c_int, code: *mut c_int) -> c_int {
    // SAFETY: as the header asks.
    unsafe { progress((*operation).advance(may_wait != 0), code) }
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_algorithm(operation: *const Operation, into: *mut c_char, room: usize) -> usize {
    // SAFETY: as the header asks.
    unsafe { write(&(*operation).entry.to_string(), into, room) }
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_finish(engine: *mut Engine, operation: *mut Operation) {
    // SAFETY: as the header asks.
    unsafe { (*engine).keep(Box::from_raw(operation)) };
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_ran(function: *const c_char, algorithm: *const c_char, bytes: u64, time_s: f64) {
    // SAFETY: as the header asks.
    let (function, algorithm) = unsafe { (text(function), text(algorithm)) };
    LOG.lock().unwrap_or_else(PoisonError::into_inner).ran(&function, &algorithm, bytes, time_s);
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_passed(function: *const c_char, reason: *const c_char) {
    // SAFETY: as the header asks.
    let (function, reason) = unsafe { (text(function), text(reason)) };
    LOG.lock().unwrap_or_else(PoisonError::into_inner).passed(&function, &reason);
}

/// See `hocket.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_log_summary(into: *mut c_char, room: usize) -> usize {
    let summary = LOG.lock().unwrap_or_else(PoisonError::into_inner).to_string();
    // SAFETY: as the header asks.
    unsafe { write(&summary, into, room) }
}
