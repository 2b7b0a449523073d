//! Errors that teach: names of variables, options that are not there, the remedy of a full device, autograd.

use std::sync::Arc;

use rhai::Dynamic;
use tensorlab::device::{Machine, Use};
use tensorlab::op::{Family, Gradient};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Fault, Interpreter, Limits, Origin, Silent};

fn lab(devices: &str) -> Interpreter {
    let machine = Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine;
    Interpreter::new(machine, Arc::new(Silent), &Limits::default())
}

fn run(lab: &mut Interpreter, code: &str) -> Result<Dynamic, Box<Fault>> {
    match lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
        Ok(value) => Ok(value),
        Err(Stopped::Fault(fault)) => Err(fault),
        Err(Stopped::Cancelled(e)) => panic!("{e}"),
    }
}

fn fault(devices: &str, code: &str) -> Fault {
    match run(&mut lab(devices), code) {
        Ok(value) => panic!("`{code}` gives {value}"),
        Err(fault) => *fault,
    }
}

#[test]
fn operands_have_the_names_of_the_variables() {
    let cases: [(&str, &[&str]); 18] = [
        (
            "let batch = ones([4, 5]); let w = ones([2, 3]); batch @ w",
            &["batch: float32 [4, 5]", "w: float32 [2, 3]"],
        ),
        ("let u = ones(3); let v = ones(4); let s = u + v;", &["u: float32 [3]", "v: float32 [4]"]),
        ("let u = ones(3); let v = ones(4); u += v;", &["u: float32 [3]", "v: float32 [4]"]),
        (
            "let u = ones([2, 3]); let v = ones([3, 3, 3]); u.t().mm(v)",
            &["input: float32 [3, 2]", "v: float32 [3, 3, 3]"],
        ),
        // Numbers and lists among the arguments shift no names.
        ("where(ones(2) > 0, 1.0, ones(3))", &["condition: bool [2]", "b: float32 [3]"]),
        ("zeros(3).index_put_([tensor([9])], 1.0)", &["input: float32 [3]", "b: int64 [1]"]),
        (
            "let net = nn::Linear(3, 2); let input = ones([2, 5]); net.forward(input)",
            &["input: float32 [2, 5]"],
        ),
        ("let m = #{w: ones(3)}; m.w + ones(4)", &["m.w: float32 [3]"]),
        ("let xs = [ones(3), ones(4)]; xs[0] + xs[1]", &["xs[0]: float32 [3]", "xs[1]: float32 [4]"]),
        ("let p = ones(3); let q = ones([2, 2]); cat([p, q])", &[]),
        (
            "fn f(left, right) { left * right } f(ones(3), ones(4))",
            &["left: float32 [3]", "right: float32 [4]"],
        ),
        ("let u = ones(3); u[5]", &["u: float32 [3]"]),
        ("let u = ones(3); u[5] = 1;", &["u: float32 [3]"]),
        ("let xx = ones(3, 3); let k = 5; xx[k][1]", &["xx: float32 [3, 3]"]),
        ("let xx = ones(3, 2); xx[0][7] + 1", &["xx[0]: float32 [2]"]),
        ("let m = #{a: #{w: ones(3)}}; let y = m.a.w[4];", &["m.a.w: float32 [3]"]),
        ("fn f(v) { v[4] } f(ones(3))", &["v: float32 [3]"]),
        ("ones(3)[4]", &["input: float32 [3]"]),
    ];
    for (code, wanted) in cases {
        let fault = fault("cpu", code);
        for want in wanted {
            assert!(
                fault.operands.iter().any(|o| o.starts_with(want)),
                "`{code}`: {:?} lacks {want}",
                fault.operands
            );
        }
        assert!(fault.report.contains('^') && fault.line == Some(1), "`{code}`: {}", fault.report);
    }
}

