"""Expressions over the columns of a relation: their engine text and what is known of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Final

from discreet.composed import LARGEST, Sql, cut, keyword, literal, repeated, sql, weighed
from discreet.policy.layout import TYPES
from discreet.policy.model import Key, Kind
from discreet.quoting import TEXT_LENGTH
from discreet.sql.domain import Domain, loosened

INTERVAL: Final = "DP_INTERVAL"
"""How the functions begin that give the ends of intervals."""
SHORT_TEXT: Final = 64
LONG_TEXT: Final = LARGEST // 512
"""What a function weighs that goes through longer texts: DuckDB looks at interrupts after 2,048 rows, and a row takes
some 3 µs for each. So a query that is made of nothing else ends some seconds after its time at the latest."""


class Result(StrEnum):
    """What the engine's form of a function gives, and so what has to be done to it before anybody sees it."""

    DOUBLE = "a DOUBLE, never NaN where the arguments are not"
    UNSURE = "a DOUBLE that may be NaN"
    TEXT = "a VARCHAR"
    EXACT = "a BIGINT, BOOLEAN, DATE or TIMESTAMP"
    CHOICE = "one of its arguments, or NULL"


@dataclass(frozen=True, slots=True)
class Function:
    """One allowed function: what it takes, its engine form, its interval rule, its NULL rule and its way out.

    Theorem  What leaves a function is a normal value: no −0.0, no NaN, no text of more than `TEXT_LENGTH` characters.
    Proof    `normal` is the one way out. x + 0.0 is 0.0 for x = −0.0, and x for any other; NaN becomes NULL wherever it
             can arise; a text whose length, added up from those of the arguments, may be too large is cut. What is
             chosen among normal values is normal, and so are columns (`STORED`) and literals.

    takes    a letter for each argument: n number, i whole number, t text, b boolean, d date or time, a anything, s of
             one kind with the other s, c a constant; a last `*` repeats the argument before it.
    form     the engine's form of it, from those of the arguments (numbers come as DOUBLE).
    gives    the domain of the result from those of the arguments.
    result   what the form gives, by which it leaves.
    chained  arithmetic that gives NaN for NaN, and takes the sign of 0 for nothing: its arguments may come as they are
             computed, and are made normal once, with the result. Each made so by itself, they would double the text.
    strict   whether NULL comes out only where NULL goes in. `own_nulls`: `gives` says it itself.
    """

    name: str
    takes: str
    form: Callable[[Sequence[Sql]], Sql]
    gives: Callable[..., Domain]
    result: Result
    strict: bool = True
    own_nulls: bool = False
    chained: bool = False

    def normal(self, computed: Sql, domain: Domain) -> Sql:
        """What the form gives, as it leaves the function."""
        if self.result is Result.DOUBLE:
            return sql("({} + 0e0)", computed)
        if self.result is Result.UNSURE:
            return repeated("CASE WHEN NOT isnan({0}) THEN {0} + 0e0 END", computed)
        return cut(computed) if self.result is Result.TEXT and domain.length > TEXT_LENGTH else computed

    def __call__(self, parts: Sequence[Sql], arguments: Sequence[Expr]) -> Expr:
        """Applied to arguments, whose texts come in the types that the form takes."""
        computed, domain = self.form(parts), self._given([argument.domain for argument in arguments])
        if self._reads_texts and any(argument.is_long for argument in arguments):
            computed = weighed(computed, LONG_TEXT)
        return Expr(self.normal(computed, domain), _cut(domain), self, tuple(arguments), computed=computed)

    @property
    def _reads_texts(self) -> bool:
        """Whether it goes through texts, letter by letter: text functions and casts do."""
        return "t" in self.takes or (self.takes == "a" and not self.own_nulls)

    def domain(self, arguments: Sequence[Domain]) -> Domain:
        """Of what leaves the function."""
        return _cut(self._given(arguments))

    def _given(self, arguments: Sequence[Domain]) -> Domain:
        domain = self.gives(*arguments)
        if self.own_nulls:
            return domain
        return domain.but(
            nullable=any(part.nullable for part in arguments),
            certain=self.strict and all(part.certain for part in arguments),
        )


