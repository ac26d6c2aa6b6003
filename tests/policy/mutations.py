"""Policies with something changed: keys, values, or bytes."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, datetime, time, timedelta, timezone
from math import inf, nan
from random import Random
from typing import Any, Final

from tests.policy.examples import BANK, HOSPITAL, toml

Path = tuple[str | int, ...]
DOCUMENTS: Final = [tomllib.loads(HOSPITAL), tomllib.loads(BANK)]
KEYS: Final = [
    "epsilon", "delta", "name", "state", "max_cost", "budget", "unit", "tables", "analysts", "source", "public",
    "copy", "max_rows", "max_groups", "max_rows_per_group", "columns", "format", "table", "type", "min", "max", "step",
    "values", "nullable", "owner", "row", "_discreet_rank", "", "a b", "a\nb", "\x00", "\x7f", "é", "\u202e",
    "😀", "x" * 300,
]  # fmt: skip
VALUES: Final[list[Any]] = [
    True, False, 0, 1, -1, 2, 10**9, 10**9 + 1, 2**63, -(2**63), 10**4000, 0.0, -0.0, 0.1, 1e-9, 1e-324, 5e-324, 1e300,
    inf, -inf, nan, "", "row", "id", "text", "integer", "csv", "a.csv", "*.duckdb", "b.db#t", "s3://x/y.csv", "\x00",
    "a -> b.c", "account_id -> accounts.customer_id", "x -> orders.account_id -> accounts.customer_id", "->", "\ud7ff",
    "😀" * 50, "x" * 10**4, date(1, 1, 1), date(9999, 12, 31), datetime(2024, 1, 1), datetime.max,
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=23))), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))),
    time(12), [], {}, [[]], [{}], ["F", "M"], [1, True], [nan, nan], [0, "0"], [date(2024, 1, 1), datetime(2024, 1, 1)],
    {"type": "text"}, {"min": 0, "max": 1}, {"epsilon": 1}, {"": {}},
]  # fmt: skip
TOKENS: Final = [
    b"\x00", b"\x07", b"\x1b[31m", b"\x7f", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(),
    "😀".encode(), b"nan", b"inf", b"-inf", b"1e999", b"9" * 5000, b"0x" + b"f" * 5000, b"[" * 2000, b"{a=" * 2000,
    b"a." * 3000 + b"a = 1\n", b"'", b'"', b"'''", b'"""', b"\\", b"=", b"[", b"]", b"[[", b"]]", b"{", b"}", b",",
    b".", b"#", b"\n", b"\r", b"->", b"true", b"false", b"2024-02-30", b"2024-01-01T00:00:00+99:00", b"\n[budget]\n",
    b"\n[[tables]]\n", b"\n[tables.patients]\n", b"_", b"-", b"0", b"1", b" ",
]  # fmt: skip


def paths(value: object, here: Path = ()) -> Iterator[Path]:
    """Where the keys and list items of a document stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*here, key)
            yield from paths(item, (*here, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield (*here, at)
            yield from paths(item, (*here, at))


def holder(document: Any, path: Path) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


def without(document: dict[str, Any], path: Path) -> dict[str, Any]:
    changed = deepcopy(document)
    del holder(changed, path)[path[-1]]
    return changed


def _delete(document: Any, path: Path, _: Random) -> None:
    del holder(document, path)[path[-1]]


def _retype(document: Any, path: Path, random: Random) -> None:
    holder(document, path)[path[-1]] = deepcopy(random.choice(VALUES))


def _wrap(document: Any, path: Path, random: Random) -> None:
    kept = holder(document, path)[path[-1]]
    for _ in range(random.choice([1, 2, 40])):
        kept = [kept] if random.random() < 0.5 else {random.choice(KEYS): kept}
    holder(document, path)[path[-1]] = kept


def _rename(document: Any, path: Path, random: Random) -> None:
    owner, key = holder(document, path), path[-1]
    if isinstance(key, str):
        cut = random.randrange(len(key) + 1)
        name = random.choice([*KEYS, key[:cut] + key[cut + 1 :], key.upper(), key[:cut] + "_" + key[cut:]])
        owner[name] = owner.pop(key)


def _copy(document: Any, path: Path, random: Random) -> None:
    """The value of one key also under another, anywhere."""
    kept = deepcopy(holder(document, path)[path[-1]])
    target = random.choice(list(paths(document)))
    owner = holder(document, target)
    if isinstance(owner, list):
        owner.append(kept)
    else:
        owner[random.choice([*KEYS, str(path[-1]), str(target[-1])])] = kept


def _insert(document: Any, path: Path, random: Random) -> None:
    owner = holder(document, path)
    if isinstance(owner, dict):
        owner[random.choice(KEYS)] = deepcopy(random.choice(VALUES))
    else:
        owner.append(deepcopy(random.choice(VALUES)))


STRUCTURAL: Final[list[Callable[[Any, Path, Random], None]]] = [_delete, _retype, _wrap, _rename, _copy, _insert]


def structural(random: Random) -> bytes:
    """One to three changes of keys or values."""
    document = deepcopy(random.choice(DOCUMENTS))
    for _ in range(random.choice([1, 1, 2, 3])):
        known = list(paths(document))
        if known:
            random.choice(STRUCTURAL)(document, random.choice(known), random)
    return toml(document).encode()


def bytewise(random: Random) -> bytes:
    """One to five changes of the text, whatever it means."""
    text = random.choice([HOSPITAL, BANK]).encode()
    for _ in range(random.choice([1, 1, 2, 5])):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice([0, 1, 1, 3, 30]))
        other = random.randrange(len(text) + 1)
        piece = random.choice([
            b"", random.choice(TOKENS), bytes([random.randrange(256)]), text[start:end] * 2, text[other : other + 40]
        ])  # fmt: skip
        text = text[:start] + piece + text[end:]
    return text
