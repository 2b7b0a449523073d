//! What one of the program's own classes is known by.

use std::collections::BTreeSet;

use crate::base::name_map::NameMap;

/// A parameter, with what stands for it where it is not given.
type Parameter = (String, Option<String>);

/// What a class says before its lines are read.
#[derive(Clone, Default)]
pub(super) struct Kin {
    pub base: Option<String>,
    /// What makes it.
    pub params: Vec<Parameter>,
    /// Its methods and those of what it is derived from, with what they take beside the object.
    pub methods: NameMap<Vec<Parameter>>,
    /// Those that give the object itself.
    pub chains: BTreeSet<String>,
    /// Those that are called while it is made.
    pub calls: BTreeSet<String>,
}
