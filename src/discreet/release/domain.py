"""A domain: the cells that rows fall into, known in advance from what is public about the columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exact import number
from discreet.exit import Exit
from discreet.mechanisms.arrays import Integers
from discreet.policy import Kind
from discreet.policy.problems import meant
from discreet.release.attributes import OUTSIDE, Attribute, Cut, Edge, Known, Listed, Unlisted, cut
from discreet.release.codec import stored
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

MOST_CELLS: Final = 2**24
"""Of a histogram over a whole domain."""
Bins = Mapping[str, Any]
"""By column: how many bins, their edges, or a part of dates such as "month"."""


@stored
@dataclass(frozen=True)
class Domain:
    """Attributes side by side; a cell is one code of each."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = [attribute.name.lower() for attribute in self.attributes]
        if not names or len(set(names)) != len(names):
            raise ValueError("a domain has one or more attributes, each with a name of its own")

    # from public facts

    @classmethod
    def of(cls, columns: Mapping[str, Any], *, bins: Bins | None = None, nullable: Sequence[str] = ()) -> Domain:
        """Of columns that the caller describes: a list of values, a pair of bounds, `bool`, or `str` for private text.

        >>> Domain.of({"sex": ["F", "M"], "age": (0, 110)}, bins={"age": [0, 18, 65, 110]}).shape
        (2, 3)
        """
        cuts = dict(bins or {})
        attributes = [
            _described(name, facts, cuts.pop(name, None), name in nullable) for name, facts in columns.items()
        ]
        _demand_used(cuts, list(columns))
        return _made(attributes)

    @classmethod
    def declared(
        cls, fields: Sequence[Field], *, columns: Sequence[str] | None = None, bins: Bins | None = None
    ) -> Domain:
        """Of columns of a relation, by what the policy and the text say about their values."""
        cuts = dict(bins or {})
        chosen = list(fields) if columns is None else [_named(fields, name) for name in columns]
        attributes = [_attribute(field, cuts.pop(field.name, None)) for field in chosen]
        _demand_used(cuts, [field.name for field in chosen])
        return _made(attributes)

    @classmethod
    def settled(
        cls,
        given: Domain | None,
        fields: Sequence[Field] | None,
        *,
        columns: Sequence[str] | None = None,
        bins: Bins | None = None,
    ) -> Domain:
        """The domain that a publication is about: the caller's, of columns that are there; or what is declared."""
        if given is not None:
            if not isinstance(given, Domain):
                raise TypeError("a domain is a Domain: Domain.of({…})")
            if columns is not None or bins:
                raise Refused("release-invalid", "a domain has its columns and bins", "give the domain alone")
            for attribute in given.attributes if fields is not None else ():
                _named(fields or (), attribute.name)
            return given
        if fields is None:
            raise Refused("release-invalid", "nothing is known about the columns", "give a domain: Domain.of({…})")
        return cls.declared(fields, columns=columns, bins=bins)

    # shape

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """Its attributes, all of which have cells."""
        private = [attribute.name for attribute in self.attributes if isinstance(attribute, Unlisted)]
        if private:
            raise Refused(
                "undeclared-values",
                f"the values of {private[0]} are not declared",
                "list them in the policy or in the domain, or leave the column out",
            )
        return tuple(attribute for attribute in self.attributes if not isinstance(attribute, Unlisted))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.known)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def only(self, names: Sequence[str]) -> Domain:
        """Some of its attributes, in this order."""
        return _made([self.attributes[self.index(name)] for name in names])

    def index(self, name: str) -> int:
        """Where an attribute stands, or a refusal."""
        lowered = [attribute.name.lower() for attribute in self.attributes]
        if str(name).lower() not in lowered:
            raise _unknown(name, self.names)
        return lowered.index(name.lower())

    def demand_small(self, most: int = MOST_CELLS, fix: str = "use fewer columns, or larger bins") -> None:
        """Refuse a domain with too many cells."""
        if self.size > most:
            raise Refused("release-invalid", f"the domain has {self.size:,} cells; {most:,} are the most here", fix)

    # rows

    def codes(self, rows: Rows) -> Integers:
        """For each row the code of each attribute; −1 where it has none. Each by its own value alone."""
        codes = [attribute.codes(rows.array(attribute.name)) for attribute in self.known]
        return np.stack(codes, axis=1)

    def inside(self, rows: Rows) -> list[NDArray[np.int32]]:
        """The codes of each attribute, column by column, without the rows that have none: in half of the memory."""
        columns = [attribute.codes(rows.array(attribute.name)).astype(np.int32) for attribute in self.known]
        inside = np.logical_and.reduce([column != OUTSIDE for column in columns])
        return columns if inside.all() else [column[inside] for column in columns]

    def cells(self, codes: Integers) -> Integers:
        """The number of each row's cell, the last attribute running fastest; rows outside are left out."""
        inside = codes[(codes != OUTSIDE).all(axis=1)]
        cells: Integers = np.ravel_multi_index(tuple(inside.T), self.shape).astype(np.int64)
        return cells

    def histogram(self, codes: Integers) -> Integers:
        """How many rows each cell has.

        Theorem  A unit of at most r rows moves it by `moved(r)`.
        Proof    Each row is in one cell at most, by its own values, so a unit changes the counts by some v ≥ 0 with
                 Σv ≤ r: its L1 norm is at most r, and its L2 norm at most its L1 norm (all rows may be in one cell).
        """
        return np.bincount(self.cells(codes), minlength=self.size).astype(np.int64).reshape(self.shape)

    @staticmethod
    def moved(rows: int) -> Sensitivity:
        """How far a unit of at most so many rows moves a histogram."""
        return Sensitivity.cells(1, rows)

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """What stands for each cell, in order."""
        return (
            tuple(attribute.label(code) for attribute, code in zip(self.known, cell, strict=True))
            for cell in np.ndindex(*self.shape)
        )

    # private texts

    @property
    def unlisted(self) -> tuple[Unlisted, ...]:
        return tuple(attribute for attribute in self.attributes if isinstance(attribute, Unlisted))

    def selected(self, rows: Rows, exit_: Exit, share: Fraction, delta: Fraction) -> Domain:
        """The domain with the values of private texts that partition selection finds, for a share of the cost.

        Theorem  It costs the share, and δ, of what the exit may let out.
        Proof    Each of the k private columns gets share/k and δ/k. In one column a unit has at most as many values as
                 rows, and counts once for each; the rest is the theorem of `KeySelection`.
        """
        columns = len(self.unlisted)
        attributes: list[Attribute] = []
        for attribute in self.attributes:
            if isinstance(attribute, Unlisted):
                units = rows.units_by_value(attribute.name)
                keys = exit_.select_keys(units, rows.most, share / columns, delta / columns)
                attributes.append(attribute.listed([key[0] for key in keys]))
            else:
                attributes.append(attribute)
        return replace(self, attributes=tuple(attributes))


