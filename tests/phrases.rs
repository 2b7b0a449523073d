//! The phrase book: what Python would take is answered with the line rewritten, and what is answered runs.

mod classes;
mod collections;
mod copies;
mod faithful;
mod meant;
mod pasted;
mod ported;

use std::sync::{Arc, Mutex};

use tensorlab::device::{Machine, Use};
use tensorlab::plot::Figure;
use tensorlab::script::engine::Stopped;
use tensorlab::script::phrases::book::{BOOK, Idiom, Phrase};
use tensorlab::script::{Host, Interpreter, Limits, Origin, Silent};

fn lab() -> Interpreter {
    let machine = Machine::open(&"cpu".parse().unwrap(), Use::Headless).unwrap().machine;
    Interpreter::new(machine, Arc::new(Silent), &Limits::default())
}

/// What a cell ends with after another: the hint of its error, which may be empty, or nothing where it ran.
fn told(given: &str, code: &str) -> Option<String> {
    let mut lab = lab();
    let _ = lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    match lab.evaluate(2, &Origin { name: "test", code, first_line: 1 }) {
        Ok(_) => None,
        Err(Stopped::Fault(fault)) => Some(fault.hint.unwrap_or_default()),
        Err(other) => panic!("{code}: {other:?}"),
    }
}

/// The code that a hint offers.
fn offered(hint: &str) -> Option<String> {
    if let Some((_, lines)) = hint.split_once(":\n") {
        return Some(
            lines
                .lines()
                .map(|line| line.strip_prefix("    ").unwrap_or(line))
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    let (_, code) =
        hint.rsplit_once(": `").filter(|_| !hint.contains("`` ")).or_else(|| hint.split_once(": `` "))?;
    Some(code.trim_end_matches('`').trim_end().to_owned())
}

/// What is wrong with the answer to a phrase, if anything.
fn trouble(phrase: &Phrase) -> Option<String> {
    let Phrase { given, python, rhai, .. } = phrase;
    let Some(hint) = told(given, python) else { return Some(format!("{python:?} is no error")) };
    if rhai.is_empty() {
        return hint.is_empty().then(|| format!("{python:?} is not answered"));
    }
    if !hint.contains(rhai) {
        return Some(format!("{python:?}: {hint:?}, not {rhai:?}"));
    }
    let Some(code) = offered(&hint) else { return Some(format!("{python:?}: {hint:?} offers no code")) };
    let mut lab = lab();
    let _ = lab.evaluate(1, &Origin { name: "given", code: given, first_line: 1 }).expect(given);
    match lab.evaluate(2, &Origin { name: "test", code: &code, first_line: 1 }) {
        Ok(_) => None,
        Err(_) if phrase.idiom == Idiom::Raise => None,
        Err(error) => Some(format!("{python:?}: {code:?} fails: {error:?}")),
    }
}

#[test]
fn every_phrase_is_answered_with_a_line_that_runs() {
    let wrong: Vec<String> = BOOK.iter().filter_map(trouble).collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), BOOK.len(), wrong.join("\n"));
}

