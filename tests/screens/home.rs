//! The home screen.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use insta::assert_snapshot;
use tensorlab::lab::{
    Colour, Completed, Confirm, Document, Effect, Found, HomeLesson, HomePack, Keeping, Listing, Look, Msg,
    Pane, Popup, Recent, Screen, State, Target, render_to_string, update,
};
use tensorlab::session::protocol::Request;

use super::fixture::*;

const PLAIN: Look = Look { colour: Colour::None, light: false, ascii: false };

fn listing() -> Listing {
    let lesson = |id: &str, title: &str, minutes, done, steps| HomeLesson {
        id: id.into(),
        title: title.into(),
        summary: format!("What {title} is about, and why it matters when memory is short and time as well."),
        minutes,
        done,
        steps,
        missing: if id == "queues" { vec!["waiting".into()] } else { vec![] },
    };
    let course = HomePack {
        id: "course".into(),
        title: "Course".into(),
        lessons: vec![
            lesson("first-contact", "First contact", 15, 9, 9),
            lesson("moving", "Moving tensors", 20, 4, 12),
            lesson("queues", "Queues", 120, 0, 8),
        ],
    };
    let other = HomePack {
        id: "own".into(),
        title: "A pack of one's own \u{1b}[31m".into(),
        lessons: vec![lesson(
            "x",
            "Another lesson with a very long title that goes on and on, and on still",
            5,
            0,
            1,
        )],
    };
    let resume = Target::Lesson { pack: "course".into(), id: "moving".into() };
    Listing {
        packs: vec![course, other],
        notebooks: vec![Recent { path: "/home/me/work/first.rhai".into(), when: "2 hours ago".into() }],
        resume: Some((resume, "Continue: Moving tensors (4 of 12 done)".into())),
        notes: vec![],
    }
}

/// The home screen, once it was told all.
fn home(look: Look) -> Lab {
    let mut lab = Lab::new(Document::default(), look, 120, 40);
    lab.state = State::at_home(look);
    lab.tell(Msg::Resize(120, 40));
    lab.tell(Msg::Listed(Box::new(listing())));
    let found = |device: &str, name: &str, memory, simulated| Found {
        device: device.into(),
        name: name.into(),
        memory,
        simulated,
    };
    lab.tell(Msg::Found(vec![
        found("cpu", "16 cores", 0, false),
        found("cuda:0", "Tesla T4", 15_109 * MIB, false),
    ]));
    lab
}

fn shot(lab: &mut Lab, columns: u16, rows: u16) -> String {
    lab.tell(Msg::Resize(columns, rows));
    render_to_string(&lab.state, columns, rows)
}

fn opened(lab: &Lab) -> Option<&Target> {
    lab.effects.iter().rev().find_map(|effect| match effect {
        Effect::Open(target) => Some(target),
        _ => None,
    })
}

#[test]
fn behind_the_last_page_of_a_lesson_comes_the_next_lesson() {
    let mut lab = Lab::new(lesson(), PLAIN, 120, 40);
    lab.says(ready());
    let mut all = listing();
    for (found, id) in all.packs[0].lessons.iter_mut().zip(["moving-little", "queues", "last"]) {
        found.id = id.into();
    }
    lab.tell(Msg::Listed(Box::new(all)));
    while !lab.shows().contains("How far you are") {
        lab.key(KeyCode::Char('n'));
    }
    let shown = lab.shows();
    assert!(shown.contains("opens it, and F7"), "{shown}");
    let bar = |lab: &Lab| lab.shows().lines().last().unwrap().to_owned();
    assert!(bar(&lab).contains("n next lesson"), "{shown}");
    lab.key(KeyCode::Char('p'));
    assert!(bar(&lab).contains("n next step"), "{}", lab.shows());
    lab.key(KeyCode::Char('n'));
    lab.types("?/next lesson");
    assert!(lab.shows().contains("next step, or behind the last the next lesson"), "{}", lab.shows());
    (0..2).for_each(|_| lab.key(KeyCode::Esc));
    assert!(opened(&lab).is_none());
    lab.key(KeyCode::Char('n'));
    assert_eq!(opened(&lab), Some(&Target::Lesson { pack: "course".into(), id: "queues".into() }));
}

#[test]
fn behind_the_last_page_of_the_last_lesson_comes_nothing() {
    let mut lab = Lab::ready(120, 40);
    while !lab.shows().contains("How far you are") {
        lab.key(KeyCode::Char('n'));
    }
    assert!(!lab.shows().lines().last().unwrap().contains("n next"), "{}", lab.shows());
}

