"""What an engine's language is, as a table of rules. What has no rule cannot be said in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discreet.engines.rewriting.terms import NOTHING, Term, Type, common
from discreet.engines.rewriting.tree import UnknownError

Rule = Callable[[Sequence[Term]], Term]
"""From printed arguments to the printed call; `UnknownError` for what it does not know."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a function is written for arguments of these types, and what it gives. {0} is the first argument."""

    takes: tuple[Type, ...]
    text: str
    gives: Type


@dataclass(frozen=True, slots=True)
class Order:
    """An item of an ORDER BY."""

    term: Term
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Dialect:
    """One engine's language.

    functions    for each function of DuckDB the forms that it has here; the first that fits is taken.
    rules        functions of which constants say what is meant, such as parts of dates.
    aggregates   the same for aggregates, beside COUNT(*).
    casts        for each pair of types a text with {0}, and {low} and {high} for whole numbers.
    types        what the types of terms are called.
    """

    name: str
    functions: Mapping[str, Sequence[Form]]
    rules: Mapping[str, Rule]
    aggregates: Mapping[str, Sequence[Form]]
    casts: Mapping[tuple[Type, Type], str]
    types: Mapping[Type, str]
    identifier: Callable[[str], str]
    literal: Callable[[Type, str], str]
    """A constant of a type; `UnknownError` for one that the engine cannot hold."""
    comparable: Callable[[Term], str]
    """A term to be compared by size: texts bytewise."""
    same: str = "({0} IS NOT DISTINCT FROM {1})"
    listed: str = "ARRAY[{}]"
    item: str = "({0})[{1}]"
    materialized: str = "MATERIALIZED "
    inlined: str = "NOT MATERIALIZED "
    named: str = "(SELECT {2} FROM (SELECT {0} AS {1}) AS {3})"
    """A value {0} that is called {1} inside of {2}; {3} is a name that nothing else has."""
    first: Callable[[str, Sequence[Order], bool], str] | None = None
    """The first value in an order, or the last, of a group."""
    collected: str = "array_agg({})"
    filters: str = "{0} FILTER (WHERE {1})"
    semi: str | None = None
    """How SEMI joins are called; None where they have to be written as EXISTS."""
    anti: str | None = None
    unordered: str = ""
    """What stands in a window of ranks that has no order."""

    def call(self, function: str, arguments: Sequence[Term], forms: Sequence[Form]) -> Term:
        """The call of a function, by the first of its forms whose types fit."""
        for form in forms:
            if len(form.takes) == len(arguments) and all(map(fits, arguments, form.takes)):
                texts = [self.as_type(argument, wanted) for argument, wanted in zip(arguments, form.takes, strict=True)]
                return Term(form.text.format(*texts), form.gives)
        raise UnknownError(f"{function}({', '.join(argument.type.name for argument in arguments)})")

    def as_type(self, term: Term, wanted: Type) -> str:
        """A term as a value of a type that holds all values of its own."""
        if term.type == wanted:
            return term.text
        if term.type == NOTHING:
            return f"CAST(NULL AS {self.type(wanted)})"
        if not fits(term, wanted):
            raise UnknownError(f"{term.type.name} where {wanted.name} is wanted")
        return self.casts[term.type, wanted].format(term.text)

    def alike(self, terms: Sequence[Term]) -> tuple[list[str], Type]:
        """Terms as values of the type that all of them have together."""
        shared = common(term.type for term in terms)
        if shared == NOTHING:
            return [term.text for term in terms], shared
        return [self.as_type(term, shared) for term in terms], shared

    def type(self, wanted: Type) -> str:
        if wanted not in self.types:
            raise UnknownError(f"values of the type {wanted.name}")
        return self.types[wanted]


def fits(term: Term, wanted: Type) -> bool:
    """Whether a term can stand where a type is wanted, because that one is wider."""
    if term.type in (wanted, NOTHING):
        return True
    try:
        return common((term.type, wanted)) == wanted
    except UnknownError:
        return False
