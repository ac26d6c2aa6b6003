"""What stands in deploy/: units that systemd accepts and finds hardened, a container that is nobody's root."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from discreet.cli import discreet
from tests.budget import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
ANALYSE = shutil.which("systemd-analyze")
EXPOSURE = 15
"""Tenths, of 100: what systemd calls OK ends at 40."""
needs_systemd = pytest.mark.skipif(
    ANALYSE is None, reason=f"{2 * len(UNITS)} tests ask systemd-analyze, which is not installed"
)
HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
needs_hadolint = pytest.mark.skipif(HADOLINT is None, reason="2 tests ask hadolint, which is not installed")
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def command(unit: Path) -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    return shlex.split(line)


def parsed(words: list[str]) -> None:
    """The command line is one that discreet takes, up to its last option; nothing of it runs."""
    group: click.Command = discreet
    context = click.Context(group, info_name="discreet", **discreet.context_settings)  # click remembers help options
    while isinstance(group, click.Group):
        name, *words = words
        found = group.get_command(context, name)
        assert found is not None, name
        group, context = found, click.Context(found, parent=context, info_name=name)
    group.parse_args(context, words)


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_accepts_a_unit(unit: Path, tmp_path: Path) -> None:
    """The program is replaced by one that is there."""
    copy = tmp_path / unit.name
    text = unit.read_text(encoding="utf-8").replace("/opt/discreet/bin/discreet", sys.executable)
    copy.write_text(text.replace("After=discreet.service\n", ""), encoding="utf-8")
    checked = subprocess.run([str(ANALYSE), "verify", copy], capture_output=True, text=True, check=False)
    ours = [line for line in checked.stderr.splitlines() if unit.name in line]
    assert (checked.returncode, ours) == (0, [])


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_may_do_hardly_anything(unit: Path) -> None:
    asked = [str(ANALYSE), "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit)]
    checked = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout.splitlines()[-1:]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_what_a_unit_starts_is_a_command(unit: Path) -> None:
    program, *words = command(unit)
    assert program == "/opt/discreet/bin/discreet"
    parsed(words)
    with pytest.raises(click.UsageError):
        parsed([*words, "--nonsense"])


def test_a_container_starts_a_command_as_nobody_in_particular() -> None:
    (words,) = re.findall(r"^CMD \[(.*)\]$", CONTAINER, re.MULTILINE)
    parsed([word.strip().strip('"') for word in words.split(",")])
    assert re.findall(r"^USER (.*)$", CONTAINER, re.MULTILINE) == ["10001:10001"]


def linted(path: Path) -> tuple[int, str]:
    asked = [str(HADOLINT), "--no-color", "--failure-threshold", "info", str(path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@needs_hadolint
def test_hadolint_finds_nothing_in_the_container_file() -> None:
    assert linted(DEPLOY / "Containerfile") == (0, "")


@needs_hadolint
def test_hadolint_would_find_what_is_wrong(tmp_path: Path) -> None:
    """The linter's eyes are good: the latest image, root, packages of any version, a folder that is changed by cd."""
    worse = CONTAINER.replace("python:3.11-slim", "python:latest").replace("USER 10001:10001", "USER root")
    path = tmp_path / "Containerfile"
    path.write_text(worse.replace("RUN useradd", "RUN cd /tmp && apt-get install curl && useradd"), encoding="utf-8")
    code, found = linted(path)
    assert code != 0
    assert {"DL3007", "DL3002", "DL3003", "DL3008"} <= set(re.findall(r"DL\d+", found))


def test_a_container_is_made_of_what_there_is() -> None:
    for line in re.findall(r"^COPY ([^-].*)$", CONTAINER, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1]), line
    (extras,) = re.findall(r"'\.\[(.*)\]'", CONTAINER)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
