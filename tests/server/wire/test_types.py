"""Values as PostgreSQL's types have them: checked against psycopg, which reads and writes them all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import Format

from discreet.server.wire import types
from discreet.server.wire.problems import Failed
from discreet.server.wire.protocol import BINARY, TEXT

VALUES = [
    (types.INT8, -(2**63)), (types.INT8, 2**63 - 1), (types.INT4, -5), (types.INT2, 7), (types.OID, 2**32 - 1),
    (types.BOOL, True), (types.BOOL, False), (types.FLOAT8, 0.1), (types.FLOAT8, float("inf")), (types.FLOAT8, -1e308),
    (types.TEXT, "ß\n'☃"), (types.TEXT, ""), (types.DATE, date(1, 1, 1)), (types.DATE, date(9999, 12, 31)),
    (types.TIMESTAMP, datetime(1999, 12, 31, 23, 59, 59, 999999)), (types.TIMESTAMP, datetime(2024, 2, 29)),
    (types.NUMERIC, Decimal("0")), (types.NUMERIC, Decimal("-12345.678900")), (types.NUMERIC, Decimal(10**40)),
    (types.NUMERIC, Decimal("0.00001")), (types.TEXTS, ["a", 'b"\\', ""]), (types.TEXTS, []), (types.INT8S, [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("oid", "value"), VALUES, ids=repr)
@pytest.mark.parametrize("format_", [TEXT, BINARY], ids=["text", "binary"])
def test_drivers_read_what_is_shown(oid: int, value: Any, format_: int) -> None:
    data = types.shown(value, oid, format_)
    assert data is not None
    loader = Transformer().get_loader(oid, Format.BINARY if format_ == BINARY else Format.TEXT)
    assert loader.load(data) == value


@pytest.mark.parametrize(("oid", "value"), [each for each in VALUES if each[0] in types.READ], ids=repr)
@pytest.mark.parametrize("format_", [TEXT, BINARY], ids=["text", "binary"])
def test_what_drivers_write_is_received(oid: int, value: Any, format_: int) -> None:
    dumper = Transformer().get_dumper(value, PyFormat.BINARY if format_ == BINARY else PyFormat.TEXT)
    data = dumper.dump(value)
    assert data is not None
    assert types.received(bytes(data), dumper.oid or oid, format_) == value


@pytest.mark.parametrize(
    ("oid", "data", "format_"),
    [
        (types.INT8, b"1e9", TEXT), (types.INT8, b"9" * 30, TEXT), (types.INT8, b"\0", BINARY),
        (types.BOOL, b"x", TEXT), (types.NUMERIC, b"1e999999", TEXT), (types.NUMERIC, b"NaN", TEXT),
        (types.NUMERIC, b"1e4500", TEXT), (types.NUMERIC, b"1_0", TEXT), (types.INT8, b"1_0", TEXT),
        (types.INT8, "٣".encode(), TEXT), (types.FLOAT8, b"1_0", TEXT), (types.FLOAT8, "٣".encode(), TEXT),
        (types.NUMERIC, b"\0\1\x7f\0\0\0\0\0\0\1", BINARY), (types.NUMERIC, b"\x7f\xff\0\0\0\0\0\0", BINARY),
        (types.DATE, b"today", TEXT), (types.DATE, b"\x7f\xff\xff\xff", BINARY),
        (types.TIMESTAMP, b"\x7f" * 8, BINARY), (types.TEXT, b"\xff", TEXT), (types.TEXT, b"a\0b", TEXT),
        (types.TEXTS, b"{}", TEXT), (600, b"(1,2)", TEXT),
    ],
    ids=repr,
)  # fmt: skip
def test_values_that_are_none_of_their_type(oid: int, data: bytes, format_: int) -> None:
    with pytest.raises(Failed) as raised:
        types.received(data, oid, format_)
    assert raised.value.state in ("22P02", "0A000")


def test_nothing_is_cut_that_does_not_fit() -> None:
    assert types.shown(2**70, types.INT8, TEXT) == str(2**70).encode()
    for value in (2**70, 0.5, "x", None):
        if value is not None:
            with pytest.raises(Failed, match="binary"):
                types.shown(value, types.INT8, BINARY)
    assert types.shown(None, types.INT8, BINARY) is None
    assert types.written(Fraction(1, 4)) == "0.25"
    assert types.written([{"value": "a", "count": 3}]) == '[{"value": "a", "count": 3}]'
    assert types.shown(datetime(2024, 1, 1, tzinfo=UTC), types.TIMESTAMPTZ, BINARY) is not None


def test_names_are_those_of_postgresql() -> None:
    for oid, name in types.NAMES.items():
        known = psycopg.postgres.types.get(oid)
        assert known is not None
        assert name in (known.regtype, known.name)
