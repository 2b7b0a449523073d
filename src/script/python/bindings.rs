//! Variables of a piece of code, what becomes of them, and what that says of Python.

use super::walk::Walk;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
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
pub(super) enum Change {
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
    pub change: Change,
}

/// A variable, as one `let` or the like makes it.
pub(super) struct Binding {
    pub name: String,
    pub at: usize,
    pub block: usize,
    pub function: usize,
    pub kind: Kind,
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
        self.uses.iter().any(|used| used.change >= Change::Item)
    }

    pub(super) fn is_top(&self) -> bool {
        self.block == 0 && self.function == 0
    }
}

impl Walk {
    /// Whether a function is another, or stands in it.
    pub(super) fn is_within(&self, function: usize, other: usize) -> bool {
        function == other
            || function != 0 && self.within.get(function).is_some_and(|around| self.is_within(*around, other))
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.iter().any(|(one, _)| one == name) || super::names::is_function(name)
    }

    /// Whether a loop that begins after a place goes over two others.
    pub(super) fn loops_over(&self, after: usize, one: usize, other: usize) -> bool {
        self.loops.iter().any(|(from, to)| {
            *from >= after && (*from..=*to).contains(&one) && (*from..=*to).contains(&other)
        })
    }

    /// Whether a use comes after a place, as far as can be told.
    fn comes_after(&self, used: &Used, binding: &Binding, at: usize) -> bool {
        used.at > at || used.function != binding.function || self.loops_over(binding.at, at, used.at)
    }

    /// Whether an array or a map that a variable holds is changed.
    pub(super) fn is_changed_list(&self, binding: usize) -> bool {
        self.bindings.get(binding).is_some_and(|binding| {
            binding.list && binding.is_changed()
                || binding.uses.iter().any(|used| used.change == Change::List)
        })
    }

    /// Whether what is stored shows a change that comes later, or its source one of what it is stored in.
    pub(super) fn shows(&self, store: &Store) -> bool {
        let Some(source) = self.bindings.get(store.source) else { return false };
        let into = store.into.and_then(|i| self.bindings.get(i));
        let counts = self.is_changed_list(store.source)
            || store.into.is_some_and(|i| self.is_changed_list(i))
            || source.list && into.is_some_and(Binding::is_changed);
        let after = |binding: &Binding, least: Change| {
            binding.uses.iter().any(|used| used.change >= least && self.comes_after(used, binding, store.at))
        };
        let least = |inside: bool| if inside { Change::Deep } else { Change::Item };
        let shows = |into: &Binding| after(into, least(!store.direct)) && after(source, Change::None);
        counts && (after(source, least(store.part)) || into.is_some_and(shows))
    }

    /// Whether a closure outlives a turn of the loop that a variable is made in, so that it must keep its value.
    pub(super) fn is_kept(&self, closure: &Closure, binding: &Binding) -> bool {
        let captured = binding.uses.iter().any(|used| self.is_within(used.function, closure.function));
        let is_own = self.is_within(binding.function, closure.function);
        let each = self.closures.iter().any(|one| one.each && one.function == binding.function);
        let turns = match binding.kind {
            Kind::Let => self.loops_over(0, binding.at, closure.at) || each,
            Kind::Param => each,
            _ => false,
        };
        captured && !is_own && turns && !binding.uses.iter().any(|used| used.change == Change::Assigned)
    }
}
