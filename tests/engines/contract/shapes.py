"""Tables of other shapes than the hospital's: names with every sign, keys of every kind, bounds that take other ways.

With `hash = "md5"` engines choose what DuckDB chooses, and each question is answered alike.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from discreet.curator.curator import Curator
from discreet.engines.digests import derived
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler
from discreet.policy import Policy, parse
from discreet.policy.layout import PLACE
from tests.engines.contract.worlds import World
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet

SECRET: Final = "5e" * 32
LONG: Final = "é" * 31
DAYS: Final = [date(2024, 1, 31), date(2024, 2, 1), date(1, 1, 1), date(9999, 12, 31)]
KINDS: Final[Mapping[str, tuple[str, tuple[Any, ...]]]] = {
    "listed": (f"{{ values = ['A', 'ß', '\\', '{PLACE}'] }}", ("A", "ß", "\\", PLACE, "Z", None)),
    "gaps": ("{ values = ['', 'n;', 'a'], nullable = true }", ("", "n;", "a", "A", None)),
    "whole": ("{ values = [-1, 0, 9223372036854775807] }", (-1, 0, 2**63 - 1, -(2**63), None)),
    "day": ("{ values = [2024-01-31, 2024-02-01, 0001-01-01] }", (*DAYS, None)),
    "truth": ("{ type = 'boolean', nullable = true }", (True, False, None)),
    "cost": ("{ min = -1, max = 9, step = 0.5 }", (-0.0, 0.0, 0.25, -7.5, 8.75, 1e300, 5e-324, None)),
    "n": ("{ type = 'integer', min = -3, max = 3 }", (-4, -3, 0, 3, 2**62, None)),
    "open": ("{ type = 'text' }", ("x", "X", "", " x", "é" * 500, "\U0001f986", None)),
}  # fmt: skip
PLAIN: Final = dict(zip(KINDS, KINDS, strict=True))
HOSTILE: Final = {
    "listed": 'a`b "c" \\',
    "gaps": "$spark.app.name {0} {x} $",
    "whole": "%s %(a)s ? :p $1",
    "day": "'; DROP TABLE x; --",
    "truth": "i",
    "cost": "ı.ſ",
    "n": LONG,
    "open": LONG[:-1] + "è",
}
"""Names that mean something to a parser, that differ where PostgreSQL cuts names, and that some take for the same."""
OURS: Final = {
    "listed": "salt",
    "gaps": "number",
    "whole": "secret",
    "day": "col0",
    "truth": "one",
    "cost": "discreet_made",
    "n": "xmin ",
    "open": "t",
}
"""Names that queries or engines use themselves."""


@dataclass(frozen=True)
class Shape:
    """What a table is called, and its columns, and what a unit may have in it."""

    table: str
    names: Mapping[str, str]
    bounds: str
    unit: str = "text"


SHAPES: Final = {
    "hostile": Shape('v`i"s-- ', HOSTILE, "max_rows = 5\nmax_groups = 2\nmax_rows_per_group = 2"),
    "wide": Shape("visits", PLAIN, "max_rows = 64\nmax_groups = 4\nmax_rows_per_group = 9", "integer"),
    "ours": Shape("discreet_0", OURS, "max_rows = 20\nmax_groups = 3"),
    "without masks": Shape("visits", PLAIN, "max_rows = 70\nmax_groups = 1\nmax_rows_per_group = 30"),
    "one": Shape("visits", PLAIN, "max_rows = 33\nmax_groups = 1", "integer"),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def world_of(shape: Shape, folder: Path) -> World:
    """Twelve units, each with more rows and groups than it may have."""
    dice = random.Random(13)

    def written(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    columns = "\n".join(f"{written(shape.names[kind])} = {said}" for kind, (said, _) in KINDS.items())
    text = (
        f'hash = "md5"\n{tiny.HEADS["delta"]}type = "{shape.unit}"\n[tables.{written(shape.table)}]\n'
        f'source = "visits.csv"\nunit = "patient"\n{shape.bounds}\n'
        f"[tables.{written(shape.table)}.columns]\n{columns}\n"
    )
    rows = [
        {
            "patient": unit * 7 - 3 if shape.unit == "integer" else f"p{unit}",
            **{shape.names[kind]: dice.choice(values) for kind, (_, values) in KINDS.items()},
        }
        for unit in range(12)
        for _ in range(dice.choice((1, 9, 40, 90)))
    ]
    return World(text, {shape.table: rows}, folder, SECRET)


def texts_of(shape: Shape) -> list[str]:
    """Questions that choose rows and groups in every way that there is."""
    name = {kind: quoted(called) for kind, called in shape.names.items()}
    table = quoted(shape.table)
    keys = [name[kind] for kind in ("listed", "gaps", "whole", "day", "truth")]
    texts = [f"SELECT {key}, COUNT(*) AS c, SUM({name['n']}) AS s FROM {table} GROUP BY {key}" for key in keys]
    texts += [f"SELECT {key}, COUNT(*) AS c FROM {table} WHERE {name['cost']} > 0 GROUP BY {key}" for key in keys]
    pairs = [(keys[0], keys[1]), (keys[2], keys[4]), (keys[0], keys[3])]
    texts += [
        f"SELECT {one}, {other}, COUNT(*) AS c FROM {table}{test} GROUP BY {one}, {other}"
        for one, other in pairs
        for test in ("", f" WHERE {name['n']} < 3 AND {name['listed']} <> '{PLACE}'")
    ]
    texts += [
        f"SELECT COUNT(*) AS c, SUM({name['cost']}) AS s, AVG({name['n']}) AS a FROM {table}",
        f"SELECT COUNT(DISTINCT {name['listed']}) AS c FROM {table}",
        f"SELECT {name['open']}, COUNT(*) AS c FROM {table} GROUP BY {name['open']}",
        f"SELECT LOWER({name['listed']}) AS k, MAX({name['n']}) AS m FROM {table} GROUP BY 1",
        f"SELECT YEAR({name['day']}) AS y, COUNT(*) AS c FROM {table} WHERE {name['truth']} GROUP BY 1",
    ]
    return texts


def check(shape: Shape, world: World, policy: Policy, engine: Any) -> None:
    """Each question is answered as DuckDB answers it, whichever way each of them takes."""
    here = parse(world.text.encode(), world.folder / "here.toml")
    with closing(Memory(here, world.rows, derived(SECRET))) as local:
        theirs, ours = _answers(shape, here, local), _answers(shape, policy, engine)
    assert [text for text in theirs if ours[text] != theirs[text]] == []


def _answers(shape: Shape, policy: Policy, engine: Any) -> dict[str, list[str]]:
    with ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=engine, sampler=Sampler(quiet, tiny.every, tiny.best))
        return {text: sorted(map(repr, curator.query(text, rho=0.001, fresh=True).rows)) for text in texts_of(shape)}
