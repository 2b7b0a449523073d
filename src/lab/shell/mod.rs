//! What stands around the lab: the terminal, the event loop, sessions, threads, and the files it writes.

pub mod book;
pub mod export;
pub mod library;
pub mod link;
pub mod past_cells;
pub mod record;
pub mod run;
pub mod sixel_query;
pub mod terminal;
