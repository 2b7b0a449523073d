//! Every example of the op table, run and compared with what it says it prints.

use std::collections::HashSet;
use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::{Family, OpDef};
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

#[test]
fn each_example_prints_what_the_reference_says() {
    let mut interpreter = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let (mut ran, mut wrong) = (0, Vec::new());
    for def in tensorlab::op::table() {
        let (code, shown) = def.example;
        if code.is_empty() {
            wrong.push(format!("{} has no example", def.name));
            continue;
        }
        interpreter.reset();
        let printed = match interpreter.evaluate(1, &Origin { name: def.name, code, first_line: 1 }) {
            Ok(value) => interpreter.show(&value).unwrap_or_default(),
            Err(stopped) => format!("{stopped:?}"),
        };
        ran += 1;
        if printed != shown {
            wrong.push(format!("{}: `{code}` prints\n{printed}\nand not\n{shown}", def.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {ran} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > 100);
}

/// Every row whose function sees the script, each on a machine of its own: some of them change settings.
#[test]
fn each_example_of_the_scripts_own_rows_prints_what_the_reference_says() {
    let folder = std::env::temp_dir().join(format!("tensorlab-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut ran, mut wrong) = (0, Vec::new());
    for row in tensorlab::script::modules::rows() {
        let (code, shown) = row.def.example;
        let code = code.replace("\"run.", &format!("\"{}/run.", folder.display()));
        let machine = Machine::open(&"sim:t4x2".parse().unwrap(), Use::Headless).unwrap().machine;
        let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
        let origin = Origin { name: row.def.name, code: &code, first_line: 1 };
        let printed = match interpreter.evaluate(1, &origin) {
            Ok(value) => interpreter.show(&value).unwrap_or_default(),
            Err(stopped) => format!("{stopped:?}"),
        };
        ran += 1;
        if printed != shown {
            wrong.push(format!("{}: `{code}` prints\n{printed}\nand not\n{shown}", row.def.name));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{} of {ran} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > 90, "{ran}");
}

/// Families all of whose parameters say what they are for, wherever their rows stand.
const EXPLAINED: &[Family] = &[
    Family::Module,
    Family::Initialise,
    Family::Optimise,
    Family::Checkpoint,
    Family::Data,
    Family::Parallel,
];

/// A parameter's page says what it is for: more than its name and its type. So do all parameters of a row where one
/// does, and of the families above.
#[test]
fn parameters_are_said_to_be_for_something() {
    let kinds = "a an the of or and tensor number int integer float bool string array map function value device dtype";
    let (mut count, mut wrong) = (0, Vec::new());
    for def in tensorlab::script::help::rows() {
        if !EXPLAINED.contains(&def.family) && def.params.iter().all(|param| param.what.is_empty()) {
            continue;
        }
        count += 1;
        for param in def.params {
            let words = param.what.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            let own: Vec<&str> = param.name.split('_').chain(kinds.split(' ')).collect();
            let news = words.filter(|word| !own.contains(&word.to_lowercase().as_str())).count();
            if news < 2 {
                wrong.push(format!("{}: '{}' is for \"{}\"", def.name, param.name, param.what));
            }
        }
        if !def.summary.ends_with(['.', '…']) {
            wrong.push(format!("{}: the summary is a sentence", def.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 240, "{count}");
    let told = |def: &OpDef| def.params.iter().all(|param| !param.what.is_empty());
    assert!(tensorlab::script::modules::rows().all(|row| told(&row.def)));
}

#[test]
fn every_dtype_has_a_page() {
    for dtype in tensorlab::base::DType::ALL {
        let page = tensorlab::script::help::page(dtype.name());
        assert!(page.is_some_and(|page| page.contains(&format!("torch.{}", dtype.name()))), "{dtype:?}");
    }
}

#[test]
fn names_are_unique_and_rows_are_documented() {
    let mut seen = HashSet::new();
    for def in tensorlab::op::table() {
        assert!(seen.insert(def.name), "{} stands in the table twice", def.name);
        assert!(def.summary.ends_with('.'), "{}: the summary is a sentence", def.name);
        assert!(!def.forms.is_empty(), "{} can be called", def.name);
    }
}
