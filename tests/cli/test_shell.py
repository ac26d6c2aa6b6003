"""`discreet shell`: where statements end, what can be completed, costs before they are paid, and every way to end."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.tokenizer_core import TokenType

from discreet.answers.saving import csv_of
from discreet.cli import discreet
from discreet.cli.failures import Failure
from discreet.cli.shell.backslash import COMMANDS, obey
from discreet.cli.shell.command import HISTORY
from discreet.cli.shell.completion import Vocabulary, choices
from discreet.cli.shell.confirm import agree, offer
from discreet.cli.shell.execute import perform
from discreet.cli.shell.session import Interrupted, Session, Settings
from discreet.cli.shell.statements import is_finished, split
from discreet.cli.shell.terminal import prompt_of, ready
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.curator.state import open_ledger
from discreet.errors import Refused
from discreet.lab.hospital import build
from discreet.opening import open as open_curator
from discreet.policy import read
from discreet.printing import at_least
from discreet.sql.vocabulary import KEYWORDS, functions
from tests.answers.test_answers import answer
from tests.cli.conversations import Conversation
from tests.cli.runs import program
from tests.cli.test_failures import HEAVY, IMPORTED
from tests.costs import rho_of
from tests.curator.worlds import hospital

COUNT = "SELECT COUNT(*) AS n FROM patients"


def path_of(session: Session) -> Path:
    assert isinstance(session.curator, Curator)
    return session.curator.policy.path


@pytest.fixture(autouse=True)
def heeds_ctrl_c() -> Iterator[None]:
    """Also where whoever runs the tests does not: background jobs ignore it, and so would all that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital of the demo; tests ask different questions of it."""
    return build(tmp_path_factory.mktemp("shell"))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with open_curator(hospital(tmp_path).path) as curator:
        yield Session(curator, Settings(epsilon=0.1))


@pytest.fixture(scope="module")
def vocabulary(demo: Path) -> Vocabulary:
    with open_curator(demo) as curator:
        return Vocabulary.of(curator)


# statements


@pytest.mark.parametrize(
    ("text", "statements", "rest", "opened"),
    [
        ("", (), "", ""),
        (" ;; ; ", (), "", ""),
        ("SELECT 1; SELECT 2;", ("SELECT 1", "SELECT 2"), "", ""),
        ("SELECT 1;\nSELECT 2", ("SELECT 1",), "SELECT 2", ""),
        ("SELECT ';'; x", ("SELECT ';'",), "x", ""),
        ("SELECT 'it''s;'; x", ("SELECT 'it''s;'",), "x", ""),
        ("SELECT 'a\\'; x", ("SELECT 'a\\'",), "x", ""),
        ("SELECT e'a\\';'; x", ("SELECT e'a\\';'",), "x", ""),
        ('SELECT "a;""b;"; x', ('SELECT "a;""b;"',), "x", ""),
        ("SELECT 1 -- one; two\n; x", ("SELECT 1 -- one; two",), "x", ""),
        ("SELECT /* a; /* b; */ c; */ 1; x", ("SELECT /* a; /* b; */ c; */ 1",), "x", ""),
        ("SELECT $$a;'b$$; x", ("SELECT $$a;'b$$",), "x", ""),
        ("SELECT $t$a;$$;$t$; x", ("SELECT $t$a;$$;$t$",), "x", ""),
        ("SELECT $a, $b; x", ("SELECT $a, $b",), "x", ""),
        ("SELECT 'a; b", (), "SELECT 'a; b", "'"),
        ("SELECT /* a; b", (), "SELECT /* a; b", "/*"),
        ("SELECT $q$a; b", (), "SELECT $q$a; b", "$q$"),
        ("SELECT 1; -- nothing; more", ("SELECT 1",), "", "--"),
        ("SELECT 1 -- more", (), "SELECT 1 -- more", "--"),
        ("SELECT 1 -- more\n", (), "SELECT 1 -- more", ""),
        ("-- said; before\nSELECT 1;", ("-- said; before\nSELECT 1",), "", ""),
        ("\\epsilon 0.2\nSELECT 1;", ("\\epsilon 0.2", "SELECT 1"), "", ""),
        ("-- why\n\\preview SELECT 1; SELECT 2\nx", ("\\preview SELECT 1; SELECT 2",), "x", ""),
        ("SELECT 1 +\n\\help\n;", ("SELECT 1 +\n\\help",), "", ""),
        ("SELECT 'é\0;\U0001f600';", ("SELECT 'é\0;\U0001f600'",), "", ""),
    ],
)
def test_statements_end_at_semicolons_outside_of_quotes(
    text: str, statements: tuple[str, ...], rest: str, opened: str
) -> None:
    found = split(text)
    assert (found.statements, found.rest, found.open) == (statements, rest, opened)


def test_a_statement_with_the_clause_is_read_as_bigquery_does() -> None:
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) "
    for hidden in ("'a\\';'", '"a\\";"', "'''a';'''", '"""a";"""', "`a;`", "# a;\n 1"):
        text = f"{clause}COUNT_IF(x = {hidden}) FROM t"
        assert split(f"SELECT 1; {text}; SELECT ';'").all == ("SELECT 1", text, "SELECT ';'")


