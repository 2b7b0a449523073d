//! `try` with what handles its errors, and with what is done at last.

use super::blocks::{Lines, written};
use super::book::Idiom;
use super::errors::Handler;
use super::kept::LEAVES;
use super::leaving::with_last;
use super::lex::has_word;
use super::statements::Statements;
use super::writer::Holds;

impl Statements<'_, '_, '_> {
    pub(super) fn attempt(&mut self) -> Lines {
        let column = self.head()?;
        let rhai = self.reader.word() == "{";
        let rest = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        self.writer.whole = rest.iter().any(|token| token.text == "ZeroDivisionError");
        let tried = std::mem::replace(&mut self.writer.tried, true);
        let mut body = self.block(column, &[])?;
        self.writer.tried = tried;
        self.writer.whole = false;
        if rhai {
            self.reader.expect("catch")?;
        }
        self.writer.used.extend((!rhai).then_some(Idiom::Try));
        let (mut handlers, mut last): (Vec<Handler>, _) = (Vec::new(), Vec::new());
        let around = self.caught.take();
        loop {
            let at = self.reader.at;
            let comments = self.comments_before(column, &["except", "else", "finally"]);
            match handlers.last_mut() {
                Some((_, _, handler)) => handler.extend(comments),
                None => body.extend(comments),
            }
            // What stands further out goes on with the `try` around this one.
            let is_outer = self.reader.peek().is_some_and(|token| token.column < column);
            match self.reader.word() {
                _ if is_outer => {
                    self.reader.at = at;
                    break;
                }
                "except" => {
                    self.reader.at += 1;
                    let (mut kind, mut caught) = (None, "e".to_owned());
                    if self.reader.word() != ":" {
                        kind = Some(self.writer.named_errors(&self.reader.values()?));
                        if self.reader.eat("as") {
                            caught = self.reader.name()?;
                        }
                    }
                    self.caught = Some(caught.clone());
                    self.writer.caught.push(caught.clone());
                    let handler = self.block(column, &[(caught.clone(), Holds::Other)])?;
                    self.writer.caught.pop();
                    handlers.push((kind, caught, handler));
                }
                "else" => {
                    self.reader.at += 1;
                    body.extend(self.block(column, &[])?);
                }
                "finally" => {
                    self.reader.at += 1;
                    last = self.block(column, &[])?;
                }
                _ => {
                    self.reader.at = at;
                    break;
                }
            }
        }
        if rhai {
            return None;
        }
        self.caught = around;
        let (mut lines, failed) = self.before_the_end(&mut body, &mut handlers, &last);
        let caught = handlers.first().map_or("e".to_owned(), |(_, caught, _)| caught.clone());
        let handler = match handlers.is_empty() {
            // What comes last is done before the error goes on.
            true => failed.into_iter().chain([format!("throw {caught};")]).collect(),
            false => self.handled(&caught, handlers, failed)?,
        };
        lines.extend(written(&[("try".into(), body), (format!("catch ({caught})"), handler)]));
        lines.extend(last);
        Some(lines)
    }

    /// Has what a `finally` holds done where a block is left, once, and marks what raises nothing here. Gives what stands
    /// before the `try`, and what is done for an error.
    fn before_the_end(
        &mut self,
        body: &mut Vec<String>,
        handlers: &mut [Handler],
        last: &[String],
    ) -> (Vec<String>, Vec<String>) {
        let (mut first, mut failed) = (Vec::new(), last.to_vec());
        if !last.is_empty() {
            let value = self.writer.free_name("given");
            let done = self.writer.free_name("ended");
            let is_call = |line: &String| may_fail(line);
            let left = |lines: &[String]| with_last(lines.to_vec(), last, &LEAVES, &value) != lines;
            let mut noted = last.to_vec();
            // What fails at last within the `try` is caught there, and is not done again.
            if last.iter().any(is_call) && (left(body) || handlers.iter().any(|(_, _, lines)| left(lines))) {
                first.push(format!("let {done} = false;"));
                noted.insert(0, format!("{done} = true;"));
                failed = written(&[(format!("if !{done}"), last.to_vec())]);
            }
            *body = with_last(std::mem::take(body), &noted, &LEAVES, &value);
            for (_, caught, handler) in &mut *handlers {
                let lines = with_last(std::mem::take(handler), &noted, &LEAVES, &value);
                let mut error = "failure".to_owned();
                if error == *caught {
                    error.push('_');
                }
                *handler = match lines.iter().any(|line| is_call(line) || has_word(line, "throw")) {
                    true => {
                        let rest = failed.iter().cloned().chain([format!("throw {error};")]).collect();
                        written(&[("try".into(), lines), (format!("catch ({error})"), rest)])
                    }
                    false => lines,
                };
            }
        }
        if handlers.iter().any(|(kind, ..)| kind.as_ref().is_some_and(|named| named.takes("KeyError"))) {
            self.writer.uses(Idiom::Unknown);
            body.insert(0, "// ? a key that is missing gives (): ask with `key in map`".into());
        }
        (first, failed)
    }
}

/// Whether a line calls what may fail: to print a name, or to append one, does not.
fn may_fail(line: &str) -> bool {
    let calls = line.matches('(').count();
    calls > 1 || calls == 1 && !line.contains(".push(") && !line.trim_start().starts_with("print(")
}
