//! Figures in cells: drawn on a thread of their own, shown in the way that the terminal can.
//!
//! A [`Job`] makes a [`Drawing`] of a figure at a size. It always has rows of characters (half blocks, braille, or ASCII)
//! and, where the terminal has [`Graphics`], [`Art`] that covers the same rows. Art is cut into rows as well: what is
//! scrolled half out of sight shows its other half, and a row that goes is written over as any text is.

pub(crate) mod encode;
pub(crate) mod graphics;
pub(crate) mod sixel;
pub(crate) mod size;

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::style::{Color, Style};
use ratatui::text::Line;

use crate::lab::model::key::Key;
use crate::lab::model::picture::size::{Size, size};
use crate::lab::model::text;
use crate::lab::model::theme::{Colour, Theme};
use crate::plot::{self, Figure};

use graphics::{Canvas, Graphics};

/// Counts what is shown, and what is shown anew in its place.
static COUNT: AtomicU64 = AtomicU64::new(1);

fn next() -> u64 {
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Something that a cell shows below its text.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Names it for as long as it has its place.
    pub slot: u64,
    /// What the script calls it, to show something else in its place.
    pub id: Option<String>,
    pub content: Content,
    /// Changes with the content.
    version: u64,
    /// What was last given away to be drawn: version and size.
    asked: Option<(u64, Size)>,
    /// It is being drawn.
    busy: bool,
    /// How it was last drawn: of an earlier version, or for an earlier size, until the next is there.
    pub drawing: Option<Drawing>,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Figure(Arc<Figure>),
    Text(String),
}

impl Shown {
    pub(crate) fn new(id: Option<&str>, content: Content) -> Shown {
        let (slot, version) = (next(), next());
        Shown { slot, id: id.map(String::from), content, version, asked: None, busy: false, drawing: None }
    }

    pub(crate) fn replace(&mut self, content: Content) {
        if matches!(content, Content::Text(_)) {
            self.drawing = None;
        }
        self.content = content;
        self.version = next();
    }

    /// What is to be drawn now, if anything: one drawing at a time, and always of the newest content.
    pub(crate) fn job(&mut self, cell: Key, columns: u16, canvas: Canvas, theme: Theme) -> Option<Job> {
        let Content::Figure(figure) = &self.content else { return None };
        let wanted = (self.version, size(figure, columns, canvas));
        if self.busy || self.asked == Some(wanted) {
            return None;
        }
        (self.busy, self.asked) = (true, Some(wanted));
        let (version, size) = wanted;
        Some(Job { cell, slot: self.slot, version, figure: Arc::clone(figure), size, canvas, theme })
    }

    /// A job of this has been done.
    pub(crate) fn drawn(&mut self, drawing: Drawing) {
        self.busy = false;
        if let Content::Figure(_) = self.content {
            self.drawing = Some(drawing);
        }
    }

    /// It is to be drawn for another canvas.
    pub(crate) fn redraw(&mut self) {
        self.asked = None;
    }
}

/// A figure that is to be drawn. Drawing may take a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub cell: Key,
    /// The place of the figure among those of the cell, for as long as it has that place.
    pub slot: u64,
    /// Which of its figures it is, counted over the whole lab.
    pub version: u64,
    pub figure: Arc<Figure>,
    pub size: Size,
    pub canvas: Canvas,
    pub theme: Theme,
}

/// A figure as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub size: Size,
    /// The figure as characters.
    pub lines: Vec<Line<'static>>,
    pub art: Option<Art>,
}

/// A figure as pixels.
#[derive(Clone, Debug, PartialEq)]
pub enum Art {
    /// A picture that kitty keeps under a number: what is sent once, and what is shown then.
    Kept { number: u32, sent: Arc<str> },
    /// A sequence for each row.
    Strips(Vec<Arc<str>>),
}

impl Job {
    /// Draws it. A figure that can't be drawn as pixels stays one of characters, which say why.
    pub fn run(&self) -> Drawing {
        let lines = characters(&self.figure, self.size, &self.theme);
        let art = self.art();
        Drawing { size: self.size, lines, art }
    }

