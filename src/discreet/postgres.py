"""The one place that connects to PostgreSQL: for sources, for engines and for ledgers.

An address holds nothing secret (`policy.databases`): the password is in the variable that it names, or in PostgreSQL's
own file of passwords. No failure repeats a password.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.policy.databases import connection_options
from discreet.policy.model import Login

if TYPE_CHECKING:
    from psycopg import Connection

OLDEST: Final = 13
LONGEST_REASON: Final = 500
CONNECTION: Final = {
    "application_name": "discreet",
    "client_encoding": "UTF8",
    "connect_timeout": "15",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
NOTICED: Final = b"""
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = 60000
"""
"""The server, too, notices within about a minute that a host is gone, and ends what it had begun: locks go with it."""


class ConnectionFailedError(Exception):
    """There is no connection. Whoever asked for one says it in its own kind of error."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


def connect(login: Login, folder: Path, otherwise: str) -> Connection[Any]:
    """A connection in which every statement is a transaction, until one is begun; `ConnectionFailedError` if none.

    folder      the files of TLS that the address names are relative to it.
    otherwise   what to do where the server is too old, or its encoding cannot be relied on.
    """
    try:
        import psycopg
    except ImportError:
        raise ConnectionFailedError("PostgreSQL needs psycopg", "pip install 'discreet[postgres]'") from None
    password = _password(login)
    settings = {**CONNECTION, **connection_options(login, os.environ), **_server(login)}
    for key in ("sslrootcert", "sslcert", "sslkey"):
        if key in settings and settings[key] != "system":
            settings[key] = str(folder / settings[key])
    secret = {} if password is None else {"password": password}
    try:
        connection = _noticed(psycopg.connect(**settings, **secret, autocommit=True, prepare_threshold=None))  # type: ignore[arg-type]
    except psycopg.Error as error:
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        reason = reason.replace(password, "…") if password else reason
        raise ConnectionFailedError(f"could not connect: {reason}", "see that psql connects to that address") from None
    try:
        _demand_usable(connection, otherwise)
    except BaseException:
        connection.close()
        raise
    return connection


def _noticed(connection: Connection[Any]) -> Connection[Any]:
    try:
        connection.execute(NOTICED)
    except BaseException:
        connection.close()
        raise
    return connection


def _server(login: Login) -> dict[str, str]:
    said = {"host": login.host, "port": str(login.port or ""), "dbname": login.database, "user": login.user or ""}
    return {key: value for key, value in said.items() if value}


def _password(login: Login) -> str | None:
    """The password that a variable has. Without one, PostgreSQL's own library looks into its file of passwords."""
    if login.password_variable is None:
        return None
    password = os.environ.get(login.password_variable)
    if not password:
        raise ConnectionFailedError(f"the variable {login.password_variable} has no password", "set it, and export it")
    return password


def _demand_usable(connection: Connection[Any], otherwise: str) -> None:
    if connection.info.server_version < OLDEST * 10_000:
        raise ConnectionFailedError(f"the server is older than PostgreSQL {OLDEST}", otherwise)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        reason = f"the database is encoded in {encoding}, and a text that is not UTF-8 could decide whether it is read"
        raise ConnectionFailedError(reason, otherwise)
