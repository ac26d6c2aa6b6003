"""What sqlglot does not parse, taken off the tokens before: EXPLAIN PRIVACY, BigQuery's clause and named arguments.

`AGG(x, bounds => (a, b))` becomes `marker(AGG(x), 'bounds', a, b)`, which any dialect can parse, and after that a node
of its own kind. The marker is a name that does not occur in the question, so that nobody can write it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import Edit, Refused
from discreet.sql.syntax import Bounded, Clause

PER_GROUP: Final = "contribution_bounds_per_group"
PER_ROW: Final = "contribution_bounds_per_row"
EXPLAIN: Final = re.compile(r"\s*EXPLAIN\s+PRIVACY\b", re.IGNORECASE)
_CLAUSE: Final = "DIFFERENTIAL_PRIVACY"
AUTO: Final = 0
"""The contribution bound of a query that has it found."""
PUBLIC_GROUPS: Final = "PUBLIC_GROUPS"
STRATEGIES: Final = ("LAPLACE_THRESHOLD", PUBLIC_GROUPS)
"""Private keys are selected by noise; or there may be none."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a question says about itself: its cost, and what one unit may contribute."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    error: Fraction | None = None
    group_size: int | None = None
    confirm: bool | None = None
    confidence: Fraction | None = None
    privacy_unit_column: str | None = None
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None
    max_rows_per_group: int | None = None
    other: bool = False
    """Whether private keys that are not selected are counted together."""
    group_selection_strategy: str | None = None
    min_privacy_units_per_group: int | None = None

    @property
    def cost(self) -> dict[str, Fraction]:
        """What it says about the cost."""
        said = {label: getattr(self, label) for label in ("epsilon", "delta", "rho", "error")}
        return {label: value for label, value in said.items() if value is not None}


NOTHING: Final = Options()


def has_clause(text: str) -> bool:
    """Whether a text may hold BigQuery's clause: it is then read as BigQuery's dialect."""
    return re.search(rf"\bWITH\s+{_CLAUSE}\b", text, re.IGNORECASE) is not None


def without_clauses(tokens: Sequence[Token]) -> tuple[list[Token], list[Options], str]:
    """The tokens with a mark in the place of each clause, as the first item of its SELECT; what the clauses say."""
    marker = _unwritten(tokens, "clause")
    rest: list[Token] = []
    clauses: list[Options] = []
    index = 0
    while index < len(tokens):
        rest.append(tokens[index])
        if not _begins(tokens, index):
            index += 1
            continue
        options, index = _options(tokens, index + 3)
        if index < len(tokens) and tokens[index].token_type in (TokenType.DISTINCT, TokenType.ALL):
            rest.append(tokens[index])
            index += 1
        like = tokens[min(index, len(tokens) - 1)]
        rest += [_made(TokenType.VAR, f"{marker}_{len(clauses)}", like), _made(TokenType.COMMA, ",", like)]
        clauses.append(options)
    return rest, clauses, marker


def with_clauses(tree: exp.Query, marker: str, count: int) -> None:
    """Put nodes of their own kind in the place of marked items."""
    for select in tree.find_all(exp.Select):
        first = select.expressions[0] if select.expressions else None
        if isinstance(first, exp.Column) and first.name.startswith(f"{marker}_"):
            select.set("privacy", Clause(number=int(first.name.removeprefix(f"{marker}_"))))
            select.set("expressions", select.expressions[1:])
            count -= 1
    if count:
        raise Refused("syntax", "a privacy clause stands in the wrong place", "write it right after SELECT")


def together(clauses: Sequence[Options]) -> Options:
    """What clauses say about a query as a whole.

    Theorem  A query with several clauses costs what they say together: ε, δ and ρ add up (sequential composition), are
             charged as one bill before anything is read, and each clause gets its part.
    """
    if len(clauses) < 2:
        return clauses[0] if clauses else NOTHING
    costs = [options.cost for options in clauses]
    confidences = {options.confidence for options in clauses} - {None}
    if any(cost.keys() != costs[0].keys() for cost in costs) or "error" in costs[0] or len(confidences) > 1:
        raise Refused(
            "cost-invalid",
            "the privacy clauses of one query do not add up",
            "give each of them epsilon (and delta), or none of them; and one confidence",
        )
    total: dict[str, Any] = {label: sum((cost[label] for cost in costs), Fraction(0)) for label in costs[0]}
    return replace(NOTHING, confidence=next(iter(confidences), None), **total)


