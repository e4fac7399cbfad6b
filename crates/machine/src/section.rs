//! A section of a machine file: a table whose keys are taken by name and unit.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hocket_core::{Error, Result, names, units};
use serde::Serialize;
use toml_edit::{Document, Item, Table};

/// The largest size of a file named in a machine file.
const MOST_FILE_BYTES: u64 = 1 << 28;

/// The value of a key, as a model reads it: a number in SI units, a list, or a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Value {
    Count(u64),
    Number(f64),
    Counts(Vec<usize>),
    Numbers(Vec<f64>),
    Text(String),
    Texts(Vec<String>),
}

/// The values read from a file, by full key with the unit of numbers as suffix: `network.latency_s`.
pub type Values = BTreeMap<String, Value>;

/// A table of a machine file. Each key is taken once; [`Section::finish`] refuses keys that were never taken. A method
/// that reads a key refuses a value of another kind, and a key that is missing unless its absence has a meaning. The
/// error has file, line and key.
#[derive(Clone, Debug)]
pub struct Section {
    file: Arc<str>,
    text: Arc<str>,
    path: String,
    table: Table,
    used_keys: RefCell<BTreeSet<String>>,
    /// Whether values are left open, to be fitted.
    is_skeleton: bool,
    /// The values read so far, shared by all sections of the file.
    values: Arc<Mutex<Values>>,
}

