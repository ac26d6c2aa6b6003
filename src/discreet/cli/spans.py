"""Spans of time as people write them, and waiting that ends when somebody says so."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any, Final

import click

_SPAN: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def span(text: str) -> timedelta | None:
    """A span of minutes, hours, days or weeks; None if it is none.

    >>> span("90d"), span("soon")
    (datetime.timedelta(days=90), None)
    """
    written = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[written[2]]: int(written[1])}) if written else None


class Span(click.ParamType[timedelta]):
    """A span above zero."""

    name = "SPAN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        wanted = value if isinstance(value, timedelta) else span(str(value))
        return wanted or self.fail(f"{value!r} is no span of time: write 15m, 6h or 1d", param, ctx)


@contextmanager
def until_told() -> Iterator[Event]:
    """What is set when this process is asked to end, so that it ends between two pieces of work."""
    ending = Event()
    before = signal.signal(signal.SIGTERM, lambda *_: ending.set())
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, before)
