//! The lab on a real terminal: its input, the session's messages and signals in one loop, frames out.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::lab::model::book_change::{Keeping, NotSaved};
use crate::lab::model::config::Config;
use crate::lab::model::document::Document;
use crate::lab::model::export_kind::What;
use crate::lab::model::message::{Effect, Msg};
use crate::lab::model::picture::Job;
use crate::lab::model::screens::home::Target;
use crate::lab::model::state::State;
use crate::lab::model::theme::Look;
use crate::lab::shell::book::Book;
use crate::lab::shell::library::{Keep, Library, Opened};
use crate::lab::shell::link::SessionLink;
use crate::lab::shell::paths;
use crate::lab::shell::record::{self, Begun};
use crate::lab::shell::terminal::{self, Screen, signals};
use crate::lab::update::{continue_at, update};
use crate::lesson::Entry;
use crate::session::client::{FromSession, Wake};
use crate::session::death::{Death, How};
use crate::session::protocol::Request;

/// At most 60 frames a second.
const FRAME: Duration = Duration::from_micros(16_667);
/// How often what moves by itself moves.
const ANIMATION: Duration = Duration::from_millis(100);
/// How often an idle lab looks whether its terminal is still there.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long the reader of the terminal waits before it looks whether it should end.
const INPUT_POLL: Duration = Duration::from_millis(50);
/// Inputs that wait to be taken.
const BACKLOG: usize = 256;
/// How long an ended session is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Keeps code that was run, for the search in later sessions.
pub type Remember = Box<dyn FnMut(&str) -> io::Result<()>>;

/// What the lab is started with.
pub struct LabOptions {
    pub look: Look,
    /// The notebook that the document is of; only with one can be saved.
    pub book: Option<Book>,
    /// Nothing is kept where there is none.
    pub keep: Option<Keep>,
    /// Where there is one, the home screen is; without a document the lab opens there.
    pub library: Option<Box<dyn Library>>,
    pub config: Config,
    /// Code run in earlier sessions, the newest last.
    pub past: Vec<String>,
    /// Keeps code that was run for later ones.
    pub remember: Option<Remember>,
    /// What there is to tell of the document at the beginning.
    pub notes: Vec<String>,
    /// The id of the item where the learner left off.
    pub at: Option<String>,
    /// What the order of quizzes' choices is drawn from.
    pub seed: u64,
}

/// What is left when the lab closes.
#[derive(Clone, PartialEq, Debug)]
pub struct LabExit {
    /// The document with the learner's text.
    pub document: Document,
    /// Cells whose text was not saved.
    pub unsaved: usize,
    pub end: End,
}

/// Why the lab closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Quit,
    Signal(i32),
    /// The terminal went away.
    TerminalLost,
}

/// Opens the lab on this process's terminal and runs it until it is closed.
///
/// `connect` starts a session, now and after each restart; the session calls the [`Wake`] it is given whenever it
/// has said something. The terminal is restored whatever happens. An error where there is no terminal or it can't
/// be set up.
pub fn run(
    options: LabOptions,
    document: Option<Document>,
    connect: impl FnMut(Wake) -> io::Result<Box<dyn SessionLink>>,
) -> io::Result<LabExit> {
    let mut state = match document {
        Some(document) => State::new(document, options.look),
        None => State::at_home(options.look),
    };
    let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
    let mut screen = Screen::open()?;
    let (columns, rows) = screen.size()?;
    state.keep(options.book.as_ref().map_or(Keeping::Nothing, Book::keeping));
    let language = options.book.as_ref().and_then(Book::other_language);
    language.into_iter().for_each(|language| state.speaks(language));
    state.set_canvas(terminal::canvas());
    let teller = inbox.clone();
    let _watch = signals::Watch::new(move |signal| {
        // Where nobody listens any more the lab is closing already.
        let _ = teller.send(Input::Signal(signal));
    })?;
    let asked = terminal::ask()?;
    let reader = Reader::start(inbox.clone(), asked)?;
    let mut around = Surroundings::new(connect, inbox);
    (around.book, around.keep, around.remember) = (options.book, options.keep, options.remember);
    around.library = options.library;
    around.clipboard = options.config.clipboard();
    state.recall(options.past);
    state.configure(&options.config);
    state.shuffle(options.seed);
    around.list(&mut state);
    // What is asked for, such as the figures of a notebook's file, is done like all else.
    say(&mut state, Msg::Resize(columns, rows), &mut around);
    around.tell_file(&mut state);
    options.at.iter().for_each(|id| continue_at(&mut state, id));
    tell(&mut state, &options.notes, &mut around);
    let end = drive(&mut state, &inputs, &mut around, &mut |state| screen.draw(state));
    // Whoever still sends must not wait for a lab that is closed.
    drop(inputs);
    drop(reader);
    around.part();
    drop(screen);
    Ok(LabExit { document: state.document(), unsaved: state.unsaved(), end })
}

