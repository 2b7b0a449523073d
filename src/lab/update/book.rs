//! What the notebook's file has to know of the cells, and which of them are stale.

use crate::base::figures::plural;
use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::book_change::{BookChange, Keeping, NotSaved};
use crate::lab::model::file_facts::FileFacts;
use crate::lab::model::item::{CellState, ItemState, Status};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::state::{Confirm, Noted, Popup, State};
use crate::lab::model::text;
use crate::lab::update::naming;
use crate::notebook::stale::{Freshness, How, Run, Why, stale};

/// Runs of a session that stale marks are made from; of more, the first are forgotten.
const MOST_RUNS: usize = 2000;

const CHANGED_OUTSIDE: &str = "another program has changed the file";

/// Tells the notebook's file what has become of the cells since it was told last.
pub(super) fn follow(state: &mut State, fx: &mut Vec<Effect>) {
    follow_cells(state, fx);
    follow_places(state, fx);
}

/// Where cells of the learner's own stand in a lesson may change without a change of the cells' order.
fn follow_places(state: &mut State, fx: &mut Vec<Effect>) {
    if state.lesson.is_none() || state.keeping == Keeping::Nothing {
        return;
    }
    let now = state.stands();
    if now == state.stood {
        return;
    }
    let before = std::mem::take(&mut state.stood);
    for (key, stand) in now.iter().filter(|place| !before.contains(place)) {
        let id = state.cells().find(|cell| cell.key == *key).map(|cell| cell.id.clone());
        let change = |id| Effect::Book(BookChange::Stands { id, stand: stand.clone() });
        fx.extend(id.map(change));
    }
    state.stood = now;
}

fn follow_cells(state: &mut State, fx: &mut Vec<Effect>) {
    if state.noted.is_same(state.cells()) {
        return;
    }
    let now: Vec<Noted> = state.cells().map(Noted::of).collect();
    let before = state.noted.replace(now.clone());
    if state.keeping == Keeping::Nothing {
        state.untold.get_or_insert_with(|| before.clone());
    } else {
        tell(state, &before, &now, fx);
    }
    mark_edited(state, &before);
    if !state.has_text {
        refresh(state);
    }
}

/// What holds of the file from now on. Where what is done begins to be kept, the file is told of what was done before.
pub(super) fn file(state: &mut State, facts: FileFacts, keeping: Keeping, fx: &mut Vec<Effect>) {
    let before = std::mem::replace(&mut state.file, facts);
    if let (Some(why), None) = (&before.read_only, &state.file.read_only) {
        state.said.withdraw(why);
    }
    tell_news(state, &before);
    let before = std::mem::replace(&mut state.keeping, keeping);
    if before != Keeping::Nothing || keeping == Keeping::Nothing {
        return;
    }
    // What was answered meanwhile has waited for it.
    state.unkept = false;
    if let Some(before) = state.untold.take() {
        let now: Vec<Noted> = state.cells().map(Noted::of).collect();
        tell(state, &before, &now, fx);
        state.noted.replace(now);
    }
    // What still runs is told when it has.
    let has_run = |cell: &&CellState| cell.ran.is_some() && !cell.from_file && !cell.is_busy();
    let ran_meanwhile: Vec<Key> = state.cells().filter(has_run).map(|cell| cell.key).collect();
    ran_meanwhile.into_iter().for_each(|key| ran(state, key, fx));
}

/// Says what holds of the file that did not before.
fn tell_news(state: &mut State, before: &FileFacts) {
    let [save, differences] = [Action::Save, Action::Differences].map(|action| keys_for(state, action));
    if state.file.recovered > 0 && before.recovered == 0 {
        let changes = plural(state.file.recovered as u64, "change that was", "changes that were");
        let are = if state.file.recovered == 1 { "is" } else { "are" };
        state.say(format!(
            "{changes} not saved {are} recovered; {save} saves, {differences} shows the differences"
        ));
    }
    if before.changed_outside && !state.file.changed_outside {
        state.said.withdraw(CHANGED_OUTSIDE);
    }
    if state.file.changed_outside && !before.changed_outside {
        state.say(format!("{CHANGED_OUTSIDE}: {differences} shows the differences and can reload it"));
    }
}

/// Tells the file how the cells that were have become those that are.
fn tell(state: &State, before: &[Noted], now: &[Noted], fx: &mut Vec<Effect>) {
    let same_cells = before.len() == now.len() && before.iter().zip(now).all(|(a, b)| a.key == b.key);
    if !same_cells {
        moved(state, before, now, fx);
    }
    for new in now {
        let Some(old) = before.iter().find(|old| old.key == new.key) else { continue };
        let Some(cell) = state.cells().find(|cell| cell.key == new.key) else { continue };
        let id = cell.id.clone();
        if old.markdown != new.markdown {
            fx.push(Effect::Book(BookChange::Markdown { id: id.clone(), markdown: new.markdown }));
        }
        if old.version != new.version {
            fx.push(Effect::Book(BookChange::Text { id, text: cell.editor.text() }));
        }
    }
}

