"""Notebooks: the magics, what they show, and how refusals look there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import pytest
from nbclient.exceptions import CellExecutionError

import discreet
from discreet.accounting import Concentrated
from discreet.accounting.balance import Amount, Balance
from discreet.answers import Answer, Preview
from discreet.answers.interface import Asks
from discreet.curator.curator import Curator
from discreet.ledger import LedgerError
from discreet.markup import words
from discreet.notebook.magic import _LOADED
from discreet.notebook.views import MAX_ENTRIES, View
from discreet.policy import PolicyError
from tests.costs import rho_of
from tests.curator.worlds import POLICY, hospital
from tests.notebooks import EXAMPLES, RAISES, executed, of_cells, read, write
from tests.server.running import Running
from tests.shells import Shell, run, shells

COUNT = "SELECT COUNT(*) AS n FROM patients"
EVIL = "<script>alert('\"&$x$')</script>"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small hospital, in the folder where the notebook runs."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    return hospital(tmp_path).path


@pytest.fixture
def shell(policy: Path) -> Iterator[Shell]:
    assert policy.exists()
    with shells() as made:
        yield made


def ask(shell: Shell, line: str, sql: str = COUNT) -> Any:
    return run(shell, f"%%discreet {line}\n{sql}")


def charges() -> int:
    with discreet.open("hospital.toml") as curator:
        return len(curator.entries())


# servers


def test_cells_ask_servers(shell: Shell, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", server.tokens["finance"])
    address = f"{server.url}/hospital"
    answer = ask(shell, f"{address} --epsilon 0.01 --as n")
    assert isinstance(answer, Answer)
    assert ask(shell, "--epsilon 0.01").cached  # the address is remembered
    assert isinstance(ask(shell, "--epsilon 0.01 --preview"), Preview)
    assert ask(shell, f"{address} --epsilon 0.01 --dummy").dummy
    run(shell, f"import discreet; there = discreet.connect({address!r})")
    assert ask(shell, "there --epsilon 0.01").rows == answer.rows
    assert ask(shell, "there --epsilon 0.01 --dummy").dummy
    for what in ("budget", "ledger", "tables"):
        view = run(shell, f"%discreet there {what}")
        assert isinstance(view, View)
        assert "epidemiology" not in view.text
    assert "finance" in run(shell, "%discreet there budget").text
    assert "<table" in run(shell, "%discreet there")._repr_html_()
    run(shell, "there.close()")


# loading


def test_the_extension_is_found_without_importing_ipython() -> None:
    code = "import sys, discreet; print(callable(discreet.load_ipython_extension), 'IPython' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["True", "False"]
    assert "load_ipython_extension" not in dir(discreet)


def test_unloading_takes_everything_back(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    ask(shell, "hospital.toml -e 0.1")
    curator = next(iter(_LOADED[shell].curators.values()))[1]
    run(shell, "%unload_ext discreet")
    with pytest.raises(LedgerError, match="closed"):
        curator.budget()
    assert shell.find_magic("discreet", "cell") is None
    assert shell.find_magic("discreet", "line") is None
    shell.run_cell("import discreet; discreet.open('nothing.toml')")
    assert "Traceback" in capsys.readouterr().out


def test_loading_twice_leaves_one(shell: Shell) -> None:
    before = _LOADED[shell]
    ask(shell, "hospital.toml --dummy -e 0.1")
    discreet.load_ipython_extension(shell)
    assert not before.curators
    assert _LOADED[shell] is not before
    assert isinstance(ask(shell, "hospital.toml --dummy -e 0.1"), Answer)


@pytest.mark.long
def test_curators_are_closed_when_the_interpreter_ends(policy: Path) -> None:
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from discreet.curator.curator import Curator
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
shell.run_cell("%load_ext discreet")
close = Curator.close
Curator.close = lambda self: (close(self), print("closed", self.policy.name))
shell.run_cell("%%discreet {policy.name} -e 0.1\\n{COUNT}").raise_error()
print("end")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=policy.parent)
    assert done.stdout.splitlines()[-2:] == ["end", "closed hospital"]


# asking


def test_a_cell_is_a_question(shell: Shell) -> None:
    answer = ask(shell, "hospital.toml --epsilon 0.3 --as patients", f"{COUNT};\n")
    assert isinstance(answer, Answer)
    assert answer.columns == ["n"]
    assert shell.user_ns["_discreet"] is answer
    assert shell.user_ns["patients"] is answer
    assert charges() == 1
    assert ask(shell, "hospital.toml --epsilon 0.3").cached
    assert not ask(shell, "hospital.toml --epsilon 0.3 --fresh").cached
    assert charges() == 2


def test_a_preview_is_free(shell: Shell) -> None:
    found = ask(shell, "hospital.toml --epsilon 0.5 --preview")
    assert isinstance(found, Preview)
    assert found.loss.concentrated() == Concentrated(rho_of(0.5))
    assert charges() == 0


def test_every_option_reaches_the_door(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[dict[str, Any]] = []
    monkeypatch.setattr(Curator, "query", lambda _, sql, **settings: heard.append({"sql": sql, **settings}))
    costs = "--rho 0.02 --delta 1e-8 --error n=10 --error cost=500 --confidence 0.9 -e 2"
    ask(shell, f"hospital.toml {costs} --analyst fraud --dialect bigquery -p ward=ICU --param least=18 --fresh", "Q")
    assert heard == [
        {
            "sql": "Q\n",
            "epsilon": 2.0,
            "rho": 0.02,
            "delta": 1e-8,
            "error": {"n": 10.0, "cost": 500.0},
            "confidence": 0.9,
            "params": {"ward": "ICU", "least": 18},
            "analyst": "fraud",
            "dialect": "bigquery",
            "blocks": None,
            "fresh": True,
            "group_size": None,
            "confirm": False,
        }
    ]


def test_one_wanted_error_needs_no_column(shell: Shell) -> None:
    assert ask(shell, "hospital.toml --error 10 --preview").error["n"] <= 10


@pytest.mark.parametrize("word", ["mine", "{mine}"])
def test_a_variable_with_a_curator_is_asked(word: str, shell: Shell) -> None:
    run(shell, "import discreet; mine = discreet.open('hospital.toml')")
    ask(shell, f"{word} -e 0.1")
    assert not _LOADED[shell].curators
    assert len(shell.user_ns["mine"].entries()) == 1
    run(shell, "mine.close()")


def test_expressions_are_filled_in_and_stay_one_word(shell: Shell) -> None:
    run(shell, "cost, place = 0.25, 'a b'")
    found = ask(shell, "hospital.toml -e {cost*2} -p zip={place} --preview", f"{COUNT} WHERE zip = $zip")
    assert found.loss.concentrated() == Concentrated(rho_of(0.5))


def test_cells_after_the_first_need_not_name_the_policy(shell: Shell) -> None:
    with pytest.raises(click.UsageError, match="name the policy"):
        ask(shell, "--epsilon 0.1")
    first = ask(shell, "hospital.toml --epsilon 0.1")
    assert ask(shell, "--epsilon 0.1").rows == first.rows
    assert charges() == 1


def test_dummy_data_leaves_the_ledger_alone(shell: Shell, policy: Path) -> None:
    run(shell, "import discreet")
    assert "dummy data" in str(ask(shell, "hospital.toml --dummy -e 0.5"))
    assert not (policy.parent / "hospital.discreet").exists()
    run(shell, "mine = discreet.open('hospital.toml')")
    ask(shell, "mine --dummy -e 0.5")
    assert len(_LOADED[shell].curators) == 1
    assert charges() == 0
    run(shell, "mine.close()")


def test_a_curator_is_used_again_until_its_policy_changes(shell: Shell, policy: Path) -> None:
    def kept() -> Asks:
        ((_, curator),) = _LOADED[shell].curators.values()
        return curator

    ask(shell, "hospital.toml -e 0.1")
    first = kept()
    ask(shell, f"'{policy}' -e 0.1")
    assert kept() is first
    policy.write_text(POLICY.replace('"F", "M"', '"F", "M", "X"'), encoding="utf-8")
    assert len(ask(shell, "hospital.toml -e 0.1", "SELECT sex, COUNT(*) FROM patients GROUP BY sex").rows) == 3
    assert kept() is not first
    with pytest.raises(LedgerError):
        first.budget()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "name the policy"),
        ("hospital.toml -e x", "is no number"),
        ("hospital.toml -e 0.1 --as 1st", "no name of a variable"),
        ("hospital.toml -e 0.1 --as class", "no name of a variable"),
        ("hospital.toml -e 0.1 more", "unexpected extra argument"),
        ("hospital.toml -e 0.1 'open", "close every quote"),
        ("hospital.toml -p a=1 -p a=2 -e 0.1", "given twice"),
        ("hospital.toml --error 5 --error n=5", "name the column of each"),
        ("hospital.toml --error n=5 --error n=6", "give it once"),
        ("hospital.toml --error n=", "is no number"),
    ],
)
def test_wrong_use_is_told_and_costs_nothing(
    line: str, says: str, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(click.UsageError):
        ask(shell, line)
    shown = capsys.readouterr().out
    assert says in " ".join(shown.split())
    assert "see `%%discreet --help`" in shown or "given twice" in shown or "--error" in shown
    assert "Traceback" not in shown
    assert "_discreet" not in shell.user_ns
    assert charges() == 0


@pytest.mark.parametrize("cell", ["%discreet --help", "%%discreet --help\nSELECT 1"])
def test_help_shows_usage(cell: str, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shell, cell) is None
    shown = capsys.readouterr().out
    assert "Usage: %%discreet [OPTIONS] [POLICY|URL]" in shown
    assert "--as NAME" in shown


# refusals


@pytest.mark.parametrize(
    ("cell", "kind", "lines"),
    [
        ("%%discreet hospital.toml -e 0.1\nSELECT age FROM patients", discreet.Refused, ["refused (not-an-aggregate)"]),
        (f"%%discreet hospital.toml -e 9\n{COUNT}", discreet.BudgetExhausted, ["refused (budget-exhausted)"]),
        ("%%discreet nothing.toml -e 9\nSELECT 1", PolicyError, ["error (policy)", "nothing.toml: cannot be read"]),
        ("%discreet hospital.toml budget --analyst nobody", discreet.Refused, ["refused (unknown-analyst)"]),
        ("import discreet; discreet.open('nothing.toml')", PolicyError, ["error (policy)", "nothing.toml: cannot be"]),
        ("import discreet; discreet.open('hospital.toml').query('SELECT')", discreet.Refused, ["refused (syntax)"]),
    ],
)
def test_refusals_are_short_and_cells_fail(
    cell: str, kind: type[Exception], lines: list[str], shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(kind):
        run(shell, cell)
    shown = capsys.readouterr().out.strip().splitlines()
    assert [told[: len(line)] for told, line in zip(shown, lines, strict=False)] == lines
    assert shown[-2].startswith("→ ")
    assert shown[-1] == "spent: 0"
    assert len(shown) == 4


def test_what_failed_after_the_charge_does_not_claim_that_nothing_was_spent(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(discreet.QueryFailed):
        run(shell, "import discreet; raise discreet.QueryFailed")
    shown = capsys.readouterr().out
    assert "stays spent" in shown
    assert "spent: 0" not in shown
    assert "Traceback" not in shown


def test_exceptions_can_be_caught_as_they_are(shell: Shell) -> None:
    run(shell, "import discreet\ntry:\n    get_ipython().run_cell_magic('discreet', 'hospital.toml', 'SELECT')\n"
        "except discreet.Refused as refused:\n    code = refused.code")  # fmt: skip
    assert shell.user_ns["code"] == "syntax"


def test_the_traceback_is_there_for_those_who_want_it(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_TRACEBACK", "1")
    with pytest.raises(discreet.Refused):
        ask(shell, "hospital.toml -e 0.1", "SELECT")
    assert "Traceback (most recent call last)" in capsys.readouterr().out


def test_what_is_not_ours_keeps_its_traceback(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(shell, "1 / 0")
    assert "Traceback" in capsys.readouterr().out


def test_a_fix_is_the_next_cell_if_it_would_be_answered(shell: Shell) -> None:
    with pytest.raises(discreet.Refused):
        ask(shell, "hospital.toml --epsilon 0.1", "SELECT SUMM(age) AS n FROM patients")
    assert shell.rl_next_input == "%%discreet hospital.toml --epsilon 0.1\nSELECT SUM(age) AS n FROM patients\n"
    shell.rl_next_input = None
    with pytest.raises(discreet.Refused):
        ask(shell, "hospital.toml --epsilon 0.1", "SELECT SUMM(agee) AS n FROM patients")
    assert shell.rl_next_input is None
    assert charges() == 0


def test_what_refusals_quote_cannot_steer_a_terminal(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PolicyError):
        ask(shell, "'no\x1b[2Jthing.toml' -e 1")
    assert "\x1b" not in capsys.readouterr().out


# looking


class Reader(HTMLParser):
    """Tags, which must be closed in order, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data} "


