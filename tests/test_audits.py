"""The audits of other libraries: what is asked of their programs, what becomes of the outputs, what the page says.

False alarms: three audits of correct mechanisms, first at 10⁻³ and then on fresh samples at 10⁻⁵; at most 3·10⁻⁸.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import audits
from benchmarks.audit_cases import LIBRARIES, Case, Library
from benchmarks.audits import AGAIN, FIRST, TITLES, Drawn, Finding, audited, merged, page
from benchmarks.peers import environments, sampling
from benchmarks.peers.environments import Failed, Peer

from discreet import noise
from discreet.audit import Claim

_read, _write = audits.read, audits.write
PEER = Peer("fake", "fake_audit", ())
GOOD = Case("good", "0 or 1", 0, 1, samples=4_000)
HALF = Case("half the noise", "0 or 1", 0, 1, samples=4_000, caveat="it says so itself")
POISON = Case("a pipe | in its name", "no row or one", 0, 1, samples=4_000)
MISSING = Case("missing", "0 or 1", 0, 1)
FACTS = {"day": "2026-01-02", "commit": "1a2b", "load": 0.5}


def exact(scale: float, n: int) -> dict[str, Any]:
    return {"data": noise.laplace(scale, size=n), "neighbour": 1 + noise.laplace(scale, size=n)}


def poisoned(n: int) -> dict[str, Any]:
    return {"data": np.zeros(n), "neighbour": np.full(n, math.nan)}


def draw(peer: Peer, cases: Sequence[Case]) -> tuple[str, list[Drawn]]:
    assert peer == PEER
    outputs = {"good": lambda n: exact(1, n), "half the noise": lambda n: exact(0.5, n), POISON.primitive: poisoned}
    return "1.2", [
        Drawn(outputs[case.primitive](case.samples), 0.5)
        if case.primitive in outputs
        else Drawn({}, 0.1, "KeyError: in /a/b")
        for case in cases
    ]


def found(*cases: Case) -> list[Finding]:
    return audited(Library(PEER, cases), draw)


def test_a_violation_is_confirmed_on_fresh_samples_and_told_with_its_caveat() -> None:
    good, half, poison = found(GOOD, HALF, POISON)
    assert good.first is not None
    assert good.first.confidence == FIRST
    assert not good.violated
    assert good.verdict == "not disproved"
    assert half.violated
    assert half.again is not None
    assert half.again.confidence == AGAIN
    assert half.first is not None
    counts = [(found.hits, found.misses, found.right, found.wrong) for found in (half.again, half.first)]
    assert counts[0] != counts[1]
    assert 1 < half.again.epsilon <= 2
    assert half.verdict == "**violated**; it says so itself"
    assert poison.cells[6] == "the output is 0: 2,700 of 2,700 on the first, 0 on the second"


def test_a_witness_says_which_side_gives_numbers() -> None:
    outputs = {"data": np.arange(4_000.0), "neighbour": np.full(4_000, math.nan)}
    swapped = {"data": outputs["neighbour"], "neighbour": outputs["data"]}
    shown = [
        audited(Library(PEER, (GOOD,)), lambda *_, sides=sides: ("1.2", [Drawn(sides, 1.0)]))[0].cells[6]
        for sides in (outputs, swapped)
    ]
    assert all(told.startswith(("the output is", "the output lies from", "the output lies below")) for told in shown)
    assert all(told.endswith("0 on the second") for told in shown)


def test_only_what_looks_violated_is_drawn_again() -> None:
    asked = []

    def listening(peer: Peer, cases: Sequence[Case]) -> tuple[str, list[Drawn]]:
        asked.append([case.primitive for case in cases])
        return draw(peer, cases)

    audited(Library(PEER, (POISON, GOOD, HALF)), listening)
    assert asked[0] == [POISON.primitive, "good", "half the noise"]
    assert asked[1:] in ([[POISON.primitive, "half the noise"]], [asked[0]])


def test_a_first_sign_that_does_not_show_again_is_no_violation() -> None:
    answers = iter([Drawn(exact(0.5, 4_000), 1.0), Drawn(exact(2, 4_000), 1.0)])
    [finding] = audited(Library(PEER, (GOOD,)), lambda *_: ("1.2", [next(answers)]))
    assert not finding.violated
    assert finding.verdict == "not disproved; a first sign did not show again"
    assert finding.cells[6] == ""


def test_what_cannot_be_run_is_told_without_paths() -> None:
    [missing] = found(MISSING)
    assert missing.verdict == "not run: KeyError: in …"
    assert missing.cells[4:7] == ("", "", "")
    nothing = audited(Library(PEER, (GOOD, HALF)), lambda *_: Failed("no matching version at https://some.host/x"))
    assert [finding.verdict for finding in nothing] == ["not run: no matching version at …"] * 2


def test_a_second_draw_that_fails_leaves_no_violation() -> None:
    answers: Iterator[tuple[str, list[Drawn]] | Failed]
    answers = iter([("1.2", [Drawn(exact(0.2, 4_000), 1.0)]), Failed("more than 300 s")])
    [finding] = audited(Library(PEER, (GOOD,)), lambda *_: next(answers))
    assert not finding.violated
    assert finding.verdict == "not run: a second time: more than 300 s"


def test_the_page_holds_one_row_for_each_case_and_counts_what_was_run() -> None:
    first = merged(Library(PEER, (GOOD, HALF)), [], found(HALF, GOOD), FACTS)
    second = merged(Library(PEER, (POISON, MISSING)), [], found(POISON, MISSING), {**FACTS, "load": 3})
    shown = page({"fake": first, "other": second})
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert {row.replace("\\|", "").count("|") for row in rows} == {len(TITLES) + 1}
    assert "On 2026-01-02 it tried 3 claims" in shown
    assert "found 2 of them violated" in shown
    assert re.search(r"Measured: 4 claims at commit 1a2b \(2026-01-02, \d+ s, load 0.5 to 3\)\.", shown)
    later = [{**row, "day": "2026-01-05", "commit": audits.UNKNOWN} for row in second]
    shown = page({"fake": first, "other": later})
    assert "From 2026-01-02 to 2026-01-05 it tried" in shown
    assert "; 2 claims from before commits were kept (2026-01-05, " in shown
    assert "fake 1.2" in rows[2]
    assert "not disproved" in rows[2]
    assert "**violated**" in rows[3]


def test_the_page_of_the_documentation_is_of_these_cases_and_of_what_was_kept() -> None:
    shown = audits.PAGE.read_text(encoding="utf-8")
    assert shown == page(audits.read()), "python -m benchmarks audits --docs"
    rows = [line.split(" | ") for line in shown.splitlines() if line.startswith("| ")][2:]
    cases = [case for library in LIBRARIES for case in library.cases]
    assert [(row[1], row[2], row[3]) for row in rows] == [
        (case.primitive, case.pair, str(case.claim)) for case in cases
    ]


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.peer.name)
def test_every_case_names_a_primitive_of_its_program(library: Library) -> None:
    program = (environments.ROOT / "benchmarks" / "peers" / f"{library.peer.module}.py").read_text(encoding="utf-8")
    assert all(f'    "{case.primitive}": ' in program for case in library.cases)
    assert all(case.data != case.neighbour for case in library.cases)


def test_a_program_draws_as_asked_and_tells_what_failed(tmp_path: Path) -> None:
    def noisy(epsilon: float, delta: float) -> sampling.Sampler:
        return lambda value, n: np.full(n, value + epsilon + delta)

    def breaks(_: Any) -> float:
        raise ZeroDivisionError

    primitives = {
        "noisy": noisy,
        "broken": lambda *_: sampling.each(breaks),
        "sometimes": lambda *_: sampling.each(lambda value: 1 / value),
        "wide": lambda *_: sampling.each(lambda value: [1 / value, 2.0], width=2),
    }
    cases = [
        Case(name, "2 or 0", 2, 0, Claim(1, 0.5), 3) for name in ("noisy", "broken", "sometimes", "wide", "unknown")
    ]
    asks = tmp_path / "asks.json"
    asks.write_text(json.dumps([audits._ask(case) for case in cases]), encoding="utf-8")
    told: dict[str, Any] = sampling.draw(primitives, "numpy", asks)
    outputs = np.load(asks.with_suffix(".npz"))
    noisy_, broken, sometimes, wide, unknown = (
        audits._taken(ask, outputs, place) for place, ask in enumerate(told["asks"])
    )
    assert told["version"] == np.__version__
    assert noisy_.outputs["data"].tolist() == [3.5] * 3
    assert noisy_.outputs["neighbour"].tolist() == [1.5] * 3
    assert broken.failed == "ValueError: no number on either side"
    assert sometimes.outputs["data"].tolist() == [0.5] * 3
    assert np.isnan(sometimes.outputs["neighbour"]).all()
    assert wide.outputs["neighbour"].shape == (3, 2)
    assert unknown.failed == "KeyError: 'unknown'"


def test_the_program_runs_in_the_environment_of_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way, with a program that needs no library: outputs come back by file, NaN among them."""
    peer = replace(PEER, module="fake_audit", environment="shared")
    seen = []

    def run(asked: Peer, task: str, path: Path) -> dict[str, object]:
        seen.append((asked, task))
        return sampling.draw({"good": lambda *_: lambda value, n: np.full(n, value)}, "numpy", path)

    monkeypatch.setattr(audits, "result", run)
    answer = audits.drawn(peer, [replace(GOOD, neighbour=math.nan)])
    assert not isinstance(answer, Failed)
    assert seen == [(peer, "draw")]
    assert np.isnan(answer[1][0].outputs["neighbour"]).all()
    assert answer[1][0].outputs["data"].tolist() == [0] * GOOD.samples


