//! Programs of Python's whose lines could be read as something else: what is written for them means the same.

use super::faithful::trouble;

const SAME: &[&str] = &[
    // A function within a method has no object of its own.
    r#"
class Bag:
    def __init__(self, k):
        self.k = k
        self.d = {"a": 1}
    def first(self, d):
        return d[:self.k]
    def all(self, ws):
        return [self.d.get(w, 0) for w in ws]
    def twice(self, ws):
        out = []
        for x in [self.k * w for w in ws]:
            out.append(x)
        return out
    def best(self, ws):
        return sorted(ws, key=lambda w: -self.d.get(w, 0))
b = Bag(2)
assert b.first([1, 2, 3]) == [1, 2] and b.all(["a", "b"]) == [1, 0]
assert b.twice([1, 2]) == [2, 4] and b.best(["b", "a"]) == ["a", "b"]
"#,
    // A range among several places is a list of them.
    r#"
import torch
p = torch.tensor([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
y = torch.tensor([0, 2])
assert p[range(2), y].tolist() == p[[0, 1], y].tolist()
x = torch.zeros(3, 3)
x[range(3), range(3)] = 1
def of(p, y):
    return p[range(len(y)), y]
assert x.sum() == 3 and of(p, y).tolist() == p[[0, 1], y].tolist()
"#,
    // A method without a call is a function.
    r#"
d = {"a": 3, "b": 1, "c": 2}
assert max(d, key=d.get) == "a" and min(d, key=d.get) == "b" and sorted(d, key=d.get) == ["b", "c", "a"]
assert sorted(["B", "a"], key=str.lower) == ["a", "B"] and list(map(d.get, ["a", "c"])) == [3, 2]
assert list(map(str.upper, ["a", "c"])) == ["A", "C"] and [s for s in map(str.strip, [" x"])] == ["x"]
f = d.get
assert f("a") == 3
def most(counts):
    return max(counts, key=counts.get)
assert most(d) == "a"
"#,
    // What a condition chooses is changed itself.
    r#"
a, b = [], []
for x in range(5):
    (a if x % 2 == 0 else b).append(x)
assert a == [0, 2, 4] and b == [1, 3]
"#,
    // A slice with a step counts from the end as well, and not beyond what there is.
    r#"
import torch
xs = [1, 2, 3, 4, 5, 6, 7]
assert xs[-4::2] == [4, 6] and xs[:-1:2] == [1, 3, 5] and xs[1:-1:2] == [2, 4, 6] and xs[-50:50:3] == [1, 4, 7]
t = torch.arange(7)
assert t[-4::2].tolist() == [3, 5] and t[:-1:2].tolist() == [0, 2, 4] and t[1:-1:2].tolist() == [1, 3, 5]
s = "abcdefg"
assert s[-4::2] == "df" and s[1:-1:2] == "bdf" and s[::3] == "adg"
"#,
    // The greatest of pairs is a pair.
    r#"
pairs = [("a", 3), ("b", 5)]
best, i = max(pairs, key=lambda p: p[1])
a, b = max([(1, 2), (3, 1)])
assert best == "b" and i == 5 and a == 3 and b == 1
"#,
    // A tensor of one number is the place of an item.
    r#"
import torch
classes = ["a", "b", "c"]
pred = torch.tensor([0.1, 0.7, 0.2])
labels = torch.tensor([2, 0])
y = labels[1]
assert classes[pred.argmax(0)] == "b" and [classes[labels[j]] for j in range(2)] == ["c", "a"]
assert classes[y] == "a" and [classes[k] for k in labels] == ["c", "a"]
def names(out, batch):
    all = ["x", "y", "z"]
    return [all[out.argmax(0)], all[batch[1]]]
assert names(pred, labels) == ["y", "x"]
"#,
    // A method of the program's is called, whatever a tensor has of that name.
    r#"
class Node:
    def __init__(self, kids):
        self.kids = kids
    def shape(self):
        return len(self.kids)
    def is_leaf(self):
        return len(self.kids) == 0
def go(node):
    if node.is_leaf():
        return 0
    return node.shape()
assert go(Node([1, 2])) == 2 and go(Node([])) == 0
"#,
    // What applies a function with a gradient of its own has another name.
    r#"
import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x ** 2
cube = Cube.apply
x = torch.tensor([2.0], requires_grad=True)
cube(x).sum().backward()
assert x.grad.item() == 12.0
"#,
    // What has no name is not kept, and an optimizer's groups are its own.
    r#"
import torch
total = 0
for i in range(2):
    a, _, _ = (1, 2, 3)
    total += a
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)
for g in opt.param_groups:
    g["lr"] *= 0.5
assert total == 2 and opt.param_groups[0]["lr"] == 0.25
"#,
    // What is added to a number may make it a tensor, and what a shape has are integers.
    r#"
import torch
import torch.nn as nn
c = 0
for i in range(3):
    c += torch.tensor(3)
assert (c // 2).item() == 4
class Heads(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.h = h
        self.k = 3
    def forward(self, x):
        B, C = x.shape
        assert self.k / 2 == 1.5 and x.size(0) / self.h == 1.0 and C // self.h == 2
        return x.view(B, self.h, C // self.h)
assert list(Heads(2)(torch.ones(2, 4)).shape) == [2, 2, 2]
"#,
    // A module that is a parameter or an item takes what its class does.
    r#"
import torch
import torch.nn as nn
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2
    def forward(self, x, h=None):
        if h is None:
            return x * 2
        return x * h
def run(model):
    return model(torch.ones(2))
models = [Scaled(), Scaled()]
total = 0
for m in models:
    total += m(torch.ones(1)).item()
assert run(Scaled()).sum() == 4 and [m(torch.ones(1)).item() for m in models] == [2, 2] and total == 4
"#,
    // A parameter is asked what Python takes as true.
    r#"
def mean(xs):
    if not xs:
        return 0
    return sum(xs) / len(xs)
def part(n):
    return 0 if not n else 10 / n
def bit(flag):
    return 1 if flag else 0
def down(a):
    n = 0
    while a:
        a -= 1
        n += 1
    return n
assert mean([]) == 0 and mean([1, 2]) == 1.5 and part(0) == 0 and part(5) == 2
assert bit(True) == 1 and bit([]) == 0 and bit("a") == 1 and bit(0.0) == 0 and down(3) == 3
"#,
];

/// What is written of what a variable is used for.
const WRITTEN: &[(&str, &str)] = &[(
    "import torch\nPATH = \"runs/model.pt\"\ntorch.save({\"a\": torch.ones(2)}, PATH)",
    "let PATH = \"runs/model.safetensors\";",
)];

/// What is lost, and what is said of it.
const MARKED: &[(&str, &str)] = &[
    (
        "class Count:\n    def __init__(self):\n        self.n = 0\n    def step(self):\n        self.n += 1\n        return self.n\n    \
         def all(self):\n        return [self.step() for _ in range(2)]\nprint(Count().all())",
        "// ? what a function within a method changes",
    ),
    (
        "class Count:\n    def __init__(self):\n        self.n = 0\n    def get(self):\n        f = lambda: self.n\n        self.n = 3\n        \
         return f()\nprint(Count().get())",
        "// ? a function within a method has the object",
    ),
];

#[test]
fn a_translated_program_means_what_python_does() {
    let wrong: Vec<String> = SAME.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_may_be_meant_otherwise_is_marked() {
    for (code, want) in MARKED.iter().chain(WRITTEN) {
        let here = super::told("", code).and_then(|hint| super::offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
}
