//! Draws of whole operations from the seed, against PyTorch's on a CPU. Recorded by `scripts/record_random.py`.

use std::sync::Arc;

use rhai::Dynamic;
use serde_json::Value;
use tensorlab::device::Machine;
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
