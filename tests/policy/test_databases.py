"""Addresses of PostgreSQL in policies: what they say, and that no password ever stands in one, or in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.policy import Policy, PolicyError, fingerprint, parse, protected
from discreet.policy.databases import address, as_written, connection_options, read_address, read_table
from discreet.policy.model import LedgerDatabase, Login
from discreet.policy.section import RuleError

SECRET = "hunter2"


def policy(*lines: str) -> Policy:
    text = "\n".join(["[budget]", "epsilon = 1", "[unit]", 'name = "person"', "[tables.visits]", 'unit = "id"', *lines])
    return parse(text.encode(), Path("clinic.toml"))


@pytest.mark.parametrize(
    ("written", "login"),
    [
        ("postgresql:///clinic", Login("", None, "clinic")),
        ("postgres://db.example.org/clinic", Login("db.example.org", None, "clinic")),
        ("postgresql://reader@db:6432/clinic", Login("db", 6432, "clinic", "reader")),
        ("postgresql://[::1]:5433/c", Login("::1", 5433, "c")),
        ("postgresql://%2Frun%2Fpg/c%2Fd", None),
        ("postgresql://%2Frun%2Fpg/c", Login("/run/pg", None, "c")),
        ("postgresql:///c?host=/run/pg", Login("/run/pg", None, "c")),
        (
            "postgresql://r%40x@h/c?sslmode=require&password_variable=PW&sslrootcert=ca.crt",
            Login("h", None, "c", "r@x", (("sslmode", "require"), ("sslrootcert", "ca.crt")), "PW"),
        ),
    ],
)
def test_addresses(written: str, login: Login | None) -> None:
    if login is None:
        with pytest.raises(RuleError):
            read_address(written)
        return
    assert read_address(written) == login
    assert read_address(as_written(login)) == login


@pytest.mark.parametrize(
    "written",
    [
        f"postgresql://reader:{SECRET}@db/clinic",
        f"postgres://reader:{SECRET}@db/clinic",
        f"POSTGRESQL://reader:{SECRET}@db/clinic",
        f"postgresql://reader:{SECRET}@x@db/clinic",
        f"postgresql://reader:a/{SECRET}@db/clinic",
        f"postgresql://reader:a?{SECRET}@db/clinic",
        f"postgresql://reader:a#{SECRET}@db/clinic",
        f"postgresql://reader:[{SECRET}@db/clinic",
        f"postgresql://reader%3A{SECRET}:x@db/clinic",
        f"postgresql://reader@db/clinic?password={SECRET}",
        f"postgresql://reader@db/clinic?sslmode=require&password={SECRET}",
        f"postgresql://reader@db/clinic?passwd={SECRET}",
        f"postgresql://reader@db/clinic?sslmode={SECRET}",
        f"postgresql://reader@db/clinic?password_variable={SECRET}%20",
        f"postgresql://reader@db/clinic?{SECRET}",
        f"postgresql://reader@db/clinic?{SECRET}=1",
        f"postgresql://reader:a?{SECRET}=x@db/clinic",
        f"postgresql://db:{SECRET}/clinic",
        f"postgresql:/reader:{SECRET}@db/clinic",
        f"postgresql:reader:{SECRET}@db/clinic",
        f"postgres ://reader:{SECRET}@db/clinic",
        f"host=db dbname=clinic password={SECRET}",
        f"dbname = clinic password = {SECRET}",
        f"postgresql://db,{SECRET}/clinic",
        f"postgresql://db/clinic/{SECRET}",
    ],
)
def test_what_may_hold_a_password_is_refused_and_never_repeated(written: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(f'source = "{written}"', 'table = "visits"')
    shown = f"{told.value!s} {told.value!r} {told.value.problems}"
    assert SECRET not in shown
    assert "tables.visits.source" in shown


def test_the_refusal_of_a_password_holds_what_works() -> None:
    with pytest.raises(PolicyError) as told:
        policy('source = "postgresql://reader:x@db/clinic"', 'table = "visits"')
    (problem,) = told.value.problems
    assert "may hold a password" in problem.message
    assert "~/.pgpass" in problem.fix
    works = problem.fix.rpartition(" ")[2]
    assert read_address(works).password_variable == "CLINIC_PASSWORD"


@pytest.mark.parametrize(
    ("source", "engine"),
    [("postgresql://db/clinic", 'engine = "postgres"\nengine_schema = "s"'), ("spark:local[2]", 'engine = "spark"')],
)
def test_where_queries_run_changes_neither_their_meaning_nor_whom_the_ledger_protects(source: str, engine: str) -> None:
    lines = [f'source = "{source}"', 'table = "a.b"', "[tables.visits.columns]", "cost = { min = 0, max = 9 }"]
    here = policy(*lines)
    text = "\n".join([engine, "[budget]", "epsilon = 1", "[unit]", 'name = "person"', "[tables.visits]", 'unit = "id"'])
    there = parse("\n".join([text, *lines]).encode(), Path("clinic.toml"))
    assert here.engine != there.engine
    assert fingerprint(here) == fingerprint(there)
    assert protected(here) == protected(there)


def test_how_it_is_reached_changes_neither_meaning_nor_whom_the_ledger_protects() -> None:
    plain = policy('source = "postgresql://db/clinic"', 'table = "a.b"')
    other = policy('source = "postgresql://me@db/clinic?sslmode=require&password_variable=X"', 'table = "a.b"')
    hashed = policy('source = "postgresql://db/clinic#a.b"')
    elsewhere = policy('source = "postgresql://db2/clinic"', 'table = "a.b"')
    assert fingerprint(plain) == fingerprint(other) == fingerprint(hashed) != fingerprint(elsewhere)
    assert protected(plain) == protected(other) != protected(elsewhere)


def test_other_hosts_must_prove_who_they_are() -> None:
    for host, mode in (("", None), ("localhost", None), ("127.0.0.1", None), ("/run/pg", None), ("db", "verify-full")):
        assert connection_options(Login(host, None, "c"), {}).get("sslmode") == mode
    assert connection_options(Login("", None, "c"), {"PGHOST": "db"}) == {"sslmode": "verify-full"}
    assert connection_options(Login("db", None, "c", None, (("sslmode", "prefer"),)), {}) == {"sslmode": "prefer"}


@pytest.mark.parametrize("wrong", ["a.b.c", "", ".", "a.", '"a', '"a"b', '"a".', '"a"."b"."c"', "x" * 64, "é" * 32])
def test_names_that_are_none(wrong: str) -> None:
    with pytest.raises(RuleError):
        read_table(wrong)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['source = "postgresql://db/c#a"', 'table = "b"'], "table: is named twice"),
        (['source = "postgresql://db/c"', 'table = "a"', 'format = "csv"'], "format: the source is an address"),
        (['source = "postgresql://db/c"', 'table = "a"', "multiline = true"], "multiline: is for files"),
        (['source = "a.csv"', 'format = "postgres"'], "source: is no address"),
        (['source = "a.csv"', 'newer_by = "id"'], "newer_by: is for tables of PostgreSQL"),
        (['source = "postgresql://db/"', 'table = "a"'], "source: names no database"),
        (['source = "postgresql://db/c"', "table = 'a.b.c'"], "table: is no name of a table"),
    ],
)
def test_keys_that_do_not_fit(lines: list[str], said: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(*lines)
    assert f"tables.visits.{said}" in str(told.value)


def test_one_table_is_not_private_and_public_at_once() -> None:
    with pytest.raises(PolicyError) as told:
        policy(
            'source = "postgresql://me@db/c"', 'table = "visits"', "[tables.open]", 'source = "postgresql://db/c"',
            "table = 'public.visits'", "public = true",
        )  # fmt: skip
    assert "its source is private in table 'visits'" in str(told.value)


def test_the_address_is_the_same_however_it_is_written() -> None:
    assert address(read_address("postgres:///c?host=/run/pg")) == address(read_address("postgresql://x@%2Frun%2Fpg/c"))


# the database of a ledger


def with_ledger(*lines: str) -> Policy:
    return policy('source = "visits.csv"', "[ledger]", *lines)


def test_a_ledger_may_be_in_a_database() -> None:
    written = with_ledger('url = "postgresql://curator@db/ledgers"')
    assert written.ledger == LedgerDatabase(Login("db", None, "ledgers", "curator"), "discreet")
    named = with_ledger('url = "postgresql:///ledgers"', 'schema = "clinic_2"')
    assert named.ledger is not None
    assert named.ledger.schema == "clinic_2"
    without = policy('source = "visits.csv"')
    assert without.ledger is None
    assert (fingerprint(without), protected(without)) == (fingerprint(written), protected(written))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "ledger.url: missing"),
        (["url = 1"], "ledger.url: must be a text, not"),
        (['url = "ledger.sqlite"'], "ledger.url: is no address of PostgreSQL"),
        ([f'url = "postgresql://curator:{SECRET}@db/ledgers"'], "ledger.url: may hold a password"),
        ([f'url = "postgresql://db/ledgers?password={SECRET}"'], "ledger.url: may hold a password"),
        (['url = "postgresql://db/ledgers"', 'schema = "A"'], "ledger.schema: must be small letters"),
        (['url = "postgresql://db/ledgers"', "schema = 7"], "ledger.schema: must be small letters"),
        (['url = "postgresql://db/ledgers"', 'schema = "pg_catalog"'], "ledger.schema: must be small letters"),
        (['url = "postgresql://db/ledgers"', 'password = "x"'], "ledger.password: unknown key"),
    ],
)
def test_what_is_no_database_of_a_ledger_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(PolicyError) as told:
        with_ledger(*lines)
    assert said in str(told.value)
    assert SECRET not in repr(told.value) + str(told.value)
