#!/usr/bin/env python3
"""Records the orders that PyTorch's loaders draw, and what its state dicts say: tests/golden/loader.json.

    python3 scripts/record_loader.py > tests/golden/loader.json

Each entry pairs code of tensorlab's script language with what PyTorch gave for the Python beside it here.
"""

import json
import warnings

import torch
from torch import nn, optim
from torch.utils.data import (
    BatchSampler, ConcatDataset, DataLoader, Dataset, RandomSampler, Subset, SubsetRandomSampler, TensorDataset,
    WeightedRandomSampler, random_split,
)

warnings.simplefilter("ignore")


class Noisy(Dataset):
    """A sample draws a number: it depends on the worker's generator."""

    def __len__(self):
        return 11

    def __getitem__(self, i):
        return [torch.tensor(i), torch.rand(())]


def seeded(make):
    torch.manual_seed(5)
    return make()


def epochs(loader, count=2, draw=False):
    """The batches of some epochs, and a draw after each that shows where the generator stands."""
    out = []
    for _ in range(count):
        out.append([b[0].tolist() if isinstance(b, (list, tuple)) else b.tolist() for b in loader])
        if draw:
            out.append(torch.rand(1).item())
    return out


def tensors(n):
    return TensorDataset(torch.arange(n))


ORDERS = [
    ("data::TensorDataset(arange(10))", "#{shuffle: true, batch_size: 4}",
     lambda: epochs(DataLoader(tensors(10), shuffle=True, batch_size=4), draw=True)),
    ("data::TensorDataset(arange(10))", "#{shuffle: true, batch_size: 4, drop_last: true}",
     lambda: epochs(DataLoader(tensors(10), shuffle=True, batch_size=4, drop_last=True), draw=True)),
    ("data::TensorDataset(arange(10))", "#{batch_size: 3}",
     lambda: epochs(DataLoader(tensors(10), batch_size=3), draw=True)),
    ("arange(100)", "#{shuffle: true, batch_size: 50, num_workers: 3}",
     lambda: epochs(DataLoader(torch.arange(100), shuffle=True, batch_size=50, num_workers=3), draw=True)),
    ("arange(7)", "#{sampler: [3, 3, 0], batch_size: 2}",
     lambda: epochs(DataLoader(torch.arange(7), sampler=[3, 3, 0], batch_size=2), draw=True)),
    ("data::Subset(arange(20), [4, 8, 15, 16])", "#{shuffle: true}",
     lambda: epochs(DataLoader(Subset(torch.arange(20), [4, 8, 15, 16]), shuffle=True), draw=True)),
    ("data::ConcatDataset([arange(3), arange(100, 104)])", "#{batch_size: 2, shuffle: true}",
     lambda: epochs(DataLoader(ConcatDataset([torch.arange(3), torch.arange(100, 104)]), batch_size=2, shuffle=True),
                    draw=True)),
    ("arange(10)", "#{shuffle: true, batch_size: 4, generator: Generator().manual_seed(3)}",
     lambda: epochs(DataLoader(torch.arange(10), shuffle=True, batch_size=4,
                               generator=torch.Generator().manual_seed(3)), draw=True)),
    ("arange(5)", "#{batch_sampler: [[4, 0], [1], [2, 2, 3]]}",
     lambda: epochs(DataLoader(torch.arange(5), batch_sampler=[[4, 0], [1], [2, 2, 3]]), draw=True)),
    ("arange(5)", "#{batch_sampler: data::BatchSampler(data::RandomSampler(arange(5)), 2, true)}",
     lambda: epochs(DataLoader(torch.arange(5), batch_sampler=BatchSampler(RandomSampler(range(5)), 2, True)),
                    draw=True)),
    ("arange(5)", "#{sampler: data::RandomSampler(arange(5), #{replacement: true, num_samples: 40}), batch_size: 40}",
     lambda: epochs(DataLoader(torch.arange(5), sampler=RandomSampler(range(5), True, 40), batch_size=40), draw=True)),
    ("arange(5)", "#{sampler: data::RandomSampler(arange(5), false, 12, Generator().manual_seed(1)), batch_size: 12}",
     lambda: epochs(DataLoader(torch.arange(5), sampler=RandomSampler(range(5), False, 12, torch.Generator().manual_seed(1)),
                               batch_size=12), draw=True)),
    ("arange(3)", "#{sampler: data::WeightedRandomSampler([0.1, 0.2, 0.7], 8), batch_size: 8}",
     lambda: epochs(DataLoader(torch.arange(3), sampler=WeightedRandomSampler([0.1, 0.2, 0.7], 8), batch_size=8),
                    draw=True)),
    ("arange(9)", "#{sampler: data::SubsetRandomSampler([8, 1, 5, 2]), batch_size: 4}",
     lambda: epochs(DataLoader(torch.arange(9), sampler=SubsetRandomSampler([8, 1, 5, 2]), batch_size=4), draw=True)),
    ("arange(40000)", "#{shuffle: true, batch_size: 40000}",
     lambda: [sum(i * v for i, v in enumerate(epochs(
         DataLoader(torch.arange(40000), shuffle=True, batch_size=40000), 1)[0][0])) % 1000003]),
]

