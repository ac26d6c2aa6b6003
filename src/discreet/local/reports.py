"""Reports as bytes: what a client sends, and how a collector reads what anybody may have sent.

A report is a header of 10 bytes and a payload, whose length follows from the header; integers are little-endian:

    byte 0     the version of the format, 1
    byte 1     the mechanism's code
    bytes 2–5  the size of the domain
    bytes 6–9  ε in millionths
    the rest   the payload: what the mechanism says

docs/reports.md describes it for whoever writes a client or a collector in another language.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.local.chances import MICRO

VERSION: Final = 1
HEADER: Final = 10
_LAYOUT: Final = struct.Struct("<BBII")
_PARTS: Final = {"version": slice(0, 1), "mechanism": slice(1, 2), "parameters": slice(2, HEADER)}

Bytes = NDArray[np.uint8]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
Reports = Bytes | Iterable[bytes]
"""Rows of bytes, as `encode` gives them, or bytes objects from anywhere."""


def header(code: int, size: int, epsilon: Fraction) -> bytes:
    return _LAYOUT.pack(VERSION, code, size, int(epsilon * MICRO))


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a report say."""

    version: int
    code: int
    size: int
    epsilon: Fraction

    @classmethod
    def of(cls, report: bytes) -> Header:
        if len(report) < HEADER:
            raise ValueError(f"a report has at least {HEADER} bytes, not {len(report)}")
        version, code, size, micro = _LAYOUT.unpack(report[:HEADER])
        return cls(version, code, size, Fraction(micro, MICRO))


@dataclass(frozen=True, slots=True)
class Accepted:
    """Payloads that are well formed, and how many reports were not, by reason."""

    payloads: Bytes
    bad: Mapping[str, int]


def accept(reports: Reports, begin: bytes, length: int, ids: Sequence[Hashable] | None = None) -> Accepted:
    """The payloads of reports that begin with this header and have so many bytes after it.

    Of reports with the same id the first counts. Nothing in a report can make this fail.
    """
    bad: Counter[str] = Counter()
    rows = _rows(reports, HEADER + length, None if ids is None else _first(ids, bad), bad)
    wanted = np.frombuffer(begin, dtype=np.uint8)
    fine = np.ones(len(rows), dtype=np.bool_)
    for reason, part in _PARTS.items():
        differing = fine & (rows[:, part] != wanted[part]).any(axis=1)
        bad[reason] += int(differing.sum())
        fine &= ~differing
    return Accepted((rows if fine.all() else rows[fine])[:, HEADER:], +bad)


def _first(ids: Sequence[Hashable], bad: Counter[str]) -> Booleans:
    """Which ids come for the first time."""
    seen: set[Hashable] = set()
    first = np.array([not (each in seen or seen.add(each)) for each in ids], dtype=np.bool_)  # type: ignore[func-returns-value]
    bad["repeated"] += int((~first).sum())
    return first


def _rows(reports: Any, length: int, chosen: Booleans | None, bad: Counter[str]) -> Bytes:
    if isinstance(reports, np.ndarray) and reports.dtype == np.uint8 and reports.ndim == 2:
        rows: Bytes = reports if chosen is None else reports[_as_many(chosen, len(reports))]
        if rows.shape[1] == length:
            return rows
        bad["length"] += len(rows)
        return np.empty((0, length), dtype=np.uint8)
    if isinstance(reports, (bytes, bytearray, memoryview, str)) or not isinstance(reports, Iterable):
        raise TypeError("reports must be a list of bytes objects, or the array that encode gives")
    listed = [_as_bytes(report) for report in reports]
    if chosen is not None:
        listed = [report for report, is_first in zip(listed, _as_many(chosen, len(listed)), strict=True) if is_first]
    fitting = [report for report in listed if len(report) == length]
    bad["length"] += len(listed) - len(fitting)
    return np.frombuffer(b"".join(fitting), dtype=np.uint8).reshape(len(fitting), length)


def _as_bytes(report: object) -> bytes:
    """Its bytes; none of what has no bytes."""
    if isinstance(report, (bytes, bytearray)) or (
        isinstance(report, (memoryview, np.ndarray)) and report.itemsize == 1
    ):
        return bytes(report)
    return b""


def _as_many(chosen: Booleans, count: int) -> Booleans:
    if len(chosen) != count:
        raise ValueError(f"ids must be as many as reports: {len(chosen)} for {count}")
    return chosen


def fingerprint(text: str, width: int = 4) -> int:
    """So many bytes of its SHA-256, as a number."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:width], "little")


# payloads


def packed(numbers: Integers, width: int = 4) -> Bytes:
    """Each number below 2^(8·width) as little-endian bytes."""
    return numbers.astype("<u8").view(np.uint8).reshape(len(numbers), 8)[:, :width]


def unpacked(payloads: Bytes, start: int = 0, width: int = 4) -> NDArray[np.uint64]:
    """The numbers of these bytes of each payload."""
    whole = np.zeros((len(payloads), 8), dtype=np.uint8)
    whole[:, :width] = payloads[:, start : start + width]
    return whole.view("<u8").ravel().astype(np.uint64)
