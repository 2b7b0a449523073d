//! The front end's side of a session: starts the child process, sends it requests, receives what it says.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use crate::base::text::strip_control;

use super::death::{Death, How};
use super::protocol::{self, Message, Request, VERSION};

/// Messages that wait for the front end; when it is further behind, the session waits.
const WAITING: usize = 256;
/// Requests that wait for the session.
const REQUESTS: usize = 1024;
/// A killed process is waited for so long before the front end goes on without it.
const REAP: Duration = Duration::from_millis(500);
/// A process that closed its output gets so long to exit by itself.
const EXIT: Duration = Duration::from_millis(1000);
/// Lines kept of the session's standard error, and bytes of each.
const LOG_LINES: usize = 20;
const LOG_BYTES: u64 = 1000;

/// What a front end receives.
#[derive(Clone, PartialEq, Debug)]
pub enum FromSession {
    Message(Message),
    /// The last one: the process has ended, and all it said came before.
    Died {
        reason: Death,
    },
}

/// Why a request was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// The session has ended.
    Ended,
    /// The session takes no requests, and many wait.
    Stuck,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Ended => "the session has ended; restart it",
            SendError::Stuck => "the session takes no requests; restart it",
        })
    }
}

impl std::error::Error for SendError {}

/// Called after something new can be received, on another thread; must be quick.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// A session in a child process. Dropping it ends the process and waits for it, half a second at most.
///
/// The process ends as well when this one does, however that ends: it sees its input close.
pub struct Client {
    command: Command,
    wake: Wake,
    link: ProcessLink,
}

impl Client {
    /// Starts a session with a command that serves one on its standard streams, and greets it.
    /// The answer, [`Message::Ready`] or [`Message::Refused`], is received as any other.
    ///
    /// # Errors
    /// The program can't be started.
    pub fn spawn(command: Command) -> io::Result<Client> {
        Client::spawn_with(command, Arc::new(|| ()))
    }

    /// As [`Client::spawn`], with something to call whenever there is something to receive.
    ///
    /// # Errors
    /// The program can't be started.
    pub fn spawn_with(command: Command, wake: Wake) -> io::Result<Client> {
        let mut command = piped(command);
        let link = ProcessLink::open(&mut command, &wake)?;
        Ok(Client { command, wake, link })
    }

    /// Hands a request over; never blocks.
    ///
    /// # Errors
    /// The session has ended, or takes nothing.
    pub fn send(&self, request: Request) -> Result<(), SendError> {
        if self.link.shared.ended.load(Ordering::Acquire) {
            return Err(SendError::Ended);
        }
        if request == Request::Shutdown {
            self.link.shared.asked.store(true, Ordering::Release);
        }
        self.link.requests.try_send(request).map_err(|e| match e {
            TrySendError::Full(_) => SendError::Stuck,
            TrySendError::Disconnected(_) => SendError::Ended,
        })
    }

    /// Asks the running evaluation to stop and the waiting ones not to begin. Where nothing answers within a
    /// while, only [`Client::restart`] or [`Client::kill`] help.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn interrupt(&self) -> Result<(), SendError> {
        self.send(Request::Interrupt)
    }

    /// What the session says, in order; [`FromSession::Died`] is the last. After a restart this is another
    /// receiver, so nothing of the earlier session is taken for the new one's.
    pub fn events(&self) -> &Receiver<FromSession> {
        &self.link.events
    }

    /// Kills the session if it still runs, and starts another with the same command.
    ///
    /// # Errors
    /// The program can't be started; the client then stays without a session, and may be restarted again.
    pub fn restart(&mut self) -> io::Result<()> {
        self.link.end();
        self.link = ProcessLink::open(&mut self.command, &self.wake)?;
        Ok(())
    }

    /// The same, with another command from now on.
    ///
    /// # Errors
    /// As [`Client::restart`].
    pub fn restart_with(&mut self, command: Command) -> io::Result<()> {
        self.command = piped(command);
        self.restart()
    }

    /// Kills the session. What it said before is still received, and its end as asked for.
    pub fn kill(&self) {
        self.link.shared.kill();
    }

    /// Lets the session answer all that waits and end, and kills it if it takes longer than `grace`.
    /// Nothing where it had to be killed.
    pub fn shut_down(self, grace: Duration) -> Option<Death> {
        let start = Instant::now();
        self.send(Request::Shutdown).ok()?;
        loop {
            match self.events().recv_timeout(grace.saturating_sub(start.elapsed())) {
                Ok(FromSession::Died { reason }) => return Some(reason),
                Ok(FromSession::Message(_)) => {}
                Err(_) => return None,
            }
        }
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.link.pid
    }
}

/// A command whose standard streams are the client's.
fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A Ctrl-C on the terminal is the front end's to handle.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// The connection to one process.
struct ProcessLink {
    pid: u32,
    requests: SyncSender<Request>,
    events: Receiver<FromSession>,
    shared: Arc<SharedChild>,
}

struct SharedChild {
    child: Mutex<Child>,
    /// Its end was asked for.
    asked: AtomicBool,
    ended: AtomicBool,
}

