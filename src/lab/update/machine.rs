//! Looking at the machine: its sections, what is picked in them, the stretch of time that is shown.

use ratatui::layout::{Position, Rect};

use crate::base::event::{Clock, Source};
use crate::lab::layout;
use crate::lab::layout::machine::{Parts, parts};
use crate::lab::layout::sections::entry::{Hit, scrolled};
use crate::lab::layout::sections::entry_of;
use crate::lab::layout::{Areas, cells, inner};
use crate::lab::model::editor::Pos;
use crate::lab::model::history::timeline::LaneId;
use crate::lab::model::laid::RowPart;
use crate::lab::model::machine::{Pick, Section};
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::Screen;
use crate::lab::model::state::State;
use crate::lab::update::selecting;

/// Shows the machine alone, or goes back to where one was.
pub(crate) fn toggle(state: &mut State) {
    selecting::leave(state);
    state.screen = if state.machine_fills() { Screen::Work } else { Screen::Machine };
}

/// Goes on to the next section that has something to pick, or back.
pub(super) fn turn(state: &mut State, forward: bool) {
    let mut section = state.machine.section.turned(forward);
    while !takes_keys(state, section) && section != state.machine.section {
        section = section.turned(forward);
    }
    state.machine.section = section;
}

/// True where the keys can go to a section.
fn takes_keys(state: &State, section: Section) -> bool {
    state.machine_fills() || entry_of(section).picked_in_pane
}

/// True where the keys go to the machine.
pub(crate) fn has_keys(state: &State) -> bool {
    state.machine_fills() || state.screen.has_panes() && state.focus == Pane::Machine
}

/// Picks the row above or below, or chooses a lane.
pub(super) fn step(state: &mut State, forward: bool) {
    let Some(parts) = shown(state) else { return };
    let section = state.machine.section;
    let Some(step) = (entry_of(section).step)(state, parts.of(section), forward) else { return };
    state.tops.set(section, step.top);
    state.machine.lane = step.lane.or(state.machine.lane);
    if let Some(picked) = step.pick {
        pick(state, picked);
    }
}

/// Picks something, and brings its line into sight.
fn pick(state: &mut State, pick: Pick) {
    state.machine.pick = Some(pick);
    show_line(state);
}

fn shown(state: &State) -> Option<Parts> {
    parts(state, &layout::screen(state)?)
}

/// Scrolls a section without picking.
pub(crate) fn scroll(state: &mut State, section: Section, rows: usize, forward: bool) {
    state.tops.set(section, scrolled(state.tops.of(section), rows, forward));
}

/// Scrolls the section that has the keys by a page, or to its end.
pub(super) fn page(state: &mut State, forward: bool, to_end: bool) {
    let section = state.machine.section;
    let area = shown(state).map(|parts| parts.of(section)).unwrap_or_default();
    let rows = (entry_of(section).fitting)(state, area);
    let rows = if to_end { usize::MAX } else { rows.saturating_sub(1).max(1) };
    scroll(state, section, rows, forward);
}

fn lanes(state: &State) -> Vec<LaneId> {
    state.history.timeline().lanes().map(|(id, _)| id).collect()
}

/// Picks the event after or before, on the lane that was chosen.
pub(super) fn event(state: &mut State, forward: bool) {
    if state.machine.lane.is_none() {
        state.machine.lane = lanes(state).first().copied();
    }
    let timeline = state.history.timeline();
    let Some((id, lane)) = state.machine.lane.and_then(|id| Some((id, timeline.lane(id)?))) else { return };
    let now = match state.machine.pick {
        Some(Pick::Event(seq)) => Some(seq),
        _ => None,
    };
    let Some(mark) = lane.beside(now, forward).copied() else { return };
    state.machine.section = Section::Timeline;
    state.machine.reveal(&state.history, id.clock(), mark.span.start, mark.span.end());
    pick(state, Pick::Event(mark.seq));
}

/// The clock that zooming and panning act upon.
fn clock(state: &State) -> Option<Clock> {
    let chosen = state.machine.lane.map(LaneId::clock);
    chosen.or_else(|| state.history.timeline().clocks().next())
}