def _begins(tokens: Sequence[Token], index: int) -> bool:
    kinds = [token.token_type for token in tokens[index : index + 2]]
    named = index + 2 < len(tokens) and tokens[index + 2].text.upper() == _CLAUSE
    return kinds == [TokenType.SELECT, TokenType.WITH] and named


def _options(tokens: Sequence[Token], index: int) -> tuple[Options, int]:
    """The options that begin at a place, and the place after them."""
    if index >= len(tokens) or tokens[index].text.upper() != "OPTIONS":
        return NOTHING, index
    given: dict[str, Any] = {}
    index += 1
    _expect(tokens, index, TokenType.L_PAREN)
    index += 1
    _expect(tokens, index)
    while tokens[index].token_type is not TokenType.R_PAREN:
        label = tokens[index].text.lower()
        if label not in _READERS:
            known = ", ".join(_READERS)
            unknown = Refused("syntax", "the privacy clause has an option that is not known", f"options: {known}")
            unknown.span = tokens[index].start, tokens[index].end
            raise unknown
        if label in given:
            raise Refused("syntax", f"{label} is given twice", "give it once")
        _expect(tokens, index + 1, TokenType.EQ)
        end = index + 2
        while end < len(tokens) and tokens[end].token_type not in (TokenType.COMMA, TokenType.R_PAREN):
            end += 1
        given[label] = _READERS[label]("".join(token.text for token in tokens[index + 2 : end]), label)
        index = end + (end < len(tokens) and tokens[end].token_type is TokenType.COMMA)
        _expect(tokens, index)
    return Options(**given), index + 1


def _expect(tokens: Sequence[Token], index: int, kind: TokenType | None = None) -> None:
    if index >= len(tokens) or (kind is not None and tokens[index].token_type is not kind):
        raise Refused("syntax", "the privacy clause is malformed", "write OPTIONS(epsilon = 1, delta = 1e-6)")


_EXAMPLES: Final = {"delta": "1e-6", "confidence": "0.95", "error": "10"}
"""Of numbers of options; others are 1."""


def _number(text: str, label: str) -> Fraction:
    example = f"{label} = {_EXAMPLES.get(label, 1)}"
    wrong = Refused(
        "cost-invalid", f"{label} is not a number", f"write {example}", edit=Edit(f"{label} = {text}", example)
    )
    if not re.fullmatch(r"[-+]?[0-9._]{1,30}([eE][-+]?[0-9]{1,3})?", text):
        raise wrong
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise wrong from None


