//! Everything the lab knows. `view` draws it, `update` changes it.

use std::sync::Arc;
use std::time::Duration;

use crate::base::event::Source;
use crate::lab::model::aid::Aid;
use crate::lab::model::book_change::Keeping;
use crate::lab::model::brought::{Brought, CellMoment};
use crate::lab::model::document::Stand;
use crate::lab::model::document::{Document, Step};
use crate::lab::model::file_facts::FileFacts;
use crate::lab::model::foreign::Foreign;
use crate::lab::model::history::History;
use crate::lab::model::item::{CellState, ItemState, PredictState};
use crate::lab::model::key::Key;
use crate::lab::model::keys::Keymap;
use crate::lab::model::laid::{Layout, Memo};
use crate::lab::model::machine::{MachineView, Section};
use crate::lab::model::pane::Pane;
use crate::lab::model::picture::Art;
use crate::lab::model::picture::graphics::Canvas;
use crate::lab::model::places::Places;
use crate::lab::model::said::Said;
use crate::lab::model::screens::{Screen, ScreenStates};
use crate::lab::model::text;
use crate::lab::model::theme::{Colour, Look, Theme};
use crate::lab::model::tops::Tops;
use crate::lab::model::work::{LAST_PAGE, LessonState, Pending, Work};
use crate::lesson::Element;
use crate::lesson::attempt::Standing;
use crate::notebook::{self, stale::Run};

/// The lab's state.
#[derive(Debug)]
pub struct State {
    pub(in crate::lab) title: String,
    pub(in crate::lab) steps: Vec<StepState>,
    pub(in crate::lab) step: usize,
    pub(in crate::lab) screen: Screen,
    pub(in crate::lab) held: ScreenStates,
    /// Where the variables that hold tensors are.
    pub(in crate::lab) places: Places,
    /// The selected item of the step, by its place.
    pub(in crate::lab) selected: usize,
    pub(in crate::lab) focus: Pane,
    /// The pane beside the cells where only two fit.
    pub(in crate::lab) side: Pane,
    pub(in crate::lab) maximised: bool,
    /// The selected item takes what is typed.
    pub(in crate::lab) editing: bool,
    pub(in crate::lab) popup: Option<Popup>,
    pub(in crate::lab) said: Said,
    pub(in crate::lab) session: Session,
    pub(in crate::lab) work: Work,
    /// Where there is one that the document shows.
    pub(in crate::lab) lesson: Option<LessonState>,
    pub(in crate::lab) history: History,
    pub(in crate::lab) machine: MachineView,
    pub(in crate::lab) tops: Tops,
    /// The cells pane follows the selection until it is scrolled away from it.
    pub(in crate::lab) follow: bool,
    /// The step and item whose place the lesson's text was last brought to.
    pub(in crate::lab) text_at: Option<(usize, usize)>,
    /// The step of the lesson that something was recorded of last.
    pub(in crate::lab) whereabouts: Option<String>,
    /// The selected cell as it was when something came below it: until something is done to it, that is in view.
    brought: Option<(Brought, CellMoment)>,
    pub(in crate::lab) shares: Shares,
    /// A divider that is being dragged.
    pub(in crate::lab) dragged: Option<Pane>,
    pub(in crate::lab) clipboard: Option<Box<CellState>>,
    /// The cells as the notebook's file was told of them.
    pub(in crate::lab) noted: Notes,
    /// The cells as they were before they were changed while nothing is kept.
    pub(in crate::lab) untold: Option<Vec<Noted>>,
    /// Where the learner's own cells stand in a lesson, as its file was told.
    pub(in crate::lab) stood: Vec<(Key, Stand)>,
    /// The runs of this session, for the marks of stale cells.
    pub(in crate::lab) runs: Vec<Run>,
    /// What cells gave before all was run anew to verify it.
    pub(in crate::lab) verifying: Option<Vec<(Key, notebook::Cell)>>,
    /// A cell was taken away since the last save.
    pub(in crate::lab) removed_unsaved: bool,
    /// Something was answered or run in a lesson that is not kept here.
    pub(in crate::lab) unkept: bool,
    pub(in crate::lab) aid: Aid,
    pub(in crate::lab) keymap: Keymap,
    pub(in crate::lab) theme: Theme,
    pub(in crate::lab) size: (u16, u16),
    /// What figures are drawn on.
    pub(in crate::lab) canvas: Canvas,
    pub(in crate::lab) now: Duration,
    pub(in crate::lab) keeping: Keeping,
    pub(in crate::lab) file: FileFacts,
    /// What was asked for and is done once all is saved.
    pub(in crate::lab) after_save: Option<Confirm>,
    /// What the order of a quiz's choices is drawn from; 0 leaves the file's.
    pub(in crate::lab) seed: u64,
    /// What is open was written in another language.
    pub(in crate::lab) foreign: Option<Foreign>,
    pub(in crate::lab) has_text: bool,
    pub(in crate::lab) revision: u64,
    /// How often the learner has asked for all of the screen again.
    pub(in crate::lab) redraws: u64,
    pub(in crate::lab) next_key: u64,
}

