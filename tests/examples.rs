//! Every example of the op table, run and compared with what it says it prints.

mod errors;

use std::collections::HashSet;
use std::sync::Arc;

use rhai::{Dynamic, Map};
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::op::def::{Domain, Draw};
use tensorlab::op::{Family, Form, Forward, OpDef, ParamKind, Receiver, shapes};
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
        ("h2d", "#{count: 1, bytes: 400, pinned: 0, blocking: 0}"),
        ("d2h", "#{count: 0, bytes: 0, pinned: 0, blocking: 0}"),
        ("d2d", "#{count: 0, bytes: 0, pinned: 0, blocking: 0}"),
        ("launches", "2"),
        ("syncs", "0"),
        ("implicit_syncs", "1"),
        ("oom", "0"),
        ("peak", "#{`cuda:0`: 512}"),
        ("leaked", "#{`cuda:0`: 0}"),
        ("by_dtype", "#{float32: 2}"),
        ("by_op", "#{add: #{float32: 1}, mul: #{float32: 1}}"),
        (
            "work",
            "#{cpu: #{ops: 0, bytes: 0, flops: 0, line: 0}, `cuda:0`: #{ops: 2, bytes: 2400, flops: 200, line: 2}}",
        ),
        ("waits", "[#{cause: `item`, ms: 0.5, line: 3, clock: `modelled`}]"),
        ("waited_ms", "0.5"),
        ("busy_ms", "#{`cuda:0`: 0.25}"),
        ("idle_ms", "#{`cuda:0`: 0.75}"),
        ("reserved", "#{`cuda:0`: 2097152}"),
        ("alloc_retries", "#{`cuda:0`: 0}"),
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

/// Rows of the tables of operations and of modules that say nothing of shapes: tensors are neither given nor made.
const SHAPELESS: &[&str] = &["manual_seed"];

