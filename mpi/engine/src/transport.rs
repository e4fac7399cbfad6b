//! The transport: functions of the caller that move the bytes, see `hocket.h`.

use std::ffi::{c_int, c_void};

/// An operation that has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Completion {
    /// The number under which it was started.
    pub slot: u32,
    /// The sender of a receive's message.
    pub source: u32,
    /// The number of elements received.
    pub count: usize,
}

/// The source of a receive from any rank.
pub const ANY_SOURCE: i32 = -1;

/// A result of [`Transport::send`]: the data has left already, and [`Transport::test`] will not report the message.
pub const HAS_LEFT: c_int = -1;

/// The functions. Each returns 0 or the error code of the operation, and gets the `user` of its start.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Transport {
    /// Starts to send `count` elements at `data`.
    pub send: unsafe extern "C" fn(*mut c_void, u32, *const c_void, usize, i32, u32) -> c_int,
    /// Starts to receive up to `count` elements into `into`, from a rank or [`ANY_SOURCE`].
    pub receive: unsafe extern "C" fn(*mut c_void, u32, *mut c_void, usize, i32, u32) -> c_int,
    /// Takes up to `room` operations that have completions; if `may_wait`, waits for one.
    pub test: unsafe extern "C" fn(*mut c_void, c_int, *mut Completion, usize, *mut usize) -> c_int,
    /// target = source ∘ target, for `count` elements.
    pub reduce: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize) -> c_int,
    /// target = source, for `count` elements.
    pub copy: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize) -> c_int,
}

/// The functions of one operation.
#[derive(Clone, Copy)]
pub struct Link<'t> {
    /// The functions.
    pub table: &'t Transport,
    /// Their first argument.
    pub user: *mut c_void,
}

/// The caller's error code.
pub type Failure = c_int;

fn check_code(code: c_int) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(code) }
}

#[allow(unsafe_code)]
impl Link<'_> {
    /// See [`Transport::send`].
    pub fn send(&self, slot: u32, data: *const u8, count: usize, to: usize, tag: u32) -> Result<(), Failure> {
        // SAFETY: the span lies inside its buffer, which the caller keeps until the operation has ended.
        check_code(unsafe { (self.table.send)(self.user, slot, data.cast(), count, to as i32, tag) })
    }

    /// See [`Transport::receive`].
    pub fn receive(&self, slot: u32, into: *mut u8, count: usize, from: i32, tag: u32) -> Result<(), Failure> {
        // SAFETY: as for `send`.
        check_code(unsafe { (self.table.receive)(self.user, slot, into.cast(), count, from, tag) })
    }

    /// See [`Transport::test`]. Returns the completions operations, at the beginning of `ended`.
    pub fn test<'e>(&self, may_wait: bool, completions: &'e mut [Completion]) -> Result<&'e [Completion], Failure> {
        let mut count = 0;
        // SAFETY: `completions` has room for this many.
        check_code(unsafe {
            (self.table.test)(self.user, may_wait.into(), completions.as_mut_ptr(), completions.len(), &raw mut count)
        })?;
        Ok(&completions[..count])
    }

    /// See [`Transport::reduce`].
    pub fn reduce(&self, source: *const u8, target: *mut u8, count: usize) -> Result<(), Failure> {
        // SAFETY: as for `send`.
        check_code(unsafe { (self.table.reduce)(self.user, source.cast(), target.cast(), count) })
    }

    /// See [`Transport::copy`].
    pub fn copy(&self, source: *const u8, target: *mut u8, count: usize) -> Result<(), Failure> {
        // SAFETY: as for `send`.
        check_code(unsafe { (self.table.copy)(self.user, source.cast(), target.cast(), count) })
    }
}