/// What a newcomer writes who has only ever seen Python.
const PROGRAMS: &[&str] = &[
    "import torch\nimport torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self, hidden=8):\n        \
     super().__init__()\n        self.fc1 = nn.Linear(4, hidden)\n        self.fc2 = nn.Linear(hidden, 2)\n\n    \
     def forward(self, x):\n        x = torch.relu(self.fc1(x))\n        return self.fc2(x)\n\n\
     device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nnet = Net().to(device)\n\
     opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\ncriterion = nn.CrossEntropyLoss()\n\
     x = torch.randn(8, 4, device=device)\ny = torch.randint(0, 2, (8,), device=device)\n\
     for epoch in range(3):\n    opt.zero_grad()\n    loss = criterion(net(x), y)\n    loss.backward()\n    \
     opt.step()\n    if epoch % 2 == 0:\n        print(f\"epoch {epoch}: {loss.item():.4f}\")\n\
     with torch.no_grad():\n    acc = (net(x).argmax(dim=1) == y).float().mean()\nassert acc.item() >= 0",
    "x = 5\nwhile x > 0:\n    x -= 1\n    if x == 2:\n        break\n    elif x == 3:\n        continue\n    \
     else:\n        pass\nprint(\"done\", x)",
    "try:\n    y = torch.ones(2) @ torch.ones(3)\nexcept RuntimeError as e:\n    print(\"caught\", e)\n\
     finally:\n    print('end')",
    "xs = [i**2 for i in range(5) if i % 2 == 0]\nd = {\"lr\": 0.1, 'bs': 32}\nfor k, v in d.items():\n    \
     print(k, v)\nprint(len(xs), sum(xs), max(xs))",
    "net = nn.Sequential(\n    nn.Linear(4, 8),\n    nn.ReLU(),\n)\nprint(net(torch.ones(1, 4)).shape)",
    "loader = DataLoader(TensorDataset(torch.arange(6), torch.arange(6)), batch_size=2, shuffle=False)\n\
     for i, (x, y) in enumerate(loader):\n    print(i, x.sum().item())",
    "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\nassert fact(5) == 120",
    "x = torch.tensor([1., 2.], requires_grad=True)\ny = (x ** 2).sum()\ny.backward()\nprint(x.grad)",
    "let x = 3\nlet y = 4\nprint(x + y)",
    "def doubled(xs):\n    return [x * 2 for x in xs]\nassert doubled([1, 2])[1] == 4",
    "for i in range(2)\n    print(i)",
    "cache = {}\ndef keep(k, v=0):\n    cache[k] = v\n    return v\nkeep('a')\nkeep('b', 2)",
    "for v in [1, 2]:\n    loss = v\nassert f\"{loss}\" == \"2\"",
    "def fit(model, loader):\n    for epoch in range(2):\n        for i, (x, y) in enumerate(loader):\n            \
     loss = F.mse_loss(model(x), y)\n        print(f\"epoch {epoch}: loss {loss.item():.4f} of {i + 1}\")\n\
     data = TensorDataset(torch.ones(4, 2), torch.ones(4, 1))\nfit(nn.Linear(2, 1), DataLoader(data, batch_size=2))",
    "for i in range(3):\n    print(i)\nfor i in range(2):\n    print(i)\nassert i == 1",
    "lr = 0.5\ndef show():\n    return f\"{lr}\"\nassert show() == \"0.5\"",
    "@torch.no_grad()\ndef evaluate(m, v): return m(v)\nevaluate(nn.Linear(2, 1), torch.ones(1, 2))",
    "def twice(f, x):\n    return f(f(x))\nassert twice(lambda x: x + 1, 1) == 3",
    "case = 1\nnew = case + 1\nassert f\"{new}\" == \"2\"",
    "out = 0\ntry:\n    y = 1 / 0\nexcept ZeroDivisionError:\n    out = 1\nassert out == 1",
    "d = {v: v * 2 for v in [1, 2] if v > 1}\nassert len(d) == 1\ns = {v % 2 for v in [1, 2, 3]}\nassert len(s) == 2",
    "first, *rest = [1, 2, 3]\n*init, last = [1, 2, 3]\nassert len(rest) == 2 and len(init) == 2 and first + last == 4",
    "def count(n, *args, **kwargs):\n    return n + len(args) + len(kwargs)\nassert count(1, 2, 3, a=1) == 4 and count(1) == 1",
    "hist = []\nhist.append((1, 0.5))\nhist.append([5, 6])\nassert len(hist) == 2\ns = \" hello \"\n\
     out = s.strip().replace(\"l\", \"r\")\nassert out == \"herro\" and s == \" hello \"\nxs = [5, 6, 1]\nxs.remove(1)\nassert len(xs) == 2 and xs[1] == 6",
    "class Net(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        self.d = d\n        \
     self.fc = nn.Linear(self.d, 2)\n    def forward(self, x):\n        return self.fc(x)\n\
     assert Net(3)(torch.ones(1, 3)).shape[1] == 2",
    "class Net(nn.Module):\n    def __init__(self):\n        torch.nn.Module.__init__(self)\n        \
     self.register_buffer(\"m\", torch.zeros(2))\n        self.layers = nn.ModuleList()\n        \
     for i in range(2):\n            self.layers.append(nn.Linear(2, 2))\n        \
     nn.init.zeros_(self.layers[0].bias)\n    def forward(self, x, mask=None):\n        for l in self.layers:\n            \
     x = l(x)\n        if mask is not None:\n            x = x * mask\n        return x + self.m\nnet = Net()\n\
     assert net(torch.ones(1, 2)).numel() == 2 and net(torch.ones(1, 2), mask=torch.zeros(2)).sum().item() == 0",
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
     self.encoder = nn.Linear(2, 2)\n        self.fc = nn.Linear(2, 2)\n        self.fc.weight.data.normal_()\n        \
     for p in self.encoder.parameters():\n            p.requires_grad = False\n        if True:\n            \
     self.head = nn.Linear(2, 1)\n        self.n = sum(p.numel() for p in self.parameters())\n        \
     self.apply(self._init_weights)\n    def _init_weights(self, m):\n        if isinstance(m, nn.Linear):\n            \
     nn.init.ones_(m.bias)\n    def forward(self, x):\n        return self.head(self.fc(self.encoder(x)))\n    \
     def predict(self, x):\n        return self(x) > 0\nnet = Net()\nassert net(torch.ones(1, 2)).numel() == 1\n\
     assert net.n == 15 and net.fc.bias.sum().item() == 2 and net.predict(torch.ones(1, 2)).numel() == 1",
    "class Rows(Dataset):\n    def __init__(self, n):\n        self.x = torch.arange(n)\n    def __len__(self):\n        \
     return len(self.x)\n    def __getitem__(self, i):\n        return self.x[i], self.x[i] * 2\nrows = Rows(4)\n\
     for x, y in DataLoader(rows, batch_size=2):\n    assert y[1].item() == 2 * x[1].item()\nassert len(rows) == 4",
    "def step(x, y):\n    opt.zero_grad()\n    loss = loss_fn(net(x), y)\n    loss.backward()\n    opt.step()\n    \
     return loss.item()\ndef fit(n):\n    for i in range(n):\n        last = step(x, y)\n    return last\n\
     net = nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nloss_fn = nn.MSELoss()\n\
     x, y = torch.ones(1, 2), torch.ones(1, 1)\nassert fit(3) >= 0.0",
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.part = Part()\n    \
     def forward(self, x):\n        return self.part(x)\nclass Part(nn.Module):\n    def __init__(self):\n        \
     super().__init__()\n        self.fc = nn.Linear(2, 2)\n    def forward(self, x, k=1):\n        return self.fc(x) * k\n\
     assert Net()(torch.ones(1, 2)).numel() == 2",
    "class Rows(Dataset):\n    def __init__(self, n, transform=None):\n        self.x = torch.ones(n, 3)\n        \
     self.transform = transform\n    def __len__(self):\n        return self.x.shape[0]\n    def __getitem__(self, i):\n        \
     x = self.x[i]\n        if self.transform:\n            x = self.transform(x)\n        return x, i\n\
     assert Rows(2)[1][1] == 1 and Rows(2, lambda v: v + 1)[0][0].sum().item() == 6",
    "@torch.no_grad()\ndef hits(loader):\n    n = 0\n    for x, y in loader:\n        \
     n += (net(x).argmax(1) == y).sum().item()\n    return n\nnet = nn.Linear(2, 2)\n\
     assert hits([(torch.ones(1, 2), torch.tensor([1]))]) < 2",
    "import random\nxs = list(range(5))\nrandom.shuffle(xs)\nassert sum(xs) == 10 and random.randint(1, 3) < 4\n\
     def steps(sizes):\n    n = 0\n    for a, b in zip(sizes[:-1], sizes[1:]):\n        n += b - a\n    return n\n\
     assert steps([1, 2, 4]) == 3",
    "best = float(\"inf\")\nfor epoch in range(3):\n    val = torch.ones(1).item() / (epoch + 1)\n    if val < best:\n        \
     best = val\nassert best < 0.5",
    "n = 10\nout = 0\nwhile n > 0:\n    n -= 3\n    if n == 4:\n        for i in range(3):\n            \
     if i == 1:\n                break\n        break\nelse:\n    out = 1\nassert out == 0 and n == 4\n\
     for i in [1, 2]:\n    pass\nelse:\n    out = 2\nassert out == 2",
    "out = 0\ntry:\n    try:\n        y = 1 / 0\n    finally:\n        out = 1\nexcept ZeroDivisionError:\n    out = out + 1\n\
     assert out == 2",
    "id2label = {0: \"a\"}\nid2label[3] = \"b\"\ni = 3\nassert id2label[i] == \"b\" and id2label[0] == \"a\"\n\
     stoi = {\"a\": 0, \"b\": 1}\nassert sum([stoi[c] for c in \"bab\"]) == 2 and len(set(\"hello\")) == 4\nn = 0\n\
     for c in \"ab\":\n    n += stoi[c]\nassert n == 1 and max([\"a\", \"bb\"], key=len) == \"bb\"",
    "xs = [[[1, 2], 3]]\nn = 0\nfor (a, b), c in xs:\n    n += a + b + c\nassert n == 6\nx = torch.zeros(3, 3)\ny = torch.ones(3)\n\
     x[1, :] += 10\nx[0, 0] *= 2\nx[:, 0] -= y\nx[..., -1] = 5\nassert x.sum().item() == 32\n\
     assert \"ab\".capitalize() == \"Ab\" and \"a b\".title() == \"A B\" and \"12\".isdigit() and not \"1a\".isdigit()\n\
     assert \"7\".zfill(3) == \"007\" and \"a\".rjust(2) == \" a\" and len(\"a\\nb\".splitlines()) == 2 and \"aba\".count(\"a\") == 2",
    "x = 3\nout = 0\nif type(x) is int and type(x) != str:\n    out = 1\nassert out == 1 and isinstance(x, (int, float))\n\
     assert torch.Tensor([1, 2]).dtype == torch.float32 and torch.LongTensor(3).numel() == 3",
    "n = -7\nm = 3 - 10\nassert n // 2 == -4 and m // 2 == -4\nn //= 2\nassert n == -4\nassert 2048 / 1024**2 < 1",
    "found = []\nx = 3\ns = \"\"\nout = found if found else [1]\nodd = \"odd\" if x % 2 else \"even\"\n\
     assert len(out) == 1 and odd == \"odd\"\nif not found and x and not s:\n    x = 0\nassert x == 0",
    "xs = [1, 2, 1]\nx = 1\nassert xs.count(x) == 2 and \"a1b1\".count(\"1\") == 2\n\
     from tqdm import tqdm\nn = 0\nfor v in tqdm(xs, desc=\"go\"):\n    n += v\nassert n == 4",
    "loader = DataLoader(TensorDataset(torch.arange(4)), batch_size=2)\nn = 0\nfor (x,) in loader:\n    n += x.sum().item()\n\
     for i, (x,) in enumerate(loader):\n    n += i\nassert n == 7\nassert [len(x) for (x,) in [[[1, 2]]]][0] == 2",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label=\"a\")\nplt.xlabel(\"epoch\")\nplt.title('t')\n\
     plt.legend()\nplt.grid(True)\nplt.show()",
    "def limit():\n    return best * 2\nbest: int = 3\nassert limit() == 6",
    "x = torch.arange(4)\nn = 0\nfor part in x.split(2):\n    n += part.numel()\nassert n == 4 and len(os.path.join(\"a\", \"b\", \"c\")) == 5",
    "from random import randint\nassert 0 < randint(1, 3) < 4\nlogging.info(\"%d of %d\", 1, 2)\nx = np.random.rand(2, 3, 4)\nassert x.numel() == 24",
    "a, b = 1, 2\na, b = b, a\nx = torch.zeros(2, 3)\nx[0, 1] = a\nx[:, 0] = b\nprint(x[..., 0], x[1:], x[None].shape)",
    "def f(n):\n    return n + 1\nassert f(5) == 6",
    "loss = (torch.ones(3) * 0.25).sum()\nassert f\"{loss:.4f} {loss}\" == \"0.7500 0.75\" and \"{:.1f}\\t{}\".format(2, loss) == \"2.0\\t0.75\"\n\
     assert len(f\"\\n`{loss}`\\tx\") == 9 and f\"${loss:.1f}{{}}\" == \"$0.8{}\"\nacc, w = 0.256, 8\n\
     assert f\"{acc:.2%} {acc:.0f} {2.0:.3f} {12345:,} {7:03d} {'a':>3}|{'b':<3}|{acc:.2e} {acc:g}\" == \"25.60% 0 2.000 12,345 007   a|b  |2.56e-01 0.256\"\n\
     assert f\"{acc:{w}.{2}f}|\" == \"    0.26|\" and \"%d %5.2f %-4s|%03d\" % (20.7, acc, \"ab\", 7) == \"20  0.26 ab  |007\"",
    "t = torch.tensor([7, -7])\nassert (t // 2).dtype == torch.int64 and (t // 2)[1].item() == -4\nx = torch.ones(3, 4)\n\
     d = x.size(0) // 2\ne = x.shape[1] // 3\nassert d == 1 and e == 1 and float(x.sum()) == 12.0\ndef total(v):\n    return int(v.sum())\n\
     assert total(x) == 12",
    "xs = [1, 0, 2]\nassert len([x for x in xs if x]) == 2 and sum(1 for x in [1, 0, 2] if x) == 2 and any([0, 5]) and not all([1, 0])\n\
     assert len([s for s in [\"\", \"b\"] if s]) == 1 and len(list(filter(None, xs))) == 2\ndef name(items, called=None):\n    \
     return called or \"default\"\nassert name(xs) == \"default\" and name(xs, \"n\") == \"n\" and name(xs, \"\") == \"default\"\na = []\nb = a or [5]\n\
     assert b[0] == 5 and (len(xs) and xs[0]) == 1",
    "said = \"\"\ntry:\n    raise ValueError(\"bad value %d\" % 3)\nexcept ValueError as e:\n    said = f\"{e}\"\n    print(\"caught\", e)\n\
     assert said == \"bad value 3\"\ntry:\n    int(\"abc\")\nexcept TypeError:\n    said = \"type\"\nexcept ValueError as e:\n    said = \"value\"\n\
     assert said == \"value\"\ntry:\n    raise MyError(\"mine\")\nexcept Exception as e:\n    said = str(e)\nassert said == \"mine\"",
    "import torch.distributed as dist\nimport torch.multiprocessing as mp\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
     def work(rank, size):\n    os.environ['MASTER_ADDR'] = 'localhost'\n    \
     dist.init_process_group(\"gloo\", rank=rank, world_size=size, init_method=\"env://\")\n    t = torch.zeros(1)\n    if rank == 0:\n        \
     t += 1\n        dist.send(t, dst=1)\n    else:\n        dist.recv(t, src=0)\n    out = [torch.zeros(1) for _ in range(size)]\n    \
     dist.all_gather(out, t)\n    assert out[1].item() == 1.0 and t.item() == 1.0\n    net = DDP(nn.Linear(1, 1), output_device=None)\n    \
     assert net(t).numel() == 1\nif __name__ == \"__main__\":\n    mp.spawn(work, args=(2,), nprocs=2, join=True)",
    "seen = []\ndef fib(n):\n    seen.append(n)\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\nassert fib(6) == 8 and len(seen) == 25",
    "def main():\n    return helper(3)\ndef helper(x):\n    return x * k\nk = 2\nassert main() == 6",
    "k = 2\ndef main():\n    return helper(3)\ndef helper(x):\n    return x * k\nassert main() == 6",
    "def add(l, x):\n    l.append(x)\ndef twice(l):\n    add(l, 1)\n    add(l, 2)\nxs = []\nadd(xs, 0)\ntwice(xs)\nassert len(xs) == 3",
    "print(\"PyTorch version:\", torch.__version__)\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"0\"\ndef g(a, b):\n    return a + b\n\
     def h(a, *args, **kwargs):\n    return a + len(args) + len(kwargs)\ndef i(*args, **kwargs):\n    return h(1, *args, **kwargs)\nv = (1, 2)\n\
     assert g(*v) == 3 and g(1, *v[1:]) == 3 if False else True\nassert i(5, 6, c=1) == 4\nassert 10 // 3 == 3",
    "import argparse\ndef main():\n    parser = argparse.ArgumentParser(description='x')\n    \
     parser.add_argument('--batch-size', type=int, default=2, metavar='N')\n    parser.add_argument('--no-cuda', action='store_true')\n    \
     args = parser.parse_args()\n    kwargs = {'batch_size': args.batch_size}\n    if not args.no_cuda:\n        more = {'shuffle': True}\n        \
     kwargs.update(more)\n    tf = transforms.Compose([transforms.ToTensor()])\n    \
     loader = DataLoader(TensorDataset(torch.ones(4, 2)), **kwargs)\n    return len(loader)\nassert main() == 2",
    "class AverageMeter(object):\n    \"\"\"Keeps the average.\"\"\"\n    def __init__(self, name, fmt=':f'):\n        self.name = name\n        \
     self.reset()\n    def reset(self):\n        self.sum = 0\n        self.count = 0\n    def update(self, val, n=1):\n        \
     self.sum += val * n\n        self.count += n\n        self.avg = self.sum / self.count\n    def __str__(self):\n        \
     return self.name\nm = AverageMeter(\"loss\")\nm.update(2)\nm.update(3, 3)\nassert m.avg == 2.75 and m.name == \"loss\"\n\
     class Config:\n    lr = 0.1\ncfg = Config()\nassert cfg.lr == 0.1",
    "class Enc(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        pe = torch.zeros(4, d)\n        \
     pe[:, 0::2] = torch.sin(pe[:, 0::2])\n        self.register_buffer(\"pe\", pe)\n        self.fc = nn.Linear(d, d)\n    def forward(self, x):\n        \
     return self.fc(x + self.pe)\nassert Enc(4)(torch.ones(4, 4)).shape[0] == 4",
    "import copy\ndevice = \"mps\" if torch.backends.mps.is_available() else \"cpu\"\nassert device == \"cpu\" and math.e > 2\nnet = nn.Linear(1, 1)\n\
     best = copy.deepcopy(net.state_dict())\nwith torch.no_grad():\n    net.weight.fill_(7.0)\nassert best[\"weight\"].item() != 7.0\n\
     twin = copy.deepcopy(net)\nassert twin.weight.item() == 7.0\n\
     xs = [1]\nys = copy.deepcopy(xs)\nx = torch.ones(2)\nassert x.nelement() == 2 and len(ys) == 1, x.device",
    "def count():\n    xs = [1, 2]\n    n = 0\n    while xs:\n        xs.pop()\n        n += 1\n    return n\nassert count() == 2",
    "from dataclasses import dataclass, field\n@dataclass\nclass Config:\n    lr: float = 0.1\n    sizes: list = field(default_factory=list)\n\
     cfg = Config(lr=0.2)\nassert cfg.lr == 0.2 and len(cfg.sizes) == 0",
    "from tqdm import tqdm\npbar = tqdm([1, 2])\nn = 0\nfor b in pbar:\n    pbar.set_postfix(loss=0.5)\n    n += b\nassert n == 3",
    "class Bar:\n    def __init__(self):\n        self.text = \"\"\n    def set_description(self, text):\n        \
     self.text = text\nbar = Bar()\nbar.set_description(\"a\")\nassert bar.text == \"a\"",
    "import torch\nacts = {}\ndef get_activation(name):\n    def hook(model, input, output):\n        acts[name] = output.detach()\n    \
     return hook\nnet = nn.Sequential(nn.Linear(2, 3), nn.ReLU())\nhandle = net[0].register_forward_hook(get_activation('fc'))\n\
     net(torch.ones(1, 2))\nassert acts['fc'].shape[1] == 3\nhandle.remove()",
    "let x = null;\nlet y: int = 5;\nassert(x == () && y == 5);",
];

#[test]
fn a_program_of_pythons_is_answered_with_one_that_runs() {
    let trouble = |code: &&str| {
        let hint = told("", code).unwrap_or_default();
        let Some(here) = offered(&hint) else { return Some(format!("{code}\nis answered with {hint:?}")) };
        let ended = lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 });
        ended.err().map(|error| format!("{here}\nfails: {error:?}"))
    };
    let wrong: Vec<String> = PROGRAMS.iter().filter_map(trouble).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_program_of_a_hundred_lines_is_answered_as_a_whole() {
    let turns: String = (0..110).map(|i| format!("total = total + {i}\n")).collect();
    let code = format!("import torch\ntotal = 0\n{turns}assert total == 5995");
    let here = told("", &code).and_then(|hint| offered(&hint)).expect("it is answered");
    assert!(here.lines().count() > 100, "{here}");
    assert!(lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 }).is_ok());
}

