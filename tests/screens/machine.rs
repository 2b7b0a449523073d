//! The machine, as a pane and full-screen: what it shows, and what picking does.

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use insta::assert_snapshot;
use ratatui::style::{Color, Modifier};
use tensorlab::base::event::{ANSWER_CELLS, Body, CHECK_CELLS, Clock, HIDDEN_CELLS, Span};
use tensorlab::base::{DType, Device};
use tensorlab::lab::{Colour, Look, Msg, Pane, Popup, Screen, Section, State, render, render_to_string};
use tensorlab::session::digest::{Deeds, DeviceDigest, Digest, Gap};
use tensorlab::session::protocol::{Message, TensorInfo, Variable};

use super::fixture::*;

const PLAIN: Look = Look { colour: Colour::None, light: false, ascii: false };
const ASCII: Look = Look { ascii: true, ..PLAIN };

/// The lesson after two cells: memory in several segments, copies of each kind, kernels on two streams, waits.
fn busy(look: Look) -> Lab {
    let mut lab = Lab::new(lesson(), look, 120, 40);
    lab.says(ready());
    lab.first_cell_runs();
    lab.key(KeyCode::Down);
    lab.types("s");
    lab.key(KeyCode::F(5));
    lab.starts();
    let before = 20 * MIB;
    lab.happens(
        2,
        1,
        [
            segment(GPU, 0x4000_0000, 2 * MIB, before + 2 * MIB),
            alloc(GPU, 0x4000_0000, 512 << 10, 4 * MIB, before + 2 * MIB, "zeros", &[128, 1024]),
            alloc(GPU, 0x4008_0000, 512 << 10, 5 * MIB, before + 2 * MIB, "ones", &[128, 1024]),
            free(GPU, 0x4000_0000, 512 << 10, 4 * MIB, before + 2 * MIB),
            segment(OTHER_GPU, 0x8000, 20 * MIB, 20 * MIB),
            alloc(OTHER_GPU, 0x8000, 4 * MIB, 4 * MIB, 20 * MIB, "cuda", &[1024, 1024]),
            at(copy(GPU, OTHER_GPU, 4 * MIB, 380_000, true), 361_000, 0),
        ],
    );
    let kernels = (0..20).map(|i| at(launch(GPU), 400_000 + i * 12_000, 0));
    lab.happens(2, 2, kernels);
    lab.happens(2, 2, (0..3).map(|i| at(launch(GPU), 420_000 + i * 90_000, 7)));
    lab.happens(2, 2, [at(implicit_sync(GPU), 650_000, 0), at(implicit_sync(GPU), 700_000, 0)]);
    lab.happens(
        2,
        2,
        [measured(at(launch(Device::Cpu), 1_000_000, 0)), measured(at(launch(Device::Cpu), 1_004_000, 2))],
    );
    lab.succeeds(Some("false"));
    lab.measures(4_194_304.0);
    let id = inspection(&lab);
    let (variables, held) = scope();
    lab.says(Message::State { id, variables, devices: vec![], held });
    lab
}

/// The number of the last question for the variables.
fn inspection(lab: &Lab) -> u64 {
    let asked = lab.sent.iter().rev().find_map(|request| match request {
        tensorlab::session::protocol::Request::Inspect { id } => Some(*id),
        _ => None,
    });
    asked.expect("the variables were asked for")
}

fn tensor(device: Device, address: u64, grad: Option<u64>) -> TensorInfo {
    TensorInfo {
        shape: vec![1024, 1024],
        dtype: DType::Float32,
        device,
        bytes: 4 * MIB,
        address,
        requires_grad: grad.is_some(),
        grad,
        is_view: false,
    }
}

/// `x` on the CPU, `y` with a gradient on one GPU, `z` on the other, and a module with a weight.
fn scope() -> (Vec<Variable>, Vec<(String, TensorInfo)>) {
    let variable = |name: &str, tensor| Variable {
        name: name.into(),
        type_name: "Tensor".into(),
        summary: String::new(),
        tensor: Some(tensor),
    };
    let variables = vec![
        variable("x", tensor(Device::Cpu, 0x1000, None)),
        variable("y", tensor(GPU, 0x7000, Some(4 * MIB))),
        variable("z", tensor(OTHER_GPU, 0x8000, None)),
    ];
    (variables, vec![("net.0.weight".into(), tensor(GPU, 0x4008_0000, None))])
}

