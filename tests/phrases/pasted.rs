//! Programs of Python's that are pasted as a whole: what is offered computes what Python does, or says what it does not.

use super::faithful::trouble;
use super::{offered, told};

/// Each ends with what holds of it in Python.
const PROGRAMS: &[&str] = &[
    // What a loop changes of its items by their own methods, and inside them.
    r#"
rows = [[3, 1, 2], [6, 5, 4]]
for r in rows:
    r.sort()
for r in rows:
    r += [9]
recs = [{"s": [1], "n": 0}, {"s": [], "n": 1}]
for r in recs:
    r["s"].append(7)
for r in recs:
    r["s"][0] = 5
    r["n"] += 1
assert rows == [[1, 2, 3, 9], [4, 5, 6, 9]] and recs[0]["s"] == [5, 7] and recs[1]["s"] == [5] and recs[1]["n"] == 2
"#,
    // What is done at last is done before a block is left, and what is given is worked out before it.
    r#"
told = []
def closed(x):
    seen = []
    try:
        if x > 2:
            return len(seen)
        else:
            x += 1
        for i in range(3):
            if i == 1:
                break
        return x * 2
    finally:
        seen.append(1)
        x = 0
for i in range(4):
    try:
        if i == 1:
            continue
        if i == 3:
            break
        told.append(i)
    finally:
        told.append(-i)
def caught():
    steps = []
    try:
        try:
            raise ValueError("a")
        except ValueError as e:
            steps.append("caught")
            raise RuntimeError("b")
        finally:
            steps.append("last")
    except RuntimeError:
        steps.append("out")
    return steps
def later(x):
    y = 0
    try:
        y = x + 1
        return y
    finally:
        y = 100
counted = []
def boom():
    counted.append(1)
    raise ValueError("boom")
def once():
    try:
        return 1
    finally:
        boom()
def handled():
    done = []
    try:
        try:
            raise IndexError("k")
        except IndexError:
            int("x")
        finally:
            done.append("last")
    except ValueError:
        done.append("out")
    return done
assert later(1) == 2
assert closed(1) == 4 and closed(3) == 0 and told == [0, 0, -1, 2, -2, -3] and caught() == ["caught", "last", "out"]
"#,
    // A function that changes several lists, and one that names them anew.
    r#"
def both(a, b, n):
    a.append(n)
    b.append(2 * n)
def anew(a):
    a = list(a)
    a.append(5)
xs, ys = [], [0]
both(xs, ys, 3)
anew(xs)
def further(p, q):
    both(q, p, 1)
    p.append(9)
def swap(zs, i, j):
    z = zs[i]
    zs[i] = zs[j]
    zs[j] = z
def turned(zs):
    for i in range(len(zs) // 2): swap(zs, i, len(zs) - 1 - i)
def more(out, items):
    for item in items:
        out.append(item)
    return out
ps, qs, zs = [], [], [1, 2, 3]
further(ps, qs)
turned(zs)
more(items=[4], out=zs)
assert xs == [3] and ys == [0, 6] and ps == [2, 9] and qs == [1] and zs == [3, 2, 1, 4]
"#,
    // An object made with a network, and words that are names in Python alone.
    r#"
import torch
class Trainer:
    def __init__(self, model, act, use):
        self.model = model
        self.act = act
        self.use = use
        self.losses = []
    def run(self, x):
        y = self.act(self.model(x))
        self.losses.append(y.sum().item())
        return y
    def call(self, x):
        return x + self.use
model = torch.nn.Linear(2, 1)
torch.nn.init.ones_(model.weight)
torch.nn.init.zeros_(model.bias)
t = Trainer(model, lambda x: x * 2, 1)
t.run(torch.ones(1, 2))
use = True
if use:
    own = dict({"a": 1}, k=2)
assert t.losses == [4.0] and t.call(2) == 3 and own["k"] == 2 and own["a"] == 1 and 2 * [5] == [5, 5]
name = "x"
assert f"{name!r:>5}" == "  'x'" and dict(**own)["k"] == 2 and dict(a=5, **{"b": 1})["a"] == 5
assert f"{name!r} {own['a']!r}" == "'x' 1"
"#,
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
    // An item that is given another value is the list's no more, and a loader has no places.
    r#"
import torch
from torch.utils.data import DataLoader
rows = [[1], [2]]
for row in rows:
    row = list(row)
    row.append(0)
n = 0
for batch in DataLoader(torch.arange(4), batch_size=2):
    batch[0] = 5
    n += batch[0].item()
assert len(rows[0]) == 1 and n == 10
"#,
    // What NumPy tells of numbers has all their digits, and Python's types are the wide ones.
    r#"
import torch, numpy as np
xs = [0.1, 0.2, 0.4]
assert np.mean(xs) == 0.23333333333333336 and np.median(xs) == 0.2
assert torch.ones(2).to(int).dtype == torch.int64 and torch.zeros(2, dtype=float).dtype == torch.float64
"#,
    // A function within one that has a word of Rhai's as its name.
    r#"
def timed(f):
    def fn(x):
        return f(x) + 1
    return fn
g = timed(lambda v: v * 2)
assert g(3) == 7
"#,
    // Functions that a loop goes through.
    r#"
import torch
acts = [torch.relu, torch.tanh]
n = 0
for act in acts:
    n += act(torch.zeros(2)).sum().item()
for act in [torch.exp]:
    n += act(torch.zeros(2)).sum().item()
assert n == 2
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
    // Pairs that are taken apart.
    r#"
import torch
val = [(torch.ones(2), 1), (torch.zeros(2), 0)]
a = [int(y) for _, y in val]
b = torch.stack([x for x, _ in val])
n = 0
for _, y in val:
    n += y
for i, (_, y) in enumerate(val):
    n += i * y
def collate(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs), torch.tensor(ys)
x, y = collate(val)
lengths = [len(column) for column in zip(*val)]
assert a[0] == 1 and b.shape[0] == 2 and n == 1 and x.shape[1] == 2 and y[0].item() == 1 and lengths[1] == 2
xs, ys = zip(*sorted([(2, "b"), (1, "a")]))
assert xs[0] == 1 and ys[1] == "b"
data = torch.utils.data.TensorDataset(torch.ones(3, 2), torch.arange(3))
assert sum([t.item() for _, t in data]) == 3
"#,
    // Modules within modules.
    r#"
import torch, torch.nn as nn
class VAE(nn.Module):
    expansion = 2
    def __init__(self, d=4):
        super().__init__()
        self.enc = nn.Linear(d, 2)
        self.dec = nn.Linear(2, d)
        self.norm = nn.LayerNorm(d)
        self.heads = nn.ModuleDict({"a": nn.Linear(d, self.expansion)})
        self.more = nn.ModuleDict(dict(a=nn.Linear(d, 1)))
    @torch.no_grad()
    def sample(self, n):
        return self.dec(torch.zeros(n, 2))
    def forward(self, x):
        return self.dec(self.enc(x))
class Wrap(nn.Module):
    def __init__(self):
        super().__init__()
        self.vae = VAE()
    def forward(self, x):
        return self.vae.dec(self.vae.enc(x))
model = VAE()
z = model.enc(torch.ones(1, 4))
w = Wrap()
def sample(m, n):
    return m.dec(torch.zeros(n, 2))
assert model.dec(z).shape[1] == 4 and model.norm(torch.ones(1, 4)).shape[1] == 4 and w.vae.dec(z).shape[1] == 4
assert model.heads["a"](torch.ones(1, 4)).shape[1] == 2 and sample(model, 3).shape[0] == 3 and VAE.expansion == 2
assert not model.sample(2).requires_grad and w(torch.ones(1, 4)).requires_grad and model.expansion == 2
"#,
    // Maps whose names stand for numbers, and maps that are gone through.
    r#"
inv = {v: k for k, v in {"u": 0, "v": 1}.items()}
ids = [0, 1, 1]
names = [inv[i] for i in ids]
text = "hello" * 2
chars = sorted(set(text))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for i, ch in enumerate(chars)}
def kinds(of):
    return len(set(of))
params = {"w": 2, "b": 3}
new = {k: params[k] - 1 for k in params}
def less(ps):
    n = 0
    for k in ps:
        n += ps[k]
    return {k: ps[k] - 1 for k in ps}, n
rest, n = less(params)
assert names[2] == "v" and len(chars) == 4 and stoi["l"] == 2 and itos[0] == "e" and 3 in itos and 7 not in itos
assert kinds(text) == 4 and kinds([1, 1]) == 1 and new["w"] == 1 and rest["b"] == 2 and n == 5 and itos.get(9, "?") == "?"
"#,
    // Places with a step.
    r#"
import torch
pe = torch.zeros(4, 6)
pe[:, 0::2] = torch.ones(4, 3)
pe[:, 1::2] += 2
t = torch.arange(24).view(2, 3, 4)
assert pe.sum().item() == 36 and t[:, -1, ::2].sum().item() == 60 and t[:, ::2].shape[1] == 2
assert t[0, 1:, 1::2].sum().item() == 32
j = torch.autograd.functional.jacobian(lambda x: x ** 2, torch.ones(2))
assert j.sum().item() == 4
"#,
    // What a class of the program's has beside its methods.
    r#"
import torch, torch.nn as nn
class Clip:
    def __init__(self, m):
        self.m = m
        self.n = 0
    def __call__(self, x):
        return x.clamp(max=self.m)
    @property
    def twice(self):
        return self.m * 2
    @torch.no_grad()
    def step(self, p):
        self.n += 1
        p.mul_(2)
    @staticmethod
    def made():
        return 3
c = Clip(0.5)
p = nn.Parameter(torch.ones(2))
c.step(p)
assert c(torch.ones(2)).sum().item() == 1 and c.twice == 1.0 and c.n == 1 and p.sum().item() == 4 and c.made() == 3
"#,
    // The last line, what lies in a map, a variable that is called `fn`.
    r#"
acc = {}
for k, v in [("a", 1), ("b", 2), ("a", 3)]:
    acc.setdefault(k, []).append(v)
fn = lambda x, k=2: x * k
fs = [lambda x: x + 1]
class Walk:
    def __init__(self):
        self.new = 1
    def go(self):
        self.new += 1
walk = Walk()
walk.go()
assert walk.new == 2
n = fn(3) + fn(3, 4)
for fn in fs:
    n += fn(2)
def app(fn, x): return fn(x)
m = -7
xs = [1, 2]
assert len(acc["a"]) == 2 and n == 21 and app(lambda z: z + 1, 3) == 4 and m % 3 == 2 and -7 % 3 == 2
assert sum(xs) / len(xs) == 1.5
"#,
    // Comments, wherever they stand.
    r#"
import torch, torch.nn as nn
from torch.utils.data import Dataset
class Net(nn.Module):  # the net
    def __init__(self, n):  # makes it
        super().__init__()  # first
        self.p: float = 2.0
        self.norm = nn.LayerNorm(n) # final
        # in brackets
        self.seq = nn.Sequential(nn.Linear(n, 2),  # in
            # out
            nn.ReLU())
    def forward(self, x):  # runs
        return self.seq(self.norm(x)) * self.p  # done
class Rows(Dataset):  # rows
    def __init__(self, n):
        self.x = torch.arange(n)  # data
    def __len__(self):
        """How many."""
        return len(self.x)  # all
    def __getitem__(self, i):
        # self alone
        return self.x[i]  # one
class Meter:  # counts
    n = 0  # none
    def add(self):  # one more
        self.n += 1  # here
def sign(x):
# old code
    if x > 0:
        y = 1  # above
    # otherwise
    else:
        y = 2
#    z = 3
    return y
sizes = {
    "a": 1,  # one
    # two
    "b": 2,
}
try:
    sign(1)
# none
except ValueError:
    pass
m = Meter()
m.add()
net = Net(3)  # three
assert net.p == 2.0 and net(torch.ones(1, 3)).shape[1] == 2 and len(Rows(4)) == 4
assert sign(1) == 1 and sign(0) == 2 and sizes["b"] == 2 and m.n == 1
"#,
    // A module has no methods of a list's.
    r#"
import torch, torch.nn as nn
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)
m = Heads()
x = torch.ones(1, 2)
s = sum(f(x).sum() for f in m.heads)
parts = nn.ModuleList([nn.Linear(2, 2)])
assert m(x).shape[1] == 6 and s.numel() == 1 and len([g(x) for g in parts]) == 1
n = 0
for i, layer in enumerate(m.heads):
    x = layer(x)
    n += i
