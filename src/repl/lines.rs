//! Whole lines from a pipe or a simple terminal, joined to pieces of code. Nothing is redrawn.

use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::sync::Arc;

use super::input::wants_more;
use super::waiting::Waiting;

pub(super) struct Lines {
    prompts: Prompts,
    waiting: Arc<Waiting>,
    input: BufReader<Stdin>,
}

/// Whether and how prompts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompts {
    /// For a person, who types behind them.
    Before,
    /// What is typed is not seen beside them: each is a line.
    AsLines,
    Never,
}

/// A line.
pub(super) struct Typed {
    pub text: String,
    /// What was typed before it was dropped with Ctrl-C, the lines above that it carries on too.
    pub anew: bool,
}

impl Lines {
    pub(super) fn new(prompts: Prompts, waiting: Arc<Waiting>) -> Lines {
        let input = BufReader::with_capacity(1 << 16, io::stdin());
        Lines { prompts, waiting, input }
    }

    /// The next piece of code or command; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        let mut text = String::new();
        let mut begun = false;
        loop {
            let prompt = if begun { "... " } else { ">>> " };
            let Some(Typed { text: line, anew }) = self.one(prompt, ">>> ")? else {
                return Ok(begun.then_some(text));
            };
            if anew {
                (text, begun) = (String::new(), false);
            }
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
        self.prompts != Prompts::Before
            && (matches!(word, "else" | "catch") || next.starts_with("?.") || is_call(next))
    }

    /// One line, whatever it says. Where Ctrl-C begins it anew, `again` asks for it.
    pub(super) fn one(&mut self, prompt: &str, again: &str) -> io::Result<Option<Typed>> {
        self.prompt(prompt)?;
        let again = match self.prompts {
            Prompts::Before => again.to_owned(),
            Prompts::AsLines => format!("{}\n", again.trim_end()),
            Prompts::Never => String::new(),
        };
        let text = self.line(&again)?;
        let anew = self.waiting.was_cleared();
        Ok(text.map(|text| Typed { text, anew }))
    }

    fn prompt(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match self.prompts {
            Prompts::Before => out.write_all(text.as_bytes())?,
            Prompts::AsLines if !text.is_empty() => writeln!(out, "{}", text.trim_end())?,
            Prompts::AsLines | Prompts::Never => return Ok(()),
        }
        out.flush()
    }

    /// The next line without its end. Bytes that are no text become marks, which the parser refuses with their place.
    fn line(&mut self, again: &str) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let input = &mut self.input;
        let read = self.waiting.during(again, || input.read_until(b'\n', &mut bytes))?;
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
