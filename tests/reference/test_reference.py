"""Nothing that a user can type is undocumented, and pages that are made from the code are as the code is."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import click
import pytest

from discreet.errors.codes import CODES
from discreet.policy.read import POLICY
from discreet.policy.section import anything
from discreet.sql import instead
from discreet.sql.vocabulary import functions
from tests import notebooks
from tests.reference import cli, http, policy, proofs, python
from tests.reference.pages import PAGES, ROOT
from tests.reference.text import escaped, line, prose

REFERENCE = ROOT / "docs" / "reference"


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_as_the_code_is(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run python -m tests.reference"


@pytest.mark.parametrize("folder", ["reference", "recipes", "proofs", "gallery"])
def test_indexes_list_every_page_of_their_folder(folder: str) -> None:
    pages = {path.name for path in (ROOT / "docs" / folder).iterdir() if path.suffix in (".md", ".ipynb")} - {
        "README.md"
    }
    assert set(re.findall(r"^- \[[^\]]+\]\(([^)/]+)\): \S", text_of(f"{folder}/README.md"), re.MULTILINE)) == pages


# every option, or this fails


def test_every_option_of_every_command_says_what_it_is() -> None:
    told = text_of("reference/cli.md")
    for command, context in cli.commands():
        assert command.help, context.command_path
        if isinstance(command, click.Group):
            continue
        section = told.partition(f"\n### {context.command_path}\n")[2].partition("\n### ")[0]
        for option in cli.parameters(command):
            assert option.help, f"{context.command_path} {option.opts}"
            assert all(re.search(rf"`[^`]*{re.escape(name)}\b", section) for name in option.opts), option.opts


def test_every_variable_of_the_environment_is_told() -> None:
    assert cli.variables() == set(cli.VARIABLES)


def test_every_exit_code_is_told() -> None:
    from discreet.cli import discreet

    assert set(map(str, cli.EXITS)) == set(
        re.findall(r"\b(\d) [a-z]", (discreet.help or "").partition("Exit codes")[2])
    )


def test_every_extra_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"dev", "bench"}
    assert set(re.findall(r"^\| `(\w+)` \|", text_of("install.md"), re.MULTILINE)) == extras


def test_every_key_of_a_policy_has_its_meaning() -> None:
    assert set(policy.keys()) == set(policy.MEANINGS)
    sections = {key for key, field in POLICY.items() if field.rule is anything}
    assert sections <= set(policy.SECTIONS) | {"tables"}


def test_every_route_is_told_and_says_what_it_does() -> None:
    told = text_of("reference/http.md")
    for method, path, operation in http.operations():
        assert f"### {method} {path}\n" in told
        assert operation.get("description"), path
    assert all(f"`{path}`" in told for path, _ in http.pages())


def test_bodies_are_not_called_as_answers_are() -> None:
    for method, path, operation in http.operations():
        taken = (
            operation.get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("schema", {})
            .get("$ref")
        )
        given = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
        assert taken is None or taken != given.get("$ref"), f"{method} {path}"
    schemas = http.document()["components"]["schemas"]
    assert {"queries", "epsilon"} <= set(schemas["BatchRequest"]["properties"])


def test_every_public_name_has_a_docstring_and_is_told() -> None:
    for package in python.PUBLIC:
        told = (REFERENCE / python.file_of(package)).read_text(encoding="utf-8")
        for name in python.names(package):
            value = getattr(python.module_of(package), name)
            assert f"## {name}\n" in told
            if inspect.isclass(value):
                assert python.own_doc(value), name
            elif inspect.isfunction(value):
                assert value.__doc__, name


def test_every_package_with_public_names_is_told_or_said_to_be_inside() -> None:
    source = ROOT / "src" / "discreet"
    declared = {path.parent.name for path in source.glob("*/__init__.py") if "\n__all__" in path.read_text("utf-8")}
    assert declared == {*python.PUBLIC, *python.INSIDE} - {""}


def test_every_code_and_every_function_is_told() -> None:
    told = text_of("guide/codes.md")
    assert all(f"| `{code}` |" in told for code in CODES)
    language = text_of("guide/language.md")
    named = [instead._SAME.get(name[:-1], name[:-1]) for name in functions()]
    assert [name for name in named if not re.search(rf"\b{re.escape(name)}\b", language)] == []


def test_every_theorem_is_told() -> None:
    for package in proofs.ABOUT:
        told = text_of(f"proofs/{package}.md")
        assert all(f"## `{name}`\n" in told for name, _ in proofs.theorems(package))
    assert len(proofs.theorems("mechanisms")) >= 14


def test_signatures_say_the_same_in_every_run() -> None:
    assert not [
        page for page in REFERENCE.glob("*.md") if re.search(r"0x[0-9a-f]{6}|ForwardRef", page.read_text("utf-8"))
    ]


# notebooks and figures


@pytest.mark.parametrize("path", [*notebooks.EXAMPLES, *notebooks.EXERCISES], ids=lambda path: path.stem)
def test_the_gallery_has_every_notebook_with_what_it_shows(path: Path) -> None:
    example, shown = notebooks.read(path), notebooks.read(notebooks.GALLERY / path.name)
    assert [cell.source for cell in shown.cells] == [cell.source for cell in example.cells], "python -m tests.notebooks"
    codes = [cell for cell in shown.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
    assert any(cell.outputs for cell in codes)


def test_the_comparison_says_what_the_audits_found() -> None:
    audits, told = text_of("auditing-others.md"), text_of("comparison.md")
    for name in ("opendp", "smartnoise-sql", "diffprivlib", "python-dp"):
        rows = re.findall(rf"^\| {name} ([\d.]+) \|(.*)$", audits, re.MULTILINE)
        violated = sum("**violated**" in row for _, row in rows)
        assert f"{violated} of {len(rows)} claims violated" in told
        assert rows[0][0] in told


# texts of the code as Markdown


def test_nothing_in_a_docstring_becomes_markup() -> None:
    assert escaped("a_b *c* <d> [e](f)") == r"a\_b \*c\* \<d\> \[e\](f)"
    assert line("p | q\n  `r|s`") == r"p \| q `r\|s`"
    assert prose("One\ntwo.\n\n    indented\n\n>>> f(1)\n2") == "One two.\n\n        indented\n\n    >>> f(1)\n    2"


def test_a_page_that_is_not_there_yet_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.reference import pages

    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "PAGES", {"docs/x/y.md": lambda: "# Y\n"})
    assert pages.write() == ["docs/x/y.md"]
    assert pages.write() == []
    assert (tmp_path / "docs/x/y.md").read_text("utf-8") == "# Y\n"
