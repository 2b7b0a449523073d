#!/usr/bin/env python3
"""Records what PyTorch's modules and optimisers print, draw, refuse and lose: tests/golden/modules.json.

Each entry pairs a line of tensorlab's script language with what PyTorch gave for the Python beside it here.
Run it with a PyTorch on the CPU: python3 scripts/record_modules.py > tests/golden/modules.json
"""

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn, optim

warnings.simplefilter("ignore")
torch.set_num_threads(2)

PRINTED = [
    ("nn::Linear(3, 2, #{bias: false})", lambda: nn.Linear(3, 2, bias=False)),
    ("nn::Conv1d(2, 4, 3)", lambda: nn.Conv1d(2, 4, 3)),
    ("nn::Conv2d(1, 32, 3, #{padding: 1})", lambda: nn.Conv2d(1, 32, 3, padding=1)),
    ("nn::Conv2d(4, 8, [3, 5], #{stride: 2, padding: 1, dilation: [1, 2], groups: 2, bias: false})",
     lambda: nn.Conv2d(4, 8, (3, 5), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False)),
    ("nn::Conv2d(1, 2, 3, #{padding: \"same\"})", lambda: nn.Conv2d(1, 2, 3, padding="same")),
    ("nn::Conv2d(1, 2, 3, #{padding: 1, padding_mode: \"reflect\"})",
     lambda: nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect")),
    ("nn::BatchNorm1d(3)", lambda: nn.BatchNorm1d(3)),
    ("nn::BatchNorm2d(3, #{momentum: (), affine: false})", lambda: nn.BatchNorm2d(3, momentum=None, affine=False)),
    ("nn::BatchNorm2d(3, #{track_running_stats: false})", lambda: nn.BatchNorm2d(3, track_running_stats=False)),
    ("nn::LayerNorm(4)", lambda: nn.LayerNorm(4)),
    ("nn::LayerNorm([2, 4], #{elementwise_affine: false})", lambda: nn.LayerNorm([2, 4], elementwise_affine=False)),
    ("nn::LayerNorm(4, #{bias: false})", lambda: nn.LayerNorm(4, bias=False)),
    ("nn::GroupNorm(2, 4)", lambda: nn.GroupNorm(2, 4)),
    ("nn::Dropout(0.25)", lambda: nn.Dropout(0.25)),
    ("nn::Embedding(10, 3)", lambda: nn.Embedding(10, 3)),
    ("nn::Embedding(10, 3, #{padding_idx: -1})", lambda: nn.Embedding(10, 3, padding_idx=-1)),
    ("nn::Flatten()", lambda: nn.Flatten()),
    ("nn::Identity()", lambda: nn.Identity()),
    ("nn::MaxPool2d(2)", lambda: nn.MaxPool2d(2)),
    ("nn::MaxPool2d([3, 2], #{stride: 2, padding: 1, ceil_mode: true})",
     lambda: nn.MaxPool2d((3, 2), stride=2, padding=1, ceil_mode=True)),
    ("nn::AvgPool2d([2, 3], #{stride: [1, 2]})", lambda: nn.AvgPool2d((2, 3), stride=(1, 2))),
    ("nn::AdaptiveAvgPool2d(1)", lambda: nn.AdaptiveAvgPool2d(1)),
    ("nn::AdaptiveAvgPool2d([(), 2])", lambda: nn.AdaptiveAvgPool2d((None, 2))),
    ("nn::ReLU()", lambda: nn.ReLU()),
    ("nn::ReLU(true)", lambda: nn.ReLU(True)),
    ("nn::GELU(\"tanh\")", lambda: nn.GELU("tanh")),
    ("nn::SiLU()", lambda: nn.SiLU()),
    ("nn::Tanh()", lambda: nn.Tanh()),
    ("nn::Sigmoid()", lambda: nn.Sigmoid()),
    ("nn::Softmax()", lambda: nn.Softmax()),
    ("nn::LogSoftmax(-1)", lambda: nn.LogSoftmax(-1)),
    ("nn::Softplus()", lambda: nn.Softplus()),
    ("nn::ELU()", lambda: nn.ELU()),
    ("nn::LeakyReLU(0.2)", lambda: nn.LeakyReLU(0.2)),
    ("nn::Hardtanh()", lambda: nn.Hardtanh()),
    ("nn::ReLU6()", lambda: nn.ReLU6()),
    ("nn::Mish()", lambda: nn.Mish()),
    ("nn::CrossEntropyLoss(#{weight: ones(3)})", lambda: nn.CrossEntropyLoss(weight=torch.ones(3))),
    ("nn::MSELoss()", lambda: nn.MSELoss()),
    ("nn::NLLLoss()", lambda: nn.NLLLoss()),
    ("nn::BCEWithLogitsLoss()", lambda: nn.BCEWithLogitsLoss()),
    ("nn::Sequential()", lambda: nn.Sequential()),
    ("nn::ModuleList([])", lambda: nn.ModuleList([])),
    ("nn::ModuleList([nn::Linear(2, 2), nn::Linear(2, 2), nn::ReLU()])",
     lambda: nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])),
    ("nn::Sequential(nn::Sequential(nn::Linear(1, 2)), nn::Dropout())",
     lambda: nn.Sequential(nn.Sequential(nn.Linear(1, 2)), nn.Dropout())),
]

