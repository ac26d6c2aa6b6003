"""Benchmarks are run apart, what fails is a row, and figures in README and docs are those that were measured."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest
from benchmarks import __main__ as program
from benchmarks import first_minute, machine, marks, page, results, runner
from benchmarks.figures import Figure, at_least
from benchmarks.parts import PARTS, module_of
from benchmarks.results import Result, Row, key_of, rows_of
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
FACTS = {"cores": "2", "processor": "one", "memory": "8 GB", "system": "Linux", "versions": "Python 3.11"}
ROW = Row("laplace", "Laplace", "12.3 M/s", "opendp 0.068 M/s", 180.9, "≥ 50×", True)
MEASURED = {"what": "a", "ours": "1 s", "peer": "2 s", "ratio": 0.5, "to_hold": "≤ 1×", "held": True}


def result(*rows: Row, part: str = "noise", failed: str = "", notes: tuple[str, ...] = (), load: float = 0.2) -> Result:
    return Result(part, "2026-11-17", "abc", load, 3.0, 2.0, "", FACTS, notes, failed, rows)


def child(text: str, patience: float = 1) -> Result:
    """What a part yields whose program is this."""
    head = f"import json, sys, time; file = open(sys.argv[2], 'a'); line = {json.dumps(MEASURED)!r}\n"
    return runner.run("noise", FACTS, patience=patience, command=(sys.executable, "-c", head + text))


def test_what_a_part_measured_before_it_failed_stays() -> None:
    ran = child("file.write(line + '\\n'); file.flush(); raise ValueError('no such table')")
    assert [row.what for row in ran.rows] == ["a"]
    assert ran.failed == "ValueError: no such table"


def test_a_part_that_hangs_is_stopped_with_its_children_and_keeps_what_it_measured() -> None:
    waiting = "import subprocess\nfile.write(line + '\\n'); file.flush()\nprint('started', flush=True)\n"
    waiting += "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\ntime.sleep(600)"
    ran = child(waiting, patience=0.0125)
    assert ran.failed == "stopped after 1.5 s"
    assert len(ran.rows) <= 1  # a busy machine may not have come so far


def test_what_is_missing_is_a_note_and_no_place_of_this_machine_is_written() -> None:
    ran = child(f"import tempfile; print('needs Java', tempfile.gettempdir(), {str(ROOT)!r} + '/x', 'https://a.b/c')")
    assert not ran.failed
    assert ran.notes == ("needs Java … …/x …",)


def test_a_part_is_told_its_settings_and_that_peers_are_not_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_PEERS", raising=False)
    assert runner._environment("f", {"DISCREET_FITS": "3"}, peers=False)["DISCREET_PEERS"] == "here"
    assert runner._environment("f", {}, peers=True)["DISCREET_PEERS"] == "1"
    monkeypatch.setenv("DISCREET_FITS", "7")
    assert runner._environment("f", {"DISCREET_FITS": "3"}, peers=False)["DISCREET_FITS"] == "7"


def test_facts_of_the_machine_are_told() -> None:
    facts = machine.facts()
    assert int(facts["cores"]) >= 1
    assert facts["versions"].startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}")
    assert machine._told("no-such-program-at-all") == ""
    assert machine.load() >= 0


def test_every_module_with_figures_is_a_part_and_every_part_has_figures() -> None:
    folder = ROOT / "benchmarks"
    paths = [path for path in folder.rglob("*.py") if path.name != "query_shapes.py"]  # a piece of query
    held = {path for path in paths if re.search(r"^def figures\(\)", path.read_text("utf-8"), re.MULTILINE)}
    named = {ROOT / (module_of(name).replace(".", "/") + ".py") for name in PARTS}
    assert held - {folder / "learn" / "__init__.py"} == named
    assert sum(part.limit for part in PARTS.values()) < 120 * 60


def test_keys_are_unique_and_say_what_they_are() -> None:
    rows = rows_of([at_least("error, ε = 1", "1", "2", ratio, 1) for ratio in (2.0, math.nan, math.inf)])
    assert [row.key for row in rows] == ["error-1", "error-1-2", "error-1-3"]
    assert [row.ratio for row in rows] == [2.0, None, None]
    assert [row.mark for row in rows] == ["holds", "not compared", "not compared"]


@given(st.text())
def test_any_text_gives_a_key(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]*", key_of(text))


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = result(ROW, notes=("needs Java",), failed="stopped after 3 s")
    assert results.read(results.write(written, tmp_path)) == written
    assert results.everything(tmp_path) == [written]


def test_the_page_says_what_does_not_hold_what_failed_and_what_was_not_measured() -> None:
    missed = Row("b", "slow | thing <b>", "9 s", "limit 1 s", 9.0, "≤ 1×", False)
    text = page.page([result(ROW, missed, failed="ValueError: x"), result(part="spark", notes=("needs Java",))])
    assert "**1 hold, 1 do not**" in text
    assert "## What does not hold" in text
    assert "Came to no end: Exact noise." in text
    assert "- needs Java" in text
    assert "Not measured: Starting" in text
    assert r"slow \| thing \<b>" in text
    assert "others were at work" not in text
    assert "others were at work" in page.page([result(ROW, load=9.0)])


def test_two_machines_stand_beside_each_other() -> None:
    other = Result("start", "2026-11-18", "def", 0.1, 1, 1, "", {**FACTS, "cores": "64"}, (), "", (ROW,))
    text = page.page([result(ROW), other])
    assert text.count("| cores |") == 2
    assert "| parts | Starting |" in text


@pytest.mark.parametrize(
    ("field", "expected"),
    [("ratio", "180"), ("inverse", "0.0055"), ("ours", "12"), ("against", "0.068"), ("against.1", "0.068")],
)
def test_a_mark_is_written_as_it_was_measured(field: str, expected: str) -> None:
    text = f"It is <!-- figure noise/laplace {field} -->1<!-- / --> times."
    wanted = f"It is <!-- figure noise/laplace {field} -->{expected}<!-- / --> times."
    assert marks.marked(text, [result(ROW)]) == wanted
    assert marks.marked(wanted, [result(ROW)]) == wanted


@pytest.mark.parametrize(
    "name", ["noise/other ratio", "start/laplace ratio", "noise/laplace ours.2", "noise/laplace x"]
)
def test_a_mark_that_nobody_measured_is_an_error(name: str) -> None:
    with pytest.raises(marks.UnknownFigureError):
        marks.marked(f"<!-- figure {name} -->1<!-- / -->", [result(ROW)])


def test_a_page_with_another_figure_is_found_and_written_anew(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("<!-- figure noise/laplace ratio -->500<!-- / -->", encoding="utf-8")
    assert list(marks.stale([result(ROW)], tmp_path)) == [tmp_path / "README.md"]
    assert marks.write([result(ROW)], tmp_path) == []
    assert not list(marks.stale([result(ROW)], tmp_path))
    kept = (tmp_path / "README.md").read_text("utf-8")
    assert marks.write([], tmp_path) == ["README.md stays as it is: no figure noise/laplace was measured"]
    assert (tmp_path / "README.md").read_text("utf-8") == kept


def test_the_pages_are_those_of_what_was_measured() -> None:
    everything = results.everything()
    assert page.PAGE.read_text("utf-8") == page.page(everything), "run python -m benchmarks --write"
    assert not list(marks.stale(everything)), "run python -m benchmarks --write"


def test_the_readme_has_figures_and_none_without_a_mark() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(marks.MARK.findall(text)) >= 3
    rest = marks.MARK.sub("", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    assert not re.findall(r"\d[\d.,]*\s*(?:×|times|ms|µs|MB|GB|seconds?)(?!\w)", rest)


@pytest.mark.parametrize("arguments", [["nothing"], ["query", "nothing"]])
def test_a_part_that_there_is_not_is_told(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="no such benchmark: nothing; there are noise"):
        program.main(arguments)


def test_parts_that_are_named_are_printed_and_saved_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved: list[str] = []
    monkeypatch.setattr(runner, "run", lambda name, *_, **__: result(ROW, part=name, failed="stopped after 1 s"))
    monkeypatch.setattr(results, "write", lambda ran: saved.append(ran.part))
    monkeypatch.setattr(results, "everything", list)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "write", lambda _: saved.append("page"))
    monkeypatch.setattr(marks, "write", lambda _: saved.extend(["marks"]))
    program.main(["noise", "learn"])
    assert saved == []
    assert "came to no end: stopped after 1 s" in capsys.readouterr().out
    program.main(["noise", "--save"])
    assert saved == ["noise", "page", "marks"]
    saved.clear()
    program.main(["--write"])
    assert saved == ["page", "marks"]
    saved.clear()
    program.main([])
    assert saved == [*PARTS, "page", "marks"]


def test_a_figure_has_what_a_row_needs() -> None:
    assert set(MEASURED) == set(Figure.__slots__)


INIT = "still to decide\n  discreet init my.csv -o my.toml --unit customer_id --look\n"
DECIDED = "next:\n  discreet check my.toml\n  discreet preview my.toml 'a b'\n  discreet query my.toml 'a b'\n"
DECIDED += "  discreet serve my.toml --demo\n"


def test_the_stopwatch_types_what_was_printed_and_adds_its_steps_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed: list[list[str]] = []

    def run(*command: object, **_: object) -> str:
        words = [str(word) for word in command[1:]]
        typed.append(words)
        shown = {"preview": "error (95 %)", "query": "1,234 ± 5", "check": ""}
        return (DECIDED if "--look" in words else INIT) if words[0] == "init" else shown.get(words[0], "")

    seen: list[str] = []
    monkeypatch.setattr(first_minute, "run", run)
    monkeypatch.setattr(first_minute, "_wheel", lambda _: tmp_path / "discreet-1-py3-none-any.whl")
    monkeypatch.setattr(first_minute, "_page", lambda *_, shown: seen.append(shown))
    *steps, whole, own = first_minute.figures()
    assert len(steps) == 6
    assert ["query", "my.toml", "a b"] in typed
    assert seen == ["1,234 ± 5"]
    assert 0 <= own.ratio <= whole.ratio <= 1
    assert whole.held
    assert (whole.to_hold, whole.peer) == ("≤ 1×", "limit 120 s")


def test_an_answer_without_its_error_stops_the_watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(first_minute, "run", lambda *words, **_: DECIDED if "--look" in words else INIT)
    with pytest.raises(AssertionError, match="no answer"):
        list(first_minute._steps(tmp_path / "wheel", tmp_path))
    with pytest.raises(AssertionError, match="no number"):
        first_minute._page([], tmp_path, shown="nothing")
    with (
        pytest.raises(AssertionError, match="ended before"),
        first_minute._serving([sys.executable, "-c", ""], tmp_path),
    ):
        pass
