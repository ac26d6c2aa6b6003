"""Where private rows become numbers: what is grouped, how one unit is bounded, and the one query that counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from discreet.accounting.losses import Reach
from discreet.policy.model import Key, Kind
from discreet.quoting import literal, name
from discreet.sql.aggregates import Aggregate
from discreet.sql.keys import MOST_GROUPS, GroupKey, PrivateKey, PublicKey, too_many
from discreet.sql.measures import Contribution, Measure
from discreet.sql.nodes import Limits, Node
from discreet.sql.nodes.scan import SECRET

Cell = tuple[Key | None, ...]
OTHER: Final = "OTHER"


@dataclass(frozen=True)
class Release:
    """Grouped measures of private rows.

    Theorem  Adding or removing one unit moves each measure in at most `cells` groups, by at most `rows` rows in each
             and `total` rows in all, and changes nothing else.
    Proof    A unit has at most child.rows rows, none of which depends on other units. Where that allows too many
             groups, only rows whose key has a rank up to `groups` count; where it allows too many rows in a group, only
             those of rank up to `rows_per_group` in it. Both ranks are positions within the unit, by keyed hash. Which
             groups there are is listed in advance, or selected by noise first (see `KeySelection`).
    """

    child: Node
    keys: tuple[GroupKey, ...]
    aggregates: tuple[Aggregate, ...]
    limits: Limits
    other: bool = False
    """Whether all private keys that are not selected are counted as one more, called OTHER."""

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Each once, in an order that does not depend on how the question is written."""
        found = dict.fromkeys(measure for aggregate in self.aggregates for measure in aggregate.measures)
        return tuple(sorted(found, key=lambda m: (type(m).__name__, m.argument or "", m.detail, m.size, m.length)))

    @property
    def private_keys(self) -> tuple[PrivateKey, ...]:
        return tuple(key for key in self.keys if isinstance(key, PrivateKey))

    @cached_property
    def groups(self) -> int:
        """How many combinations the public keys have."""
        found = math.prod(key.count for key in self.keys if isinstance(key, PublicKey))
        if found > MOST_GROUPS:
            raise too_many(found)
        return found

    @property
    def _most_groups(self) -> int:
        """How many groups a unit can be in, whatever its rows are."""
        return self._rows if self.private_keys else min(self._rows, self.groups)

    def cells(self, selected: Sequence[Cell] | None = None) -> list[Cell]:
        """Every group: public keys in the order of the policy, private ones as selected, then OTHER."""
        return [*self.listed(selected), *(self.others() if self.other else [])]

    def listed(self, selected: Sequence[Cell] | None) -> list[Cell]:
        """Every combination of public keys, for each of the private ones."""
        public = [key.values() for key in self.keys if isinstance(key, PublicKey)]
        if not self.private_keys:
            return list(itertools.product(*public))
        found = []
        for chosen in selected or ():
            for combination in itertools.product(*public):
                private, rest = iter(chosen), iter(combination)
                found.append(tuple(next(private if isinstance(key, PrivateKey) else rest) for key in self.keys))
        return found

    def others(self) -> list[Cell]:
        """The groups that hold what was not selected."""
        return self.listed([self._other_key])

    @property
    def _other_key(self) -> Cell:
        return tuple(OTHER if key.domain.kind is Kind.TEXT else None for key in self.private_keys)

    @cached_property
    def contribution(self) -> Contribution:
        rows = self._rows
        in_group = min(rows, self._rows_per_group)
        cells = min(self._most_groups, self._groups)
        return Contribution(cells, in_group, min(rows, cells * in_group))

    @property
    def _rows(self) -> int:
        assert self.child.rows is not None, "rows are bounded before they are released"
        return self.child.rows

    @property
    def _groups(self) -> int:
        return self._rows if self.limits.groups is None else self.limits.groups

    @property
    def _rows_per_group(self) -> int:
        return self._rows if self.limits.rows_per_group is None else self.limits.rows_per_group

    def reach(self, measure: Measure) -> Reach:
        return measure.reach(self.contribution)

    # the one query

    def selection_sql(self) -> str:
        """How many units each combination of private keys has."""
        private = [name(f"k{place}") for place, key in enumerate(self.keys) if isinstance(key, PrivateKey)]
        units = "COUNT(*)" if self.child.owner.column is None else f"COUNT(DISTINCT {name('u')})"
        listed = ", ".join(private)
        return f"SELECT {listed}, {units} FROM ({self._bounded({})}) GROUP BY {listed}"

    def other_sql(self, selected: Sequence[Cell]) -> str:
        """What is counted of all private keys that were not selected, as one key.

        Theorem  With it one unit still moves at most `cells` groups by `rows` rows each and `total` in all.
        Proof    A unit's keys that are not selected fall together into one group for each combination of public keys,
                 which makes no more groups than before; in each, at most `rows` of its rows are chosen again.
        """
        return self._counting(selected)

    def sql(self) -> str:
        """Groups with what is counted in them: keys first, then measures."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return self._counting(None)

    def _counting(self, others: Sequence[Cell] | None) -> str:
        arguments = list(dict.fromkeys(m.argument for m in self.measures if m.argument is not None))
        columns = {argument: name(f"x{place}") for place, argument in enumerate(arguments)}
        unit = name("u") if self.child.owner.column is not None else ""
        keys = [name(f"k{place}") for place in range(len(self.keys))]
        rows = self._bounded(columns, ordered=others is not None)
        if others is not None:
            rows = self._unselected(rows, others)
        partition = ", ".join([unit, *keys]) if unit else None
        totals, windows = [], []
        for place, measure in enumerate(self.measures):
            column = columns.get(measure.argument or "", "")
            window = measure.windowed(column, partition)
            if window is not None:
                column = name(f"w{place}")
                windows.append(f"{window} AS {column}")
            totals.append(f"{measure.sql(column, unit)} AS {name(f'm{place}')}")
        if windows:
            rows = f"SELECT *, {', '.join(windows)} FROM ({rows})"
        grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, *totals])} FROM ({rows}){grouping}"

    def _unselected(self, rows: str, selected: Sequence[Cell]) -> str:
        """Rows whose private keys were not selected, under the key OTHER, bounded once more."""
        private = [place for place, key in enumerate(self.keys) if isinstance(key, PrivateKey)]
        if selected:
            lines = ", ".join(f"({', '.join(map(literal, cell))})" for cell in selected)
            labels = ", ".join(name(f"s{place}") for place in private)
            same = " AND ".join(f"{name(f'k{place}')} IS NOT DISTINCT FROM {name(f's{place}')}" for place in private)
            rows = f"SELECT * FROM ({rows}) ANTI JOIN (VALUES {lines}) AS t({labels}) ON {same}"
        renamed = [
            f"{literal(value)} AS {name(f'k{place}')}" for place, value in zip(private, self._other_key, strict=True)
        ]
        rows = f"SELECT * REPLACE ({', '.join(renamed)}) FROM ({rows})"
        if self.child.owner.column is None or self.contribution.rows >= self._rows:
            return rows
        public = [name(f"k{place}") for place, key in enumerate(self.keys) if isinstance(key, PublicKey)]
        parts = ", ".join([name("u"), *public])
        order = ", ".join(name(f"o{place}") for place in range(len(self.child.order)))
        rank = f"row_number() OVER (PARTITION BY {parts} ORDER BY {order})"
        ranked = f"SELECT *, {rank} AS {name('again')} FROM ({rows})"
        return f"SELECT * FROM ({ranked}) WHERE {name('again')} <= {self.contribution.rows}"

    def _bounded(self, columns: dict[str, str], *, ordered: bool = False) -> str:
        keys = [name(f"k{place}") for place in range(len(self.keys))]
        items = [f"{key.sql} AS {column}" for key, column in zip(self.keys, keys, strict=True)]
        items += [f"{argument} AS {column}" for argument, column in columns.items()]
        ranks = self._stored_ranks()
        chosen = self._chosen(keys) if ranks is None else []
        if self.child.owner.column is not None:
            items.append(f"{self.child.owner.column} AS {name('u')}")
        if chosen or ordered:
            items += [f"{text} AS {name(f'o{place}')}" for place, text in enumerate(self.child.order)]
        listed = ", ".join(items) or "1 AS one"
        stored = f" WHERE {' AND '.join(ranks)}" if ranks else ""
        rows = f"SELECT {listed} FROM ({self.child.sql()}){stored}"
        present = [
            f"{column} IS NOT NULL" for key, column in zip(self.keys, keys, strict=True) if not key.domain.nullable
        ]
        if present:
            rows = f"SELECT * FROM ({rows}) WHERE {' AND '.join(present)}"
        if chosen:
            windows = ", ".join(f"{window} AS {name(f'r{place}')}" for place, (window, _) in enumerate(chosen))
            tests = " AND ".join(f"{name(f'r{place}')} <= {most}" for place, (_, most) in enumerate(chosen))
            rows = f"SELECT * FROM (SELECT *, {windows} FROM ({rows})) WHERE {tests}"
        return rows

    @property
    def _too_many_groups(self) -> bool:
        return self._groups < self._most_groups

    @property
    def _too_many_rows(self) -> bool:
        return self._rows_per_group < self._rows

    def _stored_ranks(self) -> list[str] | None:
        """Conditions on stored ranks that do the bounding; None if it takes more than that."""
        if not (self._too_many_groups or self._too_many_rows):
            return []
        field = self.keys[0].field if len(self.keys) == 1 else None
        if field is None or field.rank is None or (self._too_many_rows and field.nth is None):
            return None
        conditions = []
        if self._too_many_groups:
            conditions.append(f"{field.rank} <= {self._groups}")
        if self._too_many_rows:
            conditions.append(f"{field.nth} <= {self._rows_per_group}")
        return conditions

    def _chosen(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """Ranks that are computed when the question is asked, with how far they may go."""
        found = []
        unit = name("u")
        if self._too_many_groups:
            order = ", ".join([f"hash({', '.join([SECRET, unit, *keys])})", *keys])
            found.append((f"dense_rank() OVER (PARTITION BY {unit} ORDER BY {order})", self._groups))
        if self._too_many_rows:
            parts = ", ".join([unit, *keys])
            order = ", ".join(name(f"o{place}") for place in range(len(self.child.order)))
            window = f"row_number() OVER (PARTITION BY {parts} ORDER BY {order})"
            found.append((window, self._rows_per_group))
        return found
