//! Frames without a terminal: as text, and as a picture of the terminal's cells.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::view;

/// The largest frame, in columns and rows.
const MAX: u16 = 1000;

/// A frame of `columns` x `rows` as the terminal's cells.
pub fn render(state: &State, columns: u16, rows: u16) -> Buffer {
    let area = Rect::new(0, 0, columns.min(MAX), rows.min(MAX));
    let mut buffer = Buffer::empty(area);
    view::draw(state, &mut buffer, area);
    buffer
}

/// A frame as text, without trailing spaces.
pub fn render_to_string(state: &State, columns: u16, rows: u16) -> String {
    let buffer = render(state, columns, rows);
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let line: String = row(&buffer, y).map(|(_, cell)| cell.symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Width and height of a character in the picture, in pixels, and its baseline.
const CELL: (f32, f32) = (8.4, 18.0);
const BASELINE: f32 = 13.5;
const MARGIN: f32 = 10.0;

/// A frame as an SVG picture. Each character has its place given, and lines and blocks are drawn as shapes, so
/// that the picture is the same with any font.
pub fn render_to_svg(state: &State, columns: u16, rows: u16) -> String {
    let buffer = render(state, columns, rows);
    let paper = Paper::new(state.theme.look.light);
    let width = f32::from(buffer.area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(buffer.area.height) * CELL.1 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         font-family=\"'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace\" font-size=\"14\">\n\
         <defs>{HALF}</defs>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        paper.background
    );
    for y in 0..buffer.area.height {
        let cells: Vec<(u16, &Cell)> = row(&buffer, y).collect();
        for run in cells.chunk_by(|a, b| same_run(a.1, b.1)) {
            write_run(&mut out, run, y, &paper);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// What `▒` is drawn through: a chequered mask, so that it differs from `█` in more than colour.
const HALF: &str = "<pattern id=\"chequer\" width=\"2.8\" height=\"3\" patternUnits=\"userSpaceOnUse\">\
     <rect width=\"1.4\" height=\"1.5\" fill=\"#fff\"/><rect x=\"1.4\" y=\"1.5\" width=\"1.4\" height=\"1.5\" fill=\"#fff\"/>\
     </pattern><mask id=\"half\" maskUnits=\"userSpaceOnUse\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\">\
     <rect width=\"100%\" height=\"100%\" fill=\"url(#chequer)\"/></mask>";

/// The cells of a row, without those that a wide character covers.
fn row(buffer: &Buffer, y: u16) -> impl Iterator<Item = (u16, &Cell)> {
    let mut covered = 0;
    (0..buffer.area.width).filter_map(move |x| {
        if covered > 0 {
            covered -= 1;
            return None;
        }
        let cell = buffer.cell((x, y))?;
        covered = text::width(cell.symbol()).saturating_sub(1);
        Some((x, cell))
    })
}

/// The default colours of the terminal that is pictured.
struct Paper {
    foreground: &'static str,
    background: &'static str,
}

impl Paper {
    fn new(light: bool) -> Paper {
        if light {
            Paper { foreground: "#24292f", background: "#ffffff" }
        } else {
            Paper { foreground: "#d6d6d6", background: "#15171a" }
        }
    }

    /// Foreground and background of a cell; no background where it is the paper's.
    fn colours(&self, cell: &Cell) -> (String, Option<String>) {
        let foreground = hex(cell.fg).unwrap_or_else(|| self.foreground.into());
        let background = hex(cell.bg);
        if cell.modifier.contains(Modifier::REVERSED) {
            (background.unwrap_or_else(|| self.background.into()), Some(foreground))
        } else {
            (foreground, background)
        }
    }
}

fn same_run(a: &Cell, b: &Cell) -> bool {
    let alike = match (shape(a.symbol()), shape(b.symbol())) {
        (None, None) => true,
        (Some(_), Some(_)) => a.symbol() == b.symbol(),
        _ => false,
    };
    alike && (a.fg, a.bg, a.modifier) == (b.fg, b.bg, b.modifier)
}

// Writing to a string can't fail, so its result tells nothing.
fn write_run(out: &mut String, run: &[(u16, &Cell)], y: u16, paper: &Paper) {
    let Some((x, first)) = run.first() else { return };
    let (foreground, background) = paper.colours(first);
    let columns: usize = run.iter().map(|(_, cell)| text::width(cell.symbol()).max(1)).sum();
    let (left, top) = (MARGIN + f32::from(*x) * CELL.0, MARGIN + f32::from(y) * CELL.1);
    let width = columns as f32 * CELL.0;
    if let Some(background) = background {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    match shape(first.symbol()) {
        Some(Shape::Fill(share, mask)) => {
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{foreground}\"{mask}/>",
                width * share,
                CELL.1
            );
        }
        Some(Shape::Arms(arms, thickness)) => {
            write_arms(out, arms, thickness, (left, top, width), &foreground)
        }
        None => write_words(out, run, top, first.modifier, &foreground),
    }
}

fn write_words(out: &mut String, run: &[(u16, &Cell)], top: f32, modifier: Modifier, colour: &str) {
    let mut style = String::new();
    for (of, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::DIM, " opacity=\"0.6\""),
    ] {
        if modifier.contains(of) {
            style.push_str(attribute);
        }
    }
    for word in run.split(|(_, cell)| cell.symbol() == " ").filter(|word| !word.is_empty()) {
        let place = |x: u16| format!("{:.1}", MARGIN + f32::from(x) * CELL.0);
        let places: Vec<String> = word.iter().map(|(x, _)| place(*x)).collect();
        let text: String = word.iter().map(|(_, cell)| cell.symbol()).collect();
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\"{style}>{}</text>",
            places.join(" "),
            top + BASELINE,
            escape(&text)
        );
    }
}

/// A character that is drawn: arms from the middle of its cell, or a part of the cell filled.
#[derive(Clone, Copy)]
enum Shape {
    /// Up, down, left, right, and the line's thickness in pixels.
    Arms([bool; 4], f32),
    /// Filled from the left for a share of the cell's width, with attributes that thin it out.
    Fill(f32, &'static str),
}

fn shape(symbol: &str) -> Option<Shape> {
    let arms = |up, down, left, right, thickness| Some(Shape::Arms([up, down, left, right], thickness));
    const THIN: f32 = 1.0;
    const THICK: f32 = 2.0;
    match symbol {
        "─" => arms(false, false, true, true, THIN),
        "│" => arms(true, true, false, false, THIN),
        "┌" => arms(false, true, false, true, THIN),
        "┐" => arms(false, true, true, false, THIN),
        "└" => arms(true, false, false, true, THIN),
        "┘" => arms(true, false, true, false, THIN),
        "━" => arms(false, false, true, true, THICK),
        "┃" => arms(true, true, false, false, THICK),
        "┏" => arms(false, true, false, true, THICK),
        "┓" => arms(false, true, true, false, THICK),
        "┗" => arms(true, false, false, true, THICK),
        "┛" => arms(true, false, true, false, THICK),
        "█" => Some(Shape::Fill(1.0, "")),
        "▌" => Some(Shape::Fill(0.5, "")),
        "▒" => Some(Shape::Fill(1.0, " mask=\"url(#half)\"")),
        "░" => Some(Shape::Fill(1.0, " opacity=\"0.35\"")),
        _ => None,
    }
}

/// Lines from the middle of a cell, or along a run of cells, given by its left, top and width.
fn write_arms(out: &mut String, arms: [bool; 4], thickness: f32, at: (f32, f32, f32), colour: &str) {
    let (left, top, width) = at;
    let [up, down, to_left, to_right] = arms;
    let (x, y) = (left + width / 2.0, top + CELL.1 / 2.0);
    let mut path = String::new();
    let ends = [(up, x, top), (down, x, top + CELL.1), (to_left, left, y), (to_right, left + width, y)];
    for (_, end_x, end_y) in ends.into_iter().filter(|(arm, ..)| *arm) {
        let _ = write!(path, "M{x:.1} {y:.1}L{end_x:.1} {end_y:.1}");
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{thickness}\" stroke-linecap=\"square\"/>"
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A colour as `#rrggbb`; `None` for the terminal's own.
fn hex(colour: Color) -> Option<String> {
    let (r, g, b) = match colour {
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(n @ 16..=231) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let n = n - 16;
            (level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        Color::Indexed(n @ 232..=255) => {
            let grey = 8 + 10 * (n - 232);
            (grey, grey, grey)
        }
        // The theme has no others; what a terminal makes of them is its own.
        _ => return None,
    };
    Some(format!("#{r:02x}{g:02x}{b:02x}"))
}
