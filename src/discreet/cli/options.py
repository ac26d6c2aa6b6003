"""What `query` and `preview` share: the question, its cost, its parameters."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import is_address, target_argument

if TYPE_CHECKING:
    from discreet.client import Remote
    from discreet.curator.curator import Curator

_NUMBER: Final = re.compile(r"-?\d+(\.\d*)?([eE][+-]?\d+)?|-?\.\d+([eE][+-]?\d+)?")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


class Sql(click.ParamType[str]):
    """The text of a question; `-` reads it from standard input."""

    name = "SQL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != "-":
            return str(value)
        try:
            return sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError:
            return self.fail("standard input is not UTF-8 text", param, ctx)


class Parameter(click.ParamType[tuple[str, Any]]):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, equals, text = str(value).partition("=")
        if not (name and equals):
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, parameter(text)


class Wanted(click.ParamType[tuple[str, float]]):
    """A half-width, or COLUMN=HALF-WIDTH; the column is empty where none is named."""

    name = "[COLUMN=]HALF-WIDTH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        column, _, text = str(value).rpartition("=")
        return column, click.FLOAT(text, param, ctx)


def wanted(given: Sequence[tuple[str, float]]) -> float | dict[str, float] | None:
    """The errors that are wanted, as the curator is told: one number, or one for each column.

    >>> wanted([]), wanted([("", 10.0)]), wanted([("n", 10.0), ("cost", 500.0)])
    (None, 10.0, {'n': 10.0, 'cost': 500.0})
    """
    errors = dict(given)
    if len(errors) < len(given):
        raise click.UsageError("--error is given twice for the same column: give it once")
    if "" in errors and len(errors) > 1:
        raise click.UsageError("--error is given with and without a column: name the column of each, as in n=10")
    return errors.get("", errors or None)


def parameter(text: str) -> Any:
    """The value that a parameter's text means: in quotes it is text, whatever it looks like.

    >>> [parameter(text) for text in ("5", "0.5", "true", "null", "ICU", '"5"')]
    [5, 0.5, True, None, 'ICU', '5']
    >>> parameter("2026-01-02")
    datetime.date(2026, 1, 2)
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        if _NUMBER.fullmatch(text):
            return float(text) if set(text) & set(".eE") else int(text)
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if _TIMESTAMP.fullmatch(text):
            return datetime.fromisoformat(text)
        if text.startswith('"'):
            quoted = json.loads(text)
            return quoted if isinstance(quoted, str) else text
    except ValueError:
        pass  # the 31st of February is a text like others
    return text


OPTIONS: Final = (
    target_argument,
    click.argument("sql", type=Sql()),
    click.option("-e", "--epsilon", type=float, help="The cost: ε, or in a budget with δ what ε would cost there."),
    click.option("--rho", type=float, help="The cost as ρ, in a budget with δ."),
    click.option("--delta", type=float, help="With --epsilon: the question alone must be (ε, δ)-private."),
    click.option(
        "--error",
        type=Wanted(),
        multiple=True,
        callback=lambda _, __, given: wanted(given),
        help="The half-width wanted, or COLUMN=HALF-WIDTH for each of several; the cost is found.",
    ),
    click.option(
        "--group-size", type=click.IntRange(min=1), metavar="ROWS", help="Of averages: the smallest group for --error."
    ),
    click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals."),
    click.option("-p", "--param", "params", type=Parameter(), multiple=True, help="A value for $NAME; several may be."),
    click.option("--blocks", help="Of a stream: newest 7, 2024-03, 2024-03-01..2024-03-07, or all."),
    click.option("--analyst", help="Whose share is charged."),
    click.option("--dialect", help="Of the question: duckdb, bigquery, postgres, snowflake or spark."),
    click.option("--dummy", is_flag=True, help="Use dummy data: free, and nothing private is read."),
)


def asks(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options of a question, in this order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def curator_at(target: Path | str, *, dummy: bool = False, **settings: Any) -> Curator | Remote:
    """Whom to ask: the curator of a policy, or a server."""
    if not is_address(target):
        return opened(Path(target), dummy=dummy, **settings)
    remote = connected(target)
    return remote.dummy() if dummy else remote


def opened(policy: Path, *, dummy: bool, time_limit: float | None = None, **settings: Any) -> Curator:
    """The curator to ask: the policy's own, or one over dummy data that leaves sources and ledger alone."""
    if dummy:
        from discreet.curator.dummy import open as open_dummy
        from discreet.opening import MAKERS

        return open_dummy(policy, time_limit=time_limit, makers=MAKERS)
    from discreet.opening import open as open_curator

    return open_curator(policy, time_limit=time_limit, **settings)


def connected(url: str) -> Remote:
    """A dataset on a server, with the token of the environment."""
    try:
        from discreet.client import connect
    except ImportError as missing:
        raise click.UsageError(f"{missing.name} is not installed: pip install 'discreet[client]'") from None
    return connect(url)


def named(params: Iterable[tuple[str, Any]]) -> dict[str, Any] | None:
    """The parameters by name; each may be given once."""
    values: dict[str, Any] = {}
    for name, value in params:
        if name in values:
            raise click.UsageError(f"--param {name} is given twice")
        values[name] = value
    return values or None
