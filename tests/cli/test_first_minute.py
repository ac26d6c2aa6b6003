"""What a stranger types in the first minutes: `discreet init` with a file of one's own, then what it prints."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli import discreet as command
from discreet.cli import init as module
from discreet.owner.draft import draft
from discreet.owner.kinds import RECORDS, Seen, seen
from discreet.policy import Kind, read
from tests.cli.runs import run

B, D, I, N, S, T = Kind.BOOLEAN, Kind.DATE, Kind.INTEGER, Kind.NUMBER, Kind.TEXT, Kind.TIMESTAMP  # noqa: E741
ORDERS = "order_id,customer_id,ordered_at,city,quantity,amount,paid\n" + "".join(
    f"{i},{i % 40},2026-01-{1 + i % 28:02d} 10:00:00,{('Rome', 'Oslo')[i % 2]},{i % 5},{i}.50,{'tf'[i % 2]}\n".replace(
        ",t\n", ",true\n"
    ).replace(",f\n", ",false\n")
    for i in range(200)
)
SURVEY = "Timestamp,email,How old are you?,Which team?,Anything else?\r\n" + "".join(
    f'2026/11/0{1 + i % 9} 12:00:00,p{i}@example.org,{20 + i % 50},dev,"It was ""fine"",\nthanks"\r\n'
    for i in range(60)
)
SENSORS = "ts,device,temp_c\n" + "".join(f"2026-10-01T10:{i % 60:02d}:00Z,dev-{i % 9},{i % 30}.5\n" for i in range(120))
GERMAN = "\ufeffKundennummer;Straße;PLZ;Umsatz (€)\n" + "".join(
    f"{1000 + i};Hauptstraße {i};0{i:04d};1.{100 + i},5\n" for i in range(80)
)
NO_ID = "age,sex,income\n" + "".join(f"{20 + i % 60},{'MF'[i % 2]},{1000 * i}\n" for i in range(100))
FILES = {
    "orders.csv": (ORDERS, "customer_id", [T, S, I, N, B]),
    "survey 2026.csv": (SURVEY, "email", [T, I, S, S]),
    "sensors.csv": (SENSORS, "device", [T, N]),
    "Umsätze.csv": (GERMAN, "Kundennummer", [S, S, N]),
    "no-id.csv": (NO_ID, "row", [I, S, I]),
}


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8", newline="")
    return name


def commands(shown: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in shown.splitlines() if line.startswith("  discreet ")]


@pytest.mark.parametrize("name", FILES)
def test_what_init_prints_can_be_pasted_until_there_is_an_answer(name: str) -> None:
    text, unit, kinds = FILES[name]
    (decide,) = commands(run("init", written(name, text)).stderr)
    assert decide[decide.index("--unit") + 1] == unit
    following = commands(run(*decide).stderr)
    assert [words[0] for words in following] == ["check", "preview", "query", "serve"]
    policy = read(following[0][1])
    (table,) = policy.tables.values()
    assert [column.kind for column in table.columns.values()] == kinds
    assert "0 errors" in run(*following[0]).output
    assert "error (95 %)" in run(*following[1]).output
    assert "±" in run(*following[2]).output
    assert [str(word) for word in following[3]][-1] == "--demo"


def test_what_was_decided_is_in_what_is_proposed_next_and_that_can_be_pasted() -> None:
    """The draft holds decisions then, so that it may be somebody's work: it is not replaced, and that is said."""
    written("orders.csv", ORDERS)
    said = run("init", "orders.csv", "-o", "o.toml", "--epsilon", "2", "--max-rows", "7").stderr
    assert "or remove o.toml and decide all at once" in said
    (again,) = commands(said)
    assert "exists already" in run(*again, code=2).stderr
    Path("o.toml").unlink()
    run(*again)
    policy = read(Path("o.toml"))
    assert (float(policy.budget.epsilon), policy.tables["orders"].max_rows) == (2, 7)


def test_an_absurd_budget_is_refused_before_a_draft_is_written() -> None:
    written("orders.csv", ORDERS)
    said = run("init", "orders.csv", "-o", "o.toml", "--epsilon", "1e99", code=2).stderr
    assert "must be at least 1e-09 and at most 1000000000.0, not 1e+99" in said
    assert not Path("o.toml").exists()


def test_the_unit_that_is_proposed_names_people_whatever_file_comes_first() -> None:
    written("beds.csv", "ward_id,beds\n1,10\n")
    written("wards.csv", "ward_id,name\n1,x\n")
    written("visits.csv", "visit_id,patient_id,ward_id\n1,7,1\n")
    (decide,) = commands(run("init", "beds.csv", "wards.csv", "visits.csv").stderr)
    assert decide[decide.index("--unit") + 1] == "patient_id"


