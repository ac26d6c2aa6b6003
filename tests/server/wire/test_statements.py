"""Texts cut into statements, and settings: what a reader needs is there, and all else is refused as by a server that
is read-only.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.server.wire import statements as s
from discreet.server.wire.problems import Failed
from discreet.server.wire.questions import Probe, plain, probe_of
from discreet.server.wire.settings import KNOWN, Settings, options_of
from discreet.server.wire.transactions import Transactions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [s.Empty()]),
        (" ; -- nothing\n;/* x /* y */ z */", [s.Empty()]),
        ("select ';', $$;$$, $a$ $$; $a$, E'\\';', \"a;b\"", None),
        ("select 1; select 2", [s.Select("select 1", 0), s.Select("select 2", 10)]),
        ("BEGIN", [s.Begin()]),
        ("start transaction read only", [s.Begin("START TRANSACTION")]),
        ("COMMIT AND CHAIN", [s.End(True, True)]),
        ("rollback and no chain", [s.End(False)]),
        ("ROLLBACK TO SAVEPOINT a", [s.Savepoint("ROLLBACK", "a")]),
        ("SET discreet.epsilon = 0.1", [s.Set("discreet.epsilon", "0.1")]),
        ("SET discreet.errors TO 'columns'", [s.Set("discreet.errors", "columns")]),
        ("set local Discreet.Error=10", [s.Set("discreet.error", "10", True)]),
        ('SET search_path = a, "B"', [s.Set("search_path", "a, B")]),
        ("SET TIME ZONE 'UTC'", [s.Set("timezone", "UTC")]),
        ("SET x.y TO DEFAULT", [s.Set("x.y", None)]),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", [s.Ignored("SET")]),
        ("RESET discreet.epsilon", [s.Set("discreet.epsilon", None)]),
        ("SHOW transaction isolation level", [s.Show("transaction isolation level")]),
        ('DECLARE "C" NO SCROLL CURSOR WITH HOLD FOR select 1', [s.Declare("C", True, s.Select("select 1", 43))]),
        ('FETCH FORWARD 2 FROM "C"', [s.Fetch("C", 2)]),
        ("fetch all from c", [s.Fetch("c", s.ALL)]),
        ("fetch c", [s.Fetch("c", 1)]),
        ("MOVE 3 IN c", [s.Fetch("c", 3, True)]),
        ("CLOSE ALL", [s.CloseCursor(None)]),
        ("DEALLOCATE PREPARE a", [s.Deallocate("a")]),
        ("DISCARD ALL", [s.Reset(True, "DISCARD ALL")]),
        ("select pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;", None),
        ("EXPLAIN PRIVACY SELECT 1", [s.Select("EXPLAIN PRIVACY SELECT 1", 0)]),
    ],
)
def test_what_statements_are(text: str, found: list[s.Statement] | None) -> None:
    read = s.statements(text)
    assert read == found if found is not None else len(read) in (1, 4)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        *(
            (f"{word} x", "25006")
            for word in ("INSERT", "update", "DELETE", "CREATE", "drop", "ALTER", "TRUNCATE", "LOCK")
        ),
        *(
            (f"{word} x", "0A000")
            for word in ("COPY", "call", "DO", "EXECUTE", "PREPARE", "LISTEN", "NOTIFY", "EXPLAIN")
        ),
        ("select 'x", "42601"),
        ('select "x', "42601"),
        ("/* /* */", "42601"),
        ("$a$ $b$", "42601"),
        ("SET", "42601"),
        ("SET x", "42601"),
        ("SET ROLE other", "42501"),
        ("SHOW", "42601"),
        ("DECLARE c SCROLL CURSOR FOR select 1", "0A000"),
        ("DECLARE c", "42601"),
        ("FETCH BACKWARD 1 FROM c", "42601"),
        ("FETCH PRIOR FROM c", "55000"),
        ("COMMIT PREPARED 'x'", "0A000"),
        ("select 1;" * 101, "54000"),
        ("x" * 100_001, "54000"),
        ("(" * 20_001, "54001"),
    ],
    ids=lambda each: each[:30],
)
def test_what_is_refused(text: str, state: str) -> None:
    with pytest.raises(Failed) as raised:
        s.statements(text)
    assert raised.value.state == state


@settings(max_examples=80)
@given(st.text(alphabet="selct1;'\"$ae/*-\n\\()E. ", max_size=40))
def test_any_text_is_statements_or_refused(text: str) -> None:
    try:
        found = s.statements(text)
    except Failed:
        return
    for each in found:
        if isinstance(each, s.Select):
            assert text[each.offset :].startswith(each.text)


# settings


def test_there_is_no_cost_that_nobody_set() -> None:
    assert Settings().ours() == {"dialect": "postgres", "dummy": False}
    assert not {"epsilon", "rho", "error"} & Settings().ours().keys()


def test_of_several_costs_the_last_counts() -> None:
    chosen = Settings().with_("discreet.epsilon", "0.1").with_("discreet.delta", "1e-7").with_("DISCREET.RHO", "0.5")
    assert chosen.ours() == {"rho": 0.5, "delta": 1e-7, "dialect": "postgres", "dummy": False}
    assert chosen.with_("discreet.rho", None).ours().keys() == {"delta", "dialect", "dummy"}
    assert chosen.with_("discreet.error", "10").ours()["error"] == 10


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("discreet.epsilon", "much", "22023"),
        ("discreet.epsilon", "inf", "22023"),
        ("discreet.errors", "maybe", "22023"),
        ("discreet.dialect", "cobol", "22023"),
        ("discreet.budget", "1", "42704"),
        ("nonsense", "1", "42704"),
        ("server_version", "99", "55P02"),
        ("client_encoding", "LATIN1", "22023"),
        ("DateStyle", "German", "22023"),
        ("standard_conforming_strings", "off", "22023"),
        ("statement_timeout", "soon", "22023"),
        ("my.own", "x" * 1001, "22023"),
    ],
)
def test_settings_that_are_refused(name: str, value: str, state: str) -> None:
    with pytest.raises(Failed) as raised:
        Settings().with_(name, value)
    assert raised.value.state == state


def test_settings_of_other_programs_are_kept_but_not_many() -> None:
    chosen = Settings()
    for number in range(100):
        chosen = chosen.with_(f"my.own{number}", "x")
    assert chosen.value("my.own7") == "x"
    with pytest.raises(Failed, match="at most"):
        chosen.with_("my.other", "x")
    assert Settings().with_("statement_timeout", "5s").seconds == 5
    assert Settings().seconds is None
    assert all(Settings().value(name) == known.value for name, known in KNOWN.items())


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("-c discreet.epsilon=0.1 -cgeqo=off", [("discreet.epsilon", "0.1"), ("geqo", "off")]),
        ("--search-path=a", [("search_path", "a")]),
        ("-c my.name=a\\ b", [("my.name", "a b")]),
        ("", []),
    ],
)
def test_options_of_connections(text: str, pairs: list[tuple[str, str]]) -> None:
    assert options_of(text) == pairs


@pytest.mark.parametrize("text", ["-c", "-c x", "-d 5", "x=1", "-c 'a"])
def test_options_that_are_none(text: str) -> None:
    with pytest.raises(Failed):
        options_of(text)


def test_what_is_set_in_a_transaction_goes_with_it() -> None:
    from discreet.server.wire.portals import Held

    state, held = Transactions(Settings()), Held()

    def run(*texts: str) -> str:
        for text in texts:
            state.done(s.statements(text)[0], held)
        return str(state.settings.ours().get("epsilon"))

    assert run("SET discreet.epsilon = 1") == "1"
    assert run("BEGIN", "SET discreet.epsilon = 2") == "2"
    assert run("ROLLBACK") == "1"
    assert run("BEGIN", "SET discreet.epsilon = 3", "COMMIT") == "3"
    assert run("BEGIN", "SET LOCAL discreet.epsilon = 4") == "4"
    assert run("COMMIT") == "3"
    assert run("SET LOCAL discreet.epsilon = 5") == "3"
    assert run("RESET ALL") == "None"


# probes


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("SELECT * FROM patients LIMIT 0", Probe("", "patients")),
        ("SELECT * FROM (SELECT COUNT(*) FROM p) t LIMIT 0", Probe("SELECT * FROM (SELECT COUNT(*) FROM p) t")),
        ("SELECT * FROM (SELECT COUNT(*) FROM p) AS t WHERE 1 = 0", Probe("SELECT COUNT(*) FROM p")),
        ('SELECT * FROM ( SELECT (1) ) "t" WHERE false', Probe("SELECT (1)")),
        ("SELECT * FROM patients t WHERE 1=0", Probe("", "patients")),
        ("SELECT COUNT(*) FROM patients WHERE 1=0", None),  # one row: 0
        ("SELECT * FROM (SELECT 1) a, (SELECT 2) b WHERE 1=0", None),
        ("SELECT * FROM (SELECT 1 LIMIT 0) t", None),
        ("SELECT COUNT(*) FROM patients LIMIT 10", None),
        ("SELECT 1 LIMIT 0 OFFSET 1", None),
        ("SELECT * FROM (SELECT 1) t UNION SELECT * FROM (SELECT 1) t WHERE 1=0", None),
    ],
)
def test_what_tools_ask_and_want_no_rows_of(text: str, probe: Probe | None) -> None:
    assert probe_of(text) == probe


def test_the_planner_reads_texts_without_the_schema() -> None:
    text = 'SELECT "public"."t".a, public.t.b, \'public.c\' FROM public.t LIMIT $1::INTEGER'
    found = plain(text, ["t"])
    assert len(found) == len(text)
    assert found.split() == ['SELECT', '"t".a,', 't.b,', "'public.c'", 'FROM', 't', 'LIMIT', '$1']  # fmt: skip
    assert plain("SELECT public.a FROM public", ["public"]) == "SELECT public.a FROM public"


def test_a_wanted_error_takes_a_group_size_and_a_yes_and_costs_take_neither() -> None:
    wanted = Settings().with_("discreet.error", "3").with_("discreet.group_size", "500")
    assert {name: wanted.ours()[name] for name in ("error", "group_size", "confirm")} == {
        "error": 3, "group_size": 500, "confirm": False,
    }  # fmt: skip
    assert wanted.with_("discreet.confirm", "on").ours()["confirm"]
    assert "group_size" not in wanted.with_("discreet.epsilon", "0.1").ours()
    for size in ("0", "-1", "2.5", "many", "1e3"):
        with pytest.raises(Failed):
            Settings().with_("discreet.group_size", size)
