//! What goes wrong in a call stands on its page: each row is called with one argument that does not fit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use rhai::Dynamic;
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::def::{Domain, Draw};
use tensorlab::op::{Forward, OpDef};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent, help};

/// What stands in the place of a number.
const INTS: &[&str] = &["99", "(-99)"];
/// What stands in the place of a tensor.
const TENSORS: &[&str] = &[
    "(ones([2, 3]) > 0.5)",
    "ones([2, 3], #{dtype: int64})",
    "tensor(1.0)",
    "ones([5])",
    "ones([5, 7])",
    "ones([2, 3], #{device: \"cuda\"})",
];

#[test]
fn errors_of_calls_stand_on_their_pages() {
    let (mut met, mut wrong) = (0, Vec::new());
    let mut interpreter = fresh();
    for def in help::rows() {
        let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // Rows of the script's own change settings of their machine.
        if matches!(def.forward, Forward::Script) {
            interpreter = fresh();
        }
        for code in calls(def) {
            interpreter.reset();
            if let Some((kind, text)) = error(&mut interpreter, def, &code) {
                kinds.entry(kind).or_default().insert(format!("{text}   in `{code}`"));
            }
        }
        met += kinds.len();
        let all = def.failures();
        let told: HashSet<&str> = all
            .iter()
            .filter_map(|error| error.split_once(':'))
            .flat_map(|(kinds, _)| kinds.split(", "))
            .collect();
        for (kind, texts) in kinds {
            if !told.contains(kind.as_str()) {
                wrong.push(format!(
                    "{} ({:?}): {kind}\n    {}",
                    def.name,
                    def.forms[0],
                    texts.into_iter().take(4).collect::<Vec<_>>().join("\n    ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {met}:\n{}", wrong.len(), wrong.join("\n"));
}

fn calls(def: &OpDef) -> Vec<String> {
    let mut all = Vec::new();
    for sample in def.samples {
        for (at, changed) in sample.inputs.iter().enumerate() {
            for tensor in TENSORS {
                let made: String = sample
                    .inputs
                    .iter()
                    .enumerate()
                    .map(
                        |(i, draw)| {
                            if i == at { format!("let {} = {tensor}; ", changed.name) } else { input(draw) }
                        },
                    )
                    .collect();
                all.push(made + sample.call);
            }
        }
    }
    let (code, _) = def.example;
    let start = code.rfind(def.name).map_or(0, |at| at + def.name.len());
    let numbers = code[start..].char_indices().filter(|(i, c)| {
        let before = code[..start + i].chars().last().unwrap_or(' ');
        c.is_ascii_digit() && !before.is_alphanumeric() && before != '.' && before != '_'
    });
    for (i, _) in numbers {
        let at = start + i;
        let end = at + code[at..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(code.len() - at);
        let values: &[&str] = if code[at..end].contains('.') { &["(-1.5)"] } else { INTS };
        all.extend(values.iter().map(|value| format!("{}{value}{}", &code[..at], &code[end..])));
    }
    all
}

fn input(draw: &Draw) -> String {
    let value = match draw.domain {
        Domain::Any | Domain::Distinct => format!("randn({:?})", draw.shape),
        Domain::Positive | Domain::Above => format!("rand({:?}) + 1.2", draw.shape),
        Domain::Inside => format!("rand({:?}) - 0.5", draw.shape),
        Domain::Index(n) => format!("randint(0, {n}, {:?})", draw.shape),
        Domain::Mask => format!("rand({:?}) > 0.5", draw.shape),
    };
    format!("let {} = {value}; ", draw.name)
}

fn fresh() -> Interpreter {
    let machine = Machine::open(&"sim:t4x2".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    interpreter.set_constant("events", Dynamic::from(super::run_events()));
    interpreter
}

/// The error that the row's own call ends in.
fn error(interpreter: &mut Interpreter, def: &OpDef, code: &str) -> Option<(String, String)> {
    match interpreter.evaluate(1, &Origin { name: def.name, code, first_line: 1 }) {
        Err(Stopped::Fault(fault)) => {
            let column = fault.column.unwrap_or(1) as usize;
            let near = code.get(column.saturating_sub(1)..).unwrap_or_default();
            let word: String = near
                .chars()
                .skip_while(|c| !c.is_alphabetic())
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if word.trim_end_matches('_') != def.name {
                return None;
            }
            Some((fault.kind, format!("at {word}: {}", fault.message.lines().next().unwrap_or_default())))
        }
        _ => None,
    }
}