DRAWN = [
    ("nn::Linear(3, 2).weight", lambda: nn.Linear(3, 2).weight),
    ("nn::Linear(3, 2).bias", lambda: nn.Linear(3, 2).bias),
    ("nn::Linear(7, 5).weight", lambda: nn.Linear(7, 5).weight),
    ("nn::Linear(3, 2, #{dtype: float64}).weight", lambda: nn.Linear(3, 2, dtype=torch.float64).weight),
    ("nn::Conv1d(2, 4, 3).bias", lambda: nn.Conv1d(2, 4, 3).bias),
    ("nn::Conv2d(2, 3, 3).weight", lambda: nn.Conv2d(2, 3, 3).weight),
    ("nn::Conv2d(4, 6, [1, 3], #{groups: 2}).weight", lambda: nn.Conv2d(4, 6, (1, 3), groups=2).weight),
    ("nn::Embedding(5, 4).weight", lambda: nn.Embedding(5, 4).weight),
    ("nn::Embedding(3, 2, #{padding_idx: 1}).weight", lambda: nn.Embedding(3, 2, padding_idx=1).weight),
    ("F::dropout(ones(10), 0.5)", lambda: F.dropout(torch.ones(10), 0.5)),
    ("F::dropout(arange(40).float(), 0.1)", lambda: F.dropout(torch.arange(40).float(), 0.1)),
    ("nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1))[2].weight",
     lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))[2].weight),
    ("nn::init::xavier_uniform_(empty([3, 4]))", lambda: nn.init.xavier_uniform_(torch.empty(3, 4))),
    ("nn::init::xavier_normal_(empty([4, 5]), 0.5)", lambda: nn.init.xavier_normal_(torch.empty(4, 5), 0.5)),
    ("nn::init::kaiming_normal_(empty([4, 5]), #{mode: \"fan_out\", nonlinearity: \"relu\"})",
     lambda: nn.init.kaiming_normal_(torch.empty(4, 5), mode="fan_out", nonlinearity="relu")),
]

W = torch.ones(4, 3, 3, 3)
P = [torch.ones(2, requires_grad=True)]
LONG = torch.long