assert n == 3 and x.shape[1] == 2 and len(list(parts)) == 1 and len([layer(v) for layer, v in zip(parts, [x])]) == 1
"#,
    // Parts of what is a list.
    r#"
import torch
x = torch.ones(2, 3, 4)
history = {"d": [1, 2, 3], "n": 0}
rows = [[1, 2], [3, 4]]
k = 2
class Buf:
    def __init__(self):
        self.buf = [1, 2, 3]
    def last(self, n):
        return self.buf[-n:]
b = Buf()
assert len(x.shape[1:]) == 2 and x.size()[:-1][1] == 3 and history["d"][-2:][0] == 2 and rows[0][1:][0] == 2
assert history["d"][:-k][0] == 1 and len(history["d"][-k:]) == 2 and b.last(2)[0] == 2
"#,
    r#"
class Kept:  # the last ones
    def __init__(self, fn=None):  # made
        self.fn = fn  # called
        self.hist = []  # none
    def push(self, v):
        self.hist.append(v)  # one more
        if len(self.hist) > 2:
            self.hist = self.hist[-2:]
    def last(self):
        return self.hist[-1:]
kept = Kept()
for i in range(4):
    kept.push(i)
assert kept.hist[0] == 2 and kept.last()[0] == 3
"#,
    // NumPy's numbers.
    r#"