def wrapped(pieces: str, before: str, after: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces.split(" ")), max_size=6).map(lambda inner: before + "".join(inner) + after)


UNITS = st.one_of(
    st.sampled_from(("a", "1", "*", "(", ")", ":p", "é")),
    wrapped("; a '' \" -- /* $$ \\ é \n", "'", "'"),
    wrapped('; a \' "" -- /* $$ \\ é \n', '"', '"'),
    wrapped("; a \\' \\\\ \" -- $$ é", "e'", "'"),
    wrapped("; a ' \" -- /* $$ é \\", "--", "\n"),
    wrapped("; a ' \" -- $$ é \n \\", "/*", "*/"),
    wrapped("; a ' \" -- /* é \n \\", "$$", "$$"),
    wrapped("; a ' \" -- /* é \n \\", "$t$", "$t$"),
)
"""Words, and everything that can hide a semicolon."""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(UNITS, max_size=6), min_size=1, max_size=5))
def test_what_ends_a_statement_here_ends_one_in_the_parser(statements: list[list[str]]) -> None:
    texts = [" ".join(["a", *units]) for units in statements]
    text = ";".join(texts)
    assert split(text).all == tuple(part.strip() for part in texts)
    tokens = [token.token_type for token in sqlglot.tokenize(text, read="duckdb")]
    assert tokens.count(TokenType.SEMICOLON) == len(texts) - 1