/// What arrives in the one channel.
#[expect(clippy::large_enum_variant, reason = "an input is taken where it arrives, few are held at once")]
enum Input {
    Msg(Msg),
    /// The session has said something.
    Woken,
    Signal(i32),
    TerminalLost,
    /// The terminal has said what it can show.
    Canvas,
}

/// Takes inputs and draws until the lab is closed.
fn drive<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    inputs: &Receiver<Input>,
    around: &mut Surroundings<C>,
    draw: &mut dyn FnMut(&State) -> io::Result<()>,
) -> End {
    let start = Instant::now();
    let mut drawn = None;
    let mut next_frame = Duration::ZERO;
    if state.has_document() {
        around.start(state);
    }
    loop {
        let now = start.elapsed();
        let dirty = drawn != Some(state.revision());
        if dirty && now >= next_frame {
            if draw(state).is_err() {
                return End::TerminalLost;
            }
            drawn = Some(state.revision());
            next_frame = now + FRAME;
            continue;
        }
        let wait = match (around.has_more, dirty, state.is_animated()) {
            (true, ..) => Duration::ZERO,
            (_, true, _) => next_frame.saturating_sub(now),
            (_, false, true) => ANIMATION,
            (_, false, false) => HEARTBEAT,
        };
        let mut next = match inputs.recv_timeout(wait) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) if wait == HEARTBEAT && !around.is_terminal_here() => {
                return End::TerminalLost;
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return End::TerminalLost,
        };
        let now = start.elapsed();
        update(state, Msg::Tick(now));
        around.watch(state);
        // A batch ends where the next frame is due, so that a flood of messages does not stop the picture.
        let until = start + next_frame.max(now + FRAME / 2);
        while let Some(input) = next {
            if let Some(end) = take(state, input, around) {
                return end;
            }
            next = if Instant::now() < until { inputs.try_recv().ok() } else { None };
        }
        if let Some(end) = listen(state, around, until) {
            return end;
        }
    }
}

fn take<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    input: Input,
    around: &mut Surroundings<C>,
) -> Option<End> {
    match input {
        Input::Msg(msg) => {
            if matches!(msg, Msg::Resize(..)) && !cfg!(test) {
                // Characters may have another size as well.
                state.set_canvas(terminal::canvas());
            }
            act(state, msg, around)
        }
        Input::Woken => {
            around.woken.store(false, Ordering::Release);
            around.has_more = true;
            None
        }
        Input::Canvas => {
            state.set_canvas(terminal::canvas());
            act(state, Msg::Resize(state.size.0, state.size.1), around)
        }
        Input::Signal(signal) => Some(End::Signal(signal)),
        Input::TerminalLost => Some(End::TerminalLost),
    }
}

