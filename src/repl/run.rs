//! The loop: reads, has evaluated, prints.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::Command as Program;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::commands::{self, Command};
use super::editor::{self, Editor, Typed};
use super::input::without_backslashes;
use super::lines::Lines;
use super::link::{Link, Said};
use super::printer::Printer;
use super::show;
use super::waiting::{self, Waiting};
use super::{End, Options};
use crate::base::figures::{count, plural};
use crate::base::text::strip_control;
use crate::notebook;
use crate::script::trace;
use crate::session::protocol::{DeviceInfo, Message, Outcome, Request, Usage, Variable};

/// A session begins, or answers what takes no evaluation, within this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A front end of one session.
pub struct Repl {
    options: Options,
    link: Rc<RefCell<Link>>,
    printer: Printer,
    waiting: Arc<Waiting>,
    /// A person sits in front of it.
    person: bool,
    /// The number of the next cell.
    number: u32,
    /// Cells that ran, and how many failed.
    ran: Vec<String>,
    failed: usize,
    /// The file that `:save` wrote.
    saved: Option<String>,
}

/// How an evaluation went.
enum Done {
    Ok(Option<String>, Usage),
    Failed,
    Interrupted,
    /// There is no session, or there was none at the end.
    Dead,
}

/// What to do after a line.
enum Next {
    Go,
    Failed,
    Leave(End),
}

impl Repl {
    /// Starts a session and the front end.
    ///
    /// # Errors
    /// The session's process can't be started.
    pub fn start(options: Options, command: Program) -> io::Result<Repl> {
        let person = io::stdin().is_terminal();
        let link = Link::open(command)?;
        let waiting = waiting::watch(link.bell())?;
        let printer = Printer::new(options.plain, options.paint);
        let link = Rc::new(RefCell::new(link));
        let (ran, saved) = (Vec::new(), None);
        Ok(Repl { options, link, printer, waiting, person, number: 1, ran, failed: 0, saved })
    }

