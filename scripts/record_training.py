#!/usr/bin/env python3
"""Records how PyTorch trains: losses of ten steps, and learning rates of fifty: tests/golden/training.json.

Each entry pairs tensorlab's script language with what PyTorch gave for the Python beside it here.
Run it with a PyTorch on the CPU: python3 scripts/record_training.py > tests/golden/training.json
"""

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim import lr_scheduler as schedule

warnings.simplefilter("ignore")
torch.set_num_threads(2)
STEPS = 50


class Reader(nn.Module):
    """Guesses each next letter from those before it."""

    def __init__(self, dropout, norm_first):
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        self.place = nn.Parameter(torch.randn(1, 8, 16) * 0.1)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout, "gelu" if norm_first else "relu", batch_first=True,
                                           norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 12)
        self.mask = nn.Transformer.generate_square_subsequent_mask(8)

    def forward(self, x):
        h = self.embed(x) + self.place
        h = self.encoder(h, self.mask, is_causal=True)
        return self.head(h).flatten(0, 1)


def reader(dropout, norm_first=False):
    more = "batch_first: true" + (", activation: \"gelu\", norm_first: true" if norm_first else "")
    return f"""
let embed = nn::Embedding(12, 16);
let place = nn::Parameter(randn([1, 8, 16]) * 0.1);
let layer = nn::TransformerEncoderLayer(16, 4, 32, {dropout}, #{{{more}}});
let encoder = nn::TransformerEncoder(layer, 2);
let head = nn::Linear(16, 12);
let mask = nn::Transformer::generate_square_subsequent_mask(8);
let net = nn::module("Reader", #{{embed, place, encoder, head, mask}}, |self, x| {{
    let h = self.embed.forward(x) + self.place;
    let h = self.encoder.forward(h, self.mask, #{{is_causal: true}});
    self.head.forward(h).flatten(0, 1)
}});""".strip().replace("#{embed, place, encoder, head, mask}",
                        "#{embed: embed, place: place, encoder: encoder, head: head, mask: mask}")


def letters():
    text = torch.randint(0, 12, (6, 9))
    return text[:, :8].contiguous(), text[:, 1:].flatten()


LETTERS = """
let text = randint(0, 12, [6, 9]);
let x = text.narrow(1, 0, 8).contiguous();
let y = text.narrow(1, 1, 8).flatten();""".strip()


def images():
    return torch.rand(16, 1, 8, 8), torch.randint(0, 4, (16,))


# name, whether it draws while training, the network and the data in both languages
NETWORKS = [
    ("mlp", False,
     lambda: nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4)),
     "let net = nn::Sequential(nn::Linear(10, 32), nn::ReLU(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 4));",
     lambda: (torch.randn(24, 10), torch.randint(0, 4, (24,))),
     "let x = randn([24, 10]); let y = randint(0, 4, [24]);"),
    ("cnn", False,
     lambda: nn.Sequential(
         nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3),
         nn.BatchNorm2d(12), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)),
     "let net = nn::Sequential(nn::Conv2d(1, 8, 3, #{padding: 1}), nn::BatchNorm2d(8), nn::ReLU(), nn::MaxPool2d(2), "
     "nn::Conv2d(8, 12, 3), nn::BatchNorm2d(12), nn::ReLU(), nn::Flatten(), nn::Linear(48, 4));",
     images, "let x = rand([16, 1, 8, 8]); let y = randint(0, 4, [16]);"),
    ("transformer", False, lambda: Reader(0.0, False), reader("0.0"), letters, LETTERS),
    ("transformer, norms first", False, lambda: Reader(0.0, True), reader("0.0", True), letters, LETTERS),
    ("transformer with dropout", True, lambda: Reader(0.1, False), reader("0.1"), letters, LETTERS),
]

OPTIMISERS = [
    ("sgd", lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
     "optim::SGD(net.parameters(), #{lr: 0.05, momentum: 0.9})"),
    ("adam", lambda p: optim.Adam(p, lr=0.003), "optim::Adam(net.parameters(), #{lr: 0.003})"),
    ("adamw", lambda p: optim.AdamW(p, lr=0.003, weight_decay=0.05),
     "optim::AdamW(net.parameters(), #{lr: 0.003, weight_decay: 0.05})"),
]

