//! What the lab knows: the state, the document that is worked on, the history of events, keys, settings, messages.

pub mod actions;
pub mod active_keys;
pub mod aid;
pub mod bindings;
pub mod book_change;
pub mod config;
pub mod document;
pub mod editor;
pub mod export_kind;
pub mod history;
pub mod home;
pub mod item;
pub mod key;
pub mod keys;
pub mod laid;
pub mod machine;
pub mod message;
pub mod output;
pub mod picture;
pub mod places;
pub mod state;
pub mod text;
pub mod theme;
pub mod tops;
pub mod vi;
