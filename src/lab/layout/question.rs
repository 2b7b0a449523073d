//! Predictions and quizzes as rows of the cells panel.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::layout::cell::head_line;
use crate::lab::layout::markdown;
use crate::lab::model::item::{Guess, PredictState, QuizState};
use crate::lab::model::laid::{Layout, RowPart};
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;
use crate::lesson::Unit;
use crate::lesson::markdown::Block;

const INDENT: usize = 2;
/// Columns of a choice's mark and number.
const CHOICE: usize = 5;

/// Rows of a prediction for a width in columns.
pub(crate) fn lay_predict(predict: &PredictState, width: u16, theme: &Theme) -> Layout {
    let mut layout = Layout::default();
    let columns = usize::from(width).saturating_sub(INDENT);
    layout.push(Line::default(), RowPart::Head);
    blocks(&mut layout, &predict.question.ask, columns, theme);
    let unit = predict.question.unit;
    match (&predict.guess, &predict.answer) {
        (Guess::Open, _) => {
            input(&mut layout, predict, theme);
            if let Some(reason) = &predict.refused {
                say(&mut layout, &format!("✗ {reason}; typing replaces it"), theme.warn, columns);
            }
        }
        (Guess::Made(guess), None) => {
            let text = format!("You said {}. Run the cell to see.", unit.show(guess.value));
            say(&mut layout, &text, theme.text, columns);
        }
        (Guess::Skipped, None) => say(&mut layout, "Skipped.", theme.dim, columns),
        (_, Some(answer)) => {
            match answer {
                Ok(answer) => say(&mut layout, answer.sentence(), theme.accent, columns),
                Err(reason) => say(&mut layout, &format!("No answer: {reason}"), theme.warn, columns),
            }
            blocks(&mut layout, &predict.question.explain, columns, theme);
        }
    }
    layout.push(Line::default(), RowPart::Gap);
    layout
}

fn input(layout: &mut Layout, predict: &PredictState, theme: &Theme) {
    let prompt = "your number: ";
    let unit = match predict.question.unit {
        Unit::Count => "",
        unit => unit.name(),
    };
    let column = INDENT + prompt.len() + text::width(&predict.input);
    let line = Line::from(vec![
        Span::styled(format!("  {prompt}"), theme.dim),
        Span::styled(
            predict.input.clone(),
            if predict.refused.is_some() { theme.warn } else { theme.accent },
        ),
        Span::styled("_ ", theme.accent),
        Span::styled(unit, theme.dim),
    ]);
    layout.push(line, RowPart::Input { column });
}

/// The heading of a prediction.
pub(crate) fn predict_head(
    predict: &PredictState,
    width: usize,
    selected: bool,
    theme: &Theme,
) -> Line<'static> {
    let (state, style) = predict_stands(predict, theme);
    head_line("Predict", label_style(selected, theme), "", state, style, width, theme)
}

/// How a prediction stands.
pub(crate) fn predict_stands(predict: &PredictState, theme: &Theme) -> (&'static str, Style) {
    match (&predict.guess, predict.is_hit()) {
        (Guess::Open, _) => ("○ open", theme.dim),
        (Guess::Skipped, _) => ("passed over", theme.dim),
        (_, Some(true)) => ("✓ right", theme.ok),
        (_, Some(false)) => ("✗ off", theme.warn),
        (_, None) => ("committed", theme.dim),
    }
}

/// Rows of a quiz for a width in columns.
pub(crate) fn lay_quiz(quiz: &QuizState, width: u16, theme: &Theme) -> Layout {
    let mut layout = Layout::default();
    let columns = usize::from(width).saturating_sub(INDENT);
    layout.push(Line::default(), RowPart::Head);
    blocks(&mut layout, &quiz.question.ask, columns, theme);
    let choices = quiz.order.iter().filter_map(|i| Some((*i, quiz.question.choices.get(*i)?)));
    for (shown, (i, choice)) in choices.enumerate() {
        let (taken, tried) = (quiz.taken.contains(&i), quiz.tried.contains(&i));
        let (mark, style) = match (tried, choice.correct) {
            (true, true) => ("✓", theme.ok),
            (true, false) => ("✗", theme.warn),
            (false, _) => (" ", theme.dim),
        };
        // What the next try takes stands beside what came of the last one.
        let chosen = if taken && !quiz.solved { "●" } else { " " };
        let lines = markdown::lay(&choice.text, columns.saturating_sub(CHOICE), theme);
        for (row, line) in lines.into_iter().enumerate() {
            let mut row_of_choice = match row {
                0 => led(Span::styled(format!("{mark} {}  ", shown + 1), style), line),
                _ => led(Span::raw(" ".repeat(CHOICE)), line),
            };
            let lead = if row == 0 { format!("{chosen} ") } else { " ".repeat(INDENT) };
            row_of_choice.spans.insert(0, Span::styled(lead, theme.accent));
            layout.push(row_of_choice, RowPart::Choice(i));
        }
        if tried {
            let lines = markdown::lay(&choice.explain, columns.saturating_sub(CHOICE + 2), theme);
            let lead = || Span::styled(" ".repeat(INDENT + CHOICE) + "│ ", style);
            layout.plain(lines.into_iter().map(|line| led(lead(), line)));
        }
    }
    layout.push(Line::default(), RowPart::Gap);
    layout
}

/// The heading of a quiz.
pub(crate) fn quiz_head(quiz: &QuizState, width: usize, selected: bool, theme: &Theme) -> Line<'static> {
    let (state, style) = match (quiz.solved, quiz.attempts) {
        (true, 1) => ("✓ right".to_owned(), theme.ok),
        (true, n) => (format!("✓ right, at try {n}"), theme.ok),
        (false, _) if quiz.is_left() => ("○ passed over".into(), theme.dim),
        (false, 0) => ("○ open".into(), theme.dim),
        (false, _) => {
            let verdict = if quiz.lacks_some { "✗ not all of them" } else { "✗ not that" };
            (format!("{verdict}{}", if quiz.skipped { ", passed over" } else { "" }), theme.warn)
        }
    };
    let note = if quiz.question.takes_several() { " several are right" } else { "" };
    head_line("Quiz", label_style(selected, theme), note, &state, style, width, theme)
}

fn label_style(selected: bool, theme: &Theme) -> Style {
    if selected { theme.selected } else { theme.strong }
}

fn blocks(layout: &mut Layout, blocks: &[Block], columns: usize, theme: &Theme) {
    let lines = markdown::lay(blocks, columns, theme);
    layout.plain(lines.into_iter().map(|line| led(Span::raw("  "), line)));
}

fn say(layout: &mut Layout, text: &str, style: Style, columns: usize) {
    let lines = text::wrap(&[Span::styled(text::clean_line(text), style)], columns, Break::Words);
    layout.plain(lines.into_iter().map(|line| led(Span::raw("  "), line)));
}

fn led(lead: Span<'static>, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, lead);
    line
}
