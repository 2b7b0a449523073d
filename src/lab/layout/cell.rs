//! One cell: its heading, code, output, usage, check and hints as rows.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::output::{indented, output};
use crate::lab::layout::{flow, highlight, markdown, names};
use crate::lab::model::actions::Action;
use crate::lab::model::item::{CellState, Check, Progress, Status, Verified};
use crate::lab::model::keys::Keymap;
use crate::lab::model::laid::{Layout, RowPart};
use crate::lab::model::picture::Content;
use crate::lab::model::places::{self, Places, VariablePlace};
use crate::lab::model::text::{self, Break};
use crate::lab::model::theme::Theme;
use crate::lesson::markdown::parse;
use crate::notebook::usage::{self, Piece, Role};
use crate::notebook::verify;
use crate::script::python;
use crate::script::whole::{self, Wholeness};
use crate::session::protocol::{Usage, Verdict};

/// From this width on, the marks beside the code tell the dtype as well.
const MARKS_FROM: usize = 48;
/// Lines of code that are parsed while one types.
const MAX_PARSED: usize = 2000;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Rows of a cell for a width in columns. The heading is left empty: it changes with time.
pub(crate) fn lay(
    cell: &CellState,
    places: &Places,
    width: u16,
    (theme, keymap): (&Theme, &Keymap),
    python: bool,
) -> Layout {
    let mut layout = Layout::default();
    let width = usize::from(width);
    layout.push(Line::default(), RowPart::Head);
    if cell.rendered && cell.raw {
        raw(&mut layout, cell, width, theme);
        return layout;
    }
    if cell.rendered {
        let blocks = parse(&cell.editor.text());
        layout.plain(
            markdown::lay(&blocks, width.saturating_sub(1), theme).into_iter().map(|l| indented(l, 1)),
        );
        layout.push(Line::default(), RowPart::Gap);
        return layout;
    }
    let gutter = code(&mut layout, cell, places, width, theme);
    if python && !cell.markdown {
        beside(&mut layout, cell, width, gutter, theme);
    }
    output(&mut layout, cell, width, gutter, (theme, keymap));
    shown(&mut layout, cell, width.saturating_sub(gutter), gutter, theme);
    for progress in &cell.progress {
        layout.plain([indented(progress_line(progress, width.saturating_sub(gutter), theme), gutter)]);
    }
    if let Some(usage) = &cell.usage {
        let lines = flow(&usage_parts(usage, theme), width.saturating_sub(gutter), theme.dim);
        layout.plain(lines.into_iter().map(|line| indented(line, gutter)));
    }
    verified(&mut layout, cell, width, gutter, theme);
    check(&mut layout, cell, width, gutter, theme);
    hints(&mut layout, cell, width, gutter, (theme, keymap));
    layout.push(Line::default(), RowPart::Gap);
    layout
}

/// Text as it is written.
fn raw(layout: &mut Layout, cell: &CellState, width: usize, theme: &Theme) {
    for line in cell.editor.text().lines() {
        let line = Span::styled(text::clean(line), theme.dim);
        let lines = text::wrap(&[line], width.saturating_sub(1), Break::Words);
        layout.plain(lines.into_iter().map(|line| indented(line, 1)));
    }
    layout.push(Line::default(), RowPart::Gap);
}

/// `In [3]` and the state, filled to the width.
pub(crate) fn head(
    cell: &CellState,
    width: usize,
    selected: bool,
    editing: Option<&str>,
    now: Duration,
    theme: &Theme,
) -> Line<'static> {
    let label_style = if selected { theme.selected } else { theme.strong };
    if cell.markdown {
        let state = editing.unwrap_or_default();
        let label = if cell.raw { "Raw" } else { "Text" };
        return head_line(label, label_style, "", state, theme.dim, width, theme);
    }
    let number = cell.number.map_or_else(|| " ".to_owned(), |n| n.to_string());
    let label = format!("In [{number}]");
    let mut note = String::new();
    if let Some(exercise) = &cell.exercise {
        note = match exercise.points {
            0 => " exercise".into(),
            1 => " exercise, 1 point".into(),
            n => format!(" exercise, {n} points"),
        };
    }
    let (state, style) = status(cell, now, theme);
    let state = match (editing, editing.and_then(|_| incomplete(cell))) {
        (Some(mode), Some(why)) => format!("{mode}, {why}"),
        (Some(mode), None) => format!("{mode}, {state}"),
        (None, _) => state,
    };
    head_line(&label, label_style, &note, &state, style, width, theme)
}

