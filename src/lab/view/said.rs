//! Messages that are still to be read.

use ratatui::buffer::Buffer;

use crate::lab::layout::{Areas, said};
use crate::lab::model::state::State;
use crate::lab::view::paint::{clear, put};

pub(crate) fn draw(state: &State, buffer: &mut Buffer, areas: &Areas) {
    let Some((area, lines)) = said::lay(state, areas) else { return };
    clear(buffer, area);
    for (row, line) in lines.iter().enumerate() {
        put(buffer, area, row, line);
    }
}
