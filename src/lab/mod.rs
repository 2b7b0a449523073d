//! The terminal lab.