/// The screen with a section.
fn screen(look: Look, section: Section) -> Lab {
    let mut lab = busy(look);
    lab.key(KeyCode::F(6));
    for _ in 0..Section::ALL.len() {
        if lab.state.section() != section {
            lab.key(KeyCode::Tab);
        }
    }
    assert_eq!(lab.state.section(), section);
    lab
}

fn shot(lab: &mut Lab, columns: u16, rows: u16) -> String {
    lab.tell(Msg::Resize(columns, rows));
    let shown = render_to_string(&lab.state, columns, rows);
    let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(widest <= usize::from(columns));
    shown
}

fn click(column: u16, row: u16) -> Msg {
    let kind = MouseEventKind::Down(MouseButton::Left);
    Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

fn wheel(kind: MouseEventKind, column: u16, row: u16) -> Msg {
    Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

/// Column and row of a text on the screen.
fn find(state: &State, columns: u16, rows: u16, text: &str) -> (u16, u16) {
    let shown = render_to_string(state, columns, rows);
    let found = shown.lines().enumerate().find_map(|(y, line)| {
        line.find(text).map(|at| (line[..at].chars().count() as u16, u16::try_from(y).unwrap()))
    });
    found.unwrap_or_else(|| panic!("{text:?} is not in\n{shown}"))
}

#[test]
fn each_section_at_80x24() {
    for (name, section) in [
        ("memory", Section::Memory),
        ("tensors", Section::Tensors),
        ("transfers", Section::Transfers),
        ("timeline", Section::Timeline),
    ] {
        let shown = shot(&mut screen(look(Colour::True), section), 80, 24);
        assert_snapshot!(format!("{name}_at_80x24"), shown);
        let plain = shot(&mut screen(PLAIN, section), 80, 24);
        assert_eq!(shown, plain, "colours change no character");
        let ascii = shot(&mut screen(ASCII, section), 80, 24);
        assert!(ascii.is_ascii(), "{ascii}");
        assert_snapshot!(format!("{name}_in_ascii_at_80x24"), ascii);
    }
}

#[test]
fn the_whole_machine_at_120x40_and_200x60() {
    let mut lab = screen(look(Colour::True), Section::Transfers);
    lab.key(KeyCode::Down);
    assert_snapshot!("screen_at_120x40", shot(&mut lab, 120, 40));
    assert_snapshot!("screen_at_200x60", shot(&mut lab, 200, 60));
    let mut plain = screen(PLAIN, Section::Timeline);
    plain.key(KeyCode::Char('.'));
    assert_snapshot!("screen_without_colour_at_120x40", shot(&mut plain, 120, 40));
    let buffer = render(&plain.state, 200, 60);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(buffer.content.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)), "the pick is seen");
    let mut ascii = screen(ASCII, Section::Memory);
    let shown = shot(&mut ascii, 200, 60);
    assert!(shown.is_ascii());
    assert_snapshot!("screen_in_ascii_at_200x60", shown);
}

#[test]
fn the_glossary_opens_at_the_section_and_leads_to_the_keys() {
    let mut lab = screen(look(Colour::True), Section::Transfers);
    lab.key(KeyCode::Char('?'));
    assert!(matches!(lab.state.popup(), Some(Popup::Glossary(top)) if top > 0));
    let shown = shot(&mut lab, 80, 24);
    assert!(shown.contains("pageable") && shown.contains("pinned"), "{shown}");
    assert_snapshot!("glossary_at_80x24", shown);
    lab.key(KeyCode::Home);
    assert_eq!(lab.state.popup(), Some(Popup::Glossary(0)));
    lab.key(KeyCode::End);
    let Some(Popup::Glossary(end)) = lab.state.popup() else { panic!() };
    lab.key(KeyCode::Up);
    assert_eq!(lab.state.popup(), Some(Popup::Glossary(end - 1)));
    lab.key(KeyCode::Tab);
    assert_eq!(lab.state.popup(), Some(Popup::Help(0)));
    lab.key(KeyCode::End);
    assert!(matches!(lab.state.popup(), Some(Popup::Help(top)) if top > 0));
    lab.key(KeyCode::Home);
    assert_eq!(lab.state.popup(), Some(Popup::Help(0)));
    lab.key(KeyCode::Esc);
    assert_eq!((lab.state.popup(), lab.state.screen()), (None, Screen::Machine));
}

