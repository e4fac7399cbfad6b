//! Variants of a machine file: its text with other values.

use std::collections::BTreeMap;

use hocket_core::{Error, Result, names};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::lines_of_keys;
use crate::section::line_of;

/// Some sections, and by which factors the values of keys in them rise.
pub type Scaled = (Vec<String>, BTreeMap<String, f64>);

/// Changes of a machine file, in this order. A path is a key with the names of its sections.
#[derive(Default)]
pub struct Changes {
    /// Keys that move, and where to.
    pub moves: Vec<(Vec<String>, Vec<String>)>,
    /// Keys that go; after "*", from all sections.
    pub without: Vec<Vec<String>>,
    /// New values, as the text of a file.
    pub values: String,
    /// What is scaled in the end.
    pub scaled: Scaled,
}

impl Changes {
    /// The text of a file with the changes.
    ///
    /// # Errors
    /// Text that is not TOML.
    pub fn make(&self, text: &str, file: &str) -> Result<String> {
        let mut document = parse(text, file)?;
        for (from, to) in &self.moves {
            if let Some(item) = take(document.as_table_mut(), from) {
                put(document.as_table_mut(), to, item);
            }
        }
        for path in &self.without {
            match &path[..] {
                [all, key] if all == "*" => remove_all(document.as_table_mut(), key),
                path => drop(take(document.as_table_mut(), path)),
            }
        }
        merge(document.as_table_mut(), parse(&self.values, file)?.as_table());
        let (sections, factors) = &self.scaled;
        for_tables(document.as_table_mut(), &mut |key, table| {
            if sections.iter().any(|section| section == key) {
                scale(table, factors);
            }
        });
        Ok(document.to_string())
    }
}

fn parse(text: &str, file: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Error::new(error.message()).at(format!("{file}:{line}"))
    })
}

fn take(table: &mut dyn TableLike, path: &[String]) -> Option<Item> {
    match path {
        [] => None,
        [key] => table.remove(key),
        [key, others @ ..] => take(table.get_mut(key)?.as_table_like_mut()?, others),
    }
}

fn put(table: &mut dyn TableLike, path: &[String], item: Item) {
    match path {
        [] => {}
        [key] => drop(table.insert(key, item)),
        [key, others @ ..] => {
            let inner = table.entry(key).or_insert_with(|| Item::Table(Table::new()));
            inner.as_table_like_mut().into_iter().for_each(|inner| put(inner, others, item.clone()));
        }
    }
}

/// Puts the values of a table in place of those of another.
fn merge(table: &mut dyn TableLike, new: &dyn TableLike) {
    for (key, item) in new.iter() {
        match (table.get_mut(key), item.as_table_like()) {
            (Some(Item::Table(inner)), Some(new)) => merge(inner, new),
            (Some(Item::Value(Value::InlineTable(inner))), Some(new)) => merge(inner, new),
            (Some(own), _) => *own = item.clone(),
            (None, _) => drop(table.insert(key, item.clone())),
        }
    }
}

/// Visits the tables within a table, each with its key.
fn for_tables(table: &mut dyn TableLike, visit: &mut dyn FnMut(&str, &mut dyn TableLike)) {
    for (key, item) in table.iter_mut() {
        match item {
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|inner| visit(&key, inner)),
            item => item.as_table_like_mut().into_iter().for_each(|inner| visit(&key, inner)),
        }
    }
}

fn remove_all(table: &mut dyn TableLike, key: &str) {
    table.remove(key);
    for_tables(table, &mut |_, inner| remove_all(inner, key));
}

fn scale(table: &mut dyn TableLike, factors: &BTreeMap<String, f64>) {
    for (key, item) in table.iter_mut() {
        if let (Some(factor), Some(value)) = (factors.get(key.get()), item.as_value_mut()) {
            scale_value(value, *factor);
        }
    }
    for_tables(table, &mut |_, inner| scale(inner, factors));
}

/// Multiplies the number with which a text begins, also in a list.
fn scale_value(value: &mut Value, factor: f64) {
    if let Some(list) = value.as_array_mut() {
        return list.iter_mut().for_each(|each| scale_value(each, factor));
    }
    let Some(text) = value.as_str().map(str::trim_start) else { return };
    let is_unit = |letter: char| !(letter.is_ascii_digit() || ".eE+-".contains(letter));
    let number = text[..text.find(is_unit).unwrap_or(text.len())].trim_end_matches(['e', 'E', '+', '-']);
    let unit = text[number.len()..].trim_start();
    if let Ok(number) = number.parse::<f64>() {
        *value = format!("{:?} {unit}", number * factor).into();
    }
}

