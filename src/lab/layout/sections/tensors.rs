//! The table of live tensors.

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::{Device, figures};
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{Hit, SectionEntry, SectionPlace, Step, Term, beside};
use crate::lab::layout::sections::marks::{counted, list_title, place, row_mark};
use crate::lab::model::history::order::Sort;
use crate::lab::model::history::records::{Grad, Live};
use crate::lab::model::machine::{Pick, Section};
use crate::lab::model::state::State;
use crate::lab::model::text;

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Tensors,
    rows: |state, _| rows(state),
    fitting: |_, area| fitting(area),
    needs: |state, _| rows(state) + 1,
    lay,
    hit,
    step,
    in_pane: SectionPlace::List,
    on_screen: SectionPlace::List,
    picked_in_pane: true,
    terms: TERMS,
};

const TERMS: &[Term] = &[
    Term {
        name: "live tensor",
        means: "A storage that something still refers to: a variable, a view, the graph for the backward pass. It goes with \
         the last of them, not before.",
    },
    Term {
        name: "name",
        means: "The variables that hold it, also within arrays, maps and modules. Without a name (–) it lives in the graph, \
         in an optimiser's state, or in a function that runs.",
    },
    Term {
        name: "dtype",
        means: "The type of its elements: f32 is torch.float32, bf16 torch.bfloat16, i64 torch.int64.",
    },
    Term {
        name: "c·f32, 0·f32, ≠·f32, c·*",
        means: "The marks beside the code: where the variables of a line are, and their dtype. c is the CPU, 0 is cuda:0, 1 \
         cuda:1; ≠ stands for several devices, * for several dtypes. They tell of now, not of when the line ran; below the \
         code each variable is told by itself where a mark can't. Narrow cells have the device alone.",
    },
    Term {
        name: "grad",
        means: "'grad: none' requires a gradient (requires_grad) and has none yet; 'has .grad' takes as much memory again, \
         until zero_grad() sets it to none.",
    },
    Term { name: "bytes", means: "Elements x bytes of one element. The allocator rounds it up." },
];

const DTYPE: usize = 4;
const BYTES: usize = 10;
const DEVICE: usize = 6;
const GRAD: usize = 10;

/// Rows that the table takes if all of it is shown. Sorted by device, each device that has tensors has a heading.
fn rows(state: &State) -> usize {
    state.history.live_count() + headings(state)
}

fn headings(state: &State) -> usize {
    match state.history.sorted_by() {
        Sort::Device => state.history.devices().filter(|tally| tally.tensors > 0).count(),
        _ => 0,
    }
}

/// Rows of the table that fit an area.
fn fitting(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(1)
}

/// A row of the table.
enum TensorRow<'a> {
    Heading(Device),
    Tensor(&'a Live),
}

/// The rows from number `top` on, `room` of them.
fn visible(state: &State, top: usize, room: usize) -> Vec<TensorRow<'_>> {
    let history = &state.history;
    if headings(state) == 0 {
        return history.live(top, room).into_iter().map(TensorRow::Tensor).collect();
    }
    let (mut row, mut first) = (0, 0);
    let mut out = Vec::with_capacity(room);
    for tally in history.devices().filter(|tally| tally.tensors > 0) {
        let end = row + 1 + tally.tensors;
        if end > top && out.len() < room {
            if row >= top {
                out.push(TensorRow::Heading(tally.device));
            }
            let skipped = top.saturating_sub(row + 1);
            let wanted = (tally.tensors - skipped.min(tally.tensors)).min(room - out.len());
            out.extend(history.live(first + skipped, wanted).into_iter().map(TensorRow::Tensor));
        }
        row = end;
        first += tally.tensors;
    }
    out
}

/// Tensors above row number `top`.
fn before(state: &State, top: usize) -> usize {
    if headings(state) == 0 {
        return top;
    }
    let (mut row, mut tensors) = (0, 0);
    for tally in state.history.devices().filter(|tally| tally.tensors > 0) {
        tensors += top.saturating_sub(row + 1).min(tally.tensors);
        row += 1 + tally.tensors;
    }
    tensors
}

/// The tensors in sight, with their rows below the title.
fn picks(state: &State, top: usize, area: Rect) -> Vec<(usize, Pick)> {
    let rows = visible(state, top, fitting(area)).into_iter().enumerate();
    rows.filter_map(|(row, what)| match what {
        TensorRow::Tensor(live) => Some((row, Pick::Tensor((live.device, live.address)))),
        TensorRow::Heading(_) => None,
    })
    .collect()
}