#[derive(Debug)]
pub(crate) struct StepState {
    pub title: String,
    pub items: Vec<ItemState>,
    pub(in crate::lab) text: Memo<Layout>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Popup {
    /// First line shown.
    Help(u16),
    /// What the machine's figures mean; first line shown.
    Glossary(u16),
    /// Help on a name, from its first line shown.
    Doc(u16),
    /// Every action, by its name.
    Palette,
    /// The cells that were run before.
    Past,
    /// The steps of the lesson.
    Steps,
    /// What to look for in a cell.
    Find,
    /// The name to save under.
    SaveAs,
    /// The devices to go on with.
    Devices,
    /// How the notebook's file differs from what is here; first line shown.
    Differences(u16),
    Confirm(Confirm),
}

/// A question that is to be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confirm {
    Quit,
    Restart,
    /// Restart, and run all cells.
    RunAnew,
    /// The same, and compare what they give.
    Verify,
    /// Another program has changed the file that is to be saved.
    Overwrite,
    /// Something else was chosen at home.
    Open,
    /// There is a file of the name to save under.
    Replace,
    /// The interrupt was asked for a second time.
    RestartStuck,
}

/// A cell as the notebook's file was told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Noted {
    pub key: Key,
    pub id: String,
    pub version: u64,
    pub markdown: bool,
}

impl Noted {
    pub(crate) fn of(cell: &CellState) -> Noted {
        Noted { key: cell.key, id: cell.id.clone(), version: cell.version, markdown: cell.markdown }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Noted>);

impl Notes {
    /// True where nothing has become of the cells.
    pub(crate) fn is_same<'c>(&self, cells: impl Iterator<Item = &'c CellState>) -> bool {
        let known = self.0.iter().map(|n| (n.key, n.version, n.markdown));
        known.eq(cells.map(|cell| (cell.key, cell.version, cell.markdown)))
    }

