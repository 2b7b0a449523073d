//! The loop: reads, has evaluated, prints.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::rc::Rc;
use std::sync::Arc;

use crate::base::is_of_device;
use crate::base::text::strip_control;
use crate::session::exchange::{Exchange, Said};
use crate::session::options::SessionOptions;
use crate::session::protocol::{Fault, Message, Outcome, Request, Usage};

use super::commands::Export;
use super::editor::{Editor, Typed};
use super::input::without_backslashes;
use super::lines::{Lines, Prompts};
use super::printer::Printer;
use super::record::Record;
use super::waiting::{self, Waiting};
use super::{End, Options, commands};

/// A front end of one session.
pub(crate) struct Repl {
    options: Options,
    /// What the session is started with.
    pub(super) session: SessionOptions,
    pub(super) link: Rc<RefCell<Exchange>>,
    pub(super) record: Rc<RefCell<Record>>,
    pub(super) printer: Printer,
    waiting: Arc<Waiting>,
    /// A person sits in front of it.
    person: bool,
    /// What the newest fault means for a pipe.
    fault: End,
    /// The number of the next cell.
    pub(super) number: u32,
    /// Cells that ran, and how many failed.
    pub(super) ran: Vec<String>,
    pub(super) failed: usize,
    /// The last of them was interrupted.
    was_interrupted: bool,
    /// The files that were written: what is written there again replaces them.
    pub(super) wrote: Vec<(Export, String)>,
}

/// How an evaluation went.
pub(super) enum Done {
    Ok(Option<String>, Usage),
    Failed,
    Interrupted,
    /// There is no session, or there was none at the end.
    Dead,
}

/// What to do after a line.
pub(super) enum Next {
    Go,
    Failed,
    Leave(End),
}

/// As what a pipe ends whose newest fault this is.
fn end_of(fault: &Fault) -> End {
    match fault.kind.as_str() {
        "OutOfMemoryError" => End::NoMemory,
        kind if is_of_device(kind, &fault.message) => End::NoDevice,
        _ => End::Failed,
    }
}

impl Repl {
    /// Starts a session and the front end.
    ///
    /// # Errors
    /// The session's process can't be started.
    pub(crate) fn start(options: Options, session: SessionOptions) -> io::Result<Repl> {
        let person = io::stdin().is_terminal();
        let mut link = Exchange::open(session.command()?)?;
        let record = Rc::new(RefCell::new(Record::default()));
        let recording = Rc::clone(&record);
        link.listen(Box::new(move |message| recording.borrow_mut().take(message)));
        let waiting = waiting::watch(link.bell())?;
        let printer = Printer::new(options.plain, options.paint);
        let link = Rc::new(RefCell::new(link));
        let (ran, wrote) = (Vec::new(), Vec::new());
        let fault = End::Failed;
        let (number, failed) = (1, 0);
        Ok(Repl {
            options,
            session,
            link,
            record,
            printer,
            waiting,
            person,
            number,
            ran,
            failed,
            was_interrupted: false,
            fault,
            wrote,
        })
    }

    /// Serves the terminal or the pipe until it ends.
    ///
    /// # Errors
    /// Standard output can't be written to, or the terminal can't be used.
    pub(crate) fn serve(&mut self) -> io::Result<End> {
        if !self.greet()? {
            return Ok(End::NoSession);
        }
        if self.person && io::stdout().is_terminal() && !self.options.plain {
            let paint = self.printer.out;
            let (mut editor, note) =
                Editor::open(Rc::clone(&self.link), paint, self.options.history.clone())?;
            if let Some(note) = note {
                self.printer.note(&note);
            }
            self.serve_editor(&mut editor)
        } else {
            let is_seen = self.person && io::stdout().is_terminal();
            let prompts = if is_seen { Prompts::Before } else { Prompts::Never };
            self.serve_lines(&mut Lines::new(prompts, Arc::clone(&self.waiting)))
        }
    }