fn hit(state: &State, area: Rect, at: Position) -> Option<Hit> {
    let row = usize::from(at.y - area.y);
    let all = picks(state, state.tops.of(Section::Tensors), area);
    all.into_iter().find(|(at, _)| at + 1 == row).map(|(_, pick)| Hit::Pick(pick))
}

fn step(state: &State, area: Rect, forward: bool) -> Option<Step> {
    let last = rows(state).saturating_sub(fitting(area));
    let list = |top| picks(state, top, area).into_iter().map(|(_, pick)| pick).collect();
    beside(list, state.machine.pick, state.tops.of(Section::Tensors).min(last), last, forward)
}

fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let width = usize::from(area.width);
    let room = fitting(area);
    let history = &state.history;
    let visible = visible(state, top, room);
    let tensors = visible.iter().filter(|row| matches!(row, TensorRow::Tensor(_))).count();
    // Headings are no tensors.
    let mut note = position(before(state, top), tensors, history.live_count());
    if history.sorted_by() != Sort::Device {
        let by = format!("by {}", history.sorted_by().name());
        note = if note.is_empty() { by } else { format!("{by}, {note}") };
    }
    let all = (history.live_count() as u64).saturating_add(history.untracked);
    let name = counted(history.live_count() as u64, all, ("live tensor", "live tensors"), width);
    placed.put(0, list_title(state, Section::Tensors, &name, &note, width));
    for (y, row) in visible.into_iter().enumerate() {
        let line = match row {
            TensorRow::Heading(device) => heading(state, device),
            TensorRow::Tensor(live) => tensor(state, live, width),
        };
        placed.put(y + 1, line);
    }
    placed
}

fn heading(state: &State, device: Device) -> Line<'static> {
    let theme = &state.theme;
    let held = state.history.devices().find(|tally| tally.device == device);
    let (tensors, bytes) = held.map_or((0, 0), |tally| (tally.tensors, tally.tensor_bytes));
    let text =
        format!("  {}, {}", figures::plural(tensors as u64, "tensor", "tensors"), figures::bytes(bytes));
    Line::from(vec![Span::styled(device.to_string(), theme.accent), Span::styled(text, theme.dim)])
}

fn tensor(state: &State, live: &Live, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let picked = state.machine.pick == Some(Pick::Tensor((live.device, live.address)));
    // Where the headings do not name the device, each row does.
    let device = if state.history.sorted_by() == Sort::Device { 0 } else { DEVICE + 1 };
    let grad = if width >= 76 { GRAD + 1 } else { 0 };
    let made_by = width >= 58 + grad;
    let names = if made_by { 12 + width.saturating_sub(80).min(24) / 2 } else { 8 };
    let fixed = names + DTYPE + BYTES + device + grad + 4;
    let shapes = if made_by { 18 } else { width.saturating_sub(fixed) };
    let (name, name_style) = live.name.as_deref().map_or(("–", theme.dim), |name| (name, theme.strong));
    let name_style = if picked { theme.selected } else { name_style };
    let mut spans = vec![
        row_mark(state, picked, live.source),
        Span::styled(format!("{} ", text::left(name, names)), name_style),
        Span::styled(format!("{} ", text::left(&shape(&live.shape), shapes)), theme.text),
        Span::styled(format!("{} ", text::left(live.dtype.short_name(), DTYPE)), theme.dim),
    ];
    if device > 0 {
        spans.push(Span::styled(format!("{} ", text::left(&live.device.to_string(), DEVICE)), theme.accent));
    }
    spans.push(Span::styled(text::right(&figures::bytes(live.bytes), BYTES), theme.text));
    if grad > 0 {
        let (told, style) = match live.grad {
            None => ("", theme.dim),
            Some(Grad::No) => ("no grad", theme.dim),
            Some(Grad::Wanted) => ("grad: none", theme.text),
            Some(Grad::There(_)) => ("has .grad", theme.ok),
        };
        spans.push(Span::styled(format!(" {}", text::left(told, GRAD)), style));
    }
    if made_by && !live.op.is_empty() {
        let room = width.saturating_sub(fixed + shapes + 2);
        let text = format!("{}{}", live.op, place(" ", live.source));
        spans.push(Span::styled(format!("  {}", text::clip(&text, room)), theme.dim));
    }
    Line::from(spans)
}

fn shape(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("[{}]", sizes.join(", "))
}
