"""Audits other libraries: `python -m benchmarks audits` prints what was found, `--docs` keeps it and writes the page.

With names of libraries only those are audited; what was kept of the others stays. Each claim is kept when it was tried,
with day, commit and load; `--missing` goes on where a run was stopped, with those that have no commit.

Each library draws in an environment of its own; the estimate is made here. What looks like a violation is tried again
on fresh samples, at a confidence that leaves no room for chance in so many tries.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.audit_cases import LIBRARIES, Case, Library
from benchmarks.peers.environments import ROOT, Failed, Peer, result
from discreet.audit import Estimate, batch, estimate

PAGE = ROOT / "docs" / "auditing-others.md"
KEPT = ROOT / "benchmarks" / "results" / "audits.json"
"""What the last run found, from which the page is written."""
FIRST, AGAIN = 0.999, 0.99999
AT_A_TIME = 2
"""Cases that one program draws."""
OPTIONS = ("--docs", "--missing")
UNKNOWN = "unknown"
"""Where a row is from before commits were kept."""
Row = dict[str, Any]
"""What a table shows of a claim, and when and on what it was tried."""
Kept = dict[str, list[Row]]
"""For each library its rows, in the order of the page."""
TITLES = ("library", "primitive", "neighbours", "claim", "found", "samples", "witness", "verdict", "time")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a library gave for one case: outputs on both sides, or why there are none."""

    outputs: dict[str, Any]
    seconds: float
    failed: str = ""


Draw = Callable[[Peer, Sequence[Case]], "tuple[str, list[Drawn]] | Failed"]
"""The library's version, and what it gave for each case."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one case."""

    library: str
    case: Case
    seconds: float
    first: Estimate | None = None
    again: Estimate | None = None
    """On fresh samples, if the first estimate was a violation."""
    failed: str = ""

    @property
    def violated(self) -> bool:
        return self.again is not None and self.again.violated

    @property
    def verdict(self) -> str:
        if self.failed:
            return f"not run: {_without_addresses(self.failed)}"
        if self.violated:
            return f"**violated**{f'; {self.case.caveat}' if self.case.caveat else ''}"
        return "not disproved" + ("; a first sign did not show again" if self.again else "")

    @property
    def cells(self) -> tuple[str, ...]:
        shown = self.again or self.first
        found = f"ε ≥ {shown.epsilon:.2f}" if shown else ""
        samples = f"{self.case.samples:,}" if shown else ""
        witness = _told(shown) if shown and self.violated else ""
        case = self.case
        return (
            *(self.library, case.primitive, case.pair, str(case.claim), found, samples, witness, self.verdict),
            f"{self.seconds:.0f} s",
        )


def main(arguments: Sequence[str]) -> None:
    options, names = ([one for one in arguments if (one in OPTIONS) is known] for known in (True, False))
    peers = [library.peer.name for library in LIBRARIES]
    if set(names) - set(peers):
        sys.exit(f"wrong use: python -m benchmarks audits [--docs] [--missing] [LIBRARY…], of {', '.join(peers)}")
    for library in LIBRARIES:
        if not names or library.peer.name in names:
            _main(library, docs="--docs" in options, missing="--missing" in options)
    if "--docs" in options:
        PAGE.write_text(page(read()), encoding="utf-8")


def _main(library: Library, *, docs: bool, missing: bool) -> None:
    """A few cases at a time, kept before the next ones are begun."""
    name = library.peer.name
    known = {_key(row["cells"]) for row in read().get(name, []) if row["commit"] != UNKNOWN}
    cases = [case for case in library.cases if not (missing and _asked(case) in known)]
    for start in range(0, len(cases), AT_A_TIME):
        facts = {"day": str(datetime.datetime.now(tz=datetime.UTC).date()), "commit": machine.commit()}
        load = machine.load()
        found = audited(replace(library, cases=tuple(cases[start : start + AT_A_TIME])), drawn)
        _show(found)
        if docs:
            write({**read(), name: merged(library, read().get(name, []), found, {**facts, "load": load})})


