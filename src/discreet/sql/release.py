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
from discreet.sql.bounding import CHOSEN, FIRST, UNIT, Bounding
from discreet.sql.clause import Options
from discreet.sql.keys import MAX_GROUPS, GroupKey, PrivateKey, PublicKey, too_many
from discreet.sql.measures import COUNTED, Contribution, Measure, Presence, Present, Product, Rows, Sum, Units
from discreet.sql.nodes import Limits, Node
from discreet.sql.nodes.node import labelled
from discreet.sql.nodes.scan import row_number
from discreet.sql.vectors import IN_CELL, PACKED, Chosen, Histogram, Tree

Cell = tuple[Key | None, ...]
OTHER: Final = "OTHER"
LIGHT: Final = (Rows, Present, Presence, Sum, Product, Anchored, Units)
"""What takes less time of all rows than it takes to leave some out first."""
ADDED: Final = (Rows, Present, Sum, Product, Units)
"""What is the sum of what it is of parts of a group's rows."""
CELLS: Final = (Tree, Chosen, Histogram)
FIRST_ROWS: Final = sql("COUNT(*) FILTER (WHERE {})", FIRST)
DISTINCT_UNITS: Final = sql("COUNT(DISTINCT {})", UNIT)


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
        rows = self._bounding.rows([])
        listed = joined(", ", private), self._units(first=False), rows
        return self._enough(private, sql("SELECT {0}, {1} AS n FROM ({2}) GROUP BY {0}", *listed))

    def _enough(self, columns: Sequence[Sql], counted: Sql) -> Sql:
        """Groups with n, how many units each has beyond those that it has to have at least."""
        if self.least_units == 1:
            return counted
        listed = joined(", ", columns), literal(self.least_units), counted
        return sql("SELECT {0}, n - {1} + 1 AS n FROM ({2}) WHERE n >= {1}", *listed)

    @property
    def counts_units(self) -> bool:
        """Whether `sql` says last what `selection_sql` says: all keys are private, so that it has the same groups."""
        return bool(self.keys) and len(self.private_keys) == len(self.keys)

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
        bounding = self._bounding
        selecting = others is None and self.counts_units
        counted = selecting or Units() in self.measures
        units = self._units(first=others is None and bounding.tells_first) if counted else COUNTED
        arguments = dict.fromkeys(m.argument for m in self.measures if m.argument is not None)
        columns = {argument: name(f"x{index}") for index, argument in enumerate(arguments)}
        items = [sql("{} AS {}", argument, column) for argument, column in columns.items()]
        adds_up = units is not DISTINCT_UNITS
        light = others is None and adds_up and all(isinstance(m, LIGHT) for m in self.measures)
        marked = light and (bounding.marks or bounding.numbers)
        if others is not None:
            rows = self._unselected(bounding.rows(items, ordered=True), others)
        else:
            rows = (bounding.marked if marked else bounding.rows)(items, first=units is FIRST_ROWS)
        totals, windows = self._totals(columns, units)
        if selecting:
            totals[name("n")] = units
        if windows:
            rows = sql("SELECT *, {} FROM ({})", joined(", ", windows), rows)
        if self._cell is not None and adds_up:
            query = self._by_cells(columns[self._cell], rows, totals)
        elif marked:
            by = [*bounding.grouped, *([CHOSEN] if bounding.marks else [])]
            query = _grouped(labelled(bounding.shown, "k"), totals, rows, by)
            query = sql("{} HAVING bool_and({})", query, CHOSEN) if bounding.marks else query
        else:
            query = _grouped(bounding.names, totals, rows, bounding.names)
        return self._enough([*bounding.names, *list(totals)[:-1]], query) if selecting else query

    @cached_property
    def _cell(self) -> Sql | None:
        """What is counted by its values, if that is one thing, and nothing beside it but what can be added up."""
        cells = {measure.argument for measure in self.measures if isinstance(measure, CELLS)}
        added = all(isinstance(measure, (*CELLS, *ADDED)) for measure in self.measures)
        return cells.pop() if len(cells) == 1 and added else None

    def _by_cells(self, cell: Sql, rows: Sql, totals: Mapping[Sql, Sql]) -> Sql:
        """Rows of each group and cell first, then the cells of each group: histogram() takes three times as long."""
        keys, packed = (
            self._bounding.names,
            {name(f"m{i}") for i, m in enumerate(self.measures) if isinstance(m, CELLS)},
        )
        added = {label: total for label, total in totals.items() if label not in packed}
        cells = _grouped([*keys, sql("{} AS cell", cell)], {IN_CELL: COUNTED, **added}, rows, [*keys, cell])
        whole = {label: PACKED if label in packed else sql("SUM({})", label) for label in totals}
        return _grouped(keys, whole, cells, keys)

    def _units(self, *, first: bool) -> Sql:
        """How many units a group has: its rows, where each has one; else those that are the first of their unit's."""
        if self.child.owner.column is None or self._rows == 1:
            return COUNTED
        return FIRST_ROWS if first else DISTINCT_UNITS

    def _totals(self, columns: Mapping[Sql, Sql], units: Sql) -> tuple[dict[Sql, Sql], list[Sql]]:
        """What is counted of each group, and what has to be computed of all rows of a unit and group before."""
        unit = UNIT if self.child.owner.column is not None else None
        partition = None if unit is None else joined(", ", [unit, *self._bounding.names])
        totals: dict[Sql, Sql] = {}
        windows = []
        for index, measure in enumerate(self.measures):
            column = NOTHING if measure.argument is None else columns[measure.argument]
            window = measure.windowed(column, partition)
            if window is not None:
                column = name(f"w{index}")
                windows.append(sql("{} AS {}", window, column))
            totals[name(f"m{index}")] = units if isinstance(measure, Units) else measure.sql(column, unit)
        return totals, windows

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


def _grouped(keys: Sequence[Sql], totals: Mapping[Sql, Sql], rows: Sql, by: Sequence[Sql]) -> Sql:
    """Keys and totals of groups of rows; of all of them, where there is nothing to group by."""
    items = [*keys, *(sql("{} AS {}", total, label) for label, total in totals.items())]
    query = sql("SELECT {} FROM ({})", joined(", ", items), rows)
    return sql("{} GROUP BY {}", query, joined(", ", by)) if by else query
