//! Figures in cells: as characters, as the terminal's own pictures, redrawn, scrolled, resized.

use crossterm::event::KeyCode;
use insta::assert_snapshot;
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;
use tensorlab::lab::{Canvas, Colour, Document, Effect, Graphics, Look, Msg, render};
use tensorlab::plot::{ColorMap, Figure, Series};
use tensorlab::session::protocol::{Display, Message};

use super::fixture::*;

fn losses(title: &str, values: &[f64]) -> Figure {
    let line = Series::Line { x: vec![], y: values.to_vec(), label: "loss".into() };
    Figure { title: title.into(), ..line.into() }
}

fn picture() -> Figure {
    let data = (0..12 * 16 * 3).map(|i| (i * 7 % 32) as f32 / 31.0).collect();
    let (height, width, channels) = (12, 16, 3);
    Series::Image { height, width, channels, data, color_map: ColorMap::Gray, range: None }.into()
}

fn display(lab: &mut Lab, figure: Figure, name: Option<&str>) {
    let (id, ..) = lab.evaluation();
    let content = Display::Figure { figure: Box::new(figure) };
    lab.says(Message::Display { id, content, display_id: name.map(String::from) });
}

/// A notebook of several cells whose first one runs.
fn running(look: Look, graphics: Graphics) -> Lab {
    let cells = ["plot::show()", "1", "2", "3", "4", "5", "6", "7", "8", "9"].map(str::to_owned);
    let mut lab = Lab::new(Document::notebook("figures", cells), look, 100, 30);
    lab.state.set_canvas(Canvas { graphics, cell: (8, 16) });
    lab.says(ready());
    lab.key(KeyCode::F(5));
    lab.starts();
    lab
}

fn screen(lab: &Lab) -> String {
    tensorlab::lab::render_to_string(&lab.state, 100, 30)
}

#[test]
fn a_figure_is_half_blocks_and_braille_where_the_terminal_has_characters_alone() {
    let mut lab = running(look(Colour::True), Graphics::Blocks);
    display(&mut lab, picture(), None);
    assert!(screen(&lab).contains("▀▀▀▀"), "{}", screen(&lab));
    display(&mut lab, losses("training", &[4.0, 2.0, 1.0, 0.7, 0.6]), None);
    lab.succeeds(None);
    assert_snapshot!(tensorlab::lab::render_to_string(&lab.state, 120, 60));
}

#[test]
fn without_colours_or_beyond_ascii_it_is_a_text_chart() {
    for (ascii, graphics) in [(false, Graphics::Kitty), (true, Graphics::Sixel)] {
        let colour = if ascii { Colour::True } else { Colour::None };
        let mut lab = running(Look { colour, light: false, ascii }, graphics);
        display(&mut lab, losses("training", &[4.0, 2.0, 1.0]), None);
        let shown = screen(&lab);
        assert!(
            shown.contains("training") && !shown.contains('\u{10EEEE}') && !shown.contains('\u{1b}'),
            "{shown}"
        );
        assert_eq!(shown.is_ascii(), ascii, "{shown}");
    }
}

#[test]
fn the_screen_goes_on_while_a_figure_is_drawn() {
    let mut lab = running(look(Colour::True), Graphics::Blocks);
    lab.draws = false;
    display(&mut lab, losses("first", &[1.0, 2.0]), Some("loss"));
    assert!(screen(&lab).contains("… drawing"));
    // Until it is drawn, nothing more is asked for, however often it changes.
    for i in 0..100 {
        display(&mut lab, losses(&format!("step {i}"), &[1.0, 2.0]), Some("loss"));
    }
    let jobs = |lab: &Lab| -> Vec<Msg> {
        let jobs = lab.effects.iter().filter_map(|effect| match effect {
            Effect::Draw(job) => Some(Msg::drawn(job)),
            _ => None,
        });
        jobs.collect()
    };
    let asked = jobs(&lab);
    assert_eq!(asked.len(), 1);
    lab.tell(asked[0].clone());
    assert!(screen(&lab).contains("first"));
    let asked = jobs(&lab);
    assert_eq!(asked.len(), 2, "the newest is drawn next");
    lab.tell(asked[1].clone());
    assert!(screen(&lab).contains("step 99") && !screen(&lab).contains("first"));
    assert_eq!(jobs(&lab).len(), 2, "and nothing after it");
}

#[test]
fn what_has_a_name_is_redrawn_in_its_place() {
    let mut lab = running(look(Colour::True), Graphics::Blocks);
    lab.prints("before\n");
    display(&mut lab, losses("epoch 1", &[3.0, 2.0]), Some("loss"));
    display(&mut lab, losses("other", &[1.0, 2.0]), None);
    let (id, ..) = lab.evaluation();
    let text = |text: &str| Display::Text { text: text.into() };
    for epoch in 1..=3 {
        let content = text(&format!("epoch {epoch} of 3"));
        lab.says(Message::Display { id, content, display_id: Some("status".into()) });
    }
    display(&mut lab, losses("epoch 2", &[3.0, 2.0, 1.0]), Some("loss"));
    lab.tell(Msg::Resize(100, 70));
    let shown = tensorlab::lab::render_to_string(&lab.state, 100, 70);
    assert!(!shown.contains("epoch 1") && !shown.contains("epoch 2 of 3"), "{shown}");
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{shown}"));
    assert!(at("before") < at("epoch 2") && at("epoch 2") < at("other") && at("other") < at("epoch 3 of 3"));
}

