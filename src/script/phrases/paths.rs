//! Names that are looked for in another module than the one they stand in.

use crate::script::fault::Fault;
use crate::script::help::{names, rows, written};

use super::book::{Idiom, note};
use super::names::lacks;

/// What is told of a path into a module that is not there, by the last name of it.
pub(super) fn elsewhere(fault: &Fault) -> Option<String> {
    let module = fault.message.strip_prefix("there is no module '")?.strip_suffix('\'')?;
    // What stands in whole families has a hint of its own.
    let is_told = fault.hint.as_ref().is_some_and(|hint| !hint.starts_with("did you mean"));
    if is_told && module.split("::").next() != Some("utils") {
        return None;
    }
    let line = fault.source_line.as_deref()?;
    let at = usize::try_from(fault.column?).ok()?.checked_sub(1)?;
    let path = line.get(line.char_indices().nth(at)?.0..)?;
    let end = path.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(path.len());
    let name = path.get(..end)?.rsplit("::").next()?;
    let ways: Vec<String> = written(name)
        .into_iter()
        .filter(|way| !way.contains('.') && !way.starts_with("plot::"))
        .map(|way| format!("`{way}`"))
        .collect();
    (!ways.is_empty()).then(|| match name {
        "checkpoint" => "here it is `checkpoint(f, x)`, in no module".to_owned(),
        "checkpoint_sequential" => {
            "here it is `checkpoint_sequential(functions, segments, x)`, in no module".to_owned()
        }
        _ => format!("here it is {}", ways.join(" or ")),
    })
}

/// What is told of a call of a module with other weights.
pub(super) fn stateless(fault: &Fault) -> Option<String> {
    let is_called = fault.source_line.as_deref()?.contains("functional_call(");
    let is_missed = fault.message.starts_with("there is no") && fault.message.contains("func");
    (is_called && is_missed && lacks("functional_call")).then(|| note(Idiom::Stateless).to_owned())
}

/// What is told of `nn::linear`, where a class of the module has the name but for its case.
pub(super) fn of_other_case(fault: &Fault) -> Option<String> {
    let path = fault.message.strip_prefix("there is no function '")?.split('\'').next()?;
    if path == "plot::plot" {
        return Some("here it is `plot::line`".into());
    }
    let name = path.rsplit_once("::")?.1;
    let other = rows()
        .filter(|def| def.name != name && def.name.eq_ignore_ascii_case(name))
        .flat_map(names)
        .find(|other| other.eq_ignore_ascii_case(path))?;
    let ways: Vec<String> = written(name).into_iter().map(|way| format!("`{way}`")).collect();
    let there = match ways.is_empty() {
        true => String::new(),
        false => format!(" {} is its function", ways.join(" or ")),
    };
    Some(format!("did you mean `{other}`?{there}"))
}