pub(crate) fn zoom(state: &mut State, closer: bool) {
    let Some(clock) = clock(state) else { return };
    let around = match state.machine.pick {
        Some(Pick::Event(seq)) => state.history.timeline().find(seq).map(|(_, mark)| mark.span.start),
        _ => None,
    };
    state.machine.zoom(&state.history, clock, closer, around);
}

pub(crate) fn pan(state: &mut State, forward: bool) {
    if let Some(clock) = clock(state) {
        state.machine.pan(&state.history, clock, forward);
    }
}

/// The timeline goes with the selection, to what that cell did when it ran.
pub(super) fn look(state: &mut State) {
    let run = state.selected_cell().and_then(|cell| cell.number.filter(|_| !cell.earlier));
    if state.history.look_at(run) {
        fit(state, false);
    }
}

/// Shows what the selected cell did, or the last one, or all that is kept.
pub(super) fn fit(state: &mut State, all: bool) {
    state.machine.fit(&state.history, all);
}

/// Turns the log and the timeline to what the lesson did by itself, or back to the learner's work.
pub(super) fn show_lesson(state: &mut State) {
    let history = &mut state.history;
    if !history.shows_lesson && !history.has_lesson_work() {
        state.say("no lesson has done anything by itself here: all of this is your code's");
        return;
    }
    history.shows_lesson = !history.shows_lesson;
    let told = if history.shows_lesson {
        "what the lesson did by itself: set-up, checks, predictions; the same key goes back"
    } else {
        "what your code did"
    };
    state.machine.forget();
    Section::ALL.into_iter().for_each(|section| state.tops.set(section, 0));
    state.say(told);
}

/// Sorts the table of tensors by its next column.
pub(super) fn sort(state: &mut State) {
    let sort = state.history.sorted_by().next();
    state.history.sort(sort);
    state.tops.set(Section::Tensors, 0);
    state.machine.section = Section::Tensors;
    state.say(format!("tensors by {}", sort.name()));
}

/// Selects the cell before or after, whose transfers and events are marked.
pub(super) fn cell(state: &mut State, forward: bool) {
    let focus = std::mem::replace(&mut state.focus, Pane::Cells);
    selecting::select(state, forward);
    state.focus = focus;
    let number = state.selected_cell().and_then(|cell| cell.number.filter(|_| !cell.earlier));
    match number {
        Some(number) if state.history.timeline().has(number) => {
            state.say(format!("In [{number}] is selected: what it did is shown, and marked with •"));
        }
        Some(number) => state.say(format!("In [{number}] is selected: it did nothing that a timeline has")),
        None if state.selected_cell().is_some() => state.say("a cell that has not run is selected"),
        None => state.say("a question is selected"),
    }
}

/// Goes to the line that caused what is picked.
pub(crate) fn go_to_line(state: &mut State) {
    let Some(source) = state.machine.source(&state.history) else {
        state.say("nothing is picked, or its line is not known");
        return;
    };
    let Some((step, item)) = state.place_of_run(source.cell) else {
        state.say("the cell that did this has run again, or is gone");
        return;
    };
    selecting::go_to_item(state, step, item);
    if let Some(cell) = state.selected_cell_mut() {
        let row = usize::try_from(source.line).unwrap_or(1).saturating_sub(1);
        let row = row.min(cell.editor.lines().len().saturating_sub(1));
        cell.editor.set_cursor(Pos { row, col: 0 });
    }
    // Of a cell that is longer than the pane, that line is to be seen.
    state.follow = !show_line(state);
}

