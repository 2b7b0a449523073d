#!/usr/bin/env python3
"""Checks the Python that stands beside a cell: every documented example must parse, and most must print the same.

Usage, from the repository's root, with a Python that has torch:

    TENSORLAB_PYTHON_EXAMPLES=/tmp/examples.jsonl cargo test --lib script::python
    python3 scripts/check_python.py /tmp/examples.jsonl [--least SHARE] [--show]

The test writes one JSON object a line: the example's name, its Rhai, the Python made of it, and what it prints here.
The Python is parsed with `ast`, then run, and the printed form of its last expression is compared with what the
reference says, after what the two languages write differently is made the same (`true` and `True`, `()` and `None`,
`torch.Size([2])` and `[2]`). An example that says that it has no form in PyTorch is counted apart.
"""

import argparse
import ast
import contextlib
import io
import json
import re
import sys
import warnings


def printed(source: str) -> str:
    """What the code prints, and the printed form of its last expression."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    names: dict = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "example", "exec"), names)
        if last is not None:
            value = eval(compile(last, "example", "eval"), names)
            if value is not None:
                print(value)
    return out.getvalue().strip()


def same(text: str) -> str:
    """The text without what Rhai and Python write differently."""
    text = re.sub(r"torch\.Size\((\[[^\]]*\])\)", r"\1", text)
    text = re.sub(r"<\w+ object at 0x[0-9a-f]+>", "<object>", text)
    text = text.replace("True", "true").replace("False", "false").replace("None", "()").replace("'", '"')
    text = text.replace("torch.", "").replace("(", "[").replace(")", "]")
    text = re.sub(r"\[?tensor\[", "tensor[", text) if text.count("tensor") == 1 else text
    return re.sub(r"\s+", "", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples")
    parser.add_argument("--least", type=float, default=0.75, help="the share that must print the same (default 0.75)")
    parser.add_argument("--show", action="store_true", help="show every example that does not")
    options = parser.parse_args()

    with open(options.examples, encoding="utf-8") as file:
        examples = [json.loads(line) for line in file]
    invalid, raised, differ, own, equal = [], [], [], 0, 0
    for example in examples:
        source = example["python"]
        try:
            ast.parse(source)
        except SyntaxError as error:
            invalid.append((example, error))
            continue
        if re.search(r"^ *# .*(this lab's own|no form|no simple form|have no)", source, re.M):
            own += 1
            continue
        try:
            there = printed(source)
        except Exception as error:  # whatever an example may raise
            raised.append((example, f"{type(error).__name__}: {error}".splitlines()[0]))
            continue
        if same(there) == same(example["prints"]):
            equal += 1
        else:
            differ.append((example, there))

    if options.show:
        for kind, found in (("raises", raised), ("prints otherwise", differ)):
            for example, what in found:
                print(f"-- {example['name']} {kind}: {what}\n   rhai:   {example['rhai']}\n   here:   {example['prints']}")
                print("   python: " + example["python"].replace("\n", "\n           "))
    for example, error in invalid:
        print(f"not Python: {example['name']}: {error}\n{example['python']}")
    tried = len(examples) - own
    share = equal / max(tried, 1)
    print(
        f"{len(examples)} examples, all parsed: {not invalid}; of {tried} that PyTorch has too, "
        f"{equal} print the same ({share:.0%}), {len(differ)} otherwise, {len(raised)} raise; {own} are this lab's own"
    )
    return 1 if invalid or share < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
