"""The tables of the guide on models: made from scores, bold where others are better; the picture is drawn from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.learn import cells, clusters, page
from benchmarks.learn.sets import CHOSEN_ON, REPORTED
from benchmarks.peers.environments import Failed, Peer

from tests.guide import _kept, _tables

AREAS = {
    ("scikit-learn", "AdditiveClassifier", None, None): [0.9],
    ("discreet", "LogisticRegression", 1.0, None): [0.7, 0.8],
    ("diffprivlib", "LogisticRegression", 1.0, None): [0.7, 0.7],
    ("discreet", "AdditiveClassifier", 1.0, 1e-5): [0.8, 0.8],
    ("DP-EBM", "AdditiveClassifier", 1.0, 1e-5): [0.85, 0.85],
}


def _cell(who: str, model: str, values: list[float], epsilon: float | None, delta: float | None) -> dict[str, Any]:
    known = {name: value for name, value in {"epsilon": epsilon, "delta": delta}.items() if value is not None}
    return {"who": who, "model": model, **known, "wide": False, "values": values}


FACTS = {"date": "2026-11-18", "commit": "1a2b", "load": 0.5, "processor": 90.0, "shape": [2_000, 3]}
COSTS = {"discreet": 1.5, "diffprivlib": 100.0}
KEPT: page.Kept = {name: {**FACTS, "cells": []} for name in REPORTED}
KEPT["delays"]["cells"] = [_cell(who, model, areas, *cost) for (who, model, *cost), areas in AREAS.items()]
KEPT["answers"]["cells"] = [_cell(who, "KMeans", [cost], 1.0, None) for who, cost in COSTS.items()]


@pytest.fixture
def tables() -> str:
    return page.tables(KEPT)


def _row(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} ("))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_peer_that_is_better_is_bold_and_what_was_not_measured_is_a_dash(tables: str) -> None:
    assert _row(tables, "delays") == [
        "delays (2,000 × 3)",
        "0.900 ± 0.000",
        "0.750 ± 0.050",
        "0.700 ± 0.000",
        "–",
        "0.800 ± 0.000",
        "**0.850 ± 0.000**",
        "–",
        "–",
    ]


def test_costs_are_ratios_and_less_is_better(tables: str) -> None:
    assert _row(tables, "answers")[1:4] == ["1.500 ± 0.000", "> 10", "–"]


def test_all_that_is_reported_has_a_line_and_nothing_else_has(tables: str) -> None:
    names = {line[2:].split(" (")[0] for line in tables.splitlines() if " × " in line}
    assert names == set(REPORTED)
    assert not names & set(CHOSEN_ON)


def test_the_picture_shows_what_the_tables_say(tables: str) -> None:
    points = [point for table in _tables(tables) for point in _kept(table)]
    assert {(point["by"], point["kept"]) for point in points} == {
        ("linear or logistic model", 0.625),
        ("diffprivlib's", 0.5),
        ("additive model, δ", 0.75),
        ("DP-EBM, δ", 0.875),
    }


def test_the_page_has_the_tables_that_are_kept(tmp_path: Path) -> None:
    shown = page.PAGE.read_text("utf-8")
    assert page.written(shown, page.read()) == shown, "run python -m benchmarks models --docs"
    path = tmp_path / "kept.json"
    page.write(dict(reversed(KEPT.items())), path)
    assert page.read(path) == KEPT
    assert list(page.read(path)) == list(REPORTED)
    assert page.read(tmp_path / "none.json") == {}
    changed = shown.replace("0.888 ± 0.002", "0.999 ± 0.002")
    assert page.written(changed, page.read()) == shown


def test_what_is_told_of_a_run_names_days_commits_and_what_failed() -> None:
    kept = {"delays": {**KEPT["delays"]}, "answers": {**KEPT["answers"], "date": "2026-11-20", "load": 3}}
    assert page.told(kept) == (
        "Measured 2026-11-18 to 2026-11-20 at commit 1a2b, 3 minutes of the processor in all, at load 0.5 to 3.\n"
    )
    kept["answers"]["cells"] = [{"who": "diffprivlib", "model": "PCA", "epsilon": 1.0, "wide": False, "failed": "no"}]
    assert page.told(kept).endswith(" A dash was tried and has no figure: diffprivlib's PCA on answers (no).\n")
    assert _row(page.tables(kept), "answers")[5] == "–"


def test_a_set_is_measured_cell_by_cell_and_kept_with_its_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def scores(model: str, name: str, *_: Any, **more: Any) -> dict[str, Any]:
        asked.append((model, name, more))
        return {"error": np.array([0.123456789, 0.2])}

    def failing(peer: Peer, *_: Any, **__: Any) -> Failed:
        return Failed(f"{peer.name} fell over")

    monkeypatch.setattr(cells, "of_ours", scores)
    monkeypatch.setattr(cells, "of_plain", scores)
    monkeypatch.setattr(cells, "of_peer", failing)
    path, shown = tmp_path / "kept.json", tmp_path / "page.md"
    shown.write_text(f"before\n{page.START}old\n{page.END}after\n", encoding="utf-8")
    monkeypatch.setattr(cells, "PAGE", shown)
    monkeypatch.setattr(cells, "read", lambda: page.read(path))
    monkeypatch.setattr(cells, "write", lambda kept: page.write(kept, path))
    cells.main(["Friedman"])
    assert not path.exists()
    cells.main(["--docs", "Friedman"])
    found = page.read(path)["Friedman"]
    assert found["shape"] == [20_000, 10]
    assert [cell.get("values") or cell["failed"] for cell in found["cells"]] == [
        *([[0.12346, 0.2]] * 2), "diffprivlib fell over", *([[0.12346, 0.2]] * 2), "DP-EBM fell over", [0.12346, 0.2],
    ]  # fmt: skip
    assert asked[1][2] == {"wide": False, "fits": cells.FITS}
    assert "| Friedman (20,000 × 10) | 0.162 ± 0.038 |" in shown.read_text("utf-8")


def test_a_set_that_cannot_be_had_is_told_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cells, "held", lambda _: Failed("no [network]"))
    cells.main(["delays"])
    assert capsys.readouterr().out == "skipped: delays (no [network])\n"
    for wrong in ("--doc", "digits", ""):
        with pytest.raises(SystemExit, match=r"wrong use: python -m benchmarks models \[--docs\] \[SET…\], of 'Adult'"):
            cells.main([wrong])


def test_groups_are_measured_over_what_is_had_without_privacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "ours", lambda *_, wide: np.array([1.5, 2.5]) if wide else np.array([1.0]))
    monkeypatch.setattr(clusters, "_plain", lambda *_: 2.0)
    monkeypatch.setattr(cells, "of_peer", lambda *_, **__: {1.0: {"cost": np.array([8.0]), "share": np.array([1.0])}})
    found = cells.measured("blobs, 5 features")
    assert not isinstance(found, Failed)
    assert [cell["values"] for cell in found["cells"]] == [[1.0], [4.0], [1.5, 2.5], [1.0], [0.5], [1.5, 2.5]]


def test_shorter_measurements_of_the_same_models_agree_with_the_tables() -> None:
    """Three fits of `make bench` beside the five of the page: farther apart than chance would put them is a mistake."""
    measured = json.loads((page.KEPT.parent / "learn_classes.json").read_text("utf-8"))["rows"]
    shown = _row(page.tables(page.read()), "Adult")
    cells = {"LogisticRegression": shown[2], "RandomForestClassifier": shown[8]}
    for model, cell in cells.items():
        row = next(row for row in measured if row["what"].startswith(f"Adult: {model}, auc at ε = 0.1 / 1 / 10"))
        (mean, spread), (other, width) = (map(float, text.split(" ± ")) for text in (cell, row["ours"].split(" / ")[1]))
        assert abs(mean - other) <= 5 * (spread + width) + 0.01, model
