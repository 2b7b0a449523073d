//! What the variables of a piece of code and their uses say of what Python shows.

use super::bindings::{Binding, BindingKind, Closure, Mutation, Store, Used};
use super::walk::TreeWalk;

impl TreeWalk {
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
                || binding.uses.iter().any(|used| used.change == Mutation::List)
        })
    }

    /// Whether what is stored shows a change that comes later, or its source one of what it is stored in.
    pub(super) fn shows(&self, store: &Store) -> bool {
        let Some(source) = self.bindings.get(store.source) else { return false };
        let into = store.into.and_then(|i| self.bindings.get(i));
        let counts = self.is_changed_list(store.source)
            || store.into.is_some_and(|i| self.is_changed_list(i))
            || source.list && into.is_some_and(Binding::is_changed);
        let after = |binding: &Binding, least: Mutation| {
            binding.uses.iter().any(|used| used.change >= least && self.comes_after(used, binding, store.at))
        };
        let least = |inside: bool| if inside { Mutation::Deep } else { Mutation::Item };
        let shows = |into: &Binding| after(into, least(!store.direct)) && after(source, Mutation::None);
        counts && (after(source, least(store.part)) || into.is_some_and(shows))
    }

    /// Whether a closure outlives a turn of the loop that a variable is made in, so that it must keep its value.
    pub(super) fn is_kept(&self, closure: &Closure, binding: &Binding) -> bool {
        let captured = binding.uses.iter().any(|used| self.is_within(used.function, closure.function));
        let is_own = self.is_within(binding.function, closure.function);
        let each = self.closures.iter().any(|one| one.each && one.function == binding.function);
        let turns = match binding.kind {
            BindingKind::Let => self.loops_over(0, binding.at, closure.at) || each,
            BindingKind::Param => each,
            _ => false,
        };
        captured && !is_own && turns && !binding.uses.iter().any(|used| used.change == Mutation::Assigned)
    }
}
