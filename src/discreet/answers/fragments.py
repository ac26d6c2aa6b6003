"""Pieces of SQL that others wrote, put between words of ours: each must be whole in itself.

No question of privacy, for the whole text is planned like any other: of what a program means that puts its own
condition beside somebody else's. There is no parser here; what a parser could see in two ways is refused.
"""

from __future__ import annotations

import re
from typing import Final

from discreet.errors import Refused
from discreet.quoting import name

_MARKS: Final = re.compile(r"""'|"|--|/\*\+?|\$\w*\$|[()\[\]{};]""")
_ENDS: Final = {
    "'": re.compile(r"(?:[^']|'')*+'"),
    '"': re.compile(r'[^"]*+"'),
    "--": re.compile(r"[^\n\r]*+"),
}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_WORDS: Final = frozenset({
    "all", "alter", "and", "any", "as", "asc", "between", "by", "case", "connect_by_root", "create", "cross",
    "current_catalog", "current_date", "current_datetime", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "desc", "distinct", "drop", "else", "end", "except", "exists", "explain",
    "false", "fetch", "for", "force", "from", "full", "glob", "grant", "group", "having", "if", "ilike", "in",
    "inner", "insert", "install", "intersect", "interval", "into", "is", "isnull", "join", "lambda", "lateral",
    "left", "like", "limit", "localtime", "localtimestamp", "map", "not", "notnull", "null", "offset", "on",
    "only", "or", "order", "outer", "over", "partition", "partitioned_by", "positional", "qualify", "regexp",
    "returning", "revoke", "right", "rlike", "rollback", "select", "session_user", "summarize", "tablesample",
    "then", "top", "true", "uncache", "union", "user", "using", "values", "when", "where", "window", "with",
    "xor",
})  # fmt: skip
"""Words that may mean something else than a column of that name."""
_NESTED: Final = re.compile(r"/\*|\*/")
_PREFIX: Final = re.compile(r"[\w$]")
"""Before a quote it may mean that a backslash keeps the next one from ending the text."""
_SIGNS: Final = "-/#|<>@!*+=&^~%:?."
_PAIRS: Final = {")": "(", "]": "["}


def bare(column: str) -> str:
    """The name of a column as it stands in SQL: in quotes, unless it is a plain word that means nothing else.

    >>> bare("cost"), bare("group"), bare("a b")
    ('cost', '"group"', '"a b"')
    """
    return column if _PLAIN.fullmatch(column) and column not in _WORDS else name(column)


def fragment(text: str) -> str:
    """The text, if it can neither open nor close what stands around it: its quotes, comments and brackets end in it.

    >>> fragment("cost > (1 + 2) -- costly")
    'cost > (1 + 2) -- costly'
    """
    index, opened = 0, list[str]()
    while (mark := _MARKS.search(text, index)) is not None:
        sign, index = mark[0].lower(), mark.end()
        if sign in "([":
            opened.append(sign)
        elif sign in _PAIRS:
            if not opened or opened.pop() != _PAIRS[sign]:
                raise _torn()
        elif sign in ("{", "}", ";", "/*+") or sign.startswith("$") or _is_operator(text, mark):
            raise _torn()
        else:
            index = _skipped(text, sign, index)
    if opened:
        raise _torn()
    return text


def _is_operator(text: str, mark: re.Match[str]) -> bool:
    """Whether what looks like a comment may be the rest of an operator, such as // before *."""
    return mark[0] in ("--", "/*") and text[mark.start() - 1 : mark.start()] in tuple(_SIGNS)


def _skipped(text: str, sign: str, index: int) -> int:
    """Where that which a mark begins ends."""
    if sign == "/*":
        end = _comment_end(text, index)
    else:
        match = _ENDS[sign].match(text, index)
        end = None if match is None else match.end()
    if sign == "'" and end is not None and "\\" in text[index:end] and _PREFIX.match(text[index - 2 : index - 1]):
        raise Refused("syntax", "a text has a prefix, and a backslash in it", "pass it as a parameter: x = $name")
    if end is None:
        raise Refused("syntax", "a quote or a comment does not end", "close it")
    return end


def _comment_end(text: str, index: int) -> int | None:
    depth = 1
    for bracket in _NESTED.finditer(text, index):
        depth += 1 if bracket[0] == "/*" else -1
        if not depth:
            return bracket.end()
    return None


def _torn() -> Refused:
    return Refused("syntax", "a parenthesis is not closed, or closes nothing", "write each part whole: x > 5")
