//! Typing in cells: selection, the clipboard, indents, comments, vi's keys, the mouse; and whole cells.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use tensorlab::lab::{Config, Document, Effect, Msg, render, render_to_string};
use tensorlab::session::protocol::Request;

use super::behaviour::{codes, find, mouse};
use super::fixture::*;

const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

fn code(lab: &Lab) -> String {
    codes(&lab.state.document()).join("\n---\n")
}

/// A notebook of one cell that is being typed in.
fn typing(text: &str) -> Lab {
    let mut lab = Lab::notebook(&[text]);
    lab.key(KeyCode::Enter);
    lab
}

#[test]
fn a_cell_and_what_it_has_shown_go_to_the_terminals_clipboard() {
    let mut lab = Lab::notebook(&["print(7)"]);
    lab.types("c");
    assert_eq!(lab.effects.last(), Some(&Effect::Copy("print(7)".into())));
    lab.effects.clear();
    lab.types("C");
    assert_eq!(lab.effects, [], "nothing has been shown");
    lab.types("R");
    lab.starts();
    lab.prints("7\nseven\n");
    lab.succeeds(None);
    lab.types("C");
    assert_eq!(lab.effects.last(), Some(&Effect::Copy("7\nseven".into())));
    assert!(lab.shows().contains("2 lines copied"), "{}", lab.shows());
}

#[test]
fn what_is_selected_is_cut_copied_pasted_and_replaced() {
    let mut lab = typing("let abc = 1;");
    lab.chord(KeyCode::Right, KeyModifiers::CONTROL | SHIFT);
    lab.ctrl('x');
    assert_eq!(code(&lab), " abc = 1;");
    assert_eq!(lab.effects.last(), Some(&Effect::Copy("let".into())));
    lab.key(KeyCode::End);
    lab.ctrl('v');
    assert_eq!(code(&lab), " abc = 1;let");
    lab.chord(KeyCode::Left, SHIFT);
    lab.chord(KeyCode::Left, SHIFT);
    lab.types("X");
    assert_eq!(code(&lab), " abc = 1;lX");
    lab.chord(KeyCode::Home, SHIFT);
    lab.ctrl('c');
    assert!(lab.shows().contains("editing") && !lab.shows().contains("nothing is running"));
    lab.key(KeyCode::Backspace);
    assert_eq!(code(&lab), " ");
    lab.ctrl('v');
    assert_eq!(code(&lab), " abc = 1;lX");
    lab.ctrl('z');
    lab.ctrl('z');
    assert_eq!(code(&lab), " abc = 1;lX", "the deletion is one step of undo");
}

#[test]
fn a_cut_without_a_selection_takes_the_line() {
    let mut lab = typing("one\ntwo");
    lab.ctrl('x');
    assert_eq!(code(&lab), "two");
    lab.ctrl('x');
    assert_eq!(code(&lab), "");
    lab.ctrl('z');
    lab.ctrl('z');
    assert_eq!(code(&lab), "one\ntwo");
}

#[test]
fn lines_are_indented_and_made_comments_together() {
    let mut lab = typing("a\n  b\n\nc");
    lab.chord(KeyCode::Char('a'), KeyModifiers::ALT);
    lab.key(KeyCode::Tab);
    assert_eq!(code(&lab), "    a\n      b\n\n    c");
    lab.key(KeyCode::BackTab);
    assert_eq!(code(&lab), "a\n  b\n\nc");
    lab.ctrl('7');
    assert_eq!(code(&lab), "// a\n//   b\n\n// c");
    lab.ctrl('/');
    assert_eq!(code(&lab), "a\n  b\n\nc");
    lab.ctrl('z');
    assert_eq!(code(&lab), "// a\n//   b\n\n// c", "one step for all lines");
    lab.ctrl('z');
    lab.ctrl('z');
    lab.ctrl('z');
    assert_eq!(code(&lab), "a\n  b\n\nc");
    lab.ctrl('y');
    assert_eq!(code(&lab), "    a\n      b\n\n    c");
}

#[test]
fn the_selection_is_seen_without_colour() {
    for colour in [tensorlab::lab::Colour::None, tensorlab::lab::Colour::True] {
        let document = Document::notebook("n", ["let abc = 1;".to_owned()]);
        let mut lab = Lab::new(document, look(colour), 80, 24);
        lab.says(ready());
        lab.key(KeyCode::Enter);
        lab.chord(KeyCode::Right, SHIFT);
        lab.chord(KeyCode::Right, SHIFT);
        let (row, column) = find(&lab, 80, 24, "let abc");
        let buffer = render(&lab.state, 80, 24);
        let reversed = |x: u16| buffer[(x, row)].modifier.contains(ratatui::style::Modifier::REVERSED);
        assert!(reversed(column) && reversed(column + 1) && !reversed(column + 2));
    }
}

