//! The key bar, the list of keys, and what of them the mouse can press.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tensorlab::lab::{Msg, Popup, State, render_to_string};
use tensorlab::session::protocol::Request;

use super::behaviour::codes;
use super::fixture::*;

fn bar(state: &State, columns: u16, rows: u16) -> String {
    render_to_string(state, columns, rows).lines().last().unwrap_or_default().trim_end().to_owned()
}

fn at(lab: &mut Lab, columns: u16, rows: u16) -> String {
    lab.tell(Msg::Resize(columns, rows));
    bar(&lab.state, columns, rows)
}

/// Clicks on a text of the screen.
fn click(lab: &mut Lab, columns: u16, rows: u16, text: &str) {
    lab.tell(Msg::Resize(columns, rows));
    let (row, column) = super::behaviour::find(lab, columns, rows, text);
    let kind = MouseEventKind::Down(MouseButton::Left);
    lab.tell(Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

fn saving(cells: &[&str]) -> Lab {
    let mut lab = Lab::notebook(cells);
    lab.state.keep(tensorlab::lab::Keeping::OnSave);
    lab
}

#[test]
fn the_bar_of_a_notebook_names_what_matters_at_every_width() {
    let mut lab = saving(&["1", "2"]);
    let narrow = at(&mut lab, 80, 24);
    for key in ["Enter edit", "F5 run", "b add below", "Ctrl-P actions", "q quit", "? help"] {
        assert!(narrow.contains(key), "{key}: {narrow}");
    }
    assert!(narrow.trim_start().starts_with("Enter edit  F5 run  b add below"), "{narrow}");
    let wide = at(&mut lab, 200, 60);
    for key in ["Ctrl-S save", "F6 machine", "R run all", "Tab pane", "dd delete", "Ctrl-R history"] {
        assert!(wide.contains(key), "{key}: {wide}");
    }
    assert!(wide.chars().count() > 180, "it fills the width: {wide}");
    lab.key(KeyCode::Enter);
    lab.types("x");
    let typing = at(&mut lab, 80, 24);
    for key in ["F5 run", "Esc leave", "Ctrl-S save", "Tab complete", "Ctrl-P actions"] {
        assert!(typing.contains(key), "{key}: {typing}");
    }
}

#[test]
fn a_letter_that_is_no_key_says_so_and_so_does_one_that_is_no_answer() {
    let mut lab = saving(&["1"]);
    lab.key(KeyCode::Char('Q'));
    let shown = render_to_string(&lab.state, 120, 30);
    assert!(shown.contains("Q does nothing here; q is: quit; ? lists the keys"), "{shown}");
    lab.key(KeyCode::Enter);
    lab.types("x");
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::Char('q'));
    lab.key(KeyCode::Char('Q'));
    let shown = render_to_string(&lab.state, 120, 30);
    assert!(shown.contains("Q is no answer; ") && shown.contains(": stay"), "{shown}");
}

#[test]
fn no_key_of_the_bar_is_cut_or_doubled_at_any_width() {
    let mut lab = saving(&["1"]);
    for columns in 60..=220 {
        let shown = at(&mut lab, columns, 30);
        let entries: Vec<&str> = shown.trim().split("  ").collect();
        let full = at(&mut lab, 400, 30);
        for entry in &entries {
            assert!(full.split("  ").any(|whole| whole.trim() == *entry), "{entry:?} in {shown:?}");
        }
        let labels: std::collections::BTreeSet<_> =
            entries.iter().filter_map(|entry| entry.split_once(' ')).map(|(_, label)| label).collect();
        assert_eq!(labels.len(), entries.len(), "{shown}");
        assert!(shown.ends_with("? help"), "{shown}");
    }
}

#[test]
fn every_context_has_its_own_keys_in_the_bar() {
    let mut lab = Lab::ready(100, 30);
    assert!(at(&mut lab, 100, 30).contains("n next step"));
    lab.key(KeyCode::F(1));
    let lesson = at(&mut lab, 80, 24);
    for key in ["F5 run", "n next step", "↑↓ scroll", "Ctrl-P actions"] {
        assert!(lesson.contains(key), "{key}: {lesson}");
    }
    let mut asked = Lab::ready(80, 24);
    asked.key(KeyCode::F(2));
    asked.key(KeyCode::Down);
    asked.key(KeyCode::Enter);
    let answer = at(&mut asked, 80, 24);
    assert!(answer.trim_start().starts_with("Enter commit  Esc leave"), "{answer}");
    lab.key(KeyCode::F(3));
    let machine = at(&mut lab, 100, 30);
    assert!(machine.contains("→ section") || machine.contains("←→ section"), "{machine}");
    lab.types("?");
    let help = at(&mut lab, 100, 30);
    assert!(help.contains("Esc close") && help.contains("scroll"), "{help}");
    lab.key(KeyCode::Esc);
    lab.ctrl('p');
    assert!(at(&mut lab, 100, 30).contains("Enter take"));
}

#[test]
fn help_begins_with_the_keys_of_where_one_is() {
    let mut lab = Lab::notebook(&["1"]);
    lab.types("?");
    let shown = lab.shows();
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} in {shown}"));
    assert!(place(" Cells ") < place("While not typing"), "{shown}");
    assert!(place("edit the cell") < place("add a cell below"), "{shown}");
    assert!(place("add a cell below") < place("select the item above"), "{shown}");
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::F(3));
    lab.types("?");
    lab.key(KeyCode::Tab);
    let shown = lab.shows();
    let machine = shown.find("┃ Machine").unwrap_or_else(|| panic!("{shown}"));
    assert!(shown.find("┃ Cells").is_none_or(|cells| machine < cells), "{shown}");
}

