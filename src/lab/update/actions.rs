//! What each action of the key table does.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::lab::layout;
use crate::lab::layout::glossary;
use crate::lab::model::actions::{Action, CellAction, Edit, MachineAction};
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::aid::KeysSearch;
use crate::lab::model::answers;
use crate::lab::model::book_change::Keeping;
use crate::lab::model::item::ItemState;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::home::{SHOW, Target};
use crate::lab::model::state::{Confirm, Popup, SessionStatus, State};
use crate::lab::model::summary;
use crate::lab::update::screens::home;
use crate::lab::update::scrolling::{self, Go};
use crate::lab::update::selecting::{go_to_step, show};
use crate::lab::update::{
    answering, arranging, asking, cells, completion, editing, finding, help_pages, keys_search, machine,
    naming, picking, placing, reloading, restarting, running, screens, selecting, verifying,
};
use crate::session::protocol::Request;

/// A second interrupt within this time offers a restart.
const TWICE: Duration = Duration::from_secs(2);
/// Percent of the width that a pane grows or shrinks by.
const RESIZE_STEP: u16 = 2;

pub(super) fn act(state: &mut State, action: Action, event: KeyEvent, fx: &mut Vec<Effect>) {
    match action {
        Action::Show(pane) => show(state, pane),
        Action::NextPane => turn(state, 1),
        Action::PreviousPane => turn(state, state.panes().len().saturating_sub(1)),
        Action::Maximise => state.maximised = !state.maximised,
        Action::Wider => resize(state, true),
        Action::Narrower => resize(state, false),
        Action::NextStep => next_step(state, fx),
        Action::PreviousStep => go_to_step(state, state.step.saturating_sub(1)),
        Action::Steps => picking::steps(state),
        Action::LessonText => editing::lesson_text(state),
        Action::Run | Action::RunAndGo => run(state, action == Action::RunAndGo, fx),
        Action::RunAll => running::run_step(state, fx),
        Action::RunAbove => running::run_above(state, fx),
        Action::RunStale => running::run_stale(state, fx),
        Action::RunAnew => ask_or(state, Confirm::RunAnew, fx),
        Action::Verify => ask_or(state, Confirm::Verify, fx),
        Action::Interrupt => interrupt(state, fx),
        Action::Restart => restart_asked(state, fx),
        Action::Save => save(state, fx),
        Action::SaveAs => naming::ask(state),
        Action::OtherDevices => placing::ask(state),
        Action::SaveFirst => naming::save_first(state, fx),
        Action::Differences => reloading::compare(state, fx),
        Action::Reload => reloading::reload(state, fx),
        Action::Messages => help_pages::messages(state),
        Action::Quit => quit(state, fx),
        Action::Redraw => state.redraws += 1,
        Action::Help | Action::OtherHelp => help(state),
        Action::Up => screens::go(state, Go::Up),
        Action::Down => screens::go(state, Go::Down),
        Action::PageUp => screens::go(state, Go::PageUp),
        Action::PageDown => screens::go(state, Go::PageDown),
        Action::First => screens::go(state, Go::First),
        Action::Last => screens::go(state, Go::Last),
        Action::Enter | Action::Hint | Action::Skip | Action::Choose => answer(state, action, event, fx),
        Action::Cell(action) => act_on_cell(state, action, fx),
        Action::Machine(action) => act_in_machine(state, action),
        Action::Export(what) => fx.push(Effect::Export(what)),
        Action::Own(own) => screens::act(state, own, fx),
        Action::Leave => leave(state),
        Action::Commit => answering::commit(state, fx),
        Action::Edit(edit) => editing::edit(state, edit, fx),
        Action::Complete => completion::complete(state),
        Action::Doc => help_pages::doc(state),
        Action::Find => match state.popup {
            Some(_) => keys_search::begin(state),
            None => finding::find(state),
        },
        Action::Palette => picking::palette(state),
        Action::Past => picking::past(state),
        Action::Python => {
            state.aid.python = !state.aid.python;
            state.cells().for_each(|cell| cell.laid.clear());
        }
        Action::Choice(choice) => {
            if let Some(chosen) = picking::choice(state, choice, fx) {
                act(state, chosen, KeyEvent::new(KeyCode::Null, KeyModifiers::NONE), fx);
            }
        }
        Action::Yes => yes(state, fx),
        Action::No => no(state),
        Action::Harmless => {
            if let Some(Popup::Confirm(question)) = state.popup {
                act(state, answers::harmless(state, question), event, fx);
            }
        }
    }
}

