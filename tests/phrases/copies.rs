//! Second names through containers, constructors and defaults: what is a copy here is marked where that shows, and only there.

use super::{offered, told};

const MARKED: &[(&str, &str)] = &[
    (
        "rows = []\nrow = [1]\nrows.append(row)\nrow.append(2)\nprint(rows)",
        "// ? `row` is copied into what has it",
    ),
    ("d = {}\nrow = [1]\nd[\"x\"] = row\nrow.append(2)\nprint(d)", "// ? `row` is copied into what has it"),
    ("row = [1]\nrows = [row] * 3\nrow.append(2)\nprint(rows)", "// ? `row` is copied into what has it"),
    ("a, b = [1], [2]\nboth = [a, b]\nb.append(3)\nprint(both)", "// ? `b` is copied into what has it"),
    (
        "class P:\n    def __init__(self, x):\n        self.x = x\nps = []\nq = P(3)\nps.append(q)\nq.x = 30\nprint(ps[0].x)",
        "// ? `q` is copied into what has it",
    ),
    ("a = [[1], [2]]\nb = a[:]\nb[0].append(5)\nprint(a)", "// ? `b` has copies of the lists in `a`"),
    ("a = [[1], [2]]\nb = list(a)\na[0][0] = 5\nprint(b)", "// ? `b` has copies of the lists in `a`"),
    (
        "def add(x, acc=[]):\n    acc.append(x)\n    return acc\nprint(add(1), add(2))",
        "// ? `acc` begins anew with each call",
    ),
    (
        "class Dog:\n    tricks = []\n    def teach(self, t):\n        self.tricks.append(t)\na, b = Dog(), Dog()\na.teach(\"sit\")\n\
         print(b.tricks)",
        "// ? each object has `tricks` of its own",
    ),
];

/// Nothing is changed that is elsewhere too.
const PLAIN: &[&str] = &[
    "rows = []\nfor i in range(3):\n    row = []\n    for j in range(2):\n        row.append(i * j)\n    rows.append(row)\nprint(rows)",
    "rows = []\nrow = [1]\nrows.append(row)\nrow = [2]\nrow.append(3)\nprint(rows, row)",
    "seen = []\np = (0, 1)\nseen.append(p)\np = (1, 1)\nprint(seen, p)",
    "import torch\nxs = []\nx = torch.ones(2)\nxs.append(x)\nx[0] = 5\nprint(xs[0].tolist())",
    "a = [[1], [2]]\nb = a[:]\nb.append([3])\nprint(a, b)",
    "a = [1, 2]\nb = a[:]\nb[0] = 5\nprint(a, b)",
    "def total(xs=[]):\n    n = 0\n    for x in xs:\n        n += x\n    return n\nprint(total(), total([1, 2]))",
    "class Dog:\n    sounds = [\"woof\"]\n    def speak(self):\n        return self.sounds[0]\nprint(Dog().speak())",
    "class Dog:\n    tricks = []\n    def __init__(self):\n        self.tricks = []\n    def teach(self, t):\n        \
     self.tricks.append(t)\nd = Dog()\nd.teach(\"sit\")\nprint(d.tricks)",
    "path, all = [1], []\nall.append(path[:])\npath.append(2)\nprint(all, path)",
];

#[test]
fn what_is_copied_into_something_else_is_marked_where_it_shows() {
    for (code, want) in MARKED {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
    for code in PLAIN {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(!here.is_empty() && !here.contains("// ?"), "{code}: {here}");
    }
}
