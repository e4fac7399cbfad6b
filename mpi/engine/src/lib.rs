//! The MPI world: programs of the catalogue on real bytes, which functions of the caller move.
//!
//! It is `libhocket`, a C library with the header `hocket.h` that is independent of MPI. The functions come from a thin
//! layer of C that is compiled against the user's MPI.

mod buffers;
mod communicator;
mod ffi;
mod log;
pub mod multicast;
mod neighbors;
mod operation;
mod transport;
mod world;

pub use buffers::Layout;
pub use communicator::Communicator;
pub use operation::{Operation, Progress};
pub use transport::{ANY_SOURCE, Completion, Failure, Transport};
