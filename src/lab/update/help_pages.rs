//! Pages to read: help on the name at the cursor, and all that was said.

use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::aid::Doc;
use crate::lab::model::editor::bytes::cursor_byte;
use crate::lab::model::said::Note;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::script::{help, lexer};

/// Tells of the name at the cursor.
pub(crate) fn doc(state: &mut State) {
    let Some(cell) = state.selected_cell() else { return state.say("select a cell first") };
    let (code, byte) = (cell.editor.text(), cursor_byte(&cell.editor));
    let called = || lexer::call_at(&code, byte).map(|call| call.name);
    let Some(name) = lexer::name_at(&code, byte).or_else(called) else {
        return state.say("no name stands at the cursor");
    };
    show_doc(state, &name);
}

/// Says what is not to be missed, and which key takes it away.
pub(super) fn lasting(state: &mut State, text: &str) {
    let key = keys_for(state, Action::Messages);
    let text = format!("{} ({key}: read)", text::clean_line(text));
    state.said.say_lasting(text, state.now);
}

/// Shows all that was said, the newest last.
pub(super) fn messages(state: &mut State) {
    state.said.seen();
    let line = |note: &Note| {
        let seconds = note.at.as_secs();
        format!("{:>4}:{:02}  {}", seconds / 60, seconds % 60, note.text)
    };
    let lines: Vec<String> = state.said.log().map(line).collect();
    if lines.is_empty() {
        return state.say("nothing was said yet");
    }
    state.aid.doc =
        Some(Doc { title: "messages, by minutes and seconds since the lab was opened".into(), lines });
    state.popup = Some(Popup::Doc(u16::MAX));
}

fn show_doc(state: &mut State, name: &str) {
    let known = state.aid.known.iter().find(|known| known.name == name);
    let page = help::page(name).or_else(|| help::page(name.rsplit("::").next().unwrap_or(name)));
    // Of a name such as `x`, which pages call a tensor by, a variable's is all there is to say.
    let page = page.filter(|_| known.is_none() || help::is_documented(name));
    let mut lines = Vec::new();
    if let Some(known) = known {
        lines.push(format!("{name}: {} {}", known.type_name, known.summary));
    }
    match page {
        Some(page) => lines.extend(page.lines().map(text::clean)),
        None if known.is_none() => {
            let near = help::suggestions(name).first().map(|n| format!("; did you mean `{n}`?"));
            return state.say(format!("there is no help on `{name}`{}", near.unwrap_or_default()));
        }
        None => {}
    }
    state.aid.doc = Some(Doc { title: name.to_owned(), lines });
    state.popup = Some(Popup::Doc(0));
}
