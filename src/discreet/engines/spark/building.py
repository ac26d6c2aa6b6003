"""What expressions are built with: pyspark has two sets of functions, and those of one do not fit into the other.

A Spark of this process has the usual ones; a client of Spark Connect has its own. pyspark chooses by the environment of
the whole process, which is not ours to change, and in which both may be in use. So whoever builds expressions says for
which session it is (`building`), and takes functions from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

_PACKAGE: Final[ContextVar[str]] = ContextVar("discreet_spark_package", default="pyspark.sql")


def is_client(spark: Any) -> bool:
    """Whether a session is that of a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def building(spark: Any) -> Iterator[None]:
    """While expressions are built for this session, in this thread."""
    token = _PACKAGE.set("pyspark.sql.connect" if is_client(spark) else "pyspark.sql")
    try:
        yield
    finally:
        _PACKAGE.reset(token)


def functions() -> Any:
    """The functions on columns."""
    return import_module(f"{_PACKAGE.get()}.functions")


def windows() -> Any:
    """What windows begin with."""
    return import_module(f"{_PACKAGE.get()}.window").Window


def observation(label: str) -> Any:
    """What counts rows that pass by."""
    return import_module(f"{_PACKAGE.get()}.observation").Observation(label)