/// What the code of a cell leaves open, as Rhai's parser has it; asked once for each change.
fn incomplete(cell: &CellState) -> Option<String> {
    let lines = cell.editor.lines();
    let whole = cell.whole.get(0, || {
        let short = lines.len() <= MAX_PARSED;
        if short { whole::wholeness(&cell.editor.text()) } else { Wholeness::Whole }
    });
    match whole.as_ref() {
        Wholeness::Incomplete(why) if why.contains("closed") => Some(format!("… {why}")),
        _ => None,
    }
}

/// The same code in Python, below the code.
fn beside(layout: &mut Layout, cell: &CellState, width: usize, gutter: usize, theme: &Theme) {
    let columns = width.saturating_sub(gutter + 2).max(1);
    let translated = python::translate(&cell.editor.text());
    let mut first = true;
    for line in translated.lines() {
        let chars: Vec<(char, Style)> = text::clean(line).chars().map(|c| (c, theme.text)).collect();
        for row in text::break_code(&chars, columns) {
            let mark = if first { "Py" } else { "  " };
            first = false;
            let mark = Span::styled(format!("{mark:>gutter$}│ ", gutter = gutter.max(2)), theme.accent);
            let mut spans = vec![mark];
            spans.extend(text::line(row).spans);
            layout.plain([Line::from(spans)]);
        }
    }
}

/// A heading: label and note at the left, state at the right, a rule between.
pub(crate) fn head_line(
    label: &str,
    label_style: Style,
    note: &str,
    state: &str,
    state_style: Style,
    width: usize,
    theme: &Theme,
) -> Line<'static> {
    let room = width.saturating_sub(text::width(label) + 2);
    let state = text::clip(state, room);
    let note = text::clip(note, room.saturating_sub(text::width(&state) + 2));
    let used = text::width(label) + text::width(&note) + text::width(&state) + 2;
    let rule = "─".repeat(width.saturating_sub(used));
    Line::from(vec![
        Span::styled(label.to_owned(), label_style),
        Span::styled(note, theme.dim),
        Span::styled(format!(" {rule} "), theme.border),
        Span::styled(state, state_style),
    ])
}

/// How the outputs held when all was run anew.
fn verified(layout: &mut Layout, cell: &CellState, width: usize, gutter: usize, theme: &Theme) {
    let room = width.saturating_sub(gutter);
    let mut say = |told: &str, style: Style| {
        let lines = text::wrap(&[Span::styled(told.to_owned(), style)], room, Break::Words);
        layout.plain(lines.into_iter().map(|line| indented(line, gutter)));
    };
    match &cell.verified {
        None => {}
        Some(Verified::Same) => say("✓ verified: the same outputs as before", theme.ok),
        Some(Verified::Differs(lines)) => {
            say("✗ verify: run anew, it gives something else", theme.warn);
            for line in lines {
                match line {
                    verify::Line::Gone(text) => say(&format!("- {}", text::clean_line(text)), theme.dim),
                    verify::Line::New(text) => say(&format!("+ {}", text::clean_line(text)), theme.text),
                    verify::Line::Same(_) => {}
                }
            }
        }
    }
}

