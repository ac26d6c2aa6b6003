"""What an owner decided about a draft, in the policy's own words: values, under the keys that the policy has for them.

`tables.visits.columns.notes = false` leaves a column out, `tables.visits = false` a table. The desk decides by forms,
and `discreet init --decide` by lines of TOML: both become one mapping, and that one policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from discreet.owner.toml import key, value
from discreet.policy import Finding, PolicyError
from discreet.policy.document import document
from discreet.policy.problems import choices, key_path, noun

Decisions = Mapping[str, Any]
DECIDED: Final = ("budget", "unit", "tables", "analysts", "implicit_bounds", "max_cost", "acknowledged")
"""What a draft leaves to its owner."""
_SECTIONS: Final = ("budget", "unit", "tables", "analysts")
_WHERE: Final = "--decide"
_EXAMPLE: Final = "write it like 'tables.visits.max_rows = 20'"


def read_decisions(lines: Iterable[str]) -> dict[str, Any]:
    """What lines of TOML decide; a `PolicyError` if one of them decides nothing, or two decide the same."""
    decided: dict[str, Any] = {}
    for line in lines:
        try:
            raw = document(line.encode())
        except UnicodeEncodeError:
            raw = Finding.error("", "is not UTF-8", _EXAMPLE)
        if isinstance(raw, Finding):
            raise PolicyError(_WHERE, [raw])
        if not raw:
            raise _wrong((), "decides nothing", _EXAMPLE)
        _merge(decided, raw, ())
    _check(decided)
    return decided


def _merge(decided: dict[str, Any], more: Mapping[str, Any], path: tuple[str, ...]) -> None:
    for name, given in more.items():
        known = decided.get(name)
        if isinstance(known, dict) and isinstance(given, dict):
            _merge(known, given, (*path, name))
        elif name in decided:
            raise _wrong((*path, name), "is decided twice", "leave one of them out")
        else:
            decided[name] = given


def _check(decided: Decisions) -> None:
    for name, given in decided.items():
        if name not in DECIDED:
            raise _wrong((name,), "is nothing to decide here", choices(name, DECIDED))
        if name in _SECTIONS:
            _table((name,), given)
    for name, share in decided.get("analysts", {}).items():
        _table(("analysts", name), share)
    for name, table in decided.get("tables", {}).items():
        if table is False:
            continue
        _table(("tables", name), table)
        for column, given in _table(("tables", name, "columns"), table.get("columns", {})).items():
            if given is not False:
                _table(("tables", name, "columns", column), given)


def _table(path: tuple[str, ...], given: object) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    out = ", or false to leave it out" if path[0] == "tables" and len(path) in (2, 4) else ""
    raise _wrong(path, f"must be a table{out}, not {noun(given)}", _EXAMPLE)


def demand_known(decided: Decisions, held: Mapping[str, Sequence[str]]) -> None:
    """Raise if something is decided about tables or columns that no source has, or has no longer."""
    problems = []
    for name, table in decided.get("tables", {}).items():
        if name not in held:
            problems.append(Finding.error(key_path("tables", name), "no source has this table", choices(name, held)))
            continue
        columns = table.get("columns", {}) if table else {}
        for column in [column for column in columns if column not in held[name]]:
            where = key_path("tables", name, "columns", column)
            problems.append(Finding.error(where, "the source has no such column", choices(column, held[name])))
    if problems:
        raise PolicyError(_WHERE, problems)


def lines_of(decided: Decisions) -> list[str]:
    """The same as lines, one for each decision.

    >>> lines_of({"budget": {"epsilon": 1.0}, "tables": {"t": {"columns": {"age": {"min": 0, "max": 9}, "id": False}}}})
    ['budget.epsilon = 1.0', 'tables.t.columns.age = { min = 0, max = 9 }', 'tables.t.columns.id = false']
    """
    return [f"{'.'.join(map(key, path))} = {value(given)}" for path, given in _leaves(decided, ())]


def _leaves(given: Decisions, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, each in given.items():
        here = (*path, name)
        whole = len(here) == 4 or (here[0] == "analysts" and len(here) == 2)
        if isinstance(each, Mapping) and not whole:
            yield from _leaves(each, here)
        else:
            yield here, each


def init_command(sources: Sequence[str], output: str, name: str, decided: Decisions) -> list[str]:
    """The command that writes the same policy, in words as a program gets them."""
    decisions = [word for line in lines_of(decided) for word in ("--decide", line)]
    return ["discreet", "init", "--output", output, "--name", name, *decisions, "--", *sources]


def _wrong(path: tuple[str, ...], message: str, fix: str) -> PolicyError:
    return PolicyError(_WHERE, [Finding.error(key_path(*path), message, fix)])
