//! What a translated program keeps of Python's meaning, or says that it loses.

use tensorlab::script::Origin;

use super::{lab, offered, told};

/// Each ends with what holds of it in Python, and nothing in it is marked.
const SAME: &[&str] = &[
    // What is removed from what is not known is a value, and no place.
    r#"
def without(xs, v):
    xs.remove(v)
    return xs
rows = [[5, 3, 1], [2]]
rows[0].remove(5)
assert without([5, 3, 1], 3) == [5, 1] and rows[0] == [3, 1]
"#,
    // An `except` takes what it names, and what it does not goes on outwards, behind what is done at last.
    r#"
class Full(Exception):
    """No room."""
class Broken(Full):
    pass
told = []
def whole(s):
    try:
        return int(s)
    except ValueError:
        return -1
def outer(raised):
    try:
        try:
            raised()
        except ValueError as e:
            return "value"
        finally:
            told.append("last")
    except OverflowError as e:
        return str(e)
    except (TypeError, IndexError) as e:
        return "type"
    except Full as e:
        return type(e).__name__ + str(isinstance(e, Broken))
def key(): raise OverflowError("b")
def kind(): raise TypeError("bad")
def full(): raise Broken("full") from None
def value(): raise ValueError
def place(): return [1][3]
left = [1]
def missing():
    try:
        left.remove(7)
    except ValueError:
        return "missing"
assert whole("x") == -1 and whole("4") == 4 and outer(key) == "b" and outer(kind) == "type"
assert outer(full).lower() == "brokentrue" and outer(value) == "value" and outer(place) == "type"
assert told == ["last", "last", "last", "last", "last"] and missing() == "missing" and left == [1]
"#,
    // One `except` alone takes what it names as well, and a division by zero is one.
    r#"
def turned(x):
    try:
        return 10 // x
    except ZeroDivisionError:
        return -1
assert turned(0) == -1 and turned(3) == 3
"#,
    r#"
def first(xs):
    try:
        return xs[5]
    except ValueError:
        return "bad value"
kind = ""
try:
    first([1, 2])
except IndexError:
    kind = "index"
assert kind == "index"
"#,
    // What stands before `*args` keeps its defaults, and may be given by its name.
    r#"
def lim(a, b=2, *args):
    return [a, b, len(args)]
lim(1)
assert lim(1) == [1, 2, 0] and lim(1, 7, 3, 4) == [1, 7, 2] and lim(1, b=5) == [1, 5, 0]
"#,
    // Values as code, and powers below 0 of integers.
    r#"
name = "it's"
n = 3
shown = f"{name!r} {name=} {n=} {[name]!r} {name!r:>8}|"
assert shown == '"it\'s" name="it\'s" n=3 ["it\'s"]   "it\'s"|'
assert abs(10 ** -3 - 0.001) < 1e-9 and 2 ** -n == 0.125
"#,
    // A function gives back what it changes: an object too, wherever it is called, and where its value is used.
    r#"
class Meter:
    def __init__(self):
        self.n = 0
        self.all = []
    def update(self, v):
        if v > 0: self.n += 1
        self.note(v)
    def note(self, v):
        self.all.append(v)
class Trainer:
    def __init__(self):
        self.meter = Meter()
    def go(self):
        self.meter.update(3)
        fill(self.meter)
        return self.meter.n
def main():
    m, other = Meter(), Meter()
    run(m)
    both(m, other)
    t = Trainer()
    t.go()
    assert m.n == 4 and other.n == 2 and m.all == [0, 1, 2, 0, 1, 2]
    assert t.go() == 22 and t.meter.n == 22
    every = [Meter(), Meter()]
    for x in every:
        run(x)
    for x in every:
        x.update(5)
    assert every[0].n == 3 and every[1].n == 3
def run(meter):
    for i in range(3):
        meter.update(i)
def fill(meter):
    meter.n += 10
def both(a, b):
    run(a)
    if a.n > 100:
        return
    run(b)
def walk(g, node, seen):
    if node in seen:
        return
    seen.append(node)
    for following in g[node]:
        walk(g, following, seen)
seen = []
walk([[1, 2], [2], [0]], 0, seen)
def add(xs, v):
    xs.append(v)
    return xs
xs = []
assert len(add(xs, 1)) == 1 and len(xs) == 1
n = len(add(xs, 2))
add(add(xs, 3), 4)
assert n == 2 and xs == [1, 2, 3, 4] and seen == [0, 1, 2]
def clear(xs):
    xs.clear()
v = clear(xs)
assert v is None and xs == []
main()
"#,
    // What a list of unknown kind is extended by is whatever gives items.
    r#"
def more(out, items):
    out.extend(items)
def some(out):
    out.extend(range(2))
    out.extend("ab")
xs = []
more(xs, [9])
some(xs)
assert xs == [9, 0, 1, "a", "b"]
"#,
    // What a map holds is given by the names that a function has for it.
    r#"
class Net:
    def __init__(self, width, depth=2):
        self.width = width
        self.depth = depth
    def size(self, unit=1):
        return self.width * self.depth * unit
def total(*args, scale=1):
    return sum(args) * scale
def area(w, h=3, new=1):
    return w * h * new
def both(a, *rest, b=1, **more):
    return a + b + len(rest) + len(more)
opts = {"scale": 2}
sizes = {"h": 5, "new": 2}
config = {"width": 4}
assert total(1, 2, **opts) == 6 and total(1, **{"scale": 3}) == 3 and area(2, **sizes) == 20 and area(**{"w": 1}) == 3
assert Net(**config).size(1) == 8 and Net(3, **{"depth": 1}).size(2) == 6
assert both(1, 2, **{"c": 5}) == 4
"#,
    // Layers and networks are modules, and have their own classes.
    r#"
import torch
import torch.nn as nn
from torch.nn import ReLU
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)
    def forward(self, x):
        return self.fc(x)