    fn serve_editor(&mut self, editor: &mut Editor) -> io::Result<End> {
        loop {
            self.notice_death()?;
            let prompt = if self.printer.numbers { format!("In [{}]: ", self.number) } else { ">>> ".into() };
            let typed = self.waiting.in_editor(|| editor.read(&prompt))?;
            self.printer.at_line_start();
            match typed {
                Typed::Cleared => {}
                Typed::End => return Ok(End::Fine),
                Typed::Text(text) => {
                    let next = self.take(&text)?;
                    if std::mem::take(&mut self.was_interrupted) {
                        editor.forget_typed_ahead()?;
                    }
                    if let Next::Leave(end) = next {
                        return Ok(end);
                    }
                }
            }
        }
    }

    fn serve_lines(&mut self, lines: &mut Lines) -> io::Result<End> {
        let mut end = End::Fine;
        loop {
            self.notice_death()?;
            let Some(text) = lines.next()? else {
                if self.person {
                    self.printer.answer("\n")?;
                }
                return Ok(end);
            };
            self.printer.at_line_start();
            match self.take(&text)? {
                Next::Go => {}
                Next::Failed if self.person => {}
                Next::Failed => {
                    end = self.fault;
                    if self.link.borrow().death().is_some() {
                        return Ok(end);
                    }
                }
                Next::Leave(End::Fine) => return Ok(end),
                Next::Leave(other) => return Ok(other),
            }
        }
    }

    /// Waits for the session's greeting; false where there is to be no session.
    fn greet(&mut self) -> io::Result<bool> {
        let ready = loop {
            let said = self.link.borrow_mut().next(None);
            match said {
                Said::Message(Message::Ready { devices, .. }) => break devices,
                Said::Message(Message::Refused { reason, .. }) => {
                    self.printer.note(&format!("error: {reason}"));
                    return Ok(false);
                }
                Said::Message(_) => {}
                Said::Interrupt | Said::Nothing => return Ok(false),
                Said::Died => {
                    self.tell_death()?;
                    return Ok(false);
                }
            }
        };
        if self.person {
            let names: Vec<String> = ready.iter().map(|d| format!("{} {}", d.device, d.name)).collect();
            let text = format!(
                "tensorlab {} on {}\n:help for help, Ctrl-D to leave\n",
                env!("CARGO_PKG_VERSION"),
                names.join(", ")
            );
            self.printer.answer(&text)?;
        }
        Ok(true)
    }

    /// Does what a line asks for.
    fn take(&mut self, text: &str) -> io::Result<Next> {
        let text = strip_control(text.trim_end()).into_owned();
        if text.trim().is_empty() {
            return Ok(Next::Go);
        }
        match commands::parse(&text) {
            None if self.person && leaves(&text) => Ok(Next::Leave(End::Fine)),
            None => self.cell(&text),
            Some(Ok(command)) => self.obey(command),
            Some(Err(mistake)) => {
                self.printer.note(&mistake);
                Ok(Next::Failed)
            }
        }
    }

    /// Runs a cell and shows its value.
    fn cell(&mut self, text: &str) -> io::Result<Next> {
        let code = without_backslashes(text);
        let number = self.number;
        let done = self.evaluate(&code, 1)?;
        self.after_cell(number, &code, done)
    }

    pub(super) fn after_cell(&mut self, number: u32, code: &str, done: Done) -> io::Result<Next> {
        match done {
            Done::Ok(value, _) => {
                if let Some(value) = value {
                    let prompt = if self.printer.numbers { format!("Out[{number}]:") } else { String::new() };
                    self.printer.value(&prompt, &value)?;
                }
                if !commands::is_help(code) {
                    self.ran.push(code.to_string());
                }
                Ok(Next::Go)
            }
            Done::Failed => {
                self.failed += 1;
                Ok(Next::Failed)
            }
            Done::Interrupted => {
                self.failed += 1;
                self.was_interrupted = true;
                self.printer.note("interrupted; the variables stay");
                Ok(if self.person { Next::Go } else { Next::Leave(End::Interrupted) })
            }
            Done::Dead => Ok(Next::Failed),
        }
    }

