"""How a question is asked, as JSON has it: for the ledger's record, and between client and server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Final

from discreet.accounting.part import Part
from discreet.accounting.record import BlockNames, Key
from discreet.errors import Refused
from discreet.exact import number

COSTS: Final = ("epsilon", "rho", "delta", "error", "group_size")
MOST_BLOCKS: Final = 100_000
"""Blocks that are named one by one."""
LONGEST_NUMBER: Final = 1000
"""Characters of a number that is written as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a caller says. Nothing of it is believed yet."""

    sql: Any
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    error: Any = None
    group_size: Any = None
    """Of averages: the smallest group, in rows, for which a wanted error has to hold."""
    confirm: Any = False
    """Whether a cost that was found for a wanted error may be more than a tenth of what is left."""
    confidence: Any = 0.95
    params: Mapping[str, object] | None = None
    analyst: str | None = None
    fresh: bool = False
    dialect: str | None = None
    part: Part | None = None
    """Which part of a partition it is about."""
    blocks: Any = None
    """Which blocks of a stream it reads: "newest 7", "2024-03", a list of labels or numbers; then `BlockNames`."""
    now: datetime | None = None
    """What CURRENT_DATE and the like mean; fixed when the query is asked."""
    key: Key | None = None
    """The name of this request: one that is sent twice is charged once."""


def written(call: Call) -> dict[str, Any]:
    """All of a call beside its text that changes the answer; what was left out is left out.

    >>> written(Call(sql="…", epsilon=0.1, params={"day": date(2026, 1, 2)}))
    {'epsilon': 0.1, 'params': {'day': {'date': '2026-01-02'}}}
    """
    record = {name: _value(getattr(call, name)) for name in COSTS if getattr(call, name) is not None}
    if call.confidence != 0.95:
        record["confidence"] = _value(call.confidence)
    if call.params:
        record["params"] = _value(call.params)
    if call.dialect is not None:
        record["dialect"] = call.dialect
    if call.now is not None:
        record["now"] = _value(call.now)
    if call.blocks is not None:
        record["blocks"] = _blocks(call.blocks)
    if call.part is not None:
        named = {name: getattr(call.part, name) for name in ("table", "column", "key", "most")}
        record["part"] = {name: _value(value) for name, value in named.items()}
    return record


def read(sql: str, record: Mapping[str, Any], **more: Any) -> Call:
    """The call that was written, or that somebody else says is one."""
    return Call(sql=sql, **{name: value_read(value) for name, value in record.items()}, **more)


def _blocks(blocks: Any) -> Any:
    """Which blocks are named; what they mean is looked at where they are."""
    if isinstance(blocks, BlockNames):
        return blocks.fields()
    if isinstance(blocks, Mapping):
        return {str(name): _blocks(each) for name, each in blocks.items()}
    if isinstance(blocks, list | tuple | range | set | frozenset) and len(blocks) <= MOST_BLOCKS:
        return [_blocks(each) for each in blocks]
    if isinstance(blocks, date):
        return blocks.isoformat()
    if isinstance(blocks, str) or type(blocks) is int:
        return blocks
    raise Refused("unknown-block", "blocks are named by texts and whole numbers", 'write blocks="newest 7"')


def _value(value: Any) -> Any:
    """What JSON cannot say is a table with one key that names its kind."""
    if type(value) is float:
        return value
    if isinstance(value, Mapping):
        return {str(name): _value(each) for name, each in value.items()}
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational | Decimal):
        text = str(value)
        if len(text) > LONGEST_NUMBER:
            raise Refused("syntax", "a number is too long to be put on record", "write it with fewer digits")
        return {"number": text}
    if isinstance(value, Real):
        return float(value)
    raise Refused("syntax", "a value cannot be used", "pass numbers, texts, dates, True, False, None")


def _number(text: str) -> Fraction:
    """A fraction or a decimal; the exponent of a decimal is looked at before it fills the memory."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError(text)
    return Fraction(text) if "/" in text else number(Decimal(text), "a number")


KINDS: Final[dict[str, Callable[[str], Any]]] = {
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "number": _number,
}


def value_read(value: Any) -> Any:
    """The value that was written."""
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        kind, text = next(iter(value.items()))
        if kind in KINDS and isinstance(text, str):
            try:
                return KINDS[kind](text)
            except (ArithmeticError, ValueError):
                raise Refused("syntax", f"that is no {kind}", f"write it as {EXAMPLES[kind]}") from None
    return {name: value_read(each) for name, each in value.items()}


EXAMPLES: Final = {"timestamp": "2026-01-02T15:30:00", "date": "2026-01-02", "number": "0.1 or 1/10"}