def merged(library: Library, before: Sequence[Row], found: Iterable[Finding], facts: Mapping[str, Any]) -> list[Row]:
    """A row for each case: that of this run, or that of an earlier one."""
    rows = {_key(row["cells"]): row for row in before}
    rows |= {_key(cells): {**facts, "cells": list(cells)} for finding in found for cells in [finding.cells]}
    return [rows[key] for key in map(_asked, library.cases) if key in rows]


def _asked(case: Case) -> tuple[str, ...]:
    return case.primitive, case.pair, str(case.claim)


def _key(cells: Sequence[str]) -> tuple[str, ...]:
    """What a row is about: a primitive, neighbours and a claim."""
    return tuple(cells[1:4])


def audited(library: Library, draw: Draw) -> list[Finding]:
    """All cases of a library; those that look violated a second time."""
    answer = draw(library.peer, library.cases)
    if isinstance(answer, Failed):
        return [Finding(library.peer.name, case, 0.0, failed=answer.reason) for case in library.cases]
    version, everything = answer
    found = [_first(f"{library.peer.name} {version}", *pair) for pair in zip(library.cases, everything, strict=True)]
    doubtful = [finding.case for finding in found if finding.first and finding.first.violated]
    if not doubtful:
        return found
    fresh = draw(library.peer, doubtful)
    more = iter([Drawn({}, 0.0, fresh.reason)] * len(doubtful) if isinstance(fresh, Failed) else fresh[1])
    return [_again(finding, next(more)) if finding.first and finding.first.violated else finding for finding in found]


def _first(library: str, case: Case, drawn: Drawn) -> Finding:
    if drawn.failed:
        return Finding(library, case, drawn.seconds, failed=drawn.failed)
    first, seconds = _estimated(case, drawn, FIRST)
    return Finding(library, case, seconds, first)


def _again(finding: Finding, drawn: Drawn) -> Finding:
    if drawn.failed:
        return Finding(finding.library, finding.case, finding.seconds, failed=f"a second time: {drawn.failed}")
    again, seconds = _estimated(finding.case, drawn, AGAIN)
    return Finding(finding.library, finding.case, finding.seconds + seconds, finding.first, again)


def _estimated(case: Case, drawn: Drawn, confidence: float) -> tuple[Estimate, float]:
    """And how long it took, with drawing."""
    start = time.perf_counter()
    mechanism = batch(lambda side, _: drawn.outputs[side])
    found = estimate(mechanism, "data", "neighbour", claim=case.claim, samples=case.samples, confidence=confidence)
    return found, drawn.seconds + time.perf_counter() - start


def drawn(peer: Peer, cases: Sequence[Case]) -> tuple[str, list[Drawn]] | Failed:
    """A few cases at a time, so that a busy machine does not run into the limit of one program."""
    version, found = "", list[Drawn]()
    for start in range(0, len(cases), AT_A_TIME):
        some = cases[start : start + AT_A_TIME]
        answer = _by_program(peer, some)
        if isinstance(answer, Failed):
            found += [Drawn({}, 0.0, answer.reason)] * len(some)
        else:
            version, more = answer
            found += more
    return (version, found) if version else Failed(found[0].failed)


def _by_program(peer: Peer, cases: Sequence[Case]) -> tuple[str, list[Drawn]] | Failed:
    """In the peer's own environment."""
    with tempfile.TemporaryDirectory(prefix="discreet-audits-") as folder:
        path = Path(folder) / "asks.json"
        path.write_text(json.dumps([_ask(case) for case in cases]), encoding="utf-8")
        answer = result(peer, "draw", path)
        if isinstance(answer, Failed):
            return answer
        with np.load(path.with_suffix(".npz")) as outputs:
            found = [_taken(told, outputs, place) for place, told in enumerate(answer["asks"])]
    return str(answer["version"]), found


def _ask(case: Case) -> dict[str, Any]:
    return {
        "primitive": case.primitive,
        "data": case.data,
        "neighbour": case.neighbour,
        "samples": case.samples,
        "epsilon": case.claim.epsilon,
        "delta": case.claim.delta,
    }


def _taken(told: dict[str, Any], outputs: Any, place: int) -> Drawn:
    sides = {} if told["failed"] else {side: outputs[f"{place}-{side}"] for side in ("data", "neighbour")}
    return Drawn(sides, told["seconds"], told["failed"])


