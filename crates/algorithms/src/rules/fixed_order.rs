//! `order = fixed`: rules under which a result never depends on the size, to the last bit.
//!
//! All rules that may decide a reduction on some number of ranks must combine in the same order ([`About::order`]),
//! and together they must decide every size.
//!
//! [`About::order`]: crate::About::order

use std::collections::BTreeSet;
use std::ops::Range;

use hocket_core::{Call, Collective, Error, Result};

use super::Rule;
use crate::CATALOGUE;
use crate::about::SEGMENT;
use crate::automatic::AUTO;

/// A rule that may decide a call, and the order in which its algorithm combines: a name, and values of parameters.
struct Decides<'a> {
    rule: &'a Rule,
    algorithm: &'static str,
    order: (&'static str, Vec<(&'static str, u64)>),
}

/// Checks the rules of all collectives that reduce.
///
/// # Errors
/// The first line under which a result could depend on the size; `file` names the rules.
pub fn check(rules: &[Rule], file: &str) -> Result<()> {
    for collective in Collective::ALL.into_iter().filter(|collective| collective.reduces()) {
        let own: Vec<_> = rules.iter().filter(|rule| rule.collective == collective).collect();
        for ranks in representative(&own) {
            for call in variants(collective, ranks) {
                let mut all = Vec::new();
                for is_nonblocking in [false, true] {
                    let form = own.iter().filter(|rule| rule.is_nonblocking == is_nonblocking);
                    let fitting = form.copied().filter(|rule| rule.condition.holds_for_ranks(ranks));
                    all.extend(deciding(fitting, ranks, &call).map_err(|(rule, error)| at(rule, file, error))?);
                }
                check_alike(&all, ranks).map_err(|(rule, error)| at(rule, file, error))?;
            }
        }
    }
    Ok(())
}

fn at(rule: &Rule, file: &str, error: Error) -> Error {
    error.at(format!("{file}:{}: {}", rule.line, rule.collective))
}

/// Calls that algorithms may accept or refuse, whatever the size: by operator and root. Preconditions on many ranks are
/// the same as on these.
fn variants(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    const FEW: usize = 64;
    let few = if ranks > FEW { FEW + usize::from(!ranks.is_power_of_two()) } else { ranks };
    let roots = if collective.has_root() { 0..2 } else { 0..1 };
    let call = move |root, commutative| Call { root, commutative, ..Call::new(collective, few, 1) };
    roots.flat_map(move |root| [true, false].map(|commutative| call(root, commutative)))
}

/// The rules that may decide calls like this one. If there are any, they must decide all sizes. A commutative operator
/// must have some.
fn deciding<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    ranks: usize,
    call: &Call,
) -> std::result::Result<Vec<Decides<'a>>, (&'a Rule, Error)> {
    let (mut deciding, mut latest_refusal, mut covered_sizes) = (Vec::new(), None, Vec::new());
    for rule in rules {
        let sizes = rule.condition.certain_sizes();
        if is_covered(&sizes, &covered_sizes) && !sizes.is_empty() {
            continue;
        }
        let Some((entry, values)) = &rule.choice else {
            let why = "native leaves the order to MPI, expected an algorithm, as order = fixed is given";
            return Err((rule, Error::new(why)));
        };
        let by_machine = rule.value_texts.iter().find(|(name, value)| value == AUTO && name != SEGMENT.name);
        if let Some((name, _)) = by_machine {
            let why = format!("{name}={AUTO} may depend on the size, expected a value, as order = fixed is given");
            return Err((rule, Error::new(why)));
        }
        let accepted_call = match values.accept(entry, call) {
            Ok(accepted_call) => accepted_call,
            Err(refusal) => {
                latest_refusal = Some((rule, refusal));
                continue;
            }
        };
        let order = entry.about.order.ok_or_else(|| (rule, Error::new(depends(entry.name, rule.collective))))?;
        let decides = |name: &str| name != SEGMENT.name && entry.about.parameter(name).is_some();
        let values = accepted_call.parameters.iter().copied().filter(|(name, _)| decides(name)).collect();
        deciding.push(Decides { rule, algorithm: entry.name, order: (order, values) });
        covered_sizes.push(sizes);
        if is_covered(&(0..u64::MAX), &covered_sizes) {
            return Ok(deciding);
        }
    }
    let expected = format!("expected a rule for all sizes on {ranks} ranks behind this one, as order = fixed is given");
    match (deciding.last(), latest_refusal) {
        (Some(last), _) => Err((last.rule, Error::new(format!("other sizes are left to MPI; {expected}")))),
        (None, Some((rule, refusal))) if call.commutative => Err((rule, Error::new(format!("{refusal}; {expected}")))),
        (None, _) => Ok(deciding),
    }
}

fn depends(name: &str, collective: Collective) -> String {
    let fixed = CATALOGUE.iter().filter(|other| other.collective == collective && other.about.order.is_some());
    let names: Vec<_> = fixed.map(|entry| entry.name).collect();
    let list = names.join(", ");
    format!("the order of {name} depends on the element or the size, expected one of {list}, as order = fixed is given")
}

/// Whether all sizes of a range are in some of the others.
fn is_covered(sizes: &Range<u64>, others: &[Range<u64>]) -> bool {
    let mut from = sizes.start;
    while from < sizes.end {
        let Some(other) = others.iter().find(|other| other.contains(&from)) else { return false };
        from = other.end;
    }
    true
}

/// These rules, which may decide calls on the same number of ranks, must combine in the same order.
fn check_alike<'a>(all: &[Decides<'a>], ranks: usize) -> std::result::Result<(), (&'a Rule, Error)> {
    let [first, others @ ..] = all else { return Ok(()) };
    let Some(other) = others.iter().find(|other| other.order != first.order) else { return Ok(()) };
    let (own, first_name, line) = (other.algorithm, first.algorithm, first.rule.line);
    Err((
        other.rule,
        Error::new(format!(
            "on {ranks} ranks, {own} combines in another order than {first_name} in line {line}, expected the same order, as \
             order = fixed is given"
        )),
    ))
}

/// Numbers of ranks that stand for all others: between two ends of ranges, a power of two and another number. One rank
/// combines nothing.
fn representative(rules: &[&Rule]) -> BTreeSet<usize> {
    const LEAST: u64 = 2;
    const MOST: u64 = 1 << 26;
    let ends = rules.iter().flat_map(|rule| [rule.condition.ranks.start, rule.condition.ranks.end]);
    let ends: BTreeSet<_> = ends.map(|end| end.clamp(LEAST, MOST)).chain([LEAST]).collect();
    let of_end = |end: u64| {
        let other = (end..end + 2).find(|ranks| !ranks.is_power_of_two()).unwrap_or(end + 2);
        [end, end.next_power_of_two(), other]
    };
    ends.into_iter().flat_map(of_end).map(|ranks| ranks as usize).collect()
}