# `q` is an image [1, 3, 5, 5], `w` a weight [4, 3, 3, 3], `p` an array of one parameter, `l` a Linear(3, 2).
L = nn.Linear(3, 2)
ERRORS = [
    ("F::conv2d(ones([1, 2, 5, 5]), w)", lambda: F.conv2d(torch.ones(1, 2, 5, 5), W)),
    ("F::conv2d(ones([2, 5]), w)", lambda: F.conv2d(torch.ones(2, 5), W)),
    ("F::conv2d(ones([1, 3, 2, 2]), w)", lambda: F.conv2d(torch.ones(1, 3, 2, 2), W)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, ones(3))", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, torch.ones(3))),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{stride: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, stride=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: -1})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding=-1)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{dilation: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, dilation=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{groups: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, groups=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{groups: 3})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, groups=3)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{stride: [1, 2, 3]})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, stride=(1, 2, 3))),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: \"same\", stride: 2})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding="same", stride=2)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: \"foo\"})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding="foo")),
    ("F::conv2d(ones([1, 3, 5, 5]), w, ones(4).double())",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, torch.ones(4).double())),
    ("nn::Conv2d(3, 4, 3, #{groups: 2})", lambda: nn.Conv2d(3, 4, 3, groups=2)),
    ("nn::Conv2d(4, 3, 3, #{groups: 2})", lambda: nn.Conv2d(4, 3, 3, groups=2)),
    ("F::max_pool2d(ones([1, 1, 4, 4]), 2, #{padding: 2})", lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=2)),
    ("F::max_pool2d(ones([1, 1, 1, 1]), 2)", lambda: F.max_pool2d(torch.ones(1, 1, 1, 1), 2)),
    ("F::max_pool2d(ones(4), 2)", lambda: F.max_pool2d(torch.ones(4), 2)),
    ("F::adaptive_avg_pool2d(ones(4), 2)", lambda: F.adaptive_avg_pool2d(torch.ones(4), 2)),
    ("F::cross_entropy(ones([4, 3]), zeros(2).long())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(2, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), zeros(4).int())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=torch.int))),
    ("F::cross_entropy(ones([4, 3]), zeros(4))", lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4))),
    ("F::cross_entropy(ones([4, 3]), zeros([4, 4]).long())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, 4, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3, 2]), zeros([4, 3]).long())",
     lambda: F.cross_entropy(torch.ones(4, 3, 2), torch.zeros(4, 3, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), #{reduction: \"foo\"})",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), reduction="foo")),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), #{label_smoothing: 2})",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), label_smoothing=2)),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), ones(4))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), torch.ones(4))),
    ("F::cross_entropy(ones(3), zeros(2).long())", lambda: F.cross_entropy(torch.ones(3), torch.zeros(2, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), tensor([0, 1, 7, 2]))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.tensor([0, 1, 7, 2]))),
    ("F::cross_entropy(ones([4, 3]), tensor([0, 1, -1, 2]))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.tensor([0, 1, -1, 2]))),
    ("F::mse_loss(ones([4, 3]), ones([2, 3]))", lambda: F.mse_loss(torch.ones(4, 3), torch.ones(2, 3))),
    ("F::smooth_l1_loss(ones(2), ones(2), #{beta: -1})", lambda: F.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=-1)),
    ("F::huber_loss(ones(2), ones(2), #{delta: 0})", lambda: F.huber_loss(torch.ones(2), torch.ones(2), delta=0)),
    ("F::binary_cross_entropy(ones([4, 3]), ones(4))", lambda: F.binary_cross_entropy(torch.ones(4, 3), torch.ones(4))),
    ("F::binary_cross_entropy_with_logits(ones([4, 3]), ones(4))",
     lambda: F.binary_cross_entropy_with_logits(torch.ones(4, 3), torch.ones(4))),
    ("F::embedding(tensor([-1]), ones([3, 2]))", lambda: F.embedding(torch.tensor([-1]), torch.ones(3, 2))),
    ("F::embedding(tensor([3]), ones([3, 2]))", lambda: F.embedding(torch.tensor([3]), torch.ones(3, 2))),
    ("F::embedding(tensor([1.0]), ones([3, 2]))", lambda: F.embedding(torch.tensor([1.0]), torch.ones(3, 2))),
    ("F::pad(ones(2), [1, 1, 1, 1])", lambda: F.pad(torch.ones(2), [1, 1, 1, 1])),
    ("F::pad(ones(2), [1])", lambda: F.pad(torch.ones(2), [1])),
    ("F::pad(ones([1, 2]), [3, 0], \"circular\")", lambda: F.pad(torch.ones(1, 2), [3, 0], mode="circular")),
    ("F::dropout(ones(3), 1.5)", lambda: F.dropout(torch.ones(3), 1.5)),
    ("F::gelu(tensor([1]))", lambda: F.gelu(torch.tensor([1]))),
    ("F::layer_norm(ones([2, 3]), [4])", lambda: F.layer_norm(torch.ones(2, 3), [4])),
    ("F::layer_norm(ones([2, 3]), [3], ones(4))", lambda: F.layer_norm(torch.ones(2, 3), [3], torch.ones(4))),
    ("F::batch_norm(ones([1, 3]), (), (), #{training: true})",
     lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True)),
    ("F::batch_norm(ones([4, 3]), (), ())", lambda: F.batch_norm(torch.ones(4, 3), None, None)),
    ("F::batch_norm(ones([4, 3]), ones(4), ones(4))", lambda: F.batch_norm(torch.ones(4, 3), torch.ones(4), torch.ones(4))),
    ("nn::BatchNorm1d(3).forward(ones([2, 3, 4, 5]))", lambda: nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5))),
    ("nn::BatchNorm2d(3).forward(ones([2, 3]))", lambda: nn.BatchNorm2d(3)(torch.ones(2, 3))),
    ("F::group_norm(ones([2, 4, 3]), 3)", lambda: F.group_norm(torch.ones(2, 4, 3), 3)),
    ("nn::GroupNorm(3, 4)", lambda: nn.GroupNorm(3, 4)),
    ("F::scaled_dot_product_attention(ones([2, 3, 4]), ones([2, 3, 4]), ones([2, 3, 4]), ones([3, 3]), "
     "#{is_causal: true})",
     lambda: F.scaled_dot_product_attention(*3 * [torch.ones(2, 3, 4)], torch.ones(3, 3), is_causal=True)),
    ("optim::SGD(p, #{lr: -1})", lambda: optim.SGD(P, lr=-1)),
    ("optim::SGD(p, #{momentum: -0.5})", lambda: optim.SGD(P, momentum=-0.5)),
    ("optim::SGD(p, #{weight_decay: -1})", lambda: optim.SGD(P, weight_decay=-1)),
    ("optim::SGD(p, #{nesterov: true})", lambda: optim.SGD(P, nesterov=True)),
    ("optim::Adam(p, #{eps: -1})", lambda: optim.Adam(P, eps=-1)),
    ("optim::Adam(p, #{betas: [1.0, 0.9]})", lambda: optim.Adam(P, betas=(1.0, 0.9))),
    ("optim::AdamW(p, #{weight_decay: -1})", lambda: optim.AdamW(P, weight_decay=-1)),
    ("optim::RMSprop(p, #{alpha: -1})", lambda: optim.RMSprop(P, alpha=-1)),
    ("optim::Adagrad(p, #{lr_decay: -1})", lambda: optim.Adagrad(P, lr_decay=-1)),
    ("optim::SGD([], #{lr: 0.1})", lambda: optim.SGD([], lr=0.1)),
    ("optim::SGD([1], #{lr: 0.1})", lambda: optim.SGD([1], lr=0.1)),
    ("optim::SGD([p[0] * 2], #{lr: 0.1})", lambda: optim.SGD([P[0] * 2], lr=0.1)),
    ("optim::SGD([#{params: p}, #{params: p}], #{lr: 0.1})",
     lambda: optim.SGD([{"params": P}, {"params": P}], lr=0.1)),
    ("l.load_state_dict(#{weight: ones([2, 4]), foo: ones(1)})",
     lambda: L.load_state_dict({"weight": torch.ones(2, 4), "foo": torch.ones(1)})),
    ("l.to(int64)", lambda: L.to(torch.int64)),
    ("nn::Sequential(nn::ReLU())[3]", lambda: nn.Sequential(nn.ReLU())[3]),
    ("nn::Embedding(3, 2, #{padding_idx: 5})", lambda: nn.Embedding(3, 2, padding_idx=5)),
    ("nn::Dropout(-0.5)", lambda: nn.Dropout(-0.5)),
]


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, bias=False),
        nn.BatchNorm2d(8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def norms():
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 16), nn.GroupNorm(4, 16), nn.SiLU(),
                         nn.Dropout(0.2), nn.Linear(16, 4))