#[test]
fn the_first_arrow_scrolls_where_the_glossary_opens_at_its_end() {
    let mut lab = screen(look(Colour::True), *Section::ALL.last().unwrap());
    shot(&mut lab, 80, 60);
    lab.key(KeyCode::Char('?'));
    let Some(Popup::Glossary(top)) = lab.state.popup() else { panic!() };
    lab.key(KeyCode::End);
    let Some(Popup::Glossary(end)) = lab.state.popup() else { panic!() };
    assert!(top <= end, "it opens at row {top}, and row {end} is the last that it scrolls to");
}

#[test]
fn a_picked_transfer_shows_its_line_and_enter_goes_there() {
    let mut lab = busy(look(Colour::True));
    lab.key(KeyCode::F(3));
    lab.key(KeyCode::Right);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Down);
    let shown = lab.shows();
    assert!(shown.contains("In [1]:2") && shown.contains("let y = x.to"), "{shown}");
    assert!(shown.contains("▶2"), "the line is pointed at:\n{shown}");
    assert_snapshot!("picked_in_the_pane_at_120x40", shown);
    lab.key(KeyCode::F(6));
    lab.key(KeyCode::Enter);
    assert_eq!((lab.state.screen(), lab.state.focus()), (Screen::Work, Pane::Cells));
    assert!(lab.shows().contains("▌In [1]"), "{}", lab.shows());
}

#[test]
fn a_selected_cell_marks_what_it_did() {
    let mut lab = busy(look(Colour::True));
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Home);
    let mut marked = || {
        let shown = shot(&mut lab, 200, 60);
        shown.lines().filter(|line| line.contains('•')).map(str::to_owned).collect::<Vec<_>>()
    };
    let of_first = marked();
    assert!(of_first.iter().any(|row| row.contains("•h2d cpu→cuda:0")), "{of_first:#?}");
    assert!(!of_first.iter().any(|row| row.contains("•d2d cuda:0→cuda:1")), "{of_first:#?}");
    lab.key(KeyCode::End);
    lab.key(KeyCode::F(6));
    lab.key(KeyCode::Char('['));
    assert!(lab.shows().contains("In [2]"), "{}", lab.shows());
}

#[test]
fn a_click_picks_an_event_and_the_wheel_zooms() {
    let mut lab = screen(look(Colour::True), Section::Memory);
    let (column, row) = find(&lab.state, 120, 40, "▲");
    // The first flag is in the memory's figures; the timeline's is on the host's lane.
    let (_, host) = find(&lab.state, 120, 40, " host");
    let line = render_to_string(&lab.state, 120, 40).lines().nth(usize::from(host)).unwrap().to_owned();
    let flag = line.chars().position(|c| c == '▲').expect("an implicit wait is flagged") as u16;
    assert_ne!((column, row), (flag, host));
    lab.tell(click(flag, host));
    assert_eq!(lab.state.section(), Section::Timeline);
    let shown = lab.shows();
    assert!(shown.contains("implicit: nobody asked for it, item made the host wait"), "{shown}");
    assert!(shown.contains("In [2]:2  z is y"), "{shown}");
    let before = shown;
    lab.tell(wheel(MouseEventKind::ScrollUp, flag, host));
    let axis = |shown: &str| {
        shown.lines().find(|l| l.contains(" modelled ") && l.contains("shown")).unwrap().to_owned()
    };
    assert_ne!(axis(&before), axis(&lab.shows()), "the wheel zooms");
    lab.key(KeyCode::Char('f'));
    assert_eq!(axis(&before), axis(&lab.shows()));
    let (_, row) = find(&lab.state, 120, 40, "h2d cpu→cuda:0 ");
    lab.tell(click(60, row));
    assert!(
        lab.shows().contains("▸ copy h2d cpu→cuda:0") || lab.state.section() == Section::Transfers,
        "{}",
        lab.shows()
    );
}