#[test]
fn all_that_is_wrong_in_a_line_is_mended_at_once() {
    for (given, code, want) in [
        ("", "x = torch.ones(2, 3, device='cpu')", "`let x = ones(2, 3, #{device: \"cpu\"});`"),
        (
            "let net = nn::Linear(2, 1); let x = ones(1, 2);",
            "y = net(x) if net is not None and True else None  # half",
            "`let y = if net != () && true { net.forward(x) } else { () }; // half`",
        ),
        ("", "fn f(x) {\n    let y = True and x;\n    y\n}", "`let y = true && x;`"),
        ("let x = ones(2, 2);", "let y = 1;\nlet z = x[0, y];\nprint(z)", "let z = x.at([0, y]);"),
        ("", "if 1 == 1 {\n    let a = None;\n}", "`let a = ();`"),
    ] {
        let hint = told(given, code).unwrap_or_default();
        assert!(hint.contains(want), "{code}: {hint}");
    }
}

#[test]
fn what_is_offered_has_the_value_of_pythons() {
    for (given, code, same) in [
        ("let xs = [\"a\", \"b\"];", "\", \".join(xs)", "\"a, b\""),
        ("let xs = [1, 2, 3, 4];", "xs[-2:]", "[3, 4]"),
        ("let xs = [1, 2, 3, 4];", "xs[:-1]", "[1, 2, 3]"),
        ("let xs = [1, 2, 3, 4];", "xs[1:-1]", "[2, 3]"),
        ("let xs = [1, 2, 3, 4];", "xs[-3:-1]", "[2, 3]"),
        ("let s = \"abcd\";", "s[-2:]", "\"cd\""),
        ("let s = \"abcd\";", "s[:-1]", "\"abc\""),
        ("let s = \"abcd\";", "s[1:-1]", "\"bc\""),
        ("let x = ones(2, 3);", "x[None, :].shape", "[1, 2, 3]"),
        ("let x = ones(2, 3);", "x[:, None].shape", "[2, 1, 3]"),
        ("let x = ones(2, 3, 4);", "x[0, :, None].shape", "[3, 1, 4]"),
        ("let x = ones(2, 3);", "x[..., None].shape", "[2, 3, 1]"),
        ("", "math.sqrt(4)", "2.0"),
        ("let n = 7;", "(n // 2)\n", "3"),
        ("let n = 4; let xs = [1, 2];", "xs[n // 4]\n", "2"),
    ] {
        let hint = told(given, code).unwrap_or_default();
        let here = offered(&hint).unwrap_or_else(|| panic!("{code}: {hint:?}"));
        let code = format!("{given}\nassert(({here}) == {same}, \"it differs\");");
        let ended = lab().evaluate(1, &Origin { name: "test", code: &code, first_line: 1 });
        assert!(ended.is_ok(), "{code}: {ended:?}");
    }
}

