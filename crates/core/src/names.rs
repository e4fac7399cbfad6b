//! Suggestions for unknown names.

/// The largest number of suggestions.
const MOST: usize = 3;

/// The shortest part of a name for which the name is suggested.
const LEAST_PART: usize = 3;

/// The distance of a name from its part: larger than any number of edits.
const PART: usize = usize::MAX;

/// The hint for an unknown name: the known names near it, or else all known names.
pub fn hint<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let nearest = nearest(name, &names);
    if !nearest.is_empty() {
        return did_you_mean(&nearest);
    }
    match &names[..] {
        [] => "expected none".to_owned(),
        [only] => format!("expected {only}"),
        _ => format!("expected one of {}", names.join(", ")),
    }
}

/// The message about an unknown name of this kind.
pub fn unknown<'a>(what: &str, name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    format!("unknown {what} {name:?}, {}", hint(name, names))
}

/// The question whether one of these texts is meant.
pub(crate) fn did_you_mean<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
    let (last, others) = texts.split_last().expect("a suggestion");
    let others = if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
    format!("did you mean {others}{last}?")
}

/// The known names nearest to a name: with few letters changed, or else with the name as a part.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Vec<&'a str> {
    let letters = plain(name);
    let distances: Vec<_> =
        names.iter().filter_map(|candidate| Some((distance(&letters, &plain(candidate))?, *candidate))).collect();
    let least = distances.iter().map(|(distance, _)| *distance).min();
    distances
        .into_iter()
        .filter(|(distance, _)| Some(*distance) == least)
        .map(|(_, candidate)| candidate)
        .take(MOST)
        .collect()
}

/// The letters to compare: in lower case, without quotes, words joined by `_`.
fn plain(name: &str) -> Vec<char> {
    let unify = |letter| if matches!(letter, '-' | ' ') { '_' } else { letter };
    name.trim_matches('"').chars().flat_map(char::to_lowercase).map(unify).collect()
}

/// The distance of two names: the edits if at most a third of the letters, or [`PART`] if one is a part of the other.
fn distance(name: &[char], other: &[char]) -> Option<usize> {
    let longest = name.len().max(other.len());
    let is_part = name.len() >= LEAST_PART && other.windows(name.len()).any(|part| part == name);
    let edits = edits(name, other);
    if 3 * edits <= longest { Some(edits) } else { is_part.then_some(PART) }
}

/// The number of letters to insert, remove, replace, or swap with their neighbours, to turn one name into the other.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut rows = vec![(0..=right.len()).collect::<Vec<_>>()];
    for (i, letter) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in right.iter().enumerate() {
            let replacement = rows[i][j] + usize::from(letter != other);
            let mut least = replacement.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == right[j - 1] && left[i - 1] == *other {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_known_gets_those_near_it_or_all() {
        let known = ["ring", "swing", "recursive_doubling", "rabenseifner"];
        for (name, expected) in [
            ("rign", "did you mean ring?"),
            ("Ring", "did you mean ring?"),
            ("wing", "did you mean ring or swing?"),
            ("recursive-doubling", "did you mean recursive_doubling?"),
            ("doubling", "did you mean recursive_doubling?"),
            ("recursive_double", "did you mean recursive_doubling?"),
            ("tree", "expected one of ring, swing, recursive_doubling, rabenseifner"),
            ("", "expected one of ring, swing, recursive_doubling, rabenseifner"),
        ] {
            assert_eq!(hint(name, known), expected, "{name}");
        }
        assert_eq!(hint("x", []), "expected none");
        assert_eq!(hint("fan", ["\"fair\"", "\"queue\""]), "expected one of \"fair\", \"queue\"");
        assert_eq!(hint("fairs", ["\"fair\"", "\"queue\""]), "did you mean \"fair\"?");
    }
}