#[test]
fn the_bracket_at_the_cursor_and_its_partner_are_marked() {
    let mut lab = typing("f(\"(\", [1])");
    lab.key(KeyCode::Right);
    let (row, column) = find(&lab, 120, 40, "f(\"(\"");
    let buffer = render(&lab.state, 120, 40);
    let marked: Vec<u16> = (0..11)
        .filter(|x| buffer[(column + x, row)].modifier.contains(ratatui::style::Modifier::UNDERLINED))
        .collect();
    assert_eq!(marked, [1, 10]);
}

#[test]
fn what_the_code_leaves_open_is_told_while_typing() {
    let mut lab = typing("");
    lab.types("f(1,");
    assert!(lab.shows().contains("`(` of line 1 is not closed"), "{}", lab.shows());
    lab.types(" 2)");
    assert!(!lab.shows().contains("not closed"));
}

#[test]
fn find_goes_from_place_to_place() {
    let mut lab = typing("ab\nxAB\nab");
    lab.ctrl('f');
    lab.types("ab");
    assert!(lab.shows().contains("find: ab") && lab.shows().contains("3 places"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Esc);
    lab.types("Q");
    assert_eq!(code(&lab), "ab\nxQ\nab", "the second place is selected");
    lab.ctrl('f');
    lab.types("nope");
    assert!(lab.shows().contains("`nope` is in no cell"));
}

#[test]
fn find_goes_over_all_cells_and_round() {
    let mut lab = Lab::notebook(&["let one = 1;", "two", "one + 1;\none"]);
    lab.types("/one");
    assert!(lab.shows().contains("3 places in 2 cells"), "{}", lab.shows());
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::Enter);
    lab.types("X");
    assert_eq!(codes(&lab.state.document())[2], "one + 1;\nXone", "the cursor is at the third place");
    lab.key(KeyCode::Backspace);
    lab.ctrl('f');
    lab.types("one");
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Esc);
    lab.types("2");
    assert_eq!(codes(&lab.state.document())[0], "let 2 = 1;", "typing goes on in the cell that was found");
    lab.ctrl('f');
    lab.types("one");
    lab.key(KeyCode::Up);
    lab.key(KeyCode::Up);
    lab.key(KeyCode::Esc);
    lab.types("3");
    assert_eq!(codes(&lab.state.document())[2], "3 + 1;\none", "backwards it goes round as well");
}

#[test]
fn cells_move_split_and_merge_and_each_is_undone() {
    let mut lab = Lab::notebook(&["1", "let a = 2;\na", "3"]);
    lab.types("J");
    assert_eq!(codes(&lab.state.document()), ["let a = 2;\na", "1", "3"]);
    lab.chord(KeyCode::Down, KeyModifiers::ALT);
    lab.types("J");
    assert_eq!(codes(&lab.state.document()), ["let a = 2;\na", "3", "1"]);
    assert!(lab.shows().contains("this is the last cell"));
    lab.types("zz");
    assert_eq!(codes(&lab.state.document()), ["1", "let a = 2;\na", "3"]);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    lab.chord(KeyCode::Char('x'), KeyModifiers::ALT);
    assert_eq!(codes(&lab.state.document()), ["1", "let a = 2;", "a", "3"]);
    assert!(lab.state.is_editing(), "one goes on in the second");
    lab.types("b");
    assert_eq!(codes(&lab.state.document())[2], "ba");
    lab.key(KeyCode::Backspace);
    lab.key(KeyCode::Esc);
    lab.types("z");
    assert_eq!(codes(&lab.state.document()), ["1", "let a = 2;\na", "3"]);
    lab.types("M");
    assert_eq!(codes(&lab.state.document()), ["1", "let a = 2;\na;\n3"], "a value before more code is ended");
    lab.types("z");
    assert_eq!(codes(&lab.state.document()), ["1", "let a = 2;\na", "3"]);
    lab.types("mkM");
    assert!(lab.shows().contains("m and y make them alike"), "{}", lab.shows());
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::F(2));
    let before = lab.state.document();
    lab.types("JKM");
    lab.chord(KeyCode::Char('x'), KeyModifiers::ALT);
    assert_eq!(lab.state.document(), before, "a lesson keeps its cells where they are");
}

#[test]
fn a_cut_cell_is_told_of_at_full_width() {
    let mut lab = Lab::notebook(&["1", "2"]);
    lab.tell(Msg::Resize(80, 24));
    lab.types("x");
    let shown = render_to_string(&lab.state, 80, 24);
    assert!(shown.contains("▸ cell cut; v pastes it, z brings it back"), "{shown}");
}