    /// Serves the terminal or the pipe until it ends.
    ///
    /// # Errors
    /// Standard output can't be written to, or the terminal can't be used.
    pub fn serve(&mut self) -> io::Result<End> {
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
            let prompts = self.person && io::stdout().is_terminal();
            self.serve_lines(&mut Lines::new(prompts, Arc::clone(&self.waiting)))
        }
    }

    fn serve_editor(&mut self, editor: &mut Editor) -> io::Result<End> {
        loop {
            self.notice_death()?;
            let prompt = if self.printer.out.on { format!("In [{}]: ", self.number) } else { ">>> ".into() };
            let typed = self.waiting.in_editor(|| editor.read(&prompt))?;
            self.printer.at_line_start();
            match typed {
                Typed::Cleared => {}
                Typed::End => return Ok(End::Fine),
                Typed::Text(text) => {
                    if let Next::Leave(end) = self.take(&text)? {
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
                    end = End::Failed;
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

    fn after_cell(&mut self, number: u32, code: &str, done: Done) -> io::Result<Next> {
        match done {
            Done::Ok(value, _) => {
                if let Some(value) = value {
                    let prompt = if self.printer.out.on { format!("Out[{number}]:") } else { String::new() };
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
                self.printer.note("interrupted; the variables stay");
                Ok(if self.person { Next::Go } else { Next::Leave(End::Interrupted) })
            }
            Done::Dead => Ok(Next::Failed),
        }
    }

    /// Has code evaluated and prints what it says, but for its value.
    fn evaluate(&mut self, code: &str, first_line: u32) -> io::Result<Done> {
        self.link.borrow_mut().catch_up();
        let (cell, code) = (self.number, code.to_string());
        let sent = self.link.borrow_mut().send(|id| Request::Evaluate { id, cell, code, first_line });
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
            Message::Display { id, content } if id == asked => self.printer.display(&content)?,
            Message::Progress { id, label, done, total, note } if id == asked => {
                self.printer.progress(&label, done, total, &note);
            }
            Message::Finished { id, outcome, usage, .. } if id == asked => {
                return Ok(Some(match outcome {
                    Outcome::Ok { value } => Done::Ok(value, usage),
                    Outcome::Error { fault } => {
                        self.printer.fault(&fault)?;
                        Done::Failed
                    }
                    Outcome::Interrupted => Done::Interrupted,
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

    fn obey(&mut self, command: Command) -> io::Result<Next> {
        match command {
            Command::Help("") => self.printer.answer(&commands::overview())?,
            Command::Help(name) => return self.help(name),
            Command::Time(code) => return self.time(code),
            Command::TimeIt(code) => return self.time_often(code),
            Command::Complete(text) => self.complete(text)?,
            Command::Devices | Command::Vars | Command::Mem => return self.inspect(command),
            Command::Trace(path) => return self.trace(path),
            Command::MemSnap(path) => return self.snapshot(path),
            Command::Save { path, over } => return self.save(path, over),
            Command::Load(path) => return self.load(path),
            Command::Reset => return self.reset(),
            Command::Restart => self.restart()?,
            Command::Quit => return Ok(Next::Leave(End::Fine)),
        }
        Ok(Next::Go)
    }

    fn help(&mut self, name: &str) -> io::Result<Next> {
        let name = name.trim_matches(['?', ' ']).to_string();
        let asked = self.link.borrow_mut().ask(PATIENCE, |id| Request::Help { id, name: name.clone() });
        match asked {
            Some(Message::HelpText { text: Some(text), .. }) => self.printer.answer(&text)?,
            Some(Message::HelpText { suggestions, .. }) => {
                let near = suggestions.join(", ");
                let near = if near.is_empty() { near } else { format!("; did you mean {near}?") };
                self.printer.note(&format!("there is no help on '{name}'{near}"));
                return Ok(Next::Failed);
            }
            _ => return self.no_answer(),
        }
        Ok(Next::Go)
    }

    fn time(&mut self, code: &str) -> io::Result<Next> {
        let code = without_backslashes(code);
        let number = self.number;
        let done = self.evaluate(&code, 1)?;
        let took = match &done {
            Done::Ok(_, usage) => Some(show::usage(usage)),
            _ => None,
        };
        let next = self.after_cell(number, &code, done)?;
        if let Some(took) = took {
            self.printer.answer(&took)?;
        }
        Ok(next)
    }

    fn time_often(&mut self, code: &str) -> io::Result<Next> {
        // The code's first line is line 1 of its file.
        let call = format!("timeit(|| {{\n{}\n}})", without_backslashes(code));
        let number = self.number;
        let done = self.evaluate(&call, 0)?;
        let Done::Ok(Some(value), _) = &done else { return self.after_cell(number, &call, done) };
        let text = show::timing(value).unwrap_or_else(|| format!("{value}\n"));
        self.printer.answer(&text)?;
        Ok(Next::Go)
    }

    fn complete(&mut self, text: &str) -> io::Result<()> {
        let (_, items) = editor::completions(&mut self.link.borrow_mut(), text, text.len());
        let lines: String = items.iter().map(|item| format!("{}\n", editor::called(item))).collect();
        self.printer.answer(if lines.is_empty() { "nothing fits\n" } else { &lines })
    }

    fn inspect(&mut self, command: Command) -> io::Result<Next> {
        let Some((variables, devices)) = self.state() else { return self.no_answer() };
        self.printer.answer(&match command {
            Command::Devices => show::devices(&devices),
            Command::Vars => show::variables(&variables),
            _ => show::memory(&devices, &variables),
        })?;
        Ok(Next::Go)
    }

    fn state(&mut self) -> Option<(Vec<Variable>, Vec<DeviceInfo>)> {
        match self.link.borrow_mut().ask(PATIENCE, |id| Request::Inspect { id }) {
            Some(Message::State { variables, devices, .. }) => Some((variables, devices)),
            _ => None,
        }
    }

    fn trace(&mut self, path: &str) -> io::Result<Next> {
        // Asking makes the session say all that happened before.
        self.state();
        let (events, lost) = self.link.borrow().events();
        if let Err(error) = trace::write(Path::new(path), &events) {
            return self.not_written(path, &error);
        }
        let mut text = format!("{path}: {}", plural(events.len() as u64, "event", "events"));
        if lost > 0 {
            text += &format!("; {} came too fast and are not among them", count(lost));
        }
        self.printer.answer(&format!("{text}\n"))?;
        Ok(Next::Go)
    }

    fn snapshot(&mut self, path: &str) -> io::Result<Next> {
        let quoted = serde_json::Value::from(path).to_string();
        let done = self.evaluate(&format!("telemetry::export_memory_snapshot({quoted})"), 1)?;
        match done {
            Done::Ok(..) => {
                self.printer.answer(&format!("{path}: opens at pytorch.org/memory_viz\n"))?;
                Ok(Next::Go)
            }
            _ => Ok(Next::Failed),
        }
    }

    fn save(&mut self, path: &str, over: bool) -> io::Result<Next> {
        let own = self.saved.as_deref() == Some(path);
        if !over && !own && Path::new(path).exists() {
            self.printer.note(&format!("{path} exists; `:save! {path}` replaces it"));
            return Ok(Next::Failed);
        }
        let text = notebook::lines::join(self.ran.iter().map(String::as_str));
        let written =
            crate::base::file::replace(Path::new(path), |out| io::Write::write_all(out, text.as_bytes()));
        if let Err(error) = written {
            return self.not_written(path, &error);
        }
        self.saved = Some(path.to_string());
        let mut said = format!("{path}: {}", plural(self.ran.len() as u64, "cell", "cells"));
        if self.failed > 0 {
            said += &format!("; {} that failed left out", self.failed);
        }
        self.printer.answer(&format!("{said}\n"))?;
        Ok(Next::Go)
    }

    fn not_written(&mut self, path: &str, error: &io::Error) -> io::Result<Next> {
        self.printer.note(&format!("cannot write {path}: {error}"));
        Ok(Next::Failed)
    }

    fn load(&mut self, path: &str) -> io::Result<Next> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                self.printer.note(&format!("cannot read {path}: {error}"));
                return Ok(Next::Failed);
            }
        };
        for (first_line, code) in notebook::lines::placed(&text) {
            let number = self.number;
            let done = self.evaluate(&code, first_line)?;
            match self.after_cell(number, &code, done)? {
                Next::Go => {}
                other => return Ok(other),
            }
        }
        Ok(Next::Go)
    }

    fn reset(&mut self) -> io::Result<Next> {
        let reset = self.link.borrow_mut().ask(PATIENCE, |id| Request::Reset { id });
        if !matches!(reset, Some(Message::State { .. })) {
            return self.no_answer();
        }
        self.ran.clear();
        self.failed = 0;
        self.printer.answer("every variable is forgotten\n")?;
        Ok(Next::Go)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.printer.end_of_output()?;
        let restarted = self.link.borrow_mut().restart();
        if let Err(error) = restarted {
            self.printer.note(&format!("the session cannot be started: {error}"));
            return Ok(());
        }
        let said = self.link.borrow_mut().next(None);
        match said {
            Said::Died => self.tell_death(),
            Said::Message(Message::Refused { reason, .. }) => {
                self.printer.note(&reason);
                Ok(())
            }
            _ => {
                (self.ran, self.failed) = (Vec::new(), 0);
                self.printer.answer("a new session has begun, without variables\n")
            }
        }
    }

    fn no_answer(&mut self) -> io::Result<Next> {
        if self.link.borrow().death().is_some() {
            self.printer.note("there is no session; `:restart` begins a new one");
        } else {
            self.printer.note("the session does not answer; `:restart` begins a new one");
        }
        Ok(Next::Failed)
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

    fn tell_death(&mut self) -> io::Result<()> {
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
