//! The functions of `hocket.h` for dynamic multicast, which the header documents.
//!
//! SAFETY: the caller gives what the header asks for. `unsafe` blocks without a comment rely on that only.
#![allow(unsafe_code, missing_docs, clippy::missing_safety_doc)]

use std::ffi::{CString, c_char, c_int, c_void};

use hocket_core::{Call, Collective};

use super::{Domain, Outcome, rules};
use crate::Transport;
use crate::ffi::{CallC, progress, text, write};

/// `hocket_domain`: a domain, and the reason for its latest refusal.
pub struct DomainC {
    domain: Domain,
    reason: CString,
}

impl DomainC {
    unsafe fn refuse(&mut self, why: String, reason: *mut *const c_char) -> c_int {
        self.reason = CString::new(why).unwrap_or_default();
        unsafe { *reason = self.reason.as_ptr() };
        1
    }
}

/// `hocket_multicast`.
#[repr(C)]
pub struct MulticastC {
    id: u64,
    data: *const c_void,
    bytes: usize,
    rank: i32,
    size: i32,
    members: *const u8,
    ranks: *const u32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_new(
    rank: i32,
    ranks: i32,
    master: i32,
    rule: *const c_char,
    transport: *const Transport,
    user: *mut c_void,
    error: *mut c_char,
    room: usize,
) -> *mut DomainC {
    let make = || -> Result<Domain, String> {
        let is_rank = |number: i32| (0..ranks).contains(&number);
        if !is_rank(rank) || !is_rank(master) {
            return Err(format!("master: got {master}, expected a rank below {ranks}"));
        }
        let rule = if rule.is_null() { "measured".into() } else { unsafe { text(rule) } };
        let rules = rules(&rule).map_err(|error| error.to_string())?;
        let transport = unsafe { *transport };
        Domain::new((rank as usize, ranks as usize, master as usize), rules, transport, user)
            .map_err(|failure| format!("the domain cannot receive messages: MPI error code {failure}"))
    };
    match make() {
        Ok(domain) => Box::into_raw(Box::new(DomainC { domain, reason: CString::default() })),
        Err(problem) => {
            unsafe { write(&problem, error, room) };
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_free(domain: *mut DomainC) {
    drop(unsafe { Box::from_raw(domain) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_send(
    domain: *mut DomainC,
    members: *const u8,
    members_bytes: usize,
    data: *const c_void,
    bytes: usize,
    id: *mut u64,
    reason: *mut *const c_char,
) -> c_int {
    let (domain, members) = unsafe { (&mut *domain, std::slice::from_raw_parts(members, members_bytes)) };
    match domain.domain.send(members, data.cast(), bytes) {
        Ok(number) => {
            unsafe { *id = number };
            0
        }
        Err(error) => unsafe { domain.refuse(error.to_string(), reason) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_has_left(domain: *const DomainC, id: u64) -> c_int {
    unsafe { &*domain }.domain.has_left(id).into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_is_complete(domain: *const DomainC, id: u64) -> c_int {
    unsafe { &*domain }.domain.is_complete(id).into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_incomplete(domain: *const DomainC) -> usize {
    unsafe { &*domain }.domain.incomplete()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_unacknowledged(domain: *const DomainC) -> usize {
    unsafe { &*domain }.domain.acknowledgements_due()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_advance(domain: *mut DomainC, may_wait: c_int, code: *mut c_int) -> c_int {
    match unsafe { &mut *domain }.domain.advance(may_wait != 0) {
        Outcome::Nothing => 0,
        Outcome::News => 1,
        Outcome::Failed(failure) => {
            unsafe { *code = failure };
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_offer(domain: *mut DomainC, room: *mut c_void, bytes: usize) -> c_int {
    unsafe { &mut *domain }.domain.offer(room.cast(), bytes).into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_withdraw(domain: *mut DomainC) {
    unsafe { &mut *domain }.domain.withdraw();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_take(domain: *mut DomainC, multicast: *mut MulticastC) -> c_int {
    let Some(message) = unsafe { &mut *domain }.domain.take() else { return 0 };
    let value = MulticastC {
        id: message.id,
        data: message.data.cast(),
        bytes: message.bytes,
        rank: message.logical as i32,
        size: message.members.len() as i32,
        members: message.members.bitmap().as_ptr(),
        ranks: message.members.ranks().as_ptr(),
    };
    unsafe { *multicast = value };
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_release(domain: *mut DomainC, id: u64) -> c_int {
    unsafe { &mut *domain }.domain.release(id).into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_distribution(
    domain: *const DomainC,
    id: u64,
    into: *mut c_char,
    room: usize,
) -> usize {
    unsafe { write((*domain).domain.distribution(id).unwrap_or_default(), into, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_start(
    domain: *mut DomainC,
    id: u64,
    size: i32,
    call: *const CallC,
    input: *const c_void,
    result: *mut c_void,
    user: *mut c_void,
    reason: *mut *const c_char,
) -> c_int {
    // SAFETY: as the header asks: a domain, a call and its counts, one per member.
    let (domain, request) = unsafe { (&mut *domain, &*call) };
    let mut call = Call::new(Collective::Barrier, size as usize, 0);
    // SAFETY: as above. All blocks are equal, so the root's view of the call holds for all ranks.
    let outcome = unsafe { request.write(&mut call, request.root()) };
    let buffers = (input.cast::<u8>().cast_mut(), result.cast());
    let result_of_start = match outcome {
        Some(()) => domain.domain.start(id, call, request.layout, user, buffers).map_err(|error| error.to_string()),
        None => Err("no such collective".to_owned()),
    };
    match result_of_start {
        Ok(()) => 0,
        Err(why) => unsafe { domain.refuse(why, reason) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_domain_collective(domain: *mut DomainC, id: u64, code: *mut c_int) -> c_int {
    unsafe { progress((*domain).domain.collective(id), code) }
}