fn status(cell: &CellState, now: Duration, theme: &Theme) -> (String, Style) {
    let (text, style) = match cell.status {
        Status::Idle if cell.is_passed_over() => return ("○ passed over".into(), theme.dim),
        Status::Idle if cell.done => return ("✓ done before".into(), theme.dim),
        Status::Idle => return ("○ not run".into(), theme.dim),
        Status::Queued => return ("… queued".into(), theme.dim),
        Status::Running { since } => {
            let elapsed = now.saturating_sub(since);
            let frame = (now.as_millis() / 100) as usize % SPINNER.len();
            let spinner = SPINNER.get(frame).copied().unwrap_or_default();
            if let Some(replay) = cell.replay {
                let (done, all) = (replay.done + 1, replay.all);
                return (format!("{spinner} what comes before: {done} of {all}"), theme.accent);
            }
            return (format!("{spinner} running {:.1} s", elapsed.as_secs_f64()), theme.accent);
        }
        Status::Ok => match (&cell.check, cell.exercise.is_some()) {
            (Check::Done(Verdict::Pass), true) => ("✓ passed".to_owned(), theme.ok),
            (Check::Done(verdict), true) if verdict.counts_as_attempt() => ("✗ not yet".into(), theme.warn),
            (Check::Done(_), true) => ("▲ not judged".into(), theme.warn),
            (Check::Running, true) => ("… ran, and is checked".into(), theme.dim),
            (Check::Cut, true) => ("■ not judged".into(), theme.warn),
            _ => ("✓ ok".into(), theme.ok),
        },
        // A check may ask for an error.
        Status::Failed if cell.check == Check::Done(Verdict::Pass) => ("✓ passed".into(), theme.ok),
        Status::Failed => ("✗ error".into(), theme.error),
        Status::Interrupted => ("■ interrupted".into(), theme.warn),
        Status::Flooded => ("■ stopped: too much output".into(), theme.warn),
        Status::TimedOut { seconds: Some(seconds) } => (format!("■ timed out after {seconds} s"), theme.warn),
        Status::TimedOut { seconds: None } => ("■ timed out".into(), theme.warn),
        Status::Lost => ("✗ session died".into(), theme.error),
    };
    let text = if cell.is_passed_over() { format!("{text}, passed over") } else { text };
    match (cell.edited, cell.earlier) {
        (_, true) if cell.from_file => {
            (format!("{text}, from the file{}", if cell.edited { ", edited since" } else { "" }), theme.dim)
        }
        (true, _) => (format!("{text}, edited since"), theme.dim),
        (_, false) if cell.stale.is_some() => {
            (format!("{text}, ≠ stale: {}", cell.stale.as_deref().unwrap_or_default()), theme.warn)
        }
        (_, true) => (format!("{text}, before restart"), theme.dim),
        _ => (text, style),
    }
}

/// Columns of the line numbers, with which output is aligned.
pub(crate) fn gutter(cell: &CellState) -> usize {
    cell.editor.lines().len().to_string().len() + 2
}

/// Lays out the code; gives the width of its gutter, which output is aligned with.
fn code(layout: &mut Layout, cell: &CellState, places: &Places, width: usize, theme: &Theme) -> usize {
    let lines = cell.editor.lines();
    let gutter = gutter(cell);
    let digits = gutter - 2;
    let named = if cell.markdown { Vec::new() } else { named_places(lines, places) };
    let marks = match named.iter().any(|line| !line.is_empty()) {
        false => 0,
        true if width >= MARKS_FROM => places::WIDE,
        true => places::NARROW,
    };
    let columns = width.saturating_sub(gutter + marks).max(1);
    let checked_line = match &cell.check {
        Check::Done(Verdict::Fail { line, .. }) => *line,
        _ => None,
    };
    let plain = |line: &String| line.chars().map(|c| (c, theme.text)).collect();
    let styled: Vec<Vec<(char, Style)>> =
        if cell.markdown { lines.iter().map(plain).collect() } else { highlight::styled(lines, theme) };
    for (i, chars) in styled.iter().enumerate() {
        let line = u32::try_from(i + 1).ok();
        let (mark, style) = if line == cell.fault_line {
            ("✗", theme.error)
        } else if line == checked_line && line.is_some() {
            ("▲", theme.warn)
        } else {
            (" ", theme.border)
        };
        let mut from = 0;
        for row in text::break_code(chars, columns) {
            let number =
                if from == 0 { format!("{mark}{:>digits$} ", i + 1) } else { " ".repeat(digits) + "↪ " };
            let mut spans = vec![Span::styled(number, style)];
            if marks > 0 {
                let here: Vec<_> = named.get(i).into_iter().flatten().map(|(_, place)| *place).collect();
                spans.push(places::mark(if from == 0 { &here } else { &[] }, marks, theme));
            }
            spans.extend(text::line(row).spans);
            let part = RowPart::Code { line: i, from, length: row.len(), indent: gutter + marks };
            layout.push(Line::from(spans), part);
            from += row.len();
        }
    }
    if marks > 0 {
        let told = told_places(&named, marks < places::WIDE, theme);
        let lines = flow(&told, width.saturating_sub(gutter), theme.dim);
        layout.plain(lines.into_iter().take(3).map(|line| indented(line, gutter)));
    }
    gutter
}