net, lin = Net(), nn.Linear(1, 1)
assert isinstance(net, nn.Module) and isinstance(lin, torch.nn.Module) and isinstance(nn.Sequential(lin), nn.Module)
assert isinstance(net, Net) and not isinstance(lin, Net) and isinstance(net.fc, nn.Linear)
assert not isinstance(lin, nn.Conv2d) and not isinstance(torch.ones(1), Net) and isinstance(ReLU(), ReLU)
assert [isinstance(m, nn.Module) for m in net.modules()] == [True, True]
"#,
    // Classes with what Python calls where a sign, a bracket or a text stands.
    r#"
class Vec:
    def __init__(self, xs):
        self.xs = xs
    def __len__(self):
        return len(self.xs)
    def __getitem__(self, i):
        return self.xs[i]
    def __setitem__(self, i, v):
        self.xs[i] = v
    def __add__(self, other):
        return Vec([a + b for a, b in zip(self.xs, other.xs)])
    def __eq__(self, other):
        return self.xs == other.xs
    def __contains__(self, x):
        return x in self.xs
    def __repr__(self):
        return f"Vec of {len(self.xs)}"
    @property
    def first(self):
        return self.xs[0]
    def add(self, x, times=1):
        for i in range(times):
            self.xs.append(x)
        return self
def told(x):
    return f"{x} {len(x)}"
v = Vec([1, 2])
v.add(3).add(4)
v.add(5, times=2)
v[0] = 9
w = Vec([1]).add(7)
s = w + Vec([1, 1])
assert len(v) == 6 and v.first == 9 and v[1] == 2 and 4 in v and 8 not in v
assert str(v) == "Vec of 6" and f"{w}!" == "Vec of 2!" and told(v) == "Vec of 6 6" and told([1]).endswith("1")
assert s == Vec([2, 8]) and s != w and len(w + w) == 2
"#,
    // A class that is derived from another, and what a class has itself.
    r#"
class Animal:
    sound = "none"
    count = 0
    def __init__(self, name, legs=4):
        self.name = name
        self.legs = legs
        Animal.count += 1
    def speak(self):
        return self.name + " speaks " + self.sound
    def info(self, end="."):
        return f"{self.name} has {self.legs}{end}"
    @staticmethod
    def twice(x):
        return x * 2
    @classmethod
    def bird(cls, name):
        return cls(name, legs=2)
