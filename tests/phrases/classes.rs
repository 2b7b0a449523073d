//! What programs ask objects for, generators, and what fails in Python alone.

use super::faithful::trouble;
use super::{offered, told};

const SAME: &[&str] = &[
    // An object has its class's name, and a class knows what it is derived from.
    r#"
class Animal:
    def __init__(self, name):
        self.name = name
    def kind(self):
        return type(self).__name__
class Dog(Animal):
    pass
class Puppy(Dog):
    pass
def told(x):
    return type(x).__name__ + "!"
d = Dog("rex")
assert type(d).__name__ == "Dog" and type(d) is Dog and not type(d) == Animal and d.kind() == "Dog"
assert d.__class__.__name__ == "Dog" and told(d) == "Dog!" and Puppy("x").kind() == "Puppy"
shown = f"{type(d).__name__}"
assert shown == "Dog"
assert issubclass(Puppy, Animal) and not issubclass(Animal, Dog) and isinstance(Puppy("p"), Dog)
"#,
    // A generator that ends gives its values at once.
    r#"
def countdown(n):
    while n > 0:
        yield n
        n -= 1
def evens(xs):
    for x in xs:
        if x > 100:
            return
        if x % 2 == 0:
            yield x
def both(a, b):
    yield from a
    yield from b
def chunks(xs, n):
    for i in range(0, len(xs), n):
        yield xs[i:i + n]
out = []
for i in countdown(3):
    out.append(i)
assert out == [3, 2, 1] and list(evens(range(7))) == [0, 2, 4, 6] and list(evens([2, 101, 4])) == [2]
assert list(both([1], [2])) == [1, 2] and sum(countdown(4)) == 10
assert [len(c) for c in chunks([1, 2, 3, 4, 5], 2)] == [2, 2, 1]
"#,
    // What gives a value here where Python fails.
    r#"
xs, empty, told = [1, 2], [], []
try:
    told.append(xs.index(7))
except ValueError:
    told.append("missing")
try:
    empty.pop()
    told.append("popped")
except IndexError:
    told.append("empty")
assert told == ["missing", "empty"] and xs.index(2) == 1
"#,
    // A parameter that is given tensors alone.
    r#"
import torch
def half(v):
    return v // 2
assert half(torch.tensor([5, -3])).tolist() == [2, -2]
"#,
    // A function without parameters among arguments, and a text that a parameter has.
    r#"
def run(f):
    return f()
def caesar(s, k):
    out = ""
    for ch in s:
        if ch.isalpha():
            out += chr((ord(ch) - ord("a") + k) % 26 + ord("a"))
        else:
            out += ch
    return out
assert run(lambda: 5) == 5 and caesar("abc xyz", 3) == "def abc"
"#,
];

/// What has no end, or is asked for one value, is no array.
const MARKED: &[(&str, &str)] = &[
    ("def all():\n    n = 0\n    while True:\n        yield n\n        n += 1\nprint(1)", "// ? yield n"),
    ("def two():\n    yield 1\n    yield 2\ng = two()\nprint(next(g), next(g))", "// ? yield 1"),
    (
        "from collections import deque\nq = [deque(maxlen=3)]\nq[0].append(1)\nprint(len(q))",
        "// ? `maxlen` falls away",
    ),
];

#[test]
fn objects_and_generators_are_what_python_has() {
    let wrong: Vec<String> = SAME.iter().filter_map(|code| trouble(code)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_generator_that_is_no_array_stays_unknown() {
    for (code, want) in MARKED {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
}