    /// Takes the cells as they are; gives those that were.
    pub(crate) fn replace(&mut self, now: Vec<Noted>) -> Vec<Noted> {
        std::mem::replace(&mut self.0, now)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Session {
    pub status: SessionStatus,
    pub protections: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SessionStatus {
    #[default]
    Starting,
    Ready,
    Dead {
        reason: String,
    },
}

/// Shares of the width, in percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shares {
    pub lesson: u16,
    pub machine: u16,
}

impl State {
    /// The lab with a document, before a session has answered.
    pub fn new(document: Document, look: Look) -> State {
        let mut state = State {
            title: String::new(),
            steps: Vec::new(),
            step: 0,
            screen: Screen::Work,
            held: ScreenStates::default(),
            places: Places::default(),
            selected: 0,
            focus: Pane::Cells,
            side: Pane::Machine,
            maximised: false,
            editing: false,
            popup: None,
            said: Said::default(),
            session: Session::default(),
            work: Work::default(),
            lesson: None,
            history: History::default(),
            machine: MachineView::default(),
            tops: Tops::default(),
            follow: true,
            text_at: None,
            whereabouts: None,
            brought: None,
            shares: Shares { lesson: 28, machine: 35 },
            dragged: None,
            clipboard: None,
            noted: Notes::default(),
            untold: None,
            stood: Vec::new(),
            runs: Vec::new(),
            verifying: None,
            removed_unsaved: false,
            unkept: false,
            aid: Aid::default(),
            keymap: Keymap::default(),
            theme: Theme::new(look),
            size: (80, 24),
            canvas: Canvas::default(),
            now: Duration::ZERO,
            keeping: Keeping::Nothing,
            file: FileFacts::default(),
            after_save: None,
            seed: 0,
            foreign: None,
            has_text: false,
            revision: 0,
            redraws: 0,
            next_key: 0,
        };
        state.take_document(document);
        state
    }

    /// Puts a document in place of what is open.
    pub(in crate::lab) fn take_document(&mut self, document: Document) {
        self.has_text = document.has_text();
        self.title = text::clean_line(&document.title);
        self.lesson = document.lesson.map(|lesson| LessonState {
            lesson,
            standing: Standing::Before(0),
            passed: document.passed,
            lacks: None,
        });
        self.whereabouts = None;
        self.steps.clear();
        for step in document.steps {
            let step = self.take_step(step);
            self.steps.push(step);
        }
        if self.lesson.is_some() {
            let mut items = vec![ItemState::Text(Vec::new())];
            items.extend(self.take_step(Step { items: document.last, ..Step::default() }).items);
            let (title, text) = (LAST_PAGE.to_owned(), Memo::default());
            self.steps.push(StepState { title, items, text });
        }
        (self.step, self.editing, self.maximised, self.follow) = (0, false, false, true);
        (self.popup, self.after_save, self.clipboard) = (None, None, None);
        self.file = FileFacts::default();
        self.aid.forget_document();
        self.foreign = None;
        self.runs.clear();
        (self.verifying, self.removed_unsaved, self.untold) = (None, false, None);
        self.noted.replace(self.cells().map(Noted::of).collect());
        self.stood = self.stands();
        self.tops = Tops { screens: self.tops.screens, ..Tops::default() };
        self.side = if self.has_text { Pane::Lesson } else { Pane::Machine };
        self.focus = if self.has_text { Pane::Lesson } else { Pane::Cells };
        self.select_first();
    }

    pub(in crate::lab) fn has_document(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The document as it is now, with the learner's text.
    pub fn document(&self) -> Document {
        let is_lesson = self.lesson.is_some();
        let (steps, last) = match self.steps.split_last() {
            Some((last, steps)) if is_lesson => (steps, last.items.as_slice()),
            _ => (self.steps.as_slice(), [].as_slice()),
        };
        // The text of the last page is written anew each time.
        let last = last.iter().filter(|item| item.key().is_some()).map(ItemState::to_item).collect();
        let steps = steps.iter().map(|step| Step {
            title: step.title.clone(),
            items: step.items.iter().map(ItemState::to_item).collect(),
        });
        let lesson = self.lesson.as_ref().map(|open| Arc::clone(&open.lesson));
        let passed = self.lesson.as_ref().map(|open| open.passed.clone()).unwrap_or_default();
        Document { title: self.title.clone(), steps: steps.collect(), lesson, passed, last }
    }

    /// Changes whenever something that is shown changed.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub fn screen(&self) -> Screen {
        self.screen
    }

    /// The machine fills the terminal.
    pub(in crate::lab) fn machine_fills(&self) -> bool {
        self.screen == Screen::Machine
    }

    /// The part of the machine that has the keys.
    pub fn section(&self) -> Section {
        self.machine.section
    }

    pub fn focus(&self) -> Pane {
        self.focus
    }

    /// True while typed characters go into the selected item.
    pub fn is_editing(&self) -> bool {
        self.editing
    }

    pub fn popup(&self) -> Option<Popup> {
        self.popup
    }

    pub fn session_status(&self) -> &SessionStatus {
        &self.session.status
    }

    /// Gives the search in the history the cells that were run before, the newest last.
    pub fn recall(&mut self, past: Vec<String>) {
        self.aid.past = past;
    }

    /// Says what becomes of what is written.
    pub fn keep(&mut self, keeping: Keeping) {
        self.keeping = keeping;
    }

    /// The lesson's text of the selected cell, where the cell has another one.
    pub(in crate::lab) fn lesson_text(&self) -> Option<String> {
        let cell = self.selected_cell()?;
        let step = self.lesson.as_ref()?.lesson.steps.get(cell.step?)?;
        let text = match step.element.as_ref()? {
            Element::Run(code) => code.text.trim_end(),
            Element::Exercise(exercise) => exercise.starter.text.trim_end(),
            Element::Predict(_) | Element::Quiz(_) => return None,
        };
        (cell.editor.text().trim_end() != text).then(|| text.to_owned())
    }

    /// There is a file to save to.
    pub(in crate::lab) fn can_save(&self) -> bool {
        self.keeping == Keeping::OnSave
    }

    /// Shows the choices of quizzes in an order drawn from a seed, in every document from now on.
    pub fn shuffle(&mut self, seed: u64) {
        self.seed = seed;
        self.steps.iter_mut().flat_map(|step| &mut step.items).for_each(|item| item.shuffle(seed));
    }

    /// Says what the terminal can show beside characters. Where the look forbids colours or pictures, figures stay
    /// characters.
    pub fn set_canvas(&mut self, canvas: Canvas) {
        let allowed = self.theme.look.colour != Colour::None && !self.theme.look.ascii;
        let canvas = if allowed { canvas } else { Canvas::default() };
        if self.canvas != canvas {
            self.canvas = canvas;
            self.cells_mut().flat_map(|cell| cell.output.shown_mut()).for_each(|shown| shown.redraw());
        }
    }

    /// The art of the current step, which the terminal may have to be told of before it is shown.
    pub(in crate::lab) fn art(&self) -> impl Iterator<Item = &Art> {
        let items = self.current_step().into_iter().flat_map(|step| &step.items);
        let cells = items.filter_map(|item| match item {
            ItemState::Cell(cell) => Some(cell),
            _ => None,
        });
        cells.flat_map(|cell| cell.output.shown()).filter_map(|shown| shown.drawing.as_ref()?.art.as_ref())
    }

    /// Something in the lab moves by itself: a spinner, a clock.
    pub(crate) fn is_animated(&self) -> bool {
        self.is_busy()
    }

    /// A cell runs, or a check or a probe of the last one.
    pub(crate) fn is_busy(&self) -> bool {
        self.work.current.is_some() || self.work.pending.values().any(|p| *p != Pending::Inspect)
    }

    /// Cells with text that was not saved.
    pub fn unsaved(&self) -> usize {
        if self.keeping == Keeping::Always && !self.file.unjournaled {
            return 0;
        }
        self.cells().filter(|cell| cell.unsaved).count() + usize::from(self.removed_unsaved)
    }

    /// Whether something waits to be saved, of an earlier lab's as well.
    pub(crate) fn has_unsaved(&self) -> bool {
        self.unsaved() > 0 || self.file.recovered > 0
    }

    pub(in crate::lab) fn panes(&self) -> &'static [Pane] {
        if self.has_text {
            &[Pane::Lesson, Pane::Cells, Pane::Machine]
        } else {
            &[Pane::Cells, Pane::Machine]
        }
    }

    pub(in crate::lab) fn current_step(&self) -> Option<&StepState> {
        self.steps.get(self.step)
    }

    pub(in crate::lab) fn selected_item(&self) -> Option<&ItemState> {
        self.current_step()?.items.get(self.selected).filter(|item| item.is_selectable())
    }

    pub(in crate::lab) fn selected_item_mut(&mut self) -> Option<&mut ItemState> {
        let at = self.selected;
        self.steps.get_mut(self.step)?.items.get_mut(at).filter(|item| item.is_selectable())
    }

    pub(in crate::lab) fn selected_cell(&self) -> Option<&CellState> {
        match self.selected_item()? {
            ItemState::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    pub(in crate::lab) fn selected_cell_mut(&mut self) -> Option<&mut CellState> {
        match self.selected_item_mut()? {
            ItemState::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    pub(in crate::lab) fn cells(&self) -> impl Iterator<Item = &CellState> {
        self.steps.iter().flat_map(|step| &step.items).filter_map(|item| match item {
            ItemState::Cell(cell) => Some(cell.as_ref()),
            _ => None,
        })
    }

    pub(in crate::lab) fn cells_mut(&mut self) -> impl Iterator<Item = &mut CellState> {
        self.steps.iter_mut().flat_map(|step| &mut step.items).filter_map(|item| match item {
            ItemState::Cell(cell) => Some(cell.as_mut()),
            _ => None,
        })
    }

    pub(in crate::lab) fn cell_mut(&mut self, key: Key) -> Option<&mut CellState> {
        self.cells_mut().find(|cell| cell.key == key)
    }

    pub(in crate::lab) fn predict_mut(&mut self, key: Key) -> Option<&mut PredictState> {
        self.steps.iter_mut().flat_map(|step| &mut step.items).find_map(|item| match item {
            ItemState::Predict(predict) if predict.key == key => Some(predict.as_mut()),
            _ => None,
        })
    }

    /// The step and place of an item.
    pub(in crate::lab) fn place(&self, key: Key) -> Option<(usize, usize)> {
        self.steps
            .iter()
            .enumerate()
            .find_map(|(s, step)| step.items.iter().position(|item| item.key() == Some(key)).map(|i| (s, i)))
    }

    /// The step and place of the cell that ran with this number, while what ran is what it shows.
    pub(in crate::lab) fn place_of_run(&self, number: u32) -> Option<(usize, usize)> {
        let cell = self.cells().find(|cell| cell.number == Some(number) && !cell.earlier)?;
        self.place(cell.key)
    }

    /// Predictions that a cell's run answers.
    pub(in crate::lab) fn predictions_of(&self, key: Key) -> Vec<&PredictState> {
        let Some(cell) = self.cells().find(|cell| cell.key == key) else { return Vec::new() };
        let items = self.steps.iter().flat_map(|step| &step.items);
        let predictions = items.filter_map(|item| match item {
            ItemState::Predict(predict) if predict.question.cell == cell.id => Some(predict.as_ref()),
            _ => None,
        });
        predictions.collect()
    }

    /// The cell and line that what is picked on the machine comes from.
    pub(in crate::lab) fn picked_source(&self) -> Option<Source> {
        self.machine.source(&self.history)
    }

    /// True where the selected cell, as it ran last, caused it; while one types in it, the line at the cursor.
    pub(in crate::lab) fn is_of_selected_cell(&self, source: Source) -> bool {
        source.cell > 0
            && self.selected_cell().is_some_and(|cell| {
                let line = !self.editing || u32::try_from(cell.editor.cursor().row + 1) == Ok(source.line);
                cell.number == Some(source.cell) && !cell.earlier && line
            })
    }

    /// What came below the selected cell's code is brought into view.
    pub(in crate::lab) fn bring(&mut self, what: Brought) {
        self.brought = self.at().map(|at| (what, at));
    }

    /// What of the selected cell is to be seen, as long as nothing is done to it.
    pub(in crate::lab) fn brought(&self) -> Option<Brought> {
        let (what, at) = self.brought.as_ref()?;
        (self.at().as_ref() == Some(at)).then_some(*what)
    }

    fn at(&self) -> Option<CellMoment> {
        Some(CellMoment::of(self.selected_cell()?, self.editing))
    }

    pub(in crate::lab) fn select_first(&mut self) {
        let first = self.current_step().and_then(|s| s.items.iter().position(ItemState::is_selectable));
        self.selected = first.unwrap_or(0);
    }

    pub(in crate::lab) fn new_key(&mut self) -> Key {
        self.next_key += 1;
        Key(self.next_key)
    }

    /// The selected cell's text was changed: the lesson's text, which may show it, is laid out anew.
    pub(in crate::lab) fn text_changed(&mut self) {
        self.follow = true;
        if let Some(step) = self.steps.get(self.step) {
            step.text.clear();
        }
    }

    pub(in crate::lab) fn touch(&mut self) {
        self.revision += 1;
    }

    /// Says something until it is read, and keeps it in the log.
    pub(in crate::lab) fn say(&mut self, text: impl Into<String>) {
        self.said.say(text.into(), self.now);
        self.touch();
    }

    fn take_step(&mut self, step: Step) -> StepState {
        let items = step.items.into_iter().map(|item| {
            let key = self.new_key();
            let mut item = ItemState::new(key, item);
            item.shuffle(self.seed);
            item
        });
        StepState { items: items.collect(), title: text::clean_line(&step.title), text: Default::default() }
    }
}