/// Cells that are new, gone, or elsewhere.
fn moved(state: &State, before: &[Noted], now: &[Noted], fx: &mut Vec<Effect>) {
    let cell = |key: Key| state.cells().find(|cell| cell.key == key);
    let mut list: Vec<&Noted> = Vec::new();
    for old in before {
        if now.iter().any(|new| new.key == old.key) {
            list.push(old);
        } else {
            fx.push(Effect::Book(BookChange::Remove { id: old.id.clone() }));
        }
    }
    for (at, new) in now.iter().enumerate() {
        if list.get(at).is_some_and(|there| there.key == new.key) {
            continue;
        }
        let after = at.checked_sub(1).and_then(|above| now.get(above)).map(|above| above.id.clone());
        if let Some(from) = list.iter().position(|there| there.key == new.key) {
            list.remove(from);
            list.insert(at.min(list.len()), new);
            fx.push(Effect::Book(BookChange::Move { id: new.id.clone(), after }));
            continue;
        }
        list.insert(at.min(list.len()), new);
        let item = state.steps.iter().flat_map(|step| &step.items).find(|item| item.key() == Some(new.key));
        if let (Some(ItemState::Cell(_)), Some(cell)) = (item, cell(new.key)) {
            fx.push(Effect::Book(BookChange::Insert { after, cell: Box::new(cell.to_cell()) }));
        }
    }
}

/// Code that is again what ran is no longer edited.
fn mark_edited(state: &mut State, before: &[Noted]) {
    for cell in state.cells_mut().filter(|cell| cell.ran.is_some()) {
        if before.iter().any(|old| old.key == cell.key && old.version == cell.version) {
            continue;
        }
        let edited = cell.ran != Some(cell.hash());
        if cell.edited != edited {
            cell.edited = edited;
            cell.laid.clear();
        }
    }
}

/// A cell begins to run.
pub(super) fn begun(state: &mut State, run: Option<Run>) {
    if state.has_text {
        return;
    }
    state.runs.extend(run);
    let over = state.runs.len().saturating_sub(MOST_RUNS);
    state.runs.drain(..over);
    refresh(state);
}

/// A cell has run: the file is told what it gave.
pub(super) fn ran(state: &mut State, key: Key, fx: &mut Vec<Effect>) {
    if state.keeping == Keeping::Nothing {
        return;
    }
    let Some(cell) = state.cell_mut(key) else { return };
    cell.unsaved = true;
    let (id, stored) = (cell.id.clone(), Box::new(cell.stored()));
    fx.push(Effect::Book(BookChange::Ran { id, stored }));
}

/// How saving went.
pub(super) fn saved(state: &mut State, saved: Result<Vec<String>, NotSaved>, fx: &mut Vec<Effect>) {
    match saved {
        Ok(notes) => naming::is_saved(state, &notes, fx),
        Err(NotSaved::Conflict(_)) => state.popup = Some(Popup::Confirm(Confirm::Overwrite)),
        Err(NotSaved::Exists(path)) => {
            state.aid.name = path.display().to_string();
            state.popup = Some(Popup::Confirm(Confirm::Replace));
        }
        // The name can be mended.
        Err(NotSaved::As { path, reason }) => {
            state.aid.name = path.display().to_string();
            state.popup = Some(Popup::SaveAs);
            state.say(text::clean_line(&format!("not saved: {reason}")));
        }
        Err(NotSaved::Failed(reason)) => {
            state.after_save = None;
            state.say(text::clean_line(&format!("not saved: {reason}")));
        }
    }
}

/// Finds anew which cells are stale.
pub(crate) fn refresh(state: &mut State) {
    let code: Vec<&CellState> = state.cells().filter(|cell| !cell.markdown).collect();
    let hash = |cell: &CellState| match cell.ran {
        Some(ran) if !cell.edited => ran,
        _ => cell.hash(),
    };
    let hashes: Vec<_> = code.iter().map(|cell| (cell.id.as_str(), hash(cell))).collect();
    let found = stale(&hashes, &state.runs);
    let label = |id: &str| {
        let number = code.iter().find(|cell| cell.id == id).and_then(|cell| cell.number);
        number.map_or_else(|| "a cell".to_owned(), |n| format!("In [{n}]"))
    };
    let marks: Vec<(Key, Option<String>)> =
        code.iter().zip(&found).map(|(cell, freshness)| (cell.key, reason(freshness, &label))).collect();
    for (key, stale) in marks {
        if let Some(cell) = state.cell_mut(key)
            && cell.stale != stale
        {
            cell.stale = stale.filter(|_| !matches!(cell.status, Status::Idle | Status::Queued));
            cell.laid.clear();
        }
    }
}

/// Why a cell is stale by another one; that its own text changed is told elsewhere.
fn reason(freshness: &Freshness, label: &dyn Fn(&str) -> String) -> Option<String> {
    let Freshness::Stale(Why::Depends { name, cell, how }) = freshness else { return None };
    let cell = label(cell);
    Some(match how {
        How::Changed => format!("{name} is of {cell}, edited since"),
        How::RanSince => format!("{cell} has given {name} anew"),
        How::IsStale => format!("{name} is of {cell}, which is stale"),
        How::Removed => format!("the cell of {name} is gone"),
    })
}
