//! Front ends that speak nonsense, vanish, or are killed.

use std::io::Read;
use std::io::Write;
use std::process::{Child, Stdio};

use proptest::prelude::*;

use super::*;

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
        ("another version", framed(&Request::Hello { version: 99 }), "version 6 of the protocol, not 99"),
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

/// What a front end may send that runs no code.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let id = 0..9u64;
    prop_oneof![
        Just(framed(&Request::Hello { version: VERSION })),
        Just(framed(&Request::Interrupt)),
        id.clone().prop_map(|id| framed(&Request::Inspect { id })),
        id.clone().prop_map(|id| framed(&Request::Reset { id })),
        (id.clone(), ".{0,9}", 0..20usize).prop_map(|(id, code, cursor)| framed(&Request::Complete {
            id,
            code,
            cursor
        })),
        (id, ".{0,9}").prop_map(|(id, name)| framed(&Request::Help { id, name })),
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|body| frame(&body)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_input_is_answered_in_protocol_and_the_session_ends_with_it(
        greets in any::<bool>(), requests in prop::collection::vec(request(), 0..8), cut in 0..30usize,
    ) {
        let hello = if greets { framed(&Request::Hello { version: VERSION }) } else { Vec::new() };
        let mut bytes = [hello, requests.concat()].concat();
        bytes.truncate(bytes.len().saturating_sub(cut));
        let (mut output, theirs) = std::io::pipe().unwrap();
        let start = Instant::now();
        let ending = host::serve(std::io::Cursor::new(bytes), theirs, RunLimits::default(), || Ok(Fake::default())).unwrap();
        prop_assert!(start.elapsed() < Duration::from_secs(5));
        prop_assert!(matches!(ending, host::Ending::FrontEndGone | host::Ending::Refused(_)), "{ending:?}");
        while protocol::read::<Message>(&mut output).unwrap().is_some() {}
    }
}
