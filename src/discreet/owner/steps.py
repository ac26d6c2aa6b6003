"""What an owner did at a desk, as the commands that do the same; and those as a script, and as a notebook.

A step is a list of words as a program gets them: nothing in it is ever read as code by a shell, by Python or by a
notebook, whatever files and columns are called. Tokens are made anew by whoever runs it: their texts are in no step.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from discreet.policy import Policy
from discreet.policy.document import absolute

FILE: Final = "steps.jsonl"
PROGRAM: Final = "discreet"
_LONGEST: Final = 10**7
_HEAD: Final = """\
#!/bin/sh
# What was done at the desk, as commands. Run it in an empty folder that has the same files.
set -eu
"""
_TITLE: Final = "# What was done at the desk\n\nRun it in a folder that has the same files."
_RUN: Final = '''\
import subprocess
import sys


def discreet(*words):
    """The command, with exactly these words."""
    done = subprocess.run([sys.executable, "-m", "discreet.cli", *words], text=True, capture_output=True)
    print(done.stdout + done.stderr)
    done.check_returncode()'''


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done: a command, or a remark about something that no command can repeat."""

    words: tuple[str, ...] = ()
    remark: str = ""


class Steps:
    """The steps of one policy, in its state folder: they outlive the server. What cannot be noted is only missing."""

    def __init__(self, state: Path) -> None:
        self._path = state / FILE

    @classmethod
    def of(cls, policy: Policy) -> Steps:
        return cls(policy.state)

    def add(self, *words: str, remark: str = "") -> None:
        """Note a command, without the name of the program."""
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            line = json.dumps({"words": words, "remark": remark}) + "\n"
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(line)

    def all(self) -> list[Step]:
        """Oldest first. A line that was cut off by a full disk is left out."""
        try:
            with self._path.open("rb") as file:
                lines = file.read(_LONGEST).decode("ascii", "replace").splitlines()
        except OSError:
            return []
        return [step for step in map(_step, lines) if step is not None]

    def from_the_start(self, policy: Policy) -> list[Step]:
        """All steps, with a remark where the policy itself was written elsewhere."""
        steps = self.all()
        if steps and steps[0].words[:1] == ("init",):
            return steps
        return [Step(remark=f"{beside(policy)} was there before: put it beside this file first"), *steps]


def _step(line: str) -> Step | None:
    try:
        read = json.loads(line)
        words, remark = read["words"], read["remark"]
    except (ValueError, TypeError, KeyError):
        return None
    if not (isinstance(words, list) and isinstance(remark, str) and all(isinstance(word, str) for word in words)):
        return None
    return Step(tuple(words), remark)


def shown(words: Sequence[str]) -> str:
    """A command as one types it, on lines that are not too long."""
    typed = [shlex.quote(word) for word in (PROGRAM, *words)]
    text = " ".join(typed)
    if len(text) <= 100 or "--decide" not in typed:
        return text
    return text.replace(" --decide ", " \\\n  --decide ").replace(" -- ", " \\\n  -- ", 1)


def script(steps: Sequence[Step]) -> str:
    """A shell script that does the same."""
    lines = [f"# {_one_line(step.remark)}" if step.remark else shlex.join((PROGRAM, *step.words)) for step in steps]
    return _HEAD + "".join(f"{line}\n" for line in lines)


def notebook(steps: Sequence[Step], policy: Policy) -> str:
    """A Jupyter notebook that does the same, and opens the policy at its end."""
    cells = [_cell("markdown", _TITLE), _cell("code", _RUN)]
    for step in steps:
        if step.remark:
            cells.append(_cell("code", f"# {_one_line(step.remark)}"))
        else:
            cells.append(_cell("code", f"discreet({', '.join(map(_python, step.words))})"))
    cells.append(_cell("code", f"from discreet import open as opened\n\nopened({_python(policy.path.name)}).tables()"))
    for number, cell in enumerate(cells):
        cell["id"] = f"step-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def _cell(kind: str, source: str) -> dict[str, Any]:
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **more}


def _python(word: str) -> str:
    """A word as Python writes it, in ASCII: a notebook's magics begin with none of its characters."""
    return ascii(word)


def _one_line(remark: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in remark)


def beside(policy: Policy) -> str:
    """The policy as commands name it that are run in its folder."""
    name = absolute(policy.path).name
    return f"./{name}" if name.startswith("-") else name
