//! The home screen: where one left off, packs and lessons with progress, notebooks, devices.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::placed::{Placed, ScreenBody};
use crate::lab::layout::{Areas, position};
use crate::lab::model::actions::Action;
use crate::lab::model::screens::Screen;
use crate::lab::model::screens::home::{CONTINUE, HomeEntry, HomeLesson, OPEN_PATH};
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;
use crate::lab::model::tops::Tops;

/// Columns of the screen that are used, at most.
const WIDTH: u16 = 100;
/// Columns of a lesson's bar.
const BAR: usize = 10;
const LEAD: &str = "Path: ";
/// What this program is.
const WHAT: &str = "Learn what a GPU, real or simulated, does to your tensors.";

/// A row of the screen, and the entry that it belongs to.
struct HomeRow {
    pub line: Line<'static>,
    pub entry: Option<usize>,
}

/// What of the screen the rows take, a margin left free.
fn place(body: Rect) -> Rect {
    let width = body.width.saturating_sub(4).min(WIDTH);
    let x = body.x + (body.width - width) / 2;
    Rect { x, y: body.y.saturating_add(1), width, height: body.height.saturating_sub(1) }
}

/// The screen; the text cursor stands there while a path is typed.
pub(crate) fn lay(state: &State, tops: Tops, areas: &Areas) -> ScreenBody {
    let area = place(areas.body);
    let width = usize::from(area.width);
    let rows = rows(state, width);
    let (top, room) = (tops.of_screen(Screen::Home), usize::from(area.height));
    let mut placed = Placed::default();
    for (y, row) in rows.iter().skip(top).take(room).enumerate() {
        placed.put(y, row.line.clone());
    }
    let note = position(top, room, rows.len());
    let column = width.saturating_sub(text::width(&note));
    placed.put_at(column, room.saturating_sub(1), Line::styled(note, state.theme.dim));
    ScreenBody { parts: vec![(area, placed)], cursor: cursor(state, &rows, top, area) }
}

fn cursor(state: &State, rows: &[HomeRow], top: usize, area: Rect) -> Option<Position> {
    let width = usize::from(area.width);
    let path = state.held.home.prompt.as_ref()?;
    let row = rows.iter().position(|row| row.entry == Some(state.held.home.selected))?.checked_sub(top)?;
    let column = (2 + LEAD.len() + text::width(&shown_path(path, width))).min(width.saturating_sub(1));
    let (column, row) = (u16::try_from(column).ok()?, u16::try_from(row).ok()?);
    (row < area.height).then(|| Position::new(area.x + column, area.y + row))
}

/// The first row in sight, so that the selected entry is.
pub(crate) fn top(state: &State, areas: &Areas) -> usize {
    let area = place(areas.body);
    let rows = rows(state, usize::from(area.width));
    let room = usize::from(area.height).max(1);
    let at = rows.iter().position(|row| row.entry == Some(state.held.home.selected)).unwrap_or(0);
    let end = rows.iter().rposition(|row| row.entry == Some(state.held.home.selected)).unwrap_or(at);
    // The heading above the first entry is seen with it.
    let first = if at <= 6 { 0 } else { at };
    let last = rows.len().saturating_sub(room);
    state
        .tops
        .of_screen(Screen::Home)
        .clamp((end + 1).saturating_sub(room), first.max((end + 1).saturating_sub(room)))
        .min(last)
}

/// The entry at a place of the screen.
pub(crate) fn entry_at(state: &State, top: usize, body: Rect, at: Position) -> Option<usize> {
    let area = place(body);
    if !area.contains(at) {
        return None;
    }
    rows(state, usize::from(area.width)).get(top + usize::from(at.y - area.y))?.entry
}

/// The end of a path, where not all of it fits.
fn shown_path(path: &str, width: usize) -> String {
    let room = width.saturating_sub(LEAD.len() + 4);
    let mut shown = path.to_owned();
    while text::width(&shown) > room && !shown.is_empty() {
        shown.remove(0);
    }
    shown
}

