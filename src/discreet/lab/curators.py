"""Curators over invented rows, for attacks on the real thing: with a ledger on disk that goes when they close."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.curator.curator import Curator
from discreet.curator.state import passing_ledger
from discreet.engines.memory import Memory, Rows
from discreet.policy.read import parse

SMOKERS_POLICY: Final = """\
name = "invented people"
[budget]
epsilon = {budget}
[unit]
name = "person"
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
smokes = {{ values = ["yes", "no"] }}
room = {{ type = "integer", min = 0, max = {rooms} }}
"""
"""The text of a policy: people who smoke or not, and their rooms, by which questions can be varied."""


@contextmanager
def curator_over(policy: str, tables: Mapping[str, Rows]) -> Iterator[Curator]:
    """A curator for the text of a policy and a list of {column: value} for each of its tables."""
    with tempfile.TemporaryDirectory(prefix="discreet-lab-") as folder:
        read = parse(policy.encode(), Path(folder) / "invented.toml")
        protected = replace(read, state=Path(folder) / "state")
        with (
            closing(Memory(protected, tables)) as engine,
            closing(Curator(protected, passing_ledger(protected), engine=engine)) as curator,
        ):
            yield curator
