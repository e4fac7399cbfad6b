//! Hockney: a message of n bytes takes alpha + beta n, whatever else is going on.
//!
//! Source: R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20
//! (1994). A transfer starts when the sender is there (eager), or when both are (rendezvous), and occupies both until its
//! end. Branches of a program do not slow each other: a rank can send, receive and compute at the same time.

use hocket_core::Result;
use hocket_machine::Section;

use super::{Departure, Network};

/// The model's parameters, keys of `[network]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hockney {
    /// `latency`: alpha, in seconds.
    pub alpha_s: f64,
    /// 1 / `bandwidth`: beta, in seconds per byte.
    pub beta_s_per_byte: f64,
    /// `protocol`: "rendezvous" (the default) or "eager".
    pub is_eager: bool,
}

impl Hockney {
    pub(super) fn read(section: &Section) -> Result<Self> {
        Ok(Self {
            alpha_s: section.time_s("latency")?,
            beta_s_per_byte: 1.0 / section.bytes_per_s("bandwidth")?,
            is_eager: section.choice("protocol", &[("rendezvous", false), ("eager", true)])?,
        })
    }
}

impl Network for Hockney {
    type Node = ();
    const NODE_HAS_STATE: bool = false;

    fn is_eager(&self, _bytes: f64) -> bool {
        self.is_eager
    }

    fn request(&self, now: f64) -> f64 {
        now
    }

    fn grant(&self, now: f64) -> f64 {
        now
    }

    fn inject(&self, (): &mut (), now: f64, bytes: f64) -> Departure {
        let end = now + (self.alpha_s + self.beta_s_per_byte * bytes);
        Departure { sender_done: end, arrival: end }
    }

    fn accept(&self, (): &mut (), now: f64, _bytes: f64) -> f64 {
        now
    }

    fn work(&self, (): &mut (), now: f64, duration_s: f64) -> f64 {
        now + duration_s
    }
}
