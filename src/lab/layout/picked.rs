//! What is picked on the machine, and the line of code that it comes from.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::event::{Doer, Source};
use crate::base::{Device, figures};
use crate::lab::layout::placed::Placed;
use crate::lab::layout::sections::marks::place;
use crate::lab::model::history::records::{Grad, Live, Transfer};
use crate::lab::model::history::timeline::{Mark, MarkKind};
use crate::lab::model::machine::Pick;
use crate::lab::model::state::State;
use crate::lab::model::text;

pub(crate) fn lay(state: &State, area: Rect) -> Placed {
    let mut placed = Placed::default();
    if area.height == 0 {
        return placed;
    }
    let theme = &state.theme;
    let width = usize::from(area.width);
    let Some(pick) = state.machine.pick else {
        let hint = " ↑↓ picks a tensor, a transfer or an event; its line shows here";
        placed.put(0, Line::styled(text::clip(hint, width), theme.dim));
        return placed;
    };
    let told = describe(state, pick).unwrap_or_else(|| "gone: freed, or too long ago to be kept".into());
    let line = Line::from(vec![
        Span::styled("▸ ", theme.accent),
        Span::styled(text::clip(&told, width.saturating_sub(2)), theme.text),
    ]);
    placed.put(0, line);
    placed.put(1, origin(state, width));
    placed
}

/// What is picked, in a line; `None` where it is gone.
fn describe(state: &State, pick: Pick) -> Option<String> {
    let history = &state.history;
    match pick {
        Pick::Tensor(key) => history.tensor(key).map(tensor),
        Pick::Event(seq) => match history.timeline().find(seq) {
            Some((_, mark)) => Some(event(mark)),
            None => history.transfer(seq).map(transfer),
        },
    }
}

fn tensor(live: &Live) -> String {
    let name = live.name.as_deref().unwrap_or("a tensor without a name");
    let shape: Vec<String> = live.shape.iter().map(ToString::to_string).collect();
    let grad = match live.grad {
        None => String::new(),
        Some(Grad::No) => ", no gradient".into(),
        Some(Grad::Wanted) => ", requires_grad, no .grad yet".into(),
        Some(Grad::There(bytes)) => format!(", .grad of {}", figures::bytes(bytes)),
    };
    let by = if live.op.is_empty() { String::new() } else { format!(", made by {}", live.op) };
    let (dtype, device, bytes) = (live.dtype.name(), live.device, figures::bytes(live.bytes));
    format!("{name}: [{}] {dtype} on {device}, {bytes}{grad}{by}", shape.join(", "))
}

fn event(mark: &Mark) -> String {
    let time = figures::timed(mark.span.nanos, mark.span.clock);
    match mark.what {
        MarkKind::Launch { op, kernel, dtype, bytes, flops } => {
            let flops = if flops > 0 { format!(", {} flop", figures::short(flops)) } else { String::new() };
            format!("{op}: kernel {kernel} {}, {time}, {}{flops}", dtype.name(), figures::bytes(bytes))
        }
        MarkKind::Copy { from, to, bytes, pinned, blocking } => {
            let seq = mark.seq;
            let (span, source) = (mark.span, mark.source);
            transfer(&Transfer { seq, from, to, bytes, pinned, blocking, span, source })
        }
        MarkKind::Wait { device, cause, implicit } => {
            let how = if implicit { "▲ implicit: nobody asked for it, " } else { "" };
            format!("{how}{cause} made the host wait {time} for {device}")
        }
        MarkKind::Collective { op, bytes } => {
            format!("{op} of {} among ranks: {time}", figures::bytes(bytes))
        }
        MarkKind::Hold { device: Device::Cpu, cause } => format!("{cause}: the host waited for {time}"),
        MarkKind::Hold { device, cause } => format!("{cause}: {device} held the host for {time}"),
    }
}

fn transfer(copy: &Transfer) -> String {
    let time = figures::timed(copy.span.nanos, copy.span.clock);
    let rate = figures::rate(copy.bytes, copy.span);
    let memory = copy.memory().map(|memory| format!("{memory}, ")).unwrap_or_default();
    let waits = if copy.blocking { "the host waited" } else { "the host went on" };
    format!(
        "copy {}: {}, {time}, {rate} GB/s, {memory}{waits}",
        figures::way(copy.from, copy.to),
        figures::bytes(copy.bytes)
    )
}

/// `In [3]:2  let y = x.to("cuda");`
fn origin(state: &State, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let Some(source) = state.machine.source(&state.history) else {
        return Line::styled("  its line is not known", theme.dim);
    };
    let place = place("", source);
    let code = code(state, source).unwrap_or_else(|| match source.doer() {
        Doer::SetUp => "what the lesson prepares, unseen".into(),
        Doer::Check(_) => "what the lesson checks, unseen".into(),
        Doer::Answer(_) => "what the lesson compares your answer with".into(),
        Doer::Learner => "the cell has run again or is gone".into(),
    });
    let room = width.saturating_sub(text::width(&place) + 4);
    Line::from(vec![
        Span::styled(format!("  {place}  "), theme.accent),
        Span::styled(text::clip(code.trim(), room), theme.text),
    ])
}

/// The line of code that a source names, where the cell still has it.
fn code(state: &State, source: Source) -> Option<String> {
    let cell = state.cells().find(|cell| cell.number == Some(source.cell) && !cell.earlier)?;
    let line = usize::try_from(source.line).ok()?.checked_sub(1)?;
    cell.editor.lines().get(line).cloned()
}
