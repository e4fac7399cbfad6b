//! The shape of a torus as algorithms see it, and the parts of a message that keep all its links busy.

use hocket_core::{Call, Domain, Parameter, Symmetry, Unit};

use crate::about::{About, has_equal_blocks, needs_commutative};

/// Ranks along the first axis.
pub const X: Parameter = size(
    "X",
    &[2, 4],
    "ranks along x; the product of all sizes is P. All sizes 0: the machine's torus, or nearly a cube",
);
/// Ranks along the second axis.
pub const Y: Parameter = size("Y", &[2, 3], "ranks along y");
/// Ranks along the third axis.
pub const Z: Parameter = size("Z", &[3], "ranks along z");
/// Ranks along the fourth axis.
pub const W: Parameter = size("W", &[], "ranks along a fourth axis");
/// Ranks along the fifth axis.
pub const V: Parameter = size("V", &[], "ranks along a fifth axis");
/// Ranks along the sixth axis.
pub const U: Parameter = size("U", &[], "ranks along a sixth axis");

/// The axes of a torus in their order, up to the most axes of a machine. Algorithms for up to three axes declare only
/// X, Y and Z.
pub const AXES: [Parameter; 6] = [X, Y, Z, W, V, U];

/// The number of these axes.
pub const MOST_AXES: usize = AXES.len();

const fn size(name: &'static str, tries: &'static [u64], meaning: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Count, default: 0, least: 0, tries, domain: Domain::Given, meaning }
}

impl About {
    /// The algorithm is made for tori of any number of axes, and has a part of the message for each of the [`ports`].
    pub const fn on_all_ports(self) -> Self {
        self.exact_when(ports_and_ranks_divide_count)
            .on_ports(|c| ports(c).len())
            .made_for("torus")
            .with_parameters(&AXES)
            .completing(sizes_and_ports)
    }
}

/// The coordinates of a rank along each axis.
pub type Coordinates = [usize; MOST_AXES];

/// A torus of X x Y x Z x .. ranks; rank = x + X (y + Y (z + ..)). Drawn for 4 x 2.
///
/// ```text
///    ┌─ 4 ── 5 ── 6 ── 7 ─┐     y = 1: along x round the ring, and to y = 0
///    ┌─ 0 ── 1 ── 2 ── 3 ─┐     y = 0
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    /// Ranks along each axis.
    pub sizes: [usize; MOST_AXES],
}

impl Torus {
    /// The torus of these sizes. Further axes have one rank.
    pub fn new(sizes: &[usize]) -> Self {
        Self { sizes: std::array::from_fn(|axis| sizes.get(axis).copied().unwrap_or(1)) }
    }

    /// The torus that a call names; if it names none, the torus nearest to a cube. An axis of 0 beside other axes has
    /// one rank.
    pub fn of(c: &Call) -> Self {
        let sizes: Vec<_> = declared(c).map(|axis| c.parameter(axis.name) as usize).collect();
        match sizes.iter().all(|size| *size == 0) {
            true => Self::near_cube(c.ranks),
            false => Self::new(&sizes.iter().map(|size| (*size).max(1)).collect::<Vec<_>>()),
        }
    }

    /// The torus X >= Y >= Z of this many ranks with the least X + Y + Z. Of several such tori, the one with the least
    /// X.
    pub fn near_cube(ranks: usize) -> Self {
        let divisors = |of: usize| (1..=of).take_while(move |d| d * d <= of).filter(move |d| of.is_multiple_of(*d));
        let shapes = divisors(ranks).flat_map(|z| {
            let of_layer = divisors(ranks / z).filter(move |y| *y >= z);
            of_layer.map(move |y| [ranks / z / y, y, z])
        });
        let sizes = shapes.min_by_key(|[x, y, z]| (x + y + z, *x));
        Self::new(&sizes.expect("1 divides every number of ranks"))
    }

    /// Number of ranks.
    pub fn ranks(self) -> usize {
        self.sizes.iter().product()
    }

    /// The axes along which there is more than one rank.
    pub fn axes(self) -> impl Iterator<Item = usize> + Clone {
        (0..MOST_AXES).filter(move |axis| self.sizes[*axis] > 1)
    }

    /// Number of links from one corner to the opposite one, never round a ring: X - 1 + Y - 1 + Z - 1 + ..
    pub fn hops(self) -> usize {
        self.sizes.iter().map(|size| size - 1).sum()
    }

    /// By how much the numbers of neighbours along an axis differ.
    fn stride(&self, axis: usize) -> usize {
        self.sizes[..axis].iter().product()
    }

    /// The coordinates of a rank.
    pub fn coordinates(&self, rank: usize) -> Coordinates {
        let mut rest = rank;
        self.sizes.map(|size| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        })
    }

    /// The rank at these coordinates.
    pub fn rank(&self, at: Coordinates) -> usize {
        at.iter().zip(self.sizes).rev().fold(0, |rank, (coordinate, size)| coordinate + size * rank)
    }

    /// The parts of a vector: each direction of each axis of several ranks is the first one of one part. If there is no
    /// such axis, there is one part.
    pub fn ports(self) -> impl Iterator<Item = Port> {
        let axes: Vec<_> = self.axes().collect();
        let count = axes.len();
        (0..(2 * count).max(1)).map(move |part| {
            let order = (0..count).map(|i| axes[(part / 2 + i) % count]).collect();
            Port { torus: self, is_mirrored: part % 2 == 1, order }
        })
    }
}

