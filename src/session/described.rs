//! What a name stands for in the session: a variable, or a function of the learner's own.

use std::fmt::Write;

use rhai::Dynamic;

use crate::base::dims::show;
use crate::base::figures::bytes;
use crate::base::near::nearest;
use crate::nn::Module;
use crate::script::report::is_plain;
use crate::script::value::type_name;
use crate::script::{Interpreter, Origin, within};
use crate::tensor::Tensor;

/// Characters of a value that are shown.
const SHOWN: usize = 2000;

/// What there is of a name in the session; nothing where it has none of it.
pub(super) fn of(interpreter: &Interpreter, name: &str) -> Option<String> {
    let told = [variable(interpreter, name), part(interpreter, name), function(interpreter, name)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

fn variable(interpreter: &Interpreter, name: &str) -> Option<String> {
    let (_, constant, value) = interpreter.newest().into_iter().find(|(known, ..)| *known == name)?;
    let kind = if constant { "constant" } else { "variable" };
    Some(page(interpreter, name, kind, &value.flatten()))
}

/// `net.weight` and `m.a.b`: what a variable has under names.
fn part(interpreter: &Interpreter, path: &str) -> Option<String> {
    let (root, _) = path.split_once('.')?;
    interpreter.newest().into_iter().any(|(known, ..)| known == root).then_some(())?;
    let origin = Origin { name: "", code: path, first_line: 1 };
    let value = interpreter.evaluate_in(interpreter.scope().clone(), &origin, false).ok()?.flatten();
    (!value.is_unit()).then(|| page(interpreter, path, "part of a variable", &value))
}

/// The name that is meant where a variable has no part of this one.
pub(super) fn near(interpreter: &Interpreter, path: &str) -> Option<String> {
    let (of, last) = path.rsplit_once('.')?;
    let root = of.split(['.', '[']).next()?;
    let (.., value) = interpreter.newest().into_iter().find(|(known, ..)| *known == root)?;
    let names = within::names(&within::at(&value, of)?);
    nearest(last, names.iter().map(String::as_str)).map(|name| format!("{of}.{name}"))
}

fn page(interpreter: &Interpreter, name: &str, kind: &str, value: &Dynamic) -> String {
    let mut text = format!("{name}: a {kind} of the session\n\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<13}  {}", value.trim_end().replace('\n', "\n               "));
    };
    row("type", &type_name(value));
    if let Some(tensor) = value.read_lock::<Tensor>() {
        row("shape", &show(tensor.shape()));
        row("dtype", &tensor.dtype().to_string());
        row("device", &tensor.device().to_string());
        row("requires_grad", &tensor.requires_grad().to_string());
        row("memory", &bytes(tensor.nbytes() as u64));
    }
    row("value", &value_of(interpreter, name, value));
    text
}

/// The value as it is printed, where that does nothing on a device.
fn value_of(interpreter: &Interpreter, name: &str, value: &Dynamic) -> String {
    let on_gpu = value.read_lock::<Tensor>().is_some_and(|tensor| tensor.device().is_cuda());
    if on_gpu {
        return format!("print({name}) shows it, which copies it to the host");
    }
    let is_read = value.is::<Tensor>() || value.is::<Module>() || is_plain(value);
    let printed = is_read.then(|| interpreter.show(value).ok()).flatten();
    let text = printed.unwrap_or_else(|| value.to_string()) + interpreter.note(value).as_str();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn function(interpreter: &Interpreter, name: &str) -> Option<String> {
    let (_, library) = interpreter.parts();
    let written: Vec<String> = library
        .iter_functions()
        .filter(|function| function.name == name)
        .map(|function| format!("fn {name}({}): a function of the session\n", function.params.join(", ")))
        .collect();
    (!written.is_empty()).then(|| written.concat())
}
