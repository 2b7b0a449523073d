//! Variables of a piece of code, what becomes of them, and what that says of Python.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BindingKind {
    /// Bound by code before.
    Outside,
    Let,
    Param,
    /// What a loop goes through, or a caught error.
    Loop,
    Caught,
}

/// What a mention does to a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mutation {
    None,
    Assigned,
    /// `x[i] = …` or `x.name = …`.
    Item,
    /// By a method that only arrays and maps have.
    List,
    /// Something within an item of it.
    Deep,
}

pub(super) struct Used {
    pub at: usize,
    pub function: usize,
    pub change: Mutation,
}

/// A variable, as one `let` or the like makes it.
pub(super) struct Binding {
    pub name: String,
    pub at: usize,
    pub block: usize,
    pub function: usize,
    pub kind: BindingKind,
    /// The one of its name that was seen where it begins.
    pub shadows: Option<usize>,
    /// Whether it is known for an array or a map, and for no function.
    pub list: bool,
    pub plain: bool,
    /// The closure that it was bound to.
    pub closure: Option<usize>,
    pub uses: Vec<Used>,
}

/// A name that no variable of the code has.
pub(super) struct Mention {
    pub name: String,
    pub at: usize,
    pub function: usize,
}

/// A variable, or a part of it, that is put somewhere.
pub(super) struct Store {
    pub at: usize,
    pub source: usize,
    pub into: Option<usize>,
    /// Whether a variable becomes it, and not what holds it.
    pub direct: bool,
    /// Whether it is a part of its source.
    pub part: bool,
}

pub(super) struct Closure {
    pub at: usize,
    pub function: usize,
    pub escapes: bool,
    /// Whether it is called for each item in turn.
    pub each: bool,
}

impl Binding {
    pub(super) fn is_changed(&self) -> bool {
        self.uses.iter().any(|used| used.change >= Mutation::Item)
    }

    pub(super) fn is_top(&self) -> bool {
        self.block == 0 && self.function == 0
    }
}

/// Names as they stand between pieces of code that go on from one another.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// Variables of the script, and what they are called in Python.
    pub(super) top: Vec<(String, String)>,
    /// What pieces that will follow use of others, and what they bind at their top.
    pub(super) ahead: Vec<(Vec<String>, Vec<String>)>,
    /// Functions, and their parameters.
    pub(super) functions: Vec<(String, Vec<String>)>,
    /// Names that may stand for a number below 0.
    pub(super) negative: Vec<String>,
    /// Names of maps' entries.
    pub(super) keys: Vec<String>,
}

/// What is done to the tree, by the places of its values.
#[derive(Default)]
pub(super) struct Changes {
    /// Places of names, and what stands there instead.
    pub(super) renamed: Vec<(usize, String)>,
    /// Values that are copied.
    pub(super) copied: Vec<usize>,
    /// Closures, and a name whose value each keeps.
    pub(super) kept: Vec<(usize, String)>,
    /// Bodies that begin with a copy of what they are given: the name's place.
    pub(super) own: Vec<usize>,
}
