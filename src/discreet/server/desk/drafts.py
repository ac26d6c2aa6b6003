"""Policies that are being written: each step changes a draft as a whole, and says which version of it was looked at.

Drafts lie in memory. Until the last step nothing is written anywhere; a desk that is closed before forgets them.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from discreet.errors import Refused
from discreet.noise import SYSTEM
from discreet.owner.decisions import init_command
from discreet.owner.draft import Described, described_sources, draft
from discreet.policy import Policy, PolicyError, parse
from discreet.server.desk.files import demand_inside, is_database

MOST_COLUMNS: Final = 1000
"""Of a table: each is several fields of a form, which has no room for more."""
MAX_DRAFTS: Final = 50
"""Drafts at once; the oldest goes."""
PROVISIONAL: Final[Mapping[str, Any]] = {"budget": {"epsilon": 1.0}, "unit": {"name": "unit"}}
"""What is taken for what is not decided yet, to say what answers would be worth."""


_UNDECIDED_COLUMN: Final = re.compile(r"\.stream\.column$")
_UNDECIDED_STREAM: Final = re.compile(r"\.stream\.(column|epsilon|delta)$")
"""What a stream lacks before columns are declared, and before there is a budget."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A policy on its way: which files it is about, and what its owner decided."""

    id: str
    folder: Path
    name: str
    sources: tuple[str, ...]
    """As seen from the folder."""
    decisions: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0
    written: str | None = None
    """The file, once there is one."""

    @property
    def file(self) -> str:
        return f"{self.name}.toml"

    def tables(self) -> list[Described]:
        """The tables of its files, as they are now."""
        tables = list(described_sources(self._paths(), decided=self.decisions.get("tables", {})))
        for table in tables:
            if len(table.columns) > MOST_COLUMNS:
                raise Refused(
                    "source-unreadable",
                    f"{table.name[:60]} has {len(table.columns):,} columns, and a form here {MOST_COLUMNS:,} at most",
                    "write a file of those that analysts need, or a policy with: discreet init",
                )
        return tables

    def decided(self, table: str) -> Mapping[str, Any] | bool:
        """What is decided about a table; False: it is left out."""
        given: Mapping[str, Any] | bool = self.decisions.get("tables", {}).get(table, {})
        return given

    @property
    def growing(self) -> frozenset[str]:
        """The tables that are streams."""
        tables = self.decisions.get("tables", {}).items()
        return frozenset(name for name, given in tables if isinstance(given, Mapping) and "stream" in given)

    def text(self, decisions: Mapping[str, Any] | None = None) -> str:
        return draft(
            self._paths(), self.name, folder=self.folder, decisions=self.decisions if decisions is None else decisions
        )

    def policy(self, decisions: Mapping[str, Any] | None = None) -> Policy:
        """What it says, if it can be read."""
        return parse(self.text(decisions).encode(), self.folder / self.file)

    def provisional(self, decisions: Mapping[str, Any] | None = None) -> Policy:
        """The same, with a unit and a budget where there is none yet."""
        known = self.decisions if decisions is None else decisions
        filled = {name: {**given, **known.get(name, {})} for name, given in PROVISIONAL.items()}
        try:
            return self.policy({**known, **filled})
        except PolicyError as wrong:
            open_yet = _UNDECIDED_COLUMN if "budget" in known else _UNDECIDED_STREAM
            if not all(open_yet.search(each.where) for each in wrong.problems):
                raise
        return self.policy({**known, **filled, "tables": without_streams(known.get("tables", {}))})

    @property
    def command(self) -> list[str]:
        """What writes the same policy, without the name of the program."""
        return init_command(self.sources, self.file, self.name, self.decisions)[1:]

    def _paths(self) -> list[str]:
        """Paths as the working folder sees them: what a policy says is seen from its own."""
        demand_inside(self.folder, [source for source in self.sources if not is_database(source)])
        return [source if is_database(source) else os.path.relpath(self.folder / source) for source in self.sources]


class Drafts:
    """The drafts of a desk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._drafts: dict[str, Draft] = {}

    def begin(self, name: str, sources: Sequence[str]) -> Draft:
        made = Draft(SYSTEM.bytes(8).hex(), self._folder, name, tuple(sources))
        with self._lock:
            while len(self._drafts) >= MAX_DRAFTS:
                del self._drafts[next(iter(self._drafts))]
            self._drafts[made.id] = made
        return made

    def get(self, name: str) -> Draft:
        with self._lock:
            known = self._drafts.get(name)
        if known is None:
            raise Refused("unknown-draft", "there is no such draft: the desk was started again", "begin a new one")
        return known

    def all(self) -> list[Draft]:
        with self._lock:
            return [each for each in self._drafts.values() if each.written is None]

    def change(self, seen: Draft, **changes: Any) -> Draft:
        """Change a draft as it was seen; refused if another tab changed it meanwhile."""
        with self._lock:
            known = self._drafts.get(seen.id)
            if known is None or known.revision != seen.revision:
                raise Refused(
                    "draft-changed",
                    "this draft was changed meanwhile, in another tab",
                    "open the step again: nothing of what you sent was taken",
                )
            changed = replace(known, revision=known.revision + 1, **changes)
            self._drafts[seen.id] = changed
            return changed


def without_streams(tables: Mapping[str, Any]) -> dict[str, Any]:
    """What is decided about tables, as if none of them grew."""
    return {
        name: {key: each for key, each in given.items() if key != "stream"} if isinstance(given, Mapping) else given
        for name, given in tables.items()
    }


def decided_with(draft: Draft, table: str, given: Mapping[str, Any] | bool) -> dict[str, Any]:
    """The decisions with another one about a table."""
    tables = dict(draft.decisions.get("tables", {}))
    tables[table] = given
    return {**draft.decisions, "tables": tables}
