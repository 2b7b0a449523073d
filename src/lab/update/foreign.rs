//! Cells of a notebook in another language, which are read and not run.

use crate::lab::model::actions::{Action, CellAction};
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::foreign::Foreign;
use crate::lab::model::key::Key;
use crate::lab::model::state::State;
use crate::lab::model::text;

impl State {
    /// Says that the code of what is open is in another language than the lab's.
    pub fn speaks(&mut self, language: &str) {
        let cells = self.cells().filter(|cell| !cell.markdown);
        let cells = cells.map(|cell| (cell.key, cell.editor.text())).collect();
        self.foreign = Some(Foreign { language: text::clean_line(language), cells });
    }

    /// The file was read again: of its code, what is new is in its language, and what was written here stays what it is.
    pub(in crate::lab) fn speaks_still(&mut self, before: &[(Key, String)]) {
        let Some(mut foreign) = self.foreign.take() else { return };
        let code = self.cells().filter(|cell| !cell.markdown).map(|cell| (cell.key, cell.editor.text()));
        let is_own = |cell: &(Key, String)| before.contains(cell) && !foreign.cells.contains(cell);
        foreign.cells = code.filter(|cell| !is_own(cell)).collect();
        self.foreign = Some(foreign);
    }

    /// The language of a cell that stands as the file has it, where that is another.
    fn foreign_language(&self, key: Key) -> Option<&str> {
        let foreign = self.foreign.as_ref()?;
        let (_, code) = foreign.cells.iter().find(|(of, _)| *of == key)?;
        let cell = self.cells().find(|cell| cell.key == key)?;
        (cell.editor.text() == *code && !code.trim().is_empty()).then_some(foreign.language.as_str())
    }
}

/// Those of the cells that are not as a file of another language has them; of the others it is said what can be done.
pub(super) fn own_language(state: &mut State, keys: &[Key]) -> Vec<Key> {
    let (foreign, own): (Vec<Key>, Vec<Key>) =
        keys.iter().partition(|key| state.foreign_language(**key).is_some());
    let language = foreign.first().and_then(|key| state.foreign_language(*key));
    if let Some(language) = language {
        let [below, python] =
            [Action::Cell(CellAction::AddBelow), Action::Python].map(|action| keys_for(state, action));
        let told = format!(
            "this is {language}, to be read here: write it in Rhai, in its place or in a cell below ({below}); \
             {python} shows Rhai as Python beside it"
        );
        state.say(told);
    }
    own
}
