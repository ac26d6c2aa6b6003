"""Which groups and which rows of each unit count, chosen among the rows that pass.

Theorem  Of each unit exactly min(groups, those it has) groups stay, and in each exactly min(rows_per_group, those it
         has) rows. Which ones depends on that unit's own rows that are here, and on nothing else.
Proof    By ranks, where nothing was left out since they were stored: the keys with the ranks 1 to `groups` stay.
         By bits: `bit` is one bit of a word, in one unit the same for rows with the same keys and another one for
         others (`policy.layout.mask_type`; `_slot` for listed keys). So the OR of the bits of a unit's rows has one bit
         for each group that the unit has here, and a row stays iff fewer than `groups` of them are lower than its own:
         these are the lowest ones. By windows: the dense rank in an order that is a function of unit and keys.
         The window for rows in a group counts in the total order of the unit's rows, after groups were chosen.
         All are computed within a partition by unit, or a join on the unit; no row of another unit takes part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

from discreet.composed import Sql, joined, literal, name, sql
from discreet.sql.keys import GroupKey, PublicKey
from discreet.sql.nodes import Node
from discreet.sql.nodes.node import ONE, labelled
from discreet.sql.nodes.scan import SECRET, hashed, row_number, where

SLOTS: Final = 61
"""Listed groups that have bits of their own: a prime, so that a·slot + b, modulo it, puts them in another order."""
UNIT: Final = name("u")
CHOSEN: Final = name("chosen")
_BIT: Final = name("bit")


@dataclass(frozen=True)
class Bounding:
    """Rows of a relation with their keys k0, k1, …, of which only some count; None where there are never too many."""

    child: Node
    keys: tuple[GroupKey, ...]
    groups: int | None
    rows_per_group: int | None

    @property
    def names(self) -> list[Sql]:
        """The columns that hold the keys."""
        return [name(f"k{index}") for index in range(len(self.keys))]

    @property
    def row_order(self) -> list[Sql]:
        """The columns that order a unit's rows."""
        return [name(f"o{index}") for index in range(len(self.child.order))]

    def rows(self, columns: Iterable[Sql], *, ordered: bool = False) -> Sql:
        """The rows that count: keys, these columns, and the unit; `ordered`, with what orders a unit's rows."""
        rows = self.marked(columns, ordered=ordered)
        return sql("SELECT * FROM ({}) WHERE {}", rows, CHOSEN) if self.marks else rows

    @property
    def marks(self) -> bool:
        """Whether rows that do not count are only marked."""
        return self._bit is not None and self.rows_per_group is None

    def marked(self, columns: Iterable[Sql], *, ordered: bool = False) -> Sql:
        """As `rows`; where it `marks`, all rows, and whether each counts: to drop them later may take less time.

        All rows of a unit and group count, or none of them.
        """
        ranks = self._ranks
        if ranks is not None:
            return self._passing(columns, ranks, order=ordered)
        order = ordered or self.rows_per_group is not None
        if self._bit is not None:
            bit = sql("{} AS {}", self._bit, _BIT)
            rows = self._by_bits(self._passing([*columns, bit], [], order=order))
            if self.rows_per_group is None:
                return rows
            return self._first_rows(sql("SELECT * FROM ({}) WHERE {}", rows, CHOSEN))
        if self.groups is not None:
            codes = self._codes
            listed = [] if codes is None else labelled(codes, "code")
            rows = self._few_groups(self._passing([*columns, *listed], [], order=order), len(listed))
        else:
            rows = self._passing(columns, [], order=order)
        return rows if self.rows_per_group is None else self._first_rows(rows)

    def _passing(self, columns: Iterable[Sql], tests: Sequence[Sql], *, order: bool) -> Sql:
        """Rows whose keys are listed, or private; under the names of this query."""
        items = [sql("{} AS {}", key.sql, label) for key, label in zip(self.keys, self.names, strict=True)]
        items += columns
        if self.child.owner.column is not None:
            items.append(sql("{} AS {}", self.child.owner.column, UNIT))
        if order:
            items += labelled(self.child.order, "o")
        rows = where(sql("SELECT {} FROM ({})", joined(", ", items or [ONE]), self.child.sql()), tests)
        named = zip(self.keys, self.names, strict=True)
        present = [sql("{} IS NOT NULL", label) for key, label in named if not key.domain.nullable]
        return where(sql("SELECT * FROM ({})", rows), present) if present else rows

    # ranks

    @cached_property
    def _ranks(self) -> list[Sql] | None:
        """Conditions on stored ranks that do all of it; None if it takes more than that."""
        if self.groups is None and self.rows_per_group is None:
            return []
        field = self.keys[0].field if len(self.keys) == 1 else None
        if field is None or field.rank is None or not field.whole:
            return None
        if self.rows_per_group is not None and field.nth is None:
            return None
        limits = ((field.rank, self.groups), (field.nth, self.rows_per_group))
        return [sql("{} <= {}", rank, literal(most)) for rank, most in limits if rank is not None and most is not None]

    # bits

    @cached_property
    def _bit(self) -> Sql | None:
        """A bit that names the group of a row within its unit; None if ranks do it, or there is none."""
        if self.groups is None or self._ranks is not None:
            return None
        return self._slot if self._masks is None else sql("xor({0}, {0} & ({0} - 1))", self._masks)

    @cached_property
    def _masks(self) -> Sql | None:
        """The rows of the unit that have the same keys; None where masks do not tell."""
        fields = [key.field for key in self.keys if not self._is_single(key)]
        masks = [field.mask for field in fields if field is not None and field.mask is not None]
        sides = {field.side for field in fields if field is not None}
        if not masks or len(masks) < len(fields) or len(sides) > 1:
            return None
        return reduce(lambda a, b: sql("({} & {})", a, b), masks)

    def _is_single(self, key: GroupKey) -> bool:
        """Whether all rows of a unit have the same key."""
        single = {field.expr.sql for field in self.child.fields if field.single}
        return bool(key.expr.columns()) and key.expr.columns() <= single

    @cached_property
    def _slot(self) -> Sql | None:
        """The bit of a listed group, in an order that keyed hash makes for each unit.

        Theorem  Rows of a unit have the same bit if and only if they have the same keys.
        Proof    Keys are numbered one by one, and their numbers combined in mixed radix: number < SLOTS. With a from 1
                 to SLOTS − 1 and any b, a·number + b modulo a prime is another one for each number.
        """
        listed = [key for key in self.keys if isinstance(key, PublicKey)]
        if len(listed) < len(self.keys):
            return None
        number, count = literal(0), 1
        for key in listed:
            count *= key.count
            if count > SLOTS:
                return None
            number = sql("({} * {} + {})", number, literal(key.count), key.number())
        assert self.child.owner.column is not None, "rows that are their own unit have one group each"
        salt = sql("hash({}, {})", SECRET, self.child.owner.column)
        start, step = sql("CAST({} % 61 AS INTEGER)", salt), sql("CAST({} // 61 % 60 + 1 AS INTEGER)", salt)
        moved = sql("({} * CAST({} AS INTEGER) + {}) % 61", step, number, start)
        return sql("(1::UBIGINT << CAST({} AS UBIGINT))", moved)

    def _by_bits(self, rows: Sql) -> Sql:
        """Rows with whether their group is among the first of its unit's."""
        slow = self._masks is None or self.child.work > (self.child.rows or 0)
        once = sql("MATERIALIZED") if slow else sql("NOT MATERIALIZED")
        return sql(
            "WITH b AS {0} ({1}) SELECT *, bit_count(f & ({2} - 1)) < {3} AS {4} FROM b"
            " JOIN (SELECT {5} AS v, bit_or({2}) AS f FROM b GROUP BY {5}) ON {5} = v",
            once, rows, _BIT, literal(self.groups), CHOSEN, UNIT,
        )  # fmt: skip

    # windows

    @cached_property
    def _codes(self) -> list[Sql] | None:
        """Integers that tell keys apart within a unit, two in one; None where some key has none."""
        ranks = [key.field.rank for key in self.keys if key.field is not None and key.field.rank is not None]
        if len(ranks) < len(self.keys):
            return None
        return [
            sql("(CAST({} AS BIGINT) << 31) | {}", *pair) if len(pair) == 2 else pair[0]
            for pair in (ranks[start : start + 2] for start in range(0, len(ranks), 2))
        ]

    def _few_groups(self, rows: Sql, codes: int) -> Sql:
        order = [name(f"code{index}") for index in range(codes)] if codes else hashed([UNIT], self.names)
        rank = sql("dense_rank() OVER (PARTITION BY {} ORDER BY {})", UNIT, joined(", ", order))
        return _first(rows, rank, literal(self.groups))

    def _first_rows(self, rows: Sql) -> Sql:
        return _first(rows, row_number([UNIT, *self.names], self.row_order), literal(self.rows_per_group))


def _first(rows: Sql, rank: Sql, most: Sql) -> Sql:
    """The rows whose rank goes so far."""
    ranked = sql("SELECT *, {} AS {} FROM ({})", rank, name("r"), rows)
    return sql("SELECT * EXCLUDE ({0}) FROM ({1}) WHERE {0} <= {2}", name("r"), ranked, most)
