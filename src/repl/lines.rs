//! Whole lines from a pipe or a simple terminal, joined to pieces of code. Nothing is redrawn.

use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::sync::Arc;

use super::input::wants_more;
use super::waiting::Waiting;

pub(super) struct Lines {
    /// Prompts are written, as there is a person.
    prompts: bool,
    waiting: Arc<Waiting>,
    input: BufReader<Stdin>,
}

impl Lines {
    pub(super) fn new(prompts: bool, waiting: Arc<Waiting>) -> Lines {
        let input = BufReader::with_capacity(1 << 16, io::stdin());
        Lines { prompts, waiting, input }
    }

    /// The next piece of code or command; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        let mut text = String::new();
        let mut begun = false;
        loop {
            self.prompt(if begun { "... " } else { ">>> " })?;
            let line = self.line()?;
            if self.waiting.was_cleared() {
                // What was typed before Ctrl-C is gone; this line was typed after it.
                (text, begun) = (String::new(), false);
            }
            let Some(line) = line else {
                return Ok(begun.then_some(text));
            };
            if begun {
                text.push('\n');
            }
            text.push_str(&line);
            begun = true;
            if !wants_more(&text) && !self.goes_on() {
                return Ok(Some(text));
            }
        }
    }

    /// In a pipe, the next line may carry on what is whole by itself: `else {`, or a call on its result. Only what
    /// has come already is looked at, as who writes the next line may wait for what this one gives.
    fn goes_on(&self) -> bool {
        let next = String::from_utf8_lossy(self.input.buffer());
        let next = next.trim_start();
        let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        !self.prompts && (matches!(word, "else" | "catch") || next.starts_with("?.") || is_call(next))
    }

    /// One line, whatever it says.
    pub(super) fn one(&mut self, prompt: &str) -> io::Result<Option<String>> {
        loop {
            self.prompt(prompt)?;
            let line = self.line()?;
            // Ctrl-C drops what was typed.
            if !self.waiting.was_cleared() || line.is_none() {
                return Ok(line);
            }
        }
    }

    fn prompt(&self, text: &str) -> io::Result<()> {
        if !self.prompts {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The next line without its end. Bytes that are no text become marks, which the parser refuses with their place.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let input = &mut self.input;
        let read = self.waiting.during(|| input.read_until(b'\n', &mut bytes))?;
        if read == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_string()))
    }
}

fn is_call(line: &str) -> bool {
    let mut chars = line.chars();
    chars.next() == Some('.') && chars.next().is_some_and(char::is_alphabetic)
}
