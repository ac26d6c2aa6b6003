"""CSV, record by record: what is no record is left out, one by one, and counted for the owner.

DuckDB's reader gives up on a file for one bad line. So every file is gone through once by ourselves and written anew,
without what is no record: with exactly as many fields as the header, quotes as RFC 4180 has them, UTF-8, no NUL, at
most `MAX_RECORD` bytes. What a record is depends on who wrote the file, and that is for the policy to say:

multiline = false  Every line is a record, or none. Theorem: whether and how a line is read depends on that line alone.
                   It takes for granted that no value holds a line break.
multiline = true   A quoted value may hold line breaks (RFC 4180). Theorem: if values are quoted as it demands, then
                   whether and how a record is read depends on that record alone. It takes for granted that no value
                   can put a bare quote into the file. What such a quote opens, and nothing closes, is one bad line.
not said           As with `true`, but where a record of several lines holds a line that would be a record by itself,
                   nobody can tell whether a quote swallows the rows of others, or a value pretends to be rows of
                   others: the file is refused, to the owner alone, who says which of the two it is.

Proof   Lines with balanced quotes are judged by themselves, from their own bytes. A line whose quote stays open begins
        a record of several lines if, read strictly, that quote closes and the record has as many fields as the header;
        else it is left out alone, and the next line is judged as if it had not been there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


BLOCK: Final = 2**23
MAX_RECORD: Final = 2**20
"""Bytes of a record."""
FARTHEST: Final = 2**26
"""Bytes within which an open quote must close."""
_QUOTE, _RETURN, _LINE = b'"\r\n'
_DECIDE: Final = "write multiline = true if values may hold line breaks, multiline = false if every line is a record"

Bytes: TypeAlias = "NDArray[np.uint8]"
Mask: TypeAlias = "NDArray[np.bool_]"
Places: TypeAlias = "NDArray[np.intp]"


class AmbiguousError(ValueError):
    """What is a record cannot be told from the file alone. For the owner."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.fix = _DECIDE


@dataclass
class Counts:
    """What was found in the files of a table."""

    read: int = 0
    dropped: int = 0
    """What is no record."""
    longer: int = 0
    """Records of several lines, among those that were read."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.read + other.read, self.dropped + other.dropped, self.longer + other.longer)


@lru_cache
def record(delimiter: bytes, fields: int | None = None) -> re.Pattern[bytes]:
    """A record with this many fields, or with any number, and the end of its line. Nothing is tried twice."""
    more = b"*+" if fields is None else b"{%d}+" % (fields - 1)
    return re.compile(rb"%s(?>%s%s)%s\r?+\n" % (_field(delimiter), re.escape(delimiter), _field(delimiter), more))


@lru_cache
def _beginning(delimiter: bytes) -> re.Pattern[bytes]:
    """As much as can be the beginning of a record."""
    last = rb'(?>"(?>[^"]++|"")*+"?+|[^"\r\n%s]*+)\r?+' % re.escape(delimiter)
    return re.compile(rb"(?>%s%s)*+%s" % (_field(delimiter), re.escape(delimiter), last))


def _field(delimiter: bytes) -> bytes:
    return rb'(?>"(?>[^"]++|"")*+"|[^"\r\n%s]*+)' % re.escape(delimiter)


@dataclass
class Cleaner:
    """Copies the records of a file: those of one line to `lines`, longer ones to `longer`."""

    source: BinaryIO
    lines: BinaryIO
    longer: BinaryIO
    delimiter: bytes
    fields: int
    multiline: bool | None
    before: int = 1
    """Lines before this place in the file."""
    counts: Counts = field(default_factory=Counts)
    _buffer: bytes = b""
    _ended: bool = False

    def run(self) -> Counts:
        """Go through the file from where it stands, behind its header, to its end."""
        while self._buffer or not self._ended:
            if not self._ended:
                self._read()
            end = self._buffer.rfind(b"\n") + 1
            if end:
                self._forget(self._block(end))
            elif len(self._buffer) > MAX_RECORD:
                self._skip_line()
        return self.counts

    def _read(self) -> None:
        more = self.source.read(BLOCK)
        self._ended = not more
        last = b"\n" if self._ended and self._buffer and not self._buffer.endswith(b"\n") else b""
        self._buffer += more or last

    def _forget(self, used: int) -> None:
        self.before += self._buffer.count(b"\n", 0, used)
        self._buffer = self._buffer[used:]

    def _skip_line(self) -> None:
        """Leave out a line that is longer than any record: no value of it is looked at but its quotes."""
        quotes = 0
        while (end := self._buffer.find(b"\n")) < 0 and not self._ended:
            quotes += self._buffer.count(b'"')
            self._buffer = b""
            self._read()
        quotes += self._buffer.count(b'"', 0, end + 1)
        if quotes % 2 and self.multiline is not False:
            raise AmbiguousError(f"line {self.before + 1} is very long and opens a quote that it does not close")
        self.counts.dropped += 1
        self._forget(end + 1)

    def _block(self, end: int) -> int:
        """Judge the lines up to here and write those that are records. Returns where the last record ends."""
        data = np.frombuffer(self._buffer, np.uint8, end)
        ends = np.flatnonzero(data == _LINE)
        starts = np.concatenate(([0], ends[:-1] + 1))
        good, unbalanced = _judged(data, starts, ends, self.delimiter[0], self.fields)
        blank = _blank(data, starts, ends) if self.fields > 1 else np.zeros(len(ends), np.bool_)
        inside = np.zeros(len(ends), np.bool_)
        last = 0
        for line in np.flatnonzero(unbalanced).tolist() if self.multiline is not False else ():
            start = int(starts[line])
            if start >= last and (closed := self._extended(start)) is not None:
                last = closed
                inside[line : int(np.searchsorted(starts, last))] = True
                self._keep_longer(start, last)
        whole = good & ~inside & ~blank
        self.lines.write(_written(data, starts, ends, whole))
        records = int(np.count_nonzero(whole))
        self.counts += Counts(records, int(np.count_nonzero(~inside & ~blank)) - records)
        return max(end, last)

    def _extended(self, start: int) -> int | None:
        """Where the record of several lines ends that begins here; None if there is none.

        It ends with the next line that has an odd number of quotes, or is none: so all of these are linear together.
        """
        while True:
            longer = record(self.delimiter, self.fields).match(self._buffer, start)
            if longer is not None:
                return longer.end()
            begun = _beginning(self.delimiter).match(self._buffer, start)
            tried = start if begun is None else begun.end()
            if tried < len(self._buffer) or self._ended:
                return None
            if tried - start > FARTHEST:
                self._demand_no_quote(start)
                return None
            self._read()

    def _demand_no_quote(self, start: int) -> None:
        """A quote that opens here closes nowhere near: that is a bad line if it closes nowhere, else the owner's."""
        position = self.source.tell()
        while more := self.source.read(BLOCK):
            if b'"' in more:
                raise AmbiguousError(f"line {self._number(start)} opens a quote that closes far behind")
        self.source.seek(position)

    def _keep_longer(self, start: int, end: int) -> None:
        text = self._buffer[start:end]
        if self.multiline is None:
            _, *more = re.split(rb"(?<=\n)", text)[:-1]
            if any(record(self.delimiter, self.fields).fullmatch(line) for line in more):
                number = self._number(start)
                raise AmbiguousError(
                    f"lines {number} to {number + len(more)} are one record if a quoted value holds line breaks, and "
                    "several if a quote was left open"
                )
        if len(text) > MAX_RECORD or b"\0" in text or not _is_text(text):
            self.counts += Counts(dropped=1)
        else:
            self.longer.write(text.removesuffix(b"\r\n") + b"\n" if text.endswith(b"\r\n") else text)
            self.counts += Counts(read=1, longer=1)

    def _number(self, start: int) -> int:
        return self.before + self._buffer.count(b"\n", 0, start) + 1


