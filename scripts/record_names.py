#!/usr/bin/env python3
"""Which of the names that `tensorlab docs` gives as PyTorch's are PyTorch's.

    tensorlab docs | scripts/record_names.py > tests/golden/torch_names.txt

Names that PyTorch does not have are told on standard error, and left out.
"""

import importlib
import re
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def instances():
    """One object of each class that has attributes only where it is made."""
    module = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    data = TensorDataset(torch.ones(1, 1))
    return [module, optimizer, schedule, data, DataLoader(data)]


def found(path, objects):
    """Whether a dotted path leads somewhere."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if isinstance(value, type) and not hasattr(value, part):
                value = next((o for o in objects if isinstance(o, value)), value)
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


def main():
    paths = set(re.findall(r"^PyTorch    (torch[\w.]*)", sys.stdin.read(), re.MULTILINE))
    objects = instances()
    print(f"# recorded with PyTorch {torch.__version__.split('+')[0]} by scripts/record_names.py")
    for path in sorted(paths):
        if found(path, objects):
            print(path)
        else:
            print(f"PyTorch has no {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
