//! Where the variables are, told to the cells that name them.

use crate::lab::model::places;
use crate::lab::model::places::Places;
use crate::lab::model::state::State;
use crate::session::protocol::{TensorInfo, Variable};

/// Takes the places of all variables; cells that name one whose place is another now are laid out anew.
pub(super) fn place(state: &mut State, variables: &[Variable], held: &[(String, TensorInfo)]) {
    let places = places::of(variables, held);
    let before = std::mem::replace(&mut state.places, places);
    let changed = changed(&before, &state.places);
    if changed.is_empty() {
        return;
    }
    for cell in state.cells() {
        let names = |line: &String| changed.iter().any(|name| line.contains(name.as_str()));
        if cell.editor.lines().iter().any(names) {
            cell.laid.clear();
        }
    }
}

fn changed(before: &Places, after: &Places) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}