/// Takes what the session has said, at least one message and as many as there is time for.
fn listen<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    around: &mut Surroundings<C>,
    until: Instant,
) -> Option<End> {
    while around.has_more {
        match around.session.as_mut().and_then(|session| session.receive()) {
            Some(said) => {
                if let Some(end) = act(state, Msg::Session(said), around) {
                    return Some(end);
                }
            }
            None => around.has_more = false,
        }
        if Instant::now() >= until {
            break;
        }
    }
    None
}

/// Changes the state and carries out what follows from it.
fn act<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    msg: Msg,
    around: &mut Surroundings<C>,
) -> Option<End> {
    for effect in update(state, msg) {
        let told = match effect {
            Effect::Send(request) => around.send(request),
            Effect::RestartSession => {
                around.start(state);
                Ok(())
            }
            Effect::Save { over } => {
                let none = || Err(NotSaved::Failed("the notebook is not open any more".into()));
                let saved = around.book.as_mut().map_or_else(none, |book| book.save(over));
                around.tell_file(state);
                // What waited for it may be to quit.
                if let Some(end) = act(state, Msg::Saved(saved), around) {
                    return Some(end);
                }
                Ok(())
            }
            Effect::SaveAs { path, over } => {
                let saved = around.save_as(path, over);
                around.tell_file(state);
                if let Some(end) = act(state, saved, around) {
                    return Some(end);
                }
                Ok(())
            }
            Effect::Compare => {
                let none = || Err("the notebook is not open any more".into());
                let compared = around.book.as_ref().map_or_else(none, Book::differences);
                say(state, Msg::Compared(compared), around);
                Ok(())
            }
            Effect::Reload => around.reload(state),
            Effect::Book(change) => around.change(state, change),
            Effect::Copy(text) if around.clipboard => terminal::copy(&text),
            Effect::Copy(_) => Ok(()),
            Effect::Remember(code) => {
                let kept = around.remember.as_mut().map_or(Ok(()), |remember| remember(&code));
                kept.map_err(|e| io::Error::new(e.kind(), format!("the history was not kept: {e}")))
            }
            Effect::Draw(job) => around.draw(*job),
            Effect::Record { step, entry } => around.record(step, entry),
            Effect::List => {
                around.list(state);
                Ok(())
            }
            Effect::CompletePath(typed) => {
                let completed = paths::complete(&typed);
                say(state, Msg::PathCompleted { typed, completed }, around);
                Ok(())
            }
            Effect::Export(what) => around.export(state, what),
            Effect::UseDevices(devices) => around.use_devices(state, &devices),
            Effect::Open(target) => around.open(state, &target),
            Effect::Quit => return Some(End::Quit),
        };
        if let Err(e) = told {
            say(state, Msg::Note(e.to_string()), around);
        }
    }
    None
}

/// Tells the state something that closes nothing; what follows from it is carried out.
fn say<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    msg: Msg,
    around: &mut Surroundings<C>,
) {
    // None of these messages ends the lab.
    let _ = act(state, msg, around);
}

fn tell<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>>(
    state: &mut State,
    notes: &[String],
    around: &mut Surroundings<C>,
) {
    for note in notes {
        say(state, Msg::Note(note.clone()), around);
    }
}

/// What the lab acts upon.
struct Surroundings<C> {
    connect: C,
    book: Option<Book>,
    /// When the notebook's file was last looked at, and whether its journal fails.
    watched: Instant,
    journal_fails: bool,
    keep: Option<Keep>,
    /// What was done while another lab has the lesson.
    unkept: Vec<(String, Entry)>,
    remember: Option<Remember>,
    clipboard: bool,
    library: Option<Box<dyn Library>>,
    /// The devices of this computer are looked for, or were found.
    looked: bool,
    inbox: SyncSender<Input>,
    session: Option<Box<dyn SessionLink>>,
    /// A [`Input::Woken`] is on its way.
    woken: Arc<AtomicBool>,
    /// The session may have said more than was taken.
    has_more: bool,
    /// Takes figures to be drawn to the thread that draws them; none before the first.
    pictures: Option<Sender<Job>>,
    /// Ends earlier sessions, so that nothing waits for them.
    undertaker: Option<JoinHandle<()>>,
}