import torch, numpy as np
t = torch.tensor([1.0, 2.0, 4.0])
losses = [1.0, 2.0, 6.0]
all_p = []
all_p.extend(t.numpy())
z = t.detach().numpy() * 2
assert t.numpy().tolist()[1] == 2.0 and t.numpy().shape[0] == 3 and z.sum() == 14.0 and len(all_p) == 3
assert np.mean(losses) == 3.0 and np.median(losses) == 2.0 and np.argmin(losses) == 0 and np.argmax(losses) == 2
assert abs(np.std(losses) - 2.1602) < 0.001 and t.numpy()[0] == 1.0
"#,
    r#"
import torch
def pad(t, *sizes, value=0):
    return t.sum() + len(sizes) + value
def compose(*fns):
    def run(x):
        for fn in fns:
            x = fn(x)
        return x
    return run
t = torch.ones(2, 3)
preds = t.numpy()
seen = []
seen.extend(preds[0])
x = 4 if -7 % 3 == 2 else 0
assert pad(t, 1, 2).item() == 8 and pad(t, 1, value=5).item() == 12 and compose(lambda v: v + 1, lambda v: v * 2)(3) == 8
assert preds.shape[1] == 3 and preds.mean() == 1.0 and len(seen) == 3 and x == 4
"#,
    // `*` hands on an array where one is taken, and its parts where not.
    r#"