#[test]
fn a_function_of_a_module_is_told_to_be_called() {
    for (code, call) in [
        ("let n = cuda::device_count;", "`cuda::device_count()`"),
        ("if cuda::is_available { }", "`cuda::is_available()`"),
        ("print(cuda.memory_allocated)", "cuda::memory_allocated()"),
        ("let a = (7 // 2) + 1;", "`let a = 7 / 2 + 1;`"),
        ("for x in data.DataLoader([1], batch_size=2) { }", "data::DataLoader([1], #{batch_size: 2})"),
        ("init.zeros_(ones(2))", "`nn::init::zeros_(ones(2))`"),
        (
            "nn::module(#{fc: nn::Linear(1, 1)}, |self, x| self.fc(x)).forward(ones(1, 1))",
            "`self.fc.forward(x)`",
        ),
    ] {
        let hint = told("", code).unwrap_or_default();
        assert!(hint.contains(call), "{code}: {hint}");
    }
}

/// A rank, a closure that the lab calls, and a function are no other places than the lines around them.
#[test]
fn habits_within_functions_are_answered_as_outside() {
    for (code, line, want, not) in [
        (
            "distributed::spawn(|rank, world| {\n    let net = nn::Linear(2, 2);\n    net(ones(1, 2))\n}, #{nprocs: 2});",
            3,
            "`net.forward(ones(1, 2))`",
            "did you mean",
        ),
        (
            "distributed::spawn(|rank, world| {\n    let x = ones(2);\n    all_reduce(x);\n}, #{nprocs: 2});",
            3,
            "`distributed::all_reduce(x);`",
            "?all_reduce",
        ),
        (
            "fn work(rank, world) {\n    rank + lr\n}\nlet lr = 1;\ndistributed::spawn(work, #{nprocs: 2});",
            2,
            "`fn work(rank, world, lr)`",
            "did you mean",
        ),
        (
            "[1].map(|x| {\n    let net = nn::Linear(2, 2);\n    net(ones(1, 2)) });",
            3,
            "`net.forward(",
            "did you mean",
        ),
        (
            "fn f(x) { x * lr } let lr = 2; f(3)",
            1,
            "`let f = |x| …;`, which `f.call(x)` calls",
            "did you mean",
        ),
        ("nn.Linear(2, 1)", 1, "`nn::Linear(2, 1)`", "did you mean"),
        ("let a = 3; str(a)", 1, "`let a = 3; a.to_string()`", "did you mean"),
        ("for k in #{a: 1} { }", 1, "keys()", "did you mean"),
    ] {
        let fault = match lab().evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
            Err(Stopped::Fault(fault)) => fault,
            other => panic!("{code}: {other:?}"),
        };
        let hint = fault.hint.clone().unwrap_or_default();
        assert!(hint.contains(want) && !hint.contains(not), "{code}: {hint}");
        assert_eq!(fault.line, Some(line), "{code}: {}", fault.report);
        let shown = code.lines().nth(line as usize - 1).unwrap();
        assert!(fault.report.contains(&format!("{line} | {shown}\n")), "{}", fault.report);
    }
}

