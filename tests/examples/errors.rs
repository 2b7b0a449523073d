//! What goes wrong in a call stands on its page: each row is called with one argument that does not fit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rhai::Dynamic;
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::def::{Domain, Draw, Sample};
use tensorlab::op::{Family, Form, Forward, InPlace, OpDef};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent, help};

/// What stands in the place of an integer.
const INTS: &[&str] = &["33", "(-99)", "0"];
/// What stands in the place of another number.
const FLOATS: &[&str] = &["(-1.5)"];
/// What stands in the place of a text.
const TEXTS: &[&str] = &["\"none_such\""];
/// What stands in the place of a file.
const PATHS: &[&str] = &["\"none/such.npy\""];
/// What stands in the place of a tensor.
const TENSORS: &[&str] = &[
    "(ones([2, 3]) > 0.5)",
    "ones([2, 3], #{dtype: int64})",
    "ones([2, 3], #{requires_grad: true})",
    "tensor(1.0)",
    "zeros([0])",
    "ones([5])",
    "ones([5, 7])",
    "ones([2, 3], #{device: \"cuda\"})",
];
/// What makes a tensor in an example.
const MAKERS: &[&str] =
    &["tensor(", "zeros(", "ones(", "arange(", "eye(", "full(", "rand(", "randn(", "randint("];