import torch, torch.nn as nn
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x), x
class Dec(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, h, x, scale=1):
        return (self.fc(h) + x) * scale
    def both(self, h):
        return self(h, h)
    def twice(self, h):
        return self.forward(h, h)
enc, dec = Enc(), Dec()
x = torch.ones(2, 3, 4)
def f(a, b): return a - b
xs = [3, 2, 1]
print(*xs, sep=", ")
layers = [nn.Linear(2, 3)]
net = nn.Sequential(*layers, nn.ReLU())
one = torch.ones(1, 2)
assert dec(*enc(one)).shape[1] == 2 and dec.both(one).shape[1] == 2 and dec.twice(one).shape[1] == 2
assert torch.zeros(1, *x.shape[1:]).dim() == 3 and x.view(*x.shape[:-1], 2, 2).dim() == 4 and f(*[5, 3]) == 2
assert len(net) == 2 and torch.ones(*xs).numel() == 6
"#,
    // Integers, and what may be none.
    r#"
import torch
n = 6
def half(a, b): return a // b
said = ""
try:
    raise ValueError("no")
except Exception as err:
    said = type(err).__name__ + err.__class__.__name__
assert ~5 == -6 and ~n + 1 == -6 and half(7.5, 2) == 3 and half(-7, 2) == -4 and half(7, 2) == 3
assert said == "ValueErrorValueError" and torch.full((), 0.0).dim() == 0 and len(()) == 0
"#,
    // A property that has the name of a tensor's.
    r#"
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    @property
    def device(self):
        return self.fc.weight.device
    def forward(self, x):
        return self.fc(x.to(self.device))
