"""What names tell by themselves: which column looks like an identifier, what kind of thing a column may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from discreet.policy import Kind

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_IDENTIFIERS: Final = frozenset({"id", "uuid", "guid", "identifier"})
_PLAIN: Final = frozenset({"pid", "uid", "ssn"})
_WHOSE: Final = (
    "client customer device email employee household login member participant passenger patient person respondent"
    " student subscriber user username visitor kunde kundin mitarbeiter patientin teilnehmer"
)
_PEOPLE: Final = frozenset(_WHOSE.split())
_NUMBERED: Final = ("nummer", "nr", "number", "no")
"""How columns end that number people, in names such as Kundennummer or customer_no."""
_NOBODY: Final = frozenset({"row", "e", "mail", "email", "login", "username", "no", "nr", "number"})
"""Words by which a column names people and not what they are."""
_HINTS: Final[Mapping[Kind, str]] = {
    Kind.DATE: "date day birthday dob birthdate",
    Kind.TIMESTAMP: "time timestamp at datetime when",
    Kind.BOOLEAN: "is has flag",
    Kind.INTEGER: "age ages beds children count counts days floor hour hours minutes month months nights num number"
    " pages points qty quantity rooms seats stars votes week weeks year years",
    Kind.NUMBER: "amount balance bmi charge charges cost costs distance dose duration fee fees height income latitude"
    " length longitude percent rate ratio revenue salary score size speed tax temperature total volume wage weight"
    " width",
}


def words(name: str) -> list[str]:
    """The words of a name, in lower case.

    >>> words("customerID"), words("seen_at"), words("ward")
    (['customer', 'id'], ['seen', 'at'], ['ward'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def is_identifier(column: str) -> bool:
    """Whether a column is called like one that names somebody or something.

    >>> [is_identifier(name) for name in ("patient_id", "ID", "deviceUuid", "humid", "idea")]
    [True, True, True, False, False]
    """
    parts = words(column)
    return bool(parts) and (parts[-1] in _IDENTIFIERS or column.lower() in _PLAIN)


def whose(column: str) -> int:
    """How much a column is called like one that says whose a row is: 0 is not at all.

    >>> [whose(name) for name in ("customer_id", "Kundennummer", "E-Mail", "order_id", "house_number", "age")]
    [3, 2, 2, 1, 0, 0]
    """
    parts = words(column)
    whole = "".join(parts)
    people = any(part in _PEOPLE for part in (*parts, whole))
    numbered = any(whole.startswith(person.rstrip("e")) and whole.endswith(_NUMBERED) for person in _PEOPLE)
    return 2 * (people or numbered) + is_identifier(column)


def named_thing(column: str) -> str:
    """What an identifier names, as far as its own name tells.

    >>> named_thing("patient_id"), named_thing("id"), named_thing("E-Mail"), named_thing("row")
    ('patient', 'person', 'person', 'person')
    """
    named = [word.removesuffix("nummer") for word in words(column) if word not in _IDENTIFIERS | _PLAIN | _NOBODY]
    return " ".join(filter(None, named)) or "person"


def likely_kind(column: str) -> Kind:
    """The type that a column's name suggests; text if it suggests nothing.

    >>> [str(likely_kind(name)) for name in ("age", "birthDate", "seen_at", "is_vip", "ward")]
    ['integer', 'date', 'timestamp', 'boolean', 'text']
    """
    parts = set(words(column))
    return next((kind for kind, hints in _HINTS.items() if parts & set(hints.split())), Kind.TEXT)
