"""Delta and Iceberg tables as policies name them: which table, and nothing secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines.copy import private_copy
from discreet.engines.problems import SourceError
from discreet.policy import Policy, PolicyError
from discreet.policy.fingerprint import fingerprint
from discreet.policy.lakes import read_name
from discreet.policy.section import RuleError
from tests.postgres.worlds import table, world

SECRET = "hunter2"
COLUMNS = "n = { min = 0, max = 9 }"


def policy(folder: Path, source: str, place: str | None = None, more: str = "") -> Policy:
    text = table(source, place or "", COLUMNS, more=more)
    return world(folder, text if place else text.replace("table = ''\n", ""))


@pytest.mark.parametrize(
    ("source", "place"),
    [("delta:visits", None), ("delta:/data/visits", None), ("delta:s3://bucket/visits", None),
     ("iceberg:prod", "clinic.visits"), ("iceberg:prod#clinic.visits", None)],
)  # fmt: skip
def test_tables_of_lakes(tmp_path: Path, source: str, place: str | None) -> None:
    held = policy(tmp_path, source, place).tables["visits"].source
    assert (held.is_file, held.is_lake, held.table) == (False, True, "clinic.visits" if "iceberg" in source else None)


@pytest.mark.parametrize(
    ("source", "place", "more", "said"),
    [
        ("delta:", None, "", "no folder of a Delta table"),
        ("delta:visits/*", None, "", "no folder of a Delta table"),
        ("DELTA:visits", None, "", "write delta:folder"),
        ("delta:visits", "visits", "", "the folder is the table"),
        ("delta:visits", None, 'format = "csv"', "format: the source is an address of a Delta table"),
        ("delta:visits", None, 'newer_by = "id"', "is not for a Delta table"),
        ("delta:visits", None, 'stream = { by = "unit", epsilon = 1 }', "is not for a Delta table"),
        ("delta:visits", None, "multiline = true", "multiline: is for files"),
        ("iceberg:", "a.b", "", "no name of a catalogue"),
        ("iceberg:a b", "a.b", "", "no name of a catalogue"),
        ("iceberg:prod", None, "", "table: missing"),
        ("iceberg:prod", "visits", "", "write namespace.table"),
        ("iceberg:prod", "a..b", "", "write namespace.table"),
        ("visits.csv", None, 'format = "delta"', "is no address of a Delta table"),
        ("visits.csv", None, 'format = "iceberg"', "is no address of Iceberg"),
    ],
)
def test_what_is_none_is_refused_in_words(tmp_path: Path, source: str, place: str | None, more: str, said: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(tmp_path, source, place, more)
    assert said in str(told.value)


@pytest.mark.parametrize(
    "source", [f"delta:s3://me:{SECRET}@bucket/v", f"delta:s3://b/v?key={SECRET}", f"iceberg:x?{SECRET}"]
)
def test_what_may_hold_a_secret_is_refused_and_never_repeated(tmp_path: Path, source: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(tmp_path, source, "a.b" if "iceberg" in source else None)
    assert SECRET not in f"{told.value!s} {told.value!r} {told.value.problems}"


@pytest.mark.parametrize("wrong", ["", ".", "a", "a.", "a.\n"])
def test_names_that_are_none(wrong: str) -> None:
    with pytest.raises(RuleError):
        read_name(wrong)


def test_another_table_is_another_meaning(tmp_path: Path) -> None:
    one, other = policy(tmp_path, "delta:visits"), policy(tmp_path, "delta:others")
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("source", "place", "module"), [("delta:v", None, "deltalake"), ("iceberg:p", "a.b", "pyiceberg")]
)
def test_without_its_package_the_owner_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, place: str | None, module: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(SourceError, match=rf"discreet\[{source.partition(':')[0]}\]"):
        private_copy(policy(tmp_path, source, place), 1)
