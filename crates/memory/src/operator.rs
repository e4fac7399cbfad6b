//! Operators on raw elements, by data type and name as in MPI.

use hocket_core::{Error, Result, Side, names};

/// An operator, described as in MPI: by the size of an element, whether operands commute, and a function.
pub struct Operator {
    /// Size of one element, in bytes.
    pub element_bytes: usize,
    /// Whether operands may be swapped.
    pub commutative: bool,
    combine: Box<Combine>,
}

/// Combines two vectors of elements, the operands of lower ranks first, into a third.
type Combine = dyn Fn(&[u8], &[u8], &mut [u8]) + Send + Sync;

impl Operator {
    /// A user's operator: `combine` takes the operands of lower ranks, the operands of higher ranks, and the result.
    pub fn new(
        element_bytes: usize,
        commutative: bool,
        combine: impl Fn(&[u8], &[u8], &mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self { element_bytes, commutative, combine: Box::new(combine) }
    }

    /// Combines `source` into `target`; `side` is the side of the target on which the source stands.
    pub fn apply(&self, source: &[u8], target: &mut [u8], side: Side) {
        let old = target.to_vec();
        match side {
            Side::Left => (self.combine)(source, &old, target),
            Side::Right => (self.combine)(&old, source, target),
        }
    }
}

/// A predefined operator, of MPI or an example: its function takes single elements.
#[derive(Clone, Copy)]
struct PredefinedOperator {
    element_bytes: usize,
    commutative: bool,
    combine: fn(&[u8], &[u8], &mut [u8]),
}

impl From<PredefinedOperator> for Operator {
    fn from(operator: PredefinedOperator) -> Self {
        let PredefinedOperator { element_bytes, commutative, combine } = operator;
        Self::new(element_bytes, commutative, move |left, right, out| {
            let operands = left.chunks_exact(element_bytes).zip(right.chunks_exact(element_bytes));
            operands
                .zip(out.chunks_exact_mut(element_bytes))
                .for_each(|((left, right), out)| combine(left, right, out));
        })
    }
}

/// The operator `name` on elements of type `data_type`.
///
/// # Errors
/// An unknown type, or an operator that the type does not have.
pub fn operator(data_type: &str, name: &str) -> Result<Operator> {
    let Some((_, operators)) = TYPES.iter().find(|(entry, _)| *entry == data_type) else {
        return Err(Error::new(format!("type: got {data_type:?}, {}", names::hint(data_type, type_names()))));
    };
    let Some((_, operator)) = operators.iter().find(|(entry, _)| *entry == name) else {
        let hint = names::hint(name, operators.iter().map(|(name, _)| *name));
        return Err(Error::new(format!("operator on {data_type}: got {name:?}, {hint}")));
    };
    Ok((*operator).into())
}

/// Names of the data types.
pub fn type_names() -> Vec<&'static str> {
    TYPES.iter().map(|(name, _)| *name).collect()
}

/// Names of the operators on elements of type `data_type`; none for an unknown type.
pub fn operator_names(data_type: &str) -> Vec<&'static str> {
    let entry = TYPES.iter().find(|(name, _)| *name == data_type);
    entry.map(|(_, operators)| operators.iter().map(|(name, _)| *name).collect()).unwrap_or_default()
}

/// The operators of one type, by name.
type Operators = &'static [(&'static str, PredefinedOperator)];

/// An operator given by a closure on two elements read from and written to little-endian bytes.
macro_rules! make {
    ($type:ty, $commutative:expr, $combine:expr) => {
        PredefinedOperator {
            element_bytes: size_of::<$type>(),
            commutative: $commutative,
            combine: |left, right, out| {
                let combine: fn($type, $type) -> $type = $combine;
                combine(<$type>::read(left), <$type>::read(right)).write(out);
            },
        }
    };
}

macro_rules! integers {
    ($($type:ident),+) => {
        &[$((stringify!($type), &[
            ("sum", make!($type, true, |a, b| a.wrapping_add(b))),
            ("prod", make!($type, true, |a, b| a.wrapping_mul(b))),
            ("min", make!($type, true, |a, b| a.min(b))),
            ("max", make!($type, true, |a, b| a.max(b))),
            ("band", make!($type, true, |a, b| a & b)),
            ("bor", make!($type, true, |a, b| a | b)),
            ("bxor", make!($type, true, |a, b| a ^ b)),
            ("land", make!($type, true, |a, b| (a != 0 && b != 0).into())),
            ("lor", make!($type, true, |a, b| (a != 0 || b != 0).into())),
            ("lxor", make!($type, true, |a, b| ((a != 0) != (b != 0)).into())),
        ] as Operators)),+]
    };
}

macro_rules! floats {
    ($($type:ident),+) => {
        &[$((stringify!($type), &[
            ("sum", make!($type, true, |a, b| a + b)),
            ("prod", make!($type, true, |a, b| a * b)),
            ("min", make!($type, true, |a, b| if b < a { b } else { a })),
            ("max", make!($type, true, |a, b| if b > a { b } else { a })),
        ] as Operators)),+]
    };
}

macro_rules! complex {
    ($($name:literal is $type:ident),+) => {
        &[$(($name, &[
            ("sum", make!([$type; 2], true, |a, b| [a[0] + b[0], a[1] + b[1]])),
            ("prod", make!([$type; 2], true, |a, b| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]])),
        ] as Operators)),+]
    };
}

const INTEGERS: &[(&str, Operators)] = integers!(i8, i16, i32, i64, u8, u16, u32, u64);
const FLOATS: &[(&str, Operators)] = floats!(f32, f64);
const COMPLEX: &[(&str, Operators)] = complex!("complex64" is f32, "complex128" is f64);
const MATRICES: &[(&str, Operators)] = &[(
    "matrix2x2_u64",
    &[(
        "prod",
        make!([u64; 4], false, |a, b| {
            let dot = |row: usize, column: usize| {
                a[row].wrapping_mul(b[column]).wrapping_add(a[row + 1].wrapping_mul(b[column + 2]))
            };
            [dot(0, 0), dot(0, 1), dot(2, 0), dot(2, 1)]
        }),
    )],
)];

static TYPES: std::sync::LazyLock<Vec<(&str, Operators)>> =
    std::sync::LazyLock::new(|| [INTEGERS, FLOATS, COMPLEX, MATRICES].concat());

/// An element as little-endian bytes.
trait Element: Sized {
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! element {
    ($($type:ty),+) => {
        $(impl Element for $type {
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("one element"))
            }
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        })+
    };
}
element!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl<T: Element, const N: usize> Element for [T; N] {
    fn read(bytes: &[u8]) -> Self {
        let each = bytes.len() / N;
        std::array::from_fn(|i| T::read(&bytes[i * each..(i + 1) * each]))
    }
    fn write(self, bytes: &mut [u8]) {
        let each = bytes.len() / N;
        self.into_iter().zip(bytes.chunks_exact_mut(each)).for_each(|(element, bytes)| element.write(bytes));
    }
}
