//! The lab on a real terminal: its input, the session's messages and signals in one channel, frames out.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::document::Document;
use super::link::{Connection, FromSession, SessionLink};
use super::msg::{Effect, Msg};
use super::state::State;
use super::terminal::{self, Screen, signals};
use super::theme::Look;
use super::update::update;
use crate::session::protocol::Request;

/// At most 60 frames a second.
const FRAME: Duration = Duration::from_micros(16_667);
/// How often what moves by itself moves.
const ANIMATION: Duration = Duration::from_millis(100);
/// How often an idle lab looks whether its terminal is still there.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long the reader of the terminal waits before it looks whether it should end.
const INPUT_POLL: Duration = Duration::from_millis(50);
/// Messages that wait to be taken; a session that says more than that waits, too.
const BACKLOG: usize = 256;
/// How long an ended session is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Writes the document to where it came from.
pub type Save = Box<dyn FnMut(&Document) -> io::Result<()>>;

pub struct LabOptions {
    pub look: Look,
    /// Ctrl-S is offered where there is one.
    pub save: Option<Save>,
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
/// `connect` starts a session, now and after each restart; the connection is past its handshake, and its first
/// message is [`Message::Ready`](crate::session::protocol::Message::Ready). The terminal is restored whatever
/// happens. An error where there is no terminal or it can't be set up.
pub fn run(
    options: LabOptions,
    document: Document,
    connect: impl FnMut() -> io::Result<Connection>,
) -> io::Result<LabExit> {
    let mut state = State::new(document, options.look);
    let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
    let mut screen = Screen::open()?;
    let (columns, rows) = screen.size()?;
    if options.save.is_some() {
        state.allow_saving();
    }
    update(&mut state, Msg::Resize(columns, rows));
    let teller = inbox.clone();
    let _watch = signals::Watch::new(move |signal| {
        // Where nobody listens any more the lab is closing already.
        let _ = teller.send(Input::Signal(signal));
    })?;
    let reader = Reader::start(inbox.clone())?;
    let mut around = Surroundings { connect, save: options.save, inbox, session: None, generation: 0 };
    let end = drive(&mut state, &inputs, &mut around, &mut |state| screen.draw(state));
    // Whoever still sends must not wait for a lab that is closed.
    drop(inputs);
    drop(reader);
    around.part();
    drop(screen);
    Ok(LabExit { document: state.document(), unsaved: state.unsaved(), end })
}

/// What arrives in the one channel.
enum Input {
    Msg(Msg),
    /// From the session of this generation; that of an earlier one is too late.
    Session(u64, FromSession),
    Signal(i32),
    TerminalLost,
}

/// Takes inputs and draws until the lab is closed.
fn drive<C: FnMut() -> io::Result<Connection>>(
    state: &mut State,
    inputs: &Receiver<Input>,
    around: &mut Surroundings<C>,
    draw: &mut dyn FnMut(&State) -> io::Result<()>,
) -> End {
    let start = Instant::now();
    let mut drawn = None;
    let mut next_frame = Duration::ZERO;
    around.start(state);
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
        let wait = match (dirty, state.is_animated()) {
            (true, _) => next_frame.saturating_sub(now),
            (false, true) => ANIMATION,
            (false, false) => HEARTBEAT,
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
        // A batch ends where the next frame is due, so that a flood of messages does not stop the picture.
        let until = start + next_frame.max(now + FRAME / 2);
        while let Some(input) = next {
            if let Some(end) = take(state, input, around) {
                return end;
            }
            next = if Instant::now() < until { inputs.try_recv().ok() } else { None };
        }
    }
}

fn take<C: FnMut() -> io::Result<Connection>>(
    state: &mut State,
    input: Input,
    around: &mut Surroundings<C>,
) -> Option<End> {
    let msg = match input {
        Input::Msg(msg) => msg,
        Input::Session(generation, _) if generation != around.generation => return None,
        Input::Session(_, message) => Msg::Session(message),
        Input::Signal(signal) => return Some(End::Signal(signal)),
        Input::TerminalLost => return Some(End::TerminalLost),
    };
    for effect in update(state, msg) {
        match effect {
            Effect::Send(request) => around.send(request),
            Effect::RestartSession => around.start(state),
            Effect::Save => {
                if let Some(save) = &mut around.save {
                    let saved = save(&state.document()).map_err(|e| e.to_string());
                    update(state, Msg::Saved(saved));
                }
            }
            Effect::Quit => return Some(End::Quit),
        }
    }
    None
}

/// What the lab acts upon.
struct Surroundings<C> {
    connect: C,
    save: Option<Save>,
    inbox: SyncSender<Input>,
    session: Option<Outgoing>,
    generation: u64,
}

/// The way to a session: a thread of its own, as a session may be slow to take a request.
struct Outgoing {
    requests: mpsc::Sender<Request>,
    thread: JoinHandle<()>,
}

impl<C: FnMut() -> io::Result<Connection>> Surroundings<C> {
    /// Ends the session there is and starts a new one; where that fails, the state is told.
    fn start(&mut self, state: &mut State) {
        self.session = None;
        self.generation += 1;
        let generation = self.generation;
        let started = (self.connect)().and_then(|(link, messages)| {
            forward(messages, self.inbox.clone(), generation)?;
            send_from_thread(link, self.inbox.clone(), generation)
        });
        match started {
            Ok(outgoing) => self.session = Some(outgoing),
            Err(e) => {
                let reason = format!("it could not be started: {e}");
                update(state, Msg::Session(FromSession::Died { reason }));
            }
        }
    }