/// A terminal that keeps what is written to it: for each place a character, or a part of a picture.
#[derive(Clone, PartialEq, Debug)]
struct FakeTerminal {
    places: Vec<Place>,
    area: Rect,
}

#[derive(Clone, PartialEq, Debug)]
enum Place {
    Character(String),
    /// A column of a row of a picture, by the sequence that drew it.
    Pixels(String, u16),
}

impl FakeTerminal {
    fn new(area: Rect) -> FakeTerminal {
        FakeTerminal { places: vec![Place::Character(" ".into()); area.area() as usize], area }
    }

    /// Writes what differs between two frames, as ratatui does.
    fn write(&mut self, before: &Buffer, after: &Buffer) {
        for (x, y, cell) in before.diff(after) {
            let at = usize::from(y) * usize::from(self.area.width) + usize::from(x);
            if !cell.symbol().starts_with('\u{1b}') {
                self.places[at] = Place::Character(cell.symbol().into());
                continue;
            }
            // The picture covers the places that are left out behind its first.
            let covered = (1..self.area.width - x)
                .take_while(|column| after[(x + column, y)].diff_option == CellDiffOption::Skip);
            for column in 0..=covered.count() as u16 {
                self.places[at + usize::from(column)] = Place::Pixels(cell.symbol().into(), column);
            }
        }
    }

    fn pixels(&self) -> usize {
        self.places.iter().filter(|place| matches!(place, Place::Pixels(..))).count()
    }
}

#[test]
fn pictures_leave_nothing_behind_when_they_are_scrolled_covered_or_redrawn() {
    let area = Rect::new(0, 0, 100, 30);
    for graphics in [Graphics::Sixel, Graphics::Iterm2, Graphics::Kitty] {
        let mut lab = running(look(Colour::True), graphics);
        let mut terminal = FakeTerminal::new(area);
        let mut before = Buffer::empty(area);
        let mut most = 0;
        let mut step = |lab: &Lab, what: &str| {
            let after = render(&lab.state, area.width, area.height);
            terminal.write(&before, &after);
            let mut fresh = FakeTerminal::new(area);
            fresh.write(&Buffer::empty(area), &after);
            assert_eq!(terminal, fresh, "{graphics:?} after {what}");
            before = after;
            most = most.max(terminal.pixels());
            terminal.pixels()
        };
        step(&lab, "nothing");
        display(&mut lab, losses("a", &[1.0, 2.0, 1.5]), Some("loss"));
        let shown = step(&lab, "a figure");
        display(&mut lab, losses("b", &[1.0, 2.0, 1.5, 3.0]), Some("loss"));
        assert_eq!(step(&lab, "another in its place"), shown);
        display(&mut lab, picture(), None);
        step(&lab, "a second figure");
        lab.succeeds(None);
        step(&lab, "the end");
        for _ in 0..9 {
            lab.key(KeyCode::Down);
            step(&lab, "moving down");
        }
        for _ in 0..9 {
            lab.key(KeyCode::Up);
            step(&lab, "moving up");
        }
        for _ in 0..6 {
            lab.key(KeyCode::PageDown);
            step(&lab, "scrolling");
        }
        lab.key(KeyCode::Home);
        step(&lab, "scrolling back");
        lab.key(KeyCode::Char('?'));
        assert_eq!(step(&lab, "the help"), 0, "under a question there are characters alone");
        lab.key(KeyCode::Esc);
        step(&lab, "the help is gone");
        lab.tell(Msg::Resize(100, 30));
        step(&lab, "a resize");
        let art = graphics != Graphics::Kitty;
        assert_eq!(most > 0, art, "{graphics:?} shows {most} places of pictures");
    }
}

#[test]
fn kitty_is_told_each_picture_once_and_shows_it_as_places() {
    let mut lab = running(look(Colour::True), Graphics::Kitty);
    display(&mut lab, losses("a", &[1.0, 2.0, 1.5]), None);
    let buffer = render(&lab.state, 100, 30);
    let places: Vec<_> =
        buffer.content().iter().filter(|cell| cell.symbol().starts_with('\u{10EEEE}')).collect();
    assert!(places.len() > 100, "{} places", places.len());
    assert!(places.iter().all(|cell| cell.fg == places[0].fg), "one picture has one number");
    let firsts: Vec<&str> =
        places.iter().map(|cell| cell.symbol()).filter(|s| s.chars().count() == 3).collect();
    let distinct: std::collections::HashSet<&&str> = firsts.iter().collect();
    assert!(firsts.len() >= 6 && distinct.len() == firsts.len(), "each row says which it is");
}

#[test]
fn a_narrower_cell_gets_a_narrower_picture() {
    let mut lab = running(look(Colour::True), Graphics::Sixel);
    display(&mut lab, picture(), None);
    let width = |columns: u16, lab: &mut Lab| {
        lab.tell(Msg::Resize(columns, 30));
        let buffer = render(&lab.state, columns, 30);
        let strip =
            buffer.content().iter().find(|cell| cell.symbol().starts_with("\u{1b}P")).unwrap().symbol();
        let size = strip.split('"').nth(1).unwrap().split(';').nth(2).unwrap();
        size.parse::<u32>().unwrap()
    };
    let (wide, narrow) = (width(160, &mut lab), width(62, &mut lab));
    assert!(narrow < wide && narrow % 8 == 0, "{narrow} {wide}");
}
