//! Printed forms, to the character as PyTorch has them.

use std::fmt;

use crate::base::python;
use crate::op::Value;

use super::Module;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show(self))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show(self))
    }
}

/// `stride=(1, 1)`: an option as Python prints it.
pub fn option(name: &str, value: &Value) -> String {
    format!("{name}={}", python_value(value))
}

/// A value as Python prints it: arrays are tuples.
pub(crate) fn python_value(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Scalar(s) => python::scalar(*s),
        Value::Str(s) => format!("'{s}'"),
        Value::List(items) => python::tuple(&items.iter().map(python_value).collect::<Vec<_>>()),
        other => other.describe(),
    }
}

fn show(module: &Module) -> String {
    let options = module.layer().options(module);
    let children = children(module);
    if children.is_empty() {
        return format!("{}({options})", module.name());
    }
    let lines: Vec<String> = options.lines().map(str::to_string).chain(children).collect();
    format!("{}(\n  {}\n)", module.name(), lines.join("\n  "))
}

fn children(module: &Module) -> Vec<String> {
    let all = module.children();
    let shown = all.iter().map(|(name, child)| (name, show(child)));
    if !module.layer().counts_children() {
        return shown.map(|(name, text)| indented(&format!("({name}): {text}"))).collect();
    }
    let mut runs: Vec<(usize, usize, String)> = Vec::new();
    for (i, (_, text)) in shown.enumerate() {
        match runs.last_mut() {
            Some((_, last, same)) if *same == text => *last = i,
            _ => runs.push((i, i, text)),
        }
    }
    let line = |(first, last, text): (usize, usize, String)| {
        if first == last {
            return indented(&format!("({first}): {text}"));
        }
        indented(&format!("({first}-{last}): {} x {text}", last - first + 1))
    };
    runs.into_iter().map(line).collect()
}

/// All lines but the first, two spaces further in.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}
