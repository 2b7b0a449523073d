//! The terminal lab: lesson, cells and the live machine side by side.
//!
//! [`State`] is all the lab knows, [`update`] changes it for a [`Msg`] and says with [`Effect`]s what is to be
//! done, [`view`] draws it. [`run`] ties them to a terminal and to a session behind a [`SessionLink`]; tests and
//! pictures need neither.

mod layout;
mod model;
mod shell;
mod update;
mod view;

pub use model::binding::Binding;
pub use model::bindings::BINDINGS;
pub use model::book_change::{BookChange, Keeping, NotSaved};
pub use model::config::{self, Config};
pub use model::document::{self, Document};
pub use model::document::{Beside, Page, Stand};
pub use model::export_kind::What;
pub use model::file_facts::FileFacts;
pub use model::machine::Section;
pub use model::message::{Effect, Msg};
pub use model::pane::Pane;
pub use model::picture::graphics::{Canvas, Graphics};
pub use model::picture::size::Size;
pub use model::picture::{Art, Drawing, Job};
pub use model::screens::Screen;
pub use model::screens::home::{Completed, Found, HomeLesson, HomePack, Listing, Recent, Target};
pub use model::state::{Confirm, Popup, SessionStatus, State};
pub(crate) use model::summary::how_far;
pub use model::theme::{Colour, Look};
pub use shell::book::Book;
pub use shell::export::{render, render_to_string, render_to_svg};
pub use shell::lesson_work::{begin_step_anew, open_lesson_work};
pub use shell::library::{Keep, Library, Opened};
pub use shell::link::SessionLink;
pub(crate) use shell::link::in_child_process;
pub(crate) use shell::past_cells::Past;
pub use shell::run::{End, LabExit, LabOptions, Remember, run};
pub use update::update;
pub use view::view;
