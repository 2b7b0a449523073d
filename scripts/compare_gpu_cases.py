"""The cases of `compare_gpu.py`, the most telling first: a name, sizes, and what is set up and timed in either language.

Sizes are variables on both sides, so that a trial can cut them down. `d` is the device: options in Rhai, a name in
Python, where `rand` and `randn` make tensors on it.
"""

CASES = {}


def case(name, sizes, ours, work, theirs, their_work):
    CASES[name] = (sizes, ours, work, theirs, their_work)


# One operation of hardly any work: what the host costs.
case("x + y, 4 elements", {}, "let x = rand([4], d); let y = rand([4], d);", "x + y;", "x, y = rand(4), rand(4)", "x + y")
case(
    "x + y, 4 elements, tracked", {}, "let x = rand([4], d); x.requires_grad_(); let y = rand([4], d);", "x + y;",
    "x, y = rand(4).requires_grad_(), rand(4)", "x + y",
)
case("sum().item()", {}, "let x = rand([4], d);", "x.sum().item();", "x = rand(4)", "x.sum().item()")

# Products.
for n in (4096, 8192, 1024):
    for name, dtype in (("float32", "float32"), ("tf32", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16"), ("float64", "float64")):
        if name == "float64" and n == 8192:
            continue
        tf32 = name == "tf32"
        case(
            f"matmul {name} {n}", {"n": n},
            f"matmul::allow_tf32({str(tf32).lower()}); let a = randn([n, n], d).to({dtype}); let b = randn([n, n], d).to({dtype});",
            "a.matmul(b);",
            f"torch.backends.cuda.matmul.allow_tf32 = {tf32}; a, b = (randn(n, n).to(torch.{dtype}) for _ in 'ab')",
            "a @ b",
        )
case(
    "nn::Linear 4096 to 4096, bfloat16, batch 4096, forward", {"n": 4096},
    "let net = nn::Linear(n, n).cuda().bfloat16(); let x = randn([n, n], d).bfloat16();", "net.forward(x);",
    "net = nn.Linear(n, n).to(d, torch.bfloat16); x = randn(n, n).bfloat16()", "net(x)",
)

# 256 M elements, each touched once or twice.
WIDE = ({"n": 1 << 28}, "let a = rand([n], d); let b = rand([n], d);", "a, b = rand(n), rand(n)")
ROWS = ({"n": 16384}, "let a = rand([n, n], d);", "a = rand(n, n)")
LINES = ({"n": 262144, "m": 1024}, "let a = rand([n, m], d); let index = randint(0, n, [n], d);", "a = rand(n, m); index = torch.randint(0, n, (n,), device=d)")
for name, (sizes, ours, theirs), work, their_work in (
    ("add 256M", WIDE, "a + b;", "a + b"),
    ("exp 256M", WIDE, "a.exp();", "a.exp()"),
    ("relu 256M", WIDE, "a.relu();", "a.relu()"),
    ("gelu 256M", WIDE, "F::gelu(a);", "F.gelu(a)"),
    ("clone 256M", WIDE, "a.clone();", "a.clone()"),
    ("to float16 256M", WIDE, "a.half();", "a.half()"),
    ("add a row of 16384 to 16384", ({"n": 16384}, "let a = rand([n, n], d); let b = rand([n], d);", "a, b = rand(n, n), rand(n)"), "a + b;", "a + b"),
    ("transpose 256M", ROWS, "a.T.contiguous();", "a.T.contiguous()"),
    ("rand 256M", WIDE, "rand([n], d);", "rand(n)"),
    ("randn 256M", WIDE, "randn([n], d);", "randn(n)"),
    ("dropout 0.1 256M", WIDE, "F::dropout(a, 0.1, true);", "F.dropout(a, 0.1, True)"),
    ("sum 256M", WIDE, "a.sum();", "a.sum()"),
    ("sum(0) 256M", ROWS, "a.sum(0);", "a.sum(0)"),
    ("sum(1) 256M", ROWS, "a.sum(1);", "a.sum(1)"),
    ("sum(1) of [100000, 64]", ({"n": 100_000}, "let a = rand([n, 64], d);", "a = rand(n, 64)"), "a.sum(1);", "a.sum(1)"),
    ("argmax(1) 256M", ROWS, "a.argmax(1);", "a.argmax(1)"),
    ("softmax(-1) 256M", ROWS, "a.softmax(-1);", "a.softmax(-1)"),
    ("layer_norm 256M", LINES, "F::layer_norm(a, [m]);", "F.layer_norm(a, (m,))"),
    ("cumsum(1) 256M", ROWS, "a.cumsum(1);", "a.cumsum(1)"),
    ("cumsum of a vector 256M", WIDE, "a.cumsum(0);", "a.cumsum(0)"),
    ("x[mask] of 64M, half true", ({"n": 1 << 26}, "let a = rand([n], d); let mask = rand([n], d) < 0.5;", "a = rand(n); mask = rand(n) < 0.5"), "a[mask];", "a[mask]"),
    ("nonzero of 64M, half true", ({"n": 1 << 26}, "let mask = rand([n], d) < 0.5;", "mask = rand(n) < 0.5"), "mask.nonzero();", "mask.nonzero()"),
    ("index_select 256M", LINES, "a.index_select(0, index);", "a.index_select(0, index)"),
):
    case(name, sizes, ours, work, theirs, their_work)

# Attention, bfloat16.
SIZES = {"b": 8, "h": 16, "t": 2048, "e": 64}
PLAIN = ("randn([b, h, t, e], d).bfloat16()", "randn(b, h, t, e).bfloat16()")
VIEWS = ("randn([b, t, h, e], d).bfloat16().transpose(1, 2)", "randn(b, t, h, e).bfloat16().transpose(1, 2)")
for name, (ours, theirs), options, their_options in (
    ("", PLAIN, "", ""),
    (", views", VIEWS, "", ""),
    (", causal", PLAIN, ", #{is_causal: true}", ", is_causal=True"),
):
    case(
        f"attention 8x16x2048x64 bfloat16{name}", SIZES,
        f"let q = {ours}; let k = {ours}; let v = {ours};", f"F::scaled_dot_product_attention(q, k, v{options});",
        f"q, k, v = ({theirs} for _ in 'qkv')", f"F.scaled_dot_product_attention(q, k, v{their_options})",
    )
case(
    "attention 8x16x2048x64 bfloat16, forward and backward", SIZES,
    f"let q = {PLAIN[0]}.requires_grad_(); let k = {PLAIN[0]}.requires_grad_(); let v = {PLAIN[0]}.requires_grad_(); let g = {PLAIN[0]};",
    "q.grad = (); k.grad = (); v.grad = (); F::scaled_dot_product_attention(q, k, v).backward(g);",
    f"q, k, v = ({PLAIN[1]}.requires_grad_() for _ in 'qkv'); g = {PLAIN[1]}",
    "q.grad = k.grad = v.grad = None; F.scaled_dot_product_attention(q, k, v).backward(g)",
)

# Training steps.
SMALL = (
    {"batch": 128}, "[batch, 64]", "nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10))",
    "nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))",
)
BIG = (
    {"batch": 4096, "n": 4096}, "[batch, n]",
    "nn::Sequential(nn::Linear(n, n), nn::ReLU(), nn::Linear(n, n), nn::ReLU(), nn::Linear(n, 10))",
    "nn.Sequential(nn.Linear(n, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), nn.Linear(n, 10))",
)
CNN = (
    {"batch": 256}, "[batch, 1, 28, 28]",
    "nn::Sequential(nn::Conv2d(1, 32, 3, #{padding: 1}), nn::ReLU(), nn::Conv2d(32, 64, 3, #{padding: 1}), nn::ReLU(), "
    "nn::MaxPool2d(2), nn::Flatten(), nn::Linear(12544, 128), nn::ReLU(), nn::Linear(128, 10))",
    "nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), "
    "nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12544, 128), nn.ReLU(), nn.Linear(128, 10))",
)
STEP = "opt.zero_grad(); let loss = F::cross_entropy(net.forward(x), y); loss.backward(); opt.step();"
THEIR_STEP = "opt.zero_grad(); loss = F.cross_entropy(net(x), y); loss.backward(); opt.step()"
GRAPH = f"for i in 0..3 {{ {STEP} }} opt.zero_grad(); let graph = cuda::graph(|| {{ let loss = F::cross_entropy(net.forward(x), y); loss.backward(); opt.step(); loss }});"
THEIR_GRAPH = f"""
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        {THEIR_STEP}
torch.cuda.current_stream().wait_stream(side)
opt.zero_grad()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = F.cross_entropy(net(x), y); loss.backward(); opt.step()"""


def step(name, net, opt, setup="", work=STEP, their_setup="", their_work=THEIR_STEP, flags="", their_flags=""):
    sizes, shape, ours, theirs = net
    case(
        f"training step, {name}", sizes,
        f"{flags} let net = {ours}.cuda(); let opt = optim::{opt}(net.parameters(), #{{lr: 0.01}});"
        f" let x = rand({shape}, d); let y = randint(0, 10, [batch], d); {setup}",
        work,
        f"{their_flags}\nnet = {theirs}.to(d); opt = torch.optim.{opt}(net.parameters(), lr=0.01)\n"
        f"x = rand(*{shape}); y = torch.randint(0, 10, (batch,), device=d)\n{their_setup}",
        their_work,
    )


def cast(name, dtype):
    step(
        name, BIG, "SGD",
        work=f'opt.zero_grad(); let loss = (); with autocast("cuda", {dtype}) {{ loss = F::cross_entropy(net.forward(x), y); }} loss.backward(); opt.step();',
        their_work=f"opt.zero_grad()\nwith torch.autocast(d, torch.{dtype}): loss = F.cross_entropy(net(x), y)\nloss.backward(); opt.step()",
    )


step("MLP 64-256-10, SGD, batch 128", SMALL, "SGD")
step("MLP 64-256-10, Adam, batch 128", SMALL, "Adam")
step("MLP 64-256-10, SGD, batch 128, loss.item()", SMALL, "SGD", work=STEP + " loss.item();", their_work=THEIR_STEP + "; loss.item()")
step("MLP 64-256-10, SGD, batch 128, graph", SMALL, "SGD", GRAPH, "graph.replay();", THEIR_GRAPH, "graph.replay()")
step("MLP 4096x3, SGD, batch 4096", BIG, "SGD")
step("MLP 4096x3, SGD, batch 4096, tf32", BIG, "SGD", flags="matmul::allow_tf32(true);", their_flags="torch.backends.cuda.matmul.allow_tf32 = True")
cast("MLP 4096x3, SGD, batch 4096, autocast bfloat16", "bfloat16")
cast("MLP 4096x3, SGD, batch 4096, autocast float16", "float16")
step("CNN 28x28, Adam, batch 256", CNN, "Adam")
step("CNN 28x28, Adam, batch 256, benchmark", CNN, "Adam", flags="cudnn::benchmark(true);", their_flags="torch.backends.cudnn.benchmark = True")
case(
    "Adam step, 50 of [512, 512] and 100 of [512]", {"n": 512},
    "let ps = []; for i in 0..50 { ps.push(randn([n, n], d).requires_grad_()); ps.push(randn([n], d).requires_grad_()); ps.push(randn([n], d).requires_grad_()); }"
    " for p in ps { p.grad = randn_like(p); } let opt = optim::Adam(ps);",
    "opt.step();",
    "ps = [randn(*s).requires_grad_() for _ in range(50) for s in ((n, n), (n,), (n,))]\n"
    "for p in ps: p.grad = torch.randn_like(p)\nopt = torch.optim.Adam(ps)",
    "opt.step()",
)
case(
    "cross_entropy, 50000 classes, batch 2048, forward and backward", {"n": 2048, "c": 50_000},
    "let x = randn([n, c], d).requires_grad_(); let y = randint(0, c, [n], d);", "x.grad = (); F::cross_entropy(x, y).backward();",
    "x = randn(n, c).requires_grad_(); y = torch.randint(0, c, (n,), device=d)", "x.grad = None; F.cross_entropy(x, y).backward()",
)
case(
    "batch_norm [64, 256, 28, 28], forward and backward", {"n": 64, "c": 256},
    "let net = nn::BatchNorm2d(c).cuda(); let x = randn([n, c, 28, 28], d).requires_grad_(); let g = randn_like(x);",
    "net.zero_grad(); x.grad = (); net.forward(x).backward(g);",
    "net = nn.BatchNorm2d(c).to(d); x = randn(n, c, 28, 28).requires_grad_(); g = torch.randn_like(x)",
    "net.zero_grad(); x.grad = None; net(x).backward(g)",
)
case(
    "LSTM 256 to 512, sequence 64, batch 32, forward and backward", {"t": 64, "n": 32, "i": 256, "h": 512},
    "let net = nn::LSTM(i, h).cuda(); let x = randn([t, n, i], d); let g = randn([t, n, h], d);",
    "net.zero_grad(); net.forward(x)[0].backward(g);",
    "net = nn.LSTM(i, h).to(d); x = randn(t, n, i); g = randn(t, n, h)", "net.zero_grad(); net(x)[0].backward(g)",
)
for dtype in ("float32", "bfloat16"):
    case(
        f"embedding 50000 x 512, 8192 places, {dtype}, forward and backward", {"v": 50_000, "e": 512, "n": 8192},
        f"let w = randn([v, e], d).to({dtype}).requires_grad_(); let index = randint(0, v, [n], d); let g = randn([n, e], d).to({dtype});",
        "w.grad = (); F::embedding(index, w).backward(g);",
        f"w = randn(v, e).to(torch.{dtype}).requires_grad_(); index = torch.randint(0, v, (n,), device=d); g = randn(n, e).to(torch.{dtype})",
        "w.grad = None; F.embedding(index, w).backward(g)",
    )

# Copies.
for size, label in ((1 << 10, "1 KiB"), (1 << 16, "64 KiB"), (1 << 24, "16 MiB"), (1 << 28, "256 MiB")):
    for kind, pin, more, their_more in (("pageable", "", "", ""), ("pinned", ".pin_memory()", ", #{non_blocking: true}", ", non_blocking=True")):
        ours = f"let h = zeros([n], #{{dtype: uint8}}){pin}; let g = h.cuda();"
        theirs = f"h = torch.zeros(n, dtype=torch.uint8){pin}; g = h.to(d, copy=True)"
        case(f"copy to the GPU, {kind}, {label}", {"n": size}, ours, f"g.copy_(h{more});", theirs, f"g.copy_(h{their_more})")
        case(f"copy from the GPU, {kind}, {label}", {"n": size}, ours, f"h.copy_(g{more});", theirs, f"h.copy_(g{their_more})")

# The rest.
case("sort 16M", {"n": 1 << 24}, "let a = rand([n], d);", "a.sort();", "a = rand(n)", "a.sort()")
case("topk(10) of [4096, 16384]", {"n": 4096, "m": 16384}, "let a = rand([n, m], d);", "a.topk(10);", "a = rand(n, m)", "a.topk(10)")
case("topk(500) of 64M", {"n": 1 << 26}, "let a = rand([n], d);", "a.topk(500);", "a = rand(n)", "a.topk(500)")
case("softmax(-1) of [4096, 8192], float64", {"n": 4096, "m": 8192}, "let a = rand([n, m], d).to(float64);", "a.softmax(-1);", "a = rand(n, m).double()", "a.softmax(-1)")
SQUARE = "let a = randn([n, n], d); let s = a.matmul(a.t()) + a.size(0) * eye(n, d); let b = randn([n, 8], d);"
THEIR_SQUARE = "a = randn(n, n); s = a @ a.T + n * torch.eye(n, device=d); b = randn(n, 8)"
for name, n, work in (
    ("solve", 2048, "linalg{}solve(a, b)"), ("cholesky", 2048, "linalg{}cholesky(s)"), ("qr", 1024, "linalg{}qr(a)"),
    ("eigh", 1024, "linalg{}eigh(s)"), ("svd", 512, "linalg{}svd(a)"),
):
    case(f"linalg.{name} {n}", {"n": n}, SQUARE, work.format("::") + ";", THEIR_SQUARE, "torch." + work.format("."))
for label, allow in (("TF32", True), ("float32", False)):
    case(
        f"conv 3x3 64x256x14x14 to 256, {label}", {"n": 64, "c": 256},
        f"cudnn::allow_tf32({str(allow).lower()}); let x = rand([n, c, 14, 14], d); let w = rand([c, c, 3, 3], d);",
        "F::conv2d(x, w, (), 1, 1);",
        f"torch.backends.cudnn.allow_tf32 = {allow}; x, w = rand(n, c, 14, 14), rand(c, c, 3, 3)", "F.conv2d(x, w, None, 1, 1)",
    )
