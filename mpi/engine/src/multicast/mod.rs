//! Dynamic multicast: a master sends to any set of ranks, which need not know of it beforehand, and continues at once.
//!
//! ```text
//! master ── header (+ payload) ──▶ lowest member ══ headers down a binomial tree, payload by a program ══▶ members
//! master ◀──────── done ────────── lowest member ◀═══════════════ acks up the tree ══════════════════════ members
//! ```
//!
//! A [`Domain`] is one rank's part. It has one master, and no other code receives its messages. Every rank listens for
//! headers from any rank. A header has the members, the payload's size, the algorithm that distributes the payload, and
//! for each member the number of earlier multicasts to it: members take multicasts in that order, in whatever order
//! they arrive. Every multicast on its way is a [`flight::Flight`] with its own program, buffers and tags, so none
//! waits for another.
//!
//! A rank that has taken a multicast is in a group with the other members until it releases the multicast. The
//! catalogue's other collectives can run over this group. The rank acknowledges each release.
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