TAGS = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
ATTRIBUTES = {"style", "role", "aria-label", "open"}


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def sound(html: str) -> Reader:
    """HTML that does and fetches nothing, and can be read on white and on black."""
    read = Reader(html)
    assert {tag for tag, _ in read.tags} <= TAGS
    assert {name for _, attributes in read.tags for name in attributes} <= ATTRIBUTES
    styles = " ".join(str(attributes.get("style")) for _, attributes in read.tags)
    assert "url" not in styles
    for colour in re.findall(r"#\w+", styles):
        assert min(contrast(colour, paper) for paper in ("#ffffff", "#111111")) >= 3, colour
    assert set(re.findall(r"(?<!-)color:([a-z]+)", styles)) <= {"inherit"}
    assert set(re.findall(r"background:([a-z]+)", styles)) <= {"none", "rgba"}
    return read


def test_views_show_budget_tables_and_ledger(shell: Shell) -> None:
    nothing = run(shell, "%discreet hospital.toml ledger")
    assert str(nothing) == "nothing was charged yet"
    assert "nothing was charged yet" in sound(nothing._repr_html_()).text
    ask(shell, "hospital.toml --rho 0.015 --analyst fraud")
    expected = {
        "budget": ["everybody", "epidemiology", "fraud", "of the share used", "ρ 0.015 of", "max ε for the next query"],
        "tables": ["patients", "at most 3 rows", "0 … 5000 in steps of 0.01", "keys are private", "public"],
        "ledger": ["fraud", "ρ 0.015", COUNT, "yes"],
    }
    for what, shown in expected.items():
        view = run(shell, f"%discreet hospital.toml {what}")
        assert isinstance(view, View)
        text = sound(view._repr_html_()).text
        for part in shown:
            assert part in repr(view), what
            assert part in text, what
    alone = run(shell, "%discreet hospital.toml budget --analyst fraud")
    assert "epidemiology" not in f"{alone!r}{alone._repr_html_()}"
    assert isinstance(run(shell, "%discreet hospital.toml"), Curator)


