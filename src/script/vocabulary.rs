//! The names that there are, for advice on one that there is not.

use super::arity::Takes;

/// What a misspelt name is compared with.
pub(crate) struct KnownNames<'a> {
    pub names: &'a [&'a str],
    /// Properties and methods of a type, by its name in a learner's words.
    pub members: fn(&str) -> Vec<&'static str>,
    /// How a name of the vocabulary is written, each way: `ones`, `nn::init::ones_`, `x.ones_like`.
    pub written: fn(&str) -> Vec<String>,
    /// What a function of the script takes, so far as that is known.
    pub takes: &'a dyn Fn(&str) -> Option<Takes>,
}

/// Where the names come from that a misspelt one is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary {
    pub names: fn() -> Vec<&'static str>,
    /// As [`KnownNames`] has them.
    pub members: fn(&str) -> Vec<&'static str>,
    pub written: fn(&str) -> Vec<String>,
}
