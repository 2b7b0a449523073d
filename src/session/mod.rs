//! One protocol for every front end; the child process that evaluates cells.

pub mod protocol;
