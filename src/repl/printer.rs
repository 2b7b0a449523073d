//! What a session says, written to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use super::bar::Bar;
use super::cut::Cut;
use super::live::Live;
use super::paint::{Ink, Paint};
use super::show;
use crate::base::locale;
use crate::base::stderr;
use crate::base::text::{strip_but_returns, strip_control};
use crate::plot::Figure;
use crate::session::death::Death;
use crate::session::protocol::{Display, Fault, Stream};

/// Rows of a figure.
const FIGURE_ROWS: usize = 20;
/// Columns of a figure, and of one in a pipe.
const FIGURE_COLUMNS: usize = 100;
const PIPE_COLUMNS: usize = 78;

/// Writes to this process's standard streams. What a terminal gets is stripped of control sequences and cut where it
/// is long; a pipe gets it as it is, and no colours.
pub(crate) struct Printer {
    terminal: bool,
    /// Standard output and standard error are to have ASCII alone.
    ascii: [bool; 2],
    plain: bool,
    /// What the code says on standard error stands with the rest on standard output.
    one_stream: bool,
    pub out: Paint,
    /// Cells and their values have numbers: on a terminal that draws, with colours or without.
    pub numbers: bool,
    err: Paint,
    bar: Bar,
    cut: Cut,
    live: Live,
    /// It was said that output is held back.
    told: bool,
    /// Standard output is at the beginning of a line.
    fresh: bool,
}

