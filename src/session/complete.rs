//! Completions from the op table, the modules and the scope; nothing is evaluated.

use rhai::Dynamic;

use crate::script::complete::{self, Candidate, Known};
use crate::script::value::type_name;
use crate::script::{Interpreter, lexer, within};

use super::protocol::Completion;

/// Completions of the name before byte `cursor`, and the byte where that name starts.
pub(super) fn complete(interpreter: &Interpreter, code: &str, cursor: usize) -> (usize, Vec<Completion>) {
    let (start, found) =
        complete::complete(&known(interpreter, code.get(..cursor).unwrap_or(code)), code, cursor);
    (start, found.into_iter().map(completion).collect())
}

fn completion(candidate: Candidate) -> Completion {
    let Candidate { text, signature, summary, .. } = candidate;
    Completion { text, signature, summary }
}

/// The variables of the scope, newest first, each name once; of the one whose part is asked for at the end of the code,
/// what it has under names, such as `m.weight`.
fn known(interpreter: &Interpreter, code: &str) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    for (name, _, value) in interpreter.scope().iter_raw() {
        // Only whole names: the engine keeps some of its own.
        let named = lexer::name_at(name, name.len()).as_deref() == Some(name);
        if named && !all.iter().any(|known| known.name == name) {
            all.push(one(name.into(), value));
        }
    }
    let Some(path) = complete::path_at(code) else { return all };
    let root = path.split(['.', '[']).next().unwrap_or_default();
    let root = interpreter.newest().into_iter().find(|(name, ..)| *name == root);
    if let Some(value) = root.and_then(|(.., value)| within::at(&value, path)) {
        if path.contains(['.', '[']) {
            all.push(one(path.into(), &value));
        }
        let parts = within::names(&value).into_iter();
        all.extend(parts.filter_map(|part| {
            let name = format!("{path}.{part}");
            Some(one(name, &within::at(&value, &format!(".{part}"))?))
        }));
    }
    all
}

fn one(name: String, value: &Dynamic) -> Known {
    Known { name, type_name: type_name(value), summary: String::new() }
}
