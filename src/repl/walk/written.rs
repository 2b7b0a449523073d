//! Code for an exercise: typed, from a file, or as the exercise begins with it.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::base::file;
use crate::base::text::strip_control;
use crate::lesson::Exercise;
use crate::repl::lines::Typed;

use super::walker::{Walk, Written};

/// Asks for an exercise's code.
pub(super) const YOUR_CODE: &str = "Your code: ";

/// What a line at an exercise begins.
#[derive(Debug, PartialEq)]
enum Begins<'l> {
    Nothing,
    /// The end of code that has no beginning.
    End,
    Starter,
    File(&'l str),
    Write {
        name: &'l str,
        over: bool,
    },
    /// A command that lacks its file.
    Nameless(&'static str),
    Code,
}

impl<'l> Begins<'l> {
    fn of(line: &'l str) -> Begins<'l> {
        let line = line.trim();
        let (word, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = unquoted(name.trim());
        match (word, name.is_empty()) {
            ("", _) => Begins::Nothing,
            (".", true) => Begins::End,
            ("r", true) => Begins::Starter,
            ("f", true) => Begins::Nameless("f"),
            ("w" | "w!", true) => Begins::Nameless("w"),
            ("f", false) => Begins::File(name),
            ("w" | "w!", false) => Begins::Write { name, over: word == "w!" },
            _ => Begins::Code,
        }
    }
}

impl Walk<'_> {
    /// Code that a first line names or begins, up to a line that is only a full stop.
    pub(super) fn written(&mut self, first: String, exercise: &Exercise) -> io::Result<Written> {
        match Begins::of(&first) {
            Begins::Nothing => Ok(Written::Nothing),
            Begins::End => self.nothing("There is no code yet: the full stop ends it.".into()),
            Begins::Starter => Ok(Written::Code(exercise.starter.text.clone())),
            Begins::Nameless(word) => self.nothing(format!("{word} needs a file's name: {word} FILE.")),
            Begins::Write { name, over } => self.write(name, over, exercise),
            Begins::File(name) => match std::fs::read_to_string(file::at_home(Path::new(name))) {
                Ok(text) => Ok(Written::Code(text)),
                Err(error) => self.nothing(unread(name, &error)),
            },
            Begins::Code => self.typed(first),
        }
    }

    fn typed(&mut self, first: String) -> io::Result<Written> {
        let mut text = first;
        loop {
            match self.lines.one("", YOUR_CODE)? {
                Some(Typed { text: line, anew: true }) => return Ok(Written::Anew(line)),
                Some(Typed { text: line, .. }) if line.trim() != "." => {
                    text.push('\n');
                    text.push_str(&line);
                }
                Some(_) => return Ok(Written::Code(text)),
                None => return self.ended(),
            }
        }
    }

    fn nothing(&mut self, told: String) -> io::Result<Written> {
        self.say(&[told])?;
        Ok(Written::Nothing)
    }

    /// Writes what an exercise begins with to a file.
    fn write(&mut self, name: &str, over: bool, exercise: &Exercise) -> io::Result<Written> {
        let path = file::at_home(Path::new(name));
        let shown = strip_control(name);
        if !over && path.symlink_metadata().is_ok() {
            return self.nothing(format!("There is a file {shown} already; w! {shown} replaces it."));
        }
        let text = format!("{}\n", exercise.starter.text.trim_end());
        let written: io::Result<()> = file::replace(&path, |out| out.write_all(text.as_bytes()));
        self.nothing(match written {
            Ok(()) => format!("It is in {shown} now: edit it, and f {shown} runs it."),
            Err(error) => format!("{shown} can't be written: {error}"),
        })
    }
}

fn unread(name: &str, error: &io::Error) -> String {
    let name = strip_control(name);
    match error.kind() {
        ErrorKind::NotFound => format!(
            "There is no file {name}. f takes a file's name; code that begins with f goes below a line of its own, such \
             as //."
        ),
        _ => format!("{name} can't be read: {error}"),
    }
}

/// A file's name as a shell takes it: quotes around it go.
fn unquoted(name: &str) -> &str {
    let inner = ['"', '\''].iter().find_map(|mark| name.strip_prefix(*mark)?.strip_suffix(*mark));
    inner.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_is_a_command_or_begins_code() {
        for (line, want) in [
            ("  ", Begins::Nothing),
            (".", Begins::End),
            (" r ", Begins::Starter),
            ("f", Begins::Nameless("f")),
            ("w! ", Begins::Nameless("w")),
            ("f 'my code.rhai'", Begins::File("my code.rhai")),
            ("f \"~/a.rhai\"", Begins::File("~/a.rhai")),
            ("w a b", Begins::Write { name: "a b", over: false }),
            ("w! a", Begins::Write { name: "a", over: true }),
            ("fn f(x) {", Begins::Code),
            ("r + 1", Begins::Code),
            (".sum()", Begins::Code),
        ] {
            assert_eq!(Begins::of(line), want, "{line:?}");
        }
    }
}
