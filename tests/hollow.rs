//! Simulated devices that compute no values: everything that is counted is as with them, what only reports says nan, and
//! what decides says so.

use std::sync::{Arc, Mutex};

use tensorlab::base::event::{Event, Page};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Fault, Interpreter, Limits, Origin, Silent};

use crate::parallel::machine;

/// A script's printed value, and what happened.
fn run(devices: &str, values: bool, code: &str) -> (Result<String, Box<Fault>>, Vec<Event>) {
    let machine = machine(devices);
    if !values {
        machine.shared.leave_out_values();
    }
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&events);
    let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
    let subscription = machine.bus().read(reader);
    let mut script = Interpreter::new(Arc::clone(&machine), Arc::new(Silent), &Limits::default());
    let result = match script.evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
        Ok(value) => Ok(script.show(&value).unwrap()),
        Err(Stopped::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other:?}"),
    };
    drop(subscription);
    let events = events.lock().unwrap().clone();
    (result, events)
}

fn hollow(code: &str) -> Result<String, Box<Fault>> {
    run("sim:t4x2", false, code).0
}

/// All that happened, with lines and times. Where a loader's workers find memory is left to them.
fn told(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let text = format!("{:?} {:?}", event.source, event.body);
        let from = text.find("address: ").unwrap_or(text.len());
        let to = text[from..].find(", ").map_or(text.len(), |length| from + length);
        format!("{}{}", &text[..from], &text[to..])
    };
    let mut all: Vec<String> = events.iter().map(one).collect();
    all.sort();
    all
}

const TRAINING: &str = r#"
manual_seed(3);
let net = nn::Sequential([nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Dropout(0.2), nn::Flatten(), nn::Linear(144, 10)]).to("cuda");
let opt = optim::Adam(net.parameters(), 0.01);
let scaler = amp::GradScaler();
let set = data::TensorDataset(randn([64, 1, 8, 8]), randint(0, 10, [64]));
for batch in data::DataLoader(set, #{batch_size: 16, shuffle: true, num_workers: 2, pin_memory: true}) {
    let x = batch[0].to("cuda", #{non_blocking: true}); let y = batch[1].to("cuda");
    opt.zero_grad();
    let loss = ();
    with autocast("cuda") { loss = F::cross_entropy(net.forward(x), y); }
    scaler.scale(loss).backward(); scaler.step(opt); scaler.update();
    let right = (net.forward(x).argmax(1) == y).sum().item();
    let here = net.forward(x).cpu() * 2.0 + 1.0;
    let w = x.to("cuda:1"); w += 1.0;
}
cuda::synchronize();
[cuda::max_memory_allocated(), cuda::max_memory_reserved(), cuda::memory_allocated(1)]
"#;

#[test]
fn all_that_is_counted_is_as_with_values() {
    let (with, events) = run("sim:t4x2", true, TRAINING);
    let (without, hollow) = run("sim:t4x2", false, TRAINING);
    assert_eq!(with.unwrap(), without.unwrap());
    let (with, without) = (told(&events), told(&hollow));
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(with, without);
    }
    assert_eq!(with.len(), without.len());
    assert!(with.len() > 500);
}

#[test]
fn what_only_reports_says_nan() {
    let x = "let x = ones([2], #{device: \"cuda\"});";
    for (code, shown) in [
        ("x.sum().item()", "nan"),
        ("x", "tensor([nan, nan], device='cuda:0')"),
        ("x.tolist()", "[nan, nan]"),
        ("x.cpu() + 1.0", "tensor([nan, nan])"),
        ("x.expand(16, 2).cpu().nansum().shape", "[]"),
        ("(x > 0.0).sum().item()", "nan"),
        ("let c = ones([2]); c.copy_(x); c.tolist()", "[nan, nan]"),
        // What was never on such a device has its values.
        ("(ones([2]) + 1.0).tolist()", "[2.0, 2.0]"),
    ] {
        assert_eq!(hollow(&format!("{x} {code}")).unwrap(), shown, "{code}");
    }
}

#[test]
fn what_decides_is_an_error_with_its_line() {
    let x = "let x = ones([4], #{device: \"cuda\"});\n";
    for code in [
        "if x.sum() > 0.0 { 1 }",
        "while x.sum() > 0.0 { }",
        "if x.sum().cpu() > 0.0 { 1 }",
        "x.nonzero()",
        "x[x > 0.0]",
        "x.masked_select(x > 0.0)",
        "x.unique()",
        "F::one_hot(x.long())",
        "bincount(x.long())",
        "save(x, \"hollow.npy\")",
        "expect(x.equal(x))",
    ] {
        let fault = hollow(&format!("{x}{code}")).expect_err(code);
        assert!(fault.message.contains("this run has no values (--values none)"), "{code}: {}", fault.report);
        assert_eq!(fault.line, Some(2), "{code}");
    }
}

/// A T4 that is really full, and a model that fits in no laptop.
#[test]
fn what_is_on_the_device_takes_no_memory_here() {
    let full = "let held = []; for i in 0..14 { held.push(empty([1024, 1024, 256], #{device: \"cuda\"})); }
        cuda::memory_allocated() >> 30";
    assert_eq!(hollow(full).unwrap(), "14");
    let fault = hollow("let held = []; loop { held.push(ones([1024, 1024, 256], #{device: \"cuda\"})); }")
        .unwrap_err();
    assert_eq!(fault.kind, "OutOfMemoryError");
}

