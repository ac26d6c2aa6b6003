"""One part, in a process of its own: `python -m benchmarks.child PART FILE` adds its figures to the file, line by line.

So what was measured before a part fails, or is stopped, is not lost.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.parts import module_of


def measure(name: str, path: Path) -> None:
    figures: Callable[[], Iterable[Figure]] = import_module(module_of(name)).figures
    with path.open("a", encoding="utf-8") as file:
        for figure in figures():
            file.write(json.dumps(asdict(figure)) + "\n")
            file.flush()


if __name__ == "__main__":
    measure(sys.argv[1], Path(sys.argv[2]))
