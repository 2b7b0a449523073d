#!/usr/bin/env python3
"""Prints the minutes of each lesson by the rule of docs/lessons.md, and those that its front matter states.

    scripts/lesson_minutes.py [LESSON.md ...]

Without arguments, the course. What applies on a lesson's first set of devices counts, and of several solutions the
first. Exits with 1 where the two numbers differ.
"""

import difflib
import re
import sys
import tomllib
from pathlib import Path

CHARACTERS_A_SECOND = 180 / 60
PREDICTION = 15
CELL = 3
READING_AND_THINKING = 3

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+) ?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
DEVICES = re.compile(r"\bdevices *= *(\[[^]]*\])")
WORD = re.compile(r"\w+|[^\w\s]|(?<=\S) +(?=\S)|\n")


def words(code):
    """What is typed of a program: no comments, and no indentation, which comes by itself."""
    lines = (re.sub(r"^\s*//.*", "", line).strip() for line in code.splitlines())
    return WORD.findall("\n".join(line for line in lines if line))


def typed(starter, solution):
    """The characters of a solution that its starter has not in place."""
    old, new = words(starter), words(solution)
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(len("".join(new[begin:end])) for kind, _, _, begin, end in changes if kind != "equal")


def seconds(text, devices):
    """The time of the way along the solutions."""
    total = 0
    starter = None
    for fence, info, code in BLOCK.findall(text):
        kind = (info.split() or [""])[0]
        said = DEVICES.search(code if kind == "predict" else info)
        applies = said is None or devices in tomllib.loads(f"list = {said[1]}")["list"]
        if kind == "exercise":
            starter = code if applies else None
        elif kind == "solution" and starter is not None:
            total += typed(starter, code) / CHARACTERS_A_SECOND
            starter = None
        elif kind == "predict" and applies:
            total += PREDICTION
        elif kind == "run":
            total += CELL
    return total


def main():
    files = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "lessons/course/lessons").glob("*.md"))
    differ = False
    print("lesson              computed  stated")
    for path in files:
        _, front, text = path.read_text(encoding="utf-8").split("+++\n", 2)
        front = tomllib.loads(front)
        minutes = max(1, round(seconds(text, front["devices"][0]) * READING_AND_THINKING / 60))
        differ |= minutes != front["minutes"]
        print(f"{front['id']:18}  {minutes:8}  {front['minutes']:6}")
    return differ


sys.exit(main())