/// As a large model's: to draw its weights would take as much memory as the model.
#[test]
fn many_random_numbers_are_not_drawn_on_the_host_either() {
    assert!(run("sim:t4", true, "rand([1024, 512]).isnan().any().item()").0.unwrap() == "false");
    assert_eq!(hollow("`${rand([1024, 512]).sum().item()}`").unwrap(), "\"nan\"");
    assert_eq!(hollow("`${nn::Linear(1024, 512).weight.sum().item()}`").unwrap(), "\"nan\"");
    assert_ne!(hollow("`${rand([4]).sum().item()}`").unwrap(), "\"nan\"");
    assert_eq!(hollow("randint(0, 9, [1024, 512]).max().item()").unwrap(), "8");
    let fault = hollow("if rand([1024, 512]).sum() > 0.0 { 1 }").unwrap_err();
    assert!(fault.message.contains("no values"), "{}", fault.report);
}

#[test]
fn nothing_is_saved_that_has_no_values() {
    let path = std::env::temp_dir().join(format!("tensorlab-hollow-{}.safetensors", std::process::id()));
    for tensor in ["ones(3, #{device: \"cuda\"})", "ones(3, #{device: \"cuda\"}).cpu()", "rand([1024, 512])"]
    {
        let fault = hollow(&format!("save({tensor}, {:?})", path.display().to_string())).unwrap_err();
        assert!(fault.message.contains("`save` needs those of a tensor"), "{tensor}: {}", fault.report);
        assert!(!path.exists());
    }
}

/// Who asks whether a loss is still finite guards a run that goes as it should.
#[test]
fn a_guard_against_numbers_that_are_not_finite_lets_a_planned_loop_go_on() {
    let x = "let x = ones(2, #{device: \"cuda\"}); let n = 0; for i in 0..3 { let loss = x.sum().item(); ";
    for guard in
        ["if loss.is_nan() { break; }", "if !loss.is_finite() { break; }", "if loss.is_infinite() { break; }"]
    {
        assert_eq!(hollow(&format!("{x}{guard} n += 1; }} n")).unwrap(), "3", "{guard}");
        assert_eq!(run("sim:t4", true, &format!("{x}{guard} n += 1; }} n")).0.unwrap(), "3", "{guard}");
    }
    assert_eq!(
        hollow("[(0.0 / 0.0).is_nan(), (1.0 / 0.0).is_finite(), \"a\" == \"a\", \"nan\" != \"b\"]").unwrap(),
        "[true, false, true, true]"
    );
    assert_eq!(hollow("switch 2.0 { 2.0 => 1, _ => 0 }").unwrap(), "1");
}

/// A number that was never computed decides nothing, wherever it has come; what only passes it on goes on.
#[test]
fn what_a_reported_number_decides_is_an_error_with_its_line() {
    let x = "let x = ones(2, #{device: \"cuda\"});\n";
    for decides in [
        "if x.sum().item() > 0.0 { 1 }",
        "while x.sum().item() > 1.0 { x = x - 1; }",
        "let best = 3.0; let l = x.sum().item(); if l < best { best = l; }",
        "if x.tolist()[0] >= 0.5 { 1 }",
        "x.sum().item() == 2",
        "let c = #{l: x.sum().item() / 2}; c.l != 3",
        "x.sum().item().to_int()",
        "let f = |v| v > 1; f.call(x.mean().item())",
        "switch x.sum().item() { 2.0 => 1, _ => 0 }",
        "fn f(v) { switch v { 2.0 => 1, _ => 0 } } f(x.sum().item())",
        "`${x.sum().item()}` == \"2.0\"",
        "let v = x.sum().item(); \"sum \" + v != \"sum 2.0\"",
        "x.sum().item().to_string() in [\"2.0\"]",
    ] {
        let fault = hollow(&format!("{x}{decides}")).unwrap_err();
        assert!(fault.message.contains("this run has no values (--values none)"), "{}", fault.report);
        assert_eq!(fault.line, Some(2), "{}", fault.report);
    }
    for needs in [
        "zeros((x > 0.5).sum().item())",
        "for i in 0..x.sum().item() { }",
        "if x.isnan().any().item() { 1 }",
        "[1, 2][x.argmax().item()]",
    ] {
        let fault = hollow(&format!("{x}{needs}")).unwrap_err();
        assert!(
            fault.hint.as_ref().is_some_and(|hint| hint.contains("This run has no values")),
            "{}",
            fault.report
        );
    }
    for goes_on in [
        "let s = 0.0; for i in 0..3 { s += x.sum().item(); } s / 3.0",
        "[x.sum().item()].max()",
        "with detect_anomaly() { let w = x.clone().requires_grad_(); (w * 2).sum().backward(); }",
        "multinomial(x, 1)",
        "let own = 0.0 / 0.0; own == own; 1.5 < 2 && 2 >= 2.0 && 1.0 != 2.0",
        "(7.9).to_int()",
    ] {
        hollow(&format!("{x}{goes_on}")).unwrap_or_else(|fault| panic!("{goes_on}: {}", fault.report));
    }
    // With values the same decide as ever.
    assert_eq!(
        run("sim:t4", true, "let n = 0.0 / 0.0; [n == n, n < 1, (7.9).to_int()]").0.unwrap(),
        "[false, false, 7]"
    );
}
