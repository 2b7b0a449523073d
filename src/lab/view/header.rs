//! The first rows: what is open, where one is in it, how the session is; tabs where not every pane is shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::{Areas, tabs};
use crate::lab::model::actions::Action;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::model::text;
use crate::lab::update::screens;
use crate::lab::view::paint::{put, put_at};

/// Columns in which a title can still be known.
const FOR_TITLE: usize = 12;

pub(crate) fn draw(state: &State, buffer: &mut Buffer, areas: &Areas) {
    let theme = &state.theme;
    let width = usize::from(areas.header.width);
    let (status, style) = right_side(state);
    let lasting = lasting(state);
    let status = text::clip(&status, width.saturating_sub(24 + text::width(&lasting)));
    let taken = text::width(&status) + text::width(&lasting);
    let room = width.saturating_sub(taken + 3);
    let mut left = vec![Span::styled(" tensorlab ", theme.accent)];
    let step = match state.steps.len() {
        0 | 1 => String::new(),
        all => format!(" · step {} of {all}", state.step + 1),
    };
    left.extend((screens::entry(state.screen).title)(state));
    let used: usize = left.iter().map(Span::width).sum();
    let for_title = room.saturating_sub(used + text::width(&step));
    // The title is cut and not where one is in it, unless too little of it is left.
    let title = match for_title >= text::width(&state.title).min(FOR_TITLE) {
        true => format!("{}{step}", text::clip(&state.title, for_title)),
        false => text::clip(&format!("{}{step}", state.title), room.saturating_sub(used)),
    };
    left.push(Span::styled(title, theme.text));
    let left = Line::from(left);
    // The session's devices, where there is room for them.
    let devices = devices(state).into_iter().find(|devices| left.width() + text::width(devices) < room);
    let devices = devices.unwrap_or_default();
    put(buffer, areas.header, 0, &left);
    let column = width.saturating_sub(taken + 1 + text::width(&devices));
    // What stands at the left may reach below it: a space tells them apart.
    put_at(buffer, areas.header, column.saturating_sub(1), 0, &Line::raw(" "));
    let right = [(devices, theme.dim), (lasting, theme.warn), (status, style)];
    let right = Line::from(right.map(|(words, style)| Span::styled(words, style)).to_vec());
    put_at(buffer, areas.header, column, 0, &right);
    if let Some(area) = areas.tabs {
        tabs(state, buffer, area, areas);
    }
}

/// What the session runs on, as it has said, in ever fewer words: its GPUs by their names or by how many there are, the
/// CPU where there is none.
fn devices(state: &State) -> Vec<String> {
    if !state.has_document() || state.session.status != SessionStatus::Ready {
        return Vec::new();
    }
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for device in state.history.devices().filter(|device| device.device.is_cuda()) {
        match kinds.iter_mut().find(|(known, _)| *known == device.name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&device.name, 1)),
        }
    }
    let words = |(name, count): &(&str, usize)| {
        if *count > 1 { format!("{count} × {name}") } else { (*name).to_owned() }
    };
    let named = kinds.iter().map(words).collect::<Vec<_>>().join(", ");
    let count: usize = kinds.iter().map(|(_, count)| count).sum();
    match count {
        0 => vec!["CPU · ".into()],
        1 => vec![named + " · ", "1 GPU · ".into()],
        _ => vec![named + " · ", format!("{count} GPUs · ")],
    }
}

/// What holds of the notebook's file until something is done about it.
fn lasting(state: &State) -> String {
    let file = &state.file;
    let facts = [
        (file.read_only.is_some(), "read-only".to_owned()),
        (file.recovered > 0, format!("{} recovered", figures::count(file.recovered as u64))),
        (file.changed_outside, "changed outside".to_owned()),
    ];
    facts.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word + " · ").collect()
}

/// The session's state.
fn right_side(state: &State) -> (String, Style) {
    let theme = &state.theme;
    match &state.session.status {
        _ if !state.has_document() => (String::new(), theme.dim),
        SessionStatus::Starting => ("session starting".into(), theme.dim),
        SessionStatus::Dead { reason } => (format!("✗ {reason}"), theme.error),
        SessionStatus::Ready if state.is_busy() && state.work.interrupted_at.is_some() => {
            let key = state.keymap.name_of(Action::Interrupt);
            (format!("interrupting; {key} again offers a restart"), theme.warn)
        }
        SessionStatus::Ready if state.work.current.is_some() => {
            let queued = state.work.queue.len() as u64;
            let more =
                if queued > 0 { format!(", {} queued", figures::count(queued)) } else { String::new() };
            (format!("running{more}"), theme.accent)
        }
        SessionStatus::Ready => ("session ready".into(), theme.dim),
    }
}

fn tabs(state: &State, buffer: &mut Buffer, area: Rect, areas: &Areas) {
    let theme = &state.theme;
    for tab in tabs::tabs(state) {
        let style = match (tab.pane == state.focus, areas.pane(tab.pane).is_some()) {
            (true, _) => theme.selected,
            (_, true) => theme.strong,
            _ => theme.dim,
        };
        put_at(buffer, area, tab.x, 0, &Line::styled(tab.words, style));
    }
}
