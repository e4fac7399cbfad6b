//! Long work in another thread, while Python's main thread answers Ctrl-C.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hocket_core::Error;
use pyo3::prelude::*;

use crate::wire::raise;

/// Time between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// The stack size of the main thread on most systems.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    /// Whether the result of this thread's work is no longer needed.
    static IS_LEFT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Whether the result of this thread's work is no longer needed.
pub fn is_left() -> bool {
    IS_LEFT.with_borrow(|is_left| is_left.as_ref().is_some_and(|is_left| is_left.load(Ordering::Relaxed)))
}

/// Does work without the interpreter. Only the main thread is told of Ctrl-C, so there the work runs in another thread:
/// Ctrl-C raises at once, and work that checks [`is_left`] ends soon after.
pub fn aside<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send + 'static) -> PyResult<T> {
    if !is_main(py)? {
        return py.detach(work);
    }
    let is_left = Arc::new(AtomicBool::new(false));
    let (done, mut result) = channel();
    let known = is_left.clone();
    let beside = move || {
        IS_LEFT.set(Some(known));
        drop(done.send(work()));
    };
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(beside);
    let worker = worker.map_err(|error| raise(Error::of_thread(&error)))?;
    loop {
        let received;
        (received, result) = py.detach(move || (result.recv_timeout(LOOK), result));
        match received {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| is_left.store(true, Ordering::Relaxed))?
            }
            Err(RecvTimeoutError::Disconnected) => {
                resume_unwind(worker.join().expect_err("work that ends without a result"))
            }
        }
    }
}

/// As [`aside`], except that a program written in Python stays in this thread: another thread would have to acquire the
/// interpreter at every step, and Python answers Ctrl-C between two steps anyway.
pub fn aside_unless_python<T: Send + 'static>(
    py: Python<'_>,
    is_python: bool,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    if is_python { py.detach(work) } else { aside(py, work) }
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}