LOOP = """
net.to(device);
let x = x.to(device);
let y = y.to(device);
let opt = OPTIMISER;
let losses = [];
for step in 0..10 {
    opt.zero_grad();
    let loss = F::cross_entropy(net.forward(x), y);
    loss.backward();
    opt.step();
    losses.push(loss.item());
}
losses""".strip()


def losses(make, data, optimiser):
    torch.manual_seed(0)
    net = make()
    x, y = data()
    opt = optimiser(net.parameters())
    seen = []
    for _ in range(10):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        seen.append(loss.item())
    return seen


def trained():
    for name, draws, make, net, data, given in NETWORKS:
        for optimiser, build, code in OPTIMISERS:
            script = "\n".join(["manual_seed(0);", net, given, LOOP.replace("OPTIMISER", code)])
            yield {"name": f"{name}, {optimiser}", "draws": draws, "script": script,
                   "losses": losses(make, data, build)}


# Each is made on `opt`, an SGD with momentum and two groups, or on an Adam where `adam` says so.
SCHEDULES = [
    ("StepLR(opt, 7)", lambda o: schedule.StepLR(o, 7)),
    ("StepLR(opt, #{step_size: 5, gamma: 0.7})", lambda o: schedule.StepLR(o, step_size=5, gamma=0.7)),
    ("MultiStepLR(opt, [3, 11, 11, 30], 0.5)", lambda o: schedule.MultiStepLR(o, [3, 11, 11, 30], 0.5)),
    ("ExponentialLR(opt, 0.93)", lambda o: schedule.ExponentialLR(o, 0.93)),
    ("ConstantLR(opt)", lambda o: schedule.ConstantLR(o)),
    ("ConstantLR(opt, #{factor: 0.2, total_iters: 9})", lambda o: schedule.ConstantLR(o, factor=0.2, total_iters=9)),
    ("LinearLR(opt)", lambda o: schedule.LinearLR(o)),
    ("LinearLR(opt, #{start_factor: 0.9, end_factor: 0.1, total_iters: 33})",
     lambda o: schedule.LinearLR(o, start_factor=0.9, end_factor=0.1, total_iters=33)),
    ("PolynomialLR(opt, 40, 2.0)", lambda o: schedule.PolynomialLR(o, 40, 2.0)),
    ("CosineAnnealingLR(opt, 50)", lambda o: schedule.CosineAnnealingLR(o, 50)),
    ("CosineAnnealingLR(opt, #{T_max: 8, eta_min: 0.01})", lambda o: schedule.CosineAnnealingLR(o, T_max=8, eta_min=0.01)),
    ("CosineAnnealingWarmRestarts(opt, 6, #{T_mult: 2, eta_min: 0.001})",
     lambda o: schedule.CosineAnnealingWarmRestarts(o, 6, T_mult=2, eta_min=0.001)),
    ("OneCycleLR(opt, 1.0, 60)", lambda o: schedule.OneCycleLR(o, 1.0, 60)),
    ("OneCycleLR(opt, #{max_lr: [0.5, 2.0], epochs: 5, steps_per_epoch: 10, anneal_strategy: \"linear\", pct_start: 0.4})",
     lambda o: schedule.OneCycleLR(o, max_lr=[0.5, 2.0], epochs=5, steps_per_epoch=10, anneal_strategy="linear", pct_start=0.4)),
    ("OneCycleLR(opt, 0.3, #{total_steps: 51, three_phase: true, div_factor: 10.0})",
     lambda o: schedule.OneCycleLR(o, 0.3, total_steps=51, three_phase=True, div_factor=10.0)),
    ("OneCycleLR(opt, 0.3, #{total_steps: 50, cycle_momentum: false})",
     lambda o: schedule.OneCycleLR(o, 0.3, total_steps=50, cycle_momentum=False)),
    ("OneCycleLR(adam, 0.01, 50)", lambda o: schedule.OneCycleLR(o, 0.01, 50)),
    ("CyclicLR(opt, 0.1, 1.0, 5)", lambda o: schedule.CyclicLR(o, 0.1, 1.0, 5)),
    ("CyclicLR(opt, [0.1, 0.2], [1.0, 0.5], #{step_size_up: 4, step_size_down: 7, mode: \"triangular2\", base_momentum: 0.7})",
     lambda o: schedule.CyclicLR(o, [0.1, 0.2], [1.0, 0.5], step_size_up=4, step_size_down=7, mode="triangular2", base_momentum=0.7)),
    ("CyclicLR(opt, 0.1, 1.0, 6, #{mode: \"exp_range\", gamma: 0.97, cycle_momentum: false})",
     lambda o: schedule.CyclicLR(o, 0.1, 1.0, 6, mode="exp_range", gamma=0.97, cycle_momentum=False)),
    ("CyclicLR(adam, 0.001, 0.01, 9)", lambda o: schedule.CyclicLR(o, 0.001, 0.01, 9)),
    ("LambdaLR(opt, |epoch| 0.9 ** epoch)", lambda o: schedule.LambdaLR(o, lambda epoch: 0.9 ** epoch)),
    ("LambdaLR(opt, [|epoch| 1.0 / (1 + epoch), |epoch| 2])",
     lambda o: schedule.LambdaLR(o, [lambda epoch: 1.0 / (1 + epoch), lambda epoch: 2])),
    ("MultiplicativeLR(opt, |epoch| 1.0 - 0.01 * epoch)",
     lambda o: schedule.MultiplicativeLR(o, lambda epoch: 1.0 - 0.01 * epoch)),
    ("SequentialLR(opt, [LR::LinearLR(opt, 0.1, 1.0, 8), LR::CosineAnnealingLR(opt, 20), LR::StepLR(opt, 4, 0.5)], [8, 28])",
     lambda o: schedule.SequentialLR(
         o, [schedule.LinearLR(o, 0.1, 1.0, 8), schedule.CosineAnnealingLR(o, 20), schedule.StepLR(o, 4, 0.5)], [8, 28])),
    ("SequentialLR(opt, [LR::ConstantLR(opt, 0.1, 4), LR::LambdaLR(opt, |epoch| 0.8 ** epoch)], #{milestones: [6]})",
     lambda o: schedule.SequentialLR(
         o, [schedule.ConstantLR(o, 0.1, 4), schedule.LambdaLR(o, lambda epoch: 0.8 ** epoch)], milestones=[6])),
    ("ChainedScheduler([LR::LinearLR(opt, 0.5, 1.0, 10), LR::ExponentialLR(opt, 0.97)])",
     lambda o: schedule.ChainedScheduler([schedule.LinearLR(o, 0.5, 1.0, 10), schedule.ExponentialLR(o, 0.97)])),
]

