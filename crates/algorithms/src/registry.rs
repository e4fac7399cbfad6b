//! The registry: turns the list of files into modules, entries and programs.

use hocket_core::{AnyProgram, Call, Collective, Error, Parameter, Part, Result, Unit, ensure};

use crate::about::{About, Piece};

/// One algorithm of the catalogue.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The collective it implements.
    pub collective: Collective,
    /// Its name, which is the name of its file.
    pub name: &'static str,
    /// The facts that its file declares.
    pub about: About,
    source: &'static str,
    program: &'static (dyn AnyProgram + Sync),
}

impl Entry {
    pub(crate) const fn new(
        collective: Collective,
        name: &'static str,
        about: About,
        source: &'static str,
        program: &'static (dyn AnyProgram + Sync),
    ) -> Self {
        Self { collective, name, about, source, program }
    }

    /// The program of each rank.
    pub fn program(&self) -> &'static dyn AnyProgram {
        self.program
    }

    /// The header of the algorithm's file: summary, source, needs, counts and a picture.
    pub fn header(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// The first line of the header.
    pub fn summary(&self) -> String {
        self.header().lines().next().unwrap_or_default().to_owned()
    }

    /// The program's source text with its helpers, without header and declarations.
    pub fn listing(&self) -> &'static str {
        let start = self.source.find("\npub async fn program").map_or(0, |at| at + 1);
        self.source[start..].trim_end()
    }

    /// Checks that the algorithm accepts this call. Completes the call with the defaults of the parameters and with the
    /// values that follow from the call.
    ///
    /// # Errors
    /// An invalid call, a call that the algorithm refuses, or a parameter that it does not declare.
    pub fn accept(&self, call: &Call, values: &[(String, u64)]) -> Result<Call> {
        call.check()?;
        let parameters = complete(self.about.parameters, values, call.element_bytes as u64).map_err(|e| e.at(self))?;
        let mut call = Call { parameters, ..call.clone() };
        if let Some(sentence) = (self.about.refuses)(&call) {
            return Err(Error::new(format!("{self} {sentence} (P = {})", call.ranks)));
        }
        let parts = (self.about.pieces)(&call).into_iter().map(Self::accept_piece).collect::<Result<_>>();
        call.parts = parts.map_err(|error| error.at(self))?;
        let values = (self.about.completes)(&call);
        call.parameters.retain(|(name, _)| values.iter().all(|(other, _)| name != other));
        call.parameters.extend(values);
        Ok(call)
    }

    /// The most messages that a rank sends or receives at a time, in an accepted call.
    pub fn ports(&self, call: &Call) -> usize {
        let of_pieces = || (self.about.pieces)(call).iter().map(|piece| piece.ports(call)).max().unwrap_or(1);
        self.about.ports.map_or_else(of_pieces, |ports| ports(call))
    }

    /// The algorithm of a part.
    ///
    /// # Panics
    /// There is none.
    pub fn of(piece: &Piece) -> &'static Self {
        find(piece.collective, piece.algorithm).expect("an algorithm of the catalogue")
    }

    /// The part with its calls, as the part's algorithm accepts them.
    fn accept_piece(piece: Piece) -> Result<Part> {
        let entry = Self::of(&piece);
        let Piece { part: Part { name, calls }, values, .. } = piece;
        let accept = |(end, call): (usize, Call)| Ok((end, entry.accept(&call, &values)?));
        Ok(Part { name, calls: calls.into_iter().map(accept).collect::<Result<_>>()? })
    }
}

impl Piece {
    /// The most ports that it can use, as a part of this accepted call.
    pub(crate) fn ports(&self, whole: &Call) -> usize {
        let part = whole.parts.iter().find(|part| part.name == self.part.name);
        let ports = |(_, call): &(usize, Call)| Entry::of(self).ports(call);
        part.and_then(|part| part.calls.iter().map(ports).max()).unwrap_or(1)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({self})")
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.collective, self.name)
    }
}

/// The values of all declared parameters: the given value, or else the default. Bytes are rounded down to whole
/// elements, but to at least one element.
///
/// # Errors
/// An undeclared parameter, or a value below the least one.
pub fn complete(
    declared: &[Parameter],
    values: &[(String, u64)],
    element_bytes: u64,
) -> Result<Vec<(&'static str, u64)>> {
    for (name, value) in values {
        let Some(parameter) = declared.iter().find(|p| p.name == name) else {
            return Err(Error::new(hocket_core::names::unknown("parameter", name, declared.iter().map(|p| p.name))));
        };
        ensure(*value >= parameter.least, || {
            format!("parameter {name} = {value}, expected at least {}", parameter.least)
        })?;
        let words = parameter.words();
        ensure(words.is_empty() || *value < words.len() as u64, || {
            format!("parameter {name} = {value}, expected one of {}", words.join(", "))
        })?;
    }
    let value = |name: &str| values.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value);
    let whole = |p: &Parameter, value: u64| match p.unit {
        Unit::Count | Unit::Choice(_) => value,
        Unit::Bytes => (value / element_bytes).max(1) * element_bytes,
    };
    Ok(declared.iter().map(|p| (p.name, whole(p, value(p.name).unwrap_or(p.default)))).collect())
}

/// The entry of an algorithm.
///
/// # Errors
/// There is no such algorithm; the message names the algorithms of the collective.
pub fn find(collective: Collective, name: &str) -> Result<&'static Entry> {
    CATALOGUE.iter().find(|e| e.collective == collective && e.name == name).ok_or_else(|| {
        let names = CATALOGUE.iter().filter(|e| e.collective == collective).map(|e| e.name);
        Error::new(hocket_core::names::unknown(&format!("{collective} algorithm"), name, names))
    })
}

pub use crate::catalogue::{CATALOGUE, demand, names};

macro_rules! catalogue {
    ($($collective:ident as $variant:ident { $($name:ident,)+ })+) => {
        $(
            #[doc = concat!("Algorithms for ", stringify!($collective), ".")]
            #[allow(missing_docs)]
            pub mod $collective {
                pub mod bound;
                $(pub mod $name;)+
            }
        )+

        mod catalogue {
            use hocket_core::demand::Demand;
            use hocket_core::{Call, Collective, Program, Rank, Symmetry};

            use crate::Entry;

            /// Every algorithm, in the order of the registry.
            pub static CATALOGUE: &[Entry] = &[$($(
                Entry::new(
                    Collective::$variant,
                    stringify!($name),
                    crate::$collective::$name::ABOUT,
                    include_str!(concat!(stringify!($collective), "/", stringify!($name), ".rs")),
                    {
                        struct Algorithm;
                        impl Program for Algorithm {
                            fn run(&self, r: &Rank<'_>, c: &Call) -> impl Future<Output = ()> {
                                crate::$collective::$name::program(r, c)
                            }

                            fn symmetry(&self, c: &Call, with_copies: bool) -> Option<Symmetry> {
                                let about = &crate::$collective::$name::ABOUT;
                                if with_copies && about.copies_differ { None } else { (about.symmetry)(c) }
                            }
                        }
                        &Algorithm
                    },
                ),
            )+)+];

            /// The names of a collective's algorithms.
            pub const fn names(collective: Collective) -> &'static [&'static str] {
                match collective {
                    $(Collective::$variant => &[$(stringify!($name)),+],)+
                }
            }

            /// The demand of a collective on every algorithm.
            pub const fn demand(collective: Collective) -> &'static Demand {
                match collective {
                    $(Collective::$variant => &crate::$collective::bound::DEMAND,)+
                }
            }
        }
    };
}
pub(crate) use catalogue;