def _told(found: Estimate) -> str:
    """The event, and how often it came on each side."""
    sides = ("first", "second") if found.likelier == "data" else ("second", "first")
    return f"{found.witness}: {found.hits:,} of {found.trials:,} on the {sides[0]}, {found.misses:,} on the {sides[1]}"


def _show(found: Iterable[Finding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*TITLES, show_lines=True)
    for finding in found:
        table.add_row(*(escape(cell.replace("**", "")) for cell in finding.cells))
    table.caption = "Not disproved is not the same as correct."
    Console().print(table)


def read(path: Path = KEPT) -> Kept:
    kept: Kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept


def write(kept: Kept, path: Path = KEPT) -> None:
    """In the order of the page."""
    ordered = {library.peer.name: kept[library.peer.name] for library in LIBRARIES if library.peer.name in kept}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(kept: Kept) -> str:
    """The page of the documentation, with nothing in it that was not measured."""
    rows = [row for each in kept.values() for row in each]
    verdicts = [row["cells"][TITLES.index("verdict")] for row in rows]
    run = sum(not verdict.startswith("not run") for verdict in verdicts)
    broken = sum(verdict.startswith("**violated**") for verdict in verdicts)
    table = "\n".join(_lines(TITLES, [row["cells"] for row in rows]))
    return TEMPLATE.format(run=run, broken=broken, days=_days(rows), runs="; ".join(_runs(rows)), table=table)


def _days(rows: Iterable[Row]) -> str:
    days = sorted({row["day"] for row in rows})
    return f"On {days[0]}" if len(days) == 1 else f"From {days[0]} to {days[-1]}"


def _runs(rows: Sequence[Row]) -> Iterator[str]:
    """By commit: how many claims, when, for how long, at what load."""
    for commit in dict.fromkeys(row["commit"] for row in rows):
        some = [row for row in rows if row["commit"] == commit]
        told = "from before commits were kept" if commit == UNKNOWN else f"at commit {commit}"
        seconds = sum(float(row["cells"][-1].split()[0]) for row in some)
        loads = [row["load"] for row in some]
        busy = "" if commit == UNKNOWN else f", load {min(loads):g} to {max(loads):g}"
        yield f"{len(some)} claims {told} ({max(row['day'] for row in some)}, {seconds:,.0f} s{busy})"


def _lines(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(titles)
    yield _line(["---"] * len(titles))
    yield from map(_line, rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _without_addresses(reason: str) -> str:
    """Neither paths nor hosts of the machine that it ran on belong into a page."""
    return re.sub(r"\S*/\S*", "…", reason)


TEMPLATE = """\
# Auditing other libraries

The auditor sees outputs only, so it can be pointed at any library. {days} it tried {run} claims of other libraries
and found {broken} of them violated. To repeat it:

    python -m benchmarks audits
    python -m benchmarks audits --docs
    python -m benchmarks audits --docs opendp

The second also writes this page, the third does so for one library. Each gets an environment of its own at first use.
Measured: {runs}.

**How it works.** The library draws outputs on two neighbours in a process of its own. From a third of them the auditor
learns to guess on which side an output was drawn, from one or two events; on the others, which no choice has seen, it
counts how often that guess is right. A mechanism that keeps its claim is guessed rightly at most e^ε times as often as
wrongly (and δ), so a Clopper–Pearson bound on that share is one on ε. *Found* is that bound at confidence 0.999; where
it exceeds the claim, all is done again on fresh samples, and the row shows the second bound, at confidence 0.99999.
*Samples* are those of each side. An error, NaN, or a key that is not shown counts as an output that is no number.

{table}

**What this does not say.** Not disproved is not correct: other neighbours, another ε or more samples may show what
these did not, and with 20,000 samples noise that is a tenth too small passes. A violation is one of the claim as the
row states it: ε and δ as they are passed to the library or costed by it, and neighbours as named there. Some rest on
what a library warns of or leaves to the caller, and the row says so. Whether one matters depends on who sees outputs,
and how precisely: a witness in the last bits of a float is gone once every output is rounded to a fixed grid much
coarser than those bits. Versions are those that were installed on that day; later ones may differ. The same auditor
runs over the mechanisms of discreet itself, and over a collection that is broken on purpose, in the tests.
"""
