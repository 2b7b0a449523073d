//! Notebooks: cells with their outputs, and the files that hold them.
//!
//! A [`Notebook`] is plain data. [`percent`] is the native format, a Rhai script with a line `// %%` before each cell;
//! [`sidecar`] keeps the outputs beside it; [`ipynb`] is Jupyter's format; [`html`] makes a page. [`run`] runs all cells
//! in a session, [`verify`] compares two runs. [`names`] and [`stale`] say which cells no longer show what they would.
//! [`store`] is the open file: its lock, its journal, saving. Nothing here knows a terminal.

pub mod cell;
pub(crate) mod difference;
pub mod document;
pub(crate) mod files;
pub mod hash;
pub mod html;
pub mod ipynb;
pub(crate) mod layout;
pub mod names;
pub mod output;
pub mod percent;
pub mod record;
pub mod run;
pub mod sidecar;
pub mod stale;
pub mod store;
pub mod usage;
pub mod verify;
mod wants;

pub use cell::{Cell, Kind};
pub(crate) use document::new_id;
pub use document::{Change, Notebook};
pub use output::Output;
pub use record::Recorder;
pub use store::{NotebookFile, Opened};
pub use wants::Wants;
