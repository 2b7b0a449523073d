//! What a value holds under names: what is read there by a point, without evaluating anything.

use rhai::{Array, Dynamic, Map};

use crate::nn::Module;
use crate::tensor::Tensor;

use super::modules::nn::own::{Own, found};

/// What a path such as `m.0.weight` or `xs[2].grad` leads to from the value of its first name.
pub(crate) fn at(root: &Dynamic, path: &str) -> Option<Dynamic> {
    let mut steps = path.split(['.', '[']).skip(1);
    steps.try_fold(root.flatten_clone(), |value, step| part(&value, step.trim_end_matches(']')))
}

fn part(value: &Dynamic, name: &str) -> Option<Dynamic> {
    let found = if let Some(map) = value.read_lock::<Map>() {
        map.get(name).cloned()
    } else if let Some(items) = value.read_lock::<Array>() {
        items.get(name.parse::<usize>().ok()?).cloned()
    } else if let Some(tensor) = value.read_lock::<Tensor>() {
        tensor.grad().filter(|_| name == "grad").map(Dynamic::from)
    } else {
        value.read_lock::<Module>().and_then(|module| found(&module, name))
    };
    Some(found?.flatten())
}

/// The names by which a map or a module has values of its own, those of numbers left out: a point reads none.
pub(crate) fn names(value: &Dynamic) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if let Some(map) = value.read_lock::<Map>() {
        all.extend(map.keys().map(ToString::to_string));
    } else if let Some(module) = value.read_lock::<Module>() {
        all.extend(module.children().iter().map(|(name, _)| name.clone()));
        all.extend(module.own_tensors().into_iter().map(|(name, ..)| name));
        let made = crate::nn::table().filter(|def| def.name == module.name()).flat_map(|def| def.params);
        let options = made.map(|param| param.name).filter(|name| module.layer().attribute(name).is_some());
        all.extend(options.map(str::to_owned));
        all.extend(
            Own::of(&module)
                .into_iter()
                .flat_map(|own| own.values().keys().map(ToString::to_string).collect::<Vec<_>>()),
        );
    }
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    all.retain(is_name);
    all
}