fn lesson_target(id: &str) -> Target {
    Target::Lesson { pack: "course".into(), id: id.into() }
}

#[test]
fn the_home_screen_at_each_size() {
    let mut lab = home(look(Colour::True));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Down);
    assert_snapshot!("home_at_80x24", shot(&mut lab, 80, 24));
    assert_snapshot!("home_at_120x40", shot(&mut lab, 120, 40));
    assert_snapshot!("home_at_200x60", shot(&mut lab, 200, 60));
    let mut plain = home(PLAIN);
    plain.key(KeyCode::Down);
    plain.key(KeyCode::Down);
    assert_eq!(shot(&mut plain, 80, 24), shot(&mut lab, 80, 24), "colours change no character");
    let mut ascii = home(Look { ascii: true, ..PLAIN });
    let shown = shot(&mut ascii, 80, 24);
    assert!(shown.is_ascii());
    assert_snapshot!("home_in_ascii_at_80x24", shown);
    assert!(shot(&mut lab, 59, 24).contains("needs 60 x 20"));
}

#[test]
fn before_anything_is_known_there_is_a_screen() {
    let state = State::at_home(PLAIN);
    let shown = render_to_string(&state, 80, 24);
    assert!(shown.contains("looking") && shown.contains("by its path"), "{shown}");
}

#[test]
fn one_key_continues_and_enter_opens_what_is_selected() {
    let mut lab = home(look(Colour::True));
    lab.key(KeyCode::Char('c'));
    assert_eq!(opened(&lab), Some(&lesson_target("moving")));
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    assert_eq!(opened(&lab), Some(&lesson_target("first-contact")));
    lab.key(KeyCode::End);
    lab.key(KeyCode::Up);
    lab.key(KeyCode::Enter);
    assert_eq!(opened(&lab), Some(&Target::Notebook("/home/me/work/first.rhai".into())));
    lab.key(KeyCode::Char('q'));
    assert_eq!(lab.effects.last(), Some(&Effect::Quit));
}

#[test]
fn a_path_is_typed_and_gets_its_ending() {
    let mut lab = home(look(Colour::True));
    lab.key(KeyCode::Char('o'));
    lab.types("work/qx\u{8}");
    lab.key(KeyCode::Backspace);
    assert!(lab.shows().contains("Path: work/q"), "{}", lab.shows());
    assert!(!lab.effects.contains(&Effect::Quit), "q is a letter while typing");
    lab.key(KeyCode::Enter);
    assert_eq!(opened(&lab), Some(&Target::Notebook(PathBuf::from("work/q.rhai"))));
    lab.key(KeyCode::Char('n'));
    lab.tell(Msg::Paste("/tmp/a b.rhai\n".into()));
    lab.key(KeyCode::Enter);
    assert_eq!(opened(&lab), Some(&Target::Notebook(PathBuf::from("/tmp/a b.rhai"))));
    lab.key(KeyCode::Char('o'));
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("type a path"));
    let before = lab.effects.len();
    lab.types("work/");
    lab.key(KeyCode::Enter);
    assert!(lab.shows().contains("that is a folder") && lab.effects.len() == before, "{}", lab.shows());
    lab.key(KeyCode::Esc);
    assert!(!lab.shows().contains("Path:"));
}

#[test]
fn a_path_that_can_not_be_opened_can_be_mended() {
    let mut lab = home(look(Colour::True));
    lab.types("omissing/q\n");
    lab.tell(Msg::NotOpened(opened(&lab).unwrap().clone()));
    assert!(lab.shows().contains("Path: missing/q.rhai"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    // What was chosen of the list has no path to mend.
    lab.key(KeyCode::Home);
    lab.tell(Msg::NotOpened(Target::Notebook("other.rhai".into())));
    assert!(!lab.shows().contains("Path:"), "{}", lab.shows());
}

#[test]
fn what_is_opened_takes_the_place_of_what_was() {
    let mut lab = home(look(Colour::True));
    lab.tell(Msg::Opened { document: lesson(), at: Some("bytes-across".into()), keeping: Keeping::Nothing });
    assert_eq!((lab.state.screen(), lab.state.focus()), (Screen::Work, Pane::Cells));
    lab.says(ready());
    assert!(lab.shows().contains("▌Predict"), "{}", lab.shows());
    lab.key(KeyCode::F(7));
    assert_eq!(lab.state.screen(), Screen::Home);
    assert_eq!(lab.effects.last(), Some(&Effect::List), "progress is read anew");
    lab.key(KeyCode::Esc);
    assert_eq!(lab.state.screen(), Screen::Work);
    // Text of one's own is not thrown away unasked.
    lab.key(KeyCode::Char('b'));
    lab.key(KeyCode::Enter);
    lab.types("1");
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::F(7));
    lab.key(KeyCode::Enter);
    assert_eq!(lab.state.popup(), Some(Popup::Confirm(Confirm::Open)));
    assert_eq!(opened(&lab), None);
    lab.key(KeyCode::Char('n'));
    assert_eq!(opened(&lab), None);
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Char('y'));
    assert_eq!(opened(&lab), Some(&lesson_target("moving")));
    lab.tell(Msg::Opened { document: Document::notebook("n", []), at: None, keeping: Keeping::OnSave });
    lab.says(ready());
    lab.key(KeyCode::F(5));
    let evaluations: Vec<&Request> =
        lab.sent.iter().filter(|r| matches!(r, Request::Evaluate { .. })).collect();
    assert_eq!((evaluations.len(), lab.evaluation().1), (1, 1), "numbers begin anew");
    assert_eq!(lab.state.unsaved(), 0);
}

