"""Records tests/golden/packed.json: recurrent layers over packed sequences, from PyTorch on a CPU.

    python scripts/record_packed.py tests/golden/packed.json
"""

import json
import sys

import torch
from torch import nn
from torch.nn.utils import rnn

CASES = [
    ("RNN", "3, 4", {}, [4, 2, 1], True, False),
    ("RNN", "3, 4", {"bidirectional": True, "nonlinearity": "relu"}, [2, 4, 1], False, True),
    ("LSTM", "3, 4, 2", {"bidirectional": True}, [4, 4, 2], True, False),
    ("LSTM", "3, 4", {"proj_size": 2, "batch_first": True}, [1, 3, 4], False, True),
    ("GRU", "3, 4, 2", {}, [3, 4, 4], False, False),
    ("GRU", "3, 4, 2", {"bidirectional": True, "batch_first": True}, [4, 3, 1], True, True),
]


def script(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def run(kind, sizes, options, lengths, enforce, given):
    torch.manual_seed(1)
    layer = getattr(nn, kind)(*map(int, sizes.split(", ")), **options)
    first = options.get("batch_first", False)
    shape = [3, 4, 3] if first else [4, 3, 3]
    x = torch.sin(torch.arange(36.0)).reshape(shape).requires_grad_(True)
    directions = 2 if options.get("bidirectional") else 1
    count = layer.num_layers * directions
    width = options.get("proj_size") or 4
    hx = None
    if given:
        hx = torch.cos(torch.arange(float(count * 3 * width))).reshape(count, 3, width).requires_grad_(True)
        if kind == "LSTM":
            hx = (hx, torch.sin(torch.arange(float(count * 12))).reshape(count, 3, 4))
    packed = rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=first, enforce_sorted=enforce)
    out, last = layer(packed, hx)
    padded, back = rnn.pad_packed_sequence(out, batch_first=first, padding_value=-1.0, total_length=5)
    parts = last if isinstance(last, tuple) else (last,)
    loss = (padded * torch.arange(float(padded.numel())).reshape(padded.shape).cos()).sum()
    loss = loss + sum((p * p).sum() for p in parts)
    loss.backward()
    start = hx[0] if isinstance(hx, tuple) else hx
    return {
        "layer": f"nn::{kind}({sizes}, #{{{', '.join(f'{k}: {script(v)}' for k, v in options.items())}}})",
        "shape": shape,
        "lengths": lengths,
        "batch_first": first,
        "enforce_sorted": enforce,
        "hx": [count, 3, width] if given else None,
        "padded": padded.flatten().tolist(),
        "back": back.tolist(),
        "last": [p.flatten().tolist() for p in parts],
        "grads": [p.grad.flatten().tolist() for p in layer.parameters()],
        "x_grad": x.grad.flatten().tolist(),
        "hx_grad": None if start is None else start.grad.flatten().tolist(),
    }


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump([run(*case) for case in CASES], file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
