//! The words of a GOAL text, read as a stream.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use hocket_core::{Error, Result, ensure};

/// The largest number of bytes of a word.
const MOST_WORD_BYTES: usize = 4096;
const PIECE_BYTES: usize = 1 << 16;

/// The words and marks of a text, without comments.
pub struct WordReader<R> {
    text: BufReader<R>,
    /// The next word, if `is_known`; empty at the end of the text.
    next: Vec<u8>,
    is_known: bool,
    /// The line of the next word.
    next_line: usize,
    /// The line of the word taken last, or of text that cannot be read.
    line: usize,
    /// The line up to which the text has been read.
    reached_line: usize,
}

impl<R: Read> WordReader<R> {
    pub fn new(text: R) -> Self {
        let text = BufReader::with_capacity(PIECE_BYTES, text);
        Self { text, next: Vec::new(), is_known: false, next_line: 1, line: 1, reached_line: 1 }
    }

    /// The line of the word taken last, or of text that cannot be read.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The next word or mark; empty at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Result<&[u8]> {
        if !self.is_known {
            self.read_next().inspect_err(|_| self.line = self.next_line)?;
            self.is_known = true;
        }
        Ok(&self.next)
    }

    /// Takes the word that [`WordReader::peek`] returned.
    #[inline]
    pub fn take(&mut self) {
        self.line = self.next_line;
        self.is_known = false;
    }

    fn read_next(&mut self) -> Result<()> {
        self.next.clear();
        loop {
            self.skip(|byte| !byte.is_ascii_whitespace())?;
            self.next_line = self.reached_line;
            let Some(first) = self.byte()? else { return Ok(()) };
            self.next.push(first);
            match first {
                b'{' | b'}' | b':' => return Ok(()),
                b'#' => self.skip(|byte| byte == b'\n')?,
                b'/' => match self.look()? {
                    Some(b'/') => self.skip(|byte| byte == b'\n')?,
                    Some(b'*') => self.skip_comment()?,
                    _ => return Ok(()),
                },
                _ => return self.read_word(),
            }
            self.next.clear();
        }
    }

    /// Reads the rest of a word.
    fn read_word(&mut self) -> Result<()> {
        loop {
            let text = self.text.fill_buf().map_err(unreadable)?;
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}' | b':' | b'/');
            let end = text.iter().position(is_end);
            let read = end.unwrap_or(text.len());
            self.next.extend(&text[..read]);
            self.text.consume(read);
            ensure(self.next.len() <= MOST_WORD_BYTES, || {
                format!("a word of more than {MOST_WORD_BYTES} bytes, expected GOAL text")
            })?;
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }

    fn skip_comment(&mut self) -> Result<()> {
        self.byte()?;
        loop {
            self.skip(|byte| byte == b'*')?;
            self.byte()?;
            match self.look()? {
                Some(b'/') => return self.byte().map(drop),
                Some(_) => {}
                None => return Err(Error::new("a comment without end, expected \"*/\"")),
            }
        }
    }

    fn look(&mut self) -> Result<Option<u8>> {
        Ok(self.text.fill_buf().map_err(unreadable)?.first().copied())
    }

    /// Reads one byte that is no line break.
    fn byte(&mut self) -> Result<Option<u8>> {
        let byte = self.look()?;
        self.text.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Skips to the first byte that `is_end`, or to the end of the text.
    fn skip(&mut self, is_end: impl Fn(u8) -> bool) -> Result<()> {
        let mut step = || {
            let text = self.text.fill_buf().map_err(unreadable)?;
            let end = text.iter().position(|byte| is_end(*byte));
            let space = &text[..end.unwrap_or(text.len())];
            self.reached_line += space.iter().filter(|byte| **byte == b'\n').count();
            let is_done = end.is_some() || text.is_empty();
            let length = space.len();
            self.text.consume(length);
            Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        while step()?.is_continue() {}
        Ok(())
    }
}

/// The error of a stream that cannot be read.
pub fn unreadable(error: io::Error) -> Error {
    Error::new(describe_system_error(&error))
}

/// A system error in its own words, without its number.
pub fn describe_system_error(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