#[test]
fn hints_name_the_operands_as_the_errors_do() {
    for (code, want) in [
        (
            "let table = ones(3).cuda(); let row = ones(3); table + row",
            "`row.to(\"cuda:0\")` or `table.to(\"cpu\")`",
        ),
        ("let b = ones(3).cuda(); let a = ones(3); b + a", "`a.to(\"cuda:0\")` or `b.to(\"cpu\")`"),
        ("let w = ones([2, 2]); let v = ones([2, 2]).double(); w.matmul(v)", "`v.to(float32)`"),
        ("ones(3).cuda() + ones(3)", "`b.to(\"cuda:0\")` or `a.to(\"cpu\")`"),
    ] {
        let report = fault("sim:tiny", code).report;
        assert!(report.contains(want), "`{code}`: {report}");
    }
}

#[test]
fn a_full_device_names_what_this_script_holds() {
    let code = "let xs = [];\nfor i in 0..3 { xs.push(zeros([1024, 1024, 16], #{device: \"cuda\"})); }\n\
                let big = zeros([1024, 1024, 8], #{device: \"cuda\"});\n\
                let more = zeros([1024, 1024, 32], #{device: \"cuda\"});";
    let fault = fault("sim:tiny", code);
    assert_eq!((fault.kind.as_str(), fault.line), ("OutOfMemoryError", Some(4)));
    let hint = fault.hint.unwrap();
    assert!(hint.contains("xs[2]") && hint.contains("big"), "{hint}");
    assert!(hint.contains("Would have let it through: delete xs[0], xs[1]"), "{hint}");
}

/// A row's example, with an option that nothing has in its call.
fn example_with_unknown_option(def: &tensorlab::op::OpDef) -> Option<String> {
    let code = def.example.0;
    let open = code.find(&format!("{}(", def.name))? + def.name.len();
    let mut depth = 0;
    let close = code.char_indices().skip_while(|(at, _)| *at < open).find(|(_, c)| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        depth == 0
    })?;
    let (head, tail) = code.split_at(close.0);
    Some(match head.strip_suffix('}') {
        Some(head) if head.contains("#{") => format!("{head}, optoin_of_none: 1}}{tail}"),
        _ if head.ends_with('(') => format!("{head}#{{optoin_of_none: 1}}{tail}"),
        _ => format!("{head}, #{{optoin_of_none: 1}}{tail}"),
    })
}

/// These take any number of values, any value in that place or any name, and refuse the map itself or what is in it.
const TAKE_ANYTHING: &[&str] = &[
    "apply",
    "save_for_backward",
    "mark_non_differentiable",
    "pad",
    "TransformerEncoder",
    "Sequential",
    "ModuleList",
    "TensorDataset",
    "reduce_add",
    "forward",
    "update",
];

