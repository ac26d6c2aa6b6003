"""What can be said in the language of each engine, without the engine: all that DuckDB is asked of a copy of its shape.

A fixture that no rule knows is refused before the charge, and named; nothing else is refused.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

import discreet.sql
from discreet.curator.curator import Curator
from discreet.engines import rehearsal
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.policy import layout, parse
from tests.engines.contract.test_language import REFUSED
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED
from tests.sql.worlds import ledger_of, quiet

ENGINES: Final = {
    "postgres": ('engine = "postgres"\nengine_schema = "copy"\n', "postgresql:///there", REFUSED),
    "spark": (
        'engine = "spark"\n',
        "spark:local[2]",
        {**REFUSED, "SELECT SUM(ROUND(x / 8, 1)) FROM beds": "round by what is no constant"},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_all_fixtures_are_said_or_refused_by_name(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "demand_planned", lambda *_: None)
    head, source, named = ENGINES[engine]
    refused = {}
    for variant in ("pure", "delta"):
        tables = re.sub(r'source = "(\w+)\.csv"', rf'source = "{source}"\ntable = "rows.\1"', tiny.TABLES)
        policy = parse((head + tiny.HEADS[variant] + tables).encode(), tmp_path / f"{variant}.toml")
        with closing(Memory(policy, tiny.DATA)) as local, ledger_of(policy) as ledger:
            curator = Curator(policy, ledger, engine=local, sampler=Sampler(quiet, tiny.every, tiny.best))
            for fixture in [each for each in ANSWERED if each.policy == variant]:
                try:
                    curator.query(fixture.text, params=fixture.params, fresh=True, **fixture.cost)
                except Refused as refusal:
                    refused[fixture.text] = refusal.reason.rpartition(": ")[2]
    assert refused == named


def names_in(module: object) -> Iterator[str]:
    """The names that a module writes down itself."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):  # type: ignore[arg-type]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"_discreet_[a-z_]+", node.value)


def test_no_column_of_a_copy_is_called_like_what_queries_make() -> None:
    """With both a star holds two columns of one name: the query is refused, or one is taken for the other."""
    stored = set(names_in(layout))
    found = pkgutil.walk_packages(discreet.sql.__path__, "discreet.sql.")
    made = {name for each in found for name in names_in(import_module(each.name))}
    assert made
    assert not {name for name in made if any(name == held or name.startswith(f"{held}_") for held in stored)}
