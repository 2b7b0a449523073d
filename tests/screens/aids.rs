//! What helps while typing: completion, help, the list of actions, cells run before, the Python beside a cell, settings.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyModifiers};
use insta::assert_snapshot;
use tensorlab::lab::{BINDINGS, Colour, Config, Document, Effect, Msg, Popup, render_to_string};
use tensorlab::session::protocol::{Message, Request, Variable};

use super::behaviour::{codes, find};
use super::fixture::*;
use super::shots::with_styles;

fn code(lab: &Lab) -> String {
    codes(&lab.state.document()).join("\n---\n")
}

fn typing(text: &str) -> Lab {
    let mut lab = Lab::notebook(&[text]);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::End);
    lab
}

/// The session tells of a tensor `weights` and an array `rows`.
fn with_variables(mut lab: Lab) -> Lab {
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    let id = lab.sent.iter().rev().find_map(Request::id).unwrap();
    let variable = |name: &str, type_name: &str, summary: &str| Variable {
        name: name.into(),
        type_name: type_name.into(),
        summary: summary.into(),
        tensor: None,
    };
    let variables =
        vec![variable("weights", "Tensor", "[2, 3] float32 cpu"), variable("rows", "array", "[1, 2, 3]")];
    lab.says(Message::State { id, variables, devices: vec![], held: vec![] });
    lab
}

