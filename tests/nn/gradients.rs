//! Gradients of every row of the op table against central differences in float64, first and second.

use tensorlab::op::Gradient;
use tensorlab::op::def::{Domain, Draw, OpDef, Sample};
use tensorlab::tensor::Tensor;

use super::Lab;

const STEP: f64 = 1e-5;

/// A small generator, so that every run draws the same inputs.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn draw(&mut self, draw: &Draw) -> Vec<f64> {
        let count = draw.shape.iter().product();
        let mut spread: Vec<f64> = (0..count).map(|i| i as f64 * 0.37 - 2.0).collect();
        if draw.domain == Domain::Distinct {
            for i in (1..count).rev() {
                spread.swap(i, (self.next() * (i + 1) as f64) as usize);
            }
            return spread;
        }
        (0..count)
            .map(|_| match draw.domain {
                // Away from integers, where functions may have kinks.
                Domain::Any => (self.next() * 4.0).floor() - 2.0 + 0.1 + 0.8 * self.next(),
                Domain::Positive => 0.2 + 2.8 * self.next(),
                Domain::Inside => 1.8 * self.next() - 0.9,
                Domain::Above => 1.2 + 2.8 * self.next(),
                Domain::Index(n) => (self.next() * n as f64).floor(),
                Domain::Mask => self.next().round(),
                Domain::Distinct => 0.0,
            })
            .collect()
    }
}

struct Input {
    name: &'static str,
    values: Vec<f64>,
    shape: &'static [usize],
    trained: bool,
    domain: Domain,
}

impl Input {
    fn tensor(&self) -> Tensor {
        use tensorlab::base::{DType, Scalar};
        let numbers: Vec<Scalar> = self.values.iter().map(|v| Scalar::Float(*v)).collect();
        let dtype = match self.domain {
            Domain::Index(_) => DType::Int64,
            Domain::Mask => DType::Bool,
            _ => DType::Float64,
        };
        let t = Tensor::from_numbers(&numbers, self.shape, dtype).unwrap();
        if self.trained {
            t.set_requires_grad(true).unwrap();
        }
        t
    }
}

/// `sum(call * cotangent)` as a script, so that every output element counts with another weight. For second
/// derivatives the output is squared: those of a linear operation would all be 0.
fn total(call: &str, squared: bool) -> String {
    let call = if squared { format!("({call}).square()") } else { call.to_string() };
    format!(
        "let out = {call}; let cot = (arange(out.numel()).double() * 0.7 + 0.3).sin().reshape(out.shape); \
         let total = (out * cot).sum();"
    )
}

fn bind(lab: &mut Lab, inputs: &[Input]) {
    for input in inputs {
        lab.set(input.name, input.tensor());
    }
}

/// The derivative of a script's number along one element, by central differences.
fn slope(lab: &mut Lab, inputs: &mut [Input], which: usize, element: usize, code: &str) -> f64 {
    let mut at = |shift: f64| {
        let before = inputs[which].values[element];
        inputs[which].values[element] = before + shift;
        bind(lab, inputs);
        let value = lab.float(code);
        inputs[which].values[element] = before;
        value
    };
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

fn check(lab: &mut Lab, def: &OpDef, sample: &Sample, second: bool) -> Result<(), String> {
    let mut numbers = Numbers(def.name.len() as u64 + 17);
    let mut inputs: Vec<Input> = sample
        .inputs
        .iter()
        .map(|draw| Input {
            name: draw.name,
            values: numbers.draw(draw),
            shape: draw.shape,
            trained: !matches!(draw.domain, Domain::Index(_) | Domain::Mask),
            domain: draw.domain,
        })
        .collect();
    let trained: Vec<usize> = (0..inputs.len()).filter(|&i| inputs[i].trained).collect();
    let names: Vec<&str> = trained.iter().map(|&i| inputs[i].name).collect();
    let list = names.join(", ");
    let first = total(sample.call, second);
    // The sum of all gradients, each element weighted, is what the second derivative is taken of.
    let weighted = |graph: bool| {
        let options = format!(", #{{create_graph: {graph}, allow_unused: true}}");
        format!(
            "{first} let sum = 0.0; let weight = 0.4; for g in autograd::grad(total, [{list}]{options}) {{ \
             if type_of(g) == \"Tensor\" {{ \
             sum += (g * (arange(g.numel()).double() * 0.9 + weight).cos().reshape(g.shape)).sum(); weight += 0.5; }} }}"
        )
    };
    let (analytic, number) = if second {
        (format!("{} sum.backward();", weighted(true)), format!("{} sum.item()", weighted(false)))
    } else {
        (format!("{first} total.backward();"), format!("{first} total.item()"))
    };
    bind(lab, &inputs);
    let _ = lab.try_run(&analytic).map_err(|(e, _)| format!("{e} in {analytic}"))?;
    let gradients: Vec<Option<Vec<f64>>> = names
        .iter()
        .map(|name| {
            let t = lab.tensor(name);
            t.grad().map(|g| g.to_f64s("test").unwrap())
        })
        .collect();
    for (at, &which) in trained.iter().enumerate() {
        for element in 0..inputs[which].values.len() {
            let want = slope(lab, &mut inputs, which, element, &number);
            let got = gradients[at].as_ref().map_or(0.0, |g| g[element]);
            let near = if second { 1e-4 } else { 1e-6 };
            if (got - want).abs() > near * (1.0 + want.abs()) {
                return Err(format!("{}[{element}]: {got}, not {want}", inputs[which].name));
            }
        }
    }
    Ok(())
}

fn all(second: bool, skip: &[&str]) {
    let mut lab = Lab::new();
    let (mut checked, mut wrong) = (0, Vec::new());
    for def in tensorlab::op::table().filter(|d| !skip.contains(&d.name)) {
        if matches!(def.gradient, Gradient::NoGrad(_)) {
            continue;
        }
        for sample in def.samples {
            checked += 1;
            lab.reset();
            if let Err(why) = check(&mut lab, def, sample, second) {
                wrong.push(format!("{}: {why}", sample.call));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 200, "{checked}");
}

/// Its sample goes through float32, too coarse for differences.
const ROUNDED: &str = "to";

#[test]
fn first_derivatives_agree_with_differences() {
    all(false, &[ROUNDED]);
}

#[test]
fn second_derivatives_agree_with_differences() {
    // The first derivatives of these are 0 everywhere.
    all(true, &[ROUNDED, "sign", "floor", "ceil", "round", "trunc"]);
}