def test_a_program_that_fails_takes_only_its_own_cases_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [replace(GOOD, primitive=str(place), samples=2) for place in range(2 * audits.AT_A_TIME + 1)]
    late = str(audits.AT_A_TIME)

    def run(_: Peer, __: str, path: Path) -> dict[str, object] | Failed:
        names = [ask["primitive"] for ask in json.loads(path.read_text(encoding="utf-8"))]
        if late in names:
            return Failed("more than 300 s")
        return sampling.draw(dict.fromkeys(names, lambda *_: lambda value, n: [value] * n), "numpy", path)

    monkeypatch.setattr(audits, "result", run)
    answer = audits.drawn(PEER, cases)
    assert not isinstance(answer, Failed)
    failed = [place for place, drawn in enumerate(answer[1]) if drawn.failed]
    assert failed == list(range(audits.AT_A_TIME, 2 * audits.AT_A_TIME))
    assert audits.drawn(PEER, cases[audits.AT_A_TIME : audits.AT_A_TIME + 1]) == Failed("more than 300 s")


def test_what_is_kept_names_the_day_and_the_commit_that_measured_it() -> None:
    kept = audits.read()
    assert list(kept) == [library.peer.name for library in LIBRARIES]
    for name, rows in kept.items():
        assert all(re.fullmatch(r"[0-9a-f]{10}", row["commit"]) for row in rows), name
        assert {row["cells"][0].split()[0] for row in rows} == {name}
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row["day"]) for row in rows)


