"""`discreet stream demo`: told whole in a few weeks, and its pictures of characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import discreet as command
from discreet.cli.stream_demo import curves, heat_map


@pytest.mark.long
def test_two_weeks_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "rides"
    options = ["--weeks", "2", "--folder", str(folder)]
    told = CliRunner().invoke(command, ["stream", "demo", *options], catch_exceptions=False)
    assert told.exit_code == 0
    for said in ("The model stays accurate", "No block is ever above its budget", "2024-01-14", "stream status"):
        assert said in told.output
    again = CliRunner().invoke(command, ["stream", "demo", *options])
    assert again.exit_code == 2
    assert "exists already" in again.output
    status = CliRunner().invoke(command, ["stream", "status", str(folder / "rides.toml")], catch_exceptions=False)
    assert status.exit_code == 0


@pytest.mark.parametrize("option", [("--weeks", "1"), ("--weeks", "53"), ("--rides", "1"), ("--weeks", "many")])
def test_nonsense_is_refused(option: tuple[str, str]) -> None:
    assert CliRunner().invoke(command, ["stream", "demo", *option]).exit_code == 2


@pytest.mark.parametrize("option", ["--folder", "--picture"])
def test_what_cannot_be_written_is_known_before(option: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = CliRunner().invoke(command, ["stream", "demo", option, str(tmp_path / "file" / "below")])
    assert told.exit_code == 2
    assert "cannot be written" in told.output


def test_a_map_of_blocks() -> None:
    lines = heat_map([0.0] * 7 + [1.0] * 3).split("\n")
    assert len(lines) == 7
    assert [line[-1] for line in lines[:3]] == ["█"] * 3
    assert heat_map([]).split() == ["Mon", "Wed", "Fri", "Sun"]
    assert heat_map([1.5]).startswith("Mon █")


def test_curves_over_a_goal() -> None:
    drawn = curves([{"●": 1.0, "○": 1.0}, {"●": 1.0, "○": 4.0}, {"●": None, "○": None}], 2.0).split("\n")
    assert sum("┄" in line for line in drawn) == 1
    assert drawn[0].endswith("○")
    low = next(line for line in drawn if "●" in line)
    assert low.endswith("●●")
    assert curves([{"●": None}], 1.0).count("┄") == 1
