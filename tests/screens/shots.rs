//! Snapshots of whole screens, as text and, where styles matter, with the style of every character.

use std::fmt::Write;
use std::time::Duration;

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use ratatui::style::{Color, Modifier};
use tensorlab::base::Device;
use tensorlab::lab::{Colour, Look, Msg, State, render, render_to_string, render_to_svg};
use tensorlab::session::protocol::{Message, Outcome, Request, Verdict};

use super::fixture::*;

/// The frame, then the same frame as letters that stand for styles, then what the letters mean.
pub fn with_styles(state: &State, columns: u16, rows: u16) -> String {
    let buffer = render(state, columns, rows);
    let mut legend: Vec<String> = Vec::new();
    let mut letters = String::new();
    for y in 0..rows {
        let mut line = String::new();
        for x in 0..columns {
            let cell = &buffer[(x, y)];
            let style = format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            if style == "Reset on Reset NONE" {
                line.push(' ');
                continue;
            }
            let at = legend.iter().position(|known| *known == style).unwrap_or_else(|| {
                legend.push(style);
                legend.len() - 1
            });
            line.push(char::from(b'a' + u8::try_from(at).unwrap()));
        }
        letters.push_str(line.trim_end());
        letters.push('\n');
    }
    let mut out = render_to_string(state, columns, rows);
    out.push_str(&letters);
    for (i, style) in legend.iter().enumerate() {
        let _ = writeln!(out, "{}: {style}", char::from(b'a' + u8::try_from(i).unwrap()));
    }
    out
}

fn shot(lab: &mut Lab, columns: u16, rows: u16) -> String {
    lab.tell(Msg::Resize(columns, rows));
    render_to_string(&lab.state, columns, rows)
}

/// The lesson after its first cell.
fn moved(look: Look) -> Lab {
    let mut lab = Lab::new(lesson(), look, 120, 40);
    lab.says(ready());
    lab.first_cell_runs();
    lab
}

/// The second cell runs, after a prediction, and has printed and copied something.
fn running() -> Lab {
    let mut lab = moved(look(Colour::True));
    lab.key(KeyCode::Down);
    lab.types("4 MiB\n");
    lab.key(KeyCode::F(5));
    lab.starts();
    lab.happens(
        2,
        1,
        [
            alloc(OTHER_GPU, 0x8000, 4 * MIB, 4 * MIB, 20 * MIB, "cuda", &[1024, 1024]),
            copy(GPU, OTHER_GPU, 4 * MIB, 380_000, true),
            launch(GPU),
            implicit_sync(GPU),
        ],
    );
    lab.prints("epoch 1\nepoch 2\n");
    let (id, ..) = lab.evaluation();
    lab.says(Message::Progress {
        id,
        label: "train".into(),
        done: 3,
        total: Some(8),
        note: "loss 0.31".into(),
    });
    lab.wait(Duration::from_millis(2340));
    lab
}

/// The second cell has failed; the panel's sizes are those of a used device.
fn failed() -> Lab {
    let mut lab = running();
    lab.finishes(Outcome::Error { fault: mixed_devices() }, usage());
    lab.says_variables(&[("x", Device::Cpu, 0x1000), ("y", GPU, 0x7000), ("z", OTHER_GPU, 0x8000)]);
    lab
}

#[test]
fn a_lesson_in_colour_at_80x24() {
    let mut lab = moved(look(Colour::True));
    lab.tell(Msg::Resize(80, 24));
    assert_snapshot!(with_styles(&lab.state, 80, 24));
}

#[test]
fn a_lesson_without_colour_at_80x24() {
    let mut lab = moved(look(Colour::None));
    lab.tell(Msg::Resize(80, 24));
    assert_snapshot!(with_styles(&lab.state, 80, 24));
}

#[test]
fn the_lesson_pane_at_80x24() {
    let mut lab = moved(look(Colour::True));
    lab.key(KeyCode::F(1));
    assert_snapshot!(shot(&mut lab, 80, 24));
}

#[test]
fn the_machine_pane_at_80x24() {
    let mut lab = failed();
    lab.key(KeyCode::F(3));
    assert_snapshot!(shot(&mut lab, 80, 24));
}

#[test]
fn two_panes_at_110x30() {
    assert_snapshot!(shot(&mut moved(look(Colour::True)), 110, 30));
}

