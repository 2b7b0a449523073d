//! What Rhai's blocks, copies and closures do that Python's do not, put into the tree before it is written: names that would
//! be one in Python get another, what is changed after it was stored is copied, and a closure made in a loop keeps its
//! values.

use super::bindings::{Binding, BindingKind, Changes, Names};
use super::names::is_taken;
use super::tree::Block;
use super::walk::TreeWalk;

impl Names {
    /// Looks at code that will follow.
    pub(super) fn look_ahead(&mut self, block: &mut Block) {
        let mut walk = TreeWalk::new(self, None);
        walk.run(block);
        let free = walk.free.iter().map(|mention| mention.name.clone()).collect();
        let lets = walk.top_names();
        self.learn(walk);
        self.ahead.push((free, lets));
    }

    /// Puts what Python needs into the tree.
    pub(super) fn resolve(&mut self, block: &mut Block) {
        if !self.ahead.is_empty() {
            self.ahead.remove(0);
        }
        for _ in 0..2 {
            let mut walk = TreeWalk::new(self, None);
            walk.run(block);
            self.learn(walk);
        }
        let mut walk = TreeWalk::new(self, None);
        walk.run(block);
        let (changes, top) = self.changes(&walk);
        TreeWalk::new(self, Some(changes)).run(block);
        self.top = top;
    }

    fn learn(&mut self, walk: TreeWalk) {
        self.negative = walk.negative;
        self.functions = walk.functions;
        self.keys = walk.keys;
    }

    /// Whether a later piece uses a name that is bound before it.
    fn is_used_later(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|one| one == name);
        let first = self.ahead.iter().find(|(free, lets)| has(free) || has(lets));
        first.is_some_and(|(free, _)| has(free))
    }

    fn changes(&self, walk: &TreeWalk) -> (Changes, Vec<(String, String)>) {
        let mut changes = Changes::default();
        let mut shown: Vec<String> = Vec::new();
        for (i, binding) in walk.bindings.iter().enumerate() {
            let name = match binding.kind {
                BindingKind::Outside => self.called(&binding.name),
                _ => self.name_of(walk, binding, &shown),
            };
            if name != binding.name {
                changes.renamed.push((binding.at, name.clone()));
                let uses = binding.uses.iter().map(|used| (used.at, name.clone()));
                changes.renamed.extend(uses);
            }
            shown.push(name);
            if binding.is_given() && walk.is_changed_list(i) {
                changes.own.push(binding.at);
            }
        }
        let stores = walk.stores.iter().filter(|store| walk.shows(store));
        changes.copied.extend(stores.map(|store| store.at));
        for closure in walk.closures.iter().filter(|closure| closure.escapes) {
            let kept = walk.bindings.iter().zip(&shown).filter(|(binding, _)| walk.is_kept(closure, binding));
            changes.kept.extend(kept.map(|(_, name)| (closure.at, name.clone())));
        }
        let mut top = self.top.clone();
        for (binding, name) in walk.bindings.iter().zip(&shown).filter(|(binding, _)| binding.is_top()) {
            top.retain(|(old, _)| *old != binding.name);
            top.push((binding.name.clone(), name.clone()));
        }
        changes.renamed.sort_unstable_by_key(|(at, _)| *at);
        (changes, top)
    }

    fn called(&self, name: &str) -> String {
        let known = self.top.iter().find(|(old, _)| old == name);
        known.map_or_else(|| name.to_owned(), |(_, new)| new.clone())
    }

    /// What a variable is called in Python.
    fn name_of(&self, walk: &TreeWalk, binding: &Binding, shown: &[String]) -> String {
        let name = &binding.name;
        let taken = binding.shadows.and_then(|i| shown.get(i));
        let hides = binding.shadows.is_some_and(|i| self.hides(walk, binding, i))
            || self.hides_function(walk, binding);
        if !hides && (is_taken(name) || walk.built_in.contains(&name.as_str())) {
            return format!("{name}_");
        }
        if !hides {
            // A second `let` of the same block is the same variable to Python.
            return match (binding.shadows.and_then(|i| walk.bindings.get(i)), taken) {
                (Some(old), Some(taken)) if old.block == binding.block => taken.clone(),
                _ => name.clone(),
            };
        }
        let is_free = |new: &String| taken != Some(new) && !walk.names().any(|one| one == new);
        let numbered = (2..1000).map(|n| format!("{name}_{n}")).find(is_free);
        numbered.unwrap_or_else(|| format!("{name}_"))
    }

    /// Whether an inner variable would take away one of around that is still needed.
    fn hides(&self, walk: &TreeWalk, binding: &Binding, shadowed: usize) -> bool {
        let Some(old) = walk.bindings.get(shadowed) else { return false };
        if old.block == binding.block || binding.kind == BindingKind::Param {
            return false;
        }
        if old.function != binding.function {
            return old.uses.iter().any(|used| walk.is_within(used.function, binding.function));
        }
        old.uses.iter().any(|used| {
            used.at > binding.at
                || used.function != old.function
                || walk.loops_over(old.at, binding.at, used.at)
        }) || old.function == 0 && self.is_used_later(&binding.name)
    }

    /// Whether a function of the variable's name is called where Python has the variable.
    fn hides_function(&self, walk: &TreeWalk, binding: &Binding) -> bool {
        let inner = binding.block != 0 && binding.function == 0 && binding.shadows.is_none();
        inner && walk.is_function(&binding.name) && self.is_used_later(&binding.name)
            || walk.free.iter().filter(|mention| mention.name == binding.name).any(|mention| {
                match binding.function {
                    0 => {
                        mention.at > binding.at
                            || mention.function != 0
                            || walk.loops_over(0, binding.at, mention.at)
                    }
                    function => walk.is_within(mention.function, function),
                }
            })
    }
}

impl Binding {
    /// Whether its value comes from outside of the code: a parameter, or an item of a loop.
    fn is_given(&self) -> bool {
        matches!(self.kind, BindingKind::Param | BindingKind::Loop)
            && !matches!(self.name.as_str(), "self" | "this" | "ctx")
    }
}
