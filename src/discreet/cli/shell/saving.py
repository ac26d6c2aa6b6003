"""An answer as CSV: each noisy column is followed by the ends of its interval."""

from __future__ import annotations

import csv
import io
from datetime import date
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from discreet.cli.ledger import inert
from discreet.curator.frames import columns_of

if TYPE_CHECKING:
    from discreet.curator.answers import Answer


def csv_of(answer: Answer) -> str:
    """The whole answer; NULL is nothing between two commas."""
    columns = columns_of(answer.columns, answer.rows, answer.intervals, answer.kinds, answer.noisy)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([inert(column.name) for column in columns])
    writer.writerows(zip_longest(*(map(_written, column.values) for column in columns)))
    return text.getvalue()


def _written(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else inert(value)
