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

/// How long to wait for the end of work whose result is no longer needed.
const MOST_WAITING: Duration = Duration::from_millis(400);

/// The stack size of the main thread on most systems.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    /// Whether the result of this thread's work is no longer needed.
    static IS_LEFT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// As `IS_LEFT`; false outside of [`in_worker`].
pub fn is_left() -> bool {
    IS_LEFT.with_borrow(|is_left| is_left.as_ref().is_some_and(|is_left| is_left.load(Ordering::Relaxed)))
}

/// Does work without the interpreter. Only the main thread can answer Ctrl-C, so that it leaves the work to another
/// thread: Ctrl-C raises at once, and work that checks [`is_left`] ends soon after.
pub fn in_worker<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    if !is_main(py)? {
        return py.detach(work);
    }
    let is_left = Arc::new(AtomicBool::new(false));
    let worker_is_left = is_left.clone();
    let (sender, mut receiver) = channel();
    let body = move || {
        IS_LEFT.set(Some(worker_is_left));
        drop(sender.send(work()));
    };
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(body);
    let worker = worker.map_err(|error| raise(Error::of_thread(&error)))?;
    loop {
        let message;
        (message, receiver) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
        match message {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    is_left.store(true, Ordering::Relaxed);
                    // Work that calls back must not meet an interpreter that ends.
                    py.detach(move || receiver.recv_timeout(MOST_WAITING).err());
                    return Err(signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                resume_unwind(worker.join().expect_err("work that ends without a result"))
            }
        }
    }
}

/// As [`in_worker`], except that a program written in Python stays in this thread: another thread would have to acquire
/// the interpreter at every step, and Python answers Ctrl-C between two steps anyway.
pub fn in_worker_unless_python<T: Send + 'static>(
    py: Python<'_>,
    is_python: bool,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    if is_python { py.detach(work) } else { in_worker(py, work) }
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}
