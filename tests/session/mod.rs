//! A session in a real child process: what it answers, what it survives, and what is told when it doesn't.

mod deaths;
mod fake;
mod front_ends;
mod page;
mod scratch;
mod talk;

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fake::Fake;
use tensorlab::session::client::{Client, FromSession, SendError};
use tensorlab::session::death::{Death, How};
use tensorlab::session::host;
use tensorlab::session::limits::RunLimits;
use tensorlab::session::protocol::{
    self, Display, Message, Outcome, ProbeValue, Request, Usage, VERSION, Verdict,
};
use tensorlab::session::sandbox::{self, Limits};

const ROLE: &str = "TENSORLAB_TEST_ROLE";
const PATIENCE: Duration = Duration::from_secs(20);

/// The child of the other tests: this binary runs itself with a role.
#[test]
#[ignore = "the child process of the tests of this module"]
fn child() {
    let limits = |bytes| Limits { address_space: bytes, ..Limits::default() };
    let ending = match std::env::var(ROLE).as_deref() {
        Ok("session") => serve(limits(None)),
        Ok("small session") => serve(limits(Some(2 << 30))),
        Ok("stdio session") => host::serve_stdio(&limits(None), RunLimits::default(), || Ok(Fake::default())),
        Ok("no session") => host::serve(std::io::stdin(), protocol_pipe(), RunLimits::default(), || {
            Err::<Fake, String>("there is no device cuda:9".into())
        }),
        Ok("front end") => {
            let client = ready("session");
            client.send(evaluate(1, "deaf")).unwrap();
            println!("session {}", client.pid());
            std::thread::sleep(PATIENCE);
            return;
        }
        _ => return,
    };
    std::process::exit(ending.unwrap().code());
}

fn serve(limits: Limits) -> std::io::Result<host::Ending> {
    sandbox::apply(&limits)?;
    host::serve(std::io::stdin(), protocol_pipe(), RunLimits::default(), || Ok(Fake::default()))
}

/// The test harness talks on standard output, so the protocol has a pipe of its own.
fn protocol_pipe() -> File {
    File::options().write(true).open("/dev/fd/3").unwrap()
}

fn command(role: &str) -> Command {
    let mut command = Command::new("sh");
    // Deaths are told by what a process says last, not by a trace of the runner's wishes.
    command.env_remove("RUST_BACKTRACE");
    command.args(["-c", r#"exec "$0" "$@" 3>&1 1>&2"#]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "session::child", "--ignored", "--nocapture"]).env(ROLE, role);
    command
}

/// A session that has said it is ready.
fn ready(role: &str) -> Client {
    let client = Client::spawn(command(role)).unwrap();
    match next(&client) {
        Message::Ready { version: VERSION, pid, .. } => assert_eq!(pid, client.pid()),
        other => panic!("{other:?}"),
    }
    client
}

fn evaluate(id: u64, code: &str) -> Request {
    Request::Evaluate {
        id,
        cell: id as u32,
        code: code.into(),
        first_line: 1,
        given: Default::default(),
        answer: false,
    }
}

fn receive(client: &Client) -> FromSession {
    client.events().recv_timeout(PATIENCE).expect("a session that says nothing")
}

fn next(client: &Client) -> Message {
    match receive(client) {
        FromSession::Message(message) => message,
        FromSession::Died { reason } => panic!("{reason}: {:#?}", reason.log),
    }
}

/// All messages up to the end of evaluation `id`, and how it ended.
fn finished(client: &Client, id: u64) -> (Vec<Message>, Outcome, Usage) {
    let mut before = Vec::new();
    loop {
        match next(client) {
            Message::Finished { id: of, outcome, usage, .. } if of == id => return (before, outcome, *usage),
            message => before.push(message),
        }
    }
}

/// All messages up to the death, and its reason.
fn died(client: &Client) -> (Vec<Message>, Death) {
    let mut before = Vec::new();
    loop {
        match receive(client) {
            FromSession::Message(message) => before.push(message),
            FromSession::Died { reason } => return (before, reason),
        }
    }
}

fn printed(messages: &[Message]) -> String {
    let text = |m: &Message| match m {
        Message::Output { text, .. } => text.clone(),
        _ => String::new(),
    };
    messages.iter().map(text).collect()
}

fn variables(client: &Client) -> Vec<String> {
    client.send(Request::Inspect { id: 99 }).unwrap();
    loop {
        if let Message::State { id: 99, variables, .. } = next(client) {
            return variables.into_iter().map(|v| v.name).collect();
        }
    }
}

fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
}

/// Whether a process runs; one that has ended and is not yet waited for does not.
fn runs(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        return stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'));
    }
    Command::new("sh").args(["-c", &format!("kill -0 {pid} 2>&-")]).status().unwrap().success()
}