# A value that falls, then stays, with a bump.
WATCHED = [max(0.3, 2.0 * 0.8 ** i) + (0.05 if i % 7 == 3 else 0.0) for i in range(STEPS)]

PLATEAUS = [
    ("ReduceLROnPlateau(opt)", lambda o: schedule.ReduceLROnPlateau(o)),
    ("ReduceLROnPlateau(opt, #{factor: 0.5, patience: 2, cooldown: 3, threshold: 0.01})",
     lambda o: schedule.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=3, threshold=0.01)),
    ("ReduceLROnPlateau(opt, \"max\", #{patience: 4, min_lr: [0.001, 0.2], threshold_mode: \"abs\"})",
     lambda o: schedule.ReduceLROnPlateau(o, "max", patience=4, min_lr=[0.001, 0.2], threshold_mode="abs")),
]


def rates(code, make, watched=None):
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    groups = [{"params": [a], "lr": 0.1}, {"params": [b]}]
    if "(adam" in code:
        opt = optim.Adam([a, b], lr=0.5)
    else:
        opt = optim.SGD(groups, lr=0.5, momentum=0.9)
    sched = make(opt)
    seen = []
    for step in range(STEPS):
        momentum = [g.get("momentum", g.get("betas", (0,))[0]) for g in opt.param_groups]
        seen.append([g["lr"] for g in opt.param_groups] + momentum)
        opt.step()
        sched.step(*([] if watched is None else [watched[step]]))
    return seen


def main():
    schedules = [[code, rates(code, make)] for code, make in SCHEDULES]
    plateaus = [[code, rates(code, make, WATCHED)] for code, make in PLATEAUS]
    record = {"torch": torch.__version__, "watched": WATCHED, "trained": list(trained()), "schedules": schedules,
              "plateaus": plateaus}
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and isinstance(value[0], (dict, list)):
            rows = ",\n".join(json.dumps(row) for row in value)
            lines.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    print("{\n" + ",\n".join(lines) + "\n}")


main()