def test_a_long_text_is_split_in_time_that_grows_with_its_length() -> None:
    assert len(split("SELECT 'a;' -- b;\n;" * 20_000).statements) == 20_000
    assert split("'" * 99_999).open == "'"
    assert split("e'" + "\\'" * 50_000).open == "e'"
    assert split("/*" * 50_000).open == "/*"


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", True),
        ("  ", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; ", True),
        ("SELECT 1;\n-- and", True),
        ("SELECT 1\nFROM t", False),
        ("SELECT 1\n", True),
        ("SELECT 1\n  ", True),
        ("SELECT ';", False),
        ("SELECT '\n", False),
        ("SELECT /*;\n", False),
        ("\\help", True),
        ("help", True),
        ("SELECT 1;\nhelp", False),
        ("exit", True),
        ("QUIT", True),
        ("exit 1", False),
        ("-- nothing", True),
    ],
)
def test_a_text_is_finished_with_a_semicolon_or_an_empty_line(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


# completion


def offered(vocabulary: Vocabulary, text: str) -> list[str]:
    """What is offered where | stands."""
    before, _, after = text.partition("|")
    return [choice.text for choice in choices(vocabulary, before, after)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COUNT(*) FROM |", ["patients", "visits", "wards"]),
        ("SELECT COUNT(*) FROM vi|", ["visits"]),
        ("SELECT COUNT(*) FROM patients JOIN V|", ["visits"]),
        ("SELECT nig|", ["nights"]),
        ("SELECT nig| FROM patients", []),
        ("SELECT nig| FROM visits", ["nights"]),
        ("SELECT 1 FROM patients; SELECT nig|", ["nights"]),
        ("SELECT visits.co|", ["code", "cost"]),
        ("SELECT v.co| FROM visits AS v", ["code", "cost"]),
        ("SELECT p.co| FROM visits v JOIN patients p", []),
        ("SELECT COUNT(DISTINCT patient_|", ["patient_id"]),
        ("WHERE ward = 'on|", ["oncology'"]),
        ("WHERE ward='IC|", ["ICU'"]),
        (
            "WHERE ward <> '|",
            ["cardiology'", "ICU'", "internal'", "maternity'", "oncology'", "paediatrics'", "surgery'"],
        ),
        ("WHERE ward IN ('ICU', 'su|", ["surgery'"]),
        ('WHERE "sex" = \'|', ["F'", "M'"]),
        ("WHERE p.sex = 'm|", ["M'"]),
        ("WHERE zip = '|", []),
        ("WHERE age = '|", []),
        ("WHERE ward = 'ICU' AND smo|", ["smoker"]),
        ("SELECT 1 -- wa|", []),
        ("SELECT medi|", ["median("]),
        ("SELECT MEDI|", ["MEDIAN("]),
        ("SELECT CLA|", ["CLAMP("]),
        ("SELECT 1 GRO|", ["GROUP BY"]),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(eps|", ["epsilon"]),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_p|", ["max_rows_per_group"]),
        ("\\ep|", ["epsilon"]),
        ("\\|", list(COMMANDS)),
        ("\\tables v|", ["visits"]),
        ("\\analyst f|", ["finance"]),
        ("\\preview SELECT COUNT(*) FROM vi|", ["visits"]),
        ("\\epsilon 0|", []),
        ("SELECT 1;\n\\bud|", ["budget"]),
        ("SELECT 1\n\\bud|", []),
        ("|", None),
    ],
)
def test_what_is_offered(text: str, expected: list[str] | None, vocabulary: Vocabulary) -> None:
    found = offered(vocabulary, text)
    assert found == expected if expected is not None else "SELECT" in found


def test_every_function_of_the_tables_is_offered_and_no_operator() -> None:
    found = functions()
    assert {"COUNT(", "HISTOGRAM(", "CORR(", "CLAMP(", "DATE_TRUNC(", "EXTRACT(", "CAST("} <= set(found)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+\(", name) for name in found)
    assert len(set(found)) == len(found)
    assert not {f"{word}(" for word in KEYWORDS} & set(found)


def test_odd_names_and_values_are_offered_as_sql_writes_them(tmp_path: Path) -> None:
    path = hospital(tmp_path).path
    text = path.read_text(encoding="utf-8").replace(
        'sex = { values = ["F", "M"] }', '"odd name" = { values = ["it\'s", "b"] }\nsex = { values = ["F", "M"] }'
    )
    path.write_text(text, encoding="utf-8")
    with open_curator(path) as curator:
        words = Vocabulary.of(curator)
    assert offered(words, "SELECT odd|") == ['"odd name"']
    assert offered(words, 'SELECT "odd|') == ['"odd name"']
    assert offered(words, 'WHERE "odd name" = \'i|') == ["it''s'"]


# scripts


def piped(policy: Path, text: str | bytes, *args: str) -> Result:
    result = CliRunner().invoke(discreet, ["shell", str(policy), *args], input=text)
    assert "Traceback" not in result.output
    return result


def test_a_script_is_run_without_asking(session: Session, tmp_path: Path) -> None:
    path = path_of(session)
    done = piped(path, f"{COUNT};\n{COUNT} WHERE sex = 'F';\n\\epsilon 0.2\n{COUNT}", "--epsilon", "0.1")
    assert done.exit_code == 0, done.output
    assert [float(entry.loss.concentrated().rho) for entry in session.curator.entries()] == [
        *[rho_of(0.1)] * 2,
        rho_of(0.2),
    ]
    assert done.stdout.count("receipt") == 3
    assert done.stderr == ""
    assert not (path.parent / HISTORY).exists()
    assert not list(tmp_path.rglob(HISTORY))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("-- nothing;\n;;", 0),
        ("SELECT age FROM patients; SELECT COUNT(*) FROM nothing;", 3),
        ("\\nonsense\nSELECT age FROM patients;", 2),
        ("SELECT COUNT(*) FROM patients WHERE sex = 'F", 3),
        ("\\epsilon 100\nSELECT COUNT(*) FROM patients;\nSELECT age FROM patients;", 4),
        ("\\epsilon -1", 2),
        ("exit; SELECT age FROM patients;", 0),
        ("\\quit\nSELECT age FROM patients;", 0),
        (b"\xff\xfe", 2),
    ],
)
def test_the_exit_code_is_that_of_the_first_failure(text: str | bytes, code: int, session: Session) -> None:
    done = piped(path_of(session), text, "--epsilon", "0.1")
    assert done.exit_code == code, done.output
    assert session.curator.entries() == []
    assert bool(done.stderr) == bool(code)


