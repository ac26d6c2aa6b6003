"""A text cut into statements, and what each of them is: a query, or one of the few others that a reader needs.

By words, so that quotes and comments are not cut. What is no query and not on the list is refused as by a server that
is read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from discreet.server.wire.lexer import Sort, Token, tokens
from discreet.server.wire.problems import Failed
from discreet.sql.read import MAX_CHARACTERS, MAX_TOKENS

MAX_STATEMENTS: Final = 100
ALL: Final = 2**31 - 1
"""Rows of a FETCH ALL."""


@dataclass(frozen=True, slots=True)
class Empty:
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Begin:
    tag: str = "BEGIN"


@dataclass(frozen=True, slots=True)
class End:
    """COMMIT or ROLLBACK; `chain`: and begin again."""

    commits: bool
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT, RELEASE or ROLLBACK TO: nothing is written, so nothing is undone but what was set."""

    tag: str
    name: str


@dataclass(frozen=True, slots=True)
class Set:
    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """RESET ALL, or DISCARD ALL, which forgets prepared statements, too."""

    discards: bool = False
    tag: str = "RESET"


@dataclass(frozen=True, slots=True)
class Show:
    name: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """What has nothing to do here."""

    tag: str


@dataclass(frozen=True, slots=True)
class Deallocate:
    name: str | None


@dataclass(frozen=True, slots=True)
class Declare:
    name: str
    holds: bool
    select: Select


@dataclass(frozen=True, slots=True)
class Fetch:
    name: str
    count: int
    moves: bool = False


@dataclass(frozen=True, slots=True)
class CloseCursor:
    name: str | None


@dataclass(frozen=True, slots=True)
class Select:
    """A query, of the catalogue or of data; `offset` is where its text begins in what was sent."""

    text: str
    offset: int = 0


