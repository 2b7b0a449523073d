//! Requests and answers, interrupts, events and much output.

use std::sync::Arc;

use super::*;

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
    client
        .send(Request::Evaluate {
            id: 2,
            cell: 2,
            code: "set y\nbogus".into(),
            first_line: 11,
            given: Default::default(),
            answer: false,
        })
        .unwrap();
    assert!(matches!(finished(&client, 2).1, Outcome::Error { fault } if fault.line == Some(12)));
    assert_eq!(variables(&client), ["x", "y"], "what was set before a fault stays");

    client.send(Request::Check { id: 3, of: 1, code: "x".into(), first_line: 1 }).unwrap();
    assert!(matches!(next(&client), Message::Output { id: 3, .. }));
    assert_eq!(next(&client), Message::CheckResult { id: 3, verdict: Verdict::Pass, check_line: None });
    for (id, expression, value) in [
        (4, "2.5", Some(ProbeValue::Number(2.5))),
        (5, "inf", Some(ProbeValue::Text("inf".into()))),
        (6, "two", None),
    ] {
        client.send(Request::Probe { id, of: 1, expression: expression.into() }).unwrap();
        assert!(
            matches!(next(&client), Message::Probed { id: i, value: v, .. } if i == id && v.clone().ok() == value)
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
    println!("an interrupt is answered within {fastest:?}");
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
fn what_is_shown_under_one_name_is_sent_as_fast_as_it_is_taken_and_ends_with_the_newest() {
    const TIMES: usize = 20_000;
    let client = ready("session");
    client.send(evaluate(1, &format!("redraw {TIMES}"))).unwrap();
    let (before, ..) = finished(&client, 1);
    let shown: Vec<&str> = before
        .iter()
        .filter_map(|message| match message {
            Message::Display { content: Display::Text { text }, display_id: Some(name), .. } => {
                assert_eq!(*name, TIMES.to_string());
                Some(text.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(shown.last().copied(), Some((TIMES - 1).to_string().as_str()));
    assert!(shown.len() < TIMES / 10, "{} of {TIMES} were sent", shown.len());
    assert!(shown.iter().map(|n| n.parse::<usize>().unwrap()).is_sorted(), "they came in their order");
}

#[test]
fn two_sessions_share_nothing() {
    let (a, b) = (ready("session"), ready("session"));
    a.send(evaluate(1, "set a\nspin")).unwrap();
    while !matches!(next(&a), Message::Started { .. }) {}
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
        let events = match message {
            Message::Telemetry { events } => events,
            Message::Missed { digest } => {
                at += digest.events;
                continue;
            }
            _ => continue,
        };
        for event in events {
            assert_eq!(event.seq, at, "a gap that is not counted");
            assert_eq!((event.source.cell, event.source.line as u64), (1, at));
            at += 1;
        }
        batches += 1;
        received += events.len();
    }
    assert_eq!(at, EVENTS, "all of them come before the end of the cell, or are counted");
    assert!(received >= 1024 - 256, "the newest are kept, to a page: {received}");
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
    let resident = status.lines().find_map(|l| l.strip_prefix("RssAnon:")).unwrap_or("0 kB").trim();
    let kilobytes: u64 = resident.trim_end_matches(" kB").parse().unwrap();
    // 80 MB are the script's own text; pages of the program itself do not count.
    assert!(kilobytes < 100_000, "{kilobytes} kB resident");
    assert_eq!(printed(&finished(&client, 1).0).len(), 80_000_000);
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
fn a_request_that_is_too_long_is_refused_here_and_the_session_lives() {
    let client = ready("session");
    client.send(evaluate(1, &"x".repeat(protocol::MAX_MESSAGE))).unwrap();
    assert!(matches!(next(&client), Message::Refused { id: Some(1), reason } if reason.contains("too long")));
    assert!(variables(&client).is_empty());
}

#[test]
fn whoever_waits_for_the_session_is_woken() {
    let (wakes, woken) = std::sync::mpsc::channel();
    let wake = Arc::new(move || wakes.send(()).unwrap_or_default());
    let client = Client::spawn_with(command("session"), wake).unwrap();
    client.send(evaluate(1, "print one\nexit 0")).unwrap();
    let mut messages = 0;
    loop {
        woken.recv_timeout(PATIENCE).expect("a wake for what comes");
        match client.events().try_recv().expect("something for each wake") {
            FromSession::Message(_) => messages += 1,
            FromSession::Died { .. } => break,
        }
    }
    assert_eq!(messages, 3, "ready, started, output");
}
