"""Small faults put into the trusted base one at a time: do its tests notice?

python -m tests.mutants src/discreet/accounting/filters.py --sample 40

Each mutant is one change in a copy of the tree. It is killed when a test fails or takes too long; what survives is
printed as a diff with its number, and `--only` runs it again. docs/mutants.md says what was found.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from tests.faults import Mutant, mutants
from tests.patching import patched

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
BASE = "src/discreet/"
LEDGER = ["tests/ledger/test_tampering.py", "tests/ledger/test_spending.py", "tests/ledger/test_budgets.py"]
OPENED = ["tests/ledger/test_opening.py", "tests/ledger/test_answers.py", *reversed(LEDGER)]
FAILURES = "tests/ledger/test_failures.py"
STANDING = "tests/ledger/test_standing.py"
POSTGRES = "tests/ledger/test_postgres.py"
MOVES = "tests/ledger/test_moves.py"
EXIT = ["tests/curator/test_curator.py"]
PINS = "tests/golden/test_figures.py"
"""Figures as they were: what only these notice may be as good as before, and is counted apart."""
PATIENCE = 8
"""Seconds on the clock, for one of the processor, until a mutant is taken to hang."""
LIMIT = 150
"""Seconds of the processor after which a mutant is taken to hang: no tests of a folder need a third of it."""
OUTSIDE = 77
"""How a fork ends whose mutant changes more than functions."""
TESTS: dict[str, list[str]] = {
    "noise/__init__.py": ["tests/accounting/test_names.py"],
    "noise/draws.py": ["tests/noise/test_public.py", "tests/noise/test_uniform.py"],
    "noise/bits.py": ["tests/noise/test_bits.py", "tests/noise/test_forks.py"],
    "noise/integer.py": ["tests/noise/test_integer.py"],
    "noise/interval.py": ["tests/noise/test_interval.py"],
    "noise/race.py": ["tests/noise/test_race.py"],
    "noise/samplers.py": ["tests/noise/test_samplers.py", "tests/noise/test_public.py"],
    "noise/uniform.py": ["tests/noise/test_uniform.py"],
    "accounting/__init__.py": ["tests/accounting/test_names.py"],
    "accounting/batch.py": ["tests/accounting/test_batch.py"],
    "accounting/loss_grid.py": ["tests/accounting/test_batch.py"],
    "accounting/passed.py": ["tests/accounting/test_passed.py"],
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
    "ledger/stands.py": ["tests/ledger/test_budgets.py", "tests/ledger/test_streams.py", "tests/exit/test_consent.py"],
    "exit/consent.py": ["tests/exit/test_consent.py"],
    "accounting/balance.py": ["tests/accounting/test_balance.py"],
    "accounting/odds.py": ["tests/lab/test_posterior.py"],
    "accounting/part.py": ["tests/ledger/test_partitions.py"],
    "accounting/prefixes.py": ["tests/accounting/test_prefixes.py"],
    "accounting/record.py": [
        "tests/accounting/test_record.py",
        "tests/ledger/test_answers.py",
        "tests/contracts/test_stores.py",
    ],
    "accounting/relations.py": ["tests/accounting/test_losses.py", "tests/attacks/test_mixed_relations.py"],
    "accounting/stream.py": ["tests/ledger/test_streams.py", "tests/server/test_streams.py"],
    "accounting/turns.py": ["tests/attacks/test_threads_and_forks.py"],
    "accounting/losses.py": [
        "tests/accounting/test_kinds.py",
        "tests/accounting/test_losses.py",
        "tests/golden/test_accounting.py",
    ],
    "accounting/rounding.py": ["tests/accounting/test_rounding.py"],
    "accounting/spectrum.py": ["tests/accounting/test_spectrum.py"],
    "mechanisms/__init__.py": ["tests/accounting/test_names.py"],
    "mechanisms/arrays.py": ["tests/mechanisms/test_arrays.py"],
    "mechanisms/estimate.py": ["tests/mechanisms/test_estimate.py"],
    "mechanisms/exponential.py": ["tests/mechanisms/test_exponential.py"],
    "mechanisms/gaussian.py": ["tests/mechanisms/test_gaussian.py"],
    "mechanisms/grid.py": ["tests/mechanisms/test_grid.py"],
    "mechanisms/histogram.py": ["tests/mechanisms/test_histogram.py"],
    "mechanisms/keys.py": ["tests/mechanisms/test_keys.py"],
    "mechanisms/laplace.py": ["tests/mechanisms/test_laplace.py"],
    "mechanisms/order.py": ["tests/attacks/test_selection_order.py"],
    "mechanisms/means.py": ["tests/mechanisms/test_means.py", "tests/mechanisms/test_moments.py"],
    "mechanisms/bestofsome.py": ["tests/mechanisms/test_bestofsome.py"],
    "mechanisms/noisymax.py": ["tests/mechanisms/test_noisymax.py"],
    "mechanisms/permute.py": ["tests/mechanisms/test_permute.py"],
    "mechanisms/prefixes.py": ["tests/release/test_totals.py"],
    "mechanisms/quantile.py": ["tests/mechanisms/test_quantile.py"],
    "mechanisms/response.py": ["tests/mechanisms/test_response.py"],
    "mechanisms/selection.py": ["tests/mechanisms/test_selection.py"],
    "mechanisms/simplex.py": ["tests/mechanisms/test_simplex.py"],
    "mechanisms/sums.py": ["tests/mechanisms/test_sums.py"],
    "mechanisms/threshold.py": ["tests/mechanisms/test_threshold.py"],
    "mechanisms/variance.py": ["tests/mechanisms/test_variance.py", "tests/mechanisms/test_moments.py"],
    "mechanisms/additive.py": [
        "tests/mechanisms/test_arrays.py",
        "tests/mechanisms/test_gaussian.py",
        "tests/mechanisms/test_laplace.py",
    ],
    "mechanisms/column.py": [
        "tests/mechanisms/test_arrays.py",
        "tests/mechanisms/test_sums.py",
        "tests/mechanisms/test_means.py",
        "tests/mechanisms/test_moments.py",
    ],
    "mechanisms/calibrated.py": [
        "tests/mechanisms/test_sums.py",
        "tests/mechanisms/test_means.py",
        "tests/mechanisms/test_moments.py",
    ],
    "ledger/partitions.py": ["tests/ledger/test_partitions.py", "tests/attacks/test_parts_most.py"],
    "ledger/memory.py": ["tests/contracts/test_stores.py"],
    "ledger/store.py": ["tests/contracts/test_stores.py"],
    **{f"ledger/postgres/{each}.py": [POSTGRES, MOVES] for each in ("schema", "session", "store", "reading")},
    "ledger/inspection.py": [POSTGRES, "tests/ledger/test_tampering.py"],
    "ledger/homes.py": [MOVES, "tests/attacks/test_rollback.py"],
    "ledger/moving.py": [MOVES],
    "ledger/sqlite/schema.py": ["tests/curator/test_old_state.py", *OPENED],
    "ledger/streams.py": ["tests/ledger/test_streams.py", "tests/ledger/test_stream_records.py"],
    "ledger/lines.py": ["tests/ledger/test_streams.py", "tests/ledger/test_stream_records.py"],
    "ledger/blocks.py": ["tests/ledger/test_streams.py", "tests/ledger/test_stream_records.py"],
    "ledger/declaring.py": ["tests/ledger/test_streams.py", "tests/ledger/test_stream_records.py"],
    "ledger/acts.py": ["tests/ledger/test_acts.py", "tests/ledger/test_budgets.py"],
    "ledger/windows.py": ["tests/ledger/test_acts.py"],
    **{
        f"ledger/{each}.py": ["tests/ledger/test_retention.py"]
        for each in ("erased", "retention", "postgres/retaining")
    },
    "ledger/units.py": [STANDING, "tests/ledger/test_units.py"],
    "ledger/standing.py": [STANDING, "tests/ledger/test_percentages.py", "tests/ledger/test_budgets.py"],
    "ledger/marks.py": [FAILURES, "tests/attacks/test_rollback.py"],
    "ledger/sqlite/reading.py": ["tests/contracts/test_stores.py", *OPENED],
    "ledger/watch.py": [
        "tests/attacks/test_ledger_links.py",
        "tests/attacks/test_rollback.py",
        "tests/ledger/test_opening.py",
    ],
    "ledger/keys.py": ["tests/ledger/test_keys.py"],
    "ledger/state.py": [*LEDGER, "tests/ledger/test_partitions.py", "tests/ledger/test_stream_records.py"],
    "ledger/grant.py": [STANDING, *reversed(LEDGER), "tests/ledger/test_partitions.py"],
    "ledger/charge.py": ["tests/attacks/test_mixed_relations.py", *OPENED],
    "ledger/codec.py": [STANDING, *OPENED],
    "accounting/balance_html.py": ["tests/ledger/test_budgets.py"],
    "ledger/entries.py": ["tests/contracts/test_stores.py", *OPENED],
    "ledger/sqlite/files.py": ["tests/ledger/test_backups.py", *OPENED],
    "ledger/ledger.py": [*OPENED, "tests/ledger/test_partitions.py"],
    "ledger/problems.py": [FAILURES, *OPENED],
    "ledger/sqlite/store.py": [
        *OPENED,
        "tests/attacks/test_rollback.py",
        "tests/ledger/test_backups.py",
        "tests/ledger/test_torn.py",
    ],
    "ledger/sqlite/verify.py": [
        FAILURES,
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
    "exit/cost.py": ["tests/exit/test_usual_cost.py", "tests/exit/test_exit.py", "tests/sql/test_cost.py", *EXIT],
    "exit/bill.py": ["tests/exit/test_exit.py", *EXIT],
    "exit/exit.py": ["tests/exit/test_exit.py", "tests/attacks/test_threads_and_forks.py", *EXIT],
    "exit/progress.py": ["tests/exit/test_progress.py"],
    "exit/perform.py": ["tests/exit/test_perform.py", *EXIT],
    "exit/sampler.py": ["tests/exit/test_exit.py", "tests/curator/test_draw.py", *EXIT],
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
ALONE = ("postgres", "processes", "crowds", "crashes", "moves", "torn", "forks", "disk", "failures", "timing", "model")
"""Tests that start or kill processes, or search for long: they run for files that name them, not for their folder."""
WIDER: dict[str, list[str]] = {
    "accounting/": ["tests/accounting", "tests/golden/test_accounting.py", "tests/contracts/test_mechanisms.py"],
    "exit/": ["tests/exit", "tests/curator/test_curator.py"],
    "ledger/": ["tests/ledger", "tests/contracts/test_stores.py"],
    "mechanisms/": ["tests/mechanisms", "tests/contracts/test_mechanisms.py"],
    "noise/": ["tests/noise", "tests/contracts/test_mechanisms.py"],
}
"""After those, the tests of all files of a folder, and contracts that every one of them serves."""
BASES = ("noise/", "accounting/", "mechanisms/", "ledger/", "exit/")
BASE_FILES = ("sql/cost.py", "sql/draw.py", "sql/cache.py", "composed.py", "engines/printed.py")
"""The trusted base."""


def noticing(path: str) -> list[str] | None:
    """The tests that may notice a fault in a file; None if nobody said which."""
    name = path.removeprefix(BASE)
    own = TESTS.get(name)
    wider = [
        test for folder, tests in WIDER.items() if name.startswith(folder) for each in tests for test in _files(each)
    ]
    return None if own is None else list(dict.fromkeys([*own, *wider]))


def _files(tests: str) -> list[str]:
    """A file, or those of a folder that may run for each of its files."""
    folder = ROOT / tests
    found = sorted(folder.glob("test_*.py")) if folder.is_dir() else [folder]
    return [str(path.relative_to(ROOT)) for path in found if not path.stem.endswith(ALONE)]


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
    WIDER = "killed by other tests of its folder"
    PINNED = "killed by pinned figures alone"
    LATE = "killed by the time limit"
    OUTSIDE = "outside of functions"


WARM = ("duckdb", "hypothesis.strategies", "mpmath", "numpy", "polars", "pyarrow", "rich", "scipy.stats", "sqlglot")
"""What tests import, imported once: a run is a fork, and a mutant costs little more than its tests."""


@dataclass(frozen=True, slots=True)
class Run:
    """Tests that are run with a mutant in a file, or with none."""

    path: str
    mutant: Mutant | None
    tests: tuple[str, ...]

    def write(self, tree: Path, *, is_mutant: bool) -> None:
        if self.mutant is not None:
            text = self.mutant.text if is_mutant else self.mutant.source
            (tree / self.path).write_text(text, encoding="utf-8")


class Server:
    """A run of pytest that stops before its first test, and from which forks go on: one for each mutant, or for none.

    A fork has a limit of the processor's time, for a busy machine is no fault; it is killed where it hangs.
    """

    def __init__(self, tree: Path, runs: Sequence[Run], told: Connection) -> None:
        self._tree, self._runs, self._told = tree, runs, told
        self._noticed = tree / ".noticed"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        for run in self._runs:
            child = os.fork()
            if not child:
                self._begin(run, session)
                return None  # the tests are run
            found = self._ended(child, run)
            run.write(self._tree, is_mutant=False)
            self._told.send(found.name)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._noticed.exists():
            self._noticed.write_text(report.nodeid, encoding="utf-8")

    def _begin(self, run: Run, session: pytest.Session) -> None:
        os.setsid()
        # failures that Hypothesis remembers of another mutant would decide about this one
        shutil.rmtree(self._tree / ".hypothesis", ignore_errors=True)
        self._noticed.unlink(missing_ok=True)
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
        by_file = defaultdict[str, list[pytest.Item]](list)
        for item in session.items:
            by_file[item.nodeid.partition("::")[0]].append(item)
        session.items[:] = [item for test in run.tests for item in by_file[test]]
        run.write(self._tree, is_mutant=True)
        mutant = run.mutant
        if mutant is not None and not patched(str(self._tree / run.path), mutant.source, mutant.text):
            os._exit(OUTSIDE)

    def _ended(self, child: int, run: Run) -> End:
        status = _waited(child, PATIENCE * LIMIT)
        if status == OUTSIDE:
            return End.OUTSIDE
        if status is None or status in {-signal.SIGXCPU, -signal.SIGKILL}:
            return End.LATE
        if not status:
            return End.SURVIVED
        named = self._noticed.read_text(encoding="utf-8") if self._noticed.exists() else ""
        if named.startswith(PINS):
            return End.PINNED
        own = TESTS.get(run.path.removeprefix(BASE), ())
        return End.KILLED if not named or named.startswith(tuple(own)) else End.WIDER


def _waited(child: int, seconds: float) -> int | None:
    """How a process ended; None if it did not, and had to be killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _serve(tree: Path, runs: Sequence[Run], told: Connection) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(tree)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"tests", "discreet"}]:
        del sys.modules[name]
    sys.path[:] = [str(tree / "src"), *(folder for folder in sys.path if Path(folder).resolve() != ROOT)]
    os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    tests = dict.fromkeys(test for run in runs for test in run.tests)
    given = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not long"]
    given += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]
    os._exit(pytest.main(given, plugins=[Server(tree, runs, told)]))