def _whole(text: str, label: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise Refused("cost-invalid", f"{label} is not a whole number above 0", f"write {label} = 1")
    return int(text)


def _limit(text: str, label: str) -> int | None:
    """A limit; NULL sets none, and the policy's holds."""
    return None if text.upper() == "NULL" else _whole(text, label)


def _limit_or_auto(text: str, label: str) -> int | None:
    return AUTO if text.upper() == "AUTO" else _limit(text, label)


def _strategy(text: str, label: str) -> str:
    if text.upper() not in STRATEGIES:
        raise Refused("syntax", f"there is no such {label}", f"use one of: {', '.join(STRATEGIES)}")
    return text.upper()


def _word(text: str, label: str) -> str:  # noqa: ARG001  (all readers look alike)
    return text


def _flag(text: str, label: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise Refused("syntax", f"{label} is true or false", f"write {label} = true")
    return text.lower() == "true"


_OWN: Final[dict[str, Callable[[str, str], Any]]] = {
    "privacy_unit_column": _word,
    "max_groups_contributed": _limit_or_auto,
    "max_rows_contributed": _limit_or_auto,
    "max_rows_per_group": _limit,
    "group_selection_strategy": _strategy,
    "min_privacy_units_per_group": _limit,
    "other": _flag,
    "group_size": _whole,
    "confirm": _flag,
}
_READERS: Final = {field.name: _OWN.get(field.name, _number) for field in fields(Options)}


def with_bounds_outside(tokens: Sequence[Token]) -> tuple[list[Token], str]:
    """Named arguments of aggregates, each moved into a call around the aggregate, and the name of that call."""
    marker = _unwritten(tokens, "bounded")
    if not any(token.token_type is TokenType.FARROW for token in tokens):
        return list(tokens), marker
    moved: list[Token] = []
    calls: list[int] = []
    """Where the calls begin that are open; -1 for parentheses that call nothing."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if _names_argument(tokens, index):
            start = next((start for start in reversed(calls) if start >= 0), -1)
            if not calls or calls[-1] < 0 or start < 0:
                raise Refused("syntax", "a named argument stands outside of a call", "write SUM(x, name => (0, 1))")
            bounds, index = _bounds(tokens, index)
            moved[start:start] = [_made(TokenType.VAR, marker, token), _made(TokenType.L_PAREN, "(", token)]
            moved += [tokens[index], *bounds, _made(TokenType.R_PAREN, ")", token)]
            calls.pop()
            index += 1
            continue
        if token.token_type is TokenType.L_PAREN:
            callee = bool(moved) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", moved[-1].text) is not None
            calls.append(len(moved) - 1 if callee else -1)
        elif token.token_type is TokenType.R_PAREN and calls:
            calls.pop()
        moved.append(token)
        index += 1
    return moved, marker


def _unwritten(tokens: Sequence[Token], stem: str) -> str:
    """A name that no token has or holds, however it is quoted: the parser sees nothing but tokens."""
    texts = {token.text.lower() for token in tokens if stem in token.text.lower()}
    number = 0
    while any(f"{stem}_{number}" in text for text in texts):
        number += 1
    return f"{stem}_{number}"


def with_bounds(tree: exp.Query, marker: str) -> None:
    """Put nodes of their own kind in the place of marked calls."""
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # the inner ones first: outer ones hold them
        if str(call.this).lower() != marker:
            continue
        parts = call.expressions
        if len(parts) != 4:
            raise Refused("syntax", "bounds are two numbers, the lower first", f"write {PER_GROUP} => (0, 100)")
        call.replace(Bounded(this=parts[0], label=str(parts[1].this), low=parts[2], high=parts[3]))


def _names_argument(tokens: Sequence[Token], index: int) -> bool:
    kinds = [token.token_type for token in tokens[index : index + 3]]
    return len(kinds) == 3 and kinds[0] is TokenType.COMMA and kinds[2] is TokenType.FARROW


def _bounds(tokens: Sequence[Token], index: int) -> tuple[list[Token], int]:
    """`, name => (a, b)` as further arguments, and the place of the parenthesis that ends the call."""
    label = tokens[index + 1].text.lower()
    if label not in (PER_GROUP, PER_ROW):
        raise Refused("syntax", "a named argument is not known", f"use {PER_GROUP} or {PER_ROW}")
    end = index + 3
    inner: list[Token] = []
    if end < len(tokens) and tokens[end].token_type is TokenType.L_PAREN:
        end += 1
        while end < len(tokens) and tokens[end].token_type is not TokenType.R_PAREN:
            inner.append(tokens[end])
            end += 1
    end += 1
    if not inner or end >= len(tokens) or tokens[end].token_type is not TokenType.R_PAREN:
        raise Refused("syntax", "the bounds are malformed", f"write {label} => (0, 100), last in the call")
    comma = _made(TokenType.COMMA, ",", tokens[index])
    return [comma, _made(TokenType.STRING, label, tokens[index]), comma, *inner], end


def _made(kind: TokenType, text: str, like: Token) -> Token:
    return Token(kind, text, like.line, like.col, like.start, like.end)