def _cut(domain: Domain) -> Domain:
    return replace(domain, length=TEXT_LENGTH) if domain.length > TEXT_LENGTH else domain


@dataclass(frozen=True, slots=True)
class Constant:
    """What a literal says; `exact` if it was written in decimals or is whole, and not as a float such as 1e-1."""

    value: Key | Fraction | None
    exact: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A column, a literal, or a function of other expressions. Two that have the same text are the same."""

    sql: Sql
    domain: Domain
    function: Function | None = None
    arguments: tuple[Expr, ...] = ()
    written: Constant | None = None
    """Of a literal: what it says. Nothing else has a value that is known while a query is planned."""
    single: bool = False
    """Whether it is a subquery's value: the same in every row, and known only when the query runs."""
    stored: Sql | None = None
    """Of a column: the one that holds it in whole steps."""
    computed: Sql | None = None
    """Of a function: what its form gives, before it is made normal."""

    def __eq__(self, other: object) -> bool:
        return (self.sql, self.domain) == (other.sql, other.domain) if isinstance(other, Expr) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sql)

    @classmethod
    def literal(cls, value: Key | Fraction | None, *, exact: bool = True) -> Expr:
        return cls(literal(value), Domain.of(value), written=Constant(value, exact))

    @property
    def is_interval_end(self) -> bool:
        """Whether it is DP_INTERVAL_LOW or DP_INTERVAL_HIGH of something."""
        return self.function is not None and self.function.name.startswith(INTERVAL)

    @property
    def constant(self) -> bool:
        return self.written is not None

    @property
    def value(self) -> Key | Fraction | None:
        """What a literal says; None for NULL, and for everything that is no literal."""
        return None if self.written is None else self.written.value

    @property
    def key(self) -> Sql:
        """As it can stand in GROUP BY and ORDER BY: a bare literal there is a position, or an error."""
        if not self.constant:
            return self.sql
        return sql("CAST({} AS {})", self.sql, keyword(TYPES[self.domain.kind or Kind.TEXT]))

    @property
    def is_long(self) -> bool:
        """Whether rows may hold texts that take a while."""
        return self.domain.kind is Kind.TEXT and not self.constant and self.domain.length > SHORT_TEXT

    def under(self, facts: Mapping[Sql, Domain]) -> Domain:
        """Its domain where more is known about some columns."""
        return self._domain(lambda leaf: facts.get(leaf.sql, leaf.domain), facts, {})

    def loosened(self) -> Domain:
        """Its domain where bounds are what floats make of them."""
        return self._domain(lambda leaf: leaf.domain if leaf.constant else loosened(leaf.domain), {}, {})

    def _domain(self, known: Callable[[Expr], Domain], facts: Mapping[Sql, Domain], seen: dict[int, Domain]) -> Domain:
        """From the domains of its leaves, each part once: one that stands in many places is one object."""
        if self.function is None or self.sql in facts:
            return known(self)
        if id(self) not in seen:
            arguments = [argument._domain(known, facts, seen) for argument in self.arguments]
            seen[id(self)] = self.function.domain(arguments)
        return seen[id(self)]

    def parts(self) -> Iterator[Expr]:
        """It and all that it is made of, each once."""
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            part = waiting.pop()
            if id(part) not in seen:
                seen.add(id(part))
                waiting += part.arguments
                yield part

    def columns(self) -> set[Sql]:
        """The columns in it."""
        return {part.sql for part in self.parts() if part.function is None and not (part.constant or part.single)}

    def uses(self, function: str) -> bool:
        """Whether a function of this name is part of it."""
        return any(part.function is not None and part.function.name == function for part in self.parts())

    @property
    def has_subquery(self) -> bool:
        """Whether some of it is known only when the query runs."""
        return any(part.single for part in self.parts())