#[test]
fn what_is_no_habit_keeps_its_own_hint() {
    for (code, own) in [
        ("rnad(3)", "did you mean `rand`?"),
        ("let t = ones(2); t.summ()", "did you mean"),
        ("try { ones(1) } catch (e) { }; rnad(3)", "`rand`"),
        ("print (rnad(3))", "`rand`"),
        ("let t = ones(2); if t.summ() > 1 { }", "did you mean"),
        ("from = 3", "`let from = 3;`"),
    ] {
        let hint = told("", code).unwrap_or_default();
        assert!(hint.contains(own), "{code}: {hint}");
    }
    assert_eq!(told("", "let x = ; 1").as_deref(), Some(""));
}

/// Keeps the warnings.
#[derive(Default)]
struct Warned(Mutex<Vec<String>>);

impl Host for Warned {
    fn print(&self, _: &str) {}

    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }

    fn figure(&self, _: &Figure, _: Option<&str>) {}

    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

#[test]
fn what_differs_in_silence_is_told_of_once() {
    for (code, what) in [
        ("7 / 2", "`7 / 2` of integers is 3"),
        ("10 / 3", "3 is Python's `10 // 3`"),
        ("-7 / 2", "`(-7.0 / 2).floor().to_int()` is -4, as `-7 // 2` there"),
        ("let a = 7; let b = 2; a / b", "3.5 in Python"),
        ("let x = ones(7); x.numel() / 2", "`7 / 2` of integers"),
        ("fn half(n) { n / 2 } half(7)", "`7 / 2` of integers"),
        ("let a = 3; a /= 4", "`3 / 4` of integers is 0"),
        ("let m = #{n: -7}; m.n %= 3", "is -1 in line 1, and 2 in Python"),
        ("-5 % 3", "is -2 in line 1, and 1 in Python"),
        ("5 % -3", "and -1 in Python"),
        ("7 // 2", "`//` begins a comment"),
        ("let n = 2; let x = 7 // n", "`//` begins a comment"),
        ("let q = 9 // 2; q", "`//` begins a comment"),
        ("let n = 9; n //= 2;", "`//` begins a comment"),
        ("let v = -7.5; v % 2", "`-7.5 % 2.0` of floats is -1.5 in line 1, and 0.5 in Python"),
        ("let x = ones(1); 0 < x < 3", "`a < b && b < c`"),
        ("ones(1).device == \"cpu\"", "a device is equal to its text"),
        ("let s = 0; for (a, b) in [[1, 2], [3, 4]] { s += b; } s", "counts the turns in `b` in line 1"),
        (
            "let l = data::DataLoader(data::TensorDataset(ones(4), ones(4))); let n = 0; for (x, y) in l { n += 1; } n",
            "let x = pair[0]; let y = pair[1]; … }` takes pairs apart",
        ),
        ("let xs = []; xs.append([5, 6]);", "`push` adds one item, as Python's `append` does"),
        ("let xs = []; let y = 1; xs.append([y]);", "adds each item of an array in line 1"),
        ("let n = 0; [5, 6].for_each(|x| n += x);", "each item is `this`"),
        ("let s = \" a \"; let t = s.trim();", "`replace` and `trim` give nothing in line 1"),
        ("let s = \"ab\"; print(s.replace(\"a\", \"b\"));", "change the text itself"),
    ] {
        let host = Arc::new(Warned::default());
        let mut lab =
            Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
        for _ in 0..2 {
            let _ = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).expect(code);
        }
        let warned = host.0.lock().unwrap();
        assert!(warned.len() == 1 && warned.iter().all(|text| text.contains(what)), "{code}: {warned:?}");
    }
    for code in [
        "8 / 2",
        "7.0 / 2",
        "5 % 3",
        "-6 % 3",
        "ones(2) / 2 // the half",
        "let x = 1; // 2",
        "1 < 2 == true",
        "let s = 0; for (x, i) in [5, 6] { s += i; } s",
        "let s = 0; for (a, b) in zip([1], [2]) { s += b; } s",
        "let s = 0; for (x, i) in [[1, 2, 3], [4, 5, 6]] { s += i; } s",
        "let s = 0; for (n, i) in 0..3 { s += i; } s",
        "let s = 0; for (pair, i) in [[1, 2], [3, 4]] { s += pair[0] * i; } s",
        "let xs = [1]; xs += [4];",
        "let xs = [1]; let ys = [2]; xs.append(ys); xs.push([3]);",
        "let s = \" ab \"; s.trim(); s.replace(\"a\", \"b\"); s",
    ] {
        let host = Arc::new(Warned::default());
        let mut lab =
            Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
        let _ = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).expect(code);
        assert!(host.0.lock().unwrap().is_empty(), "{code}");
    }
}

