//! What a screen is to the rest of the lab: an entry of the table of screens.

use crossterm::event::MouseEvent;
use ratatui::text::Span;

use crate::lab::layout::Areas;
use crate::lab::layout::placed::ScreenBody;
use crate::lab::model::actions::OwnAction;
use crate::lab::model::binding::Binding;
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lab::model::tops::Tops;
use crate::lab::update::scrolling::Go;

/// A row of the table of screens. What is typed and pressed comes here while there is no popup.
pub(crate) struct ScreenEntry {
    /// What stands between header and key bar, beside the panes.
    pub lay: fn(&State, Tops, &Areas) -> ScreenBody,
    /// The first row in sight, brought into range; 0 for what scrolls in panes and sections.
    pub top: fn(&State, &Areas) -> usize,
    /// What the header says of it.
    pub title: fn(&State) -> Vec<Span<'static>>,
    /// Goes there, where that can be.
    pub show: fn(&mut State, &mut Vec<Effect>),
    /// Whether the list of all actions has one of its rows.
    pub offers: fn(&State, &Binding) -> bool,
    /// What its own actions do.
    pub acts: &'static [(OwnAction, fn(&mut State, &mut Vec<Effect>))],
    /// Up, down and further.
    pub go: fn(&mut State, Go),
    pub mouse: fn(&mut State, &Areas, MouseEvent, &mut Vec<Effect>),
    /// A character that is no key; gives whether it went anywhere.
    pub typed: fn(&mut State, char) -> bool,
    pub paste: fn(&mut State, &str),
}