@pytest.mark.parametrize("name", ["orders.csv", "orders.parquet"])
def test_rows_in_the_place_of_a_policy_are_led_to_one(name: str) -> None:
    Path(name).write_bytes(ORDERS.encode() if name.endswith("csv") else b"PAR1\xff\xfe")
    said = run("query", name, "SELECT COUNT(*) FROM orders", "--epsilon", "1", code=2).stderr
    assert f"discreet init {name}" in said
    assert "TOML" not in said


def test_commands_that_are_mistyped_are_named() -> None:
    assert "Did you mean 'query'?" in run("qurey", "o.toml", code=2).stderr
    assert "Did you mean" not in run("x", code=2).stderr


def test_numbers_with_a_comma_are_numbers() -> None:
    written("Umsätze.csv", GERMAN)
    run("init", "Umsätze.csv", "-o", "u.toml", "--unit", "Kundennummer", "--epsilon", "1000000", "--look")
    shown = run("query", "u.toml", 'SELECT SUM(CLAMP("Umsatz (€)", 0, 2000)) AS n FROM "Umsätze"', "--epsilon", "10000")
    assert "91," in shown.output  # 80 × (1100.5 + … + 1179.5) / 80


def test_a_draft_that_was_changed_is_never_replaced() -> None:
    written("orders.csv", ORDERS)
    run("init", "orders.csv", "-o", "orders.toml")
    Path("orders.toml").write_text(Path("orders.toml").read_text("utf-8") + "# mine\n", encoding="utf-8")
    refused = run("init", "orders.csv", "-o", "orders.toml", "--unit", "customer_id", code=2)
    assert "exists already" in refused.stderr
    assert Path("orders.toml").read_text("utf-8").endswith("# mine\n")


def test_a_decided_policy_is_no_draft_and_stays() -> None:
    written("orders.csv", ORDERS)
    run("init", "orders.csv", "-o", "orders.toml", "--unit", "customer_id", "--epsilon", "1")
    before = Path("orders.toml").read_bytes()
    run("init", "orders.csv", "-o", "orders.toml", "--unit", "order_id", "--epsilon", "9", code=2)
    assert Path("orders.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["a b.csv", "a'b.csv", '$(touch x)"`.csv', "-o.csv", "a;touch x.csv", "ünï.csv"])
def test_names_of_files_never_become_commands(name: str) -> None:
    written(name, ORDERS)
    shown = run("init", "-o", "p.toml", "--unit", "customer_id", "--epsilon", "1", "--", name).stderr
    for words in commands(shown):
        assert "touch" not in words[0]
        assert words[1] == "p.toml"
    assert not Path("x").exists()
    (decide,) = commands(run("init", "--", name).stderr)
    assert name in decide
    run(*decide)


def test_on_a_terminal_the_draft_is_a_file_of_the_sources_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert module._target(("data/my orders.2026.csv",), None, as_json=False) == Path("my-orders.toml")
    assert module._target(("***",), None, as_json=False) == Path("policy.toml")
    assert module._target(("a.csv",), Path("-"), as_json=False) is None
    assert module._target(("a.csv",), None, as_json=True) is None
    assert module._target(("a.csv",), Path("b.toml"), as_json=True) == Path("b.toml")


def test_without_the_server_its_package_is_named_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    written("orders.csv", ORDERS)
    shown = run("init", "orders.csv", "-o", "o.toml", "--unit", "row", "--epsilon", "1").stderr
    assert shown.splitlines()[-2:] == ["  pip install 'discreet[server]'", "  discreet serve o.toml --demo"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--delta", "1e-6"], "--delta goes with --epsilon"),
        (["--epsilon", "0"], "must be at least 1e-09"),
        (["--epsilon", "nan"], "epsilon"),
        (["--epsilon", "many"], "'many' is no number"),
        (["--max-rows", "0"], "must be at least 1, not 0"),
        (["--unit", "nobody"], "no source has a column 'nobody'"),
        (["--unit", ""], "next, decide"),
    ],
)
def test_options_that_make_no_sense_are_told(options: list[str], told: str) -> None:
    result = CliRunner().invoke(command, ["init", written("orders.csv", ORDERS), *options])
    assert told in result.output
    assert "Traceback" not in result.output


def test_pure_epsilon_is_had_with_a_delta_of_nothing() -> None:
    written("orders.csv", ORDERS)
    run("init", "orders.csv", "-o", "o.toml", "--unit", "customer_id", "--epsilon", "1", "--delta", "0")
    assert read("o.toml").budget.delta is None
    run("init", "orders.csv", "-o", "p.toml", "--unit", "customer_id", "--epsilon", "1")
    assert read("p.toml").budget.delta is not None