/// The examples of the reference and the scripts that are shipped are right: nothing is said of any.
#[test]
fn right_programs_are_told_nothing() {
    let scripts = ["kmeans", "life", "filters", "linear_regression", "transfers", "queues"];
    let scripts = scripts.map(|name| std::fs::read_to_string(format!("scripts/{name}.rhai")).unwrap());
    let skipped = |name: &str| matches!(name, "sleep" | "timeit");
    let rows = tensorlab::script::help::rows().filter(|def| !skipped(def.name));
    let examples = rows.map(|def| def.example.0.to_owned());
    for code in examples.chain(scripts) {
        let differences = [
            "of integers is",
            "begins a comment",
            "is equal to its text",
            "compares what",
            "counts the turns",
        ];
        let host = Arc::new(Warned::default());
        let mut lab =
            Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
        let _ = lab.evaluate(1, &Origin { name: "test", code: &code, first_line: 1 });
        let warned = host.0.lock().unwrap();
        let told = warned.iter().find(|text| differences.iter().any(|what| text.contains(what)));
        assert!(told.is_none(), "{code}: {told:?}");
    }
}

#[test]
fn the_page_has_every_phrase_and_what_differs_in_silence() {
    let page = tensorlab::script::help::page("python").unwrap();
    assert!(BOOK.len() >= 80);
    for phrase in BOOK.iter().filter(|phrase| !phrase.rhai.is_empty()) {
        assert!(page.contains(phrase.rhai), "{}", phrase.rhai);
    }
    for silent in ["7 / 2", "-5 % 3", "7 // 2", "x.device ==", "copies an array"] {
        assert!(page.contains(silent), "{silent}");
    }
}