#[test]
fn a_click_selects_and_a_second_one_opens() {
    let mut lab = home(look(Colour::True));
    let shown = lab.shows();
    let row = shown.lines().position(|line| line.contains("Queues")).unwrap();
    let kind = MouseEventKind::Down(MouseButton::Left);
    let click = Msg::Mouse(MouseEvent {
        kind,
        column: 40,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    });
    lab.tell(click.clone());
    assert_eq!(opened(&lab), None);
    assert!(lab.shows().contains("What Queues is about"));
    lab.tell(click);
    assert_eq!(opened(&lab), Some(&lesson_target("queues")));
}

#[test]
fn a_document_opened_alone_has_no_home() {
    let mut state = State::new(Document::notebook("n", []), PLAIN);
    update(&mut state, Msg::Resize(80, 24));
    let key = crossterm::event::KeyEvent::new(KeyCode::F(7), KeyModifiers::NONE);
    assert!(update(&mut state, Msg::Key(key)).is_empty());
    assert_eq!(state.screen(), Screen::Work);
}

#[test]
fn home_says_what_this_is_and_what_a_lesson_lacks() {
    let mut lab = home(look(Colour::True));
    let shown = shot(&mut lab, 80, 24);
    assert!(shown.contains("Learn what a GPU, real or simulated, does to your tensors"), "{shown}");
    assert!(!shown.contains("waiting"), "{shown}");
    (0..3).for_each(|_| lab.key(KeyCode::Down));
    let shown = shot(&mut lab, 120, 40);
    assert!(shown.contains("it builds on waiting, which is not among the lessons here"), "{shown}");
}

#[test]
fn tab_completes_a_path_and_tells_what_fits() {
    let mut lab = home(look(Colour::True));
    lab.types("owo");
    lab.key(KeyCode::Tab);
    assert_eq!(lab.effects.last(), Some(&Effect::CompletePath("wo".into())));
    let completed = |text: &str, names: &[&str]| Completed {
        text: text.into(),
        names: names.iter().map(|name| (*name).into()).collect(),
    };
    lab.tell(Msg::PathCompleted { typed: "wo".into(), completed: completed("work/", &["work/"]) });
    assert!(lab.shows().contains("Path: work/"), "{}", lab.shows());
    let both = completed("work/a", &["a.rhai", "ab.rhai"]);
    lab.tell(Msg::PathCompleted { typed: "work/".into(), completed: both });
    let shown = lab.shows();
    assert!(shown.contains("Path: work/a") && shown.contains("a.rhai  ab.rhai"), "{shown}");
    lab.types("x");
    lab.tell(Msg::PathCompleted {
        typed: "work/a".into(),
        completed: completed("work/ab.rhai", &["ab.rhai"]),
    });
    assert!(lab.shows().contains("Path: work/ax"), "what was typed since stays: {}", lab.shows());
    lab.tell(Msg::PathCompleted { typed: "work/ax".into(), completed: completed("work/ax", &[]) });
    assert!(lab.shows().contains("no folder and no notebook begins so"), "{}", lab.shows());
}

#[test]
fn all_messages_are_read_at_home_too() {
    let mut lab = home(look(Colour::True));
    lab.tell(Msg::Note("cannot read it: it is damaged".into()));
    lab.wait(std::time::Duration::from_secs(10));
    lab.key(KeyCode::Down);
    assert!(!lab.shows().contains("it is damaged"), "{}", lab.shows());
    lab.key(KeyCode::F(8));
    assert!(lab.shows().contains("cannot read it: it is damaged"), "{}", lab.shows());
}
