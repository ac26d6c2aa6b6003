"""Sources that are tables of PostgreSQL: an address without anything secret, and the name of a table.

A policy can be read by everybody who may ask. So it never holds a password, and no message here repeats an address
that may hold one: PostgreSQL's own file of passwords has it (`~/.pgpass`, or what PGPASSFILE names), or a variable of
the environment that the address names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from discreet.policy.model import Login
from discreet.policy.problems import choices, noun
from discreet.policy.section import RuleError
from discreet.quoting import unquoted

EXAMPLE: Final = "postgresql://reader@db.example.org/clinic"
NAME_BYTES: Final = 63
"""Bytes of a name: PostgreSQL cuts what is longer, and then finds another."""
SSLMODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
OPTIONS: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""What an address may say of its connection; nothing of it changes which rows there are."""
SCHEMA: Final = "discreet"
_SCHEMA: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
VARIABLE: Final = "password_variable"
_LIKE_ONE: Final = re.compile(r"\s*postgres(?:ql)?\s*:|.*\b(?:dbname|password)\s*=", re.IGNORECASE | re.DOTALL)
_SCHEME: Final = re.compile(r"postgres(?:ql)?://")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PORT: Final = re.compile(r"(.*?)(?::([0-9]{1,5}))?", re.DOTALL)
_SECRET: Final = (
    "may hold a password, and whoever asks can read a policy",
    f"write {EXAMPLE} and put the password into ~/.pgpass, or name its variable: {EXAMPLE}?{VARIABLE}=CLINIC_PASSWORD",
)


def is_address(source: str) -> bool:
    """Whether a source is meant to be a database, spelled well or not."""
    return _LIKE_ONE.match(source) is not None


def read_address(source: str) -> Login:
    """What an address says; `RuleError` if it is none, or holds a password."""
    if not _SCHEME.match(source):
        raise RuleError(*_SECRET) if _may_hold_password(source) else _unlike("is no address of PostgreSQL")
    try:
        parts = urlsplit(source)
    except ValueError:
        raise _unlike("is no address of PostgreSQL") from None
    user, _, server = parts.netloc.rpartition("@")
    options = _options(parts)
    held = ":" in user or "@" in user or _may_hold_password(unquote(parts.path))
    if held or "@" in unquote(parts.query) or "password" in options:
        raise RuleError(*_SECRET)
    host, port = _host(server)
    if "host" in options:
        if host:
            raise RuleError("names its host twice", "keep one of the two")
        host = options.pop("host")
    database = unquote(parts.path.removeprefix("/"))
    if not database or "/" in database or not f"{database}{host}{user}".isprintable():
        raise _unlike("names no database" if not database else "is no address of PostgreSQL")
    variable = _checked(options)
    return Login(host, port, database, unquote(user) or None, tuple(sorted(options.items())), variable)


def read_url(value: object) -> Login:
    """The database of a ledger."""
    if not isinstance(value, str):
        raise RuleError(f"must be a text, not {noun(value)}", f'write url = "{EXAMPLE}"')
    return read_address(value)


def read_schema(value: object) -> str:
    """A schema that needs no quotes, so that every tool finds it."""
    if not isinstance(value, str) or not _SCHEMA.fullmatch(value):
        raise RuleError("must be small letters, digits and _", f'write schema = "{SCHEMA}"')
    return value


def _may_hold_password(text: str) -> bool:
    return "@" in text or "password" in text.lower()


def _unlike(reason: str) -> RuleError:
    return RuleError(reason, f"write it like {EXAMPLE}, or postgresql:///clinic for a database of this machine")


def _host(server: str) -> tuple[str, int | None]:
    """Host and port. An address of the sixth version stands in brackets."""
    if server.startswith("["):
        inner, _, rest = server[1:].partition("]")
        host, port = inner, rest.removeprefix(":")
    else:
        parts = _PORT.fullmatch(server)
        host, port = ("", "?") if parts is None else (parts[1], parts[2] or "")
    host = unquote(host)
    if "," in host or (":" in host and not server.startswith("[")) or (port and not port.isdigit()):
        raise _unlike("names no single host with a port")
    return host, int(port) if port else None


def _options(parts: SplitResult) -> dict[str, str]:
    try:
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _unlike("has options that cannot be read") from None
    options = dict(given)
    if len(options) < len(given):
        raise _unlike("says an option twice")
    return options


def _checked(options: dict[str, str]) -> str | None:
    """The variable that has the password; the rest is what may be said of a connection."""
    variable = options.pop(VARIABLE, None)
    if variable is not None and not _NAME.fullmatch(variable):
        raise RuleError(f"{VARIABLE} is not the name of a variable", f"write ?{VARIABLE}=CLINIC_PASSWORD")
    for key, value in options.items():
        if key not in OPTIONS:
            raise RuleError("has an unknown option", choices(key, (*OPTIONS, VARIABLE, "host")))
        if not value or not value.isprintable():
            raise RuleError(f"says nothing about {key}", "remove it, or write its value")
    mode = options.get("sslmode", "verify-full")
    if mode not in SSLMODES:
        raise RuleError("has an unknown sslmode", choices(mode, SSLMODES))
    return variable


def address(login: Login) -> str:
    """Which database it is, and nothing of how it is reached: what a ledger knows it by."""
    host = f"[{login.host}]" if ":" in login.host else quote(login.host, safe="")
    port = "" if login.port is None else f":{login.port}"
    return f"postgresql://{host}{port}/{quote(login.database, safe='')}"


def as_written(login: Login) -> str:
    """The address as a policy writes it."""
    user = "" if login.user is None else f"{quote(login.user, safe='')}@"
    said = [*login.options, *([(VARIABLE, login.password_variable)] if login.password_variable else [])]
    options = "&".join(f"{key}={quote(value, safe='')}" for key, value in said)
    return address(login).replace("://", f"://{user}", 1) + (f"?{options}" if options else "")


def read_table(text: str) -> tuple[str, str]:
    """Schema and table: `clinic.visits`, or `visits` of the schema public; names with dots stand in double quotes.

    >>> read_table("visits"), read_table("clinic.visits"), read_table('"my.schema"."a ""b"')
    (('public', 'visits'), ('clinic', 'visits'), ('my.schema', 'a "b'))
    """
    parts = unquoted(text) if text.startswith('"') else text.split(".")
    if parts is None or len(parts) > 2 or not all(parts):
        fix = 'write schema.table; a name with dots or quotes stands in double quotes: \'"my.schema"."visits"\''
        raise RuleError("is no name of a table", fix)
    if any(len(part.encode()) > NAME_BYTES for part in parts):
        raise RuleError(f"has a name of more than {NAME_BYTES} bytes, and PostgreSQL has none", "correct it")
    return ("public", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def is_local(host: str) -> bool:
    """Whether what is said to a host leaves this machine: sockets and loopback do not."""
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith(("/", "@"))


def connection_options(login: Login, environment: Mapping[str, str]) -> dict[str, str]:
    """What the policy says of the connection, and of other hosts than this that their certificate must name them."""
    host = login.host or environment.get("PGHOST", "")
    usual = {} if is_local(host) else {"sslmode": "verify-full"}
    return {**usual, **dict(login.options)}