SPLITS = [
    ("[7, 3]", lambda: random_split(range(10), [7, 3])),
    ("[0.5, 0.3, 0.2]", lambda: random_split(range(11), [0.5, 0.3, 0.2])),
    ("[1.0]", lambda: random_split(range(5), [1.0])),
    ("[4, 2], Generator().manual_seed(42)",
     lambda: random_split(range(6), [4, 2], torch.Generator().manual_seed(42))),
]

ERRORS = [
    ("data::random_split(arange(10), [7, 4])", lambda: random_split(range(10), [7, 4])),
    ("data::random_split(arange(10), [1.5, -0.5])", lambda: random_split(range(10), [1.5, -0.5])),
    ("data::DataLoader(arange(3), #{batch_size: 0})", lambda: DataLoader(range(3), batch_size=0)),
    ("data::DataLoader(arange(3), #{num_workers: -1})", lambda: DataLoader(range(3), num_workers=-1)),
    ("data::DataLoader(arange(3), #{prefetch_factor: 2})", lambda: DataLoader(range(3), prefetch_factor=2)),
    ("data::DataLoader(arange(3), #{sampler: [1], shuffle: true})",
     lambda: DataLoader(range(3), sampler=[1], shuffle=True)),
    ("data::DataLoader(arange(3), #{batch_size: (), drop_last: true})",
     lambda: DataLoader(range(3), batch_size=None, drop_last=True)),
    ("data::DataLoader(arange(3), #{timeout: -1})", lambda: DataLoader(range(3), timeout=-1)),
    ("data::DataLoader(arange(3), #{timeout: 1})", lambda: iter(DataLoader(range(3), timeout=1))),
    ("data::DataLoader(arange(3), #{batch_sampler: [[1]], batch_size: 2})",
     lambda: DataLoader(range(3), batch_sampler=[[1]], batch_size=2)),
    ("data::RandomSampler(arange(3), #{num_samples: 0})", lambda: RandomSampler(range(3), num_samples=0)),
    ("data::WeightedRandomSampler([0.1], 0)", lambda: WeightedRandomSampler([0.1], 0)),
    ("data::WeightedRandomSampler(ones([2, 2]), 1)", lambda: WeightedRandomSampler(torch.ones(2, 2), 1)),
    ("data::BatchSampler([1, 2], 0, false)", lambda: BatchSampler([1, 2], 0, False)),
    ("data::ConcatDataset([])", lambda: ConcatDataset([])),
    ("data::DataLoader([], #{shuffle: true})", lambda: DataLoader([], shuffle=True)),
    ("next(iter(data::DataLoader([ones(3), ones(4)], #{batch_size: 2})))",
     lambda: next(iter(DataLoader([torch.ones(3), torch.ones(4)], batch_size=2)))),
    ("next(iter(data::DataLoader([[1, 2], [3]], #{batch_size: 2})))",
     lambda: next(iter(DataLoader([[1, 2], [3]], batch_size=2)))),
    ("data::TensorDataset(ones(3), ones(4))", lambda: TensorDataset(torch.ones(3), torch.ones(4))),
    ("net.load_state_dict(#{})", lambda: net().load_state_dict({})),
    ("net.load_state_dict(#{\"0.weight\": ones([2, 2]), \"0.bias\": ones(3), \"2.weight\": ones(1), other: ones(1)})",
     lambda: net().load_state_dict({"0.weight": torch.ones(2, 2), "0.bias": torch.ones(3),
                                    "2.weight": torch.ones(1), "other": torch.ones(1)})),
    ("net.load_state_dict(#{\"0.weight\": ones([2, 2])}, #{strict: false})",
     lambda: net().load_state_dict({"0.weight": torch.ones(2, 2)}, strict=False)),
    ("sgd.load_state_dict(two.state_dict())", lambda: sgd().load_state_dict(two().state_dict())),
    ("sgd.load_state_dict(short.state_dict())", lambda: sgd().load_state_dict(short().state_dict())),
]

REPORTS = [
    ("net.load_state_dict(net.state_dict())", lambda: (lambda n: n.load_state_dict(n.state_dict()))(net())),
    ("net.load_state_dict(#{\"0.bias\": ones(2), other: ones(1)}, #{strict: false})",
     lambda: net().load_state_dict({"0.bias": torch.ones(2), "other": torch.ones(1)}, strict=False)),
]


def net():
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def sgd():
    return optim.SGD(net().parameters(), lr=0.1)


def two():
    n = net()
    return optim.SGD([{"params": n[0].parameters()}, {"params": n[1].parameters()}], lr=0.1)


def short():
    return optim.SGD(net()[0].parameters(), lr=0.1)


def error(run):
    try:
        run()
    except Exception as e:  # noqa: BLE001
        text = str(e)
        return [type(e).__name__, text]
    raise SystemExit("no error")


def main():
    print(json.dumps({
        "orders": [[data, options, seeded(run)] for data, options, run in ORDERS],
        "noisy": [seeded(lambda w=w: [[b[0].tolist(), b[1].tolist()]
                                      for b in DataLoader(Noisy(), batch_size=2, num_workers=w)]) for w in (0, 1, 3)],
        "splits": [[lengths, [list(s.indices) for s in seeded(run)]] for lengths, run in SPLITS],
        "errors": [[code, *error(run)] for code, run in ERRORS],
        "reports": [[code, str(run())] for code, run in REPORTS],
    }, indent=1))


if __name__ == "__main__":
    main()