fn rows(state: &State, width: usize) -> Vec<HomeRow> {
    let theme = &state.theme;
    let home = &state.held.home;
    let mut out: Vec<HomeRow> = Vec::new();
    let mut pack = None;
    let mut notebooks = false;
    out.push(HomeRow { line: Line::styled(text::clip(WHAT, width), theme.dim), entry: None });
    out.push(HomeRow { line: Line::default(), entry: None });
    for (i, entry) in home.entries().into_iter().enumerate() {
        let selected = i == home.selected;
        let style = if selected { theme.selected } else { theme.strong };
        let mut own = |line: Line<'static>| out.push(HomeRow { line, entry: Some(i) });
        match entry {
            HomeEntry::Resume(_, told) => {
                own(Line::from(vec![
                    mark(selected, theme),
                    Span::styled(text::clip(told, width.saturating_sub(8)), style),
                    Span::styled(format!("  {}", state.keymap.name_of(Action::Own(CONTINUE))), theme.accent),
                ]));
            }
            HomeEntry::Lesson(of, lesson) => {
                if pack != Some(&of.id) {
                    pack = Some(&of.id);
                    let done = of.lessons.iter().filter(|lesson| lesson.is_done()).count();
                    let told = format!("{done} of {} done", of.lessons.len());
                    heading(&mut out, &of.title, &told, width, theme);
                }
                out.push(HomeRow { line: lesson_row(lesson, selected, width, theme), entry: Some(i) });
                if selected {
                    let spans = [Span::styled(lesson.summary.clone(), theme.dim)];
                    for mut line in text::wrap(&spans, width.saturating_sub(BAR + 10), Break::Words) {
                        line.spans.insert(0, Span::raw(" ".repeat(BAR + 10)));
                        out.push(HomeRow { line, entry: Some(i) });
                    }
                    let line = missing(lesson, width, theme);
                    out.extend(line.map(|line| HomeRow { line, entry: Some(i) }));
                }
            }
            HomeEntry::Notebook(recent) => {
                if !std::mem::replace(&mut notebooks, true) {
                    heading(&mut out, "Notebooks", "", width, theme);
                }
                let path = text::clean_line(&recent.path.display().to_string());
                let room = width.saturating_sub(text::width(&recent.when) + 4);
                let line = Line::from(vec![
                    mark(selected, theme),
                    Span::styled(text::clip(&path, room), style),
                    Span::styled(format!("  {}", recent.when), theme.dim),
                ]);
                out.push(HomeRow { line, entry: Some(i) });
            }
            HomeEntry::Path => {
                if !std::mem::replace(&mut notebooks, true) {
                    heading(&mut out, "Notebooks", "", width, theme);
                }
                out.push(HomeRow { line: path_row(state, selected, width), entry: Some(i) });
            }
        }
    }
    devices(&mut out, state, width);
    for note in &home.listing.notes {
        out.push(HomeRow {
            line: Line::styled(text::clip(&format!("▲ {note}"), width), theme.warn),
            entry: None,
        });
    }
    out
}

/// What is said of a lesson that builds on others that are nowhere.
fn missing(lesson: &HomeLesson, width: usize, theme: &Theme) -> Option<Line<'static>> {
    let names = lesson.missing.join(", ");
    let told = format!("▲ it builds on {names}, which is not among the lessons here");
    let line = format!("{}{}", " ".repeat(BAR + 10), text::clean_line(&told));
    (!names.is_empty()).then(|| Line::styled(text::clip(&line, width), theme.warn))
}

fn path_row(state: &State, selected: bool, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let style = if selected { theme.selected } else { theme.text };
    match &state.held.home.prompt {
        Some(path) => Line::from(vec![
            mark(true, theme),
            Span::styled(LEAD, theme.accent),
            Span::styled(shown_path(path, width), theme.text),
        ]),
        None => Line::from(vec![
            mark(selected, theme),
            Span::styled("open or create one by its path", style),
            Span::styled(format!("  {}", state.keymap.name_of(Action::Own(OPEN_PATH))), theme.accent),
        ]),
    }
}

