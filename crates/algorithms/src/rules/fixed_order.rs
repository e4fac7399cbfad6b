//! `order = fixed`: rules under which a result never depends on the size, to the last bit.
//!
//! All rules that may decide a reduction on some number of ranks must combine in the same order ([`About::order`]),
//! and together they must decide every size.
//!
//! [`About::order`]: crate::About::order

use std::collections::BTreeSet;

use hocket_core::{Call, Collective, Error, Result};

use super::{Choice, Rule};
use crate::CATALOGUE;
use crate::about::SEGMENT;

/// Checks the rules of all collectives that reduce.
///
/// # Errors
/// The first line under which a result could depend on the size; `file` names the rules.
pub fn check(rules: &[Rule], file: &str) -> Result<()> {
    for collective in Collective::ALL.into_iter().filter(|collective| collective.reduces()) {
        let own: Vec<_> = rules.iter().filter(|rule| rule.collective == collective).collect();
        for rule in &own {
            check_rule(rule).map_err(|error| at(rule, file, error))?;
        }
        for ranks in representative(&own) {
            let mut all = Vec::new();
            for is_nonblocking in [false, true] {
                let form = own.iter().copied().filter(|rule| rule.is_nonblocking == is_nonblocking);
                all.extend(deciding(form, ranks, file)?);
            }
            check_alike(&all, ranks, file)?;
        }
    }
    Ok(())
}

fn at(rule: &Rule, file: &str, error: Error) -> Error {
    error.at(format!("{file}:{}: {}", rule.line, rule.collective))
}

/// The algorithm must combine all elements in one order, whatever the size.
fn check_rule(rule: &Rule) -> Result<()> {
    let Choice::Algorithm(entry, _) = &rule.choice else {
        return Err(Error::new("native leaves the order to MPI, expected an algorithm, as order = fixed is given"));
    };
    if entry.about.order.is_none() {
        let fixed = CATALOGUE.iter().filter(|other| other.collective == rule.collective && other.about.order.is_some());
        let names: Vec<_> = fixed.map(|entry| entry.name).collect();
        return Err(Error::new(format!(
            "the order of {} depends on the element or the size, expected one of {}, as order = fixed is given",
            entry.name,
            names.join(", ")
        )));
    }
    Ok(())
}

/// The values of parameters on which the order may depend.
fn values(rule: &Rule) -> impl Iterator<Item = &(String, String)> {
    rule.written.iter().filter(|(name, _)| name != SEGMENT.name)
}

/// The rules of one form that may decide calls on this number of ranks. If there are any, they must decide all sizes.
fn deciding<'a>(rules: impl Iterator<Item = &'a Rule>, ranks: usize, file: &str) -> Result<Vec<&'a Rule>> {
    let (mut deciding, mut refusal) = (Vec::new(), None);
    for rule in rules.filter(|rule| rule.condition.holds_for_ranks(ranks)) {
        let Choice::Algorithm(entry, given) = &rule.choice else { continue };
        deciding.push(rule);
        match given.accept(entry, &Call::new(rule.collective, ranks, 1)) {
            Ok(_) if !rule.condition.has_size() => return Ok(deciding),
            accepted => refusal = accepted.err(),
        }
    }
    let Some(rule) = deciding.last() else { return Ok(deciding) };
    let why = refusal.map_or_else(|| "other sizes are left to MPI".to_owned(), |refusal| refusal.to_string());
    let expected = format!("expected a rule for all sizes on {ranks} ranks behind this one, as order = fixed is given");
    Err(at(rule, file, Error::new(format!("{why}; {expected}"))))
}

/// These rules, which may decide calls on the same number of ranks, must combine in the same order.
fn check_alike(rules: &[&Rule], ranks: usize, file: &str) -> Result<()> {
    let order = |rule: &Rule| rule.entry().and_then(|entry| entry.about.order);
    let [first, others @ ..] = rules else { return Ok(()) };
    for rule in others {
        if order(rule) != order(first) || !values(rule).eq(values(first)) {
            let [own, other] = [rule, first].map(|rule| rule.entry().map_or("native", |entry| entry.name));
            let line = first.line;
            return Err(at(
                rule,
                file,
                Error::new(format!(
                    "on {ranks} ranks, {own} combines in another order than {other} in line {line}, expected the same \
                     order, as order = fixed is given"
                )),
            ));
        }
    }
    Ok(())
}

/// Numbers of ranks that stand for all others: between two ends of ranges, a power of two and another number.
fn representative(rules: &[&Rule]) -> BTreeSet<usize> {
    const MOST: u64 = 1 << 26;
    let ends = rules.iter().flat_map(|rule| [rule.condition.ranks.start, rule.condition.ranks.end]);
    let ends: BTreeSet<_> = ends.map(|end| end.clamp(1, MOST)).chain([1]).collect();
    let of_end = |end: u64| {
        let other = (end..end + 2).find(|ranks| !ranks.is_power_of_two()).unwrap_or(end + 2);
        [end, end.next_power_of_two(), other]
    };
    ends.into_iter().flat_map(of_end).map(|ranks| ranks as usize).collect()
}
