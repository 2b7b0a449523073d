//! The table of live tensors: those with a name first, then the largest.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::machine::list_title;
use super::transfers::place;
use super::{position, put};
use crate::base::Device;
use crate::lab::figures;
use crate::lab::history::Live;
use crate::lab::state::State;
use crate::lab::text;
use crate::lab::theme::Theme;

const DTYPE: usize = 4;
const BYTES: usize = 10;

/// Rows that the table takes if all of it is shown: tensors, and a heading for each device that has some.
pub fn rows(state: &State) -> usize {
    let devices = state.history.devices().filter(|tally| tally.tensors > 0);
    devices.map(|tally| tally.tensors + 1).sum()
}

/// Rows of the table that fit an area.
pub fn fitting(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(1)
}

pub fn draw(state: &State, top: usize, buffer: &mut Buffer, area: Rect) {
    let width = usize::from(area.width);
    let room = fitting(area);
    let total = rows(state);
    let live = state.history.live(top + room);
    let count = state.history.devices().map(|tally| tally.tensors).sum::<usize>();
    let mut note = position(top, room, total);
    if state.history.untracked > 0 {
        note = format!("{note}, {} not listed", figures::count(state.history.untracked));
    }
    let name = figures::plural(count as u64, "live tensor", "live tensors");
    put(buffer, area, 0, &list_title(state, false, &name, &note, width));
    let theme = &state.theme;
    let mut row = 0;
    let mut show = |line: &dyn Fn() -> Line<'static>| {
        if row >= top && row < top + room {
            put(buffer, area, row - top + 1, &line());
        }
        row += 1;
    };
    let mut device = None;
    for live in live {
        if device != Some(live.device) {
            device = Some(live.device);
            show(&|| heading(state, live.device));
        }
        show(&|| tensor(live, width, theme));
    }
}

fn heading(state: &State, device: Device) -> Line<'static> {
    let theme = &state.theme;
    let held = state.history.devices().find(|tally| tally.device == device);
    let (tensors, bytes) = held.map_or((0, 0), |tally| (tally.tensors, tally.tensor_bytes));
    let text =
        format!("  {}, {}", figures::plural(tensors as u64, "tensor", "tensors"), figures::bytes(bytes));
    Line::from(vec![Span::styled(device.to_string(), theme.accent), Span::styled(text, theme.dim)])
}

fn tensor(live: &Live, width: usize, theme: &Theme) -> Line<'static> {
    let made_by = width >= 58;
    let names = if made_by { 12 } else { 8 };
    let shapes = if made_by { 18 } else { width.saturating_sub(names + DTYPE + BYTES + 4) };
    let (name, name_style) = live.name.as_deref().map_or(("–", theme.dim), |name| (name, theme.strong));
    let mut spans = vec![
        Span::styled(format!(" {} ", text::left(name, names)), name_style),
        Span::styled(format!("{} ", text::left(&shape(&live.shape), shapes)), theme.text),
        Span::styled(format!("{} ", text::left(figures::dtype(live.dtype), DTYPE)), theme.dim),
        Span::styled(text::right(&figures::bytes(live.bytes), BYTES), theme.text),
    ];
    if made_by && !live.op.is_empty() {
        let room = width.saturating_sub(names + shapes + DTYPE + BYTES + 6);
        let text = format!("{}{}", live.op, place(" at ", live.source));
        spans.push(Span::styled(format!("  {}", text::clip(&text, room)), theme.dim));
    }
    Line::from(spans)
}

fn shape(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("[{}]", sizes.join(", "))
}
