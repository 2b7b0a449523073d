//! `docs/session-protocol.md` is true: its examples are the types', it names every kind, its conversation is held.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tensorlab::base::DType;
use tensorlab::base::event::Event;

use super::*;

const PAGE: &str = include_str!("../../docs/session-protocol.md");

/// The texts of the blocks of code in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    let all = PAGE.split(open.as_str()).skip(1);
    all.map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// The kinds that a type has, from what it says of one that it has not.
fn kinds<T: DeserializeOwned>(tag: &str) -> BTreeSet<String> {
    let unknown = serde_json::json!({ tag: "no such kind" });
    let Err(error) = serde_json::from_value::<T>(unknown) else { panic!("there is a kind of that name") };
    error.to_string().split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect()
}

/// Holds examples to a type: each is one, whole, and there is one of each kind.
fn hold<T: DeserializeOwned + Serialize>(language: &str, tag: &str) {
    let mut seen = BTreeSet::new();
    for text in blocks(language) {
        let written: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let read: T = serde_json::from_value(written.clone()).unwrap_or_else(|e| panic!("{e}: {text}"));
        let again = serde_json::to_value(read).unwrap();
        assert_eq!(again, written, "a field is missing on the page, or is none");
        seen.insert(written[tag].as_str().unwrap().to_owned());
    }
    let all = kinds::<T>(tag);
    assert!(all.len() > 5, "{all:?}");
    assert_eq!(seen, all, "every {tag} has an example");
}

#[test]
fn every_request_and_message_has_an_example_that_is_one() {
    hold::<Request>("request", "request");
    hold::<Message>("message", "message");
    assert!(PAGE.contains(&format!("describes version {VERSION}.")), "the page is of another version");
    let limit = tensorlab::base::figures::count(protocol::MAX_MESSAGE as u64);
    assert!(PAGE.contains(&format!("more than {limit} bytes")), "{limit}");
}

#[test]
fn the_page_names_every_option_and_every_status() {
    let help = Command::new(env!("CARGO_BIN_EXE_tensorlab")).args(["session", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    let options: BTreeSet<&str> = options.map(|word| word.trim_end_matches([',', '.'])).collect();
    assert!(options.len() > 10, "{help}");
    for option in options.into_iter().filter(|option| !["", "help", "version"].contains(option)) {
        assert!(PAGE.contains(&format!("--{option}")), "--{option} is not on the page");
    }
    let end = PAGE.split("\n5. ").nth(1).unwrap().split("\n\n").next().unwrap();
    use host::Ending::{FrontEndGone, Panicked, Refused, Shutdown, Stuck};
    for ending in [Shutdown, FrontEndGone, Refused(String::new()), Panicked, Stuck] {
        let code = ending.code().to_string();
        assert!(end.split(|c: char| !c.is_ascii_digit()).any(|word| word == code), "{code}: {end}");
    }
}

#[test]
fn the_page_names_outcomes_displays_verdicts_and_dtypes() {
    let named = |kinds: BTreeSet<String>| {
        for kind in kinds {
            assert!(PAGE.contains(&format!("`{kind}`")), "{kind} is not on the page");
        }
    };
    named(kinds::<Outcome>("outcome"));
    named(kinds::<Display>("kind"));
    named(kinds::<Verdict>("verdict"));
    let dtypes: Vec<String> = DType::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(blocks("dtypes"), [dtypes.join(" ")]);
}

/// How many numbers a field of the table takes in an event whose shape has two sizes.
fn width(field: &str) -> usize {
    if matches!(field, "shape" | "span") { 3 } else { 1 }
}

#[test]
fn rows_of_events_have_the_fields_of_the_table() {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut seen = BTreeSet::new();
    for (kind, rest) in rows {
        let mut cells = rest.split('|').map(|cell| cell.split(',').map(str::trim).filter(|f| !f.is_empty()));
        let numbers: usize = cells.next().unwrap().map(width).sum();
        let texts = cells.next().unwrap().count();
        let event = |numbers: usize, texts: usize| {
            let mut of: Vec<u64> = vec![1; numbers];
            // The count of sizes stands behind device, address, bytes, requested and dtype.
            if kind == "alloc"
                && let Some(sizes) = of.get_mut(5)
            {
                *sizes = 2;
            }
            let row = serde_json::json!([1, 1, 1, 1, kind, of, vec!["a"; texts]]);
            serde_json::from_value::<Event>(row.clone())
                .map(|event| serde_json::to_value(event).unwrap() == row)
        };
        assert!(matches!(event(numbers, texts), Ok(true)), "{kind}: {:?}", event(numbers, texts));
        assert!(numbers == 0 || event(numbers - 1, texts).is_err(), "{kind} takes fewer numbers");
        assert!(texts == 0 || event(numbers, texts - 1).is_err(), "{kind} takes fewer texts");
        seen.insert(kind.to_owned());
    }
    let unknown = serde_json::json!([1, 1, 1, 1, "no such kind", [], []]);
    let error = serde_json::from_value::<Event>(unknown).unwrap_err().to_string();
    let all: BTreeSet<String> = error.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect();
    assert_eq!(seen, all, "every kind of event stands in the table");
}

#[test]
fn the_conversation_is_held() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["session", "--stdio", "--devices", "sim:t4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let [conversation] = blocks("conversation")[..] else { panic!("there is one conversation") };
    for line in conversation.lines() {
        match line.split_once(' ').unwrap() {
            (">", request) => {
                let request: Request =
                    serde_json::from_str(request).unwrap_or_else(|e| panic!("{e}: {line}"));
                protocol::write(&mut input, &request).unwrap();
            }
            (_, wanted) => {
                let message = loop {
                    let message: Message = protocol::read(&mut output).unwrap().unwrap();
                    if !matches!(message, Message::Telemetry { .. } | Message::Missed { .. }) {
                        break message;
                    }
                };
                let said = serde_json::to_string(&message).unwrap();
                let said_so = match wanted.split_once('…') {
                    Some((beginning, _)) => said.starts_with(beginning),
                    None => said == wanted,
                };
                assert!(said_so, "{wanted}\nis said as\n{said}");
            }
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
