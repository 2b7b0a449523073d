//! Programs of Python's that are pasted as a whole: what is offered computes what Python does, or says what it does not.

use tensorlab::script::Origin;

use super::{lab, offered, told};

/// Each ends with what holds of it in Python.
const PROGRAMS: &[&str] = &[
    // A variable of the program's is no parameter of the same name.
    r#"
import torch, torch.nn as nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        return self.fc(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x):
        return self.block(x)
net = Net()
x = torch.ones(2, 8)
assert net(x).shape[1] == 8
"#,
    r#"
import torch
def total(xs, k=1):
    n = 0
    for x in xs:
        n += x * k
    return n + sum([y for y in xs]) + sum(map(lambda z: z, xs))
a = total([1, 2])
x, y, z, k = 5, 5, 5, 5
n = total([1, 2], k=2)
assert a == 9 and n == 12
"#,
    // Statements of one line.
    r#"
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    loss = net(torch.ones(1, 2)).sum(); opt.zero_grad()
    opt.zero_grad(); loss.backward(); opt.step()
a = 1; b = 2
c = [a, b]; n = len(c); a += n
assert a == 3 and n == 2
"#,
    // Integers that are divided.
    r#"
import torch, math
f = lambda e: min(1.0, (e + 1) / 5)
warmup = 4
def lr(step):
    return (step + 1) / warmup
t = torch.tensor([1, 2])
tp = (t == 1).sum().item()
fp = 1
p = tp / (tp + fp) if tp + fp > 0 else 0.0
def acc(c, t): return c / t
xs = [1, 2]
ys = [tp / 2, max(tp / 4, 0)]
cnt, tot = 1, 4
cnt /= tot
assert f(0) == 0.2 and lr(0) == 0.25 and p == 0.5 and acc(1, 2) == 0.5
assert sum(xs) / len(xs) == 1.5 and ys[0] == 0.5 and ys[1] == 0.25 and cnt == 0.25
v = torch.ones(2)
w = v
v /= 4
assert w.sum().item() == 0.5 and torch.tensor(2.7).item() // 1 == 2 and 7 // 2 == 3
"#,
    // What Python rounds to an integer.
    r#"
import math
n, bs = 10, 4
k = 0
for i in range(math.ceil(n / bs)):
    k += 1
zs = [5, 6, 7]
assert k == 3 and math.floor(n / bs) == 2 and round(2.6) == 3 and round(2.5) == 2 and math.ceil(3) == 3
assert zs[round(1.2)] == 6 and zs[math.floor(2.5)] == 7 and round(2.345, 1) == 2.3
"#,
    // Arguments with names that leave some out.
    r#"
import torch, torch.nn as nn
from dataclasses import dataclass
class Net(nn.Module):
    def __init__(self, d=2, hidden=4):
        super().__init__()
        self.fc = nn.Linear(d, hidden)
        self.out = self._make(hidden, k=2)
    def _make(self, c, s=1, k=1):
        return nn.Linear(c, k)
    def forward(self, x):
        return self.out(self.fc(x))
net = Net(hidden=8)
assert net.fc.weight.shape[0] == 8 and net(torch.ones(1, 2)).shape[1] == 2
@dataclass
class C:
    lr: float = 0.1
    bs: int = 4
c = C(bs=3)
assert c.bs == 3 and c.lr == 0.1
def f(a, b=2, *, c=3):
    return a + b * c
assert f(1) == 7 and f(1, 3) == 10 and f(1, c=5) == 11 and f(b=1, a=0) == 3
"#,
];

fn trouble(code: &str) -> Option<String> {
    let hint = told("", code).unwrap_or_default();
    let Some(here) = offered(&hint) else { return Some(format!("{code}\nis answered with {hint:?}")) };
    if here.contains("// ?") {
        return Some(format!("{here}\nis not all known"));
    }
    let ended = lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 });
    ended.err().map(|error| format!("{here}\nfails: {error:?}"))
}

#[test]
fn a_pasted_program_computes_what_python_does() {
    let wrong: Vec<String> = PROGRAMS.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What is not known costs itself alone, whatever else stands in its line.
#[test]
fn a_statement_that_is_not_known_takes_no_other_with_it() {
    let code = "import torch\na = torch.ones(3)\na.zero_(); a.add_(1)\ntype Num = int\nb = frob @@ 3; c = a.sum()\nprint(c)";
    let here = told("", code).and_then(|hint| offered(&hint)).expect("it is answered");
    for want in
        ["let a = ones(3);", "a.add_(1);", "// ? type Num = int\n", "// ? b = frob @@ 3;\nlet c = a.sum();\n"]
    {
        assert!(here.contains(want), "{here}");
    }
}

#[test]
fn a_program_has_one_answer() {
    let code = "import torch\nfor i in range(3):\n    for j in range(2):\n        k = i\n        z = j\n        q = k\n    for j in \
                range(3):\n        w = j\nprint(i, j, k, z, q, w)";
    let first = told("", code).unwrap_or_default();
    assert!(first.contains("let q = ();"), "{first}");
    for name in ["i", "j", "k", "z", "q", "w"] {
        assert_eq!(first.matches(&format!("let {name} = ();")).count(), 1, "{name}: {first}");
    }
    for _ in 0..5 {
        assert_eq!(told("", code).unwrap_or_default(), first);
    }
}
