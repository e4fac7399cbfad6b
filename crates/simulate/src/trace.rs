//! The operations of each rank, and their times.

use serde::Serialize;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Sending to the peer.
    Send,
    /// Waiting for and receiving a message from the peer.
    Recv,
    /// Combining two operands.
    Reduce,
    /// Copying.
    Copy,
    /// Computing.
    Compute,
    /// Waiting for a circuit to the peer.
    Connect,
    /// Waiting until the circuit to the peer is released.
    Disconnect,
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The rank that performed it.
    pub rank: usize,
    /// The kind of the operation.
    pub kind: Kind,
    /// The other rank of a message or circuit; the rank itself otherwise.
    pub peer: usize,
    /// The message's tag.
    pub tag: u32,
    /// Bytes moved or combined.
    pub bytes: f64,
    /// The time at which the verb was issued, in seconds.
    pub start_s: f64,
    /// The time at which it was done, in seconds.
    pub end_s: f64,
}

impl Record {
    /// Sorts by rank and time, then by kind, peer, tag and bytes: the same order in all engines.
    pub(crate) fn sort(records: &mut [Self]) {
        let what = |r: &Self| (r.kind, r.peer, r.tag);
        records.sort_unstable_by(|a, b| {
            let times = a.start_s.total_cmp(&b.start_s).then(a.end_s.total_cmp(&b.end_s));
            let sizes = a.bytes.total_cmp(&b.bytes);
            a.rank.cmp(&b.rank).then(times).then(what(a).cmp(&what(b))).then(sizes)
        });
    }
}