class Dog(Animal):
    sound = "woof"
    def __init__(self, name):
        super().__init__(name)
        self.tricks = []
    def learn(self, trick):
        self.tricks.append(trick)
        return self
    def info(self, end="!"):
        return "dog " + super().info(end)
class Puppy(Dog):
    def speak(self):
        return super().speak() + " softly"
class Node:
    def __init__(self, v):
        self.v = v
        self.kids = []
    def grow(self, v):
        self.kids.append(Node(v))
    def total(self):
        return self.v + sum([kid.total() for kid in self.kids])
class Config:
    rate = 0.5
def rate():
    return Config.rate
d = Dog("Rex")
d.learn("sit").learn("roll")
p = Puppy("Tiny")
n = Node(1)
n.grow(2)
n.grow(3)
assert d.speak() == "Rex speaks woof" and d.tricks == ["sit", "roll"] and d.info() == "dog Rex has 4!"
assert p.speak() == "Tiny speaks woof softly" and p.info("?") == "dog Tiny has 4?" and p.legs == 4
assert Animal("Cat").speak() == "Cat speaks none" and Animal.bird("Tweety").legs == 2 and Animal.twice(4) == 8
assert Animal.count == 4 and n.total() == 6 and rate() == 0.5
assert isinstance(p, Dog) and isinstance(p, Animal) and not isinstance(d, Puppy) and not isinstance(3, Dog)
"#,
    // None is shown, and a text is shown in its quotes where it is asked for so.
    r#"
def told(x=None):
    return f"{x} and {None}"
best = None
d = {"a": 1}
name = "b"
shown = f"{best} {d.get('q')} {d.get('a')} {name!r} {3!r} {None!r}"
best = 2
q, r = divmod(17, 5)
assert shown == "None None 1 'b' 3 None" and told() == "None and None" and told(2) == "2 and None"
assert f"{best}" == "2" and "{!r}!".format(name) == "'b'!" and "%r" % name == "'b'" and q == 3 and r == 2
"#,
];