fn mark(selected: bool, theme: &Theme) -> Span<'static> {
    if selected { Span::styled("▸ ", theme.accent) } else { Span::raw("  ") }
}

/// An empty row, then a name with a rule and a note.
fn heading(out: &mut Vec<HomeRow>, name: &str, note: &str, width: usize, theme: &Theme) {
    let name = text::clip(&text::clean_line(name), width.saturating_sub(text::width(note) + 4));
    let rule = width.saturating_sub(text::width(&name) + text::width(note) + 2);
    let line = Line::from(vec![
        Span::styled(name, theme.accent),
        Span::styled(format!(" {} ", "─".repeat(rule)), theme.border),
        Span::styled(note.to_owned(), theme.dim),
    ]);
    if !out.is_empty() {
        out.push(HomeRow { line: Line::default(), entry: None });
    }
    out.push(HomeRow { line, entry: None });
}

/// `▸ ████░░░░░░  4/12  Moving tensors               20 min`
fn lesson_row(lesson: &HomeLesson, selected: bool, width: usize, theme: &Theme) -> Line<'static> {
    let share = lesson.done.min(lesson.steps) as f64 / lesson.steps.max(1) as f64;
    let full = (share * BAR as f64) as usize;
    // What is begun is never drawn as nothing, and what is not done never as all.
    let full = full.max(usize::from(lesson.done > 0)).min(if lesson.is_done() { BAR } else { BAR - 1 });
    let (counts, counts_style) = if lesson.is_done() {
        (" ✓ done".to_owned(), theme.ok)
    } else {
        (format!("{:>3}/{}", lesson.done, lesson.steps), theme.dim)
    };
    let minutes = format!("{:>3} min", lesson.minutes);
    let title: Style = if selected { theme.selected } else { theme.strong };
    let room = width.saturating_sub(2 + BAR + 8 + text::width(&minutes) + 1);
    Line::from(vec![
        mark(selected, theme),
        Span::styled("█".repeat(full), theme.ok),
        Span::styled("░".repeat(BAR - full), theme.free),
        Span::styled(format!("{} ", text::left(&counts, 7)), counts_style),
        Span::styled(text::clip(&text::clean_line(&lesson.title), room), title),
        Span::raw(" ".repeat(room.saturating_sub(text::width(&text::clean_line(&lesson.title))))),
        Span::styled(format!(" {minutes}"), theme.dim),
    ])
}

fn devices(out: &mut Vec<HomeRow>, state: &State, width: usize) {
    let theme = &state.theme;
    heading(out, "Devices", "", width, theme);
    let mut say = |line: Line<'static>| out.push(HomeRow { line, entry: None });
    let Some(found) = &state.held.home.found else {
        say(Line::styled("  … looking", theme.dim));
        return;
    };
    for device in found {
        let memory = if device.memory == 0 {
            String::new()
        } else {
            format!("  {}", figures::bytes(figures::capacity(device.memory)))
        };
        let name = text::clip(&text::clean_line(&device.name), width.saturating_sub(26));
        let mut spans = vec![
            Span::styled(format!("  {}", text::left(&device.device, 8)), theme.strong),
            Span::styled(format!("{name}{memory} "), theme.text),
        ];
        if device.simulated {
            spans.push(Span::styled("SIM", theme.badge));
        }
        say(Line::from(spans));
    }
    if found.iter().all(|device| device.device == "cpu" || device.simulated) {
        let text = match found.iter().any(|device| device.simulated) {
            true => "  no real GPU among them: those are simulated, exact in bytes, modelled in time",
            false => "  no GPU among them: `--devices sim:t4` simulates one",
        };
        say(Line::styled(text::clip(text, width), theme.dim));
    }
}
