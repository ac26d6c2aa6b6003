"""Values and names that come from others are put into a notebook's magics, or shown by them, by a terminal or a page.

A value must stay one value: no option, no second expression, no SQL. What is shown must be text: no tag, no formula,
nothing that steers a terminal or turns the direction of a line, wherever keys, names and questions come from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import pytest

import discreet
from discreet.cli import discreet as program
from discreet.curator.curator import Curator
from discreet.markup import words
from discreet.notebook.failures import shown_lines
from discreet.policy import read
from discreet.printing import lines_of, printable
from tests.cli.runs import run, spend
from tests.shells import Shell, shells
from tests.shells import run as shows

STEERING = "\x1b[2J\x1b]52;c;cm0gLXJm\x07\x9b31m\r\x08\u202e\u2066"
CONTROLS = {letter for letter in STEERING if not letter.isprintable()}
MARKUP = "<script>alert(1)</script>'\"><img src=x onerror=alert(1)>$x$"
KEY = MARKUP + STEERING
WRITTEN = MARKUP.replace('"', '\\"')
"""As the policy file has it: policies refuse names with control characters."""
POLICY = f"""\
name = "n{WRITTEN}"
[budget]
epsilon = 40.0
delta = 1e-3
[unit]
name = "u{WRITTEN}"
[tables."t{WRITTEN}"]
source = "rows.csv"
unit = "id"
[tables."t{WRITTEN}".columns]
"c{WRITTEN}" = {{ values = ["{WRITTEN}\\u001b[2J\\u202e", "b"] }}
key = {{ type = "text" }}
[analysts."a{WRITTEN}"]
epsilon = 30.0
"""
TABLE, COLUMN, ANALYST = (letter + MARKUP for letter in "tca")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


KEYS = f"SELECT key, COUNT(*) AS {quoted(MARKUP)} FROM {quoted(TABLE)} GROUP BY key"
VALUES = f"SELECT {quoted(COLUMN)}, COUNT(*) AS n FROM {quoted(TABLE)} GROUP BY {quoted(COLUMN)}"
LISTED = f"SELECT APPROX_TOP_COUNT({quoted(COLUMN)}, 2) AS top FROM {quoted(TABLE)}"
TEXTS = [KEYS, VALUES, LISTED]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    head = ",".join('"' + name.replace('"', '""') + '"' for name in ("id", COLUMN, "key"))
    cells = f'"{KEY[: len(MARKUP)].replace(chr(34), chr(34) * 2)}","{KEY.replace(chr(34), chr(34) * 2)}"'
    rows = "".join(f"{number},{cells}\n" for number in range(400))
    Path("rows.csv").write_text(f"{head}\n{rows}", encoding="utf-8", newline="")
    Path("p.toml").write_text(POLICY, encoding="utf-8")
    return Path("p.toml")


@pytest.fixture
def shell(policy: Path) -> Iterator[Shell]:
    assert policy.exists()
    with shells() as made:
        yield made


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}


def harmless(page: str) -> Tags:
    found = Tags(page)
    assert found.tags <= TAGS
    assert found.attributes <= {"style", "role", "aria-label", "open"}
    assert not set(page) & CONTROLS
    return found


# shown


@pytest.mark.parametrize("sql", TEXTS)
def test_keys_and_names_are_text_in_notebooks(shell: Any, sql: str) -> None:
    for flags in ("", "--preview"):
        found = shows(shell, f"%%discreet p.toml -e 1 --analyst {quoted_word(ANALYST)} {flags}\n{sql}")
        assert len(found.columns)
        assert not set(f"{found} {found!r}") & CONTROLS
        page = harmless(found._repr_html_())
        assert "<script>" in page.text or sql == LISTED


def quoted_word(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def test_budget_tables_ledger_and_curator_are_text_in_notebooks(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shows(shell, f"%%discreet p.toml -e 1 --analyst {quoted_word(ANALYST)}\n{KEYS}")
    for what in ("budget", "tables", "ledger", ""):
        found = shows(shell, f"%discreet p.toml {what}")
        harmless(found._repr_html_())
        assert not set(f"{found!r}") & CONTROLS
    assert not set(capsys.readouterr().out) & CONTROLS - {"\x1b"}  # IPython's own colours


def test_refusals_are_text_in_notebooks(shell: Any) -> None:
    for sql in (KEYS.replace("key", quoted(KEY)), f"SELECT '{STEERING}' FROM nothing", f"-- {STEERING}"):
        result = shell.run_cell(f"%%discreet p.toml -e 1\n{sql}")
        wrong = result.error_in_exec
        assert isinstance(wrong, discreet.Refused), wrong
        assert not set("\n".join(shown_lines(wrong))) & (CONTROLS - {"\x1b"})
        assert not set(str(wrong)) & CONTROLS


def test_what_commands_print_steers_no_terminal(policy: Path) -> None:
    shown = ""
    for sql in TEXTS:
        for command in ("query", "preview"):
            shown += run(command, policy, sql, "-e", "0.5", "--analyst", ANALYST).output
    for looks in (["tables"], ["budget"], ["ledger", "show"], ["ledger", "verify"], ["ledger", "export"]):
        shown += run(*looks, policy).output
    exported = run("ledger", "export", "--format", "csv", policy).output
    assert MARKUP.replace('"', '""') in exported  # into a pipe it goes as it is
    shown += run("query", policy, f"SELECT {quoted(KEY)} FROM nothing", "-e", "1", code=3).output
    assert len(shown) > 1000
    assert not set(shown) & CONTROLS


def test_an_export_steers_no_terminal(
    policy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spend(read(policy), 0.1, f"SELECT '{STEERING}'")
    for seen in (False, True):
        monkeypatch.setattr(sys.stdout, "isatty", lambda seen=seen: seen)
        with pytest.raises(SystemExit):
            program(["ledger", "export", "--format", "csv", str(policy)], standalone_mode=False)
        assert bool(set(capsys.readouterr().out) & CONTROLS) is not seen


def test_one_function_for_terminals_and_one_for_pages() -> None:
    """Every character: printed as itself or spelt out, never obeyed."""
    every = "".join(map(chr, [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFE00, 0x10100), 0xE0001, 0x10FFFF]))
    assert all(letter.isprintable() for letter in printable(every))
    assert all(letter.isprintable() or letter == "\n" for letter in lines_of(every))
    harmless(words(every))
    assert (
        not set(words(every)) - set(lines_of(every)) - {"\u2007", "\u2008"} - set("<span></span>&lt;gt;amp;quot;#x27;")
    )


# filled in


def test_a_value_is_never_an_option(shell: Any) -> None:
    for value in ("--fresh", "-e9", "--help", "-h", "--as=print", "--analyst=x"):
        shell.user_ns["value"] = value
        for line in ("p.toml {value} -e 1", "p.toml $value -e 1", "{value}", "p.toml -e {value}"):
            for cell in (f"%%discreet {line}\n{VALUES}", f"%discreet {line}"):
                wrong = shell.run_cell(cell).error_in_exec
                assert isinstance(wrong, click.UsageError), wrong
                assert "looks like an option" in wrong.format_message()
    with discreet.open("p.toml") as curator:
        assert curator.entries() == []


def test_a_value_stays_one_value_and_is_not_read_again(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes a parameter of the question, not a part of its text."""
    seen: list[tuple[str, Any]] = []
    monkeypatch.setattr(Curator, "query", lambda _, sql, **given: seen.append((sql, given["params"])))
    sql = f"SELECT COUNT(*) FROM {quoted(TABLE)} WHERE key = $v"
    for value in ("x --fresh", "{1/0}", "$missing {1+1}", "a' OR '1'='1", 'b" -e 9', "\\", "x\ny"):
        shell.user_ns["value"] = value
        for written in ("{value}", "$value"):
            seen.clear()
            shell.run_cell(f"%%discreet p.toml -e 1 -p v={written}\n{sql}").raise_error()
            assert seen == [(f"{sql}\n", {"v": value})]


def test_the_question_itself_is_not_filled_in(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(Curator, "query", lambda _, sql, **__: seen.append(sql))
    shell.user_ns["value"] = "1' OR 1 = 1 --"
    sql = "SELECT COUNT(*) FROM t WHERE key = '{value}' OR key = '$value' OR key = $value"
    shell.run_cell(f"%%discreet p.toml -e 1\n{sql}").raise_error()
    assert seen == [f"{sql}\n"]