def test_a_script_goes_on_after_a_refusal(session: Session) -> None:
    done = piped(path_of(session), f"SELECT age FROM patients; {COUNT};", "--epsilon", "0.1")
    assert done.exit_code == 3
    assert done.stderr.startswith("refused (not-an-aggregate): ")
    assert "\n→ " in done.stderr
    assert len(session.curator.entries()) == 1


def test_a_script_without_a_cost_is_refused(session: Session) -> None:
    done = piped(path_of(session), f"{COUNT};")
    assert done.exit_code == 3
    assert "cost-missing" in done.stderr


def test_the_clause_names_the_cost_itself(session: Session) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.2) COUNT(*) FROM patients"
    assert piped(path_of(session), f"{sql};", "--epsilon", "0.1").exit_code == 0
    without = sql.replace("epsilon = 0.2", "max_groups_contributed = 1")
    assert piped(path_of(session), f"{without} WHERE sex = 'F';", "--epsilon", "0.1").exit_code == 0
    assert [float(entry.loss.concentrated().rho) for entry in session.curator.entries()] == [rho_of(0.2), rho_of(0.1)]


def test_an_unknown_analyst_and_a_missing_policy_are_told_at_once(session: Session, tmp_path: Path) -> None:
    assert piped(path_of(session), "", "--analyst", "nobody").exit_code == 3
    assert piped(tmp_path / "none.toml", "").exit_code == 2