Statement = (
    Empty | Begin | End | Savepoint | Set | Reset | Show | Ignored | Deallocate | Declare | Fetch | CloseCursor | Select
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one statement."""

    tokens: tuple[Token, ...]
    text: str
    """All that was sent."""

    @property
    def upper(self) -> list[str]:
        """Each in capitals; quoted ones are no words."""
        return [token.upper for token in self.tokens]

    def name(self, index: int) -> str:
        """A name: quoted as it is, else in lower case."""
        if index >= len(self.tokens) or self.tokens[index].sort not in (Sort.WORD, Sort.NAME):
            raise self.wrong()
        token = self.tokens[index]
        return token.text if token.sort is Sort.NAME else token.text.lower()

    def select(self, first: int = 0) -> Select:
        start = self.tokens[first].start
        return Select(self.text[start : self.tokens[-1].end], start)

    def wrong(self) -> Failed:
        near = self.tokens[-1].text[:40]
        return Failed("42601", f'syntax error at or near "{near}"', code="syntax")


def statements(text: str) -> list[Statement]:
    """What a text says, statement by statement; none is a single empty one."""
    if len(text) > MAX_CHARACTERS:
        raise Failed("54000", f"a text has at most {MAX_CHARACTERS} characters", "send less", code="too-large")
    pieces: list[list[Token]] = [[]]
    for count, token in enumerate(tokens(text)):
        if count >= MAX_TOKENS:
            raise Failed("54001", f"a text has at most {MAX_TOKENS} words", "send less", code="too-complex")
        if token.text == ";" and token.sort is Sort.SIGN:
            pieces.append([])
        else:
            pieces[-1].append(token)
    whole = [Words(tuple(piece), text) for piece in pieces if piece]
    if len(whole) > MAX_STATEMENTS:
        raise Failed("54000", f"at most {MAX_STATEMENTS} statements are sent at once", "send less", code="too-large")
    return [understood(words) for words in whole] or [Empty()]


def understood(words: Words) -> Statement:
    """What one statement is, by its first word."""
    first = words.upper[0]
    read = BY_WORD.get(first)
    if read is not None:
        return read(words)
    if first in CHANGES:
        raise Failed("25006", f"cannot execute {first} in a read-only transaction", "only SELECT is answered here")
    if first in NEVER:
        raise Failed("0A000", f"{first} is not supported here", NEVER[first])
    return words.select()


def _begin(words: Words) -> Statement:
    return Begin("START TRANSACTION" if words.upper[0] == "START" else "BEGIN")


def _end(words: Words) -> Statement:
    said = words.upper
    if "TO" in said and said[0] in ("ROLLBACK", "ABORT"):
        return Savepoint("ROLLBACK", words.name(len(said) - 1))
    if "PREPARED" in said:
        raise Failed("0A000", "prepared transactions are not supported here")
    return End(said[0] in ("COMMIT", "END"), "CHAIN" in said and "NO" not in said)


def _savepoint(words: Words) -> Statement:
    return Savepoint(words.upper[0], words.name(len(words.tokens) - 1 if len(words.tokens) > 1 else 1))


def _set(words: Words) -> Statement:
    """`name = value, value`, `name TO value`, `NAMES value`, `TIME ZONE value`, and what says nothing to a reader."""
    said, local, at = words.upper, False, 1
    if said[1:2] and said[1] in ("SESSION", "LOCAL"):
        local, at = said[1] == "LOCAL", 2
    if said[at : at + 1] and said[at] in ("TRANSACTION", "CHARACTERISTICS", "CONSTRAINTS"):
        return Ignored("SET")
    if said[at : at + 1] and said[at] in ("ROLE", "AUTHORIZATION"):
        if said[at + 1 :] in (["NONE"], ["DEFAULT"]):
            return Ignored("SET")
        raise Failed("42501", "permission denied to set role", "connect with the token of the other one")
    if said[at : at + 2] == ["TIME", "ZONE"]:
        return _assigned("timezone", words, at + 2, local)
    if said[at : at + 1] == ["NAMES"]:
        return _assigned("client_encoding", words, at + 1, local)
    name, after = _dotted(words, at)
    if said[after : after + 1] not in (["="], ["TO"]):
        raise words.wrong()
    return _assigned(name, words, after + 1, local)


def _dotted(words: Words, at: int) -> tuple[str, int]:
    """A name with dots in it, and where it ends."""
    name = words.name(at)
    while words.upper[at + 1 : at + 2] == ["."]:
        name, at = f"{name}.{words.name(at + 2)}", at + 2
    return name, at + 1


def _assigned(name: str, words: Words, at: int, local: bool) -> Set:
    if words.upper[at:] in (["DEFAULT"], ["LOCAL"]):
        return Set(name, None, local)
    return Set(name, ", ".join(_values(words, at)), local)


def _values(words: Words, at: int) -> Iterator[str]:
    """Values with commas between them. One is a word, a text or a number such as -1e-6: `1 0` is not 10."""
    value: list[Token] = []
    for token in words.tokens[at:]:
        if token.upper == "," and value:
            yield "".join(part.text for part in value)
            value = []
        elif value and (token.start != value[-1].end or not (token.upper and value[-1].upper)):
            raise words.wrong()
        else:
            value.append(token)
    if not value or value[-1].upper == ",":
        raise words.wrong()
    yield "".join(part.text for part in value)


def _reset(words: Words) -> Statement:
    said = words.upper
    if said[1:] == ["ALL"]:
        return Reset()
    if said[1:] in (["ROLE"], ["SESSION", "AUTHORIZATION"]):
        return Ignored("RESET")
    return Set(_rest(words), None)


def _show(words: Words) -> Statement:
    return Show(_rest(words))


def _rest(words: Words) -> str:
    """What follows the first word, as the name of a setting."""
    if len(words.tokens) < 2:
        raise words.wrong()
    if words.upper[2:3] == ["."]:
        return _dotted(words, 1)[0]
    return " ".join(token.text for token in words.tokens[1:])


def _discard(words: Words) -> Statement:
    return Reset(discards=True, tag="DISCARD ALL") if words.upper[1:] == ["ALL"] else Ignored("DISCARD")


def _deallocate(words: Words) -> Statement:
    at = 2 if words.upper[1:2] == ["PREPARE"] else 1
    return Deallocate(None if words.upper[at:] == ["ALL"] else words.name(at))


def _declare(words: Words) -> Statement:
    name = words.name(1)
    said = words.upper
    if "CURSOR" not in said or "FOR" not in said[said.index("CURSOR") :]:
        raise words.wrong()
    start = said.index("FOR", said.index("CURSOR")) + 1
    before = set(said[2:start])
    if start >= len(words.tokens) or not before <= DECLARED:
        raise words.wrong()
    if "SCROLL" in before and "NO" not in before:
        raise Failed("0A000", "cursors go forwards only here", "write DECLARE … NO SCROLL CURSOR FOR …")
    return Declare(name, "HOLD" in before and "WITHOUT" not in before, words.select(start))


DECLARED: Final = frozenset(
    {"BINARY", "ASENSITIVE", "INSENSITIVE", "NO", "SCROLL", "CURSOR", "WITH", "WITHOUT", "HOLD", "FOR"}
)
ONWARDS: Final = frozenset({"NEXT", "FORWARD", "FROM", "IN"})


def _fetch(words: Words) -> Statement:
    said = words.upper[1:-1]
    counts = [word for word in said if word not in ONWARDS]
    if len(words.tokens) < 2 or len(counts) > 1:
        raise words.wrong()
    count = 1
    if counts == ["ALL"]:
        count = ALL
    elif counts and counts[0].isdecimal() and len(counts[0]) <= 10:
        count = min(int(counts[0]), ALL)
    elif counts:
        raise Failed("55000", "cursor can only scan forward", "write FETCH FORWARD n FROM name")
    return Fetch(words.name(len(words.tokens) - 1), count, words.upper[0] == "MOVE")


def _close(words: Words) -> Statement:
    return CloseCursor(None if words.upper[1:] == ["ALL"] else words.name(1))


def _ignored(tag: str) -> Callable[[Words], Statement]:
    return lambda _: Ignored(tag)


def _explain(words: Words) -> Statement:
    if words.upper[1:2] != ["PRIVACY"]:
        raise Failed("0A000", "EXPLAIN is not supported here", "write EXPLAIN PRIVACY SELECT …: what it would cost")
    return words.select()


BY_WORD: Final[dict[str, Callable[[Words], Statement]]] = {
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _end,
    "END": _end,
    "ROLLBACK": _end,
    "ABORT": _end,
    "SAVEPOINT": _savepoint,
    "RELEASE": _savepoint,
    "SET": _set,
    "RESET": _reset,
    "SHOW": _show,
    "DISCARD": _discard,
    "DEALLOCATE": _deallocate,
    "DECLARE": _declare,
    "FETCH": _fetch,
    "MOVE": _fetch,
    "CLOSE": _close,
    "EXPLAIN": _explain,
    "UNLISTEN": _ignored("UNLISTEN"),
}
CHANGES: Final = frozenset(
    {
        "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "TRUNCATE", "GRANT", "REVOKE", "COMMENT",
        "VACUUM", "ANALYZE", "REINDEX", "CLUSTER", "REFRESH", "REASSIGN", "SECURITY", "IMPORT", "LOCK", "REPLACE",
    }
)  # fmt: skip
_PREPARED: Final = "use your driver's prepared statements (Parse and Bind)"
NEVER: Final = {
    "COPY": "rows never leave as they are: ask a SELECT with aggregates",
    "CALL": "there are no procedures",
    "DO": "there are no procedures",
    "EXECUTE": _PREPARED,
    "PREPARE": _PREPARED,
    "LISTEN": "nothing is notified",
    "NOTIFY": "nothing is notified",
    "LOAD": "nothing can be loaded",
    "CHECKPOINT": "there is nothing to write",
}