/// A protocol of a machine file: `[protocol.NAME]` has values that take the place of others of the file, by name.
pub struct Protocol<'a> {
    file: &'a str,
    name: &'a str,
    lines: BTreeMap<String, usize>,
    /// The file with these values in place.
    document: DocumentMut,
}

impl<'a> Protocol<'a> {
    /// Puts the values in place. Then there is no `[[discrepancy]]`: these are of the file's own values.
    ///
    /// # Errors
    /// No such protocol.
    pub fn read(text: &str, file: &'a str, name: &'a str) -> Result<Self> {
        let mut document = parse(text, file)?;
        let protocols = document.remove("protocol").unwrap_or_default();
        let Some(changes) = protocols.get(name).and_then(Item::as_table_like) else {
            let names = protocols.as_table_like().into_iter().flat_map(TableLike::iter).map(|(name, _)| name);
            let hint = names::hint(name, names).replace("expected none", "the file has no sections [protocol.NAME]");
            return Err(Error::new(format!("{file}: no protocol {name:?}, {hint}")));
        };
        document.remove("discrepancy");
        if let Some(own_name) = document.get_mut("name") {
            *own_name = format!("{}:{name}", own_name.as_str().unwrap_or_default()).into();
        }
        for (key, item) in changes.iter() {
            match document.get_mut(key) {
                Some(Item::ArrayOfTables(levels)) => levels.iter_mut().for_each(|level| {
                    let changes = level.get("name").and_then(Item::as_str).and_then(|name| item.get(name));
                    let changes = changes.and_then(Item::as_table_like).into_iter();
                    changes.for_each(|changes| merge(level, changes));
                }),
                _ => merge(document.as_table_mut(), &Table::from_iter([(key, item.clone())])),
            }
        }
        Ok(Self { file, name, lines: lines_of_keys(text), document })
    }

    /// The text of the file with the values in place.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// An error for a key of that text, whose lines nobody has seen, as one for a key of the protocol.
    pub fn translate(&self, error: &Error) -> Error {
        let text = error.to_string();
        let of_line = |letter: char| letter.is_ascii_digit() || letter == ':';
        let sentence = text.strip_prefix(self.file).unwrap_or(&text).trim_start_matches(of_line).trim_start();
        let (key, expected) = sentence.split_once(": ").unwrap_or((sentence, ""));
        let mut key = key.trim_matches(['[', ']']).to_owned();
        let levels = self.document.get("level").and_then(Item::as_array_of_tables);
        for (number, level) in levels.into_iter().flatten().enumerate() {
            let name = level.get("name").and_then(Item::as_str).unwrap_or_default();
            key = key.replace(&format!("level[{number}]"), &format!("level.{name}"));
        }
        let path = format!("protocol.{}.{key}", self.name);
        Error::new(match self.lines.get(&path) {
            Some(line) => format!("{}:{line}: {path}: {expected}", self.file),
            None => format!("{}: protocol.{}: {sentence}", self.file, self.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn keys_are_moved_removed_set_and_multiplied() {
        let text = "# Mine.\nname = \"m\"\n[network]\nL = \"1.5 us\" # short\nG = [\"2 ns/B\", \"3e2 ns/B\"]\n\
                    [network.node]\nL = '4 us'\nS = \"1 B\"\n[[level]]\nname = \"a\"\nL = \"2\"\nS = \"1 B\"\n";
        let changes = Changes {
            moves: vec![(path("network.L"), path("host.o"))],
            without: vec![path("*.S"), path("network.node.no"), path("level.name")],
            values: "network.ranks = [1, 2]\n".to_owned(),
            scaled: (path("network.level"), BTreeMap::from([("G".to_owned(), 0.5), ("L".to_owned(), 3.0)])),
        };
        let expected = "# Mine.\nname = \"m\"\n[network]\nG = [\"1.0 ns/B\", \"150.0 ns/B\"]\nranks = [1, 2]\n\
                        [network.node]\nL = \"12.0 us\"\n[[level]]\nname = \"a\"\nL = \"6.0 \"\n\n[host]\no = \"1.5 us\" # short\n";
        assert_eq!(changes.make(text, "f").unwrap(), expected);
        assert!(changes.make("a = 1\nb =", "f").unwrap_err().to_string().starts_with("f:2: "));
    }
}