/// Where no line can be offered, what there is instead is named.
#[test]
fn what_has_no_line_here_is_told_with_what_there_is() {
    for (given, code, want) in [
        (
            "",
            "class A:\n    @n.setter\n    def n(self, v):\n        self.m = v",
            "a map holds values and closures",
        ),
        (
            "",
            "class A:\n    def __getitem__(self, i):\n        return i",
            "made.__getitem__ = |i| { return i; };",
        ),
        ("", "class B(A):\n    pass", "nothing is inherited"),
        ("", "class Net(nn.Sequential):\n    pass", "`let Net = || nn::Sequential([…]);`"),
        ("", "class F(torch.autograd.Function):\n    pass", "`autograd::Function(|ctx, x| …, |ctx, g| …)`"),
        ("", "class D(Dataset):\n    pass", "`data::Dataset(length, |i| …)`"),
        ("", "@dataclass\nclass C:\n    lr: float = 0.1", "let C = |lr| {"),
        ("let x = eye(2);", "U, S, Vh = torch.linalg.svd(x)", "let S = parts.S;"),
        ("let x = eye(2);", "Q, R = torch.linalg.qr(x)", "let R = parts.R;"),
        ("let x = eye(2);", "low, high = torch.aminmax(x)", "let low = parts.min;"),
        ("let x = eye(2);", "u, s, v = torch.svd(x)", "let v = parts.V;"),
        ("let x = eye(2);", "top, at = x.topk(1)", "let at = parts.indices;"),
        ("let n = 2;", "1 < n < 3", "comparisons are joined by `&&`: `1 < n && n < 3`"),
        ("", "torch::nn::Linear(2, 1)", "stands without it: `ones(2)`, `nn::Linear(2, 1)`"),
        ("", "backends::cuda::matmul::allow_tf32(true)", "`matmul::allow_tf32(true)`"),
        ("", "autograd::gradcheck(|x| x, ones(1))", "a difference quotient beside `autograd::grad`"),
        ("", "autograd::set_detect_anomaly(true)", "`with detect_anomaly() { … }`"),
        ("", "nn::Tanh(ones(2))", "is called by `nn::Tanh(…).forward(x)`"),
        ("let x = eye(2);", "from torch.linalg import svd\nU, S, Vh = svd(x)", "let Vh = parts.Vh;"),
        ("", "nn::ReLU(ones(2))", "is called by `nn::ReLU(…).forward(x)`"),
        ("", "nn::CrossEntropyLoss(ones([2, 2]), tensor([0, 1]))", "`nn::CrossEntropyLoss(…).forward(x)`"),
        ("let net = nn::Linear(1, 1);", "net.compile()", "neither compiled nor traced here"),
        ("", "optim::SDG([ones(1)])", "did you mean `SGD`?"),
        ("", "linalg::eig(eye(2))", "complex numbers, which there are none of here"),
        ("", "let x = fft::fft(ones(3));", "there are no complex numbers here"),
        ("", "let x = zeros(2, #{dtype: complex64});", "there are no complex numbers here"),
        ("", "ones(2).to_sparse()", "tensors are dense here"),
        ("", "2 ** -1", "`2.0 ** -1`"),
        ("let xs = [1, 2];", "xs[1..] = [3];", "`xs.splice(1..3, [5])`"),
        ("let d = #{};", "d['a']", "names of a map are texts"),
        ("", "let model = 3; print(modle)", "did you mean `model`?"),
        ("", "fn f(s) { s.to_int() } f(\"12\")", "parse_int(s)"),
        ("", "let i = 1; i++;", "i += 1;"),
        ("let i = 1;", "i++", "`++` and `--` are no operators: `i += 1`"),
        ("", "[i * 2 for i in 0..3]", "`(0..3).map(|i| i * 2)`"),
        ("", "let l = [i*2 for i in 0..=3 if i > 1]", "`let l = (0..=3).filter(|i| i > 1).map(|i| i * 2);`"),
        ("", "!ls", "there is no shell here"),
        ("", "!git clone x", "there is no shell here"),
        ("", "%who", "there is no shell here, and none of the commands of Python's notebooks"),
        ("", "%matplotlib inline", "nothing is installed or set up"),
        ("", "!pip install x", "nothing is installed or set up"),
        ("", "quit", "`:quit` or Ctrl-D leaves the prompt"),
        ("", "quit()", "`exit()` ends a script"),
        ("", "exit", "`exit()` ends a script"),
        ("", "clear", "Ctrl-L clears the screen of the prompt"),
        ("", "Out[1]", "`_` is the last value at the prompt and in notebooks"),
        ("", "In[1]", "`_` is the last value at the prompt and in notebooks"),
        ("", "fn f(q) { while q { q.pop(); } } f([1])", "while !q.is_empty()"),
        ("", "fn f(t) { t.to_float() } f(ones(1))", "t.item().to_float()"),
        ("", "rows = [[1]]\nfirst = rows[0]\nfirst[0] = 2", "an array or a map is copied"),
        ("", "rows = [[1]]\nfor row in rows:\n    row.append(2)", "an array or a map is copied"),
        ("fn save(x, name) { }", "torch.save(ones(1), os.path.join(\"d\", \"m.pt\"))", "\"m.safetensors\""),
    ] {
        let hint = told(given, code).unwrap_or_default();
        assert!(hint.contains(want), "{code}: {hint}");
    }
}

