"""Sources that Spark reads: which Spark it is, without anything secret, and the name of a table or the path of files.

A policy can be read by everybody who may ask. So tokens and keys never stand in it, and no message here repeats an
address that may hold one: Spark's own configuration has them, or a variable of the environment that the address names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from discreet.policy.model import Cluster
from discreet.policy.section import RuleError
from discreet.quoting import unquoted

EXAMPLE: Final = "spark://spark.example.org:7077"
VARIABLE: Final = "token_variable"
PARQUET: Final = "parquet"
FILES: Final = (PARQUET, "orc", "delta")
"""Formats of files, as Spark calls them."""
_LIKE_ONE: Final = re.compile(r"\s*(?:spark|sc)\s*:", re.IGNORECASE)
_HOST: Final = r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,60}\])"
_MASTERS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"local(?:\[(?:\*|[1-9][0-9]{0,3})\])?",
        "yarn",
        rf"spark://{_HOST}:[0-9]{{1,5}}(?:,{_HOST}:[0-9]{{1,5}})*",
        rf"k8s://https://{_HOST}(?::[0-9]{{1,5}})?",
    )
)
_REMOTE: Final = re.compile(rf"(sc://{_HOST}(?::[0-9]{{1,5}})?)(?:\?{VARIABLE}=([A-Za-z_][A-Za-z0-9_]{{0,99}}))?")
_FORMAT: Final = re.compile(rf"({'|'.join(FILES)}):(?!//)(.*)", re.DOTALL)
_PLACE: Final = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}:)?/")
_FIX: Final = (
    f"write spark:local[*] for this machine, spark:yarn, {EXAMPLE}, or sc://spark.example.org:15002 for Spark Connect"
)
_SECRET: Final = (
    "may hold a token or a password, and whoever asks can read a policy",
    f"name its variable, sc://spark.example.org:15002?{VARIABLE}=SPARK_TOKEN, or use Spark's own configuration",
)


@dataclass(frozen=True, slots=True)
class Place:
    """What Spark reads: a table by the parts of its name, or files."""

    names: tuple[str, ...] = ()
    format: str = ""
    path: str = ""


def is_cluster(source: str) -> bool:
    """Whether a source is meant to be read by Spark, spelled well or not."""
    return _LIKE_ONE.match(source) is not None


def read_cluster(source: str) -> Cluster:
    """What an address says; `RuleError` if it is none, or holds a secret.

    >>> read_cluster("spark:local[*]").master, read_cluster("spark://a:7077").master, read_cluster("spark:yarn").master
    ('local[*]', 'spark://a:7077', 'yarn')
    """
    remote = _REMOTE.fullmatch(source)
    if remote is not None:
        return Cluster(remote[1], remote[2])
    master = source if source.startswith("spark://") else source.removeprefix("spark:")
    if source.startswith("spark:") and any(known.fullmatch(master) for known in _MASTERS):
        return Cluster(master)
    secret = "@" in source or any(word in source.lower() for word in ("token", "password", "secret", "key"))
    raise RuleError(*_SECRET) if secret else RuleError("is no address of Spark", _FIX)


def cluster_address(cluster: Cluster) -> str:
    """Which Spark it is, and nothing of how many threads it has: what a ledger knows it by."""
    if cluster.is_local:
        return "spark:local"
    return cluster.master if cluster.master.startswith(("spark://", "sc://")) else f"spark:{cluster.master}"


def read_place(text: str) -> Place:
    """A table of the catalogue, or files where there is a slash; names with dots or slashes stand in backticks.

    >>> read_place("clinic.visits").names, read_place("`my.schema`.`a``b`").names
    (('clinic', 'visits'), ('my.schema', 'a`b'))
    >>> read_place("/data/visits"), read_place("delta:s3a://bucket/visits")
    (Place(names=(), format='parquet', path='/data/visits'), Place(names=(), format='delta', path='s3a://bucket/visits'))
    """
    if "\0" in text:
        raise RuleError("is no name of a table", "correct it")
    if "/" in text and not text.startswith("`"):
        return _files(text)
    parts = unquoted(text, "`") if text.startswith("`") else text.split(".")
    if parts is None or len(parts) > 3 or not all(parts) or (not text.startswith("`") and "`" in text):
        fix = "write database.table; a name with dots, slashes or backticks stands in backticks: `my.schema`.`visits`"
        raise RuleError("is no name of a table", fix)
    return Place(tuple(parts))


def _files(text: str) -> Place:
    said = _FORMAT.fullmatch(text)
    form, path = (said[1], said[2]) if said else (PARQUET, text)
    authority = path.partition("://")[2].partition("/")[0]
    if ":" in authority.rpartition("@")[0]:
        raise RuleError(
            "may hold a password, and whoever asks can read a policy", "put it into Spark's own configuration"
        )
    if not _PLACE.match(path) or not path.isprintable():
        fix = "write /data/visits, file:/data/visits, s3a://bucket/visits; with delta: or orc: before it if it is such"
        raise RuleError("is no whole path of files", fix)
    return Place((), form, path)
