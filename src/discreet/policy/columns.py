"""Reading the columns of a table: types, bounds, steps, values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from discreet import exact
from discreet.policy.model import Bound, Column, Key, Kind
from discreet.policy.problems import choices, noun, shown
from discreet.policy.section import Field, RuleError, Section, flag, number, text
from discreet.quoting import TEXT_LENGTH

MOST_VALUES: Final = 10_000
_MOST_STEPS: Final = 2**62
_MOST_INTEGER: Final = 2**63

_ALIASES: Final = {"float": Kind.NUMBER, "decimal": Kind.NUMBER}
_HABITS: Final = {
    "int": "integer", "bigint": "integer", "double": "number", "real": "number", "numeric": "number",
    "string": "text", "str": "text", "varchar": "text", "bool": "boolean", "datetime": "timestamp",
}  # fmt: skip
"""What other systems call our types."""

_KIND_OF_VALUES: Final[dict[type, Kind]] = {
    str: Kind.TEXT,
    int: Kind.INTEGER,
    bool: Kind.BOOLEAN,
    date: Kind.DATE,
}
_VALUES_OF_KIND: Final = {kind: python for python, kind in _KIND_OF_VALUES.items()}
_KIND_OF_BOUNDS: Final[dict[type, Kind]] = {Fraction: Kind.NUMBER, date: Kind.DATE, datetime: Kind.TIMESTAMP}
_BOUNDS_OF_KIND: Final = {kind: python for python, kind in _KIND_OF_BOUNDS.items()} | {Kind.INTEGER: Fraction}
_IDENTIFYING: Final = (Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)
"""Types of keys: equal values of them are the same value, however they are compared."""
_EXAMPLES: Final[dict[type, str]] = {
    Fraction: "a number",
    date: "a date like 2026-12-31",
    datetime: "a timestamp like 2026-12-31T23:59:59",
    str: 'texts like "F"',
    int: "integers like 1",
    bool: "true and false",
}


def _kind(value: object) -> Kind:
    name = text(value)
    known = {**{kind.value: kind for kind in Kind}, **_ALIASES}
    if name in known:
        return known[name]
    habit = _HABITS.get(name.casefold(), name)
    raise RuleError(f"unknown type {shown(name)}", choices(habit, known))


def _bound(value: object) -> Bound:
    if type(value) is datetime:
        return _zoneless(value)
    if type(value) is date:
        return value
    if isinstance(value, str):
        raise RuleError(
            "must be a number, a date or a timestamp, not a text",
            "write numbers and dates without quotes; for a column of texts, list the public ones: values = [...]",
        )
    bound = number(value)
    if abs(bound) > exact.MOST_EXTENT:
        raise RuleError("must lie between -1e100 and 1e100", "use another unit")
    return bound


def _zoneless(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise RuleError("has a time zone", "write it in UTC, without the zone")
    return value


def _step(value: object) -> Fraction:
    step = number(value)
    if step <= 0:
        raise RuleError("must be above 0", "write the smallest difference that matters, such as 0.01")
    return exact.extent(step, "it")


def _values(value: object) -> tuple[Key, ...]:
    if not isinstance(value, list):
        raise RuleError(f"must be a list, not {noun(value)}", 'write it like ["F", "M"]')
    if not 0 < len(value) <= MOST_VALUES:
        raise RuleError(f"must list 1 to {MOST_VALUES} values, not {len(value)}", "leave it out for private keys")
    kinds = {type(item) for item in value}
    if len(kinds) > 1:
        nouns = sorted({noun(item) for item in value})
        raise RuleError(f"must be of one type, not of several ({', '.join(nouns)})", "write all of them alike")
    if not kinds <= _KIND_OF_VALUES.keys():
        raise RuleError(f"must be texts, integers, booleans or dates, not {noun(value[0])}", "use min and max instead")
    for item in value:
        _value(item)
    if len(set(value)) < len(value):
        twice = next(item for item, times in Counter(value).items() if times > 1)
        raise RuleError(f"must be distinct: {shown(str(twice))} stands there twice", "remove one")
    return tuple(value)


def _value(item: object) -> None:
    if type(item) is int:
        number(item)
    if isinstance(item, str) and "\0" in item:
        raise RuleError("must not contain the character NUL", "remove it")
    if isinstance(item, str) and len(item) > TEXT_LENGTH:
        raise RuleError(f"must have at most {TEXT_LENGTH:,} characters", "texts are cut there: declare what is left")


KEYS: Final[Mapping[str, Field]] = {
    "type": Field(_kind),
    "min": Field(_bound),
    "max": Field(_bound),
    "step": Field(_step),
    "values": Field(_values),
    "nullable": Field(flag),
    "unique": Field(flag),
}


def read_columns(section: Section, raw: object) -> dict[str, Column]:
    """The columns that are right; the others are reported."""
    columns = ((name, _column(there, name, value)) for name, there, value in section.named(raw, "column"))
    return {name: column for name, column in columns if column is not None}


def _column(section: Section, name: str, raw: object) -> Column | None:
    before = len(section.problems)
    fields = section.fields(raw, KEYS)
    if len(section.problems) > before:
        return None  # whether the rest fits together depends on what was meant
    kind = _inferred(fields)
    if kind is None:
        section.report("has no type", 'add min and max, or values = [...], or type = "text" (or another type)')
        return None
    bounds = _checked_bounds(section, kind, fields)
    _check_step(section, kind, fields, bounds)
    _check_values(section, kind, fields)
    if fields.get("unique") and kind not in _IDENTIFYING:
        section.at("unique").report(f"a column of type {kind} cannot be a key", "remove it, or declare another type")
    if len(section.problems) > before:
        return None
    flags = fields.get("nullable", False), fields.get("unique", False)
    return Column(name, kind, bounds, fields.get("step"), fields.get("values"), *flags)


def _inferred(fields: Mapping[str, Any]) -> Kind | None:
    """The declared type, or the one that values or bounds show."""
    if "type" in fields:
        return Kind(fields["type"])
    if "values" in fields:
        return _KIND_OF_VALUES[type(fields["values"][0])]
    given = [fields[key] for key in ("min", "max") if key in fields]
    return _KIND_OF_BOUNDS[type(given[0])] if given else None


def _checked_bounds(section: Section, kind: Kind, fields: Mapping[str, Any]) -> tuple[Bound, Bound] | None:
    given = [key for key in ("min", "max") if key in fields]
    if "values" in fields or not given:
        return None  # values with bounds are reported with the values
    if kind not in _BOUNDS_OF_KIND:
        fix = "list the public values instead: values = [...]" if kind is Kind.TEXT else "remove it"
        for key in given:
            section.at(key).report(f"a column of type {kind} has no {key}", fix)
        return None
    python = _BOUNDS_OF_KIND[kind]
    unfit = [key for key in given if type(fields[key]) is not python]
    for key in unfit:
        section.at(key).report(f"does not fit type {kind}", f"write min and max alike, each {_EXAMPLES[python]}")
    for key in {"min", "max"}.difference(given):
        section.at(key).report("missing", f"add {key}, or remove {given[0]}: a column has both or neither")
    if unfit or len(given) < 2:
        return None
    return _ordered(section, kind, (fields["min"], fields["max"]))


def _ordered(section: Section, kind: Kind, bounds: tuple[Any, Any]) -> tuple[Bound, Bound]:
    low, high = bounds
    if low >= high or (isinstance(low, Fraction) and float(low) >= float(high)):
        # mechanisms work out their error in floats, where the bounds must differ too
        section.at("min").report("must lie below max", "write the lower bound as min and the upper one as max")
    if kind is Kind.INTEGER:
        for key, bound in (("min", low), ("max", high)):
            if bound.denominator != 1 or not -_MOST_INTEGER <= bound < _MOST_INTEGER:
                section.at(key).report("must be an integer of 64 bits", 'write a whole number, or type = "number"')
    return bounds


def _check_step(section: Section, kind: Kind, fields: Mapping[str, Any], bounds: tuple[Any, Any] | None) -> None:
    if "step" not in fields or "values" in fields:
        return
    there, step = section.at("step"), fields["step"]
    if kind not in (Kind.INTEGER, Kind.NUMBER):
        there.report(f"a column of type {kind} has no step", "remove it")
        return
    if kind is Kind.INTEGER and step.denominator != 1:
        there.report("must be an integer in a column of integers", 'write a whole number, or type = "number"')
    if bounds is None:
        return
    low, high = bounds
    if step >= high - low:
        there.report("must be smaller than max − min", "write the smallest difference that matters, such as 0.01")
    elif max(abs(low), abs(high)) >= step * _MOST_STEPS:
        there.report("is too small for these bounds: values in steps would not fit into 64 bits", "write a larger step")


def _check_values(section: Section, kind: Kind, fields: Mapping[str, Any]) -> None:
    if "values" not in fields:
        return
    there = section.at("values")
    also = [key for key in ("min", "max", "step") if key in fields]
    if also:
        there.report(f"cannot stand beside {', '.join(also)}", "keep the values, or the bounds")
    python = _VALUES_OF_KIND.get(kind)
    if python is None:
        there.report(f"a column of type {kind} has no values", "use min and max, or declare another type")
    elif type(fields["values"][0]) is not python:
        there.report(f"do not fit type {kind}", f"write {_EXAMPLES[python]}, or leave out type")
