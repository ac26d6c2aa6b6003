"""How far a reader walks: the files that one count by ward touches, and how often calls cross from file to file.

`python -m benchmarks.walk` prints both for a query that is new, and for one that was planned before.
"""

from __future__ import annotations

import collections
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any, Final

import discreet
from discreet.lab import hospital

ROOT: Final = str(Path(discreet.__file__).parent)
QUERY: Final = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


class Walk:
    """Calls of Python functions, by their files."""

    def __init__(self) -> None:
        self.calls: collections.Counter[str] = collections.Counter()
        self.crossings: collections.Counter[tuple[str, str]] = collections.Counter()

    def __enter__(self) -> Walk:
        sys.setprofile(self._notice)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _notice(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(ROOT):
            return
        self.calls[file] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != file:
            self.crossings[caller.f_code.co_filename, file] += 1

    def __str__(self) -> str:
        return f"{len(self.calls)} files, {self.crossings.total()} crossings, {self.calls.total()} calls"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, discreet.open(hospital.build(Path(folder))) as curator:
        curator.query("SELECT COUNT(*) AS n FROM visits", epsilon=0.1)  # everything is imported and opened
        for words, fresh in (("new", False), ("planned before", True)):
            with Walk() as walk:
                curator.query(QUERY, epsilon=0.1, fresh=fresh)
            sys.stdout.write(f"{words}: {walk}\n")


if __name__ == "__main__":
    main()
