//! Predictions and quizzes as rows of the cells panel.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::cell::head_line;
use crate::lab::figures;
use crate::lab::item::{Guess, PredictState, QuizState};
use crate::lab::laid::{Layout, Part};
use crate::lab::text::{self, Break};
use crate::lab::theme::Theme;
use crate::session::protocol::ProbeValue;

const INDENT: usize = 2;

/// Rows of a prediction for a width in columns.
pub fn lay_predict(predict: &PredictState, width: u16, theme: &Theme) -> Layout {
    let mut layout = Layout::default();
    let columns = usize::from(width).saturating_sub(INDENT);
    layout.push(Line::default(), Part::Head);
    say(&mut layout, &predict.spec.ask, theme.strong, columns);
    let unit = &predict.spec.unit;
    match predict.guess {
        Guess::Open => {
            let prompt = "your number: ";
            let column = INDENT + prompt.len() + text::width(&predict.input);
            let line = Line::from(vec![
                Span::styled(format!("  {prompt}"), theme.dim),
                Span::styled(predict.input.clone(), theme.accent),
                Span::styled("_ ", theme.accent),
                Span::styled(unit.clone(), theme.dim),
            ]);
            layout.push(line, Part::Input { column });
        }
        Guess::Made(guess) => {
            say(&mut layout, &format!("you said  {} {unit}", figures::number(guess)), theme.text, columns);
        }
        Guess::Skipped => say(&mut layout, "skipped", theme.dim, columns),
    }
    answer(&mut layout, predict, columns, theme);
    layout.push(Line::default(), Part::Gap);
    layout
}

fn answer(layout: &mut Layout, predict: &PredictState, columns: usize, theme: &Theme) {
    let unit = &predict.spec.unit;
    match &predict.measured {
        None if !predict.is_open() => say(layout, "it was    … run the next cell", theme.dim, columns),
        None => {}
        Some(Ok(value)) => {
            let value = match value {
                ProbeValue::Number(x) => figures::number(*x),
                ProbeValue::Bool(x) => x.to_string(),
                ProbeValue::Text(text) => text::clean_line(text),
            };
            let clock = if predict.modelled { " modelled" } else { "" };
            say(layout, &format!("it was    {value} {unit}{clock}"), theme.accent, columns);
            if !predict.spec.explain.is_empty() {
                say(layout, &predict.spec.explain, theme.text, columns);
            }
        }
        Some(Err(reason)) => {
            say(layout, &format!("it could not be measured: {reason}"), theme.warn, columns);
        }
    }
}

/// The heading of a prediction.
pub fn predict_head(predict: &PredictState, width: usize, selected: bool, theme: &Theme) -> Line<'static> {
    let (state, style) = match (predict.guess, predict.is_right()) {
        (Guess::Open, _) => ("○ open", theme.dim),
        (Guess::Skipped, _) => ("skipped", theme.dim),
        (_, Some(true)) => ("✓ right", theme.ok),
        (_, Some(false)) => ("✗ off", theme.warn),
        (_, None) => ("committed", theme.dim),
    };
    head_line("Predict", label_style(selected, theme), "", state, style, width, theme)
}

/// Rows of a quiz for a width in columns.
pub fn lay_quiz(quiz: &QuizState, width: u16, theme: &Theme) -> Layout {
    let mut layout = Layout::default();
    let columns = usize::from(width).saturating_sub(INDENT);
    layout.push(Line::default(), Part::Head);
    say(&mut layout, &quiz.spec.ask, theme.strong, columns);
    for (i, choice) in quiz.spec.choices.iter().enumerate() {
        let tried = quiz.tried.contains(&i);
        let (mark, style) = match (tried, choice.right) {
            (false, _) => (" ", theme.text),
            (true, true) => ("✓", theme.ok),
            (true, false) => ("✗", theme.warn),
        };
        let label = Span::styled(format!("{mark} {}  ", i + 1), style);
        let lines =
            text::wrap(&[Span::styled(choice.text.clone(), style)], columns.saturating_sub(5), Break::Words);
        for (row, mut line) in lines.into_iter().enumerate() {
            let lead = if row == 0 { label.clone() } else { Span::raw("     ") };
            line.spans.insert(0, lead);
            line.spans.insert(0, Span::raw("  "));
            layout.push(line, Part::Choice(i));
        }
        if tried && !choice.explain.is_empty() {
            let lines = text::wrap(
                &[Span::styled(choice.explain.clone(), theme.dim)],
                columns.saturating_sub(5),
                Break::Words,
            );
            layout.plain(lines.into_iter().map(|mut line| {
                line.spans.insert(0, Span::raw("       "));
                line
            }));
        }
    }
    layout.push(Line::default(), Part::Gap);
    layout
}

/// The heading of a quiz.
pub fn quiz_head(quiz: &QuizState, width: usize, selected: bool, theme: &Theme) -> Line<'static> {
    let (state, style) = match (quiz.is_solved(), quiz.tried.len()) {
        (true, 1) => ("✓ right".to_owned(), theme.ok),
        (true, n) => (format!("✓ right, at try {n}"), theme.ok),
        (false, 0) => ("○ open".into(), theme.dim),
        (false, _) => ("✗ not that".into(), theme.warn),
    };
    head_line("Quiz", label_style(selected, theme), "", &state, style, width, theme)
}

fn label_style(selected: bool, theme: &Theme) -> Style {
    if selected { theme.selected } else { theme.strong }
}

fn say(layout: &mut Layout, text: &str, style: Style, columns: usize) {
    let lines = text::wrap(&[Span::styled(text.to_owned(), style)], columns, Break::Words);
    layout.plain(lines.into_iter().map(|mut line| {
        line.spans.insert(0, Span::raw("  "));
        line
    }));
}