/// Picks the first event that the line at the cursor caused, as it ran last, and then the next one.
pub(super) fn events_of_line(state: &mut State) {
    let Some(cell) = state.selected_cell() else { return state.say("select a cell first") };
    let line = u32::try_from(cell.editor.cursor().row + 1).unwrap_or(u32::MAX);
    let Some(number) = cell.number.filter(|_| !cell.earlier) else {
        return state.say("this cell has not run in this session");
    };
    if state.history.shows_lesson {
        // What a line caused is the learner's work.
        state.history.shows_lesson = false;
        state.machine.forget();
    }
    let wanted = Source::at(number, line);
    let history = &state.history;
    let marks = history.timeline().lanes().flat_map(|(_, lane)| lane.between(0, u64::MAX));
    let mut all: Vec<u64> = marks.filter(|mark| mark.source.is_at(&wanted)).map(|mark| mark.seq).collect();
    all.extend(history.transfers().newest().filter(|copy| copy.source.is_at(&wanted)).map(|copy| copy.seq));
    all.sort_unstable();
    let now = match state.machine.pick {
        Some(Pick::Event(seq)) => Some(seq),
        _ => None,
    };
    let next = all.iter().find(|seq| now.is_some_and(|now| **seq > now)).or(all.first()).copied();
    let Some(seq) = next else {
        return state
            .say(format!("line {line} of In [{number}] caused no copy, launch or wait that is kept"));
    };
    all.dedup();
    let place = all.iter().position(|other| *other == seq).unwrap_or(0) + 1;
    selecting::show(state, Pane::Machine);
    if let Some((lane, span)) = state.history.timeline().find(seq).map(|(lane, mark)| (lane, mark.span)) {
        state.machine.lane = Some(lane);
        state.machine.reveal(&state.history, lane.clock(), span.start, span.end());
    }
    state.machine.section = Section::of_event(&state.history, seq);
    pick(state, Pick::Event(seq));
    state.say(format!("event {place} of {} that line {line} of In [{number}] caused", all.len()));
}

/// Scrolls the cells so that the line of what is picked is in sight, if it is in this step; true where it is.
fn show_line(state: &mut State) -> bool {
    let Some(source) = state.machine.source(&state.history) else { return false };
    let Some(pane) = layout::screen(state).and_then(|areas| areas.pane(Pane::Cells)) else { return false };
    let Some((_, item)) = state.place_of_run(source.cell).filter(|(step, _)| *step == state.step) else {
        return false;
    };
    let inside = inner(pane);
    let extents = cells::extents(state, inside.width);
    let Some(extent) = extents.iter().find(|extent| extent.item == item) else { return false };
    let wanted = usize::try_from(source.line).unwrap_or(1).saturating_sub(1);
    let row = extent
        .layout
        .rows
        .iter()
        .position(|row| matches!(row.part, RowPart::Code { line, .. } if line == wanted));
    let row = extent.top + row.unwrap_or(0);
    let rows = usize::from(inside.height);
    if row < state.tops.cells || row >= state.tops.cells + rows {
        state.tops.cells = row.saturating_sub(rows / 3);
        state.follow = false;
    }
    true
}

/// A press of the mouse.
pub(crate) fn press(state: &mut State, areas: &Areas, at: Position) {
    let Some(parts) = parts(state, areas) else { return };
    if parts.tabs.contains(at) {
        if let Some(section) = tab_at(parts.tabs, at) {
            state.machine.section = section;
        }
        return;
    }
    let Some((section, area)) = parts.shown().find(|(_, area)| area.contains(at)) else { return };
    if takes_keys(state, section) {
        state.machine.section = section;
    }
    match (entry_of(section).hit)(state, area, at) {
        Some(Hit::Pick(picked)) => pick(state, picked),
        Some(Hit::Lane(lane, _, picked)) => {
            state.machine.lane = Some(lane);
            if let Some(picked) = picked {
                pick(state, picked);
            }
        }
        None => {}
    }
}

fn tab_at(tabs: Rect, at: Position) -> Option<Section> {
    let mut x = tabs.x;
    Section::ALL.into_iter().find(|section| {
        let end = x + u16::try_from(section.name().len()).unwrap_or(0) + 3;
        let here = (x..end).contains(&at.x);
        x = end;
        here
    })
}

/// The wheel scrolls what is under the mouse; over a lane it zooms.
pub(super) fn wheel(state: &mut State, areas: &Areas, at: Position, rows: usize, forward: bool) {
    let Some(parts) = parts(state, areas) else { return };
    let Some((section, area)) = parts.shown().find(|(_, area)| area.contains(at)) else { return };
    match (entry_of(section).hit)(state, area, at) {
        Some(Hit::Lane(lane, moment, _)) => {
            state.machine.zoom(&state.history, lane.clock(), !forward, Some(moment));
        }
        _ => scroll(state, section, rows, forward),
    }
}
