//! The terminal lab: lesson, cells and the live machine side by side.
//!
//! [`State`] is all the lab knows, [`update`] changes it for a [`Msg`] and says with [`Effect`]s what is to be
//! done, [`view`] draws it. [`run`] ties them to a terminal and to a session behind a [`SessionLink`]; tests and
//! pictures need neither.

pub mod config;
pub mod document;

mod aid;
mod asking;
mod bindings;
mod book;
mod editor;
mod export;
mod highlight;
mod history;
mod home;
mod item;
mod keys;
mod laid;
mod layout;
mod link;
mod machine;
mod msg;
mod output;
mod panels;
mod past;
mod picture;
mod places;
mod record;
mod run;
mod scroll;
mod state;
mod terminal;
mod text;
mod theme;
mod update;
mod vi;
mod view;

use crate::base::figures;

pub use bindings::BINDINGS;
pub use book::{Book, BookChange, NotSaved};
pub use config::Config;
pub use document::Document;
pub use export::{render, render_to_string, render_to_svg};
pub use home::{Found, HomeLesson, HomePack, Library, Listing, Opened, Recent, Target};
pub use keys::Binding;
pub use link::{SessionLink, in_child_process};
pub use machine::Section;
pub use msg::{Effect, Msg};
pub use past::Past;
pub use picture::{Art, Canvas, Drawing, Graphics, Job, Size};
pub use record::What;
pub use run::{End, Keep, LabExit, LabOptions, Remember, run};
pub use state::{Confirm, Pane, Popup, Screen, SessionStatus, State};
pub use theme::{Colour, Look};
pub use update::update;
pub use view::view;
