//! The only error type.

use std::{fmt, io};

/// A request that cannot be fulfilled. The message is one line: the given value, its place, and the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

/// The number of letters to which long texts are cut.
const MOST_LETTERS: usize = 60;
/// The most letters of a word outside quotes; it may be a path.
const MOST_OF_WORD: usize = 255;

/// A message with its line breaks folded and its other control characters escaped, in which long texts in double quotes
/// and very long words are cut.
pub fn one_line(message: &str) -> String {
    let line = printable(&message.split_whitespace().collect::<Vec<_>>().join(" "));
    let (mut cut, mut rest) = (String::with_capacity(line.len()), &*line);
    while let Some((before, text, after)) = next_quoted(rest) {
        push_words(&mut cut, before);
        cut.push('"');
        push(&mut cut, text, MOST_LETTERS);
        cut.push('"');
        rest = after;
    }
    push_words(&mut cut, rest);
    cut
}

/// A line with its control characters escaped as in JSON: from the text of a user, they could give orders to a terminal.
fn printable(line: &str) -> String {
    let is_direction =
        |letter| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let letters = |letter: char| match letter {
        _ if letter.is_control() || is_direction(letter) => format!("\\u{:04x}", u32::from(letter)),
        _ => letter.to_string(),
    };
    line.chars().map(letters).collect()
}

/// The first text in double quotes, and what stands before and after it.
fn next_quoted(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once('"')?;
    let mut is_escaped = false;
    let end = rest.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    })?;
    Some((before, &rest[..end], &rest[end + 1..]))
}

fn push_words(line: &mut String, text: &str) {
    const ENDS: [char; 3] = [' ', '\'', ':'];
    for word in text.split_inclusive(ENDS) {
        let letters = word.trim_end_matches(ENDS);
        push(line, letters, MOST_OF_WORD);
        line.push_str(&word[letters.len()..]);
    }
}

fn push(line: &mut String, text: &str, most: usize) {
    if text.chars().nth(most).is_none() {
        line.push_str(text);
    } else {
        line.extend(text.chars().take(MOST_LETTERS).chain(['…']));
    }
}

/// `Result` with Hocket's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Refuses what does not hold, with this message.
///
/// # Errors
/// It does not hold.
#[inline]
pub fn ensure<M: Into<String>>(holds: bool, message: impl FnOnce() -> M) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::new(message())) }
}

impl Error {
    /// An error with this message, as [`one_line`].
    pub fn new(message: impl Into<String>) -> Self {
        Self(one_line(&message.into()))
    }

    /// The error of work that the user has stopped.
    pub fn interruption() -> Self {
        Self::new("interrupted")
    }

    /// The error of a run that its deadline ended.
    pub fn lateness() -> Self {
        Self::new("later than the deadline")
    }

    /// The error of work for which the system starts no thread.
    pub fn of_thread(error: &io::Error) -> Self {
        Self::new(format!("no thread can be started ({error}), expected room for one more within ulimit -u and -v"))
    }

    /// The same error, met at `place` (a file, a line, a key).
    pub fn at(self, place: impl fmt::Display) -> Self {
        Self::new(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_the_rest_is_whole() {
        let (long, path, expected) = ("x".repeat(10_000), "path/".repeat(40), "expected ".repeat(9));
        let of = |text: &str| format!("{path}f.toml:3: got \"{text}\", {expected}\"b\\\"c\" or '{text}'");
        let cut = format!("{}…", "x".repeat(60));
        let error = Error::new(of(&long));
        assert_eq!(error.to_string(), of(&cut));
        assert_eq!(error.at("here").to_string(), format!("here: {}", of(&cut)));
        assert_eq!(one_line("a\n  \"b"), "a \"b");
        assert_eq!(one_line("\x1b[31m é \u{202e}\n\"\x07\""), r#"\u001b[31m é \u202e "\u0007""#);
    }
}