def test_long_ledgers_show_their_end(shell: Shell) -> None:
    run(shell, "import discreet; mine = discreet.open('hospital.toml')")
    for place in range(MAX_ENTRIES + 2):
        shell.user_ns["mine"].query(f"{COUNT} WHERE age > {place}", rho=0.001)
    html = run(shell, "%discreet mine ledger")._repr_html_()
    assert "2 earlier ones" in html
    assert html.count("<tr>") == MAX_ENTRIES + 1
    assert f"age &gt; {MAX_ENTRIES + 1}" in html
    run(shell, "mine.close()")


def test_everything_in_a_curator_is_escaped(tmp_path: Path) -> None:
    quoted = EVIL.replace('"', '\\"')
    changes = {
        'name = "hospital"': f'name = "{quoted}"',
        'name = "patient"': f'name = "{quoted}"',
        'sex = { values = ["F", "M"] }': f'sex = {{ values = ["F", "{quoted}"] }}',
        "vip = {": f'"{quoted}" = {{',
        "[analysts.fraud]": f'[analysts."{quoted}"]',
    }
    sources = {
        "patients.parquet": "SELECT 1 AS patient_id, 20 AS age, 'F' AS sex, '1' AS zip, DATE '1990-01-01' AS born"
    }
    with discreet.open(hospital(tmp_path, changes, sources).path) as curator:
        read = sound(curator._repr_html_())
    text = re.sub(r"\s+", "", read.text)
    assert text.count(re.sub(r"\s+", "", EVIL)) == 5


