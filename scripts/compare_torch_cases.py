"""What `compare_torch.py --families` times: common work of seventeen families, at two sizes each.

A case has a family, a name, and for either language what is set up and what is timed. `N` is a size; the two sizes stand
behind. Chosen by what programs do, before any of it was timed.
"""

from typing import NamedTuple


class Case(NamedTuple):
    family: str
    name: str
    # In a script of ours: set-up, and the expression that is timed.
    setup: str
    body: str
    # In Python, with torch's names, `F` and `nn` at hand.
    torch_setup: str
    torch_body: str
    sizes: tuple


def case(family, name, setup, body, sizes, torch_setup=None, torch_body=None):
    """What Python writes the same way is written once; `let` is left out there."""
    plain = setup.replace("let ", "")
    return Case(family, name, setup, body, torch_setup or plain, torch_body or body.replace("::", "."), sizes)


GRADIENT = "#{requires_grad: true}"

CASES = [
    case("factorise", "linalg.solve", "let a = randn([N, N]); let b = randn([N, N]);", "linalg::solve(a, b)", (128, 512)),
    case("factorise", "linalg.qr", "let a = randn([N, N]);", "linalg::qr(a)", (64, 256)),
    case("factorise", "linalg.svd", "let a = randn([N, N]);", "linalg::svd(a)", (32, 128)),
    case("distance", "cdist", "let a = randn([N, 64]); let b = randn([N, 64]);", "cdist(a, b)", (200, 1000)),
    case("distance", "cosine_similarity", "let a = randn([N, 64]); let b = randn([N, 64]);",
         "F::cosine_similarity(a, b)", (200, 20000)),
    case("distance", "pairwise_distance", "let a = randn([N, 64]); let b = randn([N, 64]);",
         "F::pairwise_distance(a, b)", (200, 20000)),
    case("sort", "sort rows", "let a = randn([N, 1000]);", "a.sort()", (10, 500)),
    case("sort", "topk(10) of rows", "let a = randn([N, 1000]);", "a.topk(10)", (100, 1000)),
    case("sort", "unique", "let a = randint(0, 1000, [N]);", "a.unique()", (1000, 100000),
         "a = randint(0, 1000, [N])"),
    case("broadcast", "plus a row", "let a = randn([N, N]); let b = randn([N]);", "a + b", (128, 1024)),
    case("broadcast", "plus a column", "let a = randn([N, N]); let b = randn([N, 1]);", "a + b", (128, 1024)),
    case("broadcast", "outer product", "let a = randn([N, 1]); let b = randn([1, N]);", "a * b", (128, 2048)),
    case("recurrent", "LSTM forward and backward", "let x = randn([50, N, 64]); let net = nn::LSTM(64, 64);",
         "net.forward(x)[0].sum().backward()", (8, 64), "x = randn([50, N, 64]); net = nn.LSTM(64, 64)",
         "net(x)[0].sum().backward()"),
    case("recurrent", "GRU forward", "let x = randn([50, N, 64]); let net = nn::GRU(64, 64);", "net.forward(x)[0]",
         (8, 64), "x = randn([50, N, 64]); net = nn.GRU(64, 64)", "net(x)[0]"),
    case("recurrent", "LSTMCell", "let x = randn([N, 128]); let net = nn::LSTMCell(128, 128);", "net.forward(x)[0]",
         (1, 128), "x = randn([N, 128]); net = nn.LSTMCell(128, 128)", "net(x)[0]"),
    case("attention", "scaled_dot_product_attention", "let q = randn([4, 8, N, 64]);",
         "F::scaled_dot_product_attention(q, q, q)", (64, 256)),
    case("attention", "the same, forward and backward", "let q = randn([4, 8, N, 64], " + GRADIENT + ");",
         "F::scaled_dot_product_attention(q, q, q).sum().backward()", (64, 256),
         "q = randn([4, 8, N, 64], requires_grad=True)"),
    case("attention", "MultiheadAttention", "let x = randn([8, N, 128]); let net = nn::MultiheadAttention(128, 8, " +
         "#{batch_first: true});", "net.forward(x, x, x)[0]", (32, 256),
         "x = randn([8, N, 128]); net = nn.MultiheadAttention(128, 8, batch_first=True)", "net(x, x, x)[0]"),
    case("permute", "permute of four to contiguous", "let a = randn([8, 16, N, N]);",
         "a.permute([0, 2, 3, 1]).contiguous()", (16, 128)),
    case("permute", "flip", "let a = randn([N, 1024]);", "a.flip([1])", (32, 1024)),
    case("permute", "roll", "let a = randn([N, 1024]);", "a.roll(3, 1)", (32, 1024)),
    case("convolution", "conv1d", "let x = randn([N, 16, 256]); let w = randn([32, 16, 5]);", "F::conv1d(x, w)", (2, 32)),
    case("convolution", "depthwise conv2d", "let x = randn([N, 32, 28, 28]); let w = randn([32, 1, 3, 3]);",
         "F::conv2d(x, w, #{padding: 1, groups: 32})", (2, 32), "x = randn([N, 32, 28, 28]); w = randn([32, 1, 3, 3])",
         "F.conv2d(x, w, padding=1, groups=32)"),
    case("convolution", "conv_transpose2d", "let x = randn([N, 32, 14, 14]); let w = randn([32, 16, 4, 4]);",
         "F::conv_transpose2d(x, w, #{stride: 2, padding: 1})", (2, 32),
         "x = randn([N, 32, 14, 14]); w = randn([32, 16, 4, 4])", "F.conv_transpose2d(x, w, stride=2, padding=1)"),
    case("pool", "max_pool2d", "let x = randn([N, 64, 28, 28]);", "F::max_pool2d(x, 2)", (2, 32)),
    case("pool", "avg_pool2d", "let x = randn([N, 64, 28, 28]);", "F::avg_pool2d(x, 2)", (2, 32)),
    case("pool", "adaptive_avg_pool2d", "let x = randn([N, 64, 28, 28]);", "F::adaptive_avg_pool2d(x, 7)", (2, 32)),
    case("embedding", "embedding", "let w = randn([10000, 128]); let i = randint(0, 10000, [N]);", "F::embedding(i, w)",
         (256, 16384)),
    case("embedding", "embedding, forward and backward", "let w = randn([10000, 128], " + GRADIENT +
         "); let i = randint(0, 10000, [N]);", "F::embedding(i, w).sum().backward()", (256, 16384),
         "w = randn([10000, 128], requires_grad=True); i = randint(0, 10000, [N])"),
    case("embedding", "index_select", "let w = randn([10000, 128]); let i = randint(0, 10000, [N]);",
         "w.index_select(0, i)", (256, 16384)),
    case("scatter", "index_add", "let a = zeros([1000, 64]); let i = randint(0, 1000, [N]); let v = randn([N, 64]);",
         "a.index_add(0, i, v)", (100, 20000)),
    case("scatter", "scatter_add", "let a = zeros([1000, 64]); let i = randint(0, 1000, [N, 64]); let v = randn([N, 64]);",
         "a.scatter_add(0, i, v)", (100, 20000)),
    case("scatter", "gather", "let a = randn([1000, 64]); let i = randint(0, 1000, [N, 64]);", "a.gather(0, i)",
         (100, 20000)),
    case("scan", "cumsum of rows", "let a = randn([N, 1000]);", "a.cumsum(1)", (10, 1000)),
    case("scan", "cumprod of columns", "let a = rand([1000, N]);", "a.cumprod(0)", (10, 1000)),
    case("scan", "logcumsumexp", "let a = randn([N, 1000]);", "a.logcumsumexp(1)", (10, 1000)),
    case("norm", "layer_norm, forward and backward", "let x = randn([N, 512], " + GRADIENT +
         "); let net = nn::LayerNorm(512);", "net.forward(x).sum().backward()", (32, 2048),
         "x = randn([N, 512], requires_grad=True); net = nn.LayerNorm(512)", "net(x).sum().backward()"),
    case("norm", "batch_norm, training", "let x = randn([N, 32, 28, 28]); let net = nn::BatchNorm2d(32);",
         "net.forward(x)", (2, 64), "x = randn([N, 32, 28, 28]); net = nn.BatchNorm2d(32)", "net(x)"),
    case("norm", "group_norm", "let x = randn([N, 32, 28, 28]);", "F::group_norm(x, 8)", (2, 64)),
    case("loss", "cross_entropy, forward and backward", "let x = randn([N, 1000], " + GRADIENT +
         "); let t = randint(0, 1000, [N]);", "F::cross_entropy(x, t).backward()", (16, 2048),
         "x = randn([N, 1000], requires_grad=True); t = randint(0, 1000, [N])"),
    case("loss", "mse_loss, forward and backward", "let x = randn([N, 1000], " + GRADIENT + "); let t = randn([N, 1000]);",
         "F::mse_loss(x, t).backward()", (16, 2048),
         "x = randn([N, 1000], requires_grad=True); t = randn([N, 1000])"),
    case("loss", "binary_cross_entropy_with_logits", "let x = randn([N, 100]); let t = rand([N, 100]);",
         "F::binary_cross_entropy_with_logits(x, t)", (16, 10000)),
    case("mask", "boolean mask", "let a = randn([N]); let m = a > 0.0;", "a[m]", (10000, 1000000)),
    case("mask", "where", "let a = randn([N]); let b = randn([N]); let m = a > 0.0;", "where(m, a, b)", (10000, 1000000)),
    case("mask", "masked_fill", "let a = randn([N]); let m = a > 0.0;", "a.masked_fill(m, 0.0)", (10000, 1000000)),
    case("cast", "uint8 to float / 255", "let a = randint(0, 256, [N], #{dtype: uint8});", "a.float() / 255.0",
         (10000, 4000000), "a = randint(0, 256, [N], dtype=uint8)", "a.float() / 255.0"),
    case("cast", "to bfloat16 and back", "let a = randn([N]);", "a.bfloat16().float()", (10000, 4000000)),
    case("cast", "one_hot", "let a = randint(0, 10, [N]);", "F::one_hot(a, 10)", (1000, 100000)),
    case("reduce", "var of rows", "let a = randn([N, 1000]);", "a.var(1)", (10, 2000)),
    case("reduce", "argmax of rows", "let a = randn([N, 1000]);", "a.argmax(1)", (10, 2000)),
    case("reduce", "logsumexp of columns", "let a = randn([1000, N]);", "a.logsumexp(0)", (10, 2000)),
    case("random", "randn", "let n = N;", "randn([n])", (1000, 1000000)),
    case("random", "dropout", "let x = randn([N]);", "F::dropout(x, 0.5)", (1000, 1000000)),
    case("random", "randperm", "let n = N;", "randperm(n)", (1000, 1000000)),
]
