//! What is known of the notebook's file, as long as it holds.

/// What lasts and is shown for as long as it does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileFacts {
    /// Why nothing can be saved there.
    pub read_only: Option<String>,
    /// Changes that an earlier lab did not save: they are here, and not in the file.
    pub recovered: usize,
    /// Another program has changed the file.
    pub changed_outside: bool,
    /// What is not saved is nowhere but here: the journal beside the file could not be written.
    pub unjournaled: bool,
}