#[test]
fn an_option_that_is_not_there_is_an_error_everywhere() {
    let mut lab = lab("sim:t4x2");
    lab.set_constant("events", Dynamic::from(crate::examples::run_events()));
    let (mut wrong, mut checked) = (Vec::new(), 0);
    let folder = std::env::temp_dir().join(format!("tensorlab-options-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for def in tensorlab::script::help::rows() {
        // Functions of the language have no options, and some examples catch what their call raises.
        if def.family == Family::Language || def.example.0.contains("catch (e)") {
            continue;
        }
        let Some(code) = example_with_unknown_option(def) else { continue };
        // What an example saves is no file of the repository.
        let here = |name: &str| format!("\"{}/{name}\"", folder.display());
        let code = code.replace("\"run.", &format!("\"{}/run.", folder.display()));
        let files = ["steps.npy", "w.safetensors"];
        let code = files.iter().fold(code, |code, name| code.replace(&format!("\"{name}\""), &here(name)));
        checked += 1;
        match run(&mut lab, &code) {
            Ok(_) => wrong.push(format!("{code}: no error")),
            Err(f) if f.message.contains("optoin_of_none") || TAKE_ANYTHING.contains(&def.name) => {}
            Err(f) => wrong.push(format!("{code}: {}", f.message)),
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{} of {checked}: {wrong:#?}", wrong.len());
    assert!(checked > 400, "{checked}");
}

#[test]
fn misspelt_names_and_options_have_a_suggestion() {
    for (code, near) in [
        ("ones(2).sigmod()", "sigmoid"),
        ("zeroes(2)", "zeros"),
        ("ones(2).sum(#{keepdmi: true})", "keepdim"),
        ("ones(2).add(ones(2), #{alhpa: 2})", "alpha"),
        ("ones(2, #{requires_gard: true})", "requires_grad"),
        ("linalg::slove(eye(2), ones(2))", "solve"),
        ("let batches = 3; batchs + 1", "batches"),
        ("let x = ones(2, #{requires_grad: true}); x.sum().backward(#{retain_grap: true})", "retain_graph"),
        (
            "let x = ones(2, #{requires_grad: true}); autograd::grad(x.sum(), x, #{create_grahp: true})",
            "create_graph",
        ),
    ] {
        let hint = fault("cpu", code).hint.unwrap_or_default();
        assert!(hint.contains(&format!("`{near}`")), "`{code}`: {hint}");
    }
}

#[test]
fn what_rhai_says_badly_or_never_comes_back_from_is_said_here() {
    for (code, kind, message) in [
        ("let s = \"a\"; s.pad(10, \"\")", "ValueError", "pad(): the text that fills is empty"),
        ("[3, \"x\"].sort()", "TypeError", "elements of different types cannot be sorted"),
        ("1 / 0", "RuntimeError", "Division by zero: 1 / 0"),
        ("5.get_bit(99)", "RuntimeError", "Bit-field index 99 out of bounds: only 64 bits in bit-field"),
        ("nn::ReLU().eval", "TypeError", "'ReLU' object has no attribute 'eval'"),
        ("let x = ones(2); x.shape = 3", "TypeError", "'shape' of a 'Tensor' object can't be set to int"),
        ("let x = ones(3); x.shape[0] = 5;", "TypeError", "'shape' of a 'Tensor' object can't be changed"),
        ("let x = ones(3); x.shape[0] += 1;", "TypeError", "'shape' of a 'Tensor' object can't be changed"),
        ("let x = ones(3); x.shape.push(1);", "TypeError", "'shape' of a 'Tensor' object can't be changed"),
        (
            "let l = nn::Linear(2, 2); l.weight.shape[0] = 5;",
            "TypeError",
            "'shape' of a 'Tensor' object can't be changed",
        ),
        (
            "let d = data::Subset([1, 2], [0]); d.indices[0] = 1;",
            "TypeError",
            "'indices' of a 'Dataset' object can't be changed",
        ),
        (
            "let d = data::TensorDataset(ones(2)); d.tensors[0] = zeros(2);",
            "TypeError",
            "'tensors' of a 'Dataset' object can't be changed",
        ),
    ] {
        let fault = fault("cpu", code);
        assert_eq!((fault.kind.as_str(), fault.message.as_str()), (kind, message), "{code}");
    }
    let whole = "let x = ones([2, 3]); x.shape.reverse(); 1";
    assert!(fault("cpu", whole).message.contains("can't be changed"));
    let read = "let x = ones([2, 3]); let s = x.shape; s[0] = 5; x.shape.map(|n| n * 2); x.shape.len() + x.shape[0] + s[0]
        + data::TensorDataset(x).tensors[0].add_(1.0).shape[1]";
    assert_eq!(run(&mut lab("cpu"), read).unwrap().as_int().unwrap(), 12);
    let called = fault("cpu", "ones(2).sum").hint.unwrap_or_default();
    assert_eq!(called, "it is a function: `ones(2).sum()`");
    let shown = "let s = \"a\"; s.pad(6, \"xyz\"); s.pad(8, '.'); s.pad(3, \"b\"); s";
    assert_eq!(run(&mut lab("cpu"), shown).unwrap().into_string().unwrap(), "axyzxy..");
}

#[test]
fn gradients_of_some_inputs() {
    let mut lab = lab("cpu");
    let mut number = |code: &str| {
        run(&mut lab, code).unwrap_or_else(|f| panic!("{code}: {}", f.report)).as_float().unwrap()
    };
    let x = "let x = tensor(3.0, #{requires_grad: true}); let y = x * x * x;";
    assert_eq!(number(&format!("{x} autograd::grad(y, x)[0].item()")), 27.0);
    let twice = format!(
        "{x} let g = autograd::grad(y, [x], #{{create_graph: true}})[0]; autograd::grad(g, x)[0].item()"
    );
    assert_eq!(number(&twice), 18.0);
    let kept = format!("{x} y.backward(#{{retain_graph: true}}); y.backward(); x.grad.item()");
    assert_eq!(number(&kept), 54.0);
    let seeded = "let v = ones(2, #{requires_grad: true}); let w = v * 2.0; \
                  autograd::grad(w, v, #{grad_outputs: tensor([1.0, 5.0])})[0].sum().item()";
    assert_eq!(number(seeded), 12.0);
    let unused = format!("{x} let other = ones(1, #{{requires_grad: true}}); autograd::grad(y, [x, other])");
    let fault = run(&mut lab, &unused).unwrap_err();
    assert!(fault.message.starts_with("The differentiated Tensor at index 1 appears to not have been used"));
    let allowed = unused.replace("[x, other])", "[x, other], #{allow_unused: true})[1] == ()");
    assert!(run(&mut lab, &allowed).unwrap().as_bool().unwrap());
}

#[test]
fn anomalies_are_found_where_they_were_made() {
    let nan = "let x = zeros(2, #{requires_grad: true});\nlet y = x.sqrt() * 0;\nwith detect_anomaly() { y.sum().backward(); }";
    let found = fault("cpu", nan);
    assert_eq!(found.message, "Function 'SqrtBackward0' returned nan values in its 0th output.");
    assert!(found.hint.unwrap().contains("line 2"));
    assert!(run(&mut lab("cpu"), &nan.replace("anomaly()", "anomaly(#{check_nan: false})")).is_ok());
    let changed = "let x = ones(2, #{requires_grad: true});\nlet y = x.exp();\nlet z = y.sum();\ny += 1;\n";
    let plain = fault("cpu", &format!("{changed}z.backward()"));
    assert!(plain.message.ends_with("with torch.autograd.set_detect_anomaly(True, check_nan=False)."));
    assert!(plain.hint.unwrap().contains("line 2"));
    let watched = fault("cpu", &format!("{changed}with detect_anomaly() {{ z.backward() }}"));
    assert!(watched.message.ends_with("was changed in there or anywhere later. Good luck!"));
}

#[test]
fn calling_a_method_of_what_an_index_read_writes_nothing_back() {
    let mut lab = lab("cpu");
    let code = "let x = tensor([1.0, 2.0, 3.0], #{requires_grad: true}); let i = tensor([2, 0]); \
                (x[0].square() + x[i].sum() + x[x > 1.5].sum()).backward(); x.grad.tolist()";
    let grads: Vec<f64> = run(&mut lab, code).unwrap().into_typed_array::<f64>().unwrap();
    assert_eq!(grads, [3.0, 1.0, 2.0]);
    let written = "let x = zeros(3); let m = tensor([true, false, true]); x[m] += 2; x[1] -= 1; \
                   let old = x[m]; x.zero_(); x[m] = old; x.tolist()";
    let values: Vec<f64> = run(&mut lab, written).unwrap().into_typed_array::<f64>().unwrap();
    assert_eq!(values, [2.0, 0.0, 2.0]);
    // What was read is written at another place, though nothing has changed since.
    let moved = "let i = tensor([0, 2]); let j = tensor([2, 0]); let x = tensor([1.0, 2.0, 3.0]); \
                 x[j] = x[i]; let y = tensor([1.0, 2.0, 3.0]); let t = y[[0, 1]]; y[[1, 2]] = t; \
                 let z = tensor([1.0, 2.0, 3.0]); z.put([j], z.at([i])); x.tolist() + y.tolist() + z.tolist()";
    let values: Vec<f64> = run(&mut lab, moved).unwrap().into_typed_array::<f64>().unwrap();
    assert_eq!(values, [3.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
}

#[test]
fn functions_hold_at_the_ends_of_their_range() {
    let mut lab = lab("cpu");
    for code in [
        "tensor([-5000.0, -1e8, 0.5]).acosh().isnan().all().item()",
        "tensor([-3e8], #{dtype: float64}).acosh().isnan().all().item()",
        "(tensor([8, -8]) >> -1).equal(tensor([0, -1]))",
        "(tensor([8, -8]) >> tensor([70, 1])).equal(tensor([0, -4]))",
        "trapezoid(arange(12.0).reshape([3, 4]), \
         tensor([[0.0, 1, 2, 3], [1.0, 3, 2, 4], [4.0, 4, 5, 9]]), #{dim: 0}).tolist() == [20.0, 13.0, 24.0, 50.0]",
        "trapezoid(arange(12.0).reshape([3, 4]), tensor([0.0, 1, 3]), #{dim: 0}).tolist() \
         == [14.0, 17.0, 20.0, 23.0]",
        "let said = \"\"; try { ones(6).unflatten(0, [-2, -3]); } catch (e) { said = e.message; } \
         said.contains(\"invalid shape dimension\")",
        "data::DataLoader(data::Dataset(1 << 50, |i| i), #{batch_size: 2}).len() == 1 << 49",
        "let got = (); for b in data::DataLoader(data::Dataset(1 << 50, |i| i), #{num_workers: 1}) \
         { got = b; break; } got.tolist() == [0]",
    ] {
        assert!(run(&mut lab, code).unwrap().as_bool().unwrap(), "{code}");
    }
}

#[test]
fn rows_with_a_gradient_have_samples_to_check_it() {
    // Second names and moves rest on what they call; the rest is drawn, or is checked with its indices elsewhere.
    let named = |d: &tensorlab::op::OpDef| {
        d.summary.starts_with("Another name of")
            || d.family == Family::Move
            || ["dropout", "scatter", "index_put_"].contains(&d.name)
    };
    let without: Vec<&str> = tensorlab::op::table()
        .filter(|d| matches!(d.gradient, Gradient::Vjp(_)) && d.samples.is_empty() && !named(d))
        .map(|d| d.name)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn a_variable_that_ended_with_its_braces_is_told_of_as_such() {
    let hint = |code: &str| fault("cpu", code).hint.unwrap_or_default();
    let ended = "`let out` ends with the braces that it stands in";
    for code in [
        "with no_grad() { let out = ones(3); } out.sum()",
        "for i in 0..3 { if i > 1 { let out = i; } } print(out)",
        "fn f() { with no_grad() { let out = ones(3); } out.sum() } f()",
        "let f = || { if true { let out = 1; } out }; f.call()",
        "if true { let out = 1; print(out); } else { let other = 2; }\nlet y = out + 1;",
    ] {
        assert!(hint(code).starts_with(ended), "`{code}`: {}", hint(code));
    }
    // In braces of a function of its own, later, or nowhere.
    for code in [
        "fn g() { if true { let out = 1; } } g(); out",
        "let g = || { let out = 1; }; g.call(); out",
        "print(out); if true { let out = 1; }",
        "fn f() { out } if true { let out = 1; } f()",
        "if true { let other = 1; } out",
    ] {
        assert!(!hint(code).starts_with(ended), "`{code}`: {}", hint(code));
    }
}