#[test]
fn tensors_are_sorted_and_say_what_is_known_of_their_gradients() {
    let mut lab = screen(look(Colour::True), Section::Tensors);
    let shown = shot(&mut lab, 200, 60);
    for text in ["net.0.weight", "has .grad", "no grad", "[1024, 1024]"] {
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
    lab.key(KeyCode::Char('s'));
    let shown = shot(&mut lab, 200, 60);
    assert!(shown.contains("by bytes"), "{shown}");
    let places = ["rand In [1]:1", "ones In [2]:1"].map(|made| shown.find(made).unwrap());
    assert!(places[0] < places[1], "the larger comes first:\n{shown}");
}

#[test]
fn what_a_driver_does_not_give_is_not_nothing() {
    let mut lab = screen(look(Colour::True), Section::Memory);
    let shown = shot(&mut lab, 120, 40);
    assert!(
        shown.contains("other   n/a")
            && shown.contains("n/a: temperature, PCIe; smi() has utilisation, power"),
        "{shown}"
    );
    let id = inspection(&lab);
    let Message::Ready { mut devices, .. } = ready() else { panic!() };
    devices[1].free = Some(15_000 * MIB);
    lab.says(Message::State { id, variables: vec![], devices, held: vec![] });
    let shown = shot(&mut lab, 120, 40);
    assert!(shown.contains("other 109.0") && shown.contains("free      15,000"), "{shown}");
}

#[test]
fn history_is_a_ring_that_says_what_it_dropped() {
    let mut lab = screen(look(Colour::True), Section::Timeline);
    for i in 0..5000 {
        lab.happens(2, 1, [at(launch(GPU), i * 10_000, 0)]);
    }
    lab.happens(2, 1, (0..1200).map(|i| copy(Device::Cpu, GPU, i, 10, false)));
    let shown = shot(&mut lab, 120, 40);
    assert!(shown.contains(" of 6,229 events shown"), "{shown}");
    assert!(shown.contains("1,000 of 1,202 transfers shown"), "{shown}");
}

#[test]
fn a_stretch_that_is_known_by_its_sums_alone_is_drawn_as_such_and_counted() {
    let mut lab = screen(look(Colour::True), Section::Timeline);
    lab.happens(2, 1, [at(launch(GPU), 800_000, 0)]);
    let before = shot(&mut lab, 120, 40);
    assert!(!before.contains("events shown") && before.contains("launches 24,"), "{before}");
    let span = Span { start: 800_000, nanos: 1_000_000, clock: Clock::Modelled };
    let gaps = vec![Gap { device: GPU, stream: 0, span, events: 5000 }];
    let devices = vec![DeviceDigest { launches: 5000, ..DeviceDigest::new(GPU) }];
    let deeds = Deeds { devices, gaps, ..Deeds::default() };
    lab.says(Message::Missed { digest: Box::new(Digest { events: 5000, deeds, ..Digest::default() }) });
    lab.happens(2, 1, [at(launch(GPU), 1_800_000, 0)]);
    let shown = shot(&mut lab, 120, 40);
    let drawn = |line: &str| line.trim_start().starts_with("cuda:0 ") && line.contains("╱╱╱╱╱╱╱╱");
    assert!(shown.lines().any(drawn), "{shown}");
    assert!(shown.contains("launches 5,025,") && shown.contains(" events shown"), "{shown}");
}

#[test]
fn what_a_lesson_does_by_itself_is_shown_apart_and_only_then() {
    let mut lab = screen(look(Colour::True), Section::Transfers);
    let before = shot(&mut lab, 200, 60);
    assert!(!before.contains("lesson's own"), "{before}");
    lab.happens(HIDDEN_CELLS + 1, 3, [copy(Device::Cpu, GPU, 3 * MIB, 10, false)]);
    lab.happens(
        CHECK_CELLS + 2,
        12,
        [copy(GPU, Device::Cpu, MIB, 10, false), at(launch(GPU), 900_000, 0), implicit_sync(GPU)],
    );
    lab.happens(ANSWER_CELLS + 2, 1, [copy(GPU, Device::Cpu, 2 * MIB, 10, false)]);
    let copies = vec![(GPU, Device::Cpu, 500, 500 * MIB)];
    let sums = DeviceDigest { launches: 7, ..DeviceDigest::new(GPU) };
    let lesson = Deeds { copies, devices: vec![sums], ..Deeds::default() };
    lab.says(Message::Missed { digest: Box::new(Digest { events: 507, lesson, ..Digest::default() }) });
    let own = shot(&mut lab, 200, 60);
    assert!(own.contains("503 of the lesson's own") && own.contains("launches 23, syncs 0,"), "{own}");
    assert!(!own.contains("check of In") && own.contains("l lesson's own"), "{own}");
    lab.key(KeyCode::Char('l'));
    let apart = shot(&mut lab, 200, 60);
    for told in [
        "3 of 503 transfers shown of the lesson's own",
        "d2h cuda:0→cpu ×502 503.0 MiB",
        "the set-up",
        "check of In [2]:12",
        "prediction of In [2]",
        "the lesson's own: launches 8, syncs 0, ▲ 1 implicit",
        "timeline, the lesson's own",
    ] {
        assert!(apart.contains(told), "{told:?} is not in\n{apart}");
    }
    assert!(!apart.contains("d2d"), "{apart}");
    lab.key(KeyCode::Char('l'));
    let below = |shown: &str| shown.split_once('\n').unwrap().1.to_owned();
    let again = shot(&mut lab, 200, 60);
    // Which of them is shown is told until it has been read.
    let differ = |(a, b): &(&str, &str)| a != b && *a != " ▸ what your code did";
    let (again, own) = (below(&again), below(&own));
    let differences: Vec<_> = again.lines().zip(own.lines()).filter(differ).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn wherever_not_all_is_shown_it_says_so_beside_the_figure() {
    for whole in [false, true] {
        let mut lab = busy(look(Colour::True));
        let deeds = Deeds {
            copies: vec![(Device::Cpu, GPU, 62_228, 62_228 * MIB)],
            gaps: vec![Gap {
                device: GPU,
                stream: 0,
                span: Span { start: 0, nanos: 800_000, clock: Clock::Modelled },
                events: 62_228,
            }],
            ..Deeds::default()
        };
        lab.says(Message::Missed { digest: Box::new(Digest { events: 62_228, deeds, ..Digest::default() }) });
        if whole {
            lab.key(KeyCode::F(6));
        } else {
            lab.key(KeyCode::F(3));
        }
        for (columns, rows) in [(80, 24), (100, 30), (120, 40), (150, 42), (200, 60)] {
            for section in [Section::Transfers, Section::Timeline] {
                while lab.state.section() != section {
                    lab.key(KeyCode::Right);
                }
                let shown = shot(&mut lab, columns, rows);
                let says = |name: &str, all: [&str; 2]| {
                    let mut lines = shown.lines().filter(|line| line.contains(name) && line.contains(" of "));
                    lines.any(|line| line.contains("shown") && all.iter().any(|n| line.contains(n)))
                };
                let told = match section {
                    Section::Transfers => says(" 2 of ", ["62,230", "62k"]),
                    _ => says("timeline", ["62,257", "62k"]),
                };
                assert!(told, "{section:?} at {columns}x{rows}:\n{shown}");
            }
        }
    }
}

#[test]
fn copies_in_a_row_are_counted_or_told_apart() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::F(6));
    lab.happens(1, 1, (0..6).map(|i| at(copy(Device::Cpu, GPU, MIB, 100, false), i * 100, 0)));
    let lane = |lab: &mut Lab, columns: u16| {
        let shown = shot(lab, columns, 40);
        let mut lines = shown.lines().filter(|line| line.starts_with("  cuda:0 "));
        lines.next_back().unwrap_or_default().trim_end()[11..].to_owned()
    };
    let wide = lane(&mut lab, 120);
    assert_eq!(wide.matches('╞').count(), 6, "{wide}");
    lab.happens(1, 1, [at(launch(GPU), 90_000, 0)]);
    let narrow = lane(&mut lab, 120);
    assert!(narrow.trim_start().starts_with('6'), "{narrow}");
}

