"""`discreet release`: every publication from the command line, its files, and what is said before a charge."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import discreet
from discreet.cli.release import KINDS
from discreet.release.codec import encode
from discreet.release.core import PUBLICATIONS
from discreet.release.sent import arguments_of, offered
from tests.cli.runs import run, told
from tests.server.running import build


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Path(tmp_path_factory.mktemp("release")), patients=300)


def test_every_publication_has_a_command_whose_options_it_takes() -> None:
    assert {kind.publication for kind in KINDS.values()} == set(offered())
    for kind in KINDS.values():
        takes = arguments_of(PUBLICATIONS[kind.publication])
        assert {kind.columns, *kind.options} <= set(takes)


ASKED = {
    "histogram": ["-c", "ward", "-c", "age", "--bins", "age=3"],
    "workload": ["-c", "age", "--bins", "age=8", "--queries", "ranges", "--queries", "marginals 1"],
    "facets": ["-c", "ward", "-c", "zip"],
    "hierarchy": ["--places", "places.csv"],
    "totals": ["--every", "year", "--method", "tree"],
    "log": ["-c", "zip", "--max-keys", "1"],
    "synth": ["-c", "ward", "-c", "age", "--bins", "age=3"],
    "mwem": ["-c", "ward", "-c", "age", "--bins", "age=3", "--rounds", "2", "--degree", "1"],
    "small": ["-c", "ward", "--size", "4"],
}


@pytest.mark.parametrize("name", KINDS)
def test_it_is_previewed_published_and_shown_again_for_nothing(
    name: str, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(policy.parent)
    Path("places.csv").write_text("ward\nA\nB\nC\n", encoding="utf-8")
    preview = told("release", name, policy, "patients", "-e", "0.5", "--preview", *ASKED[name])
    document = told("release", name, policy, "patients", "-e", "0.5", *ASKED[name])
    assert document["cost"]["rho"] == pytest.approx(preview["loss"]["rho"])
    again = told("release", name, policy, "patients", "-e", "0.5", *ASKED[name])
    assert (again["value"], again["loss"]["rho"]) == (document["value"], 0)
    shown = run("release", name, policy, "patients", "-e", "0.4", *ASKED[name]).stdout
    assert f"free: it was published before; receipt {document['receipt'].partition(':')[0]}:" in shown
    with discreet.open(policy) as curator:
        recalled = curator.recall(int(document["receipt"].partition(":")[0]))
    assert json.loads(encode(recalled))["value"] == document["value"]


def test_files_are_written_once_and_have_all_rows(policy: Path, tmp_path: Path) -> None:
    asked: list[str | Path] = ["release", "facets", policy, "patients", "-c", "ward", "-c", "born", "-e", "0.3"]
    shown = run(*asked, "-o", tmp_path / "facets.csv").stdout
    assert "95 % of the values are within ±" in shown
    rows = list(csv.reader((tmp_path / "facets.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["column", "value", "count"]
    assert [row[1] for row in rows[1:4]] == ["A", "B", "C"]
    run(*asked, "-o", tmp_path / "facets.json")
    assert json.loads((tmp_path / "facets.json").read_text(encoding="utf-8"))["value"]["stored"] == "FacetCounts"
    synth: list[str | Path] = ["release", "synth", policy, "patients", *ASKED["synth"], "-e", "0.5"]
    run(*synth, "-o", tmp_path / "s.parquet", "--report", tmp_path / "s.html")
    assert (tmp_path / "s.parquet").read_bytes().startswith(b"PAR1")
    assert "<!doctype html>" in (tmp_path / "s.html").read_text(encoding="utf-8")


def test_what_cannot_be_written_or_read_is_said_before_anything_is_charged(policy: Path, tmp_path: Path) -> None:
    with discreet.open(policy) as curator:
        before = len(curator.entries())
    (tmp_path / "there.csv").touch()
    asked: list[str | Path] = ["release", "facets", policy, "patients", "-e", "5"]
    wrong: tuple[list[str | Path], ...] = (
        ["-o", tmp_path / "there.csv"],
        ["-o", tmp_path / "no" / "folder.csv"],
        ["-o", tmp_path / "x.parquet"],
        ["-o", tmp_path / "x.exe"],
        ["--report", tmp_path / "x.html"],
        ["--bins", "age"],
        ["--max-rows", "0"],
    )
    for options in wrong:
        run(*asked, *options, code=2)
    run("release", "nothing", policy, "patients", code=2)
    run("release", "totals", policy, "patients", "-c", "born", "-c", "age", "-e", "1", code=2)
    refused: tuple[list[str | Path], ...] = (
        ["release", "facets", policy, "patients"],
        ["release", "facets", policy, "nobody", "-e", "1"],
        ["release", "totals", policy, "patients", "--every", "hour", "-e", "1"],
        ["release", "workload", policy, "patients", "--queries", "all of it", "-e", "1"],
        ["release", "histogram", policy, "patients", "-c", "id", "-e", "1"],
    )
    for options in refused:
        run(*options, code=3)
    run(*asked[:-1], "500", code=4)
    with discreet.open(policy) as curator:
        assert len(curator.entries()) == before


def test_dummy_data_are_free(policy: Path) -> None:
    with discreet.open(policy) as curator:
        before = len(curator.entries())
    assert told("release", "facets", policy, "patients", "-e", "1", "--dummy")["value"]["stored"] == "FacetCounts"
    with discreet.open(policy) as curator:
        assert len(curator.entries()) == before


COUNTED = [f"SELECT COUNT(*) AS n FROM patients WHERE age < {age}" for age in (20, 40, 60)]


def test_a_batch_is_previewed_answered_shown_again_and_recalled(policy: Path) -> None:
    asked: list[str | Path] = ["release", "batch", policy, *COUNTED, "-e", "0.5"]
    preview = told(*asked, "--preview")
    assert set(preview["error"]) == {"1: n", "2: n", "3: n"}
    first = told(*asked)["answers"]
    assert [answer["question"] for answer in first] == COUNTED
    assert all(answer["loss"]["rho"] == pytest.approx(preview["loss"]["rho"]) for answer in first)
    again = told(*asked)["answers"]
    assert [answer["rows"] for answer in again] == [answer["rows"] for answer in first]
    assert all(answer["cached"] for answer in again)
    assert run(*asked).stdout.count("one of 3 answers of one charge") == 3
    assert len(told(*asked, "--dummy")["answers"]) == 3
    with discreet.open(policy) as curator:
        recalled = curator.recall(int(first[0]["receipt"].partition(":")[0]))
        assert [[list(row) for row in answer.rows] for answer in recalled] == [answer["rows"] for answer in first]
        before = len(curator.entries())
    run("release", "batch", policy, "-e", "1", code=2)
    run("release", "batch", policy, *COUNTED, code=3)
    assert "--error" not in run("release", "facets", policy, "patients", code=3).output
    run("release", "batch", policy, COUNTED[0], "SELECT nothing", "-e", "1", code=3)
    run("release", "batch", policy, *COUNTED, "-e", "500", "--fresh", code=4)
    with discreet.open(policy) as curator:
        assert len(curator.entries()) == before


def test_places_are_listed_level_by_level(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("ward\nA\nB\nC\n", encoding="utf-8")
    asked: list[str | Path] = ["release", "hierarchy", policy, "patients", "--places", tmp_path / "places.csv"]
    run(*asked, "-e", "2", "-o", tmp_path / "out.csv")
    rows = list(csv.reader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["level", "place", "count"]
    assert [row[1] for row in rows[1:]] == ["", "A", "B", "C"]
    assert int(rows[1][2]) == sum(int(row[2]) for row in rows[2:])