def test_claims_are_kept_as_they_are_tried_and_a_stopped_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = tuple(replace(GOOD, primitive=f"good {place}", samples=200) for place in range(2 * audits.AT_A_TIME))
    monkeypatch.setattr(
        audits, "LIBRARIES", (Library(PEER, cases), Library(replace(PEER, name="other"), (replace(GOOD, samples=200),)))
    )
    path, asked = tmp_path / "kept.json", list[str]()
    monkeypatch.setattr(audits, "read", lambda: _read(path))
    monkeypatch.setattr(audits, "write", lambda kept: _write(kept, path))
    monkeypatch.setattr(audits, "PAGE", tmp_path / "page.md")

    def drawn(_: Peer, some: Sequence[Case]) -> tuple[str, list[Drawn]]:
        if len(asked) == audits.AT_A_TIME:
            asked.append("stopped")
            raise KeyboardInterrupt
        asked.extend(case.primitive for case in some)
        return "1.2", [Drawn(exact(1, 200), 0.5)] * len(some)

    monkeypatch.setattr(audits, "drawn", drawn)
    old = {**FACTS, "commit": audits.UNKNOWN, "cells": ["other 1.1", "good", "0 or 1", "ε 1", *[""] * 4, "9 s"]}
    _write({"other": [old]}, path)
    with pytest.raises(KeyboardInterrupt):
        audits.main(["fake", "--docs"])
    assert [row["cells"][1] for row in _read(path)["fake"]] == ["good 0", "good 1"]
    asked.clear()
    asked.append("")
    audits.main(["--docs", "--missing"])
    assert asked[1:] == ["good 2", "good 3", "good"], "what has no commit counts as missing"
    assert [row["cells"][0] for rows in _read(path).values() for row in rows] == ["fake 1.2"] * 4 + ["other 1.2"]
    assert "| other 1.2 | good |" in (tmp_path / "page.md").read_text("utf-8")
    path.unlink()
    audits.main(["other"])
    assert not path.exists(), "without --docs nothing is kept"


def test_wrong_use_says_what_to_write() -> None:
    for wrong in ("--doc", "Opendp", ""):
        with pytest.raises(
            SystemExit, match=r"python -m benchmarks audits \[--docs\] \[--missing\] \[LIBRARY…\], of diffprivlib"
        ):
            audits.main([wrong])
