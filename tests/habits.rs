//! What Python would take is answered with what is written here, and what is answered runs.

use std::sync::Arc;

use tensorlab::device::{Machine, Use};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

/// A program of Python's, and what the hint names.
const HABITS: &[(&str, &str)] = &[
    ("x = ones([3])", "`let x = ones([3]);`"),
    ("gpu = ones([2], #{device: \"cpu\"});", "`let gpu = ones([2], #{device: \"cpu\"});`"),
    ("ones([2], device=\"cpu\")", "`#{device: \"cpu\"}` for `device=\"cpu\"`"),
    ("ones(2, requires_grad=True, dtype=float64)", "`#{requires_grad: true, dtype: float64}`"),
    ("import torch", "nothing is imported"),
    ("import numpy as np", "nothing is imported"),
    ("from torch import nn", "nothing is imported"),
    ("torch.ones(3)", "`ones` is Python's `torch.ones`"),
    ("torch.nn.functional.relu(3)", "`F::relu` is Python's"),
    ("torch.cuda.is_available()", "`cuda::is_available` is Python's"),
    ("nn.Linear(3, 2)", "`nn::Linear` is Python's `nn.Linear`"),
    ("F.relu(ones(2))", "`F::relu` is Python's `F.relu`"),
    ("np.zeros(3)", "`zeros` for `np.zeros`"),
    ("print(True)", "`true` is Python's `True`"),
    ("let a = None;", "`()` is Python's `None`"),
    ("for i in range(3):\n    print(i)", "`for i in 0..3 { … }`"),
    ("for i in range(3) { }", "`for i in 0..3 { … }`"),
    ("let x = 1;\nif x == 1 and True:\n    print(x)", "`&&` is Python's `and`"),
    ("while True:\n    break", "`while true { … }`"),
    ("with torch.no_grad():\n    1", "`with no_grad() { … }`"),
    ("let x = ones([2, 2]); x[0, 1]", "`x.at([0, 1])` is Python's `x[0, 1]`"),
    ("let x = ones([2, 2]); x[:, 0]", "`x.at([(), 0])` is Python's `x[:, 0]`"),
    ("let x = ones([4]); x[1:3]", "`x[1..3]` is Python's `x[1:3]`"),
    ("let s = 'hello';", "`\"hello\"`"),
    ("let a = 1; # a comment", "a comment begins with `//`"),
    ("let x = 1; print(f\"{x}\");", "`` `x is ${x}` ``"),
    ("def f(x):\n    return x", "`fn f(x) { … }`"),
    ("class Net:\n    pass", "`nn::module("),
    ("let a, b = 1, 2;", "`let a = 1; let b = 2;`"),
    ("a, b = 1, 2", "`let a = 1; let b = 2;`"),
    ("print \"x\"", "`print(\"x\")`"),
    ("let l = Linear(3, 2);", "`nn::Linear(…)`"),
    ("let x = ones([2]); x.mean", "`.mean(…)` calls it"),
    ("let x = ones([2]); x.shape()", "`.shape` alone"),
    ("let x = ones([2]); len(x)", "`x.size(0)`"),
    ("help(softmax)", "`?softmax`"),
    ("let f = lambda x: x + 1;", "`|x| x + 1`"),
    ("let x = not true;", "`!` is Python's `not`"),
    ("let x = 1; let y = x if x == 1 else 2;", "`if x == 1 { x } else { 2 }`"),
    ("let l = [i for i in 0..3];", "`let all = []; for i in 0..3 { all.push(i) }`"),
    ("del x", "`drop(x)` is Python's `del x`"),
    ("assert 1 == 1", "`if !(1 == 1) { throw \"…\" }`"),
    ("let d = {\"a\": 1};", "`#{a: …}`"),
    ("let s = \"a\" + str(3);", "`(3).to_string()`"),
    ("for i, x in enumerate([1, 2]) { }", "`for (x, i) in …`"),
    ("try:\n    1\nexcept:\n    2", "`try { … } catch (e) { … }`"),
    ("elif x:", "`else if x { … }`"),
];

fn lab() -> Interpreter {
    let machine = Machine::open(&"cpu".parse().unwrap(), Use::Headless).unwrap().machine;
    Interpreter::new(machine, Arc::new(Silent), &Limits::default())
}

fn hint(code: &str) -> Option<String> {
    match lab().evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
        Err(Stopped::Fault(fault)) => fault.hint,
        _ => None,
    }
}

#[test]
fn python_is_answered_with_what_is_written_here() {
    let missing: Vec<String> = HABITS
        .iter()
        .filter_map(|(code, wanted)| {
            let told = hint(code).unwrap_or_default();
            (!told.contains(wanted)).then(|| format!("{code:?}: {told:?}, not {wanted}"))
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn what_is_answered_runs() {
    for code in [
        "let x = ones([3]); let gpu = ones([2], #{device: \"cpu\"});",
        "ones(2, #{requires_grad: true, dtype: float64});",
        "ones; F::relu(ones(2)); nn::Linear(3, 2); cuda::is_available();",
        "for i in 0..3 { } with no_grad() { }",
        "let x = ones([2, 2]); x.at([0, 1]); x.at([(), 0]); x[0..1]; x.size(0); x.numel(); x.shape;",
        "let x = 1; print(`x is ${x}`); fn f(x) { x } let g = |x| x + 1;",
        "let y = if 1 == 1 { 2 } else { 3 }; let all = []; for i in 0..3 { all.push(i) }",
        "let x = 3; drop(x); if !(1 == 1) { throw \"…\" }",
        "let d = #{a: 1}; (3).to_string(); (3.5).to_int(); (3).to_float(); for (x, i) in [1, 2] { }",
        "try { 1 } catch (e) { 2 }",
        "nn::module(#{fc: nn::Linear(2, 1)}, |self, x| self.fc.forward(x));",
    ] {
        let code = code.replace("ones; ", "");
        let ended = lab().evaluate(1, &Origin { name: "test", code: &code, first_line: 1 });
        assert!(ended.is_ok(), "{code}: {ended:?}");
    }
}

#[test]
fn what_is_no_habit_keeps_its_own_hint() {
    assert_eq!(hint("rnad(3)").as_deref(), Some("did you mean `rand`?"));
    assert!(hint("let t = ones(2); t.summ()").is_some_and(|told| told.starts_with("did you mean")));
    assert_eq!(hint("let x = ; 1"), None);
    for (code, own) in [
        ("from = 3", "`let from = 3;`"),
        ("try { ones(1) } catch (e) { }; rnad(3)", "`rand`"),
        ("print (rnad(3))", "`rand`"),
        ("let t = ones(2); if t.summ() > 1 { }", "did you mean"),
    ] {
        let told = hint(code).unwrap_or_default();
        assert!(told.contains(own), "{code}: {told}");
    }
}