/// The variables that each line names and that hold tensors, with their places.
fn named_places<'a>(lines: &[String], places: &'a Places) -> Vec<Vec<(&'a str, VariablePlace)>> {
    if places.is_empty() {
        return Vec::new();
    }
    let known = |name: String| places.get_key_value(&name).map(|(name, place)| (name.as_str(), *place));
    names::names(lines).into_iter().map(|line| line.into_iter().filter_map(known).collect()).collect()
}

fn differ(pair: &[(&str, VariablePlace)]) -> bool {
    matches!(pair, [(_, a), (_, b)] if a != b)
}

/// In words, each variable once: those of lines whose mark alone does not say it, or all of them.
fn told_places(named: &[Vec<(&str, VariablePlace)>], all: bool, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let mixed = |line: &&Vec<(&str, VariablePlace)>| all || line.windows(2).any(differ);
    let mut seen = Vec::new();
    for (name, place) in named.iter().filter(mixed).flatten() {
        if !seen.iter().any(|(known, _)| known == name) {
            seen.push((*name, *place));
        }
    }
    seen.iter().map(|(name, place)| places::told(name, place, theme)).collect()
}

fn shown(layout: &mut Layout, cell: &CellState, columns: usize, gutter: usize, theme: &Theme) {
    for shown in cell.output.shown() {
        let drawing = match (&shown.content, &shown.drawing) {
            (Content::Text(text), _) => {
                let lines = text::wrap(&[Span::styled(text.clone(), theme.text)], columns, Break::Anywhere);
                layout.plain(lines.into_iter().map(|line| indented(line, gutter)));
                continue;
            }
            (Content::Figure(_), None) => {
                layout.plain([indented(Line::styled("… drawing", theme.dim), gutter)]);
                continue;
            }
            (Content::Figure(_), Some(drawing)) => drawing,
        };
        let rows = if drawing.art.is_some() { usize::from(drawing.size.rows) } else { drawing.lines.len() };
        for row in 0..rows {
            let line = drawing.lines.get(row).cloned().unwrap_or_default();
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            layout.push(indented(line, gutter), RowPart::Picture { slot: shown.slot, row, indent: gutter });
        }
    }
}

fn progress_line(progress: &Progress, width: usize, theme: &Theme) -> Line<'static> {
    let label = text::clip(&progress.label, 16);
    let Some(total) = progress.total.filter(|total| *total > 0) else {
        let text = format!("{label} {} {}", figures::count(progress.done), progress.note);
        return Line::styled(text::clip(&text, width), theme.text);
    };
    let counts = format!(" {}/{} ", figures::count(progress.done), figures::count(total));
    let bar = 12.min(width / 4);
    let share = (progress.done.min(total) as f64 / total as f64 * bar as f64).round() as usize;
    let used = text::width(&label) + 1 + bar + text::width(&counts);
    Line::from(vec![
        Span::styled(format!("{label} "), theme.text),
        Span::styled("█".repeat(share.min(bar)), theme.accent),
        Span::styled("░".repeat(bar - share.min(bar)), theme.free),
        Span::styled(counts, theme.text),
        Span::styled(text::clip(&progress.note, width.saturating_sub(used)), theme.dim),
    ])
}

/// A footer in its colours.
fn usage_parts(usage: &Usage, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let styled = |Piece { role, text }| {
        let style = if role == Role::Change { theme.allocated } else { theme.dim };
        Span::styled(text, style)
    };
    usage::parts(usage).into_iter().map(|part| part.pieces.into_iter().map(styled).collect()).collect()
}