impl ProcessLink {
    fn open(command: &mut Command, wake: &Wake) -> io::Result<ProcessLink> {
        let mut child = command.spawn()?;
        let pid = child.id();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let shared = Arc::new(SharedChild {
            child: Mutex::new(child),
            asked: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let (requests, outgoing) = mpsc::sync_channel(REQUESTS);
        let (incoming, events) = mpsc::sync_channel(WAITING);
        let link = ProcessLink { pid, requests, events, shared };
        // From here on, dropping the link ends the process.
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("the session's process has no pipes"));
        };
        let _ = link.requests.try_send(Request::Hello { version: VERSION });
        let inbox = Inbox { incoming, wake: Arc::clone(wake) };
        Builder::new().name("session-requests".into()).spawn({
            let inbox = inbox.clone();
            move || write_requests(input, &outgoing, &inbox)
        })?;
        let log = Log::start(errors)?;
        let shared = Arc::clone(&link.shared);
        Builder::new()
            .name("session-messages".into())
            .spawn(move || receive(output, &inbox, &shared, &log))?;
        Ok(link)
    }

    /// Kills the process and waits for it, for a while.
    fn end(&self) {
        self.shared.kill();
        self.shared.wait(Some(REAP));
    }
}

impl Drop for ProcessLink {
    fn drop(&mut self) {
        self.end();
    }
}

impl SharedChild {
    fn kill(&self) {
        self.asked.store(true, Ordering::Release);
        self.stop();
    }

    fn stop(&self) {
        // An error says that it has ended already.
        let _ = self.child().kill();
    }

    /// Waits for the process without holding it, so that it can be killed meanwhile.
    fn wait(&self, patience: Option<Duration>) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let status = self.child().try_wait();
            match status {
                Ok(Some(status)) => return Some(status),
                Ok(None) if patience.is_none_or(|p| start.elapsed() < p) => {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[derive(Clone)]
struct Inbox {
    incoming: SyncSender<FromSession>,
    wake: Wake,
}

impl Inbox {
    /// Waits for room; false when nobody receives any more.
    fn put(&self, item: FromSession) -> bool {
        let taken = self.incoming.send(item).is_ok();
        if taken {
            (self.wake)();
        }
        taken
    }
}

fn write_requests(mut input: ChildStdin, outgoing: &Receiver<Request>, inbox: &Inbox) {
    for request in outgoing {
        match protocol::write(&mut input, &request) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let reason = format!("the request was not sent: {error}");
                inbox.put(FromSession::Message(Message::Refused { id: request.id(), reason }));
            }
            // The process has ended; the thread that receives says so.
            Err(_) => return,
        }
    }
}

fn receive(output: ChildStdout, inbox: &Inbox, shared: &SharedChild, log: &Log) {
    let mut output = BufReader::with_capacity(256 << 10, output);
    let garbled = loop {
        match protocol::read_message(&mut output) {
            Ok(Some(message)) => {
                if !inbox.put(FromSession::Message(message)) {
                    break None;
                }
            }
            Ok(None) => break None,
            // Cut off in the middle of a message.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    let reason = bury(shared, log, garbled);
    shared.ended.store(true, Ordering::Release);
    inbox.put(FromSession::Died { reason });
}

/// Waits for the end of a process that has said its last, or brings it about.
fn bury(shared: &SharedChild, log: &Log, garbled: Option<String>) -> Death {
    let patience = if garbled.is_some() { Duration::ZERO } else { EXIT };
    let status = shared.wait(Some(patience)).or_else(|| {
        shared.stop();
        shared.wait(None)
    });
    let log = log.last_lines();
    let death = match status {
        Some(status) => Death::of(status, log),
        None => Death { how: How::Unknown("its status is not known".into()), log },
    };
    match garbled {
        _ if shared.asked.load(Ordering::Acquire) && death.is_plain() => Death { how: How::Asked, ..death },
        Some(what) => Death { how: How::Garbled(strip_control(&what).into_owned()), ..death },
        None => death,
    }
}

/// Gathers the end of what a process writes to standard error.
struct Log {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Closed when all has been read.
    whole: Receiver<()>,
}

impl Log {
    fn start(errors: ChildStderr) -> io::Result<Log> {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (done, whole) = mpsc::channel();
        let kept = Arc::clone(&lines);
        Builder::new().name("session-errors".into()).spawn(move || {
            let _done: mpsc::Sender<()> = done;
            let mut errors = BufReader::new(errors);
            while let Ok(Some(line)) = next_line(&mut errors) {
                let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
                if kept.len() >= LOG_LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        })?;
        Ok(Log { lines, whole })
    }

    /// The last lines, all of them unless another process keeps the pipe open.
    fn last_lines(&self) -> Vec<String> {
        let _ = self.whole.recv_timeout(Duration::from_millis(200));
        self.lines.lock().unwrap_or_else(|e| e.into_inner()).iter().cloned().collect()
    }
}

/// The next line that is not blank, or a part of a long one.
fn next_line(errors: &mut impl BufRead) -> io::Result<Option<String>> {
    loop {
        let mut bytes = Vec::new();
        if errors.by_ref().take(LOG_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        let line = strip_control(text.trim_end());
        if !line.is_empty() {
            return Ok(Some(line.into_owned()));
        }
    }
}