#[test]
fn a_curve_tells_how_memory_came_to_be_and_on_which_clock() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::F(6));
    lab.happens(1, 1, [segment(GPU, 0, 32 * MIB, 32 * MIB)]);
    for step in 0..8u64 {
        let held = (step + 1) * 4 * MIB;
        lab.happens(1, 1, [alloc(GPU, step * 4 * MIB, 4 * MIB, held, 32 * MIB, "ones", &[1024, 1024])]);
        lab.happens(1, 1, [at(launch(GPU), step * 100_000, 0)]);
    }
    let shown = shot(&mut lab, 200, 60);
    assert!(shown.contains("█ allocated ▒ cached, modelled clock"), "{shown}");
    let curve: Vec<&str> = shown.lines().filter(|line| line.contains('▕')).collect();
    let width = |line: &str| line.chars().filter(|c| *c == '█').count();
    assert!(curve.len() >= 5 && curve.windows(2).all(|two| width(two[0]) < width(two[1])), "{shown}");
    assert!(curve[0].trim_start().starts_with("32.00▕"), "{shown}");
}

#[test]
fn a_list_uses_the_height_that_another_leaves() {
    let mut lab = Lab::notebook(&["1"]);
    lab.key(KeyCode::F(6));
    lab.happens(1, 1, (0..60).map(|i| alloc(GPU, i * 512, 512, 512, 2 * MIB, "ones", &[128])));
    let shown = shot(&mut lab, 200, 60);
    let rows = shown.lines().filter(|line| line.contains("ones In [1]:1")).count();
    assert!(rows >= 30, "{rows} rows of tensors:\n{shown}");
}

