"""Commands take addresses: a shell, budgets, ledgers and tables behind a server, each as its token may see it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from click.testing import CliRunner, Result

import discreet
from discreet.cli.program import discreet as program
from discreet.cli.shell.completion import Vocabulary
from discreet.cli.shell.execute import run_script
from discreet.cli.shell.manual import FUNCTIONS
from discreet.cli.shell.session import Session, Settings
from discreet.cli.shell.terminal import prompt_of
from discreet.client.remote import TOKEN
from discreet.sql.vocabulary import functions
from tests.cli.runs import run, told
from tests.server.running import Running

COUNT = "SELECT COUNT(*) AS n FROM patients WHERE age < 20"


@pytest.fixture
def finance(server: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address, for whoever holds the token of finance."""
    monkeypatch.setenv(TOKEN, server.tokens["finance"])
    return server.url


def piped(target: str, text: str, *options: str) -> Result:
    return CliRunner().invoke(program, ["shell", target, *options], input=text)


def test_the_shell_asks_a_server(finance: str) -> None:
    done = piped(
        finance, f"{COUNT};\n\\budget\n\\ledger 1\n\\tables patients\nhelp;\n\\preview {COUNT}\n", "-e", "0.01"
    )
    assert done.exit_code == 0, done.output
    assert "finance" in done.output
    assert "epidemiology" not in done.output
    assert COUNT in done.output
    assert "02131" not in done.output


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("SELECT age FROM patients;", 3, "refused (not-an-aggregate)"),
        (f"{COUNT} AND age < 7;", 3, "refused (cost-missing)"),
        ("\\analyst epidemiology", 3, "another analyst"),
        ("\\nonsense", 2, "there is no command"),
    ],
)
def test_refusals_are_those_of_a_policy_here(finance: str, text: str, code: int, said: str) -> None:
    done = piped(finance, text)
    assert (done.exit_code, said in done.stderr) == (code, True), done.stderr


def test_the_shell_tries_dummy_data_of_a_server(finance: str) -> None:
    before = len(told("ledger", "show", finance)["entries"])
    done = piped(finance, f"{COUNT} AND age > 1;", "-e", "0.1", "--dummy")
    assert done.exit_code == 0, done.output
    assert "dummy data" in done.output
    assert len(told("ledger", "show", finance)["entries"]) == before


def test_the_prompt_is_about_ones_own_share(server: Running) -> None:
    with discreet.connect(server.url, token=server.tokens["finance"]) as remote:
        session = Session(remote, Settings())
        session.with_usual_cost()
        assert session.settings.epsilon == remote.usual_cost
        assert prompt_of(session).startswith("hospital/finance ")
        words = Vocabulary.of(remote)
        assert words.analysts == ("finance",)
        assert "patients" in words.tables
        assert run_script(session, io.BytesIO(b"\\quit\n")) == 0
        session.answer = None
        assert session._charged_since(COUNT, 10**9) is False


def test_budget_and_ledger_show_ones_own(finance: str, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    run("query", finance, COUNT, "-e", "0.01")
    shown = told("budget", finance)
    assert set(shown["analysts"]) == {"finance"}
    assert "finance" in run("budget", finance).stdout
    assert told("budget", finance, "finance")["analyst"] == "finance"
    whose = {entry["analyst"] for entry in told("ledger", "show", finance)["entries"]}
    assert "finance" in whose
    assert "epidemiology" not in whose
    assert "another analyst" in run("budget", finance, "epidemiology", code=3).stderr
    assert set(told("tables", finance)["tables"]) == {"patients", "wards"}
    assert told("preview", finance, COUNT, "-e", "0.01")["columns"] == ["n"]
    monkeypatch.setenv(TOKEN, server.tokens["owner"])
    assert set(told("budget", finance)["analysts"]) == {"epidemiology", "finance"}


@pytest.mark.parametrize("command", [["shell"], ["budget"], ["tables"], ["ledger", "show"], ["query"], ["preview"]])
def test_a_token_is_taken_from_the_environment_alone(
    finance: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN)
    more = ["SELECT 1"] if command[0] in ("query", "preview") else []
    assert TOKEN in run(*command, finance, *more, code=3).stderr
    assert "--token" not in run(*command, "--help").stdout


# help


def helped(session: Any, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_script(session, io.BytesIO(text.encode())) == 0
    return capsys.readouterr().out


def test_help_lists_every_command_and_function(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.cli.shell.backslash import COMMANDS

    listed = helped(None, "help", capsys)
    assert all(f"\\{name}" in listed and command.says in listed for name, command in COMMANDS.items())
    assert all(name in listed for name in FUNCTIONS)
    assert {f"{name}(" for name in FUNCTIONS} == set(functions())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("help plot", "draw the last answer"),
        ("help \\plot", "draw the last answer"),
        ("\\help plot", "draw the last answer"),
        ("HELP quantile;", "QUANTILE(x, 0.9)"),
        ("help COUNT(*)", "COUNT(DISTINCT x)"),
        ("help date_trunc", "of each row"),
        ("help sum", "with noise"),
    ],
)
def test_help_says_what_one_does(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in helped(None, text, capsys)


def test_help_in_vain(capsys: pytest.CaptureFixture[str]) -> None:
    session: Any = None
    assert run_script(session, io.BytesIO(b"help quantle")) == 2
    assert "did you mean QUANTILE" in capsys.readouterr().err
    assert run_script(session, io.BytesIO("help \x1b[2J\u202e".encode())) == 2
    assert not {"\x1b", "\u202e"} & set(capsys.readouterr().err)
