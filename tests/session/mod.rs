//! A session in a real child process: what it answers, what it survives, and what is told when it doesn't.

mod fake;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake::Fake;
use tensorlab::session::client::{Client, FromSession, SendError};
use tensorlab::session::death::{Death, How};
use tensorlab::session::host;
use tensorlab::session::protocol::{self, Message, Outcome, ProbeValue, Request, Usage, VERSION, Verdict};
use tensorlab::session::sandbox::{self, Limits};

const ROLE: &str = "TENSORLAB_TEST_ROLE";
const PATIENCE: Duration = Duration::from_secs(20);

/// The child of the other tests: this binary runs itself with a role.
#[test]
#[ignore = "the child process of the tests of this module"]
fn child() {
    let limits = |bytes| Limits { address_space: bytes, processes: None };
    let ending = match std::env::var(ROLE).as_deref() {
        Ok("session") => serve(limits(None)),
        Ok("small session") => serve(limits(Some(2 << 30))),
        Ok("stdio session") => host::serve_stdio(&limits(None), || Ok(Fake::default())),
        Ok("no session") => host::serve(std::io::stdin(), protocol_pipe(), || {
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
    host::serve(std::io::stdin(), protocol_pipe(), || Ok(Fake::default()))
}

/// The test harness talks on standard output, so the protocol has a pipe of its own.
fn protocol_pipe() -> File {
    File::options().write(true).open("/dev/fd/3").unwrap()
}

fn command(role: &str) -> Command {
    let mut command = Command::new("sh");
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
    Request::Evaluate { id, cell: id as u32, code: code.into(), first_line: 1 }
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
            Message::Finished { id: of, outcome, usage, .. } if of == id => return (before, outcome, usage),
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

#[test]
fn every_request_is_answered() {
    let client = ready("session");
    client.send(evaluate(1, "set x\nprint hello\ntable\nprogress 5\nvalue 42")).unwrap();
    let (before, outcome, usage) = finished(&client, 1);
    assert!(matches!(before.first(), Some(Message::Started { id: 1, cell: 1 })), "{before:?}");
    assert_eq!(printed(&before), "hello\n");
    assert!(before.iter().any(|m| matches!(m, Message::Display { id: 1, .. })));
    assert!(before.iter().any(|m| matches!(m, Message::Progress { done: 5, total: Some(5), .. })));
    assert_eq!(outcome, Outcome::Ok { value: Some("42".into()) });
    assert!(usage.host_nanos > 0 && usage.modelled_nanos == Some(7));
    client.send(Request::Evaluate { id: 2, cell: 2, code: "set y\nbogus".into(), first_line: 11 }).unwrap();
    assert!(matches!(finished(&client, 2).1, Outcome::Error { fault } if fault.line == Some(12)));
    assert_eq!(variables(&client), ["x", "y"], "what was set before a fault stays");

    client.send(Request::Check { id: 3, of: 1, code: "x".into(), first_line: 1 }).unwrap();
    assert!(matches!(next(&client), Message::Output { id: 3, .. }));
    assert_eq!(next(&client), Message::CheckResult { id: 3, verdict: Verdict::Pass });
    for (id, expression, value) in [
        (4, "2.5", Some(ProbeValue::Number(2.5))),
        (5, "inf", Some(ProbeValue::Text("inf".into()))),
        (6, "two", None),
    ] {
        client.send(Request::Probe { id, of: 1, expression: expression.into() }).unwrap();
        assert!(
            matches!(next(&client), Message::Probed { id: i, value: v } if i == id && v.clone().ok() == value)
        );
    }
    for (id, cursor, seen) in [(7, 2, "a"), (8, 3, "aé"), (9, usize::MAX, "aéb")] {
        client.send(Request::Complete { id, code: "aéb".into(), cursor }).unwrap();
        assert!(matches!(next(&client), Message::Completions { items, .. } if items[0].text == seen));
    }
    client.send(Request::Help { id: 10, name: "relu".into() }).unwrap();
    assert!(matches!(next(&client), Message::HelpText { id: 10, text: Some(_), .. }));
    client.send(Request::Reset { id: 11 }).unwrap();
    assert!(matches!(next(&client), Message::State { id: 11, variables, .. } if variables.is_empty()));
    let death = client.shut_down(PATIENCE).expect("it ends by itself");
    assert_eq!(death.how, How::Asked);
}

#[test]
fn the_limits_of_the_process_are_told() {
    let client = Client::spawn(command("small session")).unwrap();
    let Message::Ready { protections, .. } = next(&client) else { panic!("not ready") };
    for held in ["no core dumps", "at most 2048 MiB of address space"] {
        assert!(protections.iter().any(|p| p == held), "{held} in {protections:?}");
    }
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", client.pid())).unwrap_or_default();
    let lines = |name: &str| limits.lines().filter(|l| l.starts_with(name)).collect::<String>();
    if !limits.is_empty() {
        assert!(lines("Max address space").contains("2147483648"), "{limits}");
        assert_eq!(lines("Max core file size").split_whitespace().nth(4), Some("0"), "{limits}");
    }
    client.send(evaluate(1, "print before\nallocate 4000000000")).unwrap();
    let (before, death) = died(&client);
    assert_eq!(printed(&before), "before\n");
    assert!(death.to_string().contains("ran out of memory"), "{death}: {:?}", death.log);
}

#[test]
fn an_interrupt_answers_at_once_clears_the_queue_and_keeps_the_variables() {
    let client = ready("session");
    let mut fastest = Duration::MAX;
    for round in 0..3 {
        let id = round * 10;
        client.send(evaluate(id, "set kept\nspin")).unwrap();
        while !matches!(next(&client), Message::Started { .. }) {}
        client.send(evaluate(id + 1, "set never")).unwrap();
        client.send(Request::Check { id: id + 2, of: 1, code: "x".into(), first_line: 1 }).unwrap();
        let start = Instant::now();
        client.interrupt().unwrap();
        assert_eq!(finished(&client, id).1, Outcome::Interrupted);
        fastest = fastest.min(start.elapsed());
        let (before, outcome, _) = finished(&client, id + 1);
        assert_eq!((before.len(), outcome), (0, Outcome::Interrupted), "it never started");
        assert!(matches!(next(&client), Message::Refused { id: Some(i), .. } if i == id + 2));
    }
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
    client.interrupt().unwrap();
    client.send(evaluate(40, "value fine")).unwrap();
    assert_eq!(finished(&client, 40).1, Outcome::Ok { value: Some("fine".into()) }, "nothing ran then");
    assert_eq!(variables(&client), ["kept", "kept", "kept"]);
}

#[test]
fn an_interrupt_stops_a_cell_that_floods_the_screen() {
    let client = ready("session");
    client.send(evaluate(1, "chatter")).unwrap();
    while !matches!(next(&client), Message::Output { .. }) {}
    // The front end falls behind, and the session waits for it.
    std::thread::sleep(Duration::from_millis(200));
    client.interrupt().unwrap();
    let (before, outcome, _) = finished(&client, 1);
    assert_eq!(outcome, Outcome::Interrupted);
    assert!(printed(&before).len() < 64 << 20, "it ran ahead of the front end");
}

#[test]
fn a_killed_session_is_reported_and_what_it_said_is_kept() {
    let client = ready("session");
    client.send(evaluate(1, "lines 1000\nset x\nspin")).unwrap();
    let mut text = String::new();
    while !text.ends_with("line 999\n") {
        text.push_str(&printed(&[next(&client)]));
    }
    client.send(evaluate(2, "print more")).unwrap();
    signal("KILL", client.pid());
    let (_, death) = died(&client);
    assert_eq!(death.how, How::Signal(9));
    assert!(death.to_string().contains("SIGKILL") && death.to_string().contains("memory"), "{death}");
    assert!(text.starts_with("line 0\nline 1\n") && text.lines().count() == 1000);
    assert_eq!(client.send(Request::Interrupt), Err(SendError::Ended));
}

#[test]
fn nothing_said_before_a_death_is_lost() {
    let client = ready("session");
    client.send(evaluate(1, "bytes 3000000\nemit 2000\nvalue done")).unwrap();
    client.send(evaluate(2, "abort")).unwrap();
    // The front end looks only after it is over.
    wait_until("its death", PATIENCE, || !runs(client.pid()));
    let (before, death) = died(&client);
    assert_eq!(printed(&before).len(), 3_000_000);
    let Some(Message::Started { id: 2, .. }) = before.last() else { panic!("{:?}", before.last()) };
    assert_eq!(death.how, How::Signal(6));
}

#[test]
fn each_death_has_its_reason() {
    for (code, words) in [
        ("overflow", "ran out of stack: a recursion is too deep (SIGABRT)"),
        ("abort", "aborted after a fault in native code (SIGABRT)"),
        ("panic", "failed inside"),
        ("exit 3", "ended with exit status 3"),
        ("exit 0", "ended by itself"),
    ] {
        let client = ready("session");
        client.send(evaluate(1, code)).unwrap();
        let (before, death) = died(&client);
        assert!(death.to_string().contains(words), "{code}: {death}: {:#?}", death.log);
        assert!(matches!(before.first(), Some(Message::Started { id: 1, .. })), "{code}: {before:?}");
        assert!(!death.is_expected());
        if code == "panic" {
            assert!(death.log.iter().any(|l| l.contains("was told to panic")), "{:#?}", death.log);
        }
    }
    let client = ready("session");
    signal("ILL", client.pid());
    assert!(died(&client).1.to_string().contains("a fault in native code (SIGILL)"));
}

#[test]
fn a_restart_gives_a_fresh_session() {
    let mut client = ready("session");
    client.send(evaluate(1, "set old\nlines 1000\ndeaf")).unwrap();
    let old = client.pid();
    client.restart().unwrap();
    assert!(!runs(old));
    assert!(matches!(next(&client), Message::Ready { .. }), "nothing of the old one is received");
    assert!(client.pid() != old && variables(&client).is_empty());
    client.kill();
    assert_eq!(died(&client).1.how, How::Asked);
    client.restart().unwrap();
    assert!(matches!(next(&client), Message::Ready { .. }), "a dead one can be restarted");
}

#[test]
fn two_sessions_share_nothing() {
    let (a, b) = (ready("session"), ready("session"));
    a.send(evaluate(1, "set a\nspin")).unwrap();
    b.send(evaluate(1, "set b")).unwrap();
    assert_eq!(finished(&b, 1).1, Outcome::Ok { value: None });
    assert_eq!(variables(&b), ["b"]);
    a.interrupt().unwrap();
    assert_eq!(finished(&a, 1).1, Outcome::Interrupted);
    assert_eq!(variables(&a), ["a"]);
    drop(a);
    assert_eq!(variables(&b), ["b"]);
}

#[test]
fn events_come_in_batches_and_in_order_or_are_counted_as_dropped() {
    const EVENTS: u64 = 100_000;
    let client = ready("session");
    client.send(evaluate(1, &format!("emit {EVENTS}"))).unwrap();
    let (before, _, usage) = finished(&client, 1);
    let (mut at, mut batches, mut received) = (0, 0, 0);
    for message in &before {
        let Message::Telemetry { events, dropped } = message else { continue };
        at += dropped;
        for event in events {
            assert_eq!(event.seq, at, "a gap that is not counted");
            assert_eq!((event.source.cell, event.source.line as u64), (1, at));
            at += 1;
        }
        batches += 1;
        received += events.len();
    }
    assert_eq!(at, EVENTS, "all of them come before the end of the cell, or are counted");
    assert!(received >= 32_768, "the newest are kept: {received}");
    assert!(batches <= received / 100, "{batches} messages for {received} events");
    let each = usage.host_nanos / EVENTS;
    println!("{received} of {EVENTS} events in {batches} messages, {each} ns each for the evaluation");
    assert!(each < 5_000, "{each} ns an event");
}

#[test]
fn listening_costs_the_evaluation_little() {
    let client = ready("session");
    client.send(evaluate(1, "cost 100")).unwrap();
    let Outcome::Ok { value: Some(nanos) } = finished(&client, 1).1 else { panic!("no cost") };
    println!("{nanos} ns for building, emitting and queueing an event");
    assert!(nanos.parse::<u64>().unwrap() < 1_000, "{nanos} ns an event");
}

#[test]
fn ten_megabytes_of_output_arrive_whole() {
    let client = ready("session");
    client.send(evaluate(1, "bytes 10000000\nlines 100000\ndirty")).unwrap();
    let (before, outcome, _) = finished(&client, 1);
    assert_eq!(outcome, Outcome::Ok { value: None });
    let text = printed(&before);
    let (wide, rest) = text.split_at(10_000_000);
    assert!(wide.chars().all(|c| c == 'é'));
    let lines = rest.strip_suffix(fake::DIRTY).expect("odd text arrives as it is");
    assert!(lines.lines().enumerate().all(|(i, line)| line == format!("line {i}")));
    assert_eq!(lines.lines().count(), 100_000);
    assert!(before.len() < 10_000, "{} messages", before.len());
}

#[test]
fn a_front_end_that_is_behind_costs_the_session_no_memory() {
    let client = ready("session");
    client.send(evaluate(1, "bytes 80000000\nvalue done")).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap_or_default();
    let resident = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap_or("0 kB").trim();
    let kilobytes: u64 = resident.trim_end_matches(" kB").parse().unwrap();
    // 80 MB are the script's own text.
    assert!(kilobytes < 110_000, "{kilobytes} kB resident");
    assert_eq!(printed(&finished(&client, 1).0).len(), 80_000_000);
}

/// A session without a client: its pipes are handled by hand.
fn raw(role: &str) -> Child {
    let mut command = command(role);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn framed(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    protocol::write(&mut bytes, request).unwrap();
    bytes
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes(), body].concat()
}

#[test]
fn hostile_input_is_refused_and_ends_the_session() {
    let hello = || framed(&Request::Hello { version: VERSION });
    for (name, input, words) in [
        ("another version", framed(&Request::Hello { version: 99 }), "version 1 of the protocol, not 99"),
        ("no hello", framed(&Request::Inspect { id: 1 }), "must be `hello`"),
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n".to_vec(), "is the limit"),
        ("not JSON", frame(b"\xFF\xFE\0"), "not a request"),
        ("not a request", frame(br#"{"request":"fly"}"#), "unknown variant"),
        ("a string as id", [hello(), frame(br#"{"request":"inspect","id":"1"}"#)].concat(), "invalid type"),
        ("too long", [hello(), vec![0xFF; 64]].concat(), "is the limit"),
        ("deeply nested", [hello(), frame("[".repeat(100_000).as_bytes())].concat(), "not a request"),
        ("an empty message", [hello(), frame(b"")].concat(), "not a request"),
    ] {
        let mut child = raw("session");
        let mut keep_open = child.stdin.take().unwrap();
        let _ = keep_open.write_all(&input);
        let mut output = child.stdout.take().unwrap();
        let mut reasons = Vec::new();
        while let Some(message) = protocol::read(&mut output).unwrap() {
            match message {
                Message::Refused { id: None, reason } => reasons.push(reason),
                Message::Ready { .. } => {}
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(matches!(&reasons[..], [reason] if reason.contains(words)), "{name}: {reasons:?}");
        assert_eq!(child.wait().unwrap().code(), Some(2), "{name}");
    }
}

#[test]
fn a_session_that_cannot_be_made_says_why() {
    let client = Client::spawn(command("no session")).unwrap();
    let (before, death) = died(&client);
    assert!(
        matches!(&before[..], [Message::Refused { reason, .. }] if reason == "there is no device cuda:9")
    );
    assert_eq!(death.how, How::Exited(2));
}

#[test]
fn too_many_requests_are_refused_one_by_one() {
    let client = ready("session");
    client.send(evaluate(1, "spin")).unwrap();
    let mut sent = 1;
    while sent < 3000 {
        match client.send(Request::Inspect { id: sent + 1 }) {
            Ok(()) => sent += 1,
            Err(SendError::Stuck) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
    client.interrupt().unwrap();
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < sent {
        match next(&client) {
            Message::Refused { id: Some(_), reason } => {
                assert!(reason.contains("requests wait"), "{reason}");
                refused += 1;
            }
            Message::State { .. } | Message::Finished { .. } => answered += 1,
            Message::Started { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, refused), (1025, 1975));
}

#[test]
fn a_front_end_that_vanishes_takes_the_session_with_it() {
    let request = |code: &str| {
        let hello = framed(&Request::Hello { version: VERSION });
        [hello, framed(&evaluate(1, code))].concat()
    };
    for code in ["deaf", "spin", "chatter", "emit 100000000"] {
        for torn in [0, 3] {
            let mut child = raw("session");
            let mut input = child.stdin.take().unwrap();
            let bytes = [request(code), vec![9; torn]].concat();
            input.write_all(&bytes).unwrap();
            let mut output = child.stdout.take().unwrap();
            while !matches!(protocol::read(&mut output).unwrap(), Some(Message::Started { .. })) {}
            drop((input, output));
            wait_until(code, Duration::from_secs(1), || child.try_wait().unwrap().is_some());
        }
    }
    // One that stops reading, but keeps the output open.
    let mut child = raw("session");
    let mut input = child.stdin.take().unwrap();
    input.write_all(&request("chatter")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(input);
    wait_until("a full pipe", Duration::from_secs(1), || child.try_wait().unwrap().is_some());
}

#[test]
fn a_killed_front_end_leaves_no_session_behind() {
    let mut front_end = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "session::child", "--ignored", "--nocapture"])
        .env(ROLE, "front end")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = front_end.stdout.take().unwrap();
    let mut seen = String::new();
    while !seen.contains("session ") || !seen.ends_with('\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        seen.push(char::from(byte[0]));
    }
    let session: u32 = seen.rsplit(' ').next().unwrap().trim().parse().unwrap();
    assert!(runs(session));
    front_end.kill().unwrap();
    front_end.wait().unwrap();
    wait_until("the session's end", Duration::from_secs(1), || !runs(session));
}

#[test]
fn dropping_a_client_leaves_no_process() {
    let client = ready("session");
    client.send(evaluate(1, "deaf")).unwrap();
    let pid = client.pid();
    drop(client);
    assert!(!runs(pid));
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "nor a zombie");
}

#[test]
fn what_the_process_prints_itself_stays_out_of_the_protocol() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "session::child", "--ignored", "--nocapture"])
        .env(ROLE, "stdio session")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in [Request::Hello { version: VERSION }, evaluate(1, "noise\nprint mine"), Request::Shutdown]
    {
        input.write_all(&framed(&request)).unwrap();
    }
    let (mut output, mut errors) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    // The test harness speaks before the session has the stream to itself.
    let ready = output.windows(19).position(|w| w == br#"{"message":"ready","#).expect("a ready session");
    let mut protocol = &output[ready - 4..];
    let messages: Vec<Message> = std::iter::from_fn(|| protocol::read(&mut protocol).unwrap()).collect();
    assert_eq!(printed(&messages), "mine\n");
    assert!(matches!(messages.last(), Some(Message::Finished { id: 1, .. })), "{messages:?}");
    assert!(errors.contains("printed by the process itself") && errors.contains("said on standard error"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_that_is_no_session_is_told_apart() {
    assert!(Client::spawn(Command::new("/nonexistent/program")).is_err());
    let mut chatty = Command::new("sh");
    chatty.args(["-c", "echo Welcome to this program; echo '\u{1B}[31mwarning' >&2; sleep 20"]);
    let client = Client::spawn(chatty).unwrap();
    let (_, death) = died(&client);
    assert!(matches!(&death.how, How::Garbled(what) if what.contains("limit")), "{death:?}");
    assert_eq!(death.log, ["warning"], "without its escape sequence");
    let mut silent = Command::new("sh");
    silent.args(["-c", "exec >&-; sleep 20"]);
    let client = Client::spawn(silent).unwrap();
    let death = died(&client).1;
    assert_eq!(death.how, How::Signal(9), "one that closed its output is ended");
}

#[test]
fn a_request_that_is_too_long_is_refused_here_and_the_session_lives() {
    let client = ready("session");
    client.send(evaluate(1, &"x".repeat(protocol::MAX_MESSAGE))).unwrap();
    assert!(matches!(next(&client), Message::Refused { id: Some(1), reason } if reason.contains("too long")));
    assert!(variables(&client).is_empty());
}
