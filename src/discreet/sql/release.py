"""Where private rows become numbers: what is grouped, how one unit is bounded, and the one query that counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from discreet.accounting.losses import Sensitivity
from discreet.composed import NOTHING, Sql, joined, lines, literal, name, sql
from discreet.policy.model import Key, Kind
from discreet.sql.anchored import Anchored
from discreet.sql.arguments import Aggregate
from discreet.sql.bounding import CHOSEN, Bounding
from discreet.sql.clause import Options
from discreet.sql.keys import MAX_GROUPS, GroupKey, PrivateKey, PublicKey, too_many
from discreet.sql.measures import COUNTED, Contribution, Measure, Presence, Present, Product, Rows, Sum
from discreet.sql.nodes import Limits, Node
from discreet.sql.nodes.scan import row_number

Cell = tuple[Key | None, ...]
OTHER: Final = "OTHER"
LIGHT: Final = (Rows, Present, Presence, Sum, Product, Anchored)
"""What takes less time of all rows than it takes to leave some out first."""


@dataclass(frozen=True)
class Release:
    """Grouped measures of private rows.

    Theorem  Adding or removing one unit moves each measure in at most `cells` groups, by at most `rows` rows in each
             and `total` rows in all, and changes nothing else.
    Proof    A unit has at most child.rows rows, none of which depends on other units. Where that allows too many
             groups, or too many rows in a group, only some of them count (`bounding`). Which
             groups there are is listed in advance, or selected by noise first (see `KeySelection`).
    """

    child: Node
    keys: tuple[GroupKey, ...]
    aggregates: tuple[Aggregate, ...]
    limits: Limits
    other: bool = False
    """Whether all private keys that are not selected are counted as one more, called OTHER."""
    least_units: int = 1
    """Private keys that fewer units have are never shown."""
    clause: tuple[int, Options] | None = None
    """The privacy clause that it is for, where several of one query name a cost."""

    @property
    def said(self) -> list[str]:
        """What its clause says of it, as far as that changes what is drawn and stands nowhere else."""
        least = [f"at least {self.least_units}"] if self.least_units > 1 else []
        return [*least, *([] if self.clause is None else [f"{self.clause[0]}: {self.clause[1].cost}"])]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Each once, in an order that does not depend on how the question is written."""
        distinct = dict.fromkeys(measure for aggregate in self.aggregates for measure in aggregate.measures)
        return tuple(
            sorted(
                distinct,
                key=lambda m: (type(m).__name__, m.argument.text if m.argument else "", m.detail, m.size, m.length),
            )
        )

    @cached_property
    def leaves(self) -> Mapping[Sql, Aggregate]:
        """The aggregates by their columns."""
        return {name(f"a{index}"): aggregate for index, aggregate in enumerate(self.aggregates)}

    @property
    def private_keys(self) -> tuple[PrivateKey, ...]:
        return tuple(key for key in self.keys if isinstance(key, PrivateKey))

    @cached_property
    def groups(self) -> int:
        """How many combinations the public keys have."""
        count = math.prod(key.count for key in self.keys if isinstance(key, PublicKey))
        if count > MAX_GROUPS:
            raise too_many(count)
        return count

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
        cells = []
        for chosen in selected or ():
            for combination in itertools.product(*public):
                private, rest = iter(chosen), iter(combination)
                cells.append(tuple(next(private if isinstance(key, PrivateKey) else rest) for key in self.keys))
        return cells

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

    def sensitivity(self, measure: Measure) -> Sensitivity:
        return measure.sensitivity(self.contribution)

    # the one query

    def selection_sql(self) -> Sql:
        """How many units each combination of private keys has, beyond those that it has to have at least.

        Theorem  With n units and least_units = k, the number max(0, n − k + 1) moves by at most one with each unit, and
                 keys of which it is 0 are as if nobody had them. So they are selected as keys are (`KeySelection`), at
                 the same loss, and those that fewer than k units have never are.
        """
        private = [name(f"k{index}") for index, key in enumerate(self.keys) if isinstance(key, PrivateKey)]
        units = COUNTED if self.child.owner.column is None else sql("COUNT(DISTINCT {})", name("u"))
        rows = self._bounding.rows([])
        counted = sql("SELECT {0}, {1} AS n FROM ({2}) GROUP BY {0}", joined(", ", private), units, rows)
        if self.least_units == 1:
            return counted
        least = literal(self.least_units)
        return sql("SELECT {0}, n - {1} + 1 FROM ({2}) WHERE n >= {1}", joined(", ", private), least, counted)

    def other_sql(self, selected: Sequence[Cell]) -> Sql:
        """What is counted of all private keys that were not selected, as one key.

        Theorem  With it one unit still moves at most `cells` groups by `rows` rows each and `total` in all.
        Proof    A unit's keys that are not selected fall together into one group for each combination of public keys,
                 which makes no more groups than before; in each, at most `rows` of its rows are chosen again.
        """
        return self._counting(selected)

    def sql(self) -> Sql:
        """Groups with what is counted in them: keys first, then measures."""
        return self._text

    @cached_property
    def _text(self) -> Sql:
        return self._counting(None)

    def _counting(self, others: Sequence[Cell] | None) -> Sql:
        arguments = list(dict.fromkeys(m.argument for m in self.measures if m.argument is not None))
        columns = {argument: name(f"x{index}") for index, argument in enumerate(arguments)}
        unit = name("u") if self.child.owner.column is not None else None
        keys = [name(f"k{index}") for index in range(len(self.keys))]
        items = [sql("{} AS {}", argument, column) for argument, column in columns.items()]
        marked = others is None and self._bounding.marks and all(isinstance(m, LIGHT) for m in self.measures)
        if others is not None:
            rows = self._unselected(self._bounding.rows(items, ordered=True), others)
        else:
            rows = self._bounding.marked(items) if marked else self._bounding.rows(items)
        partition = None if unit is None else joined(", ", [unit, *keys])
        totals, windows = [], []
        for index, measure in enumerate(self.measures):
            column = NOTHING if measure.argument is None else columns[measure.argument]
            window = measure.windowed(column, partition)
            if window is not None:
                column = name(f"w{index}")
                windows.append(sql("{} AS {}", window, column))
            totals.append(sql("{} AS {}", measure.sql(column, unit), name(f"m{index}")))
        if windows:
            rows = sql("SELECT *, {} FROM ({})", joined(", ", windows), rows)
        query = sql("SELECT {} FROM ({})", joined(", ", [*keys, *totals]), rows)
        if marked:
            return sql("{0} GROUP BY {1}, {2} HAVING bool_and({2})", query, joined(", ", keys), CHOSEN)
        return sql("{} GROUP BY {}", query, joined(", ", keys)) if keys else query

    def _unselected(self, rows: Sql, selected: Sequence[Cell]) -> Sql:
        """Rows whose private keys were not selected, under the key OTHER, bounded once more."""
        private = [index for index, key in enumerate(self.keys) if isinstance(key, PrivateKey)]
        if selected:
            labels = joined(", ", (name(f"s{index}") for index in private))
            same = (sql("{} IS NOT DISTINCT FROM {}", name(f"k{index}"), name(f"s{index}")) for index in private)
            test = joined(" AND ", same)
            rows = sql("SELECT * FROM ({}) ANTI JOIN (VALUES {}) AS t({}) ON {}", rows, lines(selected), labels, test)
        renamed = (
            sql("{} AS {}", literal(value), name(f"k{index}"))
            for index, value in zip(private, self._other_key, strict=True)
        )
        rows = sql("SELECT * REPLACE ({}) FROM ({})", joined(", ", renamed), rows)
        if self.child.owner.column is None or self.contribution.rows >= self._rows:
            return rows
        public = [name(f"k{index}") for index, key in enumerate(self.keys) if isinstance(key, PublicKey)]
        rank = row_number([name("u"), *public], self._bounding.row_order)
        ranked = sql("SELECT *, {} AS {} FROM ({})", rank, name("again"), rows)
        return sql("SELECT * FROM ({}) WHERE {} <= {}", ranked, name("again"), literal(self.contribution.rows))

    @cached_property
    def _bounding(self) -> Bounding:
        groups = self._groups if self._groups < self._most_groups else None
        return Bounding(
            self.child, self.keys, groups, self._rows_per_group if self._rows_per_group < self._rows else None
        )
