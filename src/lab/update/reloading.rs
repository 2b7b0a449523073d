//! The notebook's file read again: what differs is shown first, and then its cells are taken.

use crate::lab::model::aid::Doc;
use crate::lab::model::document::{Cell, Document, Item};
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::state::{Noted, Popup, State};
use crate::lab::model::text;
use crate::lab::update::{book, selecting};

/// Asks how the file differs from what is here.
pub(super) fn compare(state: &mut State, fx: &mut Vec<Effect>) {
    (state.popup, state.after_save) = (None, None);
    if state.can_save() {
        fx.push(Effect::Compare);
    } else {
        state.say("this document has no file to compare with");
    }
}

/// Shows the differences; where there are none, says so.
pub(super) fn compared(state: &mut State, lines: Result<Vec<String>, String>) {
    match lines {
        Err(reason) => state.say(text::clean_line(&reason)),
        Ok(lines) if lines.is_empty() => state.say("the file has what is here"),
        Ok(lines) => {
            let lines = lines.iter().map(|line| text::clean(line)).collect();
            state.aid.doc = Some(Doc { title: "- is here alone, + is in the file alone".into(), lines });
            state.popup = Some(Popup::Differences(0));
        }
    }
}

/// Asks for the file's cells.
pub(super) fn reload(state: &mut State, fx: &mut Vec<Effect>) {
    state.popup = None;
    if state.cells().any(CellState::is_busy) {
        return state.say("a cell is running or queued: interrupt it, then reload");
    }
    fx.push(Effect::Reload);
}

/// Takes the file's cells. Those that are here as well keep what they have shown, of which the file is told; the session
/// stays as it is.
pub(super) fn reloaded(state: &mut State, document: Document, fx: &mut Vec<Effect>) {
    selecting::leave(state);
    let Some(step) = document.steps.into_iter().next() else { return };
    let code_before: Vec<(Key, String)> = state.cells().map(|cell| (cell.key, cell.editor.text())).collect();
    let Some(here) = state.steps.first_mut() else { return };
    let mut before: Vec<Option<ItemState>> = std::mem::take(&mut here.items).into_iter().map(Some).collect();
    let (mut items, mut shown_here) = (Vec::new(), Vec::new());
    for item in step.items {
        let Item::Cell(cell) = item else { continue };
        let same_text = before.iter().position(|old| is(old.as_ref(), |old| is_like(old, &cell)));
        let found =
            same_text.or_else(|| before.iter().position(|old| is(old.as_ref(), |old| old.id == cell.id)));
        let old = found.and_then(|at| before.get_mut(at)?.take());
        items.push(match old {
            Some(ItemState::Cell(old)) => {
                shown_here.extend(shows_more(&old, &cell).then_some(old.key));
                taken_over(old, *cell)
            }
            _ => ItemState::new(state.new_key(), Item::Cell(cell)),
        });
    }
    if let Some(here) = state.steps.first_mut() {
        here.items = items;
        here.text.clear();
    }
    let last = state.steps.first().map_or(0, |step| step.items.len().saturating_sub(1));
    state.selected = state.selected.min(last);
    state.speaks_still(&code_before);
    state.removed_unsaved = false;
    state.aid.forget_document();
    state.noted.replace(state.cells().map(Noted::of).collect());
    shown_here.into_iter().for_each(|key| book::ran(state, key, fx));
    book::refresh(state);
    state.say("the file's cells are here now; the session and its variables are as they were");
}

fn is(item: Option<&ItemState>, holds: impl Fn(&CellState) -> bool) -> bool {
    matches!(item, Some(ItemState::Cell(cell)) if holds(cell))
}

fn is_like(old: &CellState, new: &Cell) -> bool {
    (old.markdown, old.raw) == (new.markdown, new.raw) && old.editor.text() == new.code
}

/// What a cell has shown here is not what the file has of it.
fn shows_more(old: &CellState, new: &Cell) -> bool {
    old.ran.is_some()
        && !old.from_file
        && old.markdown == new.markdown
        && new.stored.as_deref() != Some(&old.stored())
}

/// A cell that was here, with the file's text.
fn taken_over(mut old: Box<CellState>, new: Cell) -> ItemState {
    let is_outdated = old.from_file && new.stored.as_deref() != Some(&old.stored());
    if (old.markdown, old.raw) != (new.markdown, new.raw) || is_outdated {
        return ItemState::new(old.key, Item::Cell(Box::new(new)));
    }
    old.id = new.id;
    if old.editor.text() != new.code {
        old.set_text(&new.code);
    }
    old.unsaved = false;
    ItemState::Cell(old)
}