#[test]
fn a_resize_to_nothing_and_back_changes_nothing() {
    let mut lab = screen(look(Colour::True), Section::Timeline);
    lab.key(KeyCode::Char('.'));
    let before = shot(&mut lab, 120, 40);
    for (columns, rows) in [(1, 1), (0, 0), (59, 30), (80, 19), (300, 100), (60, 20)] {
        lab.tell(Msg::Resize(columns, rows));
        let shown = render_to_string(&lab.state, columns, rows);
        if columns == 59 || rows == 19 {
            assert!(shown.contains("needs 60 x 20"), "{shown}");
        }
    }
    assert_eq!(shot(&mut lab, 120, 40), before);
}

#[test]
fn the_keys_of_the_screen_lead_there_and_back() {
    let mut lab = busy(look(Colour::True));
    lab.key(KeyCode::F(6));
    assert_eq!(lab.state.screen(), Screen::Machine);
    lab.key(KeyCode::Esc);
    assert_eq!(lab.state.screen(), Screen::Work);
    lab.key(KeyCode::F(6));
    lab.key(KeyCode::F(2));
    assert_eq!((lab.state.screen(), lab.state.focus()), (Screen::Work, Pane::Cells));
    let mut empty = Lab::notebook(&["1"]);
    empty.key(KeyCode::F(6));
    for key in ['.', ',', '+', '-', 'f', 'F', 's', 'u', 'z', '[', ']'] {
        empty.key(KeyCode::Char(key));
        empty.shows();
    }
    empty.key(KeyCode::Enter);
    assert!(empty.shows().contains("nothing is picked"), "{}", empty.shows());
}

#[test]
fn a_restart_forgets_what_was_picked_and_where_variables_were() {
    let mut lab = screen(look(Colour::True), Section::Transfers);
    lab.key(KeyCode::Down);
    assert!(lab.shows().contains("In ["));
    lab.dies("gone");
    lab.key(KeyCode::Char('r'));
    lab.says(ready());
    assert!(lab.shows().contains("none yet"), "{}", lab.shows());
    lab.key(KeyCode::Esc);
    let shown = shot(&mut lab, 200, 60);
    assert!(shown.contains("let x = rand") && !shown.contains("·f32"), "{shown}");
}