def test_words_are_neither_markup_nor_mathematics() -> None:
    shown = words("$a$ <b> \\(c\\)", "strong")
    assert "$a" not in shown
    assert "\\(" not in shown
    assert "<b>" not in shown
    assert sound(shown).text.replace(" ", "") == "$a$<b>\\(c\\)"


def test_a_closed_curator_still_shows_what_is_public(policy: Path) -> None:
    curator = discreet.open(policy)
    curator.close()
    text = sound(curator._repr_html_()).text
    assert "this ledger is closed" in text
    assert "keys are private" in text


def test_of_many_tables_only_the_names_are_seen_at_first(tmp_path: Path) -> None:
    few = discreet.open(hospital(tmp_path).path)
    assert "<details open>" in few._repr_html_()
    few.close()
    more = '[tables.again]\nsource = "patients.parquet"\nunit = "patient_id"\n[analysts.fraud]'
    many = discreet.open(hospital(tmp_path, {"[analysts.fraud]": more}).path)
    assert "<details open>" not in many._repr_html_()
    many.close()


@pytest.mark.parametrize(
    ("balance", "width"),
    [
        (Balance(Amount(3.0), Amount(0.0), Amount(3.0)), "width:0%"),
        (Balance(Amount(3.0), Amount(0.75), Amount(2.25)), "width:25%"),
        (Balance(Amount(1.0), Amount(2.0), Amount(0.0)), "width:100%"),
        (Balance(Amount(3.0, 0.2, 1e-6), Amount(1.0, 0.05, 0.0), Amount(0.5, 0.15, 5e-7)), "width:25%"),
        (Balance(Amount(1e-9, 0.0, 1e-6), Amount(0.0, 0.0, 0.0), Amount(0.0, 0.0, 0.0)), "width:100%"),
    ],
)
def test_the_gauge_shows_what_is_spent(balance: Balance, width: str) -> None:
    html = balance._repr_html_()
    assert width in html
    assert ("with δ 1e-06 that guarantees" in sound(html).text) == (balance.total.delta is not None)