    fn send(&mut self, request: Request) {
        if let Some(session) = &self.session {
            // Where the thread has ended, the session's death is already on its way.
            let _ = session.requests.send(request);
        }
    }

    /// Ends the session, and waits a moment for it to be gone.
    fn part(&mut self) {
        let Some(Outgoing { requests, thread }) = self.session.take() else { return };
        drop(requests);
        let start = Instant::now();
        while !thread.is_finished() && start.elapsed() < FAREWELL {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn is_terminal_here(&self) -> bool {
        cfg!(test) || terminal::is_here()
    }
}

fn forward(messages: Receiver<FromSession>, inbox: SyncSender<Input>, generation: u64) -> io::Result<()> {
    let pass = move || {
        let mut died = false;
        for message in messages {
            died |= matches!(message, FromSession::Died { .. });
            if inbox.send(Input::Session(generation, message)).is_err() {
                return;
            }
        }
        if !died {
            let reason = "it closed its connection".into();
            // Where nobody listens any more, nobody needs to know.
            let _ = inbox.send(Input::Session(generation, FromSession::Died { reason }));
        }
    };
    thread::Builder::new().name("from session".into()).spawn(pass).map(|_| ())
}

fn send_from_thread(
    mut link: Box<dyn SessionLink>,
    inbox: SyncSender<Input>,
    generation: u64,
) -> io::Result<Outgoing> {
    let (requests, queue) = mpsc::channel::<Request>();
    let pass = move || {
        for request in queue {
            if let Err(e) = link.send(request) {
                let reason = format!("it takes no requests any more: {e}");
                let _ = inbox.send(Input::Session(generation, FromSession::Died { reason }));
                return;
            }
        }
        // The lab closed or restarted the session; dropping the link ends it even if it does not listen.
        let _ = link.send(Request::Shutdown);
    };
    let thread = thread::Builder::new().name("to session".into()).spawn(pass)?;
    Ok(Outgoing { requests, thread })
}

/// Reads the terminal's events on a thread of its own until it is dropped.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(inbox: SyncSender<Input>) -> io::Result<Reader> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let read = move || {
            while !stopped.load(Ordering::Relaxed) {
                let input = match crossterm::event::poll(INPUT_POLL) {
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;
    use crate::lab::theme::Colour;
    use crate::session::protocol::{Message, Outcome, Usage, VERSION};

    /// A session that answers every evaluation with the code's length, and dies of `die`.
    struct Echo(mpsc::Sender<FromSession>, Arc<Mutex<Vec<Request>>>);

    impl SessionLink for Echo {
        fn send(&mut self, request: Request) -> io::Result<()> {
            self.1.lock().unwrap().push(request.clone());
            if let Request::Evaluate { id, cell, code, .. } = request {
                if code == "die" {
                    return Err(io::Error::other("broken pipe"));
                }
                let outcome = Outcome::Ok { value: Some(code.len().to_string()) };
                let message = Message::Finished { id, cell, outcome, usage: Usage::default() };
                let _ = self.0.send(FromSession::Message(message));
            }
            Ok(())
        }
    }

    fn ready() -> FromSession {
        FromSession::Message(Message::Ready {
            version: VERSION,
            pid: 1,
            devices: vec![],
            protections: vec![],
        })
    }

    fn key(code: KeyCode) -> Input {
        Input::Msg(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// Runs the loop over a script: each entry waits until the screen shows its text, then sends its inputs.
    fn play(document: Document, script: Vec<(&'static str, Vec<Input>)>) -> (State, End, Vec<Request>, u32) {
        let (inbox, inputs) = mpsc::sync_channel(BACKLOG);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&sent);
        let connect = move || {
            let (to_lab, messages) = mpsc::channel();
            to_lab.send(ready()).unwrap();
            Ok::<_, io::Error>((
                Box::new(Echo(to_lab, Arc::clone(&requests))) as Box<dyn SessionLink>,
                messages,
            ))
        };
        let look = Look { colour: Colour::None, light: false, ascii: false };
        let mut state = State::new(document, look);
        update(&mut state, Msg::Resize(100, 30));
        let mut around =
            Surroundings { connect, save: None, inbox: inbox.clone(), session: None, generation: 0 };
        let mut script = script.into_iter().peekable();
        let mut frames = 0;
        let end = drive(&mut state, &inputs, &mut around, &mut |state| {
            frames += 1;
            let shown = crate::lab::render_to_string(state, 100, 30);
            while script.peek().is_some_and(|(text, _)| shown.contains(text)) {
                for input in script.next().unwrap().1 {
                    inbox.send(input).unwrap();
                }
            }
            assert!(frames < 1000, "never came: {:?} in\n{shown}", script.peek().map(|s| s.0));
            Ok(())
        });
        around.part();
        let sent = sent.lock().unwrap().clone();
        (state, end, sent, frames)
    }

    #[test]
    fn a_cell_runs_in_the_session_and_the_lab_quits() {
        let document = Document::notebook("n", ["1 + 1".to_owned()]);
        let script = vec![("ready", vec![key(KeyCode::F(5))]), ("= 5", vec![key(KeyCode::Char('q'))])];
        let (_, end, sent, _) = play(document, script);
        assert_eq!(end, End::Quit);
        assert!(matches!(sent.first(), Some(Request::Evaluate { cell: 1, code, .. }) if code == "1 + 1"));
        assert_eq!(sent.last(), Some(&Request::Shutdown));
    }

    #[test]
    fn a_death_keeps_the_text_and_a_restart_brings_a_new_session() {
        let document = Document::notebook("n", ["die".to_owned(), "ok".to_owned()]);
        let script = vec![
            ("ready", vec![key(KeyCode::F(5))]),
            ("broken pipe", vec![key(KeyCode::Char('r'))]),
            ("session ready", vec![key(KeyCode::Down), key(KeyCode::F(5))]),
            ("= 2", vec![Input::Signal(15)]),
        ];
        let (state, end, _, _) = play(document.clone(), script);
        assert_eq!(end, End::Signal(15));
        assert_eq!(state.document(), document);
    }

    #[test]
    fn nothing_is_drawn_while_nothing_changes_and_a_flood_is_batched() {
        let document = Document::notebook("n", ["x".to_owned()]);
        let mut flood: Vec<Input> = (0..200).map(|_| key(KeyCode::F(2))).collect();
        flood.push(key(KeyCode::Char('q')));
        let (_, _, _, frames) = play(document, vec![("ready", flood)]);
        assert!(frames < 20, "{frames} frames for one flood");
    }
}
