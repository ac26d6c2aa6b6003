"""`python -m releasing [--out dist]`: build a release, twice; list what it needs; install and try it; say what failed.

`make package` calls it. Everything is built from the last commit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from releasing import building, spdx, trying

LEAST: int = 3
"""Versions of Python that the classifiers name."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m releasing")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where to write the release")
    target: Path = parser.parse_args(arguments).out
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as folder:
        problems = _released(target, Path(folder))
    for problem in problems:
        print(f"NOT: {problem}")
    return 1 if problems else 0


def _released(target: Path, scratch: Path) -> list[str]:
    at = building.moment()
    (wheel, sdist), differing = building.built_twice(building.committed(), scratch, target, at=at)
    problems = [f"{name} is not the same when it is built again" for name in differing]
    found = spdx.installed("discreet", ["all"])
    listed = target / f"{wheel.name.split('-py3')[0]}.spdx.json"
    listed.write_text(json.dumps(spdx.document(found, root="discreet", created=at), indent=1) + "\n", encoding="utf-8")
    unknown = [package.name for package in found if package.licence == spdx.UNKNOWN]
    problems += [f"the licence of {name} is not known" for name in unknown]
    for path in (wheel, sdist, listed):
        print(f"{building.digest(path)}  {path.name}  {path.stat().st_size:,} bytes")
    return problems + _tried(wheel.absolute(), scratch)


def _tried(wheel: Path, scratch: Path) -> list[str]:
    problems = []
    programs = trying.interpreters()
    for name, python in programs.items():
        place = scratch / name
        place.mkdir()
        try:
            tried = trying.tried(python, wheel, place)
        except trying.TryingError as wrong:
            problems.append(f"Python {name}: {wrong}")
            continue
        size = f"{tried.megabytes:.0f} MB"
        print(f"Python {tried.version}: {size}, import {tried.seconds:.3f} s, tried in {tried.took:.0f} s")
        problems += tried.problems
    absent = [f"3.{minor}" for minor in range(11, 11 + LEAST) if f"3.{minor}" not in programs]
    if absent:
        print(f"not here, so not tried: Python {', '.join(absent)}")
    try:
        trying.tried_by_pipx(wheel, scratch)
        print("pipx run --spec … discreet demo: it ran")
    except trying.TryingError as wrong:
        problems.append(f"pipx: {wrong}")
    return problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
