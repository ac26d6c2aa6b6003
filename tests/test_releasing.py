"""What is released: metadata, the files of the wheel, the same bytes twice, and licences of all that it needs."""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from releasing import __main__ as program
from releasing import building, spdx, trying
from releasing.spdx import UNKNOWN, NotInstalledError, Package, document, installed, licence
from releasing.trying import Tried, TryingError

import discreet

pytestmark = pytest.mark.long
"""A wheel is built for them."""

ROOT = Path(__file__).parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DOCUMENTS = ("docs", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
NEEDED = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src", *DOCUMENTS)
MANUAL = "discreet/server/manual/project.zip"
AT = 1_700_000_000


@pytest.fixture(scope="module")
def archive() -> bytes:
    """The sources as they lie here, with nothing that merely lies about."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name in NEEDED:
            tar.add(ROOT / name, name, filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return held.getvalue()


@pytest.fixture(scope="module")
def built(archive: bytes, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[str]]:
    scratch = tmp_path_factory.mktemp("built")
    return building.built_twice(archive, scratch, scratch / "dist", at=AT)


@pytest.fixture(scope="module")
def wheel(built: tuple[list[Path], list[str]]) -> zipfile.ZipFile:
    return zipfile.ZipFile(built[0][0])


@pytest.fixture(scope="module")
def told(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_another_folder_other_times_zone_and_seed_change_no_byte(built: tuple[list[Path], list[str]]) -> None:
    assert built[1] == []
    assert [path.suffix for path in built[0]] == [".whl", ".gz"]
    assert re.fullmatch(r"[0-9a-f]{64}", building.digest(built[0][0]))


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = {str(path.relative_to(source)) for path in (source / "discreet").rglob("*") if path.is_file()}
    assert names == {name for name in {*files, MANUAL} if "__pycache__" not in name}
    documents = {
        str(path.relative_to(ROOT))
        for name in DOCUMENTS
        for path in (ROOT / name, *(ROOT / name).rglob("*"))
        if path.is_file() and not path.name.startswith("first")
    }
    with zipfile.ZipFile(io.BytesIO(wheel.read(MANUAL))) as packed:
        assert set(packed.namelist()) == documents
        assert packed.testzip() is None
    assert {"discreet/py.typed", "discreet/version.py"} <= names
    assert any(name.endswith(".html") for name in names)
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())
    assert sum(entry.file_size for entry in wheel.infolist()) < 15 * 10**6


def test_the_version_is_in_one_place(told: Message) -> None:
    assert "version" not in DECLARED
    assert DECLARED["dynamic"] == ["version"]
    assert told["Version"] == discreet.__version__
    assert f"## {discreet.__version__} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_metadata_says_what_it_is(told: Message) -> None:
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    minors = [line.rpartition("3.")[2] for line in told.get_all("Classifier", []) if "Python :: 3." in line]
    assert minors == ["11", "12", "13"]  # those that `make package` was seen to try
    assert len(minors) == program.LEAST


def test_all_is_every_extra_that_people_use_but_spark_and_lakes(told: Message) -> None:
    extras = set(told.get_all("Provides-Extra", []))
    (listed,) = DECLARED["optional-dependencies"]["all"]
    assert Requirement(listed).extras == extras - {"all", "spark", "delta", "iceberg", "dev", "bench", "docs"}
    said = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    assert all(f"`{extra}`" in said for extra in extras - {"dev", "bench", "docs"})


def test_extras_that_messages_name_exist() -> None:
    extras = set(DECLARED["optional-dependencies"])
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"discreet\[([a-z,]+)\]", path.read_text("utf-8")))
    assert {extra for each in named for extra in each.split(",")} <= extras


# SPDX


def test_everything_that_is_needed_is_listed_with_its_licence() -> None:
    packages = installed("discreet", ["all"])
    names = {package.name for package in packages}
    assert {"discreet", "numpy", "duckdb", "sqlglot", "scikit-learn", "fastapi"} <= names
    assert not [package.name for package in packages if package.licence == UNKNOWN]
    assert not {"pytest", "mypy", "ruff"} & names
    assert {"scikit-learn", "fastapi"}.isdisjoint(package.name for package in installed("discreet"))


def test_the_document_is_spdx_and_the_same_each_time() -> None:
    packages = installed("discreet", ["server"])
    made = document(packages, root="discreet", created=AT)
    assert made == document(packages, root="discreet", created=AT)
    assert made["documentNamespace"] != document(packages, root="discreet", created=AT + 1)["documentNamespace"]
    assert made["spdxVersion"] == "SPDX-2.3"
    assert made["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    references = {package["SPDXID"] for package in made["packages"]} | {"SPDXRef-DOCUMENT"}
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in references)
    assert len(references) == len(packages) + 1
    for relation in made["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= references
    needed = ("name", "downloadLocation", "licenseDeclared", "licenseConcluded", "copyrightText", "versionInfo")
    assert all(package[key] for package in made["packages"] for key in needed)
    assert "://" not in json.dumps(made)


def test_what_is_not_installed_is_an_error() -> None:
    with pytest.raises(NotInstalledError, match="pip install"):
        installed("no-such-distribution-at-all")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ({"License-Expression": "MIT OR Apache-2.0"}, "MIT OR Apache-2.0"),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "Apache 2.0"}, "Apache-2.0"),
        ({"License": "ask me"}, UNKNOWN),
        ({"Classifier": "License :: OSI Approved"}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_licences_are_what_is_declared_and_never_a_guess(lines: dict[str, str], expected: str) -> None:
    message = Message()
    for name, value in lines.items():
        message[name] = value
    assert licence(message) == expected


def test_references_have_no_other_signs() -> None:
    assert Package("a_b<c>", "1", "MIT", ()).reference == "SPDXRef-Package-a-b-c-"


# trying


def test_the_python_that_runs_is_among_those_that_are_tried() -> None:
    assert f"3.{sys.version_info.minor}" in trying.interpreters()


def test_what_is_too_large_or_too_slow_is_a_problem() -> None:
    assert Tried("3.11.7", 120.0, 0.03, 9.0).problems == []
    assert len(Tried("3.11.7", 151.0, 0.16, 9.0).problems) == 2


def test_a_command_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(TryingError, match="no such thing"):
        trying.run(sys.executable, "-c", "raise SystemExit('no such thing')")


def test_no_variable_of_ours_reaches_what_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("DISCREET_TOKEN", "x")
    shown = trying.run(sys.executable, "-c", "import os; print(sorted(os.environ))", cwd=tmp_path)
    assert "PYTHONPATH" not in shown
    assert "DISCREET_TOKEN" not in shown


def test_the_command_says_what_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "discreet-0.2.0-py3-none-any.whl", tmp_path / "discreet-0.2.0.tar.gz"]
    for path in paths:
        path.write_bytes(b"x")

    def failing(*_: object) -> None:
        raise TryingError("pipx is not to be had")

    monkeypatch.setattr(building, "moment", lambda: AT)
    monkeypatch.setattr(building, "committed", lambda: b"")
    monkeypatch.setattr(building, "built_twice", lambda *_, **__: (paths, [paths[1].name]))
    monkeypatch.setattr(trying, "interpreters", lambda: {"3.11": sys.executable})
    monkeypatch.setattr(trying, "tried", lambda *_: Tried("3.11.7", 200.0, 0.05, 3.0))
    monkeypatch.setattr(trying, "tried_by_pipx", failing)
    assert program.main(["--out", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    for problem in ("tar.gz is not the same", "200 MB are installed", "pipx: pipx is not to be had"):
        assert problem in shown
    assert "not here, so not tried: Python 3.12, 3.13" in shown
    written = json.loads((tmp_path / "discreet-0.2.0.spdx.json").read_text("utf-8"))
    assert written["name"].startswith("discreet-")


def test_the_installed_version_is_that_of_the_sources() -> None:
    assert metadata.version("discreet") == discreet.__version__, "pip install --editable . again (make venv does)"


def test_names_of_modules_are_those_of_the_command() -> None:
    assert spdx.__doc__ is not None
    assert "python -m releasing.spdx" in spdx.__doc__
