//! What a lesson gave before an exercise: a check reads it as it was given, whatever the learner's code does with its
//! name.

use std::collections::{HashMap, HashSet};

use rhai::{Array, Dynamic, Map};

use crate::base::Device;
use crate::script::examine::AsGiven;
use crate::script::reach::{Changed, Reach, are_alike};
use crate::script::reads::bound_outside;
use crate::script::{Interpreter, lexer};
use crate::tensor::Tensor;

use super::protocol::GivenName;

/// Values and functions from before a cell that its check reads.
#[derive(Default)]
pub(super) struct Given {
    values: HashMap<String, GivenValue>,
    /// With how many parameters they have.
    functions: Vec<(String, usize)>,
    /// The first function among them that the cell has defined anew.
    redefined: Option<String>,
    /// The first value among them whose name the cell binds to another.
    rebound: Option<String>,
    /// The modes of modules that are to stay.
    modules: HashMap<usize, bool>,
    /// Leaves that had no gradient.
    bare: HashSet<usize>,
    /// Where tensors lay.
    places: HashMap<usize, Device>,
}

struct GivenValue {
    value: Dynamic,
    /// How what it leads to is to stay.
    held: Option<Reach>,
}

impl Given {
    /// What there is of these names now.
    pub(super) fn of(interpreter: &Interpreter, given: &[GivenName]) -> Given {
        if given.is_empty() {
            return Given::default();
        }
        let find = |name: &str| given.iter().find(|known| known.name == name);
        let values = interpreter.newest().into_iter().filter_map(|(name, _, value)| {
            let held = find(name)?.fixed.then(|| Reach::of(interpreter, &value));
            Some((name.to_owned(), GivenValue { value, held }))
        });
        let values: HashMap<String, GivenValue> = values.collect();
        let held = || values.values().filter_map(|given| given.held.as_ref());
        let mut modules: HashMap<usize, bool> = held().flat_map(Reach::modules).collect();
        let mut bare: HashSet<usize> = held().flat_map(Reach::bare).collect();
        let mut places: HashMap<usize, Device> = held().flat_map(Reach::places).collect();
        for given in values.values().filter(|given| given.held.is_none()) {
            let changes = Reach::of(interpreter, &given.value);
            changes.modules().for_each(|(id, _)| _ = modules.remove(&id));
            changes.bare().for_each(|id| _ = bare.remove(&id));
            changes.places().for_each(|(id, _)| _ = places.remove(&id));
        }
        let (_, library) = interpreter.parts();
        let functions = library.iter_functions().filter(|function| find(function.name).is_some());
        let functions = functions.map(|function| (function.name.to_owned(), function.params.len())).collect();
        Given { values, functions, redefined: None, rebound: None, modules, bare, places }
    }

    /// The cell's code is about to run.
    pub(super) fn note_code(&mut self, code: &str) {
        if self.values.is_empty() && self.functions.is_empty() {
            return;
        }
        let defined = lexer::functions_with_parameters(code);
        let redefined = self.functions.iter().find(|function| defined.contains(function));
        self.redefined = redefined.map(|(name, _)| name.clone());
        self.rebound = bound_outside(code)
            .into_iter()
            .find(|name| self.values.get(name).is_some_and(|given| given.held.is_some()));
    }

    /// Why a check can't tell any more, where the cell has changed what it reads.
    pub(super) fn why_lost(&self, interpreter: &Interpreter) -> Option<String> {
        if let Some(name) = &self.redefined {
            return Some(format!("`{name}` is a function of the lesson's: give yours another name"));
        }
        let changed = |given: &GivenValue| {
            let now = || Reach::of(interpreter, &given.value);
            given.held.as_ref().map_or(Changed::Nothing, |held| held.changed(&now()))
        };
        let changed = self.values.iter().map(|(name, given)| (name, given, changed(given)));
        let changed = changed.filter(|(.., changed)| *changed != Changed::Nothing);
        let (name, given, changed) = changed.min_by_key(|(name, ..)| *name)?;
        let is_data = given.value.is::<Array>() || given.value.is::<Map>();
        Some(match changed {
            Changed::Memory if given.value.is::<Tensor>() => {
                format!("your code writes into `{name}`, {LESSONS}: work on a copy, `{name}.clone()`")
            }
            Changed::Memory if is_data => {
                format!("your code writes into `{name}`, {LESSONS}: work on copies of its tensors")
            }
            Changed::Buffers => format!(
                "your code changes what `{name}` holds, {LESSONS}: buffers, as a normalisation in training mode does \
                 with its statistics. Leave them as they are, or run it after `{name}.eval()`"
            ),
            _ => format!("your code changes what `{name}` holds, {LESSONS}: leave that as it is"),
        })
    }

    /// What is to be said beside why an answer is wrong: that the check reads another value than may be thought.
    pub(super) fn beside(&self, interpreter: &Interpreter) -> Option<String> {
        if let Some(name) = self.rebound.as_deref() {
            return Some(format!(
                "{READS_GIVEN}{name}` that the lesson gave, not the one that your code makes"
            ));
        }
        // An array or a map that has other parts is another value.
        let is_other = |name: &str, now: &Dynamic| {
            let given = self.values.get(name).filter(|given| given.held.is_some());
            let data = given.filter(|given| given.value.is::<Array>() || given.value.is::<Map>());
            data.is_some_and(|given| !are_alike(&given.value, now))
        };
        let newest = interpreter.newest().into_iter();
        let name = newest.filter(|(name, _, now)| is_other(name, now)).map(|(name, ..)| name).min()?;
        Some(format!("{READS_GIVEN}{name}` that the lesson gave, not what your code makes of it"))
    }
}

impl AsGiven for Given {
    fn value(&self, name: &str) -> Option<Dynamic> {
        // What may change is read as it is now.
        self.values.get(name).filter(|given| given.held.is_some()).map(|given| given.value.clone())
    }

    fn modules(&self) -> &HashMap<usize, bool> {
        &self.modules
    }

    fn bare(&self) -> &HashSet<usize> {
        &self.bare
    }

    fn places(&self) -> &HashMap<usize, Device> {
        &self.places
    }
}

/// What stands beside why an answer is wrong, before the name.
pub(crate) const READS_GIVEN: &str = "the check reads the `";

/// Why something is not the learner's to change.
pub(crate) const LESSONS: &str = "which the lesson gives";