/// One statement that is not known takes nothing from the answer to the others.
#[test]
fn what_is_not_known_is_marked_in_the_program_that_is_offered() {
    let code = "import torch\nx = torch.ones(2)\ntype Num = int\ny = x.sum()\nassert y.item() == 2.0";
    let hint = told("", code).unwrap_or_default();
    let here = offered(&hint).unwrap();
    assert!(here.contains("// ? type Num = int") && here.contains("let y = x.sum();"), "{hint}");
    assert!(lab().evaluate(1, &Origin { name: "test", code: &here, first_line: 1 }).is_ok(), "{here}");
}

#[test]
fn what_is_far_from_what_was_meant_is_not_offered() {
    for code in ["optim::scal([ones(1)])", "let net = nn::Linear(1, 1); net.evaluate()"] {
        let hint = told("", code).unwrap_or_default();
        assert!(!hint.contains("scale") && !hint.contains("self."), "{code}: {hint}");
    }
}

/// A division that is meant says nothing of the others.
#[test]
fn each_line_that_divides_integers_is_told_of_once() {
    let host = Arc::new(Warned::default());
    let mut lab =
        Interpreter::new(Machine::cpu_only(), Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
    let code = "let n = 7;\nlet half = n / 2;\nfor i in 0..5 { n / 3; }\nlet m = 9; m /= 2;\nlet x = tensor([7.0]); x /= 2; x[0] %= 2; n / 7;";
    let _ = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).unwrap();
    let warned = host.0.lock().unwrap().clone();
    let lines: Vec<bool> =
        (2..=4).map(|line| warned.iter().any(|text| text.contains(&format!("in line {line},")))).collect();
    assert!(warned.len() == 3 && lines == [true; 3], "{warned:?}");
}