def test_nobody_reads_on(demo: Path) -> None:
    process = program("shell", demo, "-e", "0.1", stdin=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate(b"\\help\n" * 50, timeout=300)
    assert (process.returncode, told) == (141, b"")


@pytest.mark.parametrize("args", [["--help"], ["shell", "--help"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    code = IMPORTED.format(args=args)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "shell" in done.stdout
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not (HEAVY | {"prompt_toolkit", "pygments"}) & loaded


# costs before they are paid


def replies(*said: str) -> Any:
    left = list(said)
    return lambda _: left.pop(0)


def test_the_cost_is_shown_and_changed(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert agree(session, COUNT, replies("")) == replace(session.settings, confirm=True)
    assert agree(session, COUNT, replies("what", "?", "0.2", " Y ")) == Settings(epsilon=0.2, confirm=True)
    assert agree(session, COUNT, replies("-1", "nan", "1e999", "n")) is None
    shown = capsys.readouterr().out
    assert "cost ε 0.2 · 0 % of the budget used · about 159 more queries like this · n ± 42\n" in shown
    assert "· n ± 42\n" in shown
    assert shown.count("a number such as 0.05") == 4
    assert "discrete Gaussian noise" in shown
    assert session.curator.entries() == []


def test_what_is_free_needs_no_reply(session: Session) -> None:
    session.ask(COUNT, session.settings)
    assert agree(session, COUNT, replies()) == session.settings
    assert agree(session, f"EXPLAIN PRIVACY {COUNT} WHERE sex = 'F'", replies()) == session.settings
    assert agree(session, "SELECT COUNT(*) FROM wards", replies()) == session.settings


def test_what_cannot_be_paid_is_not_run_by_enter(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert agree(session, COUNT, replies("100", "")) is None
    assert "cost ε 100, more than what remains · 0 % of the budget used · no more" in capsys.readouterr().out


@pytest.mark.parametrize("settings", [Settings(error=7), Settings(epsilon=1.5, is_usual=True)])
def test_what_nobody_named_and_takes_much_of_the_rest_is_not_run_by_enter(
    session: Session, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    session.settings = settings
    assert agree(session, COUNT, lambda question: "" if question == "run? [y/N/cost/?] " else "y") is None
    assert re.search(r"this is [\d.]+ % of what is left\n", capsys.readouterr().out)
    agreed = agree(session, COUNT, replies("y"))
    assert agreed == replace(settings, confirm=True)
    assert not session.ask(COUNT, agreed).cached
    session.settings = Settings(epsilon=1.5)
    assert agree(session, f"{COUNT} WHERE sex = 'F'", replies("")) == replace(session.settings, confirm=True)


def test_a_wanted_error_in_the_text_is_asked_about_too(session: Session) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 3) COUNT(*) FROM patients"
    assert agree(session, sql, replies("")) is None
    with pytest.raises(Refused, match="confirm-cost"):
        session.ask(sql, session.settings)


def test_a_cost_in_the_text_is_changed_there(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.2) COUNT(*) FROM patients"
    assert agree(session, sql, replies("0.5", "n")) is None
    shown = capsys.readouterr().out
    assert "change it there" in shown
    assert shown.count("cost ε 0.2 · ") == 2


def test_many_columns_are_cut(session: Session) -> None:
    sql = f"SELECT {', '.join(f'COUNT(*) + {n} AS c{n}' for n in range(6))} FROM patients"
    told = offer(session.preview(sql, session.settings))
    assert "c3 ±" in told
    assert "c4" not in told
    assert told.endswith(" · …")


def test_the_usual_cost_stays_within_the_limit(tmp_path: Path) -> None:
    path = hospital(tmp_path).path
    text = path.read_text(encoding="utf-8").replace("[budget]", "max_cost = 0.05\n[budget]")
    path.write_text(text, encoding="utf-8")
    with open_curator(path) as curator:
        for given, expected in ((Settings(), 0.05), (Settings(epsilon=0.2), 0.2), (Settings(error=5), None)):
            session = Session(curator, given)
            session.with_usual_cost()
            assert session.settings.epsilon == expected


# commands


def test_settings_hold_from_now_on(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("\\epsilon 0.2", "\\CONFIDENCE 0.9;", "\\analyst fraud"):
        obey(session, line)
    assert session.settings == Settings(epsilon=0.2, confidence=0.9, analyst="fraud")
    assert prompt_of(session) == "hospital/fraud 0 % used> "
    obey(session, "\\error 10")
    obey(session, "\\group_size 500")
    obey(session, "\\analyst")
    assert session.settings == Settings(error=10.0, group_size=500, confidence=0.9)
    assert session.preview("SELECT AVG(age) AS age FROM patients", session.settings).averages["age"][500] <= 10
    assert capsys.readouterr().out.count("from now on") == 6
    with pytest.raises(Refused):
        obey(session, "\\analyst nobody")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("\\", "there is no command"),
        ("\\savv x.csv", "did you mean \\save?"),
        ("\\\x1b[2J", "there is no command \\\\x1b[2J"),
        ("\\epsilon", "takes COST"),
        ("\\epsilon much", "not a number above 0"),
        ("\\epsilon inf", "not a number above 0"),
        ("\\confidence 1", "between 0 and 1"),
        ("\\group_size 2.5", "whole number of rows"),
        ("\\budget now", "takes nothing"),
        ("\\ledger -1", "whole number"),
        ("\\ledger 0", "whole number"),
        ("\\tables visit", "there is: visits"),
        ("\\tables nothing", "patients, visits"),
        ("\\save x.csv", "ask a question first"),
        ("\\plot", "ask a question first"),
    ],
)
def test_wrong_commands_say_what_is_right(
    line: str, says: str, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = perform(session, line, lambda *_: None, most=None)
    assert failure is not None
    assert failure.exit == 2
    assert says in capsys.readouterr().err


def test_looking_costs_nothing(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("\\ledger", "\\budget", "\\tables", "\\tables PATIENTS", "\\help", "help", f"\\preview {COUNT};"):
        assert perform(session, line, lambda *_: None, most=None) is None
    shown = capsys.readouterr().out
    assert "nothing was charged yet" in shown
    assert shown.count("patients  each patient_id is protected") == 2
    assert shown.count("visits  each") == 1
    assert all(f"\\{name}" in shown for name in COMMANDS)
    assert session.curator.entries() == []
    session.ask(COUNT, session.settings)
    session.ask(f"{COUNT} WHERE sex = 'F'", session.settings)
    obey(session, "\\ledger 1")
    assert capsys.readouterr().out.count("SELECT COUNT") == 1


def test_an_answer_is_saved_once(session: Session, tmp_path: Path) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
    found = session.ask(sql, session.settings)
    obey(session, f"\\save {tmp_path / 'a b.csv'}")
    lines = (tmp_path / "a b.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "sex,n,n_low,n_high"
    assert lines[1].startswith(f"F,{found.rows[0][1]},")
    obey(session, f"\\save {tmp_path / 'a.JSON'}")
    assert json.loads((tmp_path / "a.JSON").read_text(encoding="utf-8"))["question"] == sql
    for name in ("a b.csv", "a.txt", "none/a.csv"):
        failure = perform(session, f"\\save {tmp_path / name}", lambda *_: None, most=None)
        assert failure is not None
        assert failure.exit == 2


def test_csv_is_no_formula() -> None:
    found = answer(columns=["=x", "n"], rows=[("@evil", 1), (None, 2)], intervals=[{"n": (0.0, 2.0)}, {}])
    assert csv_of(found).splitlines() == ["'=x,n,n_low,n_high", "'@evil,1,0.0,2.0", ",2,,"]


def test_lists_are_written_as_json_with_their_ends() -> None:
    items = [{"value": date(2026, 1, 2), "count": 7}, {"value": None, "count": -1}]
    found = answer(columns=["h"], rows=[(items,), (None,)], intervals=[{"h": [(4, 10), (-4, 2)]}, {}])
    ((heading,), (cell,), nothing) = csv.reader(io.StringIO(csv_of(found)))
    assert (heading, nothing) == ("h", [""])
    assert json.loads(cell) == [
        {"value": "2026-01-02", "count": 7, "low": 4, "high": 10},
        {"value": None, "count": -1, "low": -4, "high": 2},
    ]


def test_an_answer_is_drawn_into_a_file_that_is_named(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    session.ask("SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", session.settings)
    obey(session, "\\plot")
    obey(session, "\\plot")
    assert capsys.readouterr().out == "wrote answer-1.svg\nwrote answer-2.svg\n"
    assert "<svg" in (tmp_path / "answer-2.svg").read_text(encoding="utf-8")
    for name in ("answer-1.svg", "answer.doc"):
        failure = perform(session, f"\\plot {name}", lambda *_: None, most=None)
        assert failure is not None
        assert failure.exit == 2


# refusals


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM patient", "SELECT COUNT(*) FROM patients;"),
        ("SELECT AVG(agee) FROM patients", "SELECT AVG(age) FROM patients;"),
        ("SELECT SUM( LENGTH(zip) ) FROM patients", "SELECT SUM(CLAMP(LENGTH(zip), 0, 100)) FROM patients;"),
        ("SELECT sex, COUNT(*) FROM patients", "SELECT sex, COUNT(*) FROM patients GROUP BY sex;"),
        ("SELECT age FROM patients", ""),
        ("SELECT", ""),
    ],
)
def test_a_fix_that_is_a_text_is_offered_if_it_would_be_answered(sql: str, expected: str, session: Session) -> None:
    with pytest.raises(Refused) as refused:
        session.preview(sql, session.settings)
    found = refused.value
    assert ready(session, sql, Failure(3, found.code, found.reason, found.fix, edit=found.edit)) == expected
    assert session.curator.entries() == []


# Ctrl-C


class Slow:
    """An engine that is interrupted in the middle of a query."""

    dialect = "duckdb"

    copy = "none"

    def schema(self, table: str) -> dict[str, str]:
        raise NotImplementedError(table)

    def columns(self, query: Sql, seconds: float | None = None) -> list[Any]:
        raise NotImplementedError(query, seconds)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None  # as DuckDB does
        raise AssertionError(query, seconds)

    def close(self) -> None:
        pass


def test_an_interrupted_question_stays_charged_and_the_shell_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = read(hospital(tmp_path).path)
    before = signal.getsignal(signal.SIGINT)
    with ExitStack() as stack:
        curator = stack.enter_context(Curator(policy, open_ledger(policy), engine=Slow()))
        session = Session(curator, Settings(epsilon=0.1))
        failure = perform(session, COUNT, lambda *_: session.settings, most=None)
        assert failure is not None
        assert failure.exit == 130
        assert "stays charged" in capsys.readouterr().err
        assert [entry.answered for entry in curator.entries()] == [False]
        assert session.answer is None
    assert signal.getsignal(signal.SIGINT) is before


def test_before_the_charge_nothing_is_lost(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr(session.curator, "preview", interrupted)
    with pytest.raises(Interrupted, match="nothing was charged"):
        session.preview(COUNT, session.settings)


# in a terminal

SLEEPY = """
import time, discreet.engines.duckdb as engines
rows = engines.DuckDB.rows
def slow(self, query, seconds=None):
    print("reading", flush=True)
    time.sleep(600)
    return rows(self, query, seconds)
engines.DuckDB.rows = slow
"""


@pytest.mark.long
def test_a_conversation(demo: Path) -> None:
    """Cost, another cost, answer, kept answer, refusal with its fix in the next line, history, the end."""
    with Conversation(demo) as shell:
        assert re.search(r"hospital [\d.]+ % used>", shell.greeting)
        assert "…" in shell.say("SELECT COUNT(*) AS people\r", "…")
        assert "cost ε 0.5 · 0 % of the budget used · about 28 more queries like this · people ± 18" in shell.say(
            "FROM patients;\r", "cost/?]"
        )
        assert "cost ε 0.02 · " in shell.say("0.02\r", "cost/?]")
        assert f"cost ε 0.02 (ρ {at_least(rho_of(0.02))}), " in shell.say("\r", " more>")
        shell.say("\\epsilon 0.01\r", "from now on")
        assert "cached: free" in shell.say("SELECT COUNT(*) AS people FROM patients;\r", "receipt")
        told = shell.say("SELECT COUNT(*) FROM vists;\r", "FROM visits;")
        assert "refused (unknown-table)" in told
        assert "FROM visits" not in shell.say("\x03", " more>").rpartition(" more>")[2]
        shell.say("SELECT COUNT(*) FROM pati\t", "patients")
        shell.say(" WHERE ward = 'onc\t", "oncology'")
        shell.say("\x03", " more>")
        assert shell.ends() == 0
    history = next(demo.parent.rglob(HISTORY))
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "+SELECT COUNT(*) AS people\n+FROM patients;\n" in history.read_text(encoding="utf-8")
    with open_curator(demo) as curator:
        assert [entry.question for entry in curator.entries()] == ["SELECT COUNT(*) AS people\nFROM patients"]


@pytest.mark.long
def test_ctrl_c_while_a_question_runs(demo: Path) -> None:
    sql = "SELECT MAX(nights) FROM visits"
    with Conversation(demo, "--epsilon", "0.05", "--analyst", "finance", prelude=SLEEPY) as shell:
        assert re.search(r"hospital/finance [\d.]+ % used>", shell.greeting)
        shell.say(f"{sql};\r", "cost/?]")
        shell.say("y\r", "reading")
        assert "stays charged" in shell.say("\x03", "charged")
        assert "MAX(nights)" in shell.say("\\ledger 1\r", "question")
        assert shell.ends("exit\r") == 0
    with open_curator(demo) as curator:
        last = curator.entries()[-1]
    assert (last.question, last.analyst, last.answered) == (sql, "finance", False)


@pytest.mark.long
def test_a_dummy_is_free(demo: Path) -> None:
    with Conversation(demo, "--dummy") as shell:
        assert "hospital (dummy)>" in shell.greeting
        assert "dummy data" in shell.say("SELECT COUNT(*) FROM visits;\r", "dummy data")
        assert shell.ends("\\q\r") == 0
    with open_curator(demo) as curator:
        assert "SELECT COUNT(*) FROM visits" not in [entry.question for entry in curator.entries()]
