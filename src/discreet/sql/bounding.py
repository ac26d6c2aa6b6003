"""Which groups and which rows of each unit count, chosen among the rows that pass.

Theorem  Of each unit exactly min(groups, those it has) groups stay, and in each exactly min(rows_per_group, those it
         has) rows. Which ones depends on that unit's own rows that are here, and on nothing else.
Proof    By ranks, where nothing was left out since they were stored: the keys with the ranks 1 to `groups` stay.
         By bits: `bit` is one bit of a word, in one unit the same for rows with the same keys and another one for
         others (`policy.layout.mask_type`; `SLOT` for listed keys; `_place` for ranks). So the OR of the bits of a
         unit's rows has one bit for each group that the unit has here, and a row stays iff fewer than `groups` of them
         are lower than its own: these are the lowest ones, also where ranks by first rows say which rows need not be
         looked at (`sql.late`), or are themselves the places of bits: they come in the order of masks. Where some
         groups have no bit (`_place`), they come after all that have one, by windows. Of a number that stands for a
         unit (`layout.PLACE`) it is only asked whether it is the same. By the ranks of what keys are computed of:
         `merging` has the proof.
         By windows: the dense rank in an order that is a function of unit and keys.
         The window for rows in a group counts in the total order of the unit's rows, after groups were chosen.
         All are computed within a partition by unit, or a join on the unit; no row of another unit takes part.

Theorem  Of the rows of a unit and group that stay, `FIRST` is true in exactly one.
Proof    Where all of a unit's rows are here, the rows of a group are those that the AND of its masks names: one of them
         has none of these before it. So it is with the mask of what keys are computed of, in units that are plain. In a
         window whose peers are the rows of a group, or whose partition is, one row has the number of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

from discreet.composed import Sql, joined, literal, name, sql
from discreet.policy.layout import PLACE, is_placed
from discreet.sql import late, merging, numbering
from discreet.sql.keys import GroupKey, PublicKey
from discreet.sql.late import BIT as _BIT
from discreet.sql.late import RANKED as _RANKED
from discreet.sql.nodes import Field, Node
from discreet.sql.nodes.filter import Filter
from discreet.sql.nodes.node import ONE, labelled
from discreet.sql.nodes.scan import SECRET, Scan, hashed, row_number, where
from discreet.sql.numbering import NUMBER, SALT, SLOT

BITS: Final = 64
"""Of a word: so many groups of a unit are told apart by one."""
ENOUGH: Final = 8
"""Ranks of a key that have bits, where not all have: with fewer, most groups would be without."""
UNIT: Final = name("u")
CHOSEN: Final = name("chosen")
FIRST: Final = name("first")
_RANK: Final = name("r")


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

    def rows(self, columns: Iterable[Sql], *, ordered: bool = False, first: bool = False) -> Sql:
        """The rows that count: keys, these columns, and the unit; `ordered`, with what orders a unit's rows."""
        rows = self.marked(columns, ordered=ordered, first=first)
        return self._chosen(rows) if self.marks else self._shown(rows) if self.numbers else rows

    @property
    def numbers(self) -> bool:
        """Whether rows that count have the number of their group instead of its keys."""
        return self._apart and self._number is not None and self.rows_per_group is None

    @property
    def marks(self) -> bool:
        """Whether rows that do not count are only marked."""
        return self._marked and self.rows_per_group is None

    @property
    def _marked(self) -> bool:
        """Whether bits mark rows: where a window has put them together, nothing is won by dropping them later."""
        return self._bit is not None and self._seen is None and not self._apart

    @cached_property
    def _apart(self) -> bool:
        """Whether rows lie on several machines, those of a unit together (`Table.apart`)."""
        return any(field.apart for field in (*self.child.fields, *self._fields))

    def marked(self, columns: Iterable[Sql], *, ordered: bool = False, first: bool = False) -> Sql:
        """As `rows`; where it `numbers`, without keys; where it `marks`, all rows, and whether each counts.

        To drop rows later may take less time. All rows of a unit and group count, or none of them; `grouped` tells
        groups apart. `first`: with `FIRST`.
        """
        assert self.tells_first or not first, "somebody has to look at which units there are"
        last = self._ranks is not None or self.rows_per_group is None
        order = ordered or not last
        if first and last and self._first is not None:
            columns = [*columns, sql("{} AS {}", self._first, FIRST)]
        if self._ranks is not None:
            return self._passing(columns, self._ranks, order=order)
        if self._bit is not None:
            rows = self._by_bits(columns, self._bit, order=order)
            if self._apart:
                rows = where(sql("SELECT * FROM ({})", rows), [CHOSEN]) if self.numbers else self._chosen(rows)
        elif self._source is not None:
            rows = self._by_source(columns, self._source, order=order, first=first and last)
        elif self.groups is not None:
            rows = self._few_groups(columns, order=order, first=first and last)
        else:
            rows = self._passing(columns, [], order=order)
        if last:
            return rows
        return self._first_rows(self._chosen(rows) if self._marked else rows, first=first)

    @property
    def grouped(self) -> list[Sql]:
        """The columns of marked rows that tell groups apart."""
        return self.names if self._number is None else [NUMBER]

    @property
    def shown(self) -> list[Sql]:
        """The keys of a group, from those columns."""
        return self.names if self._numbered is None else numbering.keys_of(self._numbered)

    @property
    def tells_first(self) -> bool:
        """Whether rows can say which of them is the first of its unit in its group."""
        if self._ranks is None and self.rows_per_group is not None:
            return True
        if self._ranks is not None or self._bit is not None:
            return self._first is not None
        return self._source is None or self._source.is_first is not None

    @cached_property
    def _first(self) -> Sql | None:
        """Whether a row is the first of its unit in its group, by stored masks; None where they do not tell."""
        fields = [key.field for key in self.keys]
        below = [field.below for field in fields if field is not None and field.below is not None]
        if self._masks is None or len(below) < len(fields):
            return None
        return sql("({} & {}) = 0", self._masks, below[0])

    def _chosen(self, rows: Sql) -> Sql:
        return where(self._shown(rows), [CHOSEN])

    def _shown(self, rows: Sql) -> Sql:
        keys = [] if self._number is None else labelled(self.shown, "k")
        return sql("SELECT {} FROM ({})", joined(", ", [sql("*"), *keys]), rows)

    def _passing(self, columns: Iterable[Sql], tests: Sequence[Sql], *, order: bool) -> Sql:
        """Rows whose keys are listed, or private; under the names of this query."""
        named = list(zip(self.keys, self.names, strict=True))
        keys = [sql("{} AS {}", key.sql, label) for key, label in named]
        present = [sql("{} IS NOT NULL", label) for key, label in named if not key.domain.nullable]
        if self._number is not None:
            keys, present = [sql("{} AS {}", self._number, NUMBER)], [sql("{} IS NOT NULL", NUMBER)]
        rows = where(self._read([*keys, *columns], order=order), tests)
        return where(sql("SELECT * FROM ({})", rows), present) if present else rows

    def _read(self, columns: Sequence[Sql], *, order: bool) -> Sql:
        named = name(PLACE) if self._placed and self._ranks is None else self.child.owner.column
        unit = [] if named is None else [sql("{} AS {}", named, UNIT)]
        items = [*columns, *unit, *(labelled(self.child.order, "o") if order else [])]
        return sql("SELECT {} FROM ({})", joined(", ", items or [ONE]), self.child.sql())

    # ranks

    @cached_property
    def _ranks(self) -> list[Sql] | None:
        """Conditions on stored ranks that do all of it; None if it takes more than that."""
        if self.groups is None and self.rows_per_group is None:
            return []
        whole = isinstance(self.child, Scan) and all(field.whole for field in self._fields)
        if self.groups is not None and self.rows_per_group is None and self._pair is not None and whole:
            return [sql("{} <= {}", self._pair, literal(self.groups))]
        field = self.keys[0].field if len(self.keys) == 1 else None
        if field is None or field.rank is None or not field.whole:
            return None
        if self.rows_per_group is not None and field.nth is None:
            return None
        limits = ((field.rank, self.groups), (field.nth, self.rows_per_group))
        return [sql("{} <= {}", rank, literal(most)) for rank, most in limits if rank is not None and most is not None]

    @cached_property
    def _pair(self) -> Sql | None:
        """The stored rank of two keys together; None if there is none."""
        scan = self._scan
        return None if scan is None or len(self._fields) < len(self.keys) else scan.pair_rank(self._fields)

    @property
    def _scan(self) -> Scan | None:
        """The table whose rows these are, without some; None if they are more than that."""
        rows = self.child
        while isinstance(rows, Filter):
            rows = rows.child
        return rows if isinstance(rows, Scan) else None

    @property
    def _fields(self) -> list[Field]:
        """The columns that keys are, those that are some."""
        return [key.field for key in self.keys if key.field is not None]

    # bits

    @cached_property
    def _bit(self) -> Sql | None:
        """A bit that names the group of a row within its unit; None if ranks do it, or there is none."""
        if self.groups is None or self._ranks is not None:
            return None
        if self._placed and self._by_first_rows is not None:
            return sql("1::UBIGINT << CAST({} - 1 AS UBIGINT)", self._by_first_rows)
        if self._masks is not None:
            return sql("xor({0}, {0} & ({0} - 1))", self._masks)
        return self._place if self._number is None else SLOT

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
        return bool(key.expr.columns()) and key.expr.columns() <= self._single

    @cached_property
    def _single(self) -> set[Sql]:
        """The columns that have the same value in all rows of a unit."""
        return {field.expr.sql for field in self.child.fields if field.single}

    @cached_property
    def _number(self) -> Sql | None:
        """Which of the listed groups a row is in, NULL if in none; None where groups are told apart otherwise."""
        if not self._numbered:
            return None
        number = numbering.number(self._numbered)
        return number if self._placed else sql("TRY_CAST({} AS UTINYINT)", number)

    @cached_property
    def _numbered(self) -> list[numbering.Numbered] | None:
        """Keys as numbers: up to 64 groups that have bits by them, or stored ones, to go through a window."""
        if self.groups is None or self._ranks is not None:
            return None
        if self._masks is not None:
            return numbering.stored(self.keys) if self._placed else None
        return numbering.computed(self.keys, BITS)

    @cached_property
    def _placed(self) -> bool:
        """Whether a stored number stands for the unit, in a window over the rows of one table."""
        scan = self._scan
        return scan is not None and is_placed(scan.table) and self._masks is not None

    @cached_property
    def _place(self) -> Sql | None:
        """The bit of a group by the stored ranks of its keys, where they are low; NULL where they are not.

        Theorem  Rows of a unit that have a bit have the same one if and only if they have the same keys.
        Proof    Rows of a unit have the same rank if and only if their keys are equal. Ranks up to `most` of each key
                 are combined in mixed radix, and the product of all `most` is at most 64.
        """
        index, low = literal(0), []
        if not self._key_ranks or any(most < ENOUGH for most, all_ in self._most_of_ranks if most < all_):
            return None
        for rank, (most, _) in zip(self._key_ranks, self._most_of_ranks, strict=True):
            index = sql("({} * {} + {} - 1)", index, literal(most), rank)
            low.append(sql("{} <= {}", rank, literal(most)))
        return sql("CASE WHEN {} THEN 1::UBIGINT << CAST({} AS UBIGINT) END", joined(" AND ", low), index)

    @cached_property
    def _most_of_ranks(self) -> list[tuple[int, int]]:
        """How many ranks of each key have bits, of how many: of those with few keys all, of others as many as fit."""
        counts = [key.count if isinstance(key, PublicKey) else self.child.rows or 0 for key in self.keys]
        return list(zip(numbering.shared(BITS, counts), counts, strict=True))

    def _by_bits(self, columns: Iterable[Sql], bit: Sql, *, order: bool) -> Sql:
        """Rows with whether their group is among the first of its unit's."""
        codes: list[Sql] = []
        slow = self._slow
        if self._number is not None and self._masks is None:
            salt = sql("hash({}, {}) AS {}", SECRET, self._unit, SALT)
            rows = self._read([sql("{} AS {}", self._number, NUMBER), salt, *columns], order=order)
            rows, slow = sql("SELECT * EXCLUDE ({}), {} AS {} FROM ({})", SALT, bit, _BIT, rows), True
        else:
            codes = self._codes if self._masks is None else []
            slow = slow or not all(key.field is not None and key.field.whole for key in self.keys)
            seen = (
                [] if self._seen is None else [sql("{} AS {}", *pair) for pair in zip(self._seen, _RANKED, strict=True)]
            )
            more = [sql("{} AS {}", bit, _BIT), *seen, *labelled(codes, "code")]
            rows = self._passing([*columns, *more], [], order=order)
        if self._seen is not None:
            return self._without(rows, slow=slow)
        held = sql(
            "b AS {} ({}), j AS NOT MATERIALIZED ({})",
            sql("MATERIALIZED" if slow else "NOT MATERIALIZED"), rows, self._put_together,
        )  # fmt: skip
        test = sql("bit_count(f & ({} - 1)) < {} AS {}", _BIT, literal(self.groups), CHOSEN)
        if not codes:
            return sql("WITH {} SELECT *, {} FROM j", held, test)
        left = sql("{} - COALESCE(bit_count(f), 0)", literal(self.groups))
        rank = _dense_rank(_numbered("code", codes))
        return sql(
            "WITH {0} SELECT *, {1} FROM j WHERE {2} IS NOT NULL"
            " UNION ALL SELECT *, {3} <= {4} AS {5} FROM j WHERE {2} IS NULL AND {4} > 0",
            held, test, _BIT, rank, left, CHOSEN,
        )  # fmt: skip

    @property
    def _put_together(self) -> Sql:
        """Rows with the OR of the bits of their unit's: by a join, or in one pass where a unit's rows lie together."""
        if self._apart:
            return sql("SELECT *, bit_or({}) OVER (PARTITION BY {}) AS f FROM b", _BIT, UNIT)
        groups = sql("SELECT {0} AS v, bit_or({1}) AS f FROM b GROUP BY {0}", UNIT, _BIT)
        return sql("SELECT * FROM b JOIN ({}) ON {} = v", groups, UNIT)

    @cached_property
    def _seen(self) -> tuple[Sql, Sql] | None:
        """The rank of a row's group by first rows, and a bound of how many its unit has, stored before rows were left
        out; None if they are not, or masks do not tell groups apart."""
        if self._masks is None or self.groups is None or self._ranks is not None:
            return None
        fields = [key.field for key in self.keys if key.field is not None and not self._is_single(key)]
        many = [field.many for field in fields if field.many is not None]
        if len(many) < len(fields) or self._by_first_rows is None:
            return None
        return self._by_first_rows, many[0] if len(many) == 1 else sql("({} * {})", *many)

    @cached_property
    def _by_first_rows(self) -> Sql | None:
        """The rank of a row's group among all of its unit's, in the order of the masks; None if it is not stored."""
        fields = [key.field for key in self.keys if key.field is not None and not self._is_single(key)]
        if any(key.domain.nullable and key.field and not key.field.expr.domain.nullable for key in self.keys):
            return None  # where NULL is a key by the text alone, it has no rank
        if len(fields) == 1:
            return fields[0].seen
        return self._pair if len(fields) == 2 else None

    def _without(self, rows: Sql, *, slow: bool) -> Sql:
        """Rows without those whose group comes too late, which are looked up only where that is possible at all."""
        held = sql("b AS {} ({})", sql("MATERIALIZED" if slow else "NOT MATERIALIZED"), rows)
        return (late.parted if self._parted else late.looked_up)(held, UNIT, literal(self.groups))

    @property
    def _parted(self) -> bool:
        """Whether rows are those of a copy that lies in parts by the rank of the one key that tells groups apart."""
        scan = self._scan
        return scan is not None and scan.table.parted and self._seen is not None and self._seen[0] != self._pair

    @property
    def _slow(self) -> bool:
        """Whether rows take longer to make than to read."""
        return self.child.work > (self.child.rows or 0)

    @property
    def _unit(self) -> Sql:
        assert self.child.owner.column is not None, "rows that are their own unit have one group each"
        return self.child.owner.column

    # windows

    @cached_property
    def _key_ranks(self) -> list[Sql]:
        """The stored ranks of all keys, if they have some."""
        ranks = [key.field.rank for key in self.keys if key.field is not None and key.field.rank is not None]
        return ranks if len(ranks) == len(self.keys) else []

    @property
    def _codes(self) -> list[Sql]:
        """Integers that tell keys apart within a unit, of their ranks, two in one; none where some key has no rank."""
        ranks = self._key_ranks
        return [
            sql("(CAST({} AS BIGINT) << 31) | {}", *pair) if len(pair) == 2 else pair[0]
            for pair in (ranks[start : start + 2] for start in range(0, len(ranks), 2))
        ]

    @cached_property
    def _source(self) -> Field | None:
        """The stored column that all keys are computed of by functions that seldom make its values equal, where all its
        ranks are here; None if there is none."""
        parts = [part.function for key in self.keys for part in key.expr.parts() if part.function is not None]
        columns = {column for key in self.keys for column in key.expr.columns()} - self._single
        known = [field for field in self.child.fields if field.expr.sql in columns and field.whole]
        few = self.groups is not None and self.groups <= merging.MOST_GROUPS
        few = few and all(function.name in merging.SELDOM for function in parts)
        return known[0] if few and len(columns) == len(known) == 1 and known[0].rank is not None else None

    def _by_source(self, columns: Iterable[Sql], source: Field, *, order: bool, first: bool) -> Sql:
        assert source.rank is not None, "it has a place"
        assert self.groups is not None, "there may be too many"
        more = [sql("{} AS {}", source.rank, merging.PLACE)]
        own = source.is_first
        if first and own is not None:
            more.append(sql("{} AS {}", own, FIRST))
        rows = self._passing([*columns, *more], [], order=order)
        held = sql("b AS {} ({})", sql("MATERIALIZED" if self._slow else "NOT MATERIALIZED"), rows)
        return merging.chosen(
            held, UNIT, self.names, self.groups, lambda rows: self._windowed(rows, [], first=first), [FIRST] * first
        )

    def _few_groups(self, columns: Iterable[Sql], *, order: bool, first: bool) -> Sql:
        codes = self._codes
        rows = self._passing([*columns, *labelled(codes, "code")], [], order=order)
        return self._windowed(rows, _numbered("code", codes), first=first)

    def _windowed(self, rows: Sql, codes: Sequence[Sql], *, first: bool) -> Sql:
        by = codes or hashed([UNIT], self.names)
        items = [sql("*"), sql("{} AS {}", _dense_rank(by), _RANK)]
        if first:
            over = sql("OVER (PARTITION BY {} ORDER BY {})", UNIT, joined(", ", by))
            items.append(sql("row_number() {0} = rank() {0} AS {1}", over, FIRST))
        return _up_to(sql("SELECT {} FROM ({})", joined(", ", items), rows), self.groups)

    def _first_rows(self, rows: Sql, *, first: bool) -> Sql:
        rank = row_number([UNIT, *self.names], self.row_order)
        rows = sql("SELECT *, {} AS {} FROM ({})", rank, _RANK, rows)
        return _up_to(
            sql("SELECT *, {} = 1 AS {} FROM ({})", _RANK, FIRST, rows) if first else rows, self.rows_per_group
        )


def _numbered(letters: str, columns: Sequence[Sql]) -> list[Sql]:
    """The names that columns have when they are `labelled`."""
    return [name(f"{letters}{index}") for index in range(len(columns))]


def _dense_rank(order: Sequence[Sql]) -> Sql:
    return sql("dense_rank() OVER (PARTITION BY {} ORDER BY {})", UNIT, joined(", ", order))


def _up_to(ranked: Sql, most: int | None) -> Sql:
    """The rows whose rank r goes so far."""
    return sql("SELECT * EXCLUDE ({0}) FROM ({1}) WHERE {0} <= {2}", _RANK, ranked, literal(most))
