"""What expressions are built with: pyspark has two sets of functions, and those of one do not fit into the other.

A Spark of this process has the usual ones; a client of Spark Connect has its own. pyspark chooses by the environment of
the whole process, which is not ours to change, and in which both may be in use. So whoever builds expressions says for
which session it is (`building`), and takes functions from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_FOR_CLIENT: Final[ContextVar[bool]] = ContextVar("discreet_spark_client", default=False)


def is_client(spark: Any) -> bool:
    """Whether a session is that of a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def building(spark: Any) -> Iterator[None]:
    """While expressions are built for this session, in this thread."""
    token = _FOR_CLIENT.set(is_client(spark))
    try:
        yield
    finally:
        _FOR_CLIENT.reset(token)


def functions() -> Any:
    """The functions on columns."""
    if _FOR_CLIENT.get():
        from pyspark.sql.connect import functions as client

        return client
    from pyspark.sql import functions as usual

    return usual


def windows() -> Any:
    """What windows begin with."""
    if _FOR_CLIENT.get():
        from pyspark.sql.connect.window import Window as Client

        return Client
    from pyspark.sql.window import Window as Usual

    return Usual


def observation(label: str) -> Any:
    """What counts rows that pass by."""
    if _FOR_CLIENT.get():
        from pyspark.sql.connect.observation import Observation as Client

        return Client(label)
    from pyspark.sql.observation import Observation as Usual

    return Usual(label)