#[test]
fn rows_of_tensors_say_their_shapes() {
    let without = |def: &&OpDef| def.shapes.is_empty();
    let silent: Vec<&str> = of_tensors().filter(without).map(|def| def.name).collect();
    assert_eq!(silent, SHAPELESS);
    let of_tensors_too = |def: &&OpDef| {
        let tensors = [ParamKind::Tensor, ParamKind::Tensors, ParamKind::Operand];
        def.receiver == Receiver::Tensor || def.params.iter().any(|param| tensors.contains(&param.kind))
    };
    let silent: Vec<&str> = of_scripts().filter(of_tensors_too).filter(without).map(|def| def.name).collect();
    assert!(silent.is_empty(), "{silent:?}");
    assert!(of_tensors().count() > 550, "{}", of_tensors().count());
    let mut wrong = Vec::new();
    for def in help::rows() {
        for error in def.errors {
            let (kind, when) = error.split_once(": ").unwrap_or_default();
            let kind = kind.split(',').next().unwrap_or_default();
            if !(kind.ends_with("Error") || kind == "StopIteration") || when.is_empty() || when.ends_with('.')
            {
                wrong.push(format!("{}: {error}", def.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows of the tables of operations and of modules, homonyms included.
fn of_tensors() -> impl Iterator<Item = &'static OpDef> {
    let other = [Family::Optimise, Family::Data, Family::Parallel];
    help::rows().filter(move |def| !matches!(def.forward, Forward::Script) && !other.contains(&def.family))
}

/// Results have the shapes that rows say in the simplest of forms.
#[test]
fn simple_shapes_are_those_of_results() {
    let machine = Machine::open(&"sim:t4x2".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut interpreter = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    let (mut ran, mut wrong) = (0, Vec::new());
    for def in of_tensors() {
        let same = def.shapes == shapes::SAME;
        if !same && def.shapes != shapes::BROADCAST {
            continue;
        }
        let mut calls: Vec<(String, Vec<usize>)> = Vec::new();
        // Some take integers alone. Samples of a view say nothing of the view.
        let (one, half) = if def.name.starts_with("bitwise") { ("1", "1") } else { ("1.0", "0.5") };
        for sample in def.samples.iter().filter(|sample| !sample.call.contains(".t()")) {
            let made: String = sample.inputs.iter().map(|draw| given(draw, half)).collect();
            let named =
                |draw: &&Draw| sample.call.split(|c: char| !c.is_alphanumeric()).any(|w| w == draw.name);
            let all: Vec<&[usize]> = sample.inputs.iter().filter(named).map(|draw| draw.shape).collect();
            calls.push((made + sample.call, if same { all[0].to_vec() } else { broadcast(&all) }));
        }
        if calls.is_empty() {
            calls.push((call_of(def), vec![3, 4]));
        }
        for (code, want) in calls {
            interpreter.reset();
            let code = format!("let x = full([3, 4], {one}); {code}");
            let printed =
                match interpreter.evaluate(1, &Origin { name: def.name, code: &code, first_line: 1 }) {
                    Ok(value) => {
                        interpreter.set_constant("result", value);
                        let origin = Origin { name: def.name, code: "result.shape", first_line: 1 };
                        let shape = interpreter.evaluate(1, &origin).unwrap();
                        interpreter.show(&shape).unwrap_or_default()
                    }
                    Err(stopped) => format!("{stopped:?}"),
                };
            ran += 1;
            if printed != format!("{want:?}") {
                wrong.push(format!("{}: `{code}` gives {printed}, not {want:?}", def.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {ran} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran > 200, "{ran}");
}

/// A statement that makes a sample's input.
fn given(draw: &Draw, half: &str) -> String {
    let value = match draw.domain {
        Domain::Index(_) => "0",
        Domain::Mask => "true",
        Domain::Above => "1.5",
        _ => half,
    };
    format!("let {} = full({:?}, {value}); ", draw.name, draw.shape)
}

/// The shape of operands that are broadcast together.
fn broadcast(all: &[&[usize]]) -> Vec<usize> {
    let rank = all.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let size =
        |at: usize| all.iter().filter_map(|shape| shape.iter().rev().nth(at)).max().copied().unwrap_or(1);
    (0..rank).rev().map(size).collect()
}

/// A call of a row without samples, on a matrix `x`, with what must be given.
fn call_of(def: &OpDef) -> String {
    let module = def.family == Family::Module;
    let required = def.params.iter().skip(usize::from(!module)).filter(|param| param.default.is_none());
    let given: Vec<&str> = required
        .map(|param| match param.kind {
            ParamKind::Tensor => "x",
            ParamKind::Int | ParamKind::Dim => "1",
            _ => "0.5",
        })
        .collect();
    let with: Vec<&str> = ["x"].iter().chain(&given).copied().collect();
    match def.forms[0] {
        Form::Of(space) if module => format!("{space}::{}({}).forward(x)", def.name, given.join(", ")),
        Form::Of(space) => format!("{space}::{}({})", def.name, with.join(", ")),
        Form::Functional => format!("F::{}({})", def.name, with.join(", ")),
        Form::Function => format!("{}({})", def.name, with.join(", ")),
        _ => format!("x.{}({})", def.name, given.join(", ")),
    }
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
    // Rhai knows two of its own words, `eval` and `type_of`, under other names.
    let asked = |name: &String| match name.as_str() {
        "eval_mode" => "eval".to_string(),
        "type_of_value" => "type_of".to_string(),
        _ => name.clone(),
    };
    let has_page = |name: &String| known.contains(name) && help::page(&asked(name)).is_some();
    let without: Vec<&String> = names.iter().filter(|name| word(name) && !has_page(name)).collect();
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

#[test]
fn what_is_asked_for_as_pytorch_writes_it_has_the_page_of_that() {
    for (asked, called, other) in [
        ("torch.cuda.is_available", "cuda::is_available", "distributed::is_available"),
        ("dist.is_available", "distributed::is_available", "cuda::is_available"),
        ("torch.cuda.manual_seed", "cuda::manual_seed", "PyTorch    torch.manual_seed"),
        ("torch.linalg.norm", "linalg::norm", "x.norm("),
        ("nn.Linear", "nn::Linear", "x.Linear"),
    ] {
        let page = help::page(asked).unwrap();
        assert!(page.contains(called) && !page.contains(other), "{asked}: {page}");
    }
}