# looking


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", ""], I),
        (["1", "2.5"], N),
        (["1e3", ".5", "-0.0"], N),
        (["01234", "99999"], S),
        (["true", "FALSE"], B),
        (["2026-01-31"], D),
        (["2026/01/31"], D),
        (["31.01.2026"], S),
        (["2026-01-31", "2026-01-31T10:00:00Z"], T),
        (["NaN", "1"], S),
        (["", " "], None),
        (["1" * 30], S),
    ],
)
def test_kinds_are_those_that_nearly_all_values_are(values: list[str], kind: Kind | None) -> None:
    written("a.csv", "x,y\n" + "".join(f'"{value}",1\n' for value in values))
    assert seen("a.csv", ",", 2).kinds == (kind, I)


def test_one_record_among_many_changes_nothing() -> None:
    rows = "".join(f"{number},text\n" for number in range(100))
    written("a.csv", f"x,y\n{rows}")
    written("b.csv", f"x,y\nn/a,text\n{rows}")
    assert seen("a.csv", ",", 2) == seen("b.csv", ",", 2) == Seen((I, S))


def test_only_the_first_records_are_looked_at() -> None:
    written("a.csv", "x,y\n" + "1,1\n" * RECORDS + "z,z\n" * 5 * RECORDS)
    assert seen("a.csv", ",", 2).kinds == (I, I)


@given(content=st.binary(max_size=200))
def test_any_bytes_give_kinds(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    assert len(seen(str(path), ";", 3).kinds) == 3


def test_what_cannot_be_read_gives_nothing() -> None:
    Path("broken.csv.gz").write_bytes(b"no gzip at all")
    assert seen("broken.csv.gz", ",", 2) == seen(os.devnull, ",", 2) == seen("absent.csv", ",", 2) == Seen((None, None))


def test_looking_puts_no_value_into_the_draft() -> None:
    written("secret.csv", "id,diagnosis,weight\n" + "".join(f"{i},canary{i},{41.25 + i}\n" for i in range(20)))
    text = draft(["secret.csv"], "x", look=True)
    assert "canary" not in text
    assert "41" not in text
    assert 'weight = { type = "number" }' in text
    assert "what the first values of a column seem to be" in text


# files that strangers have


def test_a_header_that_was_none_is_pointed_at() -> None:
    written("bare.csv", "".join(f"{i},{i % 7}.5,2026-01-0{1 + i % 9},a\n" for i in range(40)))
    shown = run("init", "bare.csv", "-o", "bare.toml", "--unit", "row", "--epsilon", "1", "--look").stderr
    assert 'look: names in the first line of "bare.csv" are numbers: if it has no header, write one above it' in shown
    assert "# look: names in the first line" in Path("bare.toml").read_text("utf-8")
    assert read("bare.toml").tables["bare"].columns, "it is a policy all the same"


def test_a_name_that_stands_twice_is_told_with_what_is_read() -> None:
    written("twice.csv", "id,x,x,X\n" + "".join(f"{i},1,9,5\n" for i in range(40)))
    for options in ((), ("--unit", "row", "--epsilon", "1", "--look", "-o", "twice.toml")):
        shown = run("init", "twice.csv", *options).stderr
        assert 'look: x stands 2 times in the header of "twice.csv": only the first one is read' in shown
    assert "look: " not in run("init", written("plain.csv", "id,2024,town\n1,2,x\n")).stderr


def test_a_name_in_a_header_becomes_neither_line_nor_command() -> None:
    hostile = ",".join(['"x\nname = ""evil""\x1b[31m"'] * 2)
    shown = run("init", written("odd.csv", f"id,{hostile}\n1,2,3\n"))
    assert "\x1b" not in shown.stderr + shown.stdout
    assert not [line for line in shown.stdout.splitlines() if line.startswith("name = ") and "evil" in line]


@pytest.mark.parametrize("missing", ["NA", "n/a", "NULL", "None", "-", "?"])
def test_how_programs_write_that_there_is_no_value_does_not_make_numbers_text(missing: str) -> None:
    path = written(
        "gaps.csv", "a,b,c\n" + "".join(f"{missing if i % 2 else i},{missing},{missing}-{i}\n" for i in range(60))
    )
    assert seen(path, ",", 3) == Seen((I, None, S))


def test_a_file_in_another_encoding_is_told_how_to_change_that() -> None:
    Path("latin.csv").write_bytes(b"id,town\n" + "".join(f"{i},Zürich\n" for i in range(30)).encode("latin-1"))
    run("init", "latin.csv", "-o", "latin.toml", "--unit", "id", "--max-rows", "1", "--epsilon", "1", "--look")
    assert "iconv -f WINDOWS-1252 -t UTF-8" in run("check", "latin.toml", code=3).stdout


def test_the_demo_ends_with_commands_that_a_stranger_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.cli import demo

    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    shown = run("demo", "--fast").stdout
    assert "make " not in shown
    assert shown.index("pip install 'discreet[server]'") < shown.index("hospital.toml --demo")