def test_answers_and_previews_are_sound_and_print_nothing_beside(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ask(shell, "hospital.toml -e 0.5", "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex")
    assert "cost" in sound(answer._repr_html_()).text
    assert "± " in sound(ask(shell, "hospital.toml -e 0.5 --preview")._repr_html_()).text
    assert capsys.readouterr().err == ""


# the example


def shape(cell: Any) -> list[tuple[str, list[str], list[str]]]:
    """What a cell shows, without its numbers, receipts and pictures: noise changes those and nothing else."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        texts = [data.get("text/plain", ""), Reader(data.get("text/html", "")).text, *output.get("traceback", [])]
        text = re.sub(r"\b\d+:[0-9a-f]{64}\b|\d\d\d\d-\d\d-\d\dT[\d:]+", "#", " ".join(texts))
        told = re.sub(r"[─█░]+", "─", re.sub(r"-?\d[\d.,]*(e-\d+)?", "#", text)).split()
        found.append((output["output_type"], sorted(data), told))
    return found


def fails(cell: Any) -> bool:
    return any(output["output_type"] == "error" for output in cell.get("outputs", []))


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_show_what_they_showed(path: Path) -> None:
    for old, new in zip(read(path).cells, executed(path).cells, strict=True):
        assert old.source == new.source
        assert fails(new) == (RAISES in new.metadata.get("tags", []))
        assert shape(new) == shape(old)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_tell_nothing_about_a_machine(path: Path) -> None:
    notebook = read(path)
    assert any(cell.get("outputs") for cell in notebook.cells)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"[\"' (]/(tmp|home|root|usr|work|var|Users)/|0x[0-9a-f]{6}", text)
    assert set(re.findall(r"https?://[^/\"\\]+", text)) <= {"http://www.w3.org"}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            sound(output.get("data", {}).get("text/html", ""))


def test_there_is_an_example() -> None:
    assert [path.name for path in EXAMPLES] == ["hospital.ipynb"]


@pytest.mark.long
def test_a_refusal_fails_a_notebook_that_is_run(policy: Path, tmp_path: Path) -> None:
    cells = ["%load_ext discreet", f"%%discreet {shlex.quote(str(policy))} -e 0.1\nSELECT age FROM patients"]
    path = tmp_path / "failing.ipynb"
    write(of_cells(*cells), path)
    with pytest.raises(CellExecutionError, match="refused \\(not-an-aggregate\\)") as raised:
        executed(path)
    assert raised.value.ename == "Refused"
    assert "Traceback" not in str(raised.value)