/// What is done about the selected item; where the lesson's text hides it, it is shown first.
fn answer(state: &mut State, action: Action, event: KeyEvent, fx: &mut Vec<Effect>) {
    if action == Action::Skip && !state.selected_item().is_some_and(ItemState::can_be_skipped) {
        return state.say("nothing to skip here");
    }
    let seen = selecting::turn_to_cells(state);
    match action {
        Action::Enter => {
            selecting::enter(state);
            if seen {
                answering::commit_choices(state, fx);
            }
        }
        Action::Hint => answering::hint(state, fx),
        Action::Skip if seen => answering::skip(state, fx),
        Action::Skip => {
            let skip = keys_for(state, Action::Skip);
            state.say(format!("this is what {skip} skips: {skip} once more does"));
        }
        Action::Choose => answering::choose(state, event, seen, fx),
        _ => {}
    }
}

fn act_on_cell(state: &mut State, action: CellAction, fx: &mut Vec<Effect>) {
    match action {
        CellAction::AddAbove => editing::add_cell(state, false),
        CellAction::AddBelow => editing::add_cell(state, true),
        CellAction::CutCell => cells::cut(state),
        CellAction::CopyCell => cells::copy(state, fx),
        CellAction::CopyOutput => cells::copy_output(state, fx),
        CellAction::DeleteCell => cells::delete(state),
        CellAction::UndoCells => arranging::undo(state),
        CellAction::MoveUp => arranging::shift(state, false),
        CellAction::MoveDown => arranging::shift(state, true),
        CellAction::Split => arranging::split(state),
        CellAction::Merge => arranging::merge(state),
        CellAction::Markdown => cells::set_markdown(state, true),
        CellAction::Code => cells::set_markdown(state, false),
        CellAction::PasteCell => cells::paste(state),
        CellAction::WholeOutput => {
            if let Some(cell) = state.selected_cell_mut() {
                cell.expanded = !cell.expanded;
                cell.laid.clear();
            }
        }
    }
}

fn act_in_machine(state: &mut State, action: MachineAction) {
    match action {
        MachineAction::NextSection => machine::turn(state, true),
        MachineAction::PreviousSection => machine::turn(state, false),
        MachineAction::Scale => state.machine.whole = !state.machine.whole,
        MachineAction::Sort => machine::sort(state),
        MachineAction::GoToLine => machine::go_to_line(state),
        MachineAction::EventsOfLine => machine::events_of_line(state),
        MachineAction::Unpick => state.machine.pick = None,
        MachineAction::NextEvent => machine::event(state, true),
        MachineAction::PreviousEvent => machine::event(state, false),
        MachineAction::ZoomIn => machine::zoom(state, true),
        MachineAction::ZoomOut => machine::zoom(state, false),
        MachineAction::PanRight => machine::pan(state, true),
        MachineAction::PanLeft => machine::pan(state, false),
        MachineAction::Fit => machine::fit(state, false),
        MachineAction::FitAll => machine::fit(state, true),
        MachineAction::NextCell => machine::cell(state, true),
        MachineAction::PreviousCell => machine::cell(state, false),
        MachineAction::Lesson => machine::show_lesson(state),
    }
}

/// Runs the selected cell, and goes on to the next one where that is asked for.
fn run(state: &mut State, go: bool, fx: &mut Vec<Effect>) {
    let typing = state.editing;
    if !go && state.selected_cell().is_some_and(|cell| cell.markdown) {
        let leave = keys_for(state, Action::Leave);
        let how = if typing { format!("; {leave} shows it as it reads") } else { String::new() };
        return state.say(format!("a cell of text is read, not run{how}"));
    }
    state.follow |= !go;
    if running::run_selected(state, fx) && go {
        selecting::leave(state);
        editing::go_on(state, typing);
    }
}

/// The next page. Behind a lesson's last one comes the next lesson.
fn next_step(state: &mut State, fx: &mut Vec<Effect>) {
    let behind = summary::lesson_behind(state);
    let behind = behind.map(|(pack, lesson)| Target::Lesson { pack: pack.id.clone(), id: lesson.id.clone() });
    if state.step + 1 < state.steps.len() {
        go_to_step(state, state.step + 1);
    } else if let Some(target) = behind {
        home::open(state, target, fx);
    } else if state.lesson.is_some() {
        let [back, home] = [Action::PreviousStep, Action::Own(SHOW)].map(|action| keys_for(state, action));
        state.say(format!("this is the lesson's last page: {back} leads back, {home} to the other lessons"));
    }
}

fn turn(state: &mut State, by: usize) {
    let panes = state.panes();
    let at = panes.iter().position(|pane| *pane == state.focus).unwrap_or(0);
    if let Some(pane) = panes.get((at + by) % panes.len().max(1)) {
        show(state, *pane);
    }
}

fn resize(state: &mut State, wider: bool) {
    let shares = &mut state.shares;
    // The cells have what the sides leave: they grow by taking from both.
    let (lesson, machine) = match (state.focus, wider) {
        (Pane::Lesson, grow) => (Some(grow), None),
        (Pane::Machine, grow) => (None, Some(grow)),
        (Pane::Cells, grow) => (Some(!grow), Some(!grow)),
    };
    for (share, grow) in [(&mut shares.lesson, lesson), (&mut shares.machine, machine)] {
        *share = match grow {
            Some(true) => (*share + RESIZE_STEP).min(60),
            Some(false) => share.saturating_sub(RESIZE_STEP).max(16),
            None => *share,
        };
    }
}