/// What would differ in silence has a line before it that says so.
const MARKED: &[(&str, &str)] = &[
    ("def own(xs):\n    return xs\nown([3, 2]).remove(3)", "// ? `own([3, 2])` is a copy"),
    (
        "class Bag:\n    def __init__(self):\n        self.n = 0\n    def remove(self, k):\n        self.n -= k\ndef f(b):\n    \
         return b.remove(1)\nprint(f([1]))",
        "// ? `b` may be a list",
    ),
    (
        "class M:\n    def __init__(self):\n        self.n = 0\n    def up(self):\n        self.n += 1\nclass T:\n    def go(self, m):\n        \
         m.up()\nm = M()\nT().go(m)\nprint(m.n)",
        "// ? `m` is a copy: what changes in it here is lost",
    ),
    (
        "try:\n    raise KeyError(\"b\")\nexcept KeyError as e:\n    print(e)",
        "#{kind: \"KeyError\", message: \"'b'\"}",
    ),
    ("a = [1, 2]\nb = a\nb.append(3)\nprint(a, b)", "// ? `b` is a copy of `a`"),
    ("a = {\"k\": 1}\nb = a\na[\"k\"] = 3\nprint(b)", "// ? `b` is a copy of `a`"),
    ("a = b = []\nb.append(3)\nprint(a)", "// ? `a` is a copy of `b`"),
    ("def f(xs):\n    ys = xs\n    ys.append(3)\nf([])", "// ? `ys` is a copy of `xs`"),
    (
        "rows = [[1], [2]]\nrow = rows[0]\nrow.append(1)\nprint(rows)",
        "// ? `row` is a copy of what `rows` has",
    ),
    (
        "def add(xs):\n    xs.append(1)\n    return xs\na = []\nb = add(a)\nb.append(2)\nprint(a)",
        "// ? `b` is a copy of `a`",
    ),
    (
        "best = []\nfor i in range(3):\n    cur = best\n    cur.append(i)\nprint(best)",
        "// ? `cur` is a copy of `best`",
    ),
    ("grid = [[0] * 2] * 2\ngrid[0][0] = 1\nprint(grid)", "// ? `grid` has one item several times"),
    (
        "class Bag:\n    def __init__(self):\n        self.all = []\n    def add(self, x):\n        self.all.append(x)\nbag = Bag()\n\
         other = bag\nother.add(1)\nprint(bag.all)",
        "// ? `other` is a copy of `bag`",
    ),
    (
        "class Node:\n    def __init__(self, v):\n        self.v = v\n        self.next = None\nhead = Node(1)\ncur = head\n\
         cur.next = Node(2)\nprint(head.next.v)",
        "// ? `cur` is a copy of `head`",
    ),
    (
        "class Bag:\n    def __init__(self):\n        self.n = 0\n    def add(self):\n        self.n += 1\nbag = Bag()\n\
         every = [bag]\nbag.add()\nprint(every[0].n)",
        "// ? `bag` is copied into what has it",
    ),
    (
        "d = {\"b\": 1, \"a\": 2}\nfor k, v in d.items():\n    print(k, v)",
        "// ? a map goes through its names",
    ),
    ("d = {\"b\": 1, \"a\": 2}\nprint(d)", "// ? a map goes through its names"),
    (
        "counts = {}\nfor w in [\"b\", \"a\"]:\n    counts[w] = 1\nout = []\nfor w in counts:\n    out.append(w)",
        "// ? a map goes through its names",
    ),
    ("names = [\"a\"]\nfor n in names:\n    print(f\"{n!r}\")", "print(`${repr(n)}`)"),
    ("def f(x):\n    return \"{!r}\".format(x) + \"%r\" % x", "return `${repr(x)}` + `${repr(x)}`"),
    ("for i in range(3):\n    print(i, end=\" \")\nprint()", "print(i, #{end: \" \"});"),
    ("xs = [1, 2]\nprint(*xs, sep=\"-\", end=\"!\")\nprint(end=\"\")", "print(\"\", #{end: \"\"})"),
];

/// What is wrong with the translation of a program, if anything.
pub(super) fn trouble(code: &str) -> Option<String> {
    let hint = told("", code).unwrap_or_default();
    let Some(here) = offered(&hint) else { return Some(format!("{code}\nis answered with {hint:?}")) };
    if here.contains("// ?") {
        return Some(format!("{here}\nis not all known"));
    }
    let ended = lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 });
    ended.err().map(|error| format!("{here}\nfails: {error:?}"))
}

#[test]
fn a_translated_program_does_what_python_does() {
    let wrong: Vec<String> = SAME.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A second name is nothing to tell of where nothing is changed by one that is read by the other.
#[test]
fn what_a_translation_keeps_is_not_marked() {
    for code in [
        "a = [1, 2]\nb = a\nprint(a, b)",
        "a = [1, 2]\nb = a\nb = [3]\nb.append(4)\nprint(a, b)",
        "a = [1, 2]\nb = a\nb.append(4)\nprint(b)",
        "prev = [1]\nfor i in range(3):\n    cur = []\n    for p in prev:\n        cur.append(p + i)\n    prev = cur\nprint(prev)",
        "import torch\nx = torch.ones(3)\ny = x\ny[0] = 5\nprint(x)",
        "a, b = 1, 2\nwhile b < 50:\n    c = b\n    b = a + b\n    a = c\nprint(a)",
        "grid = [[0] * 2] * 2\nprint(grid[0][0])",
        "d = {\"a\": 1, \"b\": 2}\nfor k, v in d.items():\n    print(k, v)",
        "d = {\"b\": 1, \"a\": 2}\nt = 0\nfor v in d.values():\n    t += v\nprint(t, len(d), sorted(d))",
        "def last(xs):\n    top = xs[0]\n    for x in xs:\n        if x > top:\n            top = x\n    return top\nprint(last([1, 3]))",
    ] {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(!here.is_empty() && !here.contains("// ?"), "{code}: {here}");
    }
}

#[test]
fn what_a_translation_loses_is_marked() {
    for (code, want) in MARKED {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
}