    fn art(&self) -> Option<Art> {
        let graphics = self.canvas.graphics;
        if graphics == Graphics::Blocks {
            return None;
        }
        let (across, down) = self.canvas.cell;
        let (width, height) =
            (u32::from(self.size.columns) * u32::from(across), u32::from(self.size.rows) * u32::from(down));
        let rgb = self.figure.to_rgb(width, height).ok()?;
        let strip = width as usize * usize::from(down) * 3;
        match graphics {
            Graphics::Blocks => None,
            Graphics::Kitty => {
                let png = plot::png(width, height, &rgb).ok()?;
                let number = encode::number(self.version);
                Some(Art::Kept { number, sent: encode::kitty(number, &png, self.size).into() })
            }
            Graphics::Iterm2 => {
                let rows = rgb.chunks(strip.max(1)).map(|rows| -> Option<Arc<str>> {
                    let png = plot::png(width, u32::from(down), rows).ok()?;
                    Some(encode::iterm2(&png, self.size.columns).into())
                });
                rows.collect::<Option<Vec<Arc<str>>>>().map(Art::Strips)
            }
            Graphics::Sixel => {
                let colours = sixel::Palette::of(&rgb);
                let rows = rgb.chunks(strip.max(1));
                let rows =
                    rows.map(|rows| -> Arc<str> { sixel::encode(rows, width as usize, &colours).into() });
                Some(Art::Strips(rows.collect()))
            }
        }
    }
}

/// A figure as rows of characters, as far as the look allows colours and more than ASCII.
pub(crate) fn characters(figure: &Figure, size: Size, theme: &Theme) -> Vec<Line<'static>> {
    let (columns, rows) = (usize::from(size.columns), usize::from(size.rows));
    if theme.look.colour == Colour::None || theme.look.ascii {
        return figure.to_text(columns, rows, !theme.look.ascii).into_iter().map(Line::raw).collect();
    }
    figure.to_cells(columns, rows).iter().map(|row| characters_row(row, theme)).collect()
}

fn characters_row(row: &[plot::Cell], theme: &Theme) -> Line<'static> {
    let style = |cell: &plot::Cell| Style {
        fg: cell.fg.map(|rgb| theme.colour(rgb)),
        bg: cell.bg.map(|rgb| theme.colour(rgb)),
        ..Style::default()
    };
    // Behind a wide character stands an empty place.
    let chars = row.iter().filter(|cell| cell.symbol != '\0').map(|cell| (cell.symbol, style(cell)));
    text::line(&chars.collect::<Vec<_>>())
}

impl Art {
    /// Puts row `row` of the art into a buffer at `x` and `y`, over at most `columns` columns of `size`'s. Where not all
    /// columns fit, nothing is put there.
    pub fn put(&self, buffer: &mut Buffer, (x, y): (u16, u16), row: u16, size: Size, columns: u16) {
        if columns < size.columns {
            return;
        }
        match self {
            Art::Kept { number, .. } => {
                let [_, r, g, b] = number.to_be_bytes();
                for column in 0..size.columns {
                    if let Some(cell) = buffer.cell_mut((x + column, y)) {
                        cell.reset();
                        cell.set_symbol(&encode::placeholder(row, column)).set_fg(Color::Rgb(r, g, b));
                    }
                }
            }
            Art::Strips(rows) => {
                let Some(strip) = rows.get(usize::from(row)) else { return };
                for column in 0..size.columns {
                    let Some(cell) = buffer.cell_mut((x + column, y)) else { continue };
                    cell.reset();
                    if column == 0 {
                        cell.set_symbol(strip).set_diff_option(CellDiffOption::ForcedWidth(NonZeroU16::MIN));
                    } else {
                        // What the strip covers is not written: that would take the picture away.
                        cell.set_diff_option(CellDiffOption::Skip);
                    }
                }
            }
        }
    }
}
