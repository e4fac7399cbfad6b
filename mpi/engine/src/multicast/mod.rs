//! Dynamic multicast: a master sends to any subset of ranks, which do not know of it, and goes on at once.
//!
//! ```text
//! master ── header (+ payload) ──▶ lowest member ══ headers down a binomial tree, payload by a program ══▶ members
//! master ◀──────── done ────────── lowest member ◀═══════════════ acks up the tree ══════════════════════ members
//! ```
//!
//! A [`Domain`] is one rank's part: one master, and messages that no other code receives. Every rank listens for headers
//! from any rank. A header gives the members, the payload's size, the algorithm that distributes the payload, and for
//! each member the number of multicasts sent to it before: members take them in that order, whatever the order of
//! arrival. Every multicast on its way is a [`flight::Flight`] with a program, buffers and tags of its own, so none
//! waits for another.
//!
//! A rank that has taken a multicast is in a group with the other members until it releases the multicast, and the
//! catalogue's other collectives run over that group as well. The rank acknowledges each release.
//!
//! Source: "dynamic multicast for master-worker MPI programs", see `docs/multicast.md`.

mod distribution;
mod domain;
mod ffi;
mod flight;
mod header;
mod members;
mod wire;

pub use distribution::{PAPER, SIMULATED, rules};
pub use domain::{Domain, IN_FLIGHT, MOST_BYTES_IN_FLIGHT, Message, Outcome};
pub use members::Members;
