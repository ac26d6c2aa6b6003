"""Sources that Spark reads, as policies name them: which Spark, which table, and nothing secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines.copy import private_copy
from discreet.engines.problems import SourceError
from discreet.policy import Policy, PolicyError, read
from discreet.policy.clusters import cluster_address, read_cluster, read_place
from discreet.policy.fingerprint import fingerprint
from discreet.policy.section import RuleError
from tests.postgres.worlds import table, world

SECRET = "hunter2"
COLUMNS = "n = { min = 0, max = 9 }"


def policy(folder: Path, source: str, place: str = "clinic.visits", more: str = "") -> Policy:
    return world(folder, table(source, place, COLUMNS, more=more))


@pytest.mark.parametrize(
    ("written", "master"),
    [
        ("spark:local", "local"),
        ("spark:local[*]", "local[*]"),
        ("spark:local[16]", "local[16]"),
        ("spark:yarn", "yarn"),
        ("spark://a.example.org:7077", "spark://a.example.org:7077"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
        ("spark:k8s://https://k.example.org:6443", "k8s://https://k.example.org:6443"),
        ("sc://a.example.org:15002", "sc://a.example.org:15002"),
    ],
)
def test_addresses(written: str, master: str) -> None:
    assert read_cluster(written).master == master
    assert read_cluster(cluster_address(read_cluster(written))).is_local == master.startswith("local")


def test_the_variable_of_a_token_is_named() -> None:
    assert read_cluster("sc://a:15002?token_variable=SPARK_TOKEN").token_variable == "SPARK_TOKEN"
    assert cluster_address(read_cluster("sc://a:15002?token_variable=SPARK_TOKEN")) == "sc://a:15002"


@pytest.mark.parametrize(
    "written",
    [
        f"sc://a:15002/;token={SECRET}",
        f"sc://a:15002/;user_id=me;token={SECRET}",
        f"sc://me:{SECRET}@a:15002",
        f"sc://a:15002?token={SECRET}",
        f"sc://a:15002?token_variable={SECRET} x",
        f"spark://me:{SECRET}@a:7077",
        f"spark:local[*]?password={SECRET}",
        f"spark:{SECRET}",
        f"spark: local[{SECRET}]",
        f"SPARK://a:{SECRET}",
        f"spark:local[*],spark.hadoop.fs.s3a.secret.key={SECRET}",
    ],
)
def test_what_may_hold_a_secret_is_refused_and_never_repeated(tmp_path: Path, written: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(tmp_path, written)
    shown = f"{told.value!s} {told.value!r} {told.value.problems}"
    assert SECRET not in shown
    assert "tables.visits.source" in shown


@pytest.mark.parametrize(
    "wrong",
    ["a.b.c.d", ".", "a.", "a`b", "`a", "`a`b", "`a`.", "data/visits", "s3a://me:x@bucket/v", "x:y/z", "/a\nb", "/a\0"],
)
def test_tables_that_are_none(wrong: str) -> None:
    with pytest.raises(RuleError):
        read_place(wrong)


def test_paths_with_an_account_are_no_secrets() -> None:
    assert read_place("abfss://box@account.example.org/visits").format == "parquet"
    assert read_place("orc:/data/visits").path == "/data/visits"
    assert read_place("`a/b`").names == ("a/b",)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('newer_by = "id"', "newer_by: is not for what Spark reads"),
        ('format = "csv"', "format: the source is an address of Spark"),
        ("multiline = true", "multiline: is for files"),
        ('stream = { by = "unit", epsilon = 1 }', "stream: is not for what Spark reads"),
    ],
)
def test_keys_that_do_not_fit(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(PolicyError) as told:
        policy(tmp_path, "spark:local", more=more)
    assert said in str(told.value)


def test_a_format_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="is no address of Spark"):
        policy(tmp_path, "a.csv", more='format = "spark"')


def test_how_many_threads_it_has_changes_no_meaning(tmp_path: Path) -> None:
    one, other = policy(tmp_path, "spark:local[1]"), policy(tmp_path, "spark:local[*]")
    elsewhere = policy(tmp_path, "spark:yarn")
    assert fingerprint(one) == fingerprint(other) != fingerprint(elsewhere)


def test_one_table_is_not_private_and_public(tmp_path: Path) -> None:
    private = table("spark:local", "clinic.visits", COLUMNS)
    public = "[tables.wards]\nsource = 'spark:local[4]'\ntable = '`clinic`.`visits`'\npublic = true\n"
    with pytest.raises(PolicyError, match="its source is private"):
        world(tmp_path, private, public)


def test_without_pyspark_the_owner_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    with pytest.raises(SourceError, match=r"discreet\[spark\]"):
        private_copy(read(policy(tmp_path, "spark:local").path), 1)