#[test]
fn a_lesson_at_120x40() {
    assert_snapshot!(shot(&mut moved(look(Colour::True)), 120, 40));
}

#[test]
fn a_lesson_without_colour_at_120x40() {
    assert_snapshot!(shot(&mut moved(look(Colour::None)), 120, 40));
}

#[test]
fn a_running_cell_at_120x40() {
    assert_snapshot!(shot(&mut running(), 120, 40));
}

#[test]
fn a_failed_cell_at_120x40() {
    assert_snapshot!(shot(&mut failed(), 120, 40));
}

#[test]
fn a_failed_cell_at_200x60() {
    assert_snapshot!(shot(&mut failed(), 200, 60));
}

#[test]
fn a_failed_cell_without_colour_at_200x60() {
    let mut lab = failed();
    lab.tell(Msg::Resize(200, 60));
    let plain = render_to_string(&lab.state, 200, 60);
    let mut lab = moved(Look { colour: Colour::None, light: true, ascii: false });
    lab.tell(Msg::Resize(200, 60));
    assert_ne!(plain, render_to_string(&lab.state, 200, 60));
    assert_snapshot!(render_to_string(&lab.state, 200, 60));
}

#[test]
fn an_exercise_that_fails_its_check_at_120x40() {
    let mut lab = Lab::ready(120, 40);
    lab.key(KeyCode::Char('n'));
    lab.key(KeyCode::F(2));
    lab.types("12");
    lab.key(KeyCode::Down);
    lab.key(KeyCode::F(5));
    for _ in 0..3 {
        lab.succeeds(None); // what comes before, and the set-up
    }
    lab.happens(1, 2, (1..=12).map(|i| copy(Device::Cpu, GPU, i * 123_456, 90_000 * i, i % 3 == 0)));
    lab.succeeds(None);
    let check = lab.sent.iter().rev().find_map(|request| match request {
        Request::Check { id, .. } => Some(*id),
        _ => None,
    });
    let reason = "at most one copy to the GPU, there were 12".to_owned();
    lab.says(Message::CheckResult {
        id: check.unwrap(),
        verdict: Verdict::Fail { reason, line: Some(2) },
        check_line: None,
    });
    lab.key(KeyCode::Char('h'));
    assert_snapshot!(shot(&mut lab, 120, 40));
}

#[test]
fn a_dead_session_at_120x40() {
    let mut lab = running();
    lab.dies("the machine ran out of memory");
    assert_snapshot!(shot(&mut lab, 120, 40));
}

#[test]
fn typing_in_a_cell_in_ascii_at_80x24() {
    let mut lab = moved(Look { colour: Colour::None, light: false, ascii: true });
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::End);
    lab.types("\nlet w = \"µ→\";");
    let shown = shot(&mut lab, 80, 24);
    assert!(shown.is_ascii(), "{shown}");
    assert_snapshot!(shown);
}

#[test]
fn the_help_at_80x24() {
    let mut lab = Lab::ready(80, 24);
    lab.key(KeyCode::Char('?'));
    assert_snapshot!(shot(&mut lab, 80, 24));
}

#[test]
fn a_question_before_quitting() {
    let mut lab = running();
    lab.key(KeyCode::Char('q'));
    assert_snapshot!(shot(&mut lab, 80, 24));
}

#[test]
fn a_terminal_that_is_too_small() {
    assert_snapshot!(shot(&mut Lab::ready(59, 20), 59, 20));
}

#[test]
fn without_colour_there_is_none_and_the_selection_is_seen() {
    let lab = moved(Look { colour: Colour::None, light: true, ascii: false });
    let buffer = render(&lab.state, 120, 40);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let reversed = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
    let label: String = buffer.content.iter().filter(reversed).map(|cell| cell.symbol()).collect();
    assert!(label.contains("In [1]"), "{label}");
}

#[test]
fn a_picture_has_every_character_and_closes_its_tags() {
    let mut lab = failed();
    lab.tell(Msg::Resize(120, 40));
    let svg = render_to_svg(&lab.state, 120, 40);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<text ").count(), svg.matches("</text>").count());
    for word in ["RuntimeError:", "tensorlab", "15,109", "&quot;cuda:0&quot;", "modelled"] {
        assert!(svg.contains(word), "{word} is not in the picture");
    }
}
