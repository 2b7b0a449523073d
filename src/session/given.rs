//! What a lesson gave before an exercise: a check reads it as it was given, whatever the learner's code does with its
//! name.

use std::collections::HashMap;

use rhai::{Array, Dynamic, Map};

use crate::script::reach::{Freed, Reach};
use crate::script::{Interpreter, lexer};
use crate::tensor::Tensor;

use super::protocol::GivenNames;

/// Values and functions from before a cell that its check reads.
#[derive(Default)]
pub(super) struct Given {
    values: HashMap<String, GivenValue>,
    functions: Vec<String>,
    /// The first function among them that the cell has defined anew.
    redefined: Option<String>,
    freed: Freed,
    trains: bool,
}

struct GivenValue {
    value: Dynamic,
    /// How what it leads to is to stay.
    held: Option<Reach>,
}

impl Given {
    /// What there is of these names now.
    pub(super) fn of(interpreter: &Interpreter, given: &GivenNames) -> Given {
        if given.is_empty() {
            return Given::default();
        }
        let find = |name: &str| given.names.iter().find(|known| known.name == name);
        let mut freed = Freed::default();
        for (_, _, value) in interpreter.newest().iter().filter(|(name, ..)| used(given, name)) {
            freed.add(interpreter, value, given.trains);
        }
        let values = interpreter.newest().into_iter().filter_map(|(name, _, value)| {
            let held = find(name)?.fixed.then(|| Reach::of(interpreter, &value));
            Some((name.to_owned(), GivenValue { value, held }))
        });
        let values = values.collect();
        let (_, library) = interpreter.parts();
        let functions = library.iter_functions().filter(|function| find(function.name).is_some());
        let functions = functions.map(|function| function.name.to_owned()).collect();
        Given { values, functions, redefined: None, freed, trains: given.trains }
    }

    /// The cell's code is about to run.
    pub(super) fn note_code(&mut self, code: &str) {
        let defined = lexer::functions(code);
        self.redefined = self.functions.iter().find(|name| defined.contains(name)).cloned();
    }

    /// The value as it was given.
    pub(super) fn value(&self, name: &str) -> Option<Dynamic> {
        self.values.get(name).map(|given| given.value.clone())
    }

    /// Why a check can't tell any more, where the cell has changed what it reads.
    pub(super) fn why_lost(&self, interpreter: &Interpreter) -> Option<String> {
        if let Some(name) = &self.redefined {
            return Some(format!("`{name}` is a function of the lesson's: give yours another name"));
        }
        let is_changed = |given: &GivenValue| {
            let now = || Reach::of(interpreter, &given.value);
            given.held.as_ref().is_some_and(|held| !held.holds(&now(), &self.freed, self.trains))
        };
        let changed = self.values.iter().filter(|(_, given)| is_changed(given));
        let (name, given) = changed.min_by_key(|(name, _)| *name)?;
        Some(match is_data(&given.value) {
            true => format!(
                "your code writes into `{name}`, which the lesson gives: work on a copy, `{name}.clone()`"
            ),
            false => {
                format!("your code changes what `{name}` holds, which the lesson gives: leave that as it is")
            }
        })
    }
}

/// Whether the solution uses what has this name.
fn used(given: &GivenNames, name: &str) -> bool {
    given.used.iter().any(|used| used == name)
}

/// Whether a value is a tensor, or several.
fn is_data(value: &Dynamic) -> bool {
    value.is::<Tensor>() || value.is::<Array>() || value.is::<Map>()
}