# what is public about a column


def _attribute(field: Field, bins: object) -> Attribute:
    """By what policy and text say."""
    domain, name, nullable = field.expr.domain, field.name, field.expr.domain.nullable
    if domain.kind is Kind.BOOLEAN:
        return Listed(name, Kind.BOOLEAN, (False, True), nullable)
    if domain.kind is not None and domain.values:
        return Listed(name, domain.kind, tuple(domain.values), nullable)
    if domain.kind is Kind.TEXT:
        return Unlisted(name, nullable)
    low, high = domain.low, domain.high
    if domain.kind is None or low is None or high is None or not low < high:  # type: ignore[operator]
        raise _unbounded(name)
    return cut(name, domain.kind, low, high, bins, nullable=nullable, step=domain.step)


def _unbounded(name: str) -> Refused:
    return Refused(
        "undeclared-bounds",
        f"{name} has no bounds that leave room for a value",
        f"add min and max to the policy, select CLAMP({name}, 0, 100) AS {name}, or give a domain",
    )


def _described(name: str, facts: Any, bins: object, nullable: bool) -> Attribute:
    """By what the caller says."""
    if facts is bool:
        return Listed(name, Kind.BOOLEAN, (False, True), nullable)
    if facts is str:
        return Unlisted(name, nullable)
    try:
        if isinstance(facts, tuple) and len(facts) == 2 and not isinstance(facts[0], str):
            kind, low, high = _bounds(name, *facts)
            return cut(name, kind, low, high, bins, nullable=nullable)
        values = tuple(facts)
        return Listed(name, _kind(values), values, nullable)
    except (TypeError, ValueError) as wrong:
        fix = "describe a column by a list of values, a pair of bounds, bool, or str for private text"
        raise Refused("release-invalid", str(wrong), fix) from None


def _bounds(name: str, low: Any, high: Any) -> tuple[Kind, Edge, Edge]:
    kind = _kind((low, high))
    if kind in (Kind.INTEGER, Kind.NUMBER):
        low, high = number(low, name), number(high, name)
    if not low < high:
        raise _unbounded(name)
    return kind, low, high


KINDS: Final[tuple[tuple[Callable[[Any], bool], Kind], ...]] = (
    (lambda value: isinstance(value, bool), Kind.BOOLEAN),
    (lambda value: isinstance(value, int), Kind.INTEGER),
    (lambda value: isinstance(value, str), Kind.TEXT),
    (lambda value: isinstance(value, datetime), Kind.TIMESTAMP),
    (lambda value: isinstance(value, date) and not isinstance(value, datetime), Kind.DATE),
    (lambda value: not isinstance(value, bool | str | date), Kind.NUMBER),
)


def _kind(values: Sequence[Any]) -> Kind:
    """The type that all of them have; whole numbers among others are numbers."""
    for is_one, kind in KINDS:
        if values and all(map(is_one, values)):
            return kind
    raise TypeError("values of one column are of one type")


def _named(fields: Sequence[Field], name: object) -> Field:
    named = [field for field in fields if isinstance(name, str) and field.name.lower() == name.lower()]
    if len(named) != 1:
        raise _unknown(name, [field.name for field in fields])
    return named[0]


def _unknown(name: object, known: Sequence[str]) -> Refused:
    near = meant(name, known) if isinstance(name, str) else None
    return Refused("unknown-column", "that is none of the columns", near or f"columns: {', '.join(known)}")


def _demand_used(cuts: Mapping[str, Any], names: Sequence[str]) -> None:
    if cuts:
        raise _unknown(next(iter(cuts)), names)


def _made(attributes: Sequence[Attribute]) -> Domain:
    try:
        return Domain(tuple(attributes))
    except ValueError as wrong:
        raise Refused("release-invalid", str(wrong), "name each column once") from None


__all__ = ["MOST_CELLS", "Attribute", "Bins", "Cut", "Domain", "Known", "Listed", "Unlisted"]