#[test]
fn a_line_is_marked_with_the_place_of_its_variables() {
    let mut lab = busy(look(Colour::True));
    lab.key(KeyCode::F(2));
    lab.tell(Msg::Resize(200, 60));
    let shown = render_to_string(&lab.state, 200, 60);
    for text in [
        "1 c·f32  let x = rand",
        "2 ≠·f32  let y = x.to",
        "y cuda:0 f32 · x cpu f32",
        "≠·f32  let z = y.cuda(1)",
    ] {
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
    assert!(!shown.contains("·f32  z is y") || shown.contains("≠·f32  z is y"), "{shown}");
    // Narrow panes tell the device alone, and the rest below.
    let shown = lab.shows();
    assert!(shown.contains("1 c let x = rand") && shown.contains("x cpu f32"), "{shown}");
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::End);
    lab.types(" // and");
    assert!(lab.shows().contains("// and"), "typing goes where the cursor is");
}

#[test]
fn events_without_a_cell_can_be_picked_as_well() {
    let mut lab = screen(look(Colour::True), Section::Transfers);
    lab.happens(0, 0, [copy(Device::Cpu, GPU, 77, 10, false)]);
    lab.happens(9, 9, [Body::PeakReset { device: GPU }]);
    lab.key(KeyCode::Home);
    lab.key(KeyCode::Down);
    assert!(lab.shows().contains("its line is not known"), "{}", lab.shows());
}

#[test]
fn the_end_of_a_session_stands_apart_from_a_title_that_it_cuts_off() {
    let mut lab = busy(PLAIN);
    lab.key(KeyCode::F(6));
    lab.tell(Msg::Resize(80, 24));
    lab.dies("it was killed by another program");
    let shown = render_to_string(&lab.state, 80, 24);
    let head = shown.lines().next().unwrap();
    assert!(head.contains(" ✗ the session ended: it was killed"), "{head}");
    assert!(head.starts_with(" tensorlab ") && head.contains("machine"), "{head}");
}

#[test]
fn its_line_is_scrolled_to_and_a_line_leads_to_its_events() {
    let long: String = (1..=77).map(|i| format!("let v{i} = {i};\n")).collect();
    let mut lab = Lab::notebook(&[&long, "2"]);
    lab.key(KeyCode::F(5));
    lab.happens(1, 54, [copy(Device::Cpu, GPU, MIB, 1000, false)]);
    lab.happens(1, 60, [launch(GPU), launch(GPU)]);
    lab.succeeds(None);
    lab.key(KeyCode::F(3));
    lab.key(KeyCode::Right);
    lab.key(KeyCode::Down);
    lab.key(KeyCode::Enter);
    let shown = lab.shows();
    assert!(shown.contains("▶54 let v54") || shown.contains("▶ 54 let v54"), "{shown}");
    // And back: the cursor stands at the line.
    lab.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    assert!(lab.shows().contains("event 1 of 1 that line 54 of In [1] caused"), "{}", lab.shows());
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Enter);
    for _ in 0..6 {
        lab.key(KeyCode::Down);
    }
    assert!(lab.shows().contains("•"), "what this line did is marked: {}", lab.shows());
    lab.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    lab.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    assert!(lab.shows().contains("event 2 of 2 that line 60 of In [1] caused"), "{}", lab.shows());
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Down);
    assert!(!lab.shows().contains("•"), "and what other lines did is not: {}", lab.shows());
    lab.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    assert!(lab.shows().contains("line 61 of In [1] caused no copy"), "{}", lab.shows());
    // Also while what the lesson did by itself is shown.
    lab.happens(HIDDEN_CELLS + 1, 1, [copy(Device::Cpu, GPU, MIB, 1000, false)]);
    lab.key(KeyCode::Esc);
    lab.key(KeyCode::F(3));
    lab.key(KeyCode::Char('l'));
    assert!(lab.shows().contains("what the lesson did by itself"), "{}", lab.shows());
    lab.key(KeyCode::F(2));
    lab.key(KeyCode::Enter);
    lab.key(KeyCode::Up);
    lab.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    assert!(lab.shows().contains("event 1 of 2 that line 60 of In [1] caused"), "{}", lab.shows());
}
