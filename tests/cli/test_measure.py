"""`discreet lab measure`: a table of one's own, whatever it is."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from discreet.lab.rebecca import HOSPITAL, QUASI
from tests.cli.runs import run, told

ASKED = ("--quasi", ",".join(QUASI), "--sensitive", "Diagnosis")


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Name", *HOSPITAL])
        writer.writerows((f"secret{i}", *row) for i, row in enumerate(zip(*HOSPITAL.values(), strict=True)))
    return path


def measure(path: Path, *more: str | Path, code: int = 0) -> str:
    return run("lab", "measure", path, *ASKED, *more, code=code).output


def test_the_lectures_table_is_measured(hospital: Path) -> None:
    shown = measure(hospital)
    for line in ("k = 2", "l = 2", "t = 0.78", "4.5 times as likely", "no budget is charged"):
        assert line in shown
    assert "knows those of 9 people" in shown
    assert "50-60" not in shown  # who is in the worst classes
    assert "HIV" not in shown
    assert "secret" not in shown
    assert "50-60" in measure(hospital, "--values")
    apart = [part for name in QUASI for part in ("--quasi", f" {name} ")]
    assert run("lab", "measure", hospital, *apart, "--sensitive", "Diagnosis").output == shown
    document = told("lab", "measure", hospital, *ASKED)
    assert document["measures"]["k"] == 2
    assert document["measures"]["recursive_c"]["3"] is None  # for no c
    assert document["attacks"]["background"][0]["people"] == 9


def test_a_generalised_file_has_what_was_wanted_and_nothing_else(hospital: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "safer.csv", tmp_path / "page.html"
    shown = measure(hospital, "--k", "4", "--l", "3", "--out", out, "--report", page)
    assert "Before and after" in shown
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "Age,Gender,Zip Code,Smoker,Diagnosis"
    assert lines[1:] == sorted(lines[1:])  # the order of rows says nothing
    assert "secret" not in out.read_text(encoding="utf-8")
    assert out.stat().st_mode & 0o077 == 0
    again = told("lab", "measure", out, *ASKED)
    assert again["measures"]["k"] >= 4
    assert again["measures"]["distinct_l"] >= 3
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<script" not in text
    assert text.count("<svg") == 2


def test_two_releases_are_worse_than_each(hospital: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(hospital.read_text(encoding="utf-8").replace("60-70", "40-70").replace("50-60", "40-70"), "utf-8")
    shown = measure(hospital, "--other", other, "--person", "Name")
    assert "intersection" in shown
    assert "both --other" not in shown


def test_a_hierarchy_says_what_groups_are_called(tmp_path: Path) -> None:
    """As other tools write them: a value and its groups in a line, the whole last."""
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text("zip,pay\n" + "".join(f"{z},{p}\n" for z, p in zip(ZIPS, range(6), strict=True)), "utf-8")
    (tmp_path / "zips.csv").write_text("".join(f"{z};{z[:4]}*;{z[:3]}**;*****\n" for z in ZIPS), "utf-8")
    (tmp_path / "pays.csv").write_text("0;low\n1;low\n2;low\n3;high\n4;high\n5;high\n", "utf-8")
    trees = ("--tree", f"zip={tmp_path / 'zips.csv'}", "--tree", f"pay={tmp_path / 'pays.csv'}")
    shown = run("lab", "measure", path, "--quasi", "zip", "--sensitive", "pay", *trees, "--k", "2", "--out", out).output
    assert "t-closeness, hierarchical" in shown
    assert {line.partition(",")[0] for line in out.read_text("utf-8").splitlines()[1:]} == {"0213*", "0214*", "039**"}
    for wrong, code in (("zip", 2), ("age=zips.csv", 2), (f"zip={tmp_path / 'pays.csv'}", 3)):
        run("lab", "measure", path, "--quasi", "zip", "--sensitive", "pay", "--tree", wrong, code=code)


ZIPS = ("02138", "02139", "02141", "02142", "03901", "03912")


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--k", "10"), 3, "--k 9 or less"),
        (("--l", "9"), 3, "--l 8 or less"),
        (("--t", "7"), 3, "t is from 0 to 1"),
        (("--k", "2", "--out", "hospital.csv"), 2, "exists already"),
        (("--report", "nowhere/page.html"), 2, "no such folder"),
        (("--out", "new.csv"), 2, "--k 5"),
        (("--k", "2", "--out", "new.csv", "--report", "new.csv"), 2, "same file"),
        (("--other", "hospital.csv"), 2, "belong together"),
        (("--other", "hospital.csv", "--person", "Smoker"), 3, "two rows in one release"),
        (("--sensitive", "Gender"), 3, "leave Gender out"),
        (("--quasi", "Aeg"), 3, "did you mean Age?"),
        (("--quasi", "Age"), 3, "named twice"),
        (("--tree", "Name=x"), 2, "neither in --quasi nor --sensitive"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    hospital: Path, more: tuple[str, ...], code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hospital.parent)
    before = {path.name: path.read_bytes() for path in hospital.parent.iterdir()}
    assert says in measure(hospital, *more, code=code)
    assert {path.name: path.read_bytes() for path in hospital.parent.iterdir()} == before


def test_values_cannot_steer_a_terminal_or_a_page(tmp_path: Path) -> None:
    path, page = tmp_path / "odd.csv", tmp_path / "page.html"
    path.write_text('q,<b>s</b>\n"\x1b[2J<script>",=cmd()\n"\x1b[2J<script>",<img src=x>\n', encoding="utf-8")
    shown = run("lab", "measure", path, "--quasi", "q", "--sensitive", "<b>s</b>", "--values", "--report", page).output
    assert "\x1b" not in shown
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<b>s" not in text
    assert "<img" not in text