m = M()
x = torch.ones(1, 2)
assert x.device == m.device and m(x).device == x.device
"#,
    // What a loop changes of its items.
    r#"
m = [[0, 0], [0, 0]]
for row in m:
    row[0] = 1
d = {"a": [], "b": []}
for k, v in d.items():
    v.append(k)
for v in d.values():
    v.append("z")
for i, row in enumerate(m):
    row.append(i)
assert m[0][0] == 1 and m[1][2] == 1 and d["b"][0] == "b" and d["a"][1] == "z"
"#,
    // Functions in functions, and functions that are given.
    r#"
import torch, torch.nn as nn
def outer(x):
    def inner(y):
        return y + 1
    def fact(n):
        if n < 2:
            return 1
        return n * fact(n - 1)
    return inner(x) + fact(3)
if outer(2) > 1:
    def late(z):
        return z * 2
def area(w: int, fn: object):
    return fn(w)
class Lam(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn
    def forward(self, x):
        return self.fn(x)
assert outer(2) == 9 and late(4) == 8 and area(3, lambda v: v * 2) == 6
"#,
    // Dictionaries, pairs of modules, and what a class is called.
    r#"
import torch, torch.nn as nn
from collections import OrderedDict
net = nn.Sequential(OrderedDict([("fc", nn.Linear(2, 2)), ("act", nn.ReLU())]))
n = 2
d = {"in": 4, "for": 2, "a": 1, "new": 3, "print": 2}
d.update({"b": 2})
d.update(c=5)
def more(o):
    o.update({"z": 1})
    return o
def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Linear") != -1:
        nn.init.ones_(m.weight)
net.apply(weights_init)
assert net.fc.weight.sum().item() == 4.0 and (["a", "b"] * 3)[4] == "a" and len(["a", "b"] * n) == 4
assert d["in"] == 4 and d["c"] == 5 and d["b"] == 2 and len(more(d)) == 8 and d["print"] == 2
"#,
];

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

/// What would do something else in silence is marked.
#[test]
fn what_has_nothing_that_stands_for_it_is_marked() {
    for (code, want) in [
        ("import torch.nn as nn\nargs = (1, 2)\nd = nn.Dropout(*args)", "// ? d = nn.Dropout(*args)"),
        (
            "def deco(fn):\n    def wrapper(*args, **kwargs):\n        return fn(*args, **kwargs)\n    return wrapper",
            "// ? return fn(*args, **kwargs)",
        ),
        (
            "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(1, 2)\nplt.plot([1, 2])",
            "// ? fig, ax = plt.sub",
        ),
        (
            "def bump(rows):\n    for r in rows:\n        r[\"a\"] += 1\nbump([{\"a\": 1}])",
            "// ? `r` is a copy",
        ),
        (
            "def f(xs, ys):\n    xs.append(1)\n    ys.append(2)\n    return xs\na = f([], [])",
            "// ? `xs`, `ys` is a copy",
        ),
        ("def f(xs):\n    xs.append(5)\n    xs = [1]\na = []\nf(a)", "// ? `xs` is a copy"),
        ("def f(xs, ys):\n    xs.append(1)\n    ys.append(2)\na = []\nf(a, a)", "// ? f(a, a)"),
        ("def f(xs):\n    xs.append(1)\n    return len(xs)\na = []\nn = f(a)", "// ? `xs` is a copy"),
        ("d = {}\ntry:\n    print(d[1])\nexcept KeyError:\n    pass", "// ? a key that is missing gives ()"),
        ("a = [[1]]\nb = [[2]]\nfor x, y in zip(a, b):\n    x.append(1)", "// ? `x` is a copy"),
        ("a = [[1]]\nfor x in a:\n    if x[0] > 1:\n        continue\n    x.append(1)", "// ? `x` is a copy"),
    ] {
        let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.contains(want), "{code}: {here}");
    }
}

