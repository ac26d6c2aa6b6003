"""The tables of the guide on models: made from scores, bold where others are better; the picture is drawn from them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.learn import page
from benchmarks.learn.sets import CHOSEN_ON, REPORTED

from tests.guide import _kept, _tables

AREAS = {
    ("scikit-learn", "AdditiveClassifier", None, None): [0.9],
    ("discreet", "LogisticRegression", 1.0, None): [0.7, 0.8],
    ("diffprivlib", "LogisticRegression", 1.0, None): [0.7, 0.7],
    ("discreet", "AdditiveClassifier", 1.0, 1e-5): [0.8, 0.8],
    ("DP-EBM", "AdditiveClassifier", 1.0, 1e-5): [0.85, 0.85],
}


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    lines: list[dict[str, Any]] = [
        {"who": who, "model": model, "set": "delays", "wide": False, "measures": {"accuracy": [0.5], "auc": areas}}
        | ({} if epsilon is None else {"epsilon": epsilon})
        | ({} if delta is None else {"delta": delta})
        for (who, model, epsilon, delta), areas in AREAS.items()
    ]
    costs = {"scikit-learn": 2.0, "discreet": 3.0, "diffprivlib": 200.0}
    lines += [
        {"who": who, "model": "KMeans", "set": "answers", "wide": False, "measures": {"cost": [cost]}}
        | ({} if who == "scikit-learn" else {"epsilon": 1.0})
        for who, cost in costs.items()
    ]
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    monkeypatch.setattr(page, "set_of", lambda _: SimpleNamespace(rows=np.zeros((2_000, 3))))
    return page.tables(page.read(path))


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


def test_the_page_has_the_tables_that_are_kept(tables: str, tmp_path: Path) -> None:
    assert page.written(page.PAGE.read_text("utf-8")) == page.PAGE.read_text("utf-8"), (
        "run python -m benchmarks.learn.page"
    )
    path = tmp_path / "kept.json"
    page.keep(tables, "2026-11-18", "two", path)
    assert page.kept(path) == tables
    changed = page.PAGE.read_text("utf-8").replace("0.888 ± 0.002", "0.999 ± 0.002")
    assert page.written(changed) != changed


def test_shorter_measurements_of_the_same_models_agree_with_the_tables() -> None:
    """Three fits of `make bench` beside the five of the page: farther apart than chance would put them is a mistake."""
    measured = json.loads((page.KEPT.parent / "learn_classes.json").read_text("utf-8"))["rows"]
    shown = _row(page.kept(), "Adult")
    cells = {"LogisticRegression": shown[2], "RandomForestClassifier": shown[8]}
    for model, cell in cells.items():
        row = next(row for row in measured if row["what"].startswith(f"Adult: {model}, auc at ε = 0.1 / 1 / 10"))
        (mean, spread), (other, width) = (map(float, text.split(" ± ")) for text in (cell, row["ours"].split(" / ")[1]))
        assert abs(mean - other) <= 5 * (spread + width) + 0.01, model