MLP = "nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4))"
CNN = ("nn::Sequential(nn::Conv2d(1, 4, 3, #{padding: 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2), "
       "nn::Conv2d(4, 8, 3, #{bias: false}), nn::BatchNorm2d(8), nn::GELU(), nn::AdaptiveAvgPool2d(1), nn::Flatten(), "
       "nn::Linear(8, 4))")
NORMS = ("nn::Sequential(nn::Linear(8, 16), nn::LayerNorm(16), nn::Tanh(), nn::Linear(16, 16), nn::GroupNorm(4, 16), "
         "nn::SiLU(), nn::Dropout(0.2), nn::Linear(16, 4))")

TRAINED = [
    ("mlp sgd", mlp, MLP, "[32, 8]", (32, 8), "optim::SGD(net.parameters(), #{lr: 0.1})",
     lambda p: optim.SGD(p, lr=0.1)),
    ("mlp sgd nesterov", mlp, MLP, "[32, 8]", (32, 8),
     "optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01})",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ("mlp sgd dampening", mlp, MLP, "[32, 8]", (32, 8),
     "optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.8, dampening: 0.3})",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.8, dampening=0.3)),
    ("mlp adam", mlp, MLP, "[32, 8]", (32, 8), "optim::Adam(net.parameters(), #{lr: 0.01, weight_decay: 0.1})",
     lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1)),
    ("mlp adamw", mlp, MLP, "[32, 8]", (32, 8), "optim::AdamW(net.parameters(), #{lr: 0.01, betas: [0.8, 0.9]})",
     lambda p: optim.AdamW(p, lr=0.01, betas=(0.8, 0.9))),
    ("mlp rmsprop", mlp, MLP, "[32, 8]", (32, 8),
     "optim::RMSprop(net.parameters(), #{lr: 0.01, centered: true, momentum: 0.5, weight_decay: 0.01})",
     lambda p: optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5, weight_decay=0.01)),
    ("mlp adagrad", mlp, MLP, "[32, 8]", (32, 8), "optim::Adagrad(net.parameters(), #{lr: 0.05, lr_decay: 0.1})",
     lambda p: optim.Adagrad(p, lr=0.05, lr_decay=0.1)),
    ("cnn momentum", cnn, CNN, "[16, 1, 8, 8]", (16, 1, 8, 8), "optim::SGD(net.parameters(), #{lr: 0.05, momentum: 0.9})",
     lambda p: optim.SGD(p, lr=0.05, momentum=0.9)),
    ("norms adamw", norms, NORMS, "[32, 8]", (32, 8), "optim::AdamW(net.parameters(), #{lr: 0.01})",
     lambda p: optim.AdamW(p, lr=0.01)),
]


def text_of(run):
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise SystemExit("no error where one was expected")


def drawn(make):
    torch.manual_seed(0)
    t = make().detach()
    return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": t.double().flatten().tolist()}


def losses(make, shape, optimiser):
    torch.manual_seed(0)
    net = make()
    x = torch.rand(shape)
    y = torch.randint(0, 4, (shape[0],))
    opt = optimiser(net.parameters())
    seen = []
    for _ in range(10):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        seen.append(loss.item())
    net.eval()
    seen.append(F.cross_entropy(net(x), y).item())
    return seen


def main():
    record = {
        "torch": torch.__version__,
        "printed": [[code, repr(make())] for code, make in PRINTED],
        "drawn": [[code, drawn(make)] for code, make in DRAWN],
        "errors": [[code, text_of(run)] for code, run in ERRORS],
        "trained": [
            {"name": name, "net": net, "shape": sizes, "optimiser": opt, "losses": losses(make, shape, optimiser)}
            for name, make, net, sizes, shape, opt, optimiser in TRAINED
        ],
    }
    print(json.dumps(record, indent=1))


main()