fn check(layout: &mut Layout, cell: &CellState, width: usize, gutter: usize, theme: &Theme) {
    if cell.exercise.is_none() {
        return;
    }
    let (text, style) = match &cell.check {
        Check::Open => return,
        Check::Running => ("… checking".to_owned(), theme.dim),
        Check::Cut => ("■ cut short before it was judged: run the cell again".into(), theme.warn),
        Check::Done(Verdict::Pass) => ("✓ check passed".into(), theme.ok),
        // What the check called stopped: the report above says where.
        Check::Done(Verdict::LearnerError { .. }) if cell.status == Status::Ok => {
            ("✗ not yet: your code stopped with an error where the check called it".into(), theme.error)
        }
        Check::Done(Verdict::LearnerError { .. }) => {
            ("✗ not yet: the cell ended with an error".into(), theme.error)
        }
        Check::Done(Verdict::Fail { reason, line: Some(line) }) => {
            (format!("✗ check failed at line {line}: {reason}"), theme.error)
        }
        Check::Done(Verdict::Fail { reason, line: None }) => {
            (format!("✗ check failed: {reason}"), theme.error)
        }
        Check::Done(Verdict::CheckerFault { message, .. }) if !cell.has_ended() => {
            (format!("▲ what the lesson does before this cell failed, not your code: {message}"), theme.warn)
        }
        Check::Done(Verdict::CheckerFault { message, line }) => {
            let at = line.map(|line| format!(" (line {line} of the lesson)")).unwrap_or_default();
            (format!("▲ the check itself is at fault{at}, not your code: {message}"), theme.warn)
        }
        // The error itself stands above.
        Check::Done(Verdict::OutOfMemory { device, .. }) if cell.status == Status::Failed => {
            (format!("✗ Out of memory on {device}, as the error above tells"), theme.error)
        }
        Check::Done(verdict @ (Verdict::OutOfMemory { .. } | Verdict::DeviceUnavailable { .. })) => {
            (format!("✗ {verdict}"), theme.error)
        }
        Check::Done(verdict @ (Verdict::Timeout { .. } | Verdict::TooMuchOutput { .. })) => {
            (format!("■ {verdict}"), theme.warn)
        }
    };
    boxed(layout, &[Span::styled(text, style)], width, gutter);
}

fn hints(
    layout: &mut Layout,
    cell: &CellState,
    width: usize,
    gutter: usize,
    (theme, keymap): (&Theme, &Keymap),
) {
    let Some(exercise) = &cell.exercise else { return };
    let all = exercise.hints.len();
    let begin = layout.rows.len();
    let mut newest = begin;
    for (i, hint) in exercise.hints.iter().enumerate().take(cell.hints_shown) {
        let label = Span::styled(format!("hint {} of {all}", i + 1), theme.accent);
        newest = layout.rows.len();
        boxed(layout, &[label], width, gutter);
        let lines = markdown::lay(&hint.text, width.saturating_sub(gutter), theme);
        layout.plain(lines.into_iter().map(|line| indented(line, gutter)));
    }
    if cell.solution_shown {
        newest = layout.rows.len();
        boxed(layout, &[Span::styled("a solution", theme.accent)], width, gutter);
        let lines: Vec<String> = exercise.solution.text.trim_end().lines().map(text::clean_line).collect();
        for chars in highlight::styled(&lines, theme) {
            let rows = text::break_code(&chars, width.saturating_sub(gutter + 2));
            layout.plain(rows.into_iter().map(|row| indented(text::line(row), gutter + 2)));
        }
    } else if cell.hints_shown == all && all > 0 && cell.check != Check::Done(Verdict::Pass) {
        let told = format!("{} shows a solution", keymap.name_of(Action::Hint));
        boxed(layout, &[Span::styled(told, theme.dim)], width, gutter);
    }
    layout.help = (layout.rows.len() > begin).then_some(begin..newest);
}

fn boxed(layout: &mut Layout, spans: &[Span<'static>], width: usize, gutter: usize) {
    let lines = text::wrap(spans, width.saturating_sub(gutter), Break::Words);
    layout.plain(lines.into_iter().map(|line| indented(line, gutter)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::document::Cell;
    use crate::lab::model::key::Key;
    use crate::lab::model::output::LONG;
    use crate::lab::model::theme::{Colour, Look};
    use crate::session::protocol::Stream;

    #[test]
    fn of_a_cell_that_runs_a_bounded_part_is_laid_out() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let mut cell = CellState::new(Key(1), Cell::default());
        cell.begin(1, Duration::ZERO);
        cell.output.print(Stream::Stdout, &"a line\n".repeat(50_000));
        cell.expanded = true;
        let rows =
            |cell: &CellState| lay(cell, &Places::default(), 80, (&theme, &Keymap::default()), false).rows;
        let running = rows(&cell);
        assert!((LONG / 4..LONG).contains(&running.len()), "{}", running.len());
        assert!(running.iter().any(|row| row.line.to_string().contains("lines hidden while it runs")));
        cell.status = Status::Ok;
        assert!(rows(&cell).len() > 50_000, "all of it, once it has run");
    }
}
