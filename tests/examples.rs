//! Every example of the op table, run and compared with what it says it prints.

use std::collections::HashSet;
use std::sync::Arc;

use rhai::{Dynamic, Map};
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::{Forward, OpDef};
use tensorlab::script::help;
use tensorlab::script::modules::RunEvents;
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

/// Every row that sees the script or is of the language, each on a machine of its own: some of them change settings.
#[test]
fn each_example_of_the_scripts_own_rows_prints_what_the_reference_says() {
    let folder = std::env::temp_dir().join(format!("tensorlab-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut ran, mut wrong) = (0, Vec::new());
    for def in of_scripts() {
        let (code, shown) = def.example;
        let code = code.replace("\"run.", &format!("\"{}/run.", folder.display()));
        let machine = Machine::open(&"sim:t4x2".parse().unwrap(), Use::Headless).unwrap().machine;
        let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
        interpreter.set_constant("events", Dynamic::from(run_events()));
        let origin = Origin { name: def.name, code: &code, first_line: 1 };
        let printed = match interpreter.evaluate(1, &origin) {
            Ok(value) => interpreter.show(&value).unwrap_or_default(),
            Err(stopped) => format!("{stopped:?}"),
        };
        ran += 1;
        if printed != shown {
            wrong.push(format!("{}: `{code}` prints\n{printed}\nand not\n{shown}", def.name));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{} of {ran} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(ran > 400, "{ran}");
}

/// Rows whose functions are none of the operations'.
fn of_scripts() -> impl Iterator<Item = &'static OpDef> {
    help::rows().filter(|def| matches!(def.forward, Forward::Script))
}

/// What `events` is in examples: a run that copied 400 bytes to a GPU and launched two kernels.
pub fn run_events() -> RunEvents {
    let figures = [
        ("h2d", "#{count: 1, bytes: 400, pinned: 0}"),
        ("d2h", "#{count: 0, bytes: 0, pinned: 0}"),
        ("d2d", "#{count: 0, bytes: 0, pinned: 0}"),
        ("launches", "2"),
        ("syncs", "0"),
        ("implicit_syncs", "1"),
        ("oom", "0"),
        ("peak", "#{`cuda:0`: 512}"),
        ("leaked", "#{`cuda:0`: 0}"),
        ("by_dtype", "#{float32: 2}"),
    ];
    let engine = rhai::Engine::new();
    let value = |code: &str| engine.eval::<Dynamic>(&code.replace('`', "\"")).unwrap();
    let figures: Map = figures.into_iter().map(|(name, code)| (name.into(), value(code))).collect();
    RunEvents::new(Arc::default(), figures, 0, None)
}

/// A parameter's page says what it is for: more than its name and its type.
#[test]
fn parameters_are_said_to_be_for_something() {
    let kinds = "a an the of or and tensor number int integer float bool string array map function value device dtype";
    let (mut count, mut wrong) = (0, Vec::new());
    for def in tensorlab::script::help::rows() {
        for param in def.params {
            count += 1;
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
    assert!(count > 2000, "{count}");
}

/// What a page says of PyTorch's name was looked up there, by `scripts/record_names.py`.
#[test]
fn names_in_pytorch_are_pytorchs() {
    let recorded: HashSet<&str> = include_str!("golden/torch_names.txt").lines().collect();
    let own = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let (mut count, mut unknown) = (0, Vec::new());
    for def in help::rows() {
        let Some(path) = help::torch_path(def).filter(|path| path.starts_with("torch")) else { continue };
        let path = path.split(|c| !own(c)).next().unwrap_or_default();
        count += 1;
        if !recorded.contains(path) {
            unknown.push(format!("{}: {path}", def.name));
        }
    }
    assert!(unknown.is_empty(), "no names that were recorded: {}", unknown.join(", "));
    assert!(count > 700, "{count}");
}

/// What a script can call, of the lab and of the language, stands in the table: no second list can come to be.
#[test]
fn every_name_that_the_engine_knows_has_a_page() {
    let interpreter = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let mut names = interpreter.engine().collect_fn_metadata(
        None,
        |info| {
            let name = info.metadata.name.as_str();
            let name = name.strip_prefix("get$").or(name.strip_prefix("set$")).unwrap_or(name);
            Some(match info.namespace.as_str() {
                "" => name.to_string(),
                space => format!("{space}::{name}"),
            })
        },
        true,
    );
    names.sort();
    names.dedup();
    // `a is b` is an operator.
    let part = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_') && part != "is";
    let word = |name: &str| name.split("::").all(part);
    let known: HashSet<String> = help::rows().flat_map(help::names).collect();
    let without: Vec<&String> = names.iter().filter(|name| word(name) && !known.contains(*name)).collect();
    assert!(without.is_empty(), "{} of {}: {without:?}", without.len(), names.len());
    assert!(names.len() > 800, "{}", names.len());
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
