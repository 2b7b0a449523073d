//! What the lab knows: the state, the document that is worked on, the history of events, keys, settings, messages.

pub(super) mod actions;
pub(super) mod active_keys;
pub(super) mod aid;
pub(super) mod bindings;
pub(super) mod book_change;
pub mod config;
pub mod document;
pub(super) mod editor;
pub(super) mod export_kind;
pub(super) mod history;
pub(super) mod home;
pub(super) mod item;
pub(super) mod key;
pub(super) mod keys;
pub(super) mod laid;
pub(super) mod machine;
pub(super) mod message;
pub(super) mod output;
pub(super) mod picture;
pub(super) mod places;
pub(super) mod state;
pub(super) mod text;
pub(super) mod theme;
pub(super) mod tops;
pub(super) mod vi;
