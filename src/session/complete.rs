//! Completions from the op table, the modules and the scope; nothing is evaluated.

use crate::script::complete::{self, Candidate, Known};
use crate::script::value::type_name;
use crate::script::{Interpreter, lexer};

use super::protocol::Completion;

/// Completions of the name before byte `cursor`, and the byte where that name starts.
pub(super) fn complete(interpreter: &Interpreter, code: &str, cursor: usize) -> (usize, Vec<Completion>) {
    let (start, found) = complete::complete(&known(interpreter), code, cursor);
    (start, found.into_iter().map(completion).collect())
}

fn completion(candidate: Candidate) -> Completion {
    let Candidate { text, signature, summary, .. } = candidate;
    Completion { text, signature, summary }
}

/// The variables of the scope, newest first, each name once.
fn known(interpreter: &Interpreter) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    for (name, _, value) in interpreter.scope().iter_raw() {
        // Only whole names: the engine keeps some of its own.
        let named = lexer::name_at(name, name.len()).as_deref() == Some(name);
        if named && !all.iter().any(|known| known.name == name) {
            all.push(Known { name: name.into(), type_name: type_name(value), summary: String::new() });
        }
    }
    all
}