/// What a script's end waits for is done.
#[test]
fn a_program_that_ends_with_its_main_runs_it() {
    let code = "import sys\ndef main():\n    return 0\nif __name__ == \"__main__\":\n    sys.exit(main())";
    let here = told("", code).and_then(|hint| offered(&hint)).unwrap_or_default();
    assert!(here.ends_with("exit(main())"), "{here}");
}

/// Rhai's `append` takes an array, which what is not known may be.
#[test]
fn what_is_rhai_already_stays() {
    let code = "fn more(xs, arr) { xs.append(arr); xs }\ny = more([1], [2]);";
    let hint = told("", code).unwrap_or_default();
    assert!(hint.contains("let y") && !hint.contains("push"), "{hint}");
}

/// Numbers alone make no habit of a line that has another fault.
#[test]
fn a_line_of_numbers_keeps_its_own_hint() {
    for code in ["print(rnad(3) / 2)", "print(round(rnad(3)))", "print(-7 % rnad(3))"] {
        let hint = told("", code).unwrap_or_default();
        assert!(hint.starts_with("did you mean") && !hint.contains("2.0"), "{code}: {hint}");
    }
}

/// The last line has no semicolon that would have to be set.
#[test]
fn the_last_line_is_offered_as_it_has_to_be() {
    let class = "import torch\nclass M:\n    def __init__(self):\n        self.n = 2\n    @property\n    def half(self):\n        \
                 return self.n / 4\nm = M()\n";
    for (code, want) in [("print(m.half)", "print(m.half())"), ("print(m.n / 4)", "print(m.n / 4.0)")] {
        let here = told("", &format!("{class}{code}")).and_then(|hint| offered(&hint)).unwrap_or_default();
        assert!(here.ends_with(want), "{here}");
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

/// An object is a map here, which is copied: that is told wherever Python would have the same one.
#[test]
fn an_object_that_is_copied_is_told_of() {
    let class = "class Meter:\n    def __init__(self):\n        self.n = 0\n    def add(self, k):\n        self.n += k\n    \
                 def get(self):\n        return self.n\n";
    for (code, is_told) in [
        ("def go(m):\n    m.add(1)\nm = Meter()\ngo(m)", true),
        ("class Holder:\n    def __init__(self, m):\n        self.m = m\nm = Meter()\nh = Holder(m)", true),
        ("m = Meter()\nall = [m]", true),
        ("m = Meter()\nall = []\nall.append(m)", true),
        ("m = Meter()\nall = {\"a\": m}", true),
        ("all = [Meter() for _ in range(2)]\nfor m in all:\n    m.add(1)", true),
        ("all = [Meter() for _ in range(2)]\nfor i, m in enumerate(all):\n    m.add(i)", true),
        ("all = [Meter() for _ in range(2)]\nm = all[0]\nm.add(1)", true),
        ("m = Meter()\nother = m\nother.add(1)", true),
        (
            "class Chain:\n    def __init__(self):\n        self.n = 0\n    def go(self):\n        self.n += 1\n        return self\nc = \
          Chain()\nc.go().go()",
            true,
        ),
        ("m = Meter()\nfor i in range(3):\n    m.add(i)\nprint(m.get(), m.n)", false),
        ("all = [Meter() for _ in range(2)]\nfor m in all:\n    print(m.get())", false),
    ] {
        let hint = told("", &format!("{class}{code}")).unwrap_or_default();
        assert_eq!(hint.contains("an object is a map"), is_told, "{code}: {hint}");
        assert!(offered(&hint).is_some(), "{code}: {hint}");
    }
    for code in ["xs = [1]\nys = xs\nys.append(4)", "xs = [1]\nys = xs\nxs.append(4)\nprint(len(ys))"] {
        let hint = told("", code).unwrap_or_default();
        assert!(hint.contains("an array or a map is copied"), "{code}: {hint}");
    }
}