#[test]
fn tab_completes_names_of_the_session_and_of_the_table() {
    let mut lab = with_variables(typing("weig"));
    let sent = lab.sent.len();
    lab.key(KeyCode::Tab);
    assert_eq!(code(&lab), "weights", "the only one is taken at once");
    lab.types(".su");
    lab.key(KeyCode::Tab);
    assert!(lab.shows().contains("▸su"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    assert!(lab.state.is_editing(), "Escape closes the list alone");
    for _ in 0..3 {
        lab.key(KeyCode::Backspace);
    }
    lab.types(" @ ran");
    lab.key(KeyCode::Tab);
    let shown = lab.shows();
    assert!(shown.contains("▸rand") && shown.contains("randn") && shown.contains("randperm"), "{shown}");
    lab.types("dp");
    assert!(!lab.shows().contains(" randn "), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    assert_eq!(code(&lab), "weights @ randperm");
    assert_eq!(lab.sent.len(), sent, "nothing is asked of the session, let alone evaluated");
}

#[test]
fn the_list_stays_where_it_is_while_it_narrows() {
    let mut lab = typing("let x = nn::");
    lab.key(KeyCode::Tab);
    let corner = |lab: &Lab| find(lab, 120, 40, "┌─");
    let before = (corner(&lab), lab.shows().matches('┌').count());
    for c in "Conv".chars() {
        lab.key(KeyCode::Char(c));
        assert_eq!((corner(&lab), lab.shows().matches('┌').count()), before, "{}", lab.shows());
    }
    lab.key(KeyCode::Tab);
    assert_eq!(code(&lab), "let x = nn::Conv2d", "what is written most comes first");
    lab.ctrl('z');
    assert_eq!(code(&lab), "let x = nn::Conv", "taking a name is a step of undo");
}

#[test]
fn tab_indents_where_no_name_is() {
    let mut lab = typing("");
    lab.key(KeyCode::Tab);
    assert_eq!(code(&lab), "    ");
    lab.key(KeyCode::BackTab);
    assert_eq!(code(&lab), "");
    lab.types("\"a");
    lab.key(KeyCode::Tab);
    assert!(lab.shows().contains("no name fits here"), "{}", lab.shows());
}

#[test]
fn an_open_call_shows_what_is_due() {
    let mut lab = typing("nn::Linear(");
    let shown = lab.shows();
    assert!(shown.contains("Linear(in_features, out_features"), "{shown}");
    lab.types("3, ");
    let (row, column) = find(&lab, 120, 40, "out_features");
    let buffer = tensorlab::lab::render(&lab.state, 120, 40);
    let reversed = |x: u16| buffer[(x, row)].modifier.contains(ratatui::style::Modifier::REVERSED);
    assert!(reversed(column) && !reversed(column.saturating_sub(3)));
    lab.types("2)");
    assert!(!lab.shows().contains("in_features"));
    let mut lab = typing("nn::Conv2d(1, 2, 3, 1, 0, 1, ");
    lab.tell(Msg::Resize(60, 24));
    let shown = render_to_string(&lab.state, 60, 24);
    assert!(shown.contains("Conv2d(…, groups"), "what is due is in sight where not all fits: {shown}");
    let mut lab = typing("zeros(");
    lab.tell(Msg::Resize(60, 24));
    let shown = render_to_string(&lab.state, 60, 24);
    assert!(shown.contains("… ") || shown.contains("…─"), "what goes on says so: {shown}");
    lab.types("[2], #{pin_memory: ");
    let shown = render_to_string(&lab.state, 60, 24);
    assert!(shown.contains("zeros(…, pin_memory"), "an option that is written is in sight: {shown}");
}

#[test]
fn help_on_a_name_has_its_checked_example() {
    let mut lab = typing("x.matmul(");
    lab.key(KeyCode::BackTab);
    let shown = lab.shows();
    assert!(matches!(lab.state.popup(), Some(Popup::Doc(_))), "{shown}");
    assert!(shown.contains("matmul") && shown.contains("> tensor("), "{shown}");
    lab.key(KeyCode::Esc);
    assert!(lab.state.is_editing());
    let mut lab = typing("nosuch");
    lab.chord(KeyCode::Char('h'), KeyModifiers::ALT);
    assert!(lab.shows().contains("there is no help on `nosuch`"), "{}", lab.shows());
}

#[test]
fn every_action_is_in_the_palette_with_its_key_and_is_done_from_there() {
    let mut lab = Lab::notebook(&["1", "2"]);
    lab.ctrl('p');
    let mut seen = String::new();
    for _ in 0..BINDINGS.len() {
        seen += &lab.shows();
        lab.key(KeyCode::Down);
    }
    for binding in BINDINGS {
        let context = format!("{:?}", binding.context);
        // A notebook of a test has no home.
        let elsewhere = [
            "Help",
            "Search",
            "Confirm",
            "Answer",
            "Complete",
            "Picker",
            "Find",
            "Home",
            "Prompt",
            "SaveAs",
            "Devices",
            "Differences",
        ];
        // What moves is no action, and what several places have is listed once.
        let name = format!("{:?}", binding.action);
        let moves = ["Choose", "Palette", "Up", "Down", "PageUp", "PageDown", "First", "Last"];
        if !elsewhere.contains(&context.as_str()) && !moves.contains(&name.as_str()) {
            let listed = BINDINGS.iter().any(|b| b.action == binding.action && seen.contains(b.help));
            assert!(listed, "{:?} is not listed", binding.help);
        }
    }
    let rows: std::collections::BTreeSet<&str> =
        seen.lines().filter_map(|line| line.split_once(": ")).map(|(_, rest)| rest.trim()).collect();
    assert_eq!(rows.iter().filter(|row| row.starts_with("quit")).count(), 1, "{rows:?}");
    lab.key(KeyCode::Esc);
    assert_eq!(lab.state.popup(), None);
    lab.ctrl('p');
    lab.types("add a cell abo");
    assert!(lab.shows().contains("▸cells: add a cell above"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    assert_eq!(codes(&lab.state.document()), ["", "1", "2"]);
    lab.ctrl('p');
    lab.types("run the cell");
    lab.key(KeyCode::Enter);
    assert_eq!(lab.evaluation().2, "");
    lab.ctrl('p');
    lab.types("comment");
    lab.key(KeyCode::Enter);
    assert!(lab.state.is_editing(), "what is for typing begins to type");
    lab.ctrl('p');
    lab.types("zzzzzz");
    assert!(lab.shows().contains("nothing fits"));
}

#[test]
fn cells_run_before_are_searched_and_put_into_a_cell() {
    let mut lab = Lab::notebook(&["let a = rand(3);", "let b = a + 1;\nb"]);
    lab.ctrl('r');
    assert!(lab.shows().contains("no cell was run yet"));
    lab.key(KeyCode::F(5));
    assert!(lab.effects.contains(&Effect::Remember("let a = rand(3);".into())));
    lab.succeeds(None);
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    let kept = lab.effects.iter().filter(|e| matches!(e, Effect::Remember(_))).count();
    assert_eq!(kept, 1, "the same cell run twice is kept once");
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    lab.succeeds(None);
    lab.state.recall(vec!["old()".into(), "let a = rand(3);".into(), "let b = a + 1;\nb".into()]);
    lab.ctrl('r');
    assert!(lab.shows().contains("▸let b = a + 1; ↵ b"), "the newest first: {}", lab.shows());
    lab.types("rand");
    lab.key(KeyCode::Enter);
    assert_eq!(codes(&lab.state.document()), ["let a = rand(3);", "let b = a + 1;\nb", "let a = rand(3);"]);
    assert!(lab.state.is_editing());
}

#[test]
fn the_same_code_in_python_stands_beside_a_cell() {
    let mut lab = Lab::notebook(&["let y = net.forward(x).sum(0, #{keepdim: true});"]);
    lab.chord(KeyCode::Char('p'), KeyModifiers::ALT);
    lab.tell(Msg::Resize(200, 40));
    let shown = render_to_string(&lab.state, 200, 40);
    assert!(shown.contains("y = net(x).sum(0, keepdim=True)"), "{shown}");
    lab.chord(KeyCode::Char('p'), KeyModifiers::ALT);
    assert!(!render_to_string(&lab.state, 200, 40).contains("keepdim=True"));
}

#[test]
fn settings_change_keys_and_what_is_wrong_is_said_in_the_header() {
    let mut lab = Lab::notebook(&["1"]);
    lab.state.configure(&Config::parse("[keys.anywhere]\nrun = [\"F9\"]\n[edit]\nvii = true\n"));
    lab.tell(Msg::Resize(200, 40));
    let shown = render_to_string(&lab.state, 200, 40);
    assert!(
        shown.contains("settings, line 4: there is no setting `edit.vii`; did you mean `edit.vi`?"),
        "{shown}"
    );
    lab.key(KeyCode::F(5));
    assert!(lab.sent.is_empty(), "F5 is free");
    lab.key(KeyCode::F(9));
    assert_eq!(lab.evaluation().2, "1");
    lab.succeeds(None);
    assert!(render_to_string(&lab.state, 200, 40).contains("F9 run"), "the key bar follows");
    lab.types("?/run the cell");
    assert!(render_to_string(&lab.state, 200, 40).contains("F9      "), "and so does the help");
}

#[test]
fn a_key_shows_within_a_frame() {
    let long = "let x = rand([2, 3]).sum(0);\n".repeat(300);
    let mut lab = typing(&long);
    let mut worst = Duration::ZERO;
    lab.types("x");
    for c in "net.forward(x".chars() {
        let start = Instant::now();
        lab.key(KeyCode::Char(c));
        std::hint::black_box(tensorlab::lab::render(&lab.state, 120, 40));
        worst = worst.max(start.elapsed());
    }
    // Without optimisation everything takes ten times as long, and the machine may be busy.
    let limit = if cfg!(debug_assertions) { 2000 } else { 60 };
    assert!(worst < Duration::from_millis(limit), "{worst:?}");
}

/// The list of names beside code, in the colours that there are.
fn completing(colour: Colour, columns: u16, rows: u16) -> Lab {
    let document = Document::notebook("scratch", ["let x = rand([2, 3]);\nlet y = x.ma".to_owned()]);
    let mut lab = Lab::new(document, look(colour), columns, rows);
    lab.says(ready());
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::End);
    lab.key(KeyCode::Tab);
    lab
}

#[test]
fn completion_in_colour_at_80x24() {
    assert_snapshot!(with_styles(&completing(Colour::True, 80, 24).state, 80, 24));
}

#[test]
fn completion_without_colour_at_80x24() {
    assert_snapshot!(with_styles(&completing(Colour::None, 80, 24).state, 80, 24));
}

#[test]
fn completion_at_120x40() {
    assert_snapshot!(render_to_string(&completing(Colour::True, 120, 40).state, 120, 40));
}

#[test]
fn the_palette_at_80x24_and_120x40() {
    let mut lab = completing(Colour::None, 80, 24);
    lab.key(KeyCode::Esc);
    lab.ctrl('p');
    lab.types("cell");
    assert_snapshot!("the_palette_without_colour_at_80x24", with_styles(&lab.state, 80, 24));
    lab.tell(Msg::Resize(120, 40));
    assert_snapshot!("the_palette_at_120x40", render_to_string(&lab.state, 120, 40));
}

#[test]
fn a_page_of_help_at_80x24() {
    let mut lab = completing(Colour::True, 80, 24);
    lab.key(KeyCode::Esc);
    lab.types("tmul(");
    lab.key(KeyCode::BackTab);
    assert_snapshot!(render_to_string(&lab.state, 80, 24));
}

#[test]
fn python_beside_cells_at_120x40() {
    let cell = "let net = nn::Sequential([nn::Linear(3, 2), nn::ReLU()]);\nfor i in 0..3 {\n    print(`step ${i}`);\n}";
    let document = Document::notebook("scratch", [cell.to_owned(), "# Text\n\nof **mine**".into()]);
    let mut lab = Lab::new(document, look(Colour::True), 120, 40);
    lab.says(ready());
    lab.chord(KeyCode::Char('p'), KeyModifiers::ALT);
    lab.key(KeyCode::Down);
    lab.types("m");
    assert_snapshot!(render_to_string(&lab.state, 120, 40));
}