#[test]
fn help_tells_the_marks_beside_code() {
    let mut lab = Lab::ready(80, 24);
    lab.types("?/beside the code");
    let shown = lab.shows();
    for mark in ["0, 1, c ", "≠ ", "0·f32, c·i64 ", "0·* ", "✗, ▲ ", "▶ ", "↪ "] {
        assert!(shown.contains(&format!("┃   {mark}")), "{mark}: {shown}");
    }
    let cut = |line: &&str| line.contains("┃   ") && line.contains('…');
    assert_eq!(shown.lines().find(cut), None, "all of it is there");
    lab.key(KeyCode::Esc);
    // They stand before the keys of other places.
    let mut rows = Vec::new();
    for _ in 0..60 {
        rows.push(lab.shows());
        lab.key(KeyCode::Down);
    }
    let first = |text: &str| rows.iter().position(|shown| shown.contains(text));
    assert!(first("┃ Anywhere") < first("Beside the code"), "{}", rows[59]);
    assert!(first("Beside the code").is_some() && first("Beside the code") < first("┃ Machine"));
    let mut home = Lab::notebook(&["1"]);
    home.types("?/several devices");
    assert!(home.shows().contains("≠"), "{}", home.shows());
}

#[test]
fn help_is_searched_as_one_types() {
    let mut lab = Lab::notebook(&["1"]);
    lab.types("?/below");
    let shown = lab.shows();
    assert!(shown.contains("add a cell below") && shown.contains("keys with below"), "{shown}");
    assert!(!shown.contains("add a cell above"), "{shown}");
    lab.types("zzz");
    assert!(lab.shows().contains("no key fits"));
    (0..3).for_each(|_| lab.key(KeyCode::Backspace));
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    assert!(lab.shows().contains("add a cell below"), "what fits stays: {}", lab.shows());
    lab.types("/");
    lab.key(KeyCode::Esc);
    assert!(lab.shows().contains("add a cell above"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    assert_eq!(lab.state.popup(), None);
    assert_eq!(codes(&lab.state.document()), ["1"], "nothing of it went into a cell");
    lab.types("?");
    assert!(lab.shows().contains("add a cell above"), "the search does not last");
}

#[test]
fn keys_of_the_bar_can_be_clicked() {
    let mut lab = Lab::notebook(&["1"]);
    click(&mut lab, 80, 24, "b add below");
    assert_eq!(codes(&lab.state.document()), ["1", ""]);
    lab.key(KeyCode::Esc);
    click(&mut lab, 80, 24, "F5 run");
    assert!(lab.sent.iter().any(|r| matches!(r, Request::Evaluate { .. })));
    click(&mut lab, 80, 24, "? help");
    assert!(matches!(lab.state.popup(), Some(Popup::Help(_))));
    click(&mut lab, 80, 24, "Esc close");
    assert_eq!(lab.state.popup(), None);
}

#[test]
fn tabs_can_be_clicked() {
    let mut lab = Lab::ready(80, 24);
    for (tab, pane) in [("F2 cells", "Cells"), ("F3 machine", "Machine"), ("F1 lesson", "Lesson")] {
        click(&mut lab, 80, 24, tab);
        assert_eq!(format!("{:?}", lab.state.focus()), pane);
    }
}

#[test]
fn entries_of_lists_can_be_clicked() {
    let mut lab = Lab::notebook(&["1"]);
    lab.ctrl('p');
    lab.types("add a cell");
    click(&mut lab, 100, 30, "cells: add a cell below");
    assert_eq!(codes(&lab.state.document()), ["1", ""]);
    let mut lab = Lab::notebook(&["nn::Conv"]);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::End);
    lab.key(KeyCode::Tab);
    click(&mut lab, 100, 30, "Conv3d");
    assert_eq!(codes(&lab.state.document()), ["nn::Conv3d"]);
    assert!(lab.state.is_editing());
}

#[test]
fn keys_on_a_screen_that_shows_nothing_only_quit() {
    let mut lab = Lab::notebook(&["let a = 1;", "a + 1"]);
    lab.key(KeyCode::Enter);
    lab.types("x");
    let before = lab.shows();
    let asked = lab.sent.len();
    lab.tell(Msg::Resize(59, 24));
    lab.types("abc\ndd");
    lab.key(KeyCode::F(5));
    lab.tell(Msg::Paste("lost".into()));
    lab.tell(Msg::Resize(120, 40));
    assert_eq!(lab.shows(), before);
    assert_eq!(lab.sent.len(), asked, "nothing was run");
    lab.tell(Msg::Resize(59, 24));
    lab.key(KeyCode::Char('q'));
    lab.tell(Msg::Resize(120, 40));
    let asks = lab.shows();
    assert!(asks.contains("quit"), "what was typed is not saved, so that it asks first:\n{asks}");
}