/// One of several parts of an algorithm that together keep all links of a torus busy. It uses the axes in its own
/// order, in the positive or in the negative directions.
///
/// ```text
/// X x Y x Z    port 0: +x +y +z    port 2: +y +z +x    port 4: +z +x +y
///              port 1: -x -y -z    port 3: -y -z -x    port 5: -z -x -y
/// ```
#[derive(Debug)]
pub struct Port {
    /// The torus.
    pub torus: Torus,
    /// The axes of more than one rank, in order.
    pub order: Vec<usize>,
    /// Whether it uses the negative directions.
    pub is_mirrored: bool,
}

impl Port {
    /// The coordinate of a rank along an axis, in the port's direction.
    pub fn coordinate(&self, rank: usize, axis: usize) -> usize {
        self.mirror(rank / self.torus.stride(axis) % self.torus.sizes[axis], axis)
    }

    /// The rank that differs from `rank` only in this coordinate.
    pub fn moved(&self, rank: usize, axis: usize, coordinate: usize) -> usize {
        let (stride, size) = (self.torus.stride(axis), self.torus.sizes[axis]);
        rank - rank / stride % size * stride + self.mirror(coordinate, axis) * stride
    }

    /// The number of a rank in the order of the coordinates along the port's axes. The last coordinate changes first.
    pub fn index(&self, rank: usize) -> usize {
        self.order.iter().fold(0, |index, axis| index * self.torus.sizes[*axis] + self.coordinate(rank, *axis))
    }

    fn mirror(&self, coordinate: usize, axis: usize) -> usize {
        let size = self.torus.sizes[axis];
        if self.is_mirrored { (size - coordinate) % size } else { coordinate }
    }
}

/// The ports that have a part of the message, or of some block: all ports, unless there are fewer elements than ports.
pub fn ports(c: &Call) -> Vec<Port> {
    Torus::of(c).ports().take(most_elements(c).max(1)).collect()
}

/// Number of elements of the vector, or of the largest block.
fn most_elements(c: &Call) -> usize {
    match c.collective.has_blocks() {
        true => (0..c.ranks).map(|block| c.count(block)).max().unwrap_or(0),
        false => c.count(0),
    }
}

/// The axes that the algorithm of a call declares.
fn declared(c: &Call) -> impl Iterator<Item = &'static Parameter> {
    AXES.iter().filter(|axis| c.parameters.iter().any(|(name, _)| *name == axis.name))
}

/// The symmetry of an algorithm that does the same at all coordinates a multiple of `period` apart along each axis, if all
/// ranks have equally many elements of each port's part.
pub fn moves_evenly(c: &Call, period: usize) -> Option<Symmetry> {
    ports_and_ranks_divide_count(c).then(|| Symmetry::translation(&Torus::of(c).sizes, period))?
}

/// The precondition of algorithms for tori.
pub fn needs_torus(c: &Call) -> Option<&'static str> {
    let ranks = Torus::of(c).sizes.iter().try_fold(1_usize, |ranks, size| ranks.checked_mul(*size));
    let sentence = match declared(c).count() {
        MOST_AXES => "needs X * Y * Z * W * V * U = P",
        _ => "needs X * Y * Z = P",
    };
    (ranks != Some(c.ranks)).then_some(sentence)
}

/// The precondition of reductions on tori.
pub fn needs_torus_and_commutative(c: &Call) -> Option<&'static str> {
    needs_torus(c).or_else(|| needs_commutative(c))
}

/// The sizes of the axes that the algorithm declares, as it uses them.
pub fn sizes(c: &Call) -> Vec<(&'static str, u64)> {
    declared(c).zip(Torus::of(c).sizes).map(|(axis, size)| (axis.name, size as u64)).collect()
}

/// The sizes, the `hops` along all axes, the number of `parts` of the message, one per port, and the bytes of the
/// `largest` part, if all ranks have equally many of its elements.
fn sizes_and_ports(c: &Call) -> Vec<(&'static str, u64)> {
    let parts = ports(c).len();
    let ranks_of_message = if c.collective.has_blocks() { 1 } else { c.ranks };
    let of_rank = most_elements(c).div_ceil(parts).div_ceil(ranks_of_message);
    let largest = of_rank * c.ranks * c.element_bytes;
    let values = [("hops", Torus::of(c).hops()), ("parts", parts), ("largest", largest)];
    sizes(c).into_iter().chain(values.map(|(name, value)| (name, value as u64))).collect()
}

/// Whether all ranks have equally many elements of each port's part.
fn ports_and_ranks_divide_count(c: &Call) -> bool {
    let parts = ports(c).len();
    match c.collective.has_blocks() {
        true => has_equal_blocks(c) && c.count(0).is_multiple_of(parts),
        false => c.count(0).is_multiple_of(parts * c.ranks),
    }
}
