//! How results lie in memory: as what they are made of, where PyTorch 2.15 has it so.

use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::device::sim::Selection;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

/// `t` is `x` with its dimensions turned, `s` every other element of its last one.
const SET_UP: &str = "let x = arange(24.0).reshape([2, 3, 4]); let t = x.permute([2, 0, 1]); \
                      let s = x.unfold(2, 1, 2).select(3, 0); let row = ones([3]); let packed = t.contiguous();";

/// Code and the strides that PyTorch gives.
const STRIDES: &[(&str, &str)] = &[
    ("t + 1", "[1, 12, 4]"),
    ("t + t", "[1, 12, 4]"),
    ("t + packed", "[1, 12, 4]"),
    ("packed + t", "[6, 3, 1]"),
    ("t + row", "[1, 12, 4]"),
    ("row + t", "[1, 12, 4]"),
    ("t[1..3] + 1", "[1, 6, 2]"),
    ("s * 2", "[6, 2, 1]"),
    ("s.clone()", "[6, 2, 1]"),
    ("s.permute([2, 0, 1]).exp()", "[1, 6, 2]"),
    ("t.clone()", "[1, 12, 4]"),
    ("ones([3, 1]).expand([3, 4]).clone()", "[4, 1]"),
    ("ones([3, 1]).expand([3, 4]) + 1", "[4, 1]"),
    ("ones([1, 3]).expand([4, 3]).T.clone()", "[4, 1]"),
    ("t.to(float64)", "[1, 12, 4]"),
    ("t.half()", "[1, 12, 4]"),
    ("zeros_like(t)", "[1, 12, 4]"),
    ("empty_like(t)", "[1, 12, 4]"),
    ("ones_like(s.permute([2, 0, 1]))", "[1, 6, 2]"),
    ("where(t > 0, t, zeros([]))", "[1, 12, 4]"),
    ("t > 0", "[1, 12, 4]"),
    ("ones([3, 1]) + ones([1, 4])", "[4, 1]"),
    ("ones([1, 3]).T + ones([4, 1]).T", "[4, 1]"),
    ("t.softmax(-1)", "[6, 3, 1]"),
    ("t.cumsum(0)", "[6, 3, 1]"),
    ("relu(t)", "[1, 12, 4]"),
    ("F::dropout(t)", "[1, 12, 4]"),
    ("F::gelu(t)", "[1, 12, 4]"),
    ("t.sum(0)", "[3, 1]"),
    ("addcmul(t, t, t)", "[1, 12, 4]"),
    ("lerp(t, t, 0.5)", "[1, 12, 4]"),
    ("t.clamp(0, 1)", "[1, 12, 4]"),
    ("t.flip(0)", "[1, 12, 4]"),
    ("cat([t, t])", "[6, 3, 1]"),
    ("maximum(t, packed)", "[1, 12, 4]"),
    ("F::layer_norm(t, [3])", "[6, 3, 1]"),
    ("t.tril()", "[6, 3, 1]"),
    ("t ** 2", "[1, 12, 4]"),
    ("1 / (t + 1)", "[1, 12, 4]"),
    ("-t", "[1, 12, 4]"),
    ("t.cuda()", "[1, 12, 4]"),
    ("t.cuda().cpu()", "[1, 12, 4]"),
    ("s.permute([2, 0, 1]).cuda()", "[1, 6, 2]"),
    ("t.contiguous()", "[6, 3, 1]"),
];

fn lab() -> Interpreter {
    let selection: Selection = "sim:t4".parse().unwrap();
    let machine = Machine::open(&selection, Use::Headless).unwrap().machine;
    let mut lab = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    run(&mut lab, SET_UP);
    lab
}

fn run(lab: &mut Interpreter, code: &str) -> String {
    let value = lab.evaluate(1, &Origin { name: "order", code, first_line: 1 });
    value.map(|v| v.to_string()).unwrap_or_else(|_| panic!("{code} gives an error"))
}

#[test]
fn results_lie_in_memory_as_what_they_are_made_of() {
    let mut lab = lab();
    let mut wrong = Vec::new();
    for (code, want) in STRIDES {
        let got = run(&mut lab, &format!("({code}).stride()"));
        if got != *want {
            wrong.push(format!("{code}: {got}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_order_in_memory_changes_no_value() {
    let mut lab = lab();
    let same = [
        ("t + packed * 2", "packed + packed * 2"),
        ("t + row", "packed + row"),
        ("t - 2 > row", "packed - 2 > row"),
        ("t.half().float()", "packed"),
        ("t.flip([0, 2])", "packed.flip([0, 2])"),
        ("t.cuda().cpu()", "packed"),
        ("(t.cuda() * 2).cpu()", "packed * 2"),
        ("s.permute([2, 0, 1]).cuda().cpu()", "s.permute([2, 0, 1]).contiguous()"),
        ("(t + 1).view([4, 2, 3])", "packed + 1"),
        ("(t + 1).reshape([24])", "(packed + 1).reshape([24])"),
    ];
    for (a, b) in same {
        assert_eq!(run(&mut lab, &format!("({a}).equal({b})")), "true", "{a}");
    }
    // Gradients flow to where they belong.
    let grad = "let w = packed.clone().requires_grad_(true); ((w.permute([1, 2, 0]) * 2).exp() * x).sum().backward(); \
                allclose(w.grad, (packed * 2).exp() * 2 * packed)";
    assert_eq!(run(&mut lab, grad), "true");
}
