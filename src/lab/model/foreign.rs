//! A notebook of another language: it is read here, and what is written here runs.

use crate::lab::model::key::Key;

/// What a notebook's file holds in another language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Foreign {
    pub language: String,
    /// Its cells with their code as it was read.
    pub cells: Vec<(Key, String)>,
}
