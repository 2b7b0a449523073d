//! What is told of a session that ended, and what is left of it.

use super::*;

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
fn dropping_a_client_leaves_no_process() {
    let client = ready("session");
    client.send(evaluate(1, "deaf")).unwrap();
    let pid = client.pid();
    drop(client);
    assert!(!runs(pid));
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "nor a zombie");
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
fn a_program_that_is_no_session_is_told_apart() {
    assert!(Client::spawn(Command::new("/nonexistent/program")).is_err());
    let mut chatty = Command::new("sh");
    chatty.args(["-c", "echo '\u{1B}[31mwarning' >&2; echo Welcome to this program; sleep 20"]);
    let client = Client::spawn(chatty).unwrap();
    let (_, death) = died(&client);
    assert!(matches!(&death.how, How::Garbled(what) if what.contains("limit")), "{death:?}");
    assert_eq!(death.log, ["warning"], "without its escape sequence");
    let mut torn = Command::new("sh");
    torn.args(["-c", "printf 'a\\377\\376 \\303b\\n' >&2; exit 3"]);
    let (_, death) = died(&Client::spawn(torn).unwrap());
    assert_eq!(
        death.log,
        ["a\u{fffd}\u{fffd} \u{fffd}b"],
        "what is no UTF-8 is marked, and the rest is kept"
    );
    let mut silent = Command::new("sh");
    silent.args(["-c", "exec >&-; sleep 20"]);
    let client = Client::spawn(silent).unwrap();
    let death = died(&client).1;
    assert_eq!(death.how, How::Signal(9), "one that closed its output is ended");
}