#[test]
fn the_mouse_selects_text_and_a_second_click_begins_to_type() {
    let mut lab = Lab::notebook(&["let abc = 1;", "second"]);
    let (row, column) = find(&lab, 120, 40, "let abc");
    let at = |kind, column| mouse(kind, column, row);
    lab.tell(at(MouseEventKind::Down(MouseButton::Left), column + 4));
    assert!(lab.state.is_editing(), "the cell was selected already");
    lab.tell(at(MouseEventKind::Drag(MouseButton::Left), column + 7));
    lab.tell(at(MouseEventKind::Up(MouseButton::Left), column + 7));
    lab.types("x");
    assert_eq!(codes(&lab.state.document())[0], "let x = 1;");
    let (row, column) = find(&lab, 120, 40, "second");
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column, row));
    assert!(!lab.state.is_editing());
    lab.tell(mouse(MouseEventKind::Down(MouseButton::Left), column, row));
    lab.types("a ");
    assert_eq!(codes(&lab.state.document())[1], "a second");
}

#[test]
fn vi_keys_are_an_option() {
    let mut lab = Lab::notebook(&["let x = 1;"]);
    lab.state.configure(&Config::parse("[edit]\nvi = true\n"));
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("NORMAL"), "{}", lab.shows());
    lab.types("wcwyy");
    assert!(lab.shows().contains("INSERT"));
    lab.key(KeyCode::Esc);
    assert_eq!(code(&lab), "let yy = 1;");
    lab.types("/=\n");
    lab.key(KeyCode::Esc);
    lab.types("x");
    assert_eq!(code(&lab), "let yy  1;");
    lab.types("u");
    lab.key(KeyCode::F(5));
    assert_eq!(lab.evaluation().2, "let yy = 1;", "other keys stay what they are");
    lab.key(KeyCode::Esc);
    assert!(!lab.state.is_editing(), "Escape in normal mode leaves the cell");
}

#[test]
fn deleted_cells_come_back_and_copies_are_cells_of_their_own() {
    let mut lab = Lab::notebook(&["1", "2", "3"]);
    lab.key(KeyCode::Down);
    lab.types("d");
    assert_eq!(codes(&lab.state.document()), ["1", "2", "3"], "once is not enough");
    lab.key(KeyCode::Up);
    lab.types("d");
    assert_eq!(codes(&lab.state.document()), ["1", "2", "3"], "the two must follow each other");
    lab.key(KeyCode::Down);
    lab.types("dd");
    assert_eq!(codes(&lab.state.document()), ["1", "3"]);
    lab.types("x");
    assert_eq!(codes(&lab.state.document()), ["1"]);
    lab.types("zz");
    assert_eq!(codes(&lab.state.document()), ["1", "2", "3"]);
    lab.types("z");
    assert!(lab.shows().contains("nothing was done to whole cells"));
    lab.types("cvv");
    let all = codes(&lab.state.document());
    assert_eq!(all, ["1", "2", "2", "2", "3"]);
    lab.key(KeyCode::Enter);
    lab.types("9");
    assert_eq!(codes(&lab.state.document()).iter().filter(|code| code.contains('9')).count(), 1);
}

#[test]
fn a_cell_of_text_is_read_as_markdown_and_not_run() {
    let mut lab = Lab::notebook(&["# Title\n\n- **item**", "2"]);
    lab.types("m");
    let shown = lab.shows();
    assert!(shown.contains("• item") && !shown.contains("**"), "{shown}");
    lab.chord(KeyCode::Enter, SHIFT);
    assert!(lab.state.is_editing(), "one goes on typing in the next cell");
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::Char('R'));
    let run: Vec<&Request> = lab.sent.iter().filter(|r| matches!(r, Request::Evaluate { .. })).collect();
    assert_eq!(run.len(), 1, "only the code runs");
    lab.key(KeyCode::Up);
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("- **item**"), "{}", lab.shows());
    // Nothing runs, which is said; the key bar does not offer it.
    assert!(!lab.shows().contains("F5 run "), "{}", lab.shows());
    lab.key(KeyCode::F(5));
    assert!(lab.shows().contains("a cell of text is read, not run; Esc shows it"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    assert!(lab.shows().contains("• item"));
    lab.key(KeyCode::F(5));
    assert!(lab.shows().contains("a cell of text is read, not run"), "{}", lab.shows());
    lab.types("y");
    assert!(lab.shows().contains("- **item**"));
}

#[test]
fn a_paste_is_kept_whole_and_is_one_step() {
    let mut lab = typing("x");
    lab.tell(Msg::Paste("for i in 0..2 {\n    print(i);\n}\n".into()));
    assert_eq!(code(&lab), "for i in 0..2 {\n    print(i);\n}\nx");
    lab.ctrl('z');
    assert_eq!(code(&lab), "x");
}

#[test]
fn a_paste_keeps_its_lines_whatever_ends_them() {
    let mut lab = typing("");
    lab.tell(Msg::Paste("let a = 1;\rlet b = 2;\r\n// a comment\ra + b".into()));
    assert_eq!(code(&lab), "let a = 1;\nlet b = 2;\n// a comment\na + b");
    lab.ctrl('f');
    lab.tell(Msg::Paste("let b\rmore".into()));
    assert!(lab.shows().contains("find: let b▏"), "one line is looked for: {}", lab.shows());
}