impl Section {
    /// The top level of a file.
    ///
    /// # Errors
    /// Text that is not TOML: file, line and what the parser expected.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Self::read(text, file, false)
    }

    /// As [`Section::parse`], of a file in which some numbers are left open: `"?"`, or a range such as `"1 us..9 us"`.
    /// An example with the unit of the key stands for each.
    pub fn parse_skeleton(text: &str, file: &str) -> Result<Self> {
        Self::read(text, file, true)
    }

    fn read(text: &str, file: &str, is_skeleton: bool) -> Result<Self> {
        let document = Document::parse(text.to_owned()).map_err(|e| {
            let line = e.span().map_or(1, |span| line_of(text, span.start));
            Error::new(e.message()).at(format!("{file}:{line}"))
        })?;
        let (table, used_keys, values) = (document.as_table().clone(), RefCell::default(), Arc::default());
        Ok(Self { file: file.into(), text: text.into(), path: String::new(), table, used_keys, is_skeleton, values })
    }

    /// The values read from the file so far.
    pub fn read_so_far(&self) -> Values {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, key: &str, unit: &str, value: Value) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert(format!("{}{key}{unit}", self.path), value);
    }

    /// Whether the section has no keys.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether there is such a key, and its value is a text.
    pub fn is_text(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Item::is_str)
    }

    /// The keys that are not sections, with their values: texts unquoted, others as written, long ones as their type.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.table
            .iter()
            .filter(|(_, item)| item.is_value())
            .map(|(key, item)| (key, item.as_str().unwrap_or(self.quote(item))))
    }

    /// The keys that are sections.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.table.iter().filter(|(_, item)| item.is_table_like()).map(|(key, _)| key)
    }

    /// The section `key` of this one; empty when there is none.
    pub fn optional_section(&self, key: &str) -> Result<Self> {
        let table = match self.use_key(key) {
            None => Table::new(),
            Some(item) => match item.clone().into_table() {
                Ok(table) => table,
                Err(item) => return Err(self.refuse(key, &item, &format!("a section [{key}]"))),
            },
        };
        Ok(self.inner(key, table))
    }

    /// The section `key` of this one, or none when there is none.
    pub fn section_if_any(&self, key: &str) -> Result<Option<Self>> {
        let section = self.optional_section(key)?;
        Ok(self.contains(key).then_some(section))
    }

    /// The sections `[[key]]` of this one, in the order of the file.
    pub fn sections(&self, key: &str) -> Result<Vec<Self>> {
        let Some(item) = self.use_key(key) else { return Ok(Vec::new()) };
        let tables = item.as_array_of_tables().ok_or_else(|| self.refuse(key, item, &format!("sections [[{key}]]")))?;
        let section = |(number, table): (usize, &Table)| self.inner(&format!("{key}[{number}]"), table.clone());
        Ok(tables.iter().enumerate().map(section).collect())
    }

    fn inner(&self, name: &str, table: Table) -> Self {
        let path = format!("{}{name}.", self.path);
        let (file, text, used_keys, values) =
            (self.file.clone(), self.text.clone(), RefCell::default(), self.values.clone());
        Self { file, text, path, table, used_keys, is_skeleton: self.is_skeleton, values }
    }

    /// The section `key` of this one.
    pub fn section(&self, key: &str) -> Result<Self> {
        let missing = || Error::new(format!("{}: section [{}{key}] is missing", self.file, self.path));
        self.section_if_any(key)?.ok_or_else(missing)
    }

    /// A time in seconds.
    pub fn time_s(&self, key: &str) -> Result<f64> {
        self.optional_time_s(key)?.ok_or_else(|| self.missing(key, "a time such as \"1 us\""))
    }

    /// A time in seconds, or `default` when the key is absent.
    pub fn time_s_or(&self, key: &str, default: f64) -> Result<f64> {
        Ok(self.optional_time_s(key)?.unwrap_or(default))
    }

    /// A time in seconds, or none when the key is absent.
    pub fn optional_time_s(&self, key: &str) -> Result<Option<f64>> {
        self.optional_number(key, "_s", units::parse_time_s)
    }

    /// A plain number of at least `least`, which is also the default.
    pub fn number_from(&self, key: &str, least: f64) -> Result<f64> {
        if self.use_key(key).is_none() {
            return Ok(least);
        }
        let number = self.number(key)?;
        self.ensure(number >= least, key, &format!("a number of at least {least}"))?;
        Ok(number)
    }

    /// A plain number.
    pub fn number(&self, key: &str) -> Result<f64> {
        let Some(item) = self.use_key(key) else {
            return Err(self.missing(key, "a number"));
        };
        let number = item.as_float().or(item.as_integer().map(|whole| whole as f64)).filter(|n| n.is_finite());
        let number = number.or(item.as_str().and_then(|_| self.left_open(item)).map(|_| 1.5));
        let number = number.ok_or_else(|| self.refuse(key, item, "a number"))?;
        self.note(key, "", Value::Number(number));
        Ok(number)
    }

    /// A file beside the machine file: its path for messages, and its text.
    pub fn file(&self, key: &str) -> Result<(String, String)> {
        let name = self.text(key)?;
        let path = Path::new(self.file.as_ref()).parent().unwrap_or(Path::new("")).join(&name);
        let mut text = String::new();
        let outcome = File::open(&path).and_then(|file| file.take(MOST_FILE_BYTES + 1).read_to_string(&mut text));
        outcome.map_err(|e| self.reject(key, &format!("a text file: {e}")))?;
        let is_small = text.len() as u64 <= MOST_FILE_BYTES;
        self.ensure(is_small, key, &format!("a text file of at most {MOST_FILE_BYTES} bytes"))?;
        Ok((path.display().to_string(), text))
    }

    /// The text of the whole file, with another value of a key; the same if there is no such key.
    pub(crate) fn text_with(&self, key: &str, value: &str) -> String {
        let Some(span) = self.table.get(key).and_then(Item::span) else { return self.text.to_string() };
        format!("{}{value}{}", &self.text[..span.start], &self.text[span.end..])
    }

    /// The error for the value of a key, or for its absence.
    pub fn reject(&self, key: &str, expected: &str) -> Error {
        match self.table.get(key) {
            None => self.missing(key, expected),
            Some(item) => {
                self.error_at(key, item, Error::new(format!("got {}, expected {expected}", self.quote(item))))
            }
        }
    }

    /// Refuses the value of a key, or its absence, unless this holds.
    pub fn ensure(&self, holds: bool, key: &str, expected: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.reject(key, expected)) }
    }

    /// Refuses these keys.
    pub fn forbid(&self, keys: &[&str], expected: &str) -> Result<()> {
        keys.iter().try_for_each(|key| self.ensure(!self.contains(key), key, expected))
    }

    /// The error for the whole section.
    pub fn reject_all(&self, expected: &str) -> Error {
        let line = self.table.span().map_or(1, |span| line_of(&self.text, span.start));
        let name = self.path.trim_end_matches('.');
        Error::new(format!("got a section, expected {expected}")).at(format!("{}:{line}: [{name}]", self.file))
    }

    /// A rate in bytes per second.
    pub fn bytes_per_s(&self, key: &str) -> Result<f64> {
        self.optional_bytes_per_s(key)?.ok_or_else(|| self.missing(key, "a rate such as \"1 GB/s\""))
    }

    /// A rate in bytes per second, or none when the key is absent.
    pub fn optional_bytes_per_s(&self, key: &str) -> Result<Option<f64>> {
        self.optional_number(key, "_bytes_per_s", units::parse_bytes_per_s)
    }

    /// Times in seconds, one per range: a list of `ranges` times, or one time for all; none when the key is absent.
    pub fn optional_times_s(&self, key: &str, ranges: usize) -> Result<Option<Vec<f64>>> {
        self.optional_listed(key, "_s", (ranges, "range"), units::parse_time_s)
    }

    /// As [`Section::optional_times_s`], times per byte in seconds.
    pub fn optional_times_per_byte_s(&self, key: &str, ranges: usize) -> Result<Option<Vec<f64>>> {
        self.optional_listed(key, "_s_per_byte", (ranges, "range"), units::parse_time_per_byte_s)
    }

    /// As [`Section::optional_times_s`], rates in bytes per second.
    pub fn optional_rates_bytes_per_s(&self, key: &str, ranges: usize) -> Result<Option<Vec<f64>>> {
        self.optional_listed(key, "_bytes_per_s", (ranges, "range"), units::parse_bytes_per_s)
    }

    /// Rates in bytes per second: a list of one per kind, or one rate for all.
    pub fn rates_bytes_per_s(&self, key: &str, (kinds, kind): (usize, &str)) -> Result<Vec<f64>> {
        let rates = self.optional_listed(key, "_bytes_per_s", (kinds, kind), units::parse_bytes_per_s)?;
        rates.ok_or_else(|| self.missing(key, "a rate such as \"1 GB/s\""))
    }

    fn optional_listed(
        &self,
        key: &str,
        unit: &str,
        (count, what): (usize, &str),
        parse: fn(&str) -> Result<f64>,
    ) -> Result<Option<Vec<f64>>> {
        if !self.table.get(key).is_some_and(Item::is_array) {
            return Ok(self.optional_number(key, unit, parse)?.map(|number| vec![number; count]));
        }
        let numbers = self.read_list(key, |text| parse(self.with_example(text, unit)))?;
        self.ensure(numbers.len() == count, key, &format!("a text, or a list of {count}, one for each {what}"))?;
        self.note(key, unit, Value::Numbers(numbers.clone()));
        Ok(Some(numbers))
    }

    /// The starts of ranges of sizes, in bytes: 0, then ascending ones; only 0 when the key is absent.
    pub fn ranges_bytes(&self, key: &str) -> Result<Vec<u64>> {
        let starts = self.read_list(key, |text| units::parse_bytes(self.with_example(text, "_bytes")))?;
        if starts.is_empty() && !self.contains(key) {
            return Ok(vec![0]);
        }
        let rises_from_0 = starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
        self.ensure(rises_from_0, key, "a list of sizes that begins with \"0 B\" and rises")?;
        self.note(key, "_bytes", Value::Counts(starts.iter().map(|start| *start as usize).collect()));
        Ok(starts)
    }

    /// A size in bytes, or none when the key is absent.
    pub fn optional_bytes(&self, key: &str) -> Result<Option<u64>> {
        let bytes = self.optional(key, |text| units::parse_bytes(self.with_example(text, "_bytes")))?;
        bytes.into_iter().for_each(|bytes| self.note(key, "_bytes", Value::Count(bytes)));
        Ok(bytes)
    }

    /// A whole number of at least 1.
    pub fn count(&self, key: &str) -> Result<usize> {
        if self.contains(key) { self.count_or(key, 1) } else { Err(self.missing(key, "a whole number of at least 1")) }
    }

    /// A whole number of at least 1, or `default` when the key is absent.
    pub fn count_or(&self, key: &str, default: usize) -> Result<usize> {
        let Some(item) = self.use_key(key) else { return Ok(default) };
        let count = whole(item.as_integer()).filter(|count| *count > 0);
        let count = count.ok_or_else(|| self.reject(key, "a whole number of at least 1"))?;
        self.note(key, "", Value::Count(count as u64));
        Ok(count)
    }

    /// A whole number from 1 to `most`, or `default` when the key is absent.
    pub fn count_up_to(&self, key: &str, default: usize, most: usize) -> Result<usize> {
        let count = self.count_or(key, default)?;
        self.ensure(count <= most, key, &format!("a whole number from 1 to {most}"))?;
        Ok(count)
    }

    /// A whole number from 1 to `most`, none for "unlimited", or `default` when the key is absent.
    pub fn count_or_unlimited(&self, key: &str, default: usize, most: usize) -> Result<Option<usize>> {
        let Some(item) = self.use_key(key) else { return Ok(Some(default)) };
        if item.as_str() == Some("unlimited") {
            self.note(key, "", Value::Text("unlimited".to_owned()));
            return Ok(None);
        }
        let count = whole(item.as_integer()).filter(|count| (1..=most).contains(count));
        let expected = || format!("a whole number from 1 to {most}, or \"unlimited\"");
        let count = count.ok_or_else(|| self.reject(key, &expected()))?;
        self.note(key, "", Value::Count(count as u64));
        Ok(Some(count))
    }

    /// A list of whole numbers, or none when the key is absent.
    pub fn optional_numbers(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let Some(item) = self.use_key(key) else { return Ok(None) };
        let numbers = |list: &toml_edit::Array| list.iter().map(|value| whole(value.as_integer())).collect();
        let list: Option<Vec<usize>> = item.as_array().and_then(numbers);
        let list = list.ok_or_else(|| self.reject(key, "a list of whole numbers such as [8, 8]"))?;
        self.note(key, "", Value::Counts(list.clone()));
        Ok(Some(list))
    }

    /// A list of sizes of at least 1, whose product is at most 2^26.
    pub fn sizes(&self, key: &str) -> Result<Vec<usize>> {
        let Some(sizes) = self.optional_numbers(key)? else {
            return Err(self.missing(key, "a list of sizes such as [8, 8]"));
        };
        let product = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        let fits = !sizes.is_empty() && product.is_some_and(|product| (1..=MOST_NODES).contains(&product));
        self.ensure(fits, key, "sizes of at least 1 and no more than 2^26 nodes in all")?;
        Ok(sizes)
    }

    /// A list of texts, each read by `read`; empty when the key is absent.
    pub fn optional_list<T>(&self, key: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
        let values = self.read_list(key, read)?;
        if let Some(list) = self.table.get(key).and_then(Item::as_array) {
            let texts = list.iter().filter_map(|value| value.as_str()).map(str::to_owned);
            self.note(key, "", Value::Texts(texts.collect()));
        }
        Ok(values)
    }

    fn read_list<T>(&self, key: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
        let Some(item) = self.use_key(key) else { return Ok(Vec::new()) };
        let texts: Option<Vec<_>> = item.as_array().and_then(|list| list.iter().map(|value| value.as_str()).collect());
        let texts = texts.ok_or_else(|| self.refuse(key, item, "a list of texts in quotes"))?;
        texts.into_iter().map(|text| read(text).map_err(|e| self.error_at(key, item, e))).collect()
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<String> {
        let text = self.optional_text(key, |text| Ok(text.to_owned()))?;
        text.ok_or_else(|| self.missing(key, "a text in quotes"))
    }

    /// A text that `read` understands.
    pub fn optional_text<T>(&self, key: &str, read: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        let value = self.optional(key, |text| Ok((text.to_owned(), read(text)?)))?;
        Ok(value.map(|(text, value)| {
            self.note(key, "", Value::Text(text));
            value
        }))
    }

    /// One of `choices`, or the first one when the key is absent.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<T> {
        Ok(self.optional_choice(key, choices)?.unwrap_or(choices[0].1))
    }

    /// One of `choices`.
    pub fn required_choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<T> {
        let missing = || self.missing(key, &format!("one of {}", quoted(choices).join(", ")));
        self.optional_choice(key, choices)?.ok_or_else(missing)
    }

    fn optional_choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        self.optional_text(key, |text| choose(text, choices))
    }

    /// Refuses keys that were never used.
    ///
    /// # Errors
    /// An unknown key; the message has file, line, key and the known keys.
    pub fn finish(&self) -> Result<()> {
        let used_keys = self.used_keys.borrow();
        let Some((key, item)) = self.table.iter().find(|(key, _)| !used_keys.contains(*key)) else { return Ok(()) };
        let hint = names::hint(key, used_keys.iter().map(String::as_str));
        Err(Error::new(format!("unknown key, {hint}")).at(self.place(key, item)))
    }

    fn use_key(&self, key: &str) -> Option<&Item> {
        self.used_keys.borrow_mut().insert(key.to_owned());
        self.table.get(key)
    }

    fn optional_number(&self, key: &str, unit: &str, parse: fn(&str) -> Result<f64>) -> Result<Option<f64>> {
        let number = self.optional(key, |text| parse(self.with_example(text, unit)))?;
        number.into_iter().for_each(|number| self.note(key, unit, Value::Number(number)));
        Ok(number)
    }

    fn missing(&self, key: &str, expected: &str) -> Error {
        Error::new(format!("{}: {}{key} is missing, expected {expected}", self.file, self.path))
    }

    fn optional<T>(&self, key: &str, read: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        let Some(item) = self.use_key(key) else { return Ok(None) };
        let Some(text) = item.as_str() else {
            return Err(self.refuse(key, item, "a text in quotes, with a unit if any"));
        };
        read(text).map(Some).map_err(|e| self.error_at(key, item, e))
    }

    /// A value as written in the file if it is short, else its type.
    fn quote<'a>(&'a self, item: &'a Item) -> &'a str {
        let value = item.span().map_or("nothing", |span| &self.text[span]);
        if value.len() <= MOST_QUOTED && !value.contains('\n') { value } else { item.type_name() }
    }

    fn refuse(&self, key: &str, item: &Item, expected: &str) -> Error {
        self.error_at(key, item, Error::new(format!("got {}, expected {expected}", item.type_name())))
    }

    /// The error for the value of a key. A value that is left open gets its own, for no example stands for it.
    fn error_at(&self, key: &str, item: &Item, error: Error) -> Error {
        let Some((place, text)) = self.left_open(item) else { return error.at(self.place(key, item)) };
        let numbers = "only times, times per byte, rates, sizes and numbers with a fraction can be fitted";
        let error = Error::new(format!("got \"{text}\", expected a value: {numbers}"));
        error.at(format!("{}{place}", self.place(key, item)))
    }

    /// The first value of a key that is left open: its place in a list, and its text.
    fn left_open<'a>(&self, item: &'a Item) -> Option<(String, &'a str)> {
        if !self.is_skeleton {
            return None;
        }
        let of_list = |list: &'a toml_edit::Array| {
            let mut texts = list.iter().map(|value| value.as_str().filter(|text| is_left_open(text))).enumerate();
            texts.find_map(|(place, text)| Some((format!("[{place}]"), text?)))
        };
        match item.as_str() {
            Some(text) => is_left_open(text).then(|| (String::new(), text)),
            None => item.as_array().and_then(of_list),
        }
    }

    /// The text of a number; in a skeleton, an example with the unit stands for a value that is left open.
    fn with_example<'a>(&self, text: &'a str, unit: &str) -> &'a str {
        match unit {
            _ if !self.is_skeleton || !is_left_open(text) => text,
            "_bytes_per_s" => "1 GB/s",
            "_bytes" => "1 KiB",
            _ => "1 ns",
        }
    }

    fn place(&self, key: &str, item: &Item) -> String {
        let key_span = self.table.get_key_value(key).and_then(|(key, _)| key.span());
        let line = key_span.or(item.span()).map_or(1, |span| line_of(&self.text, span.start));
        format!("{}:{line}: {}{key}", self.file, self.path)
    }
}

/// The largest number of bytes of a value that messages quote; of a longer one they give the type.
const MOST_QUOTED: usize = 80;

/// More nodes than any machine has.
pub(crate) const MOST_NODES: usize = 1 << 26;

fn is_left_open(text: &str) -> bool {
    text.trim() == "?" || text.contains("..")
}

fn whole(number: Option<i64>) -> Option<usize> {
    number.and_then(|number| usize::try_from(number).ok())
}

fn choose<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T> {
    let value = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    let quoted = quoted(choices);
    let hint = || names::hint(&format!("{text:?}"), quoted.iter().map(String::as_str));
    value.ok_or_else(|| Error::new(format!("got {text:?}, {}", hint())))
}

fn quoted<T>(choices: &[(&str, T)]) -> Vec<String> {
    choices.iter().map(|(name, _)| format!("{name:?}")).collect()
}

/// The number of the line at byte `at` of a text, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}