fn interrupt(state: &mut State, fx: &mut Vec<Effect>) {
    let selected = state.selected_cell().is_some_and(|cell| cell.editor.selection().is_some());
    if !state.is_busy() && state.editing && selected {
        editing::edit(state, Edit::Copy, fx);
        return;
    }
    if !state.is_busy() {
        let key = keys_for(state, Action::Quit);
        state.say(format!("nothing is running; {key} quits"));
        return;
    }
    let again = state.work.interrupted_at.is_some_and(|at| state.now.saturating_sub(at) <= TWICE);
    state.work.interrupted_at = Some(state.now);
    if again {
        state.popup = Some(Popup::Confirm(Confirm::RestartStuck));
        return;
    }
    // The header says so for as long as it lasts.
    asking::clear_queue(state);
    if let Some(current) = &mut state.work.current {
        current.attempt.interrupt();
    }
    fx.push(Effect::Send(Request::Interrupt));
}

fn restart_asked(state: &mut State, fx: &mut Vec<Effect>) {
    match state.session.status {
        // A dead session has no variables to lose.
        SessionStatus::Dead { .. } => restarting::restart(state, fx),
        _ => state.popup = Some(Popup::Confirm(Confirm::Restart)),
    }
}

fn save(state: &mut State, fx: &mut Vec<Effect>) {
    match state.keeping {
        Keeping::OnSave => fx.push(Effect::Save { over: false }),
        Keeping::Always if state.file.unjournaled => {
            state.say("the disk does not take what you do: it is kept once there is room")
        }
        Keeping::Always => state.say("all that you do in a lesson is kept as you do it"),
        Keeping::Nothing => state.say(match &state.file.read_only {
            Some(why) => format!("what is done here is not kept: {why}"),
            None => "this document has no file to save to".into(),
        }),
    }
}

fn quit(state: &mut State, fx: &mut Vec<Effect>) {
    if state.is_busy() || state.has_unsaved() || state.unkept {
        state.popup = Some(Popup::Confirm(Confirm::Quit));
    } else {
        fx.push(Effect::Quit);
    }
}

/// The keys, or on the machine what its figures mean; when one of them is shown, the other.
fn help(state: &mut State) {
    let glossary = match state.popup {
        Some(Popup::Glossary(_)) => false,
        Some(Popup::Help(_) | Popup::Doc(_)) => true,
        _ => machine::has_keys(state),
    };
    if !glossary {
        state.aid.keys_search = KeysSearch::default();
        state.popup = Some(Popup::Help(0));
        return;
    }
    // Elsewhere it is read from its beginning.
    let section = machine::has_keys(state).then_some(state.machine.section);
    let row = section.map_or(0, |section| glossary::row_of(section, layout::whole(state), &state.theme));
    state.popup = Some(Popup::Glossary(0));
    scrolling::help_to(state, row);
}

fn yes(state: &mut State, fx: &mut Vec<Effect>) {
    match state.popup.take() {
        Some(Popup::Confirm(Confirm::Quit)) => fx.push(Effect::Quit),
        Some(Popup::Confirm(Confirm::Restart | Confirm::RestartStuck)) => restarting::restart(state, fx),
        Some(Popup::Confirm(Confirm::Open)) => home::yes(state, fx),
        Some(Popup::Confirm(Confirm::RunAnew)) => verifying::restart_and_run_all(state, fx),
        Some(Popup::Confirm(Confirm::Verify)) => verifying::verify(state, fx),
        Some(Popup::Confirm(Confirm::Overwrite)) => fx.push(Effect::Save { over: true }),
        Some(Popup::Confirm(Confirm::Replace)) => naming::replace(state, fx),
        _ => {}
    }
}

/// What was asked about is not done, nor what was to follow it; another name is typed first.
fn no(state: &mut State) {
    match state.popup.take() {
        Some(Popup::Confirm(Confirm::Replace)) => state.popup = Some(Popup::SaveAs),
        _ => state.after_save = None,
    }
}

/// Asks before variables are lost; where there are none, it is done at once.
fn ask_or(state: &mut State, question: Confirm, fx: &mut Vec<Effect>) {
    state.popup = Some(Popup::Confirm(question));
    if state.work.executions == 0 && !state.is_busy() {
        yes(state, fx);
    }
}

fn leave(state: &mut State) {
    if state.popup.take().is_some() {
        return;
    }
    if state.editing {
        // A number half typed is not lost, only not committed.
        if let Some(ItemState::Predict(predict)) = state.selected_item() {
            predict.laid.clear();
        }
        selecting::leave(state);
    }
}