def served(tree: Path, runs: Sequence[Run]) -> Iterator[End]:
    """What became of each run; it ends early where tests cannot be collected."""
    heard, told = Pipe(duplex=False)
    server = get_context("fork").Process(target=_serve, args=(tree, runs, told))
    server.start()
    told.close()
    with suppress(EOFError):
        while True:
            yield End[heard.recv()]
    server.join()


def ends(runs: Sequence[Run], tree: Path) -> Iterator[End]:
    """What became of each run. Mutants that change more than functions are imported, each in a process of its own."""
    for run, end in zip(runs, served(tree, runs), strict=True):
        if end is not End.OUTSIDE:
            yield end
            continue
        run.write(tree, is_mutant=True)
        yield next(served(tree, [replace(run, mutant=None)]), End.KILLED)
        run.write(tree, is_mutant=False)


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
        "--part",
        type=int,
        nargs=2,
        default=(),
        metavar=("FROM", "TO"),
        help="of those in their random order; the tests are taken to pass without any mutant",
    )
    parser.add_argument("--only", type=int, nargs="+", help="the mutants with these numbers")
    given = parser.parse_args()
    for name in WARM:
        import_module(name)
    paths = given.files or trusted()
    known = {path: mutants((ROOT / path).read_text(encoding="utf-8")) for path in paths}
    chosen = _chosen(known, given, parser.error)
    runs = [
        Run(path, mutant, (*(given.tests or noticing(path) or parser.error(f"no tests belong to {path}")), PINS))
        for path in paths
        for mutant in chosen[path]
    ]
    random.Random(given.seed).shuffle(runs)  # so that those that were tried are a sample, wherever it ends
    runs = runs[slice(*given.part or (None,))]
    tests = dict.fromkeys(test for run in runs for test in run.tests)
    plain = [] if given.part else [Run("", None, (test,)) for test in tests]
    counts = Counter[End]()
    with copied() as tree:
        for run, end in zip([*plain, *runs], ends([*plain, *runs], tree), strict=True):
            if run.mutant is None and end is not End.SURVIVED:
                raise SystemExit(f"{run.tests[0]} fails without any mutant: mend it first")
            if run.mutant is None:
                continue
            counts[end] += 1
            print(f"{run.path} {run.mutant.number} {end.value}", flush=True)
            if end not in {End.KILLED, End.WIDER}:
                print(run.mutant.diff, flush=True)
    print(f"{counts.total()} of {sum(map(len, known.values()))} tried: {_told(counts)}", flush=True)


def _told(counts: Counter[End]) -> str:
    return ", ".join(f"{counts[end]} {end.value}" for end in End if end is not End.OUTSIDE)


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
