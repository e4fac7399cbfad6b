//! The lines of the keys of a TOML file.

use std::collections::BTreeMap;

use toml_edit::{Document, TableLike};

/// The line of each key of a TOML file, by its full name with dots; empty if the file cannot be read.
pub fn lines_of_keys(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    if let Ok(document) = Document::parse(text) {
        let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
        note(document.as_table(), "", &ends, &mut lines);
    }
    lines
}

/// Notes the lines of the keys of a table, given the places where the lines of the file end.
fn note(table: &dyn TableLike, path: &str, ends: &[usize], lines: &mut BTreeMap<String, usize>) {
    for (name, item) in table.iter() {
        let span = table.get_key_value(name).and_then(|(key, _)| key.span()).or_else(|| item.span());
        if let Some(span) = span {
            lines.insert(format!("{path}{name}"), ends.partition_point(|end| *end < span.start) + 1);
        }
        if let Some(inner) = item.as_table_like() {
            note(inner, &format!("{path}{name}."), ends, lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_kinds_of_tables_have_their_lines() {
        let text = "a = 1\n\n[t]\nb.c = 2\n\"d/e\" = { f = 3 }\n[u.v]\nw = [\n  4 ]\n";
        let lines = lines_of_keys(text);
        let expected = [("a", 1), ("t", 3), ("t.b.c", 4), ("t.d/e", 5), ("t.d/e.f", 5), ("u.v", 6), ("u.v.w", 7)];
        for (key, line) in expected {
            assert_eq!(lines.get(key), Some(&line), "{key} in {lines:?}");
        }
        assert!(lines_of_keys("a = 1\nb = ").is_empty());
    }
}
