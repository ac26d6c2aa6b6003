"""What stands in deploy/: units that systemd accepts and finds hardened, a container that is nobody's root."""

from __future__ import annotations

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
from tests.containers import linted

DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
ANALYSE = shutil.which("systemd-analyze")
EXPOSURE = 15
"""Tenths, of 100: what systemd calls OK ends at 40."""
needs_systemd = pytest.mark.skipif(
    ANALYSE is None, reason=f"{2 * len(UNITS)} tests ask systemd-analyze, which is not installed"
)
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


def test_nothing_is_wrong_with_the_container_file() -> None:
    assert linted(CONTAINER) == set()


WORSE = {
    "DL3007": ("FROM python:3.11-slim\n", "FROM python:latest\n"),
    "DL3006": ("FROM python:3.11-slim\n", "FROM python\n"),
    "DL3002": ("USER 10001:10001", "USER root"),
    "DL3003": ("RUN useradd", "RUN cd /tmp && useradd"),
    "DL3004": ("RUN useradd", "RUN sudo useradd"),
    "DL3008": ("RUN useradd", "RUN apt-get install --yes --no-install-recommends curl && useradd"),
    "DL3009": ("RUN useradd", "RUN apt-get update && useradd"),
    "DL3013": ("--constraint constraints.txt ", ""),
    "DL3014": ("RUN useradd", "RUN apt-get install --no-install-recommends curl=8.1 && useradd"),
    "DL3015": ("RUN useradd", "RUN apt-get install --yes curl=8.1 && useradd"),
    "DL3027": ("RUN useradd", "RUN apt install curl && useradd"),
    "DL3042": ("--no-cache-dir ", ""),
    "DL4006": ("RUN useradd", "RUN curl example.org/x | sh && useradd"),
    "DL3025": ('ENTRYPOINT ["/opt/discreet/bin/discreet"]', "ENTRYPOINT /opt/discreet/bin/discreet"),
    "DL3000": ("WORKDIR /var/lib/discreet", "WORKDIR state"),
    "DL3020": ("COPY src src", "ADD src src"),
    "DL3001": ("RUN useradd", "RUN ssh host && useradd"),
    "DL3061": ("FROM python:3.11-slim AS build\n", "RUN true\nFROM python:3.11-slim AS build\n"),
    "DL4003": ("EXPOSE 8000", 'CMD ["serve"]'),
    "DL4004": ("EXPOSE 8000", 'ENTRYPOINT ["discreet"]'),
    "SC1072": ("RUN useradd", "RUN (useradd"),
    "DL3064": ("ENV DISCREET_MARKS", "ENV DISCREET_TOKEN=a4 DISCREET_MARKS"),
}


@pytest.mark.parametrize("rule", WORSE)
def test_what_would_be_wrong_is_found(rule: str) -> None:
    """The eyes of the linter are good: hadolint 2.15 says the same, but for pip behind a path (DL3013, DL3042)."""
    old, new = WORSE[rule]
    assert CONTAINER.count(old) >= 1
    assert linted(CONTAINER.replace(old, new)) == {rule}


@pytest.mark.parametrize("text", ["", "\n\n", "# only words", "\\\n", "FROM\n", "é \x00", "RUN"])
def test_what_is_no_container_file_is_not_accepted(text: str) -> None:
    assert linted(text)


def test_a_container_is_made_of_what_there_is() -> None:
    for line in re.findall(r"^COPY ([^-].*)$", CONTAINER, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1]), line
    (extras,) = re.findall(r"'\.\[(.*)\]'", CONTAINER)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
