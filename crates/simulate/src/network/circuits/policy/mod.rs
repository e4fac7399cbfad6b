//! Policies: when circuits are set up, and how long they stay. One file each, and a line in the registry below.

/// The times that changes of circuits take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// From the grant until the circuit is open.
    pub set_up_s: f64,
    /// How long a closed circuit keeps its ports and its wavelength.
    pub release_s: f64,
    /// How long a program that disconnects waits after the circuit was closed.
    pub final_release_s: f64,
}

/// The decisions of a policy. Every message gets a circuit in any case.
pub trait Policy: Sync {
    /// Number of circuits to open ahead for nodes with this many ports; 0 where circuits come by themselves.
    fn ports(&self, _ports: usize) -> usize {
        0
    }

    /// The times of set-up and release, from those that the machine gives.
    fn times(&self, times: Times) -> Times {
        times
    }

    /// Whether a circuit is set up if programs at these ends requested it.
    fn opens(&self, _requests: [bool; 2]) -> bool {
        false
    }

    /// Whether an idle circuit stays open, requested by programs or not.
    fn keeps(&self, _is_asked_for: bool) -> bool {
        false
    }

    /// Whether one program's `disconnect` closes an idle circuit, even if other programs want it.
    fn closes_early(&self) -> bool {
        false
    }

    /// Whether an idle circuit is closed for another one, which has messages or is only requested.
    fn evicts(&self, _for_messages: bool) -> bool {
        false
    }
}

macro_rules! policies {
    ($($name:ident: $Policy:ident),+ $(,)?) => {
        $(
            mod $name;
            use $name::$Policy;
        )+

        /// A policy by name.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PolicyName {
            $($Policy,)+
        }

        impl PolicyName {
            /// All of them, by their names in machine files.
            pub const ALL: &[(&str, Self)] = &[$((stringify!($name), Self::$Policy)),+];

            /// The decisions of the policy.
            pub fn policy(self) -> &'static dyn Policy {
                match self {
                    $(Self::$Policy => &$Policy,)+
                }
            }
        }
    };
}

policies! {
    ahead: Ahead,
    keep: Keep,
    naive: Naive,
    oracle: Oracle,
}
