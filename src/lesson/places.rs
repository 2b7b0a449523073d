//! On which of the devices that a lesson is made for a part of it applies.

use crate::base::figures::{self, plural};
use crate::base::near;
use crate::device::sim::Selection;
use crate::device::sim::host_choice::split_host;
use crate::lesson::errors::Errors;

use super::format::{Element, Exercise, Front, Lesson, Places, Step};
use super::markdown::{Block, Inline};

impl Places {
    /// Whether the part applies on a set, as `--devices` takes it.
    pub(crate) fn has(&self, devices: &str) -> bool {
        self.sets.is_empty() || self.sets.iter().any(|set| is_same(set, devices))
    }
}

impl Lesson {
    /// The lesson as it is on a set of devices: without the questions and exercises that do not apply there, of which
    /// the text and the hidden code stay, and with the checks and wrong answers that do. An exercise that is left out says so.
    pub fn on(&self, devices: &str) -> Lesson {
        let mut here = self.clone();
        for step in &mut here.steps {
            match &mut step.element {
                Some(element) if !step.devices.has(devices) => {
                    if matches!(element, Element::Exercise(_)) {
                        step.text.push(left_out(&step.devices));
                    }
                    step.element = None;
                }
                Some(Element::Exercise(exercise)) => {
                    let own = exercise.checks.iter().find(|check| check.devices.has(devices));
                    if let Some(own) = own.map(|check| check.code.clone()) {
                        exercise.check = own;
                    }
                    exercise.wrong.retain(|wrong| wrong.devices.has(devices));
                }
                _ => {}
            }
        }
        here
    }
}

/// What stands in the place of an exercise for other devices.
fn left_out(devices: &Places) -> Block {
    let mut said =
        vec![Inline::Text("(On this session's devices the exercise is left out. It is for ".into())];
    for (at, set) in devices.sets.iter().enumerate() {
        let before = match at {
            0 => "",
            at if at + 1 == devices.sets.len() => " or ",
            _ => ", ",
        };
        said.push(Inline::Text(before.into()));
        said.push(Inline::Code(set.clone()));
    }
    said.push(Inline::Text(".)".into()));
    Block::Paragraph(said)
}

impl Step {
    /// It asks something on other devices, and nothing on these.
    pub fn is_elsewhere(&self) -> bool {
        self.element.is_none() && !self.devices.sets.is_empty()
    }
}

/// Checks that each part names devices of the lesson's, and that every exercise has a check on each of them.
pub(super) fn lint(front: &Front, step: &Step, errors: &mut Errors<'_>) {
    let known = |places: &Places, errors: &mut Errors<'_>| {
        for set in places.sets.iter().filter(|set| is_device_set(set)) {
            if !front.devices.iter().any(|own| is_same(own, set)) {
                let names: Vec<&str> = front.devices.iter().map(String::as_str).collect();
                let message = format!("the lesson is not made for `{set}`");
                errors.at(places.line, 1, message, near::suggestion(set, &names, "its devices"));
            }
        }
    };
    known(&step.devices, errors);
    let Some(Element::Exercise(exercise)) = &step.element else { return };
    exercise.checks.iter().for_each(|check| known(&check.devices, errors));
    exercise.wrong.iter().for_each(|wrong| known(&wrong.devices, errors));
    for set in front.devices.iter().filter(|set| step.devices.has(set)) {
        if !has_check(exercise, set) {
            let message = format!("the exercise `{}` has no check on `{set}`", step.id);
            let hint = "write a check without `devices` for the others, or name devices at the exercise";
            errors.at(step.line, 1, message, hint);
        }
    }
}

/// Reports sets of devices that lack what the lesson needs, as far as it is known without a machine.
pub(super) fn lint_needs(front: &Front, errors: &mut Errors<'_>) {
    let needs = &front.requires;
    let wanted = needs.gpus.max(u32::from(needs.device_memory.is_some()));
    for set in &front.devices {
        let memories: Vec<u64> = match set.parse::<Selection>() {
            Ok(Selection::Cpu) => Vec::new(),
            Ok(Selection::Sim(devices)) => match devices.profiles() {
                Ok(profiles) => profiles.iter().map(|profile| profile.device.memory).collect(),
                Err(_) => continue,
            },
            _ => continue,
        };
        let hint = "name devices that have it, or ask for less: nobody could take the lesson there";
        if memories.len() < wanted as usize {
            let key = if needs.gpus > 0 { "requires.gpus" } else { "requires.device_memory" };
            let (line, column) = front.place(key);
            let (has, wanted) = (memories.len() as u64, plural(wanted.into(), "GPU", "GPUs"));
            errors.at(line, column, format!("the lesson needs {wanted}, and `{set}` has {has}"), hint);
            continue;
        }
        let Some(least) = needs.device_memory else { continue };
        if memories.iter().filter(|memory| **memory >= least).count() < wanted as usize {
            let (line, column) = front.place("requires.device_memory");
            let most = figures::bytes(memories.iter().max().copied().unwrap_or(0));
            let least = figures::bytes(least);
            let message =
                format!("the lesson needs {least} of memory on each GPU, and those of `{set}` have {most}");
            errors.at(line, column, message, hint);
        }
    }
}

fn has_check(exercise: &Exercise, set: &str) -> bool {
    exercise.checks.is_empty() || exercise.checks.iter().any(|check| check.devices.has(set))
}

/// `cpu`, `cuda`, `sim:PROFILE[xN]`, several joined by commas, perhaps with the name of a host behind them.
pub(super) fn is_device_set(set: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let (devices, host) = split_host(set);
    host.is_none_or(is_name)
        && devices.split(',').all(|one| match one.split_once(':') {
            None => matches!(one, "cpu" | "cuda"),
            Some((kind, profile)) => kind == "sim" && is_name(profile),
        })
}

/// What is wrong with a set of devices, and what to write: a form or a profile that does not exist.
pub(super) fn fault(set: &str) -> Option<(String, String)> {
    let hint = "write cpu, cuda, or simulated GPUs such as sim:t4 or sim:t4x2".to_owned();
    if !is_device_set(set) {
        return Some((format!("`{set}` is not a set of devices"), hint));
    }
    match set.parse::<Selection>() {
        Ok(_) => None,
        Err(error) => Some((format!("`{set}` is not a set of devices: {error}"), hint)),
    }
}

/// Whether two texts name the same devices, whatever host stands around them.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (split_host(one).0, split_host(other).0);
    let parsed = |text: &str| text.parse::<Selection>().ok();
    one == other || parsed(one).is_some_and(|one| Some(one) == parsed(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_the_same_by_their_devices() {
        for (one, other, same) in [
            ("sim:t4", "sim:t4", true),
            ("sim:t4", "sim:t4x1", true),
            ("sim:t4", "sim:t4@workstation", true),
            ("sim:t4", "sim:t4x2", false),
            ("cpu", "cuda", false),
            ("cuda", "sim:t4", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_set_is_told() {
        for set in ["cpu", "cuda", "sim:t4", "sim:t4x2", "sim:t4@measured"] {
            assert_eq!(fault(set), None, "{set}");
        }
        for set in ["gpu", "sim:", "sim:t5", "", "sim:t4x0", "sim:t4@", "sim:t4@laptop", "cpu@notebook"] {
            assert!(fault(set).is_some(), "{set}");
        }
    }
}