impl Printer {
    pub(super) fn new(plain: bool, paint: Paint) -> Printer {
        let (terminal, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Printer {
            terminal,
            ascii: [terminal, err].map(|shows| shows && locale::is_ascii()),
            plain,
            one_stream: false,
            out: paint.only(terminal && !plain),
            numbers: terminal && !plain,
            err: paint.only(err && !plain),
            bar: Bar::new(err && !plain),
            cut: Cut::default(),
            live: Live::new((terminal && !plain).then(|| screen().1)),
            told: false,
            fresh: true,
        }
    }

    /// The same with ASCII characters alone, on a pipe too.
    pub(super) fn in_ascii(mut self) -> Printer {
        self.ascii = [true, true];
        self
    }

    /// The same with errors and warnings of the code among its output, so that what is piped on tells all of it.
    pub(super) fn in_one_stream(mut self) -> Printer {
        self.one_stream = true;
        self
    }

    /// Text that a script printed.
    pub(super) fn print(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        self.bar.clear();
        match stream {
            Stream::Stdout if self.terminal => {
                let shown = self.cut.take(&strip_but_returns(text));
                self.put(&shown)?;
                if self.cut.holds() && !std::mem::replace(&mut self.told, true) {
                    let note = "⋯ more is held back; its end follows when the code is done ⋯";
                    self.put(&format!("{}\n", self.out.with(Ink::Dim, note)))?;
                }
                Ok(())
            }
            Stream::Stdout => self.put(text),
            Stream::Stderr if self.one_stream => {
                self.start_line()?;
                self.put(&strip_control(text))
            }
            Stream::Stderr => {
                self.say(Ink::Warning, &strip_control(text));
                Ok(())
            }
        }
    }

    /// Our own words, in answer to a command.
    pub(super) fn answer(&mut self, text: &str) -> io::Result<()> {
        self.bar.clear();
        self.start_line()?;
        let safe = strip_control(text);
        self.put(if self.terminal { &safe } else { text })
    }

    /// The value of a cell, behind its prompt if it has one.
    pub(super) fn value(&mut self, prompt: &str, text: &str) -> io::Result<()> {
        self.end_of_output()?;
        self.start_line()?;
        if !prompt.is_empty() {
            let gap = if text.contains('\n') { "\n" } else { " " };
            self.put(&format!("{}{gap}", self.out.with(Ink::Out, prompt)))?;
        }
        self.print(Stream::Stdout, &format!("{text}\n"))?;
        self.end_of_output()
    }

    /// Something richer than text, in place of what was shown under the same name.
    pub(super) fn display(&mut self, content: &Display, id: Option<&str>) -> io::Result<()> {
        let text = match content {
            Display::Text { text } => format!("{}\n", text.trim_end()),
            Display::Table { header, rows } => show::table(header, rows),
            Display::Figure { figure } => self.figure(figure),
        };
        self.bar.clear();
        self.start_line()?;
        // A figure's colours are ours, and its words are clean.
        let text = match (content, self.terminal) {
            (Display::Figure { .. }, _) | (_, false) => text,
            _ => strip_control(&text).into_owned(),
        };
        match id {
            Some(id) => {
                let shown = self.live.show(id, text);
                self.write(&shown)
            }
            None => self.put(&text),
        }
    }

    /// A figure as lines.
    fn figure(&self, figure: &Figure) -> String {
        let columns = match self.terminal {
            true => screen().0.saturating_sub(1).min(FIGURE_COLUMNS),
            false => PIPE_COLUMNS,
        };
        let mut rows: Vec<String> = if self.out.on {
            figure.to_cells(columns, FIGURE_ROWS).iter().map(|row| self.out.cells(row)).collect()
        } else {
            figure.to_text(columns, FIGURE_ROWS, !self.plain)
        };
        if self.plain {
            rows.insert(0, figure.told());
        }
        while rows.last().is_some_and(|row| row.trim().is_empty()) {
            rows.pop();
        }
        rows.iter().map(|row| format!("{}\n", row.trim_end())).collect()
    }

    pub(super) fn progress(&mut self, label: &str, done: u64, total: Option<u64>, note: &str) {
        self.live.other();
        self.bar.progress(label, done, total, note);
    }

    /// An error with its place, on standard error or in the one stream.
    pub(super) fn fault(&mut self, fault: &Fault) -> io::Result<()> {
        self.end_of_output()?;
        let report = strip_control(&fault.report);
        if self.one_stream {
            return self.put(&report);
        }
        let (first, rest) = report.split_once('\n').unwrap_or((&report, ""));
        let (kind, message) = first.split_once(": ").unwrap_or((first, ""));
        self.say(Ink::Error, kind);
        self.tell(&format!("{}{message}\n{rest}", if message.is_empty() { "" } else { ": " }));
        Ok(())
    }

    /// A session that has ended.
    pub(super) fn death(&mut self, death: &Death) -> io::Result<()> {
        self.end_of_output()?;
        self.say(Ink::Error, &format!("{death}\n"));
        let log: String = death.log.iter().rev().take(3).rev().map(|line| format!("  {line}\n")).collect();
        self.tell(&log);
        Ok(())
    }

    /// A mistake of who types, or something to know, on standard error.
    pub(super) fn note(&mut self, text: &str) {
        self.bar.clear();
        self.say(Ink::Warning, &format!("{}\n", strip_control(text)));
    }

    /// The code is done: what was held back follows.
    pub(crate) fn end_of_output(&mut self) -> io::Result<()> {
        self.bar.clear();
        let rest = self.cut.end();
        self.told = false;
        self.put(&rest)?;
        self.start_line()?;
        let held = self.live.rest();
        self.put(&held)
    }

    /// The next output begins a line, as after an end of line that the terminal wrote.
    pub(crate) fn at_line_start(&mut self) {
        self.fresh = true;
    }

    fn start_line(&mut self) -> io::Result<()> {
        if self.fresh { Ok(()) } else { self.put("\n") }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        if !text.is_empty() {
            self.live.other();
        }
        self.write(text)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.fresh = text.ends_with('\n');
        let text = if self.ascii[0] { locale::in_ascii(text) } else { text.into() };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn say(&mut self, ink: Ink, text: &str) {
        self.live.other();
        self.tell(&self.err.with(ink, text));
    }

    fn tell(&self, text: &str) {
        let text = if self.ascii[1] { locale::in_ascii(text) } else { text.into() };
        stderr::put(format_args!("{text}"));
    }
}

/// Columns and rows of the terminal.
pub(crate) fn screen() -> (usize, usize) {
    // A serial line and some terminals of editors report a size of nothing.
    let size = crossterm::terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    size.map_or((80, 24), |(columns, rows)| (usize::from(columns.max(20)), usize::from(rows)))
}
