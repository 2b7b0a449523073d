//! What the commands do.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::base::figures::{count, plural};
use crate::notebook::{Cell, Notebook, percent};
use crate::script::lines::{self, Header, Known};
use crate::script::trace;
use crate::session::exchange::{Said, Unanswered};
use crate::session::protocol::{DeviceInfo, Message, Request, Variable};

use super::commands::{self, Command, Export};
use super::input::without_backslashes;
use super::record::Record;
use super::run::{Done, Next, Repl};
use super::{End, editor, show};

/// A session begins, or answers what takes no evaluation, within this time.
const PATIENCE: Duration = Duration::from_secs(30);

impl Repl {
    pub(super) fn obey(&mut self, command: Command) -> io::Result<Next> {
        match command {
            Command::Help("") => self.printer.answer(&commands::overview())?,
            Command::Help(name) => return self.help(name),
            Command::Time(code) => return self.time(code),
            Command::TimeIt(code) => return self.time_often(code),
            Command::Complete(text) => self.complete(text)?,
            Command::Devices | Command::Vars | Command::Mem => return self.inspect(command),
            Command::Write { what, path, over } => return self.write(what, path, over),
            Command::Load(path) => return self.load(path),
            Command::Reset => return self.reset(),
            Command::Restart(devices) => return self.restart_on(devices),
            Command::Quit => return Ok(Next::Leave(End::Fine)),
        }
        Ok(Next::Go)
    }

    fn help(&mut self, name: &str) -> io::Result<Next> {
        let name = name.trim_matches(['?', ' ']).to_string();
        if let Some(command) = name.strip_prefix(':').and_then(commands::about) {
            self.printer.answer(&command)?;
            return Ok(Next::Go);
        }
        let asked =
            self.link.borrow_mut().ask(PATIENCE, |id| Request::Help { id, name: name.clone() }, &mut |_| ());
        match asked {
            Ok(Message::HelpText { text: Some(text), .. }) => self.printer.answer(&text)?,
            Ok(Message::HelpText { suggestions, .. }) => {
                let near = suggestions.join(", ");
                let near = if near.is_empty() { near } else { format!("; did you mean {near}?") };
                self.printer.note(&format!("there is no help on '{name}'{near}"));
                return Ok(Next::Failed);
            }
            Ok(_) => return self.no_answer(&Unanswered::Late),
            Err(why) => return self.no_answer(&why),
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
        let (variables, devices) = match self.state() {
            Ok(state) => state,
            Err(why) => return self.no_answer(&why),
        };
        self.printer.answer(&match command {
            Command::Devices => show::devices(&devices),
            Command::Vars => show::variables(&variables),
            _ => show::memory(&devices, &variables),
        })?;
        Ok(Next::Go)
    }

    fn state(&mut self) -> Result<(Vec<Variable>, Vec<DeviceInfo>), Unanswered> {
        match self.link.borrow_mut().ask(PATIENCE, |id| Request::Inspect { id }, &mut |_| ())? {
            Message::State { variables, devices, .. } => Ok((variables, devices)),
            _ => Err(Unanswered::Late),
        }
    }

    fn write(&mut self, what: Export, path: &str, over: bool) -> io::Result<Next> {
        let there = Path::new(path);
        if there.is_dir() {
            self.printer.note(&format!("{path} is a folder: name a file in it"));
            return Ok(Next::Failed);
        }
        if there.exists() && !over && !self.wrote.contains(&(what, path.to_owned())) {
            let name = commands::of(what);
            self.printer.note(&format!("{path} exists; `:{name}! {path}` replaces it"));
            return Ok(Next::Failed);
        }
        let next = match what {
            Export::Trace | Export::Lines => self.export(what, path)?,
            Export::MemSnap => self.snapshot(path)?,
            Export::Cells => self.save(path)?,
        };
        if matches!(next, Next::Go) {
            self.wrote.push((what, path.to_owned()));
        }
        Ok(next)
    }

    /// Writes what happened, as a trace or as lines.
    fn export(&mut self, what: Export, path: &str) -> io::Result<Next> {
        // Asking makes the session say all that happened before.
        let devices = match self.state() {
            Ok((_, devices)) => devices,
            Err(Unanswered::Interrupted) => return self.no_answer(&Unanswered::Interrupted),
            // Without a session there is still what it told before.
            Err(_) => Vec::new(),
        };
        let (events, lost) = self.record.borrow().events();
        let written = match what {
            Export::Lines => {
                let known = |info: DeviceInfo| Known {
                    device: info.device,
                    name: info.name,
                    simulated: info.simulated,
                };
                let devices = devices.into_iter().map(known).collect();
                let header = Header { origin: "repl".into(), devices, dropped: lost };
                lines::write(Path::new(path), &header, &events)
            }
            _ => trace::write(Path::new(path), &events),
        };
        if let Err(error) = written {
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

    fn save(&mut self, path: &str) -> io::Result<Next> {
        let text = percent::write(&Notebook::new(self.ran.iter().map(Cell::code)));
        let written =
            crate::base::file::replace(Path::new(path), |out| io::Write::write_all(out, text.as_bytes()));
        if let Err(error) = written {
            return self.not_written(path, &error);
        }
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
        for (first_line, Cell { source: code, .. }) in percent::placed(&text) {
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
        let reset = self.link.borrow_mut().ask(PATIENCE, |id| Request::Reset { id }, &mut |_| ());
        match reset {
            // What was asked for can't be taken back: it is done where nobody waits for its answer too.
            Ok(Message::State { .. }) | Err(Unanswered::Interrupted) => {}
            Ok(_) => return self.no_answer(&Unanswered::Late),
            Err(why) => return self.no_answer(&why),
        }
        self.ran.clear();
        self.failed = 0;
        self.printer.answer("every variable is forgotten\n")?;
        Ok(Next::Go)
    }

    /// Begins a new session, on other devices where some are named.
    fn restart_on(&mut self, devices: &str) -> io::Result<Next> {
        if !devices.is_empty()
            && let Err(reason) = self.session.set_devices(devices)
        {
            self.printer.note(&reason);
            return Ok(Next::Failed);
        }
        self.restart()?;
        Ok(Next::Go)
    }

    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.printer.end_of_output()?;
        let restarted = self.session.command().and_then(|c| self.link.borrow_mut().restart_with(c));
        if let Err(error) = restarted {
            self.printer.note(&format!("the session cannot be started: {error}"));
            return Ok(());
        }
        *self.record.borrow_mut() = Record::default();
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

    fn no_answer(&mut self, why: &Unanswered) -> io::Result<Next> {
        if matches!(why, Unanswered::Interrupted) {
            self.printer.note("interrupted");
        } else if self.link.borrow().death().is_some() {
            self.printer.note("there is no session; `:restart` begins a new one");
        } else {
            self.printer.note("the session does not answer; `:restart` begins a new one");
        }
        Ok(Next::Failed)
    }
}
