"""Small faults put into the trusted base one at a time: do its tests notice?

python -m tests.mutants src/discreet/accounting/filters.py --sample 40

Each mutant is one change in a copy of the tree. It is killed when a test fails or takes too long; what survives is
printed as a diff with its number, and `--only` runs it again. docs/mutants.md says what was found.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from enum import Enum
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import NoReturn, TypeVar

import pytest

from tests.faults import Mutant, mutants

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
BASE = "src/discreet/"
LEDGER = ["tests/ledger/test_tampering.py", "tests/ledger/test_spending.py", "tests/ledger/test_budgets.py"]
OPENED = ["tests/ledger/test_opening.py", "tests/ledger/test_answers.py", *reversed(LEDGER)]
STANDING = "tests/ledger/test_standing.py"
EXIT = ["tests/curator/test_curator.py"]
PINS = "tests/golden/test_figures.py"
"""Figures as they were: what only these notice may be as good as before, and is counted apart."""
PATIENCE = 8
"""Seconds on the clock, for one of the processor, until a mutant is taken to hang."""
LEAST = 5
"""Seconds of the processor that a mutant has at least."""
TESTS: dict[str, list[str]] = {
    "noise/__init__.py": ["tests/noise/test_public.py"],
    "noise/bits.py": ["tests/noise/test_bits.py", "tests/noise/test_forks.py"],
    "noise/integer.py": ["tests/noise/test_integer.py"],
    "noise/interval.py": ["tests/noise/test_interval.py"],
    "noise/race.py": ["tests/noise/test_race.py"],
    "noise/samplers.py": ["tests/noise/test_samplers.py", "tests/noise/test_public.py"],
    "noise/uniform.py": ["tests/noise/test_uniform.py"],
    "accounting/batch.py": ["tests/accounting/test_batch.py"],
    "accounting/loss_grid.py": ["tests/accounting/test_batch.py"],
    "accounting/pairs.py": ["tests/accounting/test_batch.py"],
    "accounting/points.py": ["tests/accounting/test_batch.py"],
    "accounting/renyi.py": ["tests/accounting/test_batch.py", "tests/mechanisms/test_exponential.py"],
    "accounting/shuffling.py": ["tests/accounting/test_shuffling.py"],
    "accounting/combination.py": ["tests/accounting/test_combination.py"],
    "accounting/conversion.py": ["tests/accounting/test_conversion.py", "tests/accounting/test_losses.py"],
    "accounting/curves.py": ["tests/accounting/test_curves.py", "tests/golden/test_accounting.py"],
    "accounting/distributions.py": ["tests/accounting/test_distributions.py", "tests/accounting/test_combination.py"],
    "accounting/fieller.py": ["tests/accounting/test_fieller.py"],
    "accounting/filters.py": ["tests/accounting/test_filters.py", "tests/attacks/test_mixed_relations.py"],
    "accounting/labels.py": ["tests/accounting/test_labels.py"],
    "accounting/balance.py": ["tests/accounting/test_balance.py"],
    "accounting/part.py": ["tests/ledger/test_partitions.py"],
    "accounting/prefixes.py": ["tests/accounting/test_prefixes.py"],
    "accounting/record.py": ["tests/ledger/test_answers.py", "tests/contracts/test_stores.py"],
    "accounting/relations.py": ["tests/accounting/test_losses.py", "tests/attacks/test_mixed_relations.py"],
    "accounting/turns.py": ["tests/attacks/test_threads_and_forks.py"],
    "accounting/losses.py": [
        "tests/accounting/test_kinds.py",
        "tests/accounting/test_losses.py",
        "tests/golden/test_accounting.py",
    ],
    "accounting/rounding.py": ["tests/accounting/test_rounding.py"],
    "accounting/spectrum.py": ["tests/accounting/test_spectrum.py"],
    "mechanisms/arrays.py": ["tests/mechanisms/test_arrays.py"],
    "mechanisms/estimate.py": ["tests/mechanisms/test_estimate.py"],
    "mechanisms/exponential.py": ["tests/mechanisms/test_exponential.py"],
    "mechanisms/gaussian.py": ["tests/mechanisms/test_gaussian.py"],
    "mechanisms/grid.py": ["tests/mechanisms/test_grid.py"],
    "mechanisms/histogram.py": ["tests/mechanisms/test_histogram.py"],
    "mechanisms/keys.py": ["tests/mechanisms/test_keys.py"],
    "mechanisms/laplace.py": ["tests/mechanisms/test_laplace.py"],
    "mechanisms/order.py": ["tests/attacks/test_selection_order.py"],
    "mechanisms/means.py": ["tests/mechanisms/test_means.py"],
    "mechanisms/noisymax.py": ["tests/mechanisms/test_noisymax.py"],
    "mechanisms/permute.py": ["tests/mechanisms/test_permute.py"],
    "mechanisms/quantile.py": ["tests/mechanisms/test_quantile.py"],
    "mechanisms/response.py": ["tests/mechanisms/test_response.py"],
    "mechanisms/selection.py": ["tests/mechanisms/test_selection.py"],
    "mechanisms/simplex.py": ["tests/mechanisms/test_simplex.py"],
    "mechanisms/sums.py": ["tests/mechanisms/test_sums.py"],
    "mechanisms/threshold.py": ["tests/mechanisms/test_threshold.py"],
    "mechanisms/variance.py": ["tests/mechanisms/test_variance.py"],
    "mechanisms/additive.py": [
        "tests/mechanisms/test_arrays.py",
        "tests/mechanisms/test_gaussian.py",
        "tests/mechanisms/test_laplace.py",
    ],
    "mechanisms/column.py": [
        "tests/mechanisms/test_arrays.py",
        "tests/mechanisms/test_sums.py",
        "tests/mechanisms/test_means.py",
    ],
    "mechanisms/calibrated.py": ["tests/mechanisms/test_sums.py", "tests/mechanisms/test_means.py"],
    "ledger/partitions.py": ["tests/ledger/test_partitions.py", "tests/attacks/test_parts_most.py"],
    "ledger/memory.py": ["tests/contracts/test_stores.py"],
    "ledger/store.py": ["tests/contracts/test_stores.py"],
    "ledger/sqlite/schema.py": ["tests/curator/test_old_state.py", *OPENED],
    "ledger/units.py": [STANDING, "tests/ledger/test_units.py"],
    "ledger/standing.py": [STANDING, "tests/ledger/test_percentages.py", "tests/ledger/test_budgets.py"],
    "ledger/sqlite/marks.py": ["tests/attacks/test_rollback.py"],
    "ledger/sqlite/reading.py": ["tests/contracts/test_stores.py", *OPENED],
    "ledger/sqlite/watch.py": [
        "tests/attacks/test_ledger_links.py",
        "tests/attacks/test_rollback.py",
        "tests/ledger/test_opening.py",
    ],
    "ledger/keys.py": ["tests/ledger/test_keys.py"],
    "ledger/state.py": [*LEDGER, "tests/ledger/test_partitions.py"],
    "ledger/grant.py": [STANDING, *reversed(LEDGER), "tests/ledger/test_partitions.py"],
    "ledger/charge.py": ["tests/attacks/test_mixed_relations.py", *OPENED],
    "ledger/codec.py": [STANDING, *OPENED],
    "accounting/balance_html.py": ["tests/ledger/test_budgets.py"],
    "ledger/entries.py": ["tests/contracts/test_stores.py", *OPENED],
    "ledger/sqlite/files.py": ["tests/ledger/test_backups.py", *OPENED],
    "ledger/ledger.py": [*OPENED, "tests/ledger/test_partitions.py"],
    "ledger/problems.py": OPENED,
    "ledger/sqlite/store.py": [
        *OPENED,
        "tests/attacks/test_rollback.py",
        "tests/ledger/test_backups.py",
        "tests/ledger/test_torn.py",
    ],
    "ledger/sqlite/verify.py": [
        "tests/ledger/test_backups.py",
        *LEDGER,
        "tests/ledger/test_opening.py",
        "tests/attacks/test_rollback.py",
    ],
    "curator/curator.py": [
        *EXIT,
        "tests/answers/test_wire.py",
        "tests/curator/test_again.py",
        "tests/curator/test_state.py",
        "tests/curator/test_fluent.py",
    ],
    "exit/charges.py": ["tests/exit/test_exit.py"],
    "exit/cost.py": ["tests/exit/test_exit.py", "tests/sql/test_cost.py", *EXIT],
    "exit/bill.py": ["tests/exit/test_exit.py", *EXIT],
    "exit/exit.py": ["tests/exit/test_exit.py", "tests/attacks/test_threads_and_forks.py", *EXIT],
    "exit/perform.py": ["tests/exit/test_perform.py", *EXIT],
    "exit/sampler.py": ["tests/curator/test_draw.py", *EXIT],
    "composed.py": ["tests/sql/test_composed.py"],
    "engines/printed.py": ["tests/sql/test_composed.py"],
    "sql/cost.py": ["tests/sql/test_cost.py", "tests/sql/test_clauses.py", *EXIT, "tests/sql/test_accuracy.py"],
    "curator/query.py": ["tests/curator/test_question.py", *EXIT, "tests/sql/test_accuracy.py"],
    "sql/draw.py": ["tests/curator/test_draw.py", *EXIT],
    "sql/cache.py": ["tests/curator/test_kept.py", "tests/attacks/test_cached_damage.py", *EXIT],
    "sql/accuracy.py": ["tests/sql/test_accuracy.py"],
    "sql/intervals.py": ["tests/sql/test_intervals.py"],
    "answers/interface.py": EXIT,
    "answers/call.py": ["tests/answers/test_call.py", "tests/answers/test_wire.py", "tests/curator/test_again.py"],
    "errors/edit.py": ["tests/answers/test_autofix.py"],
    "exit/timing.py": ["tests/exit/test_timing.py"],
    "curator/public.py": ["tests/sql/test_cost.py", *EXIT],
    "sql/released.py": ["tests/curator/test_draw.py", *EXIT],
    "curator/state.py": ["tests/curator/test_state.py"],
    "answers/wire.py": ["tests/answers/test_wire.py"],
    "engines/stopping.py": ["tests/engines/test_stopping.py"],
    "sql/part.py": ["tests/curator/test_partition.py"],
}
"""The tests that belong to a file, the quickest first."""
WIDER: dict[str, list[str]] = {
    "accounting/": ["tests/golden/test_accounting.py", "tests/contracts/test_mechanisms.py"],
    "exit/": ["tests/exit/test_perform.py"],
    "ledger/": ["tests/ledger/test_percentages.py", "tests/ledger/test_units.py", "tests/contracts/test_stores.py"],
    "mechanisms/": ["tests/contracts/test_mechanisms.py"],
    "noise/": ["tests/noise/test_public.py", "tests/contracts/test_mechanisms.py"],
}
"""After those, the tests of all files of a folder: contracts that every one of them serves."""
BASES = ("noise/", "accounting/", "mechanisms/", "ledger/", "exit/")
BASE_FILES = ("sql/cost.py", "sql/draw.py", "sql/cache.py", "composed.py", "engines/printed.py")
"""The trusted base."""


def noticing(path: str) -> list[str] | None:
    """The tests that may notice a fault in a file; None if nobody said which."""
    name = path.removeprefix(BASE)
    own = TESTS.get(name)
    wider = [test for folder, tests in WIDER.items() if name.startswith(folder) for test in tests]
    return None if own is None else list(dict.fromkeys([*own, *wider]))


def trusted() -> list[str]:
    """All files of the trusted base."""
    folders = (path for folder in BASES for path in (ROOT / BASE / folder).rglob("*.py"))
    paths = sorted([*folders, *(ROOT / BASE / name for name in BASE_FILES)])
    return [str(path.relative_to(ROOT)) for path in paths]


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
    PINNED = "killed by pinned figures alone"
    LATE = "killed by the time limit"


WARM = ("duckdb", "hypothesis.strategies", "mpmath", "numpy", "polars", "pyarrow", "rich", "scipy.stats", "sqlglot")
"""What tests import, imported once: a run is a fork, and a mutant costs little more than its tests."""


def _run(tree: Path, tests: Sequence[str], seconds: int, keep: bool) -> None:
    os.setsid()
    # not by the clock: a busy machine is no fault
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(tree)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"tests", "discreet"}]:
        del sys.modules[name]
    sys.path[:] = [str(tree / "src"), *(folder for folder in sys.path if Path(folder).resolve() != ROOT)]
    os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = not keep
    given = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long"]
    os._exit(pytest.main([*given, "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]))


def end_of(tree: Path, tests: Sequence[str], seconds: int, *, keep: bool = False) -> End:
    # failures that Hypothesis remembers of another mutant would decide about this one
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
    run = get_context("fork").Process(target=_run, args=(tree, tests, seconds, keep))
    run.start()
    run.join(PATIENCE * seconds)
    if run.exitcode is None:  # it waits for what will never come
        assert run.pid is not None
        os.killpg(run.pid, signal.SIGKILL)
        run.join()
        return End.LATE
    if run.exitcode in {-signal.SIGXCPU, -signal.SIGKILL}:
        return End.LATE
    return End.KILLED if run.exitcode else End.SURVIVED


def unchanged(tree: Path, test: str) -> float:
    """What a file of tests needs of the processor without any mutant; leaves bytecode in the tree."""
    before = _used()
    if end_of(tree, [test], 600, keep=True) is not End.SURVIVED:
        raise SystemExit(f"{test} fails without any mutant: mend it first")
    return _used() - before


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ends(
    path: str,
    chosen: Sequence[Mutant],
    tests: Sequence[str],
    seconds: int | None,
    copies: Sequence[Path],
    needed: dict[str, float],
) -> Iterator[tuple[Mutant, End]]:
    """What became of each mutant; `needed` are seconds that tests take without one, measured when first needed."""
    trees: SimpleQueue[Path] = SimpleQueue()

    def end(mutant: Mutant) -> End:
        tree = trees.get()
        try:
            (tree / path).write_text(mutant.text, encoding="utf-8")
            found = end_of(tree, tests, limit)
            if found is End.SURVIVED and end_of(tree, [PINS], limit) is not End.SURVIVED:
                return End.PINNED
            return found
        finally:
            (tree / path).write_text(mutant.source, encoding="utf-8")
            trees.put(tree)

    for test in (*tests, PINS):
        if test not in needed:
            needed[test] = max(unchanged(tree, test) for tree in copies)
    for tree in copies:
        for stale in (tree / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            stale.unlink()
    limit = seconds or max(LEAST, math.ceil(3 * sum(needed[test] for test in (*tests, PINS))))
    for tree in copies:
        trees.put(tree)
    with ThreadPoolExecutor(len(copies)) as pool:
        yield from zip(chosen, pool.map(end, chosen), strict=True)


def drawn(every: Sequence[T], seed: int, count: int) -> list[T]:
    return random.Random(seed).sample(every, min(count, len(every)))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Do the tests of a file notice faults?"
    )
    parser.add_argument("files", nargs="*", help="those of the trusted base if none is named")
    parser.add_argument("--tests", nargs="+", help="instead of those that belong to the file")
    parser.add_argument("--sample", type=int, default=40, help="how many mutants of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--besides",
        type=int,
        nargs=2,
        default=(1, 0),
        metavar=("SEED", "COUNT"),
        help="leave out what this seed draws in a sample of this size: tests may have been written for it",
    )
    parser.add_argument("--draw", type=int, help="so many of all mutants of all files together, each as likely")
    parser.add_argument(
        "--piece",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("I", "K"),
        help="the I-th, counted from 0, of K parts of the files",
    )
    parser.add_argument("--only", type=int, nargs="+", help="the mutants with these numbers")
    parser.add_argument(
        "--seconds",
        type=int,
        help="of the processor, after which a mutant counts as killed; else three times what its tests need",
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time")
    given = parser.parse_args()
    for name in WARM:
        import_module(name)
    start, step = given.piece
    paths = given.files or trusted()
    known = {path: mutants((ROOT / path).read_text(encoding="utf-8")) for path in paths}
    chosen = _chosen(known, given, parser.error)
    tried = [path for path in paths if chosen[path]]
    total, needed = Counter[End](), dict[str, float]()
    with ExitStack() as stack:
        copies = [stack.enter_context(copied()) for _ in range(given.jobs)]
        for path in tried[len(tried) * start // step : len(tried) * (start + 1) // step]:
            tests = given.tests or noticing(path)
            if tests is None:
                parser.error(f"no tests belong to {path}: name them with --tests, or add a line to TESTS")
            counts = Counter[End]()
            for mutant, found in ends(path, chosen[path], tests, given.seconds, copies, needed):
                counts[found] += 1
                if found is not End.KILLED:
                    print(f"  {mutant.number} {found.value}\n{mutant.diff}", flush=True)
            print(f"{path}: {len(chosen[path])} of {len(known[path])} tried: {_told(counts)}", flush=True)
            total += counts
    print(f"{total.total()} tried: {_told(total)}", flush=True)


def _told(counts: Counter[End]) -> str:
    return ", ".join(f"{counts[end]} {end.value}" for end in End)


def _chosen(
    known: Mapping[str, Sequence[Mutant]], given: argparse.Namespace, wrong: Callable[[str], NoReturn]
) -> dict[str, list[Mutant]]:
    """Of each file the mutants that are tried: those that are named, some of each, or some of all."""
    for path, every in known.items():
        if any(not 0 <= number < len(every) for number in given.only or ()):
            wrong(f"{path} has the mutants 0 to {len(every) - 1}: numbers change with the file")
    if given.only:
        return {path: [every[number] for number in given.only] for path, every in known.items()}
    fresh = {path: _without(every, drawn(every, *given.besides)) for path, every in known.items()}
    if given.draw is None:
        return {path: drawn(every, given.seed, given.sample) for path, every in fresh.items()}
    together = [(path, mutant) for path, every in fresh.items() for mutant in every]
    taken = drawn(together, given.seed, given.draw)
    return {path: [mutant for where, mutant in taken if where == path] for path in known}


def _without(every: Sequence[Mutant], some: Sequence[Mutant]) -> list[Mutant]:
    numbers = {mutant.number for mutant in some}
    return [mutant for mutant in every if mutant.number not in numbers]


if __name__ == "__main__":
    main()
