//! Draws of whole operations from the seed, against PyTorch's on a CPU. Recorded by `scripts/record_random.py`.

use std::sync::Arc;

use rhai::Dynamic;
use serde_json::Value;
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::tensor::Tensor;

fn run(lab: &mut Interpreter, code: &str) -> Tensor {
    let value: Dynamic = lab
        .evaluate(1, &Origin { name: "draw", code, first_line: 1 })
        .unwrap_or_else(|_| panic!("{code} gives an error"));
    value.cast::<Tensor>()
}

fn numbers(values: &Value) -> Vec<f64> {
    let one = |v: &Value| v.as_f64().unwrap_or_else(|| f64::from(u8::from(v.as_bool().unwrap())));
    values.as_array().unwrap().iter().map(one).collect()
}

/// Normal numbers come from vectorised sines and logarithms, which differ in the last digit; so do their exponentials
/// where all digits are kept.
fn is_rounded(code: &str) -> bool {
    let normal = code.starts_with("randn(") || code.starts_with("normal(");
    normal || (code.contains("log_normal_") && code.contains("float64"))
}

#[test]
fn operations_draw_pytorchs_numbers_from_the_seed() {
    let golden: Value = serde_json::from_str(include_str!("../golden/random_calls.json")).unwrap();
    let mut lab = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let (mut wrong, calls) = (Vec::new(), golden["calls"].as_array().unwrap());
    for call in calls {
        lab.reset();
        let code = call["rhai"].as_str().unwrap();
        let got = run(&mut lab, &format!("manual_seed(3); {code}"));
        let next = run(&mut lab, "rand(2)");
        let _here = lab.machine().enter();
        assert_eq!(got.dtype().to_string(), call["dtype"].as_str().unwrap(), "{code}");
        let (values, want) = (got.to_f64s("test").unwrap(), numbers(&call["values"]));
        let same =
            |a: &f64, b: &f64| a == b || (is_rounded(code) && (a - b).abs() <= 1e-6 * b.abs().max(1.0));
        if values.len() != want.len() || !values.iter().zip(&want).all(|(a, b)| same(a, b)) {
            wrong.push(format!("{code}:\n  {values:?}\n  {want:?}"));
        }
        if next.to_f64s("test").unwrap() != numbers(&call["next"]) {
            wrong.push(format!("{code} leaves the generator elsewhere"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), calls.len(), wrong.join("\n"));
    assert!(calls.len() > 150);
}

/// The place of each number is the first whose running sum is not below it, however many there are.
#[test]
fn draws_with_replacement_find_the_places_that_counting_finds() {
    let mut lab = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    for (weights, draws) in [
        ("rand([1500])", 600),
        ("(rand([3, 700]) > 0.7).float() + cat([zeros([3, 699]), ones([3, 1])], 1)", 900),
        ("cat([zeros([500]), ones([2]), zeros([500])]).to(float64)", 700),
        ("ones([4096]).to(float16)", 300),
        ("(rand([2, 900]) * 1e-3).to(bfloat16)", 900),
        // Their sum is infinite, and no share of it a number.
        ("full([1000], 1e308, #{dtype: float64})", 700),
        ("tensor([0.0, 3.0, 0.0])", 100_000),
    ] {
        lab.reset();
        let code = format!(
            "manual_seed(5); let w = {weights}; let n = {draws}; let shape = w.shape; shape[-1] = n;
             manual_seed(3); let got = w.multinomial(n, true);
             manual_seed(3); let u = rand(shape, #{{dtype: float64}});
             let sums = w.double().cumsum(-1); sums = sums / sums.narrow(-1, w.shape[-1] - 1, 1);
             let counted = [];
             for i in range(0, n, 100) {{
                 counted.push((sums.unsqueeze(-2) < u.narrow(-1, i, 100).unsqueeze(-1)).sum(-1));
             }}
             (got == cat(counted, -1).clamp(#{{max: w.shape[-1] - 1}})).all()"
        );
        let all = run(&mut lab, &code);
        let _here = lab.machine().enter();
        assert_eq!(all.to_f64s("test").unwrap(), [1.0], "{weights}");
    }
}

/// Every weight beside every draw would be 100 million truths.
#[test]
fn many_draws_from_many_weights_take_little_memory() {
    let machine = Machine::open(&"sim:t4".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut lab = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    let code = "let w = ones([10_000], #{device: \"cuda\"}); w.multinomial(10_000, true); \
                tensor([cuda::max_memory_allocated()])";
    let peak = run(&mut lab, code);
    let _here = lab.machine().enter();
    let peak = peak.to_f64s("test").unwrap();
    assert!(peak[0] < 4e6, "{peak:?}");
}
