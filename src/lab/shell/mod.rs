//! What stands around the lab: the terminal, the event loop, sessions, threads, and the files it writes.

pub(super) mod book;
pub(super) mod export;
pub(super) mod lesson_work;
pub(super) mod library;
pub(super) mod link;
pub(super) mod past_cells;
pub(super) mod paths;
pub(super) mod record;
pub(super) mod run;
pub(super) mod sixel_query;
pub(super) mod terminal;