    /// Has code evaluated and prints what it says, but for its value.
    pub(super) fn evaluate(&mut self, code: &str, first_line: u32) -> io::Result<Done> {
        self.link.borrow_mut().catch_up();
        let (cell, code) = (self.number, code.to_string());
        let sent = self.link.borrow_mut().send(|id| Request::Evaluate {
            id,
            cell,
            code,
            first_line,
            given: Default::default(),
            answer: false,
        });
        let asked = match sent {
            Ok(id) => id,
            Err(why) => {
                self.printer.note(&why.replace("restart it", "`:restart` begins a new one"));
                return Ok(Done::Dead);
            }
        };
        self.number += 1;
        let mut interrupts = 0;
        loop {
            let said = self.link.borrow_mut().next(None);
            let done = match said {
                Said::Message(message) => self.hear(message, asked)?,
                Said::Interrupt => self.interrupted(&mut interrupts)?,
                Said::Nothing => None,
                Said::Died => {
                    self.tell_death()?;
                    Some(Done::Dead)
                }
            };
            if let Some(done) = done {
                self.printer.end_of_output()?;
                return Ok(done);
            }
        }
    }

    /// Prints what belongs to the evaluation `asked`; gives how it ended.
    fn hear(&mut self, message: Message, asked: u64) -> io::Result<Option<Done>> {
        match message {
            Message::Output { id, stream, text } if id == asked => self.printer.print(stream, &text)?,
            Message::Display { id, content, display_id } if id == asked => {
                self.printer.display(&content, display_id.as_deref())?;
            }
            Message::Progress { id, label, done, total, note } if id == asked => {
                self.printer.progress(&label, done, total, &note);
            }
            Message::Finished { id, outcome, usage, .. } if id == asked => {
                return Ok(Some(match outcome {
                    Outcome::Ok { value } => Done::Ok(value, *usage),
                    Outcome::Error { fault } => {
                        self.fault = end_of(&fault);
                        self.printer.fault(&fault)?;
                        Done::Failed
                    }
                    Outcome::Interrupted => Done::Interrupted,
                    Outcome::TooMuchOutput { limit } => {
                        self.printer.note(&format!("stopped: more than {limit}"));
                        Done::Failed
                    }
                    Outcome::Timeout { seconds } => {
                        self.printer.note(&format!("timed out after {seconds} s"));
                        Done::Failed
                    }
                }));
            }
            Message::Refused { id, reason } if id.is_none_or(|id| id == asked) => {
                self.printer.note(&reason);
                return Ok(Some(Done::Failed));
            }
            _ => {}
        }
        Ok(None)
    }

    /// The first Ctrl-C asks the session to stop, the second offers a restart, the third restarts it.
    fn interrupted(&mut self, count: &mut u32) -> io::Result<Option<Done>> {
        *count += 1;
        match count {
            1 => self.link.borrow().interrupt(),
            2 if self.person => {
                self.link.borrow().interrupt();
                self.printer
                    .note("it still runs; Ctrl-C once more restarts the session, and its variables are lost");
            }
            _ if self.person => {
                self.restart()?;
                return Ok(Some(Done::Failed));
            }
            _ => return Ok(Some(Done::Interrupted)),
        }
        Ok(None)
    }

    /// Tells of a session that ended while nothing was asked of it.
    fn notice_death(&mut self) -> io::Result<()> {
        let known = self.link.borrow().death().is_some();
        self.link.borrow_mut().catch_up();
        if !known && self.link.borrow().death().is_some() {
            self.tell_death()?;
        }
        Ok(())
    }

    pub(super) fn tell_death(&mut self) -> io::Result<()> {
        let death = self.link.borrow().death().cloned();
        if let Some(death) = death {
            self.printer.death(&death)?;
            self.printer.note("its variables are lost; `:restart` begins a new one");
        }
        Ok(())
    }
}

/// What people type to leave, from other languages.
fn leaves(text: &str) -> bool {
    matches!(text.trim(), "exit" | "quit" | "exit()" | "quit()")
}