#[test]
fn errors_of_calls_stand_on_their_pages() {
    let folder = std::env::temp_dir().join(format!("tensorlab-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut met, mut wrong) = (0, Vec::new());
    let mut interpreter = fresh();
    // Words of the language are no calls, and `sleep` would sleep.
    for def in help::rows().filter(|def| def.forms != [Form::Word] && def.name != "sleep") {
        // Rows of the script's own change settings of their machine.
        if matches!(def.forward, Forward::Script) {
            interpreter = fresh();
        }
        let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for code in calls(def) {
            interpreter.reset();
            let code = code.replace("\"run.", &format!("\"{}/run.", folder.display()));
            if let Some((kind, text)) = error(&mut interpreter, def, &code) {
                kinds.entry(kind).or_default().insert(format!("{text}   in `{code}`"));
            }
        }
        met += kinds.len();
        let told = told(def);
        for (kind, texts) in kinds.iter().filter(|(kind, _)| !told.contains(*kind) && !told.contains("Error"))
        {
            let some = texts.iter().take(4).map(String::as_str).collect::<Vec<_>>().join("\n    ");
            wrong.push(format!("{} ({:?}): {kind}\n    {some}", def.name, def.forms[0]));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{} of {met}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(met > 700, "{met}");
}

/// The kinds of error on a row's page; `Error` is whatever a part of it or a function of the script's fails with.
fn told(def: &OpDef) -> HashSet<String> {
    let all = def.failures();
    let kinds = all.iter().filter_map(|error| error.split_once(':'));
    kinds.flat_map(|(kinds, _)| kinds.split(", ")).map(str::to_string).collect()
}

/// Calls of a row with one argument that does not fit.
fn calls(def: &OpDef) -> Vec<String> {
    let mut all: Vec<String> = def.samples.iter().flat_map(|sample| of_sample(def, sample)).collect();
    let (code, _) = def.example;
    if matches!(def.forms, [Form::Of("nn")]) && code.starts_with("nn::") && !code.contains("forward") {
        let inputs = |tensor: &&str| [tensor.to_string(), format!("{tensor}, ones([2, 3])")];
        let given = TENSORS.iter().flat_map(inputs);
        all.extend(given.map(|given| format!("{code}.forward({given})")));
    }
    for (range, others) in literals(code) {
        all.extend(
            others.iter().map(|other| format!("{}{other}{}", &code[..range.start], &code[range.end..])),
        );
    }
    all
}

/// A sample's call, and the same in place, with each of its inputs replaced.
fn of_sample(def: &OpDef, sample: &Sample) -> Vec<String> {
    let in_place = sample.call.replace(&format!(".{}(", def.name), &format!(".{}_(", def.name));
    let mut all = Vec::new();
    for changed in sample.inputs {
        for tensor in TENSORS {
            let made = |draw: &Draw| match draw.name == changed.name {
                true => format!("let {} = {tensor}; ", draw.name),
                false => input(draw),
            };
            let made: String = sample.inputs.iter().map(made).collect();
            if !matches!(def.in_place, InPlace::None) && in_place != sample.call {
                all.push(format!("{made}{in_place}"));
            }
            all.push(made + sample.call);
        }
    }
    all
}

/// The numbers, texts and tensors that stand in code, and what is put in their places.
fn literals(code: &str) -> Vec<(Range<usize>, &'static [&'static str])> {
    let (mut all, mut text) = (Vec::new(), None);
    let mut before = ' ';
    for (at, c) in code.char_indices() {
        let rest = &code[at..];
        let starts = !before.is_alphanumeric() && before != '.' && before != '_';
        match text {
            Some(start) if c == '"' => {
                let path = code[start..].starts_with("\"run.");
                all.push((start..at + 1, if path { PATHS } else { TEXTS }));
                text = None;
            }
            Some(_) => {}
            None if c == '"' => text = Some(at),
            None if c.is_ascii_digit() && starts => {
                let number = number(rest);
                let place = code[..at]
                    .strip_suffix('[')
                    .is_some_and(|left| left.ends_with(|c: char| c.is_alphanumeric() || "])".contains(c)));
                let values = if number.contains('.') { FLOATS } else { INTS };
                all.push((at..at + number.len(), if place { &[] } else { values }));
            }
            None if starts && MAKERS.iter().any(|maker| rest.starts_with(maker)) => {
                all.push((at..at + closed(rest), TENSORS));
            }
            None => {}
        }
        before = c;
    }
    all
}

/// The number that code starts with: `1` of `1.exp()` and of `1..3`.
fn number(code: &str) -> &str {
    let digits = |code: &str| code.find(|c: char| !c.is_ascii_digit()).unwrap_or(code.len());
    let whole = digits(code);
    let rest = code[whole..].strip_prefix('.').map_or(0, digits);
    &code[..whole + if rest > 0 { rest + 1 } else { 0 }]
}

/// Where the first bracket of code is closed.
fn closed(code: &str) -> usize {
    let mut depth = 0;
    let closes = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    };
    code.find(closes).map_or(code.len(), |at| at + 1)
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

/// The error that the row's own call ends in; not those of wrong arguments, which no page tells.
fn error(interpreter: &mut Interpreter, def: &OpDef, code: &str) -> Option<(String, String)> {
    let Err(Stopped::Fault(fault)) = interpreter.evaluate(1, &Origin { name: def.name, code, first_line: 1 })
    else {
        return None;
    };
    let column = fault.column.unwrap_or(1) as usize;
    let near = code.get(column.saturating_sub(1)..).unwrap_or_default();
    let given = ["(): argument '", "forward() takes", "does not take"];
    let argument = fault.kind == "TypeError" && given.iter().any(|part| fault.message.contains(part));
    if argument || !calls_row(def, near) {
        return None;
    }
    let first = fault.message.lines().next().unwrap_or_default();
    Some((fault.kind, first.to_string()))
}

/// Whether code begins with a call of the row: by name, in place, as an operator, or of the module that it makes.
fn calls_row(def: &OpDef, code: &str) -> bool {
    let own = |c: char| c.is_alphanumeric() || c == '_';
    let word: String = code.chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| own(*c)).collect();
    let module = def.family == Family::Module && matches!(def.forms, [Form::Of(_), ..]);
    let operator = |form: &Form| matches!(form, Form::Operator(symbol) if code.starts_with(symbol));
    word == def.name
        || word.strip_suffix('_') == Some(def.name)
        || (module && word == "forward")
        || def.forms.iter().any(operator)
}
