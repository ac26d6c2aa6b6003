"""An answer as CSV: each noisy column is followed by the ends of its interval; a list is JSON, with the ends inside."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from discreet.answers.frames import Column, columns_of
from discreet.printing import inert, plain

if TYPE_CHECKING:
    from discreet.answers import Answer


def csv_of(answer: Answer) -> str:
    """The whole answer; NULL is nothing between two commas."""
    columns = columns_of(answer.columns, answer.rows, answer.intervals, answer.kinds, answer.noisy)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([inert(column.name) for column in columns])
    writer.writerows(zip_longest(*(map(_written, _values(column)) for column in columns)))
    return text.getvalue()


def _values(column: Column) -> list[Any]:
    if not column.fields:
        return column.values
    lists = column.regrouped([field.values for field in column.fields])
    return [None if each is None else json.dumps(plain(each), ensure_ascii=False) for each in lists]


def _written(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else inert(value)