impl<C: FnMut(Wake) -> io::Result<Box<dyn SessionLink>>> Surroundings<C> {
    fn new(connect: C, inbox: SyncSender<Input>) -> Self {
        Surroundings {
            connect,
            book: None,
            watched: Instant::now(),
            journal_fails: false,
            keep: None,
            unkept: Vec::new(),
            remember: None,
            clipboard: false,
            library: None,
            looked: false,
            inbox,
            session: None,
            woken: Arc::new(AtomicBool::new(false)),
            has_more: false,
            pictures: None,
            undertaker: None,
        }
    }

    /// Has a figure drawn on a thread of its own; the drawing comes back as a message.
    fn draw(&mut self, job: Job) -> io::Result<()> {
        if self.pictures.is_none() {
            let (jobs, waiting) = mpsc::channel::<Job>();
            let inbox = self.inbox.clone();
            let draw = move || {
                for job in waiting {
                    if inbox.send(Input::Msg(Msg::drawn(&job))).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("pictures".into()).spawn(draw)?;
            self.pictures = Some(jobs);
        }
        let jobs = self.pictures.as_ref().filter(|jobs| jobs.send(job).is_ok());
        jobs.map(|_| ()).ok_or_else(|| io::Error::other("figures cannot be drawn any more"))
    }

    /// Ends the session there is and starts a new one; where that fails, the state is told.
    fn start(&mut self, state: &mut State) {
        self.end();
        // A wake of the earlier session finds nothing; the new one has its own mark.
        let woken = Arc::new(AtomicBool::new(false));
        self.woken = Arc::clone(&woken);
        let inbox = self.inbox.clone();
        let wake: Wake = Arc::new(move || {
            if !woken.swap(true, Ordering::AcqRel) {
                // Where nobody listens any more, nobody needs to know.
                let _ = inbox.send(Input::Woken);
            }
        });
        match (self.connect)(wake) {
            Ok(session) => self.session = Some(session),
            Err(e) => {
                let reason =
                    Death { how: How::Unknown(format!("it could not be started: {e}")), log: Vec::new() };
                say(state, Msg::Session(FromSession::Died { reason }), self);
            }
        }
    }

    /// Tells the state what there is to open now that the devices are others.
    fn look_again(&mut self, state: &mut State) {
        self.looked = false;
        self.list(state);
    }

    /// Tells the state what there is to open, and at the first time looks for devices.
    fn list(&mut self, state: &mut State) {
        let Some(library) = &mut self.library else { return };
        let listing = Box::new(library.list());
        if !std::mem::replace(&mut self.looked, true) {
            let (look, inbox) = (library.devices(), self.inbox.clone());
            let looking = move || {
                // Where nobody listens any more, nobody needs to know.
                let _ = inbox.send(Input::Msg(Msg::Found(look())));
            };
            // Without the thread the screen goes on saying that it looks.
            let _ = thread::Builder::new().name("devices".into()).spawn(looking);
        }
        say(state, Msg::Listed(listing), self);
    }

    /// Has a file of what happened written on a thread of its own, or by the session.
    fn export(&mut self, state: &mut State, what: What) -> io::Result<()> {
        match record::begin(state, what) {
            Begun::Ask(request) => self.send(request),
            Begun::Nothing(why) => Err(io::Error::other(why)),
            Begun::Write(job) => {
                let inbox = self.inbox.clone();
                let write = move || {
                    // Where nobody listens any more, nobody needs to know.
                    let _ = inbox.send(Input::Msg(Msg::Note(job.run())));
                };
                thread::Builder::new().name("export".into()).spawn(write).map(drop)
            }
        }
    }

    /// Opens something in place of what was open, with a session for it.
    fn open(&mut self, state: &mut State, target: &Target) -> io::Result<()> {
        self.close_book();
        let let_go = self.let_go(target);
        let Some(library) = &mut self.library else { return Ok(()) };
        let Opened { document, book, keep, at, notes } = match library.open(target) {
            Ok(opened) => opened,
            Err(error) => {
                self.take_again(let_go);
                self.tell_file(state);
                say(state, Msg::NotOpened(target.clone()), self);
                return Err(io::Error::other(error));
            }
        };
        (self.book, self.keep, self.unkept) = (book, keep, Vec::new());
        let keeping = self.keeping();
        say(state, Msg::Opened { document, at, keeping }, self);
        let language = self.book.as_ref().and_then(Book::other_language);
        language.into_iter().for_each(|language| state.speaks(language));
        self.tell_file(state);
        self.start(state);
        tell(state, &notes, self);
        Ok(())
    }

    fn send(&mut self, request: Request) -> io::Result<()> {
        self.session.as_mut().map_or(Ok(()), |session| session.send(request))
    }

    /// Lets go of the session. Its process may take a moment to end, which is waited for elsewhere.
    fn end(&mut self) {
        let Some(session) = self.session.take() else { return };
        let name = thread::Builder::new().name("ends a session".into());
        // Where no thread can be had, the closure is dropped here, and the session with it.
        self.undertaker = name.spawn(move || drop(session)).ok();
    }

    /// What is kept by itself is written to its file; where that fails, the journal has it.
    fn close_book(&mut self) {
        if let Some(book) = self.book.as_mut().filter(|book| book.is_kept()) {
            let _ = book.save(false);
        }
    }

    /// Ends the session, and waits a moment for it to be gone.
    fn part(&mut self) {
        self.close_book();
        self.end();
        let start = Instant::now();
        while self.undertaker.as_ref().is_some_and(|thread| !thread.is_finished())
            && start.elapsed() < FAREWELL
        {
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_terminal_here(&self) -> bool {
        cfg!(test) || terminal::is_here()
    }
}

/// Reads the terminal's events on a thread of its own until it is dropped.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Reader {
    /// `asked` says that the terminal is about to answer a question of the lab's.
    fn start(inbox: SyncSender<Input>, asked: bool) -> io::Result<Reader> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let read = move || {
            let pass = |msg| inbox.send(Input::Msg(msg)).is_ok();
            // A terminal that can't be heard shows characters.
            let wanted = || !stopped.load(Ordering::Relaxed);
            if asked && terminal::answer(pass, wanted).unwrap_or(false) && inbox.send(Input::Canvas).is_err()
            {
                return;
            }
            while !stopped.load(Ordering::Relaxed) {
                let ready = crossterm::event::poll(Duration::ZERO).and_then(|ready| {
                    if ready {
                        return Ok(true);
                    }
                    terminal::wake_reader();
                    crossterm::event::poll(INPUT_POLL)
                });
                let input = match ready {
                    Ok(false) => continue,
                    Ok(true) => match crossterm::event::read() {
                        Ok(event) => Msg::from_terminal(event).map(Input::Msg),
                        Err(_) => Some(Input::TerminalLost),
                    },
                    Err(_) => Some(Input::TerminalLost),
                };
                let Some(input) = input else { continue };
                let lost = matches!(input, Input::TerminalLost);
                if inbox.send(input).is_err() || lost {
                    return;
                }
            }
        };
        Ok(Reader { thread: thread::Builder::new().name("terminal".into()).spawn(read)?, stop })
    }
}

impl Drop for Reader {
    /// Waits for the thread, so that it takes no key from who reads next; not for long, as a lost terminal may
    /// hold it.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let start = Instant::now();
        while !self.thread.is_finished() && start.elapsed() < INPUT_POLL * 3 {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

mod files;
#[cfg(test)]
mod tests;
