//! Slim Fly: 2 q^2 switches, of which every two are at most two links apart (McKay, Miller, Siran graphs).
//!
//! Keys: `q` (a prime from 5 on that is 1 or 3 above a multiple of 4), `nodes_per_switch`.
//!
//! With a primitive root r of q: switch (0, x, y) has links to (0, x, y') if y - y' is in X; (1, m, c) to (1, m, c') if
//! c - c' is in X'; and (0, x, y) to (1, m, c) if y = m x + c. For q = 4 w + 1, X are the even powers of r, and X' the odd
//! ones. For q = 4 w - 1, X = {1, r^2, .., r^(2w-2), r^(2w-1), r^(2w+1), .., r^(4w-3)}, and X' = r X.
//!
//! Source: M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, section II.

use hocket_core::Result;

use super::check_size;
use super::graph::{Graph, Parts};
use crate::Section;

pub(super) fn read(section: &Section) -> Result<Graph> {
    const MOST: usize = 1 << 10;
    let (q, per_switch) = (section.count("q")?, section.count("nodes_per_switch")?);
    let is_prime = || (2..q).take_while(|factor| factor * factor <= q).all(|factor| !q.is_multiple_of(factor));
    section.ensure((5..=MOST).contains(&q) && is_prime(), "q", "a prime from 5 to 1021")?;
    let switches = 2 * q * q;
    let nodes = switches.saturating_mul(per_switch);
    check_size(
        section,
        "nodes_per_switch",
        nodes,
        nodes.saturating_mul(2).saturating_add(switches * (3 * q).div_ceil(2)),
    )?;
    let mut parts = Parts::new(nodes, 2, "kind: links of nodes, links of switches");
    let switch = |side: usize, line: usize, place: usize| nodes + side * q * q + line * q + place;
    for number in 0..switches {
        parts.names.push(format!("switch ({},{},{})", number / (q * q), number / q % q, number % q));
        (number * per_switch..(number + 1) * per_switch).for_each(|node| parts.join(node, nodes + number, 0));
    }
    let sets = generators(q);
    for line in 0..q {
        for place in 0..q {
            for (side, set) in sets.iter().enumerate() {
                let others = (place + 1..q).filter(|other| set[other - place]);
                others.for_each(|other| parts.join(switch(side, line, place), switch(side, line, other), 1));
            }
            for slope in 0..q {
                let intercept = (place + q * q - slope * line % q) % q;
                parts.join(switch(0, line, place), switch(1, slope, intercept), 1);
            }
        }
    }
    parts.connect("slim_fly")
}

/// Which differences are in X, and in X'.
fn generators(q: usize) -> [Vec<bool>; 2] {
    let powers = |root: usize| std::iter::successors(Some(1), move |power| Some(power * root % q)).take(q - 1);
    let is_primitive = |root: &usize| powers(*root).skip(1).all(|power| power != 1);
    let root = (2..q).find(is_primitive).unwrap_or(2);
    let w = q.div_ceil(4);
    let is_in_x = |exponent: usize| match q % 4 {
        1 => exponent.is_multiple_of(2),
        _ => exponent.is_multiple_of(2) == (exponent < 2 * w - 1),
    };
    let mut sets = [vec![false; q], vec![false; q]];
    for (exponent, power) in powers(root).enumerate() {
        if is_in_x(exponent) {
            sets[0][power] = true;
            sets[1][power * root % q] = true;
        }
    }
    sets
}
