"""Clients of Spark Connect: a server elsewhere runs the queries, and only its address and a token are known here.

Nothing that is said here shows the token. It travels over TLS, or to `localhost` over a connection that gRPC has seen
to end on this machine. What the server itself logs, spills and shows is its owner's to set (guide 46).

pyspark's client tries for ten minutes and more to reach a server that is gone, and nobody could stop a query so long:
here it tries for some seconds. A session that a new server does not know is refused by the client, as is one that the
server made anew under the same name: settings and views would be lost, and with them what a text means.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from discreet.engines.problems import SourceError
from discreet.policy.model import Cluster

RETRIES: Final = {"max_retries": 6, "initial_backoff": 100, "max_backoff": 1000, "max_server_retry_delay": 1000}
"""How often a server that does not answer is asked again, and after how many milliseconds: 3 to 6 seconds in all."""
INSISTED: Final = 10.0
"""Seconds after which nobody waits for a server to hear that something is over."""
LOCAL: Final = "localhost"
NO_CLIENT: Final = ("Spark Connect needs pyspark's client", "pip install 'pyspark[connect]'")
UNHEARD: Final = "see that Spark Connect answers there, and that it takes the token"


@contextmanager
def client(cluster: Cluster, label: str) -> Iterator[Any]:
    """A session of a server; `SourceError` for this table if there is none."""
    token = None if cluster.token_variable is None else os.environ.get(cluster.token_variable)
    if cluster.token_variable is not None and not token:
        raise SourceError(label, f"the variable {cluster.token_variable} has no token", "set it, and export it")
    try:
        held = _connected(cluster, token)
    except ImportError:
        raise SourceError(label, *NO_CLIENT) from None
    except Exception:
        raise SourceError(label, f"could not connect to {cluster.master}", UNHEARD) from None
    try:
        yield held
    finally:
        with suppress(Exception):
            held.stop()


def _connected(cluster: Cluster, token: str | None) -> Any:
    """A session that the server has answered to. The token never becomes part of an address, where `;` and `=` are
    signs and a message could repeat it."""
    from pyspark.sql.connect.client.core import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    _hush()
    address = DefaultChannelBuilder(cluster.master)
    if token:
        address.set("token", token)
        address.set("use_ssl", "false" if address.host == LOCAL else "true")
    held = SparkSession(connection=address)
    try:
        held.client.set_retry_policies([DefaultPolicy(**RETRIES)])
        with suppress(Exception):  # where this pyspark has deadlines: a server that hangs is not waited for
            from dataclasses import replace

            waits = {"interrupt": INSISTED, "release_session": INSISTED, "config": INSISTED}
            held.client._rpc_deadlines = replace(held.client._rpc_deadlines, **waits)
        _ = held.version
    except BaseException:
        with suppress(Exception):
            held.stop()
        raise
    return held


def _hush() -> None:
    """Requests, with the texts and keys in them, are written nowhere, whatever SPARK_CONNECT_LOG_LEVEL says."""
    from pyspark.sql.connect.logging import logger

    logger.disabled = True
