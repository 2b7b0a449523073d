//! What an error of a full device advises: deleting what it names is a cure, and what is none is not named.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tensorlab::base::event::{Body, Event, Page};
use tensorlab::script::Fault;

use crate::parallel::{evaluate, fault, machine, on};

fn hint(code: &str) -> String {
    fault("sim:tiny", code).hint.clone().expect("a hint")
}

/// The names whose deletion would have worked, as a hint has them.
fn cure(hint: &str) -> Option<Vec<String>> {
    let line = hint
        .lines()
        .find_map(|line| line.trim().trim_start_matches("or:").trim_start().strip_prefix_any())?;
    let names = line.rsplit_once(" (").map_or(line, |(names, _)| names);
    assert!(!names.contains("variables and parts"), "{names}");
    Some(names.split(", ").map(str::to_owned).collect())
}

trait StripAny {
    fn strip_prefix_any(&self) -> Option<&str>;
}

impl StripAny for str {
    fn strip_prefix_any(&self) -> Option<&str> {
        self.strip_prefix("Would have let it through: delete ").or_else(|| self.strip_prefix("delete "))
    }
}

#[test]
fn what_a_graph_holds_is_not_to_be_deleted() {
    let code = "cuda::set_per_process_memory_fraction(0.25);
let layers = []; for i in 0..12 { layers.push(nn::Sigmoid()); }
let net = nn::Sequential(layers);
let x = zeros([8, 1024, 256], #{device: \"cuda\"}).requires_grad_();
let y = net.forward(x);";
    let hint = hint(code);
    assert_eq!(cure(&hint), None, "{hint}");
    assert!(hint.contains("the failing line made and still needs: a smaller batch keeps less; where a graph is recorded, `with no_grad()` or `checkpoint`"), "{hint}");
}

#[test]
fn an_operand_of_the_failing_line_is_not_to_be_deleted() {
    let code = "let more = zeros([140, 1024, 256], #{device: \"cuda\"});\nlet again = more * 2.0;";
    let hint = hint(code);
    assert!(cure(&hint).is_none() && hint.contains("  more  "), "{hint}");
}

#[test]
fn a_graph_is_named_with_the_line_that_made_it() {
    let code = "let w = ones([1], #{device: \"cuda\", requires_grad: true});
let x = ones([64, 1024, 256], #{device: \"cuda\"});
let y = (x * w).sum();
x = ();
let more = zeros([200, 1024, 256], #{device: \"cuda\"});";
    let hint = hint(code);
    assert_eq!(cure(&hint), Some(vec!["y".to_owned()]), "{hint}");
    let code = code.replace("let more", "let f = || y;\nlet more");
    let code = code.replace("zeros([200,", "y.item() + zeros([200,");
    let hint = self::hint(&code);
    assert_eq!(cure(&hint), None, "{hint}");
    assert!(hint.contains("the graph of y, made on line 3, keeps for the backward pass"), "{hint}");
}

#[test]
fn a_caught_error_names_the_variables_that_were_there() {
    let code = "let big = zeros([100, 1024, 256], #{device: \"cuda\"});
let told = ();
try {
    let local = zeros([60, 1024, 256], #{device: \"cuda\"});
    let more = zeros([120, 1024, 256], #{device: \"cuda\"});
} catch (e) {
    told = e.hint;
}
told";
    let hint = on("sim:tiny", code);
    assert!(hint.contains("  big    ") && hint.contains("  local  "), "{hint}");
    assert!(hint.contains("Would have let it through: delete local (60.00 MiB)"), "{hint}");
    assert!(!hint.contains("no variable"), "{hint}");
}

#[test]
fn variables_of_functions_and_loops_are_named() {
    let code = "fn fill(n) {
    let a = zeros([n, 1024, 256], #{device: \"cuda\"});
    if n > 0 {
        let b = zeros([n, 1024, 256], #{device: \"cuda\"});
        let c = b.relu();
    }
}
let told = ();
try { fill(100); } catch (e) { told = e.hint; }
told";
    let hint = on("sim:tiny", code);
    assert!(hint.contains("  a  ") && hint.contains("  b  "), "{hint}");
    assert!(hint.contains("Would have let it through: delete a (100.00 MiB)"), "{hint}");
}

/// Within a function the caller's variables are not in sight: they are not said to be none.
#[test]
fn what_a_caller_holds_is_not_said_to_be_held_by_no_variable() {
    let start = "let big = zeros([200, 1024, 256], #{device: \"cuda\"});\n";
    let body = "let told = (); try { zeros([n, 1024, 256], #{device: \"cuda\"}); } catch (e) { told = e.hint; } told";
    for call in [
        format!("{start}fn told(n) {{ {body} }} told(100)"),
        format!("{start}fn told(n) {{ {body} }} fn outer(n) {{ told(n) }} outer(100)"),
        format!("{start}let n = 100; let f = || {{ {body} }}; f.call()"),
    ] {
        let hint = on("sim:tiny", &call);
        assert!(hint.contains("(perhaps a variable of the caller's)"), "{hint}");
        assert!(
            hint.contains("free one tensor (200.00 MiB) that a variable of the caller's may hold"),
            "{hint}"
        );
        assert!(!hint.contains("no variable"), "{hint}");
    }
    // Once it has come to the caller's, they are known.
    let code = format!("{start}fn fill(n) {{ zeros([n, 1024, 256], #{{device: \"cuda\"}}) }}\nfill(100)");
    let hint = hint(&code);
    assert!(hint.contains("  big  ") && !hint.contains("caller"), "{hint}");
    let code = format!(
        "{start}let told = (); fn fill(n) {{ zeros([n, 1024, 256], #{{device: \"cuda\"}}) }}
        try {{ fill(100) }} catch (e) {{ told = e.hint; }} told"
    );
    let hint = on("sim:tiny", &code);
    assert!(hint.contains("  big  ") && !hint.contains("caller"), "{hint}");
}

#[test]
fn what_is_held_twice_is_named_twice_or_not_at_all() {
    let start = "let a = zeros([100, 1024, 256], #{device: \"cuda\"});\n";
    let end = "let more = zeros([200, 1024, 256], #{device: \"cuda\"});";
    for (between, want) in [
        ("", Some("a")),
        ("let b = a;\n", Some("a, b")),
        ("let b = a[0..50];\n", Some("a, b")),
        ("let b = [a];\n", Some("a, b[0]")),
        ("let b = #{k: a};\n", Some("a, b.k")),
        ("let f = || a;\n", Some("a")),
        ("let f = |x| x; f = f.curry(a);\n", None),
        ("let m = nn::Linear(1, 1); m.weight = nn::Parameter(a);\n", Some("a, m")),
        ("const K = a;\n", None),
        ("let set = data::TensorDataset(a);\n", None),
    ] {
        let hint = hint(&format!("{start}{between}{end}"));
        assert_eq!(cure(&hint).map(|names| names.join(", ")).as_deref(), want, "{between}{hint}");
    }
}

#[test]
fn one_refusal_has_one_figure() {
    let machine = machine("sim:tiny");
    let events: Arc<std::sync::Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&events);
    let subscription =
        machine.bus().read(Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned())));
    let code = "let a = zeros([250, 1024, 256], #{device: \"cuda\"});\nlet b = zeros([1500, 1024], #{device: \"cuda\"});";
    let Err(fault) = evaluate(&machine, code) else { panic!("it fits") };
    drop(subscription);
    assert!(fault.message.contains("Tried to allocate 20.00 MiB"), "{}", fault.message);
    let hint = fault.hint.unwrap();
    assert!(
        hint.contains(
            "Requested of cuda:0: 5.86 MiB, for which the allocator tried a new segment of 20.00 MiB"
        ),
        "{hint}"
    );
    let told = events.lock().unwrap().iter().find_map(|e| match e.body {
        Body::OutOfMemory { requested, .. } => Some(requested),
        _ => None,
    });
    assert_eq!(told, Some(20 << 20));
}

/// The request is served; the pass goes on to another.
#[test]
fn advice_within_a_backward_pass_says_that_more_may_come() {
    let lines = [
        "let v0 = zeros([14, 1024, 256], #{device: \"cuda\"});",
        "let v1 = v0.detach();",
        "let v2 = v1 * w;",
        "let v3 = (v2 * w).sum();",
        "let v5 = zeros([16, 1024, 256], #{device: \"cuda\"});",
        "let v6 = probe(v1, 14);",
        "v3.backward();",
    ];
    let mut lines = lines.map(str::to_owned);
    let (fault, served) = refused(&lines).expect("the device is full");
    let hint = fault.hint.unwrap();
    let told = hint.lines().last().unwrap();
    assert!(
        told.starts_with("The gradient is that of the operation in line ") && told.contains(MORE_TO_COME),
        "{hint}"
    );
    assert_eq!(cure(&hint), Some(vec!["v6".to_owned()]), "{hint}");
    lines[6].insert_str(0, "v6 = (); ");
    let (_, served_then) = refused(&lines).expect("the pass asks twice");
    assert!(served_then > served, "{hint}");
}

#[test]
fn a_module_of_a_variable_s_own_may_be_deleted_and_one_with_other_owners_may_not() {
    let start = "let one = ones([1], #{device: \"cuda\"}); let spare = nn::Linear(4096, 4096, #{bias: false, device: \"cuda\"});\n";
    let end = "let y = ones([4096, 4096], #{device: \"cuda\"});\nlet z = y + y;\nlet w = one + (y + z);";
    for (between, want) in [
        ("", Some("spare")),
        ("let other = spare;\n", None),
        ("let net = nn::Sequential(spare);\n", None),
        ("let nets = [spare]; spare = ();\n", Some("nets[0]")),
        ("let opt = optim::SGD(spare.parameters(), #{lr: 0.1});\n", Some("spare, opt")),
        ("let weight = spare.weight;\n", Some("spare, weight")),
    ] {
        let hint = hint(&format!("{start}{between}{end}"));
        assert_eq!(cure(&hint).map(|names| names.join(", ")).as_deref(), want, "{between}{hint}");
    }
}

/// A module that is made on the device asks for its weight and then for its bias.
#[test]
fn what_a_module_asks_for_besides_is_said() {
    let hint = hint(
        "let a = ones([250, 1024, 256], #{device: \"cuda\"});\nlet net = nn::Linear(2048, 2048, #{device: \"cuda\"});",
    );
    assert!(hint.contains("What the rest of the line asks for may need more"), "{hint}");
}

/// A smaller batch is no advice for what has a size of its own.
#[test]
fn weights_and_their_gradients_are_not_made_smaller_by_a_batch() {
    for code in [
        "let net = nn::Linear(10000, 8000);\nnet.to(\"cuda\");",
        "let net = nn::Linear(4000, 8000).cuda();\nlet x = rand([4, 4000], #{device: \"cuda\"});\n\
         let loss = net.forward(x).sum();\nloss.backward();",
    ] {
        let hint = hint(code);
        assert!(!hint.contains("smaller batch") && hint.contains("no batch changes"), "{hint}");
        assert!(hint.contains("Would have let it through: use a device with at least"), "{hint}");
        assert!(hint.contains("what follows may exceed"), "{hint}");
    }
}

/// Advice for a request is none for the next one in the same line.
#[test]
fn what_stands_behind_in_the_line_is_said_to_ask_for_more() {
    let code =
        "fn made(n) { zeros([n, 1024, 256], #{device: \"cuda\"}) }\nlet a = made(120); let b = made(100);\n";
    let line = "let c = made(60); let d = made(60);";
    let both = hint(&format!("{code}{line}"));
    assert!(both.contains("What the rest of the line asks for may need more"), "{both}");
    let apart = hint(&format!("{code}{}", line.replace("; let", ";\nlet")));
    assert!(!apart.contains("the rest of the line"), "{apart}");
}

/// A statement about the variables `v0`, `v1`, …, of which `known` are there; sizes are in MiB.
fn statement(kind: u8, size: usize, of: usize, known: usize) -> String {
    let v = format!("v{}", of % known.max(1));
    let new = format!("let v{known} = ");
    let made = format!("zeros([{size}, 1024, 256], #{{device: \"cuda\"}})");
    if known == 0 {
        return format!("{new}{made};");
    }
    match kind {
        0..=3 => format!("{new}{made};"),
        4 => format!("{new}{made}.requires_grad_();"),
        5 => format!("{new}{v};"),
        6 => format!("{new}first({v}).flatten()[0..1];"),
        7 | 8 => format!("{new}first({v}) * w;"),
        9 => format!("{new}(first({v}) * w).sum();"),
        10 => format!("{new}[{v}, {made}];"),
        11 => format!("{new}#{{a: {v}}};"),
        12 => format!("{new}{made}; let f{known} = || v{known};"),
        13 => format!("{new}{made}; kept = kept.curry({v});"),
        14 => format!("{new}first({v}).detach();"),
        15 => format!("{new}(); with no_grad() {{ v{known} = first({v}) * w; }}"),
        16 => format!("{new}(); {v} = ();"),
        17 => format!("{new}probe({v}, {size});"),
        18 => format!("{new}(); if true {{ let t = first({v}); let u = {made}; v{known} = u; }}"),
        19 => format!("{new}first({v}).sum(); if v{known}.requires_grad {{ v{known}.backward(); }}"),
        20 | 21 => format!("{new}nn::Linear(512, {}, #{{device: \"cuda\"}});", 512 * size),
        _ => format!("{new}nn::Parameter(first({v}).detach()); module.weight = v{known};"),
    }
}

/// What the statements start from.
const START: &str = "fn first(v) { if type_of(v) == \"array\" { first(v[0]) } else if type_of(v) == \"map\" { first(v.a) } \
else if type_of(v) == \"Tensor\" { v } else { zeros([1, 1024, 256], #{device: \"cuda\"}) } }
fn probe(v, n) { let h = [v]; let t = zeros([n, 1024, 256], #{device: \"cuda\"}); t }
cuda::set_per_process_memory_fraction(0.25); let w = ones([1], #{device: \"cuda\", requires_grad: true}); let module = nn::Linear(1, 1); let kept = |x| 1;
";

fn program(steps: &[(u8, usize, usize)]) -> Vec<String> {
    steps.iter().enumerate().map(|(known, (kind, size, of))| statement(*kind, *size, *of, known)).collect()
}

/// What a later step of the same backward pass asks for is no fault of the advice.
const MORE_TO_COME: &str = "later steps of the backward pass may need more";

/// A full device's error, and how many requests of the program were served before it.
fn refused(lines: &[String]) -> Option<(Box<Fault>, usize)> {
    let code = format!("{START}{}", lines.join("\n"));
    let machine = machine("sim:tiny");
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let subscription = machine.bus().read(Arc::new(move |page: &Page| {
        let new = page.iter().filter(|event| matches!(event.body, Body::Alloc { .. })).count();
        count.fetch_add(new, Ordering::Relaxed);
    }));
    let result = evaluate(&machine, &code);
    drop(subscription);
    match result {
        Err(fault) if fault.kind == "OutOfMemoryError" => Some((fault, served.load(Ordering::Relaxed))),
        // Two passes may come to one graph.
        Err(fault) if fault.message.contains("backward through the graph a second time") => None,
        Err(fault) => panic!("{}\n{code}", fault.report),
        Ok(_) => None,
    }
}

/// The line of the program itself in which it failed.
fn line_of(fault: &Fault) -> usize {
    let first = START.lines().count() as u32;
    let line = fault.line.filter(|line| *line > first).or(fault.caller).unwrap();
    (line - first - 1) as usize
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn deleting_what_the_hint_names_is_a_cure(steps in prop::collection::vec((0..23_u8, 1..18_usize, 0..8_usize), 3..14)) {
        let mut lines = program(&steps);
        let Some((fault, served)) = refused(&lines) else { return Ok(()) };
        let hint = fault.hint.clone().unwrap();
        let Some(names) = cure(&hint) else { return Ok(()) };
        let at = line_of(&fault);
        let deleted: String = names.iter().map(|name| format!("{name} = (); ")).collect();
        let whole = lines[at].clone();
        let in_first = fault.line.is_some_and(|line| line as usize <= START.lines().count());
        lines[at] = match whole.split_once("let u") {
            // It failed behind a variable of its block, unless what makes that failed.
            Some((before, rest)) if !in_first => format!("{before}{deleted}let u{rest}"),
            _ => format!("{deleted}{whole}"),
        };
        lines.truncate(at + 1);
        if let Some((again, served_then)) = refused(&lines) {
            // The same line may ask once more, and then that was said.
            let told = [MORE_TO_COME, "the rest of the line asks for may need more"];
            prop_assert!(served_then > served && told.iter().any(|told| hint.contains(told)), "{}\nis no cure:\n{}\nof\n{}", hint, again.report, lines.join("\n"));
        }
    }
}

/// A captured graph keeps its memory, used or not: to try again is no remedy, and deleting the graph is one.
#[test]
fn what_a_captured_graph_keeps_is_freed_with_the_graph() {
    let start = "let x = rand([8, 1024, 1024], #{device: \"cuda\"});
let g = cuda::graph(|| { let a = x * 2.0; let b = a + 1.0; b * 3.0 });
g.replay();
let q = rand([20, 1024, 1024], #{device: \"cuda\"});
";
    let end = "let r = rand([20, 1024, 1024], #{device: \"cuda\"}); r.shape";
    let fault = fault("sim:tiny", &format!("{start}{end}"));
    assert!(
        fault.message.contains("with 64.00 MiB allocated in private pools (e.g., CUDA Graphs), and"),
        "{}",
        fault.message
    );
    let hint = fault.hint.clone().unwrap();
    assert!(hint.contains("delete the CUDA graphs, whose pools keep 64.00 MiB for their replays"), "{hint}");
    assert!(!hint.contains("try again"), "{hint}");
    for cure in ["g = ();", "g.reset();"] {
        assert_eq!(on("sim:tiny", &format!("{start}{cure}\n{end}")), "[20, 1024, 1024]", "{cure}");
    }
}
