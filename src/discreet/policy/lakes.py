"""Sources that are tables of a lake: a folder that Delta Lake keeps, or a table of a catalogue of Iceberg.

A policy can be read by everybody who may ask. So keys never stand in it, and no message here repeats an address that
may hold one: they are in the environment, or in the configuration of pyiceberg, which knows a catalogue by its name.
"""

from __future__ import annotations

import re
from typing import Final

from discreet.policy.section import RuleError

DELTA: Final = "delta:"
ICEBERG: Final = "iceberg:"
_LIKE_ONE: Final = re.compile(r"\s*(?:delta|iceberg)\s*:", re.IGNORECASE)
_CATALOGUE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_STORE: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://")
_SECRET: Final = (
    "may hold a key or a password, and whoever asks can read a policy",
    "put it into the environment, as your store wants it",
)


def is_lake(source: str) -> bool:
    """Whether a source is meant to be a table of a lake, spelled well or not."""
    return _LIKE_ONE.match(source) is not None


def is_delta(source: str) -> bool:
    return source.startswith(DELTA)


def read_lake(source: str) -> str:
    """The folder of a Delta table, or the name of a catalogue of Iceberg; `RuleError` if it is neither.

    >>> read_lake("delta:visits"), read_lake("delta:s3://bucket/visits"), read_lake("iceberg:prod")
    ('visits', 's3://bucket/visits', 'prod')
    """
    if source.startswith(ICEBERG):
        catalogue = source.removeprefix(ICEBERG)
        if not _CATALOGUE.fullmatch(catalogue):
            raise RuleError(
                "is no name of a catalogue of Iceberg",
                "write iceberg:prod, and configure prod as pyiceberg wants it (.pyiceberg.yaml, or its variables)",
            )
        return catalogue
    if not source.startswith(DELTA):
        raise RuleError("is no table of a lake", "write delta:folder, or iceberg:catalogue")
    folder = source.removeprefix(DELTA)
    if "@" in folder or "?" in folder:
        raise RuleError(*_SECRET)
    if not folder.strip() or not folder.isprintable() or re.search(r"[*\[]", folder):
        raise RuleError(
            "is no folder of a Delta table", "write delta:visits, delta:/data/visits or delta:s3://bucket/visits"
        )
    return folder


def is_remote(folder: str) -> bool:
    """Whether a Delta table lies in a store, and not in a folder here."""
    return _STORE.match(folder) is not None


def read_name(text: str) -> tuple[str, ...]:
    """The parts of a table's name in a catalogue of Iceberg.

    >>> read_name("clinic.visits")
    ('clinic', 'visits')
    """
    parts = tuple(text.split("."))
    if len(parts) < 2 or not all(part.strip() and part.isprintable() for part in parts):
        raise RuleError("is no name of a table", "write namespace.table")
    return parts
