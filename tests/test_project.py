"""Promises about the project as a whole."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from tests import trimmed

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
IMPORTED = "import sys, discreet; print(*sorted(name.split('.')[0] for name in sys.modules))"


def test_importing_discreet_imports_no_dependency() -> None:
    shown = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "duckdb", "sqlglot", "rich", "click", "msgspec"} & set(shown)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        (
            "client",
            {"duckdb", "sqlglot", "sqlite3", *map("discreet.{}".format, ("curator", "sql", "engines", "ledger"))},
        ),
        ("client.dbapi", {"duckdb", "sqlglot", "sqlite3", *map("discreet.{}".format, ("curator", "sql", "ledger"))}),
        ("curator.state", {"duckdb", "numpy", "sqlglot", "discreet.sql", "discreet.engines"}),
        ("answers.wire", {"duckdb", "sqlglot", "sqlite3", *map("discreet.{}".format, ("curator", "sql", "ledger"))}),
    ],
)
def test_clients_import_no_data_base(module: str, absent: set[str]) -> None:
    program = f"import sys, discreet.{module}; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert f"discreet.{module}" in shown
    assert not absent & set(shown)


def test_the_public_names_are_few_and_all_there() -> None:
    assert len(discreet.__all__) <= 25
    assert all(getattr(discreet, name) is not None for name in discreet.__all__)
    assert set(dir(discreet)) == set(discreet.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        discreet.nothing  # noqa: B018


def test_constraints_pin_versions_and_name_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", pin) for pin in pins)


def test_source_files_stay_readable_in_one_sitting_and_say_what_they_are_for() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 450, path
        assert text.startswith(('"""', 'r"""')), path


def test_the_example_of_the_core_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "core.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "blue eyes" in shown
    assert "0.058" in shown
    assert "budget-exhausted" in shown
    assert "Laplace against Gaussian" in shown


def test_the_environment_loses_tests_and_sources_of_packages_and_nothing_else(tmp_path: Path) -> None:
    kept = ["one/__init__.py", "one/testing.py", "one/core.so", "tests.py", "one/tests_of/x.py", "two/data/é.csv"]
    gone = ["one/tests/__init__.py", "one/tests/deep/tests/x.py", "two/a.pyx", "two/include/b.h", "tests/x.py"]
    for name in (*kept, *gone):
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345", encoding="utf-8")
    outside = tmp_path / "outside" / "tests"
    outside.mkdir(parents=True)
    (outside / "mine.c").write_text("12345", encoding="utf-8")
    (tmp_path / "here" / "one" / "linked").symlink_to(tmp_path / "outside")
    (tmp_path / "here" / "one" / "sub").mkdir()
    (tmp_path / "here" / "one" / "sub" / "tests").symlink_to(outside)
    assert trimmed.main(tmp_path / "here") == 5 * len(gone)
    left = [path.relative_to(tmp_path / "here").as_posix() for path in (tmp_path / "here").rglob("*.*")]
    assert sorted(left) == sorted(kept)
    assert (outside / "mine.c").exists()
    assert trimmed.main(tmp_path / "here") == 0
