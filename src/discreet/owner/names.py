"""What names tell by themselves: which column looks like an identifier, what kind of thing a column may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from discreet.policy import Kind

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_IDENTIFIERS: Final = frozenset({"id", "uuid", "guid", "identifier"})
_PLAIN: Final = frozenset({"pid", "uid", "ssn"})
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


def named_thing(column: str) -> str:
    """What an identifier names, as far as its own name tells.

    >>> named_thing("patient_id"), named_thing("id")
    ('patient', 'person')
    """
    return " ".join(word for word in words(column) if word not in _IDENTIFIERS | _PLAIN) or "person"


def likely_kind(column: str) -> Kind:
    """The type that a column's name suggests; text if it suggests nothing.

    >>> [str(likely_kind(name)) for name in ("age", "birthDate", "seen_at", "is_vip", "ward")]
    ['integer', 'date', 'timestamp', 'boolean', 'text']
    """
    parts = set(words(column))
    return next((kind for kind, hints in _HINTS.items() if parts & set(hints.split())), Kind.TEXT)