def _judged(data: Bytes, starts: Places, ends: Places, delimiter: int, fields: int) -> tuple[Mask, Mask]:
    """Which lines are records by themselves, and which end inside of a quote. Each depends on its own bytes alone."""
    lengths = ends - starts + 1
    apart = data == delimiter
    quoted = data == _QUOTE
    unbalanced = np.zeros(len(ends), np.bool_)
    wrong = np.zeros(len(ends), np.bool_)
    within: Mask | None = None
    if quoted.any():
        parity = np.bitwise_xor.accumulate(quoted.view(np.uint8))
        base = np.concatenate(([0], parity[ends[:-1]])).astype(np.uint8)
        unbalanced = parity[ends] != base
        within = (parity ^ np.repeat(base, lengths)).astype(np.bool_)
        apart &= ~within
        wrong[np.searchsorted(ends, _misplaced(data, quoted, within, delimiter))] = True
    counts = np.add.reduceat(apart, starts, dtype=np.int64)
    for strays in _strays(data, within):
        wrong[np.searchsorted(ends, strays)] = True
    _mark_foreign(data, starts, ends, wrong)
    return (counts == fields - 1) & ~unbalanced & ~wrong & (lengths <= MAX_RECORD), unbalanced


def _misplaced(data: Bytes, quoted: Mask, within: Mask, delimiter: int) -> Places:
    """Quotes that open in the midst of a field, or close before its end."""
    places = np.flatnonzero(quoted)
    opening = within[places]
    before = np.where(places > 0, data[places - 1], _LINE)
    after = data[np.minimum(places + 1, len(data) - 1)]
    opens = (before == delimiter) | (before == _LINE) | (before == _QUOTE)
    closes = (after == delimiter) | (after == _LINE) | (after == _QUOTE) | (after == _RETURN)
    wrong: Mask = np.where(opening, ~opens, ~closes)
    return places[wrong]


def _strays(data: Bytes, within: Mask | None) -> list[Places]:
    """NULs, and line breaks of the old kind that are neither quoted nor part of a new one."""
    positions = [np.flatnonzero(data == 0)]
    returns = np.flatnonzero(data == _RETURN)
    if returns.size:
        alone = data[np.minimum(returns + 1, len(data) - 1)] != _LINE
        positions.append(returns[alone if within is None else alone & ~within[returns]])
    return positions


def _mark_foreign(data: Bytes, starts: Places, ends: Places, wrong: Mask) -> None:
    """Mark lines that are no UTF-8."""
    if data.max() < 128 or _is_text(data.tobytes()):
        return
    for line in np.unique(np.searchsorted(ends, np.flatnonzero(data >= 128))).tolist():
        wrong[line] |= not _is_text(data[starts[line] : ends[line]].tobytes())


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _blank(data: Bytes, starts: Places, ends: Places) -> Mask:
    lengths = ends - starts
    blank: Mask = (lengths == 0) | ((lengths == 1) & (data[starts] == _RETURN))
    return blank


def _written(data: Bytes, starts: Places, ends: Places, whole: Mask) -> bytes:
    """The lines that are whole, each with one kind of end."""
    wanted = np.repeat(whole, ends - starts + 1)
    last = ends[ends > starts] - 1
    wanted[last[data[last] == _RETURN]] = False
    return data.tobytes() if wanted.all() else data[wanted].tobytes()
