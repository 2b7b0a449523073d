#!/usr/bin/env python3
"""Lets Python's nbformat and nbconvert read the notebooks that tensorlab writes, and tensorlab those of Python.

    scripts/check_notebooks.py [--program target/debug/tensorlab]

Needs nbformat and nbconvert. Exits with 1 where a notebook is invalid or differs.
"""

import argparse
import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """// %% [markdown] tags=["intro"]
// # A notebook
//
// with *text*

// %% Numbers
print("<b>printed</b>");
tensor([[1.0, 2.0], [3.0, 4.0]])

// %% [raw]
// as it is

// %%
plot::line([1.0, 3.0, 2.0]);
plot::show();

// %%
ones([2]) + ones([3])

// %%
"""


def check_written(program, folder):
    """What is written is valid, and nbconvert shows it."""
    (folder / "a.rhai").write_text(SCRIPT)
    run = [program, "notebook", "run", "a.rhai", "--allow-errors", "--output", "a.ipynb"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True)
    notebook = nbformat.read(folder / "a.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds == ["markdown", "code", "raw", "code", "code", "code"], kinds
    outputs = [[output.output_type for output in cell.get("outputs", [])] for cell in notebook.cells]
    assert outputs[1] == ["stream", "execute_result"], outputs
    assert "display_data" in outputs[3] and outputs[4] == ["error"], outputs
    page, _ = HTMLExporter().from_notebook_node(notebook)
    for piece in ("A notebook", "&lt;b&gt;printed&lt;/b&gt;", "tensor([[1., 2.]", "RuntimeError"):
        assert piece in page, piece
    assert "image/png;base64" in page or "<svg" in page, "the figure is shown"
    # Written by nbformat again, it is the same to the byte.
    again = nbformat.writes(notebook) + "\n"
    assert again == (folder / "a.ipynb").read_text(), "nbformat writes it otherwise"


def check_read(program, folder):
    """What Python writes comes back as it was, straight and by way of a script."""
    notebook = new_notebook(
        metadata={"kernelspec": {"name": "x", "display_name": "X", "language": "rhai"}, "custom": {"a": [1, None]}},
        cells=[
            new_markdown_cell("# T\n\n%% a line\n// another", metadata={"slideshow": {"slide_type": "slide"}}),
            new_code_cell(
                "let x = 1;\n// %% no marker\nx",
                execution_count=2,
                metadata={"collapsed": False, "tags": ["a b"]},
                outputs=[
                    new_output("stream", name="stderr", text="one\ntwo"),
                    new_output("display_data", data={"text/html": "<b>\n</b>", "application/json": {"k": [1]}}),
                    new_output("execute_result", data={"text/plain": "1"}, execution_count=2, metadata={"m": 1}),
                    new_output("error", ename="E", evalue="v", traceback=["a", "b"]),
                ],
            ),
            new_raw_cell("<raw>"),
            new_code_cell(""),
        ],
    )
    nbformat.write(notebook, folder / "b.ipynb")
    convert = [program, "notebook", "convert", "--force"]
    for steps in (["b.ipynb", "c.ipynb"], ["b.ipynb", "b.rhai", "c.ipynb"]):
        for source, target in zip(steps, steps[1:]):
            subprocess.run([*convert, source, target], cwd=folder, check=True, capture_output=True)
        got, want = (json.loads((folder / name).read_text()) for name in ("c.ipynb", "b.ipynb"))
        assert got == want, f"{steps}: {got} where {want} is expected"
    # Converting changes what it is given.
    old = nbformat.convert(copy.deepcopy(notebook), 3)
    (folder / "old.ipynb").write_text(nbformat.writes(old, 3))
    subprocess.run([*convert, "old.ipynb", "new.ipynb"], cwd=folder, check=True, capture_output=True)
    new = nbformat.read(folder / "new.ipynb", as_version=4)
    nbformat.validate(new)
    assert [c.source for c in new.cells] == [c.source for c in notebook.cells]
    assert len(new.cells[1].outputs) == 4


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", type=Path, default=ROOT / "target" / "debug" / "tensorlab")
    program = arguments.parse_args().program.resolve()
    for check in (check_written, check_read):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, Path(folder))
            except subprocess.CalledProcessError as error:
                sys.exit(f"{error}\n{error.stdout.decode()}{error.stderr.decode()}")
            except AssertionError as error:
                sys.exit(f"{check.__name__}: {error}")
    print("notebooks agree")


if __name__ == "__main__":
    main()
