"""Small faults put into the trusted base one at a time: do its tests notice?

python -m tests.mutants src/discreet/accounting/filters.py --sample 40

Each mutant is one change in a copy of the tree. It is killed when a test fails or takes too long; what survives is
printed as a diff with its number, and `--only` runs it again. docs/mutants.md says what was found.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from queue import SimpleQueue

from tests.faults import Mutant, mutants

ROOT = Path(__file__).parent.parent
BASE = "src/discreet/"
LEDGER = ["tests/ledger/test_tampering.py", "tests/ledger/test_spending.py", "tests/ledger/test_budgets.py"]
DOOR = ["tests/curator/test_answers.py", "tests/curator/test_door.py"]
TESTS: dict[str, list[str]] = {
    "ledger/portions.py": ["tests/ledger/test_portions.py"],
    "ledger/state.py": [*LEDGER, "tests/ledger/test_portions.py"],
    "ledger/grant.py": [*reversed(LEDGER), "tests/ledger/test_portions.py"],
    "accounting/filters.py": ["tests/accounting/test_filters.py"],
    "accounting/losses.py": ["tests/accounting/test_losses.py", "tests/golden/test_accounting.py"],
    "accounting/conversion.py": ["tests/accounting/test_conversion.py", "tests/accounting/test_losses.py"],
    "mechanisms/laplace.py": ["tests/mechanisms/test_laplace.py"],
    "mechanisms/keys.py": ["tests/mechanisms/test_keys.py"],
    "noise/integer.py": ["tests/noise/test_integer.py"],
    "curator/price.py": [*DOOR, "tests/curator/test_accuracy.py"],
    "curator/question.py": [*DOOR, "tests/curator/test_accuracy.py"],
    "curator/draw.py": DOOR,
    "sql/part.py": ["tests/curator/test_partition.py"],
}
"""The tests that belong to a file, the quickest first."""


@contextmanager
def copied() -> Iterator[Path]:
    """A tree of its own, so that nobody else meets a mutant."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for name in ("src", "tests", "docs", "examples"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield Path(folder)


class End(Enum):
    SURVIVED = "survived"
    KILLED = "killed"
    LATE = "killed by the time limit"


def tested(tree: Path, tests: Sequence[str], seconds: float) -> End:
    # failures that Hypothesis remembers of another mutant would decide about this one
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long"]
    paths = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [*command, *tests],
        cwd=tree,
        env=paths,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        try:
            return End.KILLED if run.wait(seconds) else End.SURVIVED
        except subprocess.TimeoutExpired:
            return End.LATE
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)


def ends(path: str, chosen: Sequence[Mutant], tests: Sequence[str], seconds: float, jobs: int) -> list[End]:
    trees: SimpleQueue[Path] = SimpleQueue()

    def end(mutant: Mutant) -> End:
        tree = trees.get()
        try:
            (tree / path).write_text(mutant.text, encoding="utf-8")
            return tested(tree, tests, seconds)
        finally:
            (tree / path).write_text(mutant.source, encoding="utf-8")
            trees.put(tree)

    with ExitStack() as stack:
        copies = [stack.enter_context(copied()) for _ in range(jobs)]
        for tree in copies:
            trees.put(tree)
        if (found := tested(copies[0], tests, seconds / 2)) is not End.SURVIVED:
            raise SystemExit(
                f"{path} without any mutant is {found.value}: mend its tests, or give twice their --seconds"
            )
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(end, chosen))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Do the tests of a file notice faults?"
    )
    parser.add_argument("files", nargs="*", default=[BASE + name for name in TESTS])
    parser.add_argument("--tests", nargs="+", help="instead of those that belong to the file")
    parser.add_argument("--sample", type=int, default=40, help="how many mutants of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", help="the mutants with these numbers")
    parser.add_argument("--seconds", type=float, default=120, help="after which a mutant counts as killed")
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time")
    given = parser.parse_args()
    for path in given.files:
        tests = given.tests or TESTS.get(path.removeprefix(BASE))
        if tests is None:
            parser.error(f"no tests belong to {path}: name them with --tests, or add a line to TESTS")
        every = mutants((ROOT / path).read_text(encoding="utf-8"))
        sample = random.Random(given.seed).sample(every, min(given.sample, len(every)))
        chosen = [every[number] for number in given.only] if given.only else sample
        found = ends(path, chosen, tests, given.seconds, given.jobs)
        lived, late = found.count(End.SURVIVED), found.count(End.LATE)
        print(f"{path}: {len(found) - lived} of {len(found)} killed, {late} by the time limit ({len(every)} in all)")
        for mutant, end in zip(chosen, found, strict=True):
            if end is not End.KILLED:
                print(f"  {mutant.number} {end.value}\n{mutant.diff}", flush=True)


if __name__ == "__main__":
    main()
