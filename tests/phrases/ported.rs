//! Lines of programs that were ported: what is written for them has names that there are, and runs.

use super::{lab, offered, told};
use tensorlab::script::Origin;

/// What stands before, a line that fails, and a part of what is offered for it.
const LINES: &[(&str, &str, &str)] = &[
    (
        "let f = |x| [x, x + 1];",
        "for i in 0..2 {\n let (y, h) = f.call(3);\n let h = h + 1;\n print(h); }",
        "let h = parts[1];",
    ),
    ("let a = 1; let b = 2;", "let (a, b) = (b, a);", "let b = parts[1];"),
    ("", "q = deque(maxlen=2)\nq.append(1)\nq.popleft()", "if q.len() > 2 { q.remove(0); }"),
    ("", "let q = deque();", "let q = [];"),
    ("", "q = deque([1, 2], 2)\nq.extend([3, 4])\nassert q[0] == 3", "while q.len() > 2 { q.remove(0); }"),
    ("", "let r = random.sample([1, 2, 3], 2);", "randperm([1, 2, 3].len())"),
    ("let memory = [1, 2, 3];", "b = random.sample(memory, 2)\nassert len(b) == 2", "memory[x]"),
    ("", "import numpy as np\na = np.random.choice(3)\nassert a < 3", "randint(0, 3, [1]).item()"),
    ("", "let a = np.random.choice(3);", "let a = randint(0, 3, [1]).item();"),
    ("", "import numpy as np\nxs = [5, 6]\na = np.random.choice(xs, size=2, replace=False)", "xs[i]"),
    ("", "import numpy as np\na = np.random.choice(2, p=[0.0, 1.0])\nassert a == 1", "multinomial("),
    ("", "import numpy as np\nb = np.random.permutation(4)", "let b = randperm(4);"),
    ("", "import numpy as np\nb = np.random.randint(4, size=3)", "let b = randint(0, 4, [3]);"),
    ("", "import numpy as np\nb = np.random.normal(0, 1, size=(2, 3))", "randn(2, 3)"),
    ("", "d = defaultdict(list)\nd[\"a\"].append(1)", "let d = #{};"),
    ("", "let d = defaultdict(list);", "let d = #{};"),
    ("", "n = Counter(\"abca\")\nassert n[\"a\"] == 2", "list(\"abca\")"),
    ("", "ps = itertools.product([1], [2, 3])\nassert len(ps) == 2", "[x, text]"),
    (
        "let d = ones(2, #{requires_grad: true}); let x = d * 2;",
        "g = torch.autograd.grad(outputs=x, inputs=d, grad_outputs=torch.ones(2), create_graph=True, only_inputs=True)[0]",
        "create_graph: true})[0]",
    ),
    (
        "",
        "import torch\n@torch.no_grad()\ndef g(x, k=None):\n    if k is None:\n        k = 1\n    return x + k\n\
         assert g(torch.ones(2)).sum() == 4",
        "fn g(x) { g(x, ()) }",
    ),
    (
        "",
        "Transition = namedtuple('Transition', ('state', 'action'))\nclass ReplayMemory(object):\n\n    \
         def __init__(self, capacity):\n        self.memory = deque([], maxlen=capacity)\n\n    \
         def push(self, *args):\n        \"\"\"Save a transition\"\"\"\n        \
         self.memory.append(Transition(*args))\n\n    def sample(self, batch_size):\n        \
         return random.sample(self.memory, batch_size)\n\n    def __len__(self):\n        \
         return len(self.memory)\nm = ReplayMemory(2)\nfor i in range(3):\n    m.push(i, i + 1)\n\
         assert len(m) == 2 and m.memory[0].state == 1 and len(m.sample(2)) == 2\nrows = m.sample(2)\n\
         batch = Transition(*zip(*rows))\nassert sum(batch.action) == 5",
        "#{state: state, action: action}",
    ),
];

/// What is told where nothing can be offered.
const TOLD: &[(&str, &str, &str)] = &[
    (
        "let net = nn::Linear(1, 1);",
        "y = torch.func.functional_call(net, {}, torch.ones(1, 1))",
        "`F::linear(x, ws[0], ws[1])`",
    ),
    ("let net = nn::Linear(1, 1);", "let y = func::functional_call(net, #{}, ones(1, 1));", "`F::linear("),
    (
        "let data = arange(9); let i = tensor(3);",
        "let x = data[i..i + 2];",
        "`ix.tolist()` those of a tensor of places: `i.item()..i.item() + 2`",
    ),
    ("", "plot::plot([1, 2]);", "`plot::line`"),
    ("fn f(m) { m }", "let m = #{a: 1};\nfor key in m { f(key); }", "for key in m.keys()"),
    ("let lr = 1;", "let o = #{lr, k: 1};", "`lr: lr`"),
    (
        "",
        "class Bag(object):\n    def __init__(self, *args):\n        self.n = len(args)\n    def f(self):\n        return 1",
        "`def __init__(self, *args):` is the line",
    ),
];

/// What is wrong with what is offered for a line, if anything.
fn trouble((given, code, want): &(&str, &str, &str)) -> Option<String> {
    let hint = told(given, code).unwrap_or_default();
    let Some(here) = offered(&hint).filter(|here| here.contains(want)) else {
        return Some(format!("{code}\n  is told: {hint}"));
    };
    let mut lab = lab();
    let _ = lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    // A name that nothing has is an error here.
    let ran = lab.evaluate(2, &Origin { name: "test", code: &here, first_line: 1 });
    ran.err().map(|error| format!("{code}\n  is offered: {here}\n  which fails: {error:?}"))
}

#[test]
fn what_is_offered_for_them_has_names_that_there_are() {
    let wrong: Vec<String> = LINES.iter().filter_map(trouble).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_has_no_line_here_is_told() {
    let hint = |given: &str, code: &str| told(given, code).unwrap_or_default();
    let wrong: Vec<String> = TOLD
        .iter()
        .filter(|(given, code, want)| !hint(given, code).contains(want))
        .map(|(given, code, _)| format!("{code}\n  is told: {}", hint(given, code)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
