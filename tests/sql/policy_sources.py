"""Random FROM clauses over the tables of a random policy, for discreet and for plain DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.sql.policies import Column, Table, World, quoted
from tests.sql.policy_terms import Field, Writer


@dataclass(frozen=True)
class Source:
    """FROM in both languages, the unit in both, and what a unit may contribute.

    `again`: rows are chosen once more after WHERE, because a public table may multiply them.
    `whole`: all rows that were ranked are there, so that ranks decide.
    `where`: what stands in WHERE about which rows meet.
    """

    text: str
    plain: str
    unit: str | None
    plain_unit: str
    fields: tuple[Field, ...]
    rows: int
    groups: int | None = None
    in_group: int | None = None
    before: str = ""
    options: str = ""
    again: bool = False
    whole: bool = False
    where: str = ""
    plain_where: str = ""


class Sources:
    """Writes FROM."""

    def __init__(self, dice: random.Random, world: World) -> None:
        self.dice = dice
        self.world = world

    @property
    def makers(self) -> list[Callable[[Table], Source | None]]:
        return [
            self._table, self._table, self._table, self._kept, self._kept, self._named, self._joined, self._joined,
            self._looked_up, self._looked_up, self._per_unit, self._per_key, self._windowed, self._union,
        ]  # fmt: skip

    def source(self) -> Source:
        while True:
            found = self.dice.choice(self.makers)(self.dice.choice(self.world.private))
            if found is not None:
                return found

    def _fields(self, table: Table, alias: str, *, missing: bool = False, joined: bool = False) -> list[Field]:
        """A table's columns; ranks are not kept where a join may lack the row, nor places in a key by any join."""
        found = []
        for column in table.columns:
            if column.name == table.unit:
                continue
            ranked = column.is_key and table.owner is not None and not missing
            place = f"{alias}.{quoted(column.name)}"
            nth = ranked and table.stated[1] is not None and not joined
            found.append(
                Field(
                    place,
                    place,
                    replace(column, nullable=True) if missing else column,
                    f"{alias}.{quoted(f'~k{column.name}')}" if ranked else None,
                    f"{alias}.{quoted(f'~n{column.name}')}" if nth else None,
                )
            )
        return found

    def _table(self, table: Table) -> Source:
        unit = None if table.owner is None else f"s.{quoted(table.owner)}"
        text = f"{quoted(table.name)} AS s"
        return Source(
            text, text, unit, 's."~u"', tuple(self._fields(table, "s")), table.rows, *table.stated, whole=True
        )

    def _inner(self, table: Table) -> tuple[str, str]:
        """A subquery that keeps rows, in both languages."""
        fields = self._fields(table, "i")
        test = Writer(self.dice, fields).test(1)
        shown = ", ".join(
            [*([] if table.owner is None else [f"i.{quoted(table.owner)}"]), *(field.text for field in fields)]
        )
        where = f" WHERE {test.text}" if self.dice.random() < 0.6 else ""
        plain = f"SELECT * FROM {quoted(table.name)} AS i{where and f' WHERE {test.plain}'}"
        return f"SELECT {shown} FROM {quoted(table.name)} AS i{where}", plain

    def _kept(self, table: Table) -> Source:
        text, plain = self._inner(table)
        return replace(self._table(table), whole=False, text=f"({text}) AS s", plain=f"({plain}) AS s")

    def _named(self, table: Table) -> Source:
        text, plain = self._inner(table)
        other = self.dice.choice(["", ', d AS (SELECT * FROM "c d")'])
        read = "d AS s" if other else '"c d" AS s'
        table_of = replace(self._table(table), whole=False)
        return replace(table_of, before=f'WITH "c d" AS ({text}){other} ', text=read, plain=f"({plain}) AS s")

    def _joined(self, table: Table) -> Source | None:
        other = self.dice.choice(self.world.private)
        if table.owner is None or other.owner is None:
            return None
        side = self.dice.choice(["INNER", "INNER", "LEFT", "RIGHT", "FULL"])
        fields = [
            *self._fields(table, "l", missing=side in ("RIGHT", "FULL"), joined=True),
            *self._fields(other, "r", missing=side in ("LEFT", "FULL"), joined=True),
        ]
        more = Writer(self.dice, fields).test(0)
        further = f" AND {more.text}" if self.dice.random() < 0.3 else ""
        sides = f"{quoted(table.name)} AS l {side} JOIN {quoted(other.name)} AS r"
        text = f"{sides} ON l.{quoted(table.owner)} = r.{quoted(other.owner)}{further}"
        plain = f'{sides} ON l."~u" = r."~u"{further and f" AND {more.plain}"}'
        m, n = table.rows, other.rows
        rows = {"INNER": m * n, "LEFT": m * n, "RIGHT": m * n, "FULL": max(m * n, m + n)}[side]
        units = {"RIGHT": 'r."~u"', "FULL": 'coalesce(l."~u", r."~u")'}
        groups, in_group = (
            min((limit for limit in pair if limit is not None), default=None)
            for pair in zip(table.stated, other.stated, strict=True)
        )
        unit = unit_of(table, other, side)
        return Source(text, plain, unit, units.get(side, 'l."~u"'), tuple(fields), rows, groups, in_group)

    def _looked_up(self, table: Table) -> Source | None:
        public = [other for other in self.world.tables if other.unit is None]
        about = [
            field
            for field in self._fields(table, "l", joined=True)
            if public and field.column.values == public[0].columns[-1].values
        ]
        if not about:
            return None
        values = [row["about"] for row in self.world.rows[public[0].name] if row["about"] is not None]
        unique = len(set(values)) == len(values)
        if table.owner is None and not unique:
            return None
        side = self.dice.choice(["INNER", "LEFT"])
        wing = tuple(dict.fromkeys(row["wing"] for row in self.world.rows[public[0].name]))
        beds, wings = (
            Field(f"p.{name}", f"p.{name}", replace(column, nullable=side == "LEFT"))
            for name, column in (("beds", public[0].columns[1]), ("wing", Column("wing", "text", values=wing)))
        )
        text = f"{quoted(table.name)} AS l {side} JOIN {quoted(public[0].name)} AS p ON l.{{}} = p.about"
        text = text.replace("l.{}", self.dice.choice(about).text)
        unit = None if table.owner is None else f"l.{quoted(table.owner)}"
        fields = (*self._fields(table, "l", joined=True), beds, wings)
        return Source(text, text, unit, 'l."~u"', fields, table.rows, *table.stated, again=not unique)

    def _per_unit(self, table: Table) -> Source | None:
        """One row for each unit: counts, sums of whole numbers, extremes."""
        if table.owner is None:
            return None
        fields = self._fields(table, "i")
        counted = Column("n", "integer", Fraction(0), Fraction(table.rows))
        texts, plains, made = ["COUNT(*) AS n"], ["count(*) AS n"], [counted]
        for field in fields:
            column = field.column
            name = f"m{len(made)}"
            if column.kind == "integer" and column.low is not None and max(abs(column.low), abs(column.high)) < 2**40:
                low, high = min(column.low, column.low * table.rows), max(column.high, column.high * table.rows)
                texts.append(f"SUM({field.text}) AS {name}")
                held = f"least(greatest({field.plain}, {column.low}), {column.high})"
                plains.append(f"sum(CASE WHEN {field.plain} IS NOT NULL THEN {held} END)::DOUBLE AS {name}")
                # a sum has no NULL among its keys, whatever its column has
                made.append(Column(name, "integer", low, high))
            elif column.kind in ("integer", "number", "text", "date"):
                word = self.dice.choice(["MIN", "MAX"])
                texts.append(f"{word}({field.text}) AS {name}")
                plains.append(f"{word}({field.plain}) AS {name}")
                made.append(replace(column, name=name))
        least = self.dice.choice(["", "", " HAVING COUNT(*) > 1"])
        text = f"(SELECT i.{quoted(table.owner)}, {', '.join(texts)} FROM {quoted(table.name)} AS i GROUP BY"
        plain = f'(SELECT i."~u", {", ".join(plains)} FROM {quoted(table.name)} AS i GROUP BY i."~u"{least}) AS s'
        shown = tuple(Field(f"s.{column.name}", f"s.{column.name}", column) for column in made)
        unit = f"s.{quoted(table.owner)}"
        return Source(f"{text} i.{quoted(table.owner)}{least}) AS s", plain, unit, 's."~u"', shown, 1)

    def _per_key(self, table: Table) -> Source | None:
        """One row for each unit and each value of a column that it has."""
        fields = [field for field in self._fields(table, "i") if field.column.kind != "number"]
        if table.owner is None or not fields:
            return None
        key = self.dice.choice(fields)
        made = (replace(key.column, name="c"), Column("n", "integer", Fraction(0), Fraction(table.rows)))
        read = f"COUNT(*) AS n FROM {quoted(table.name)} AS i GROUP BY"
        text = f"(SELECT i.{quoted(table.owner)}, {key.text} AS c, {read} i.{quoted(table.owner)}, {key.text}) AS s"
        plain = f'(SELECT i."~u", {key.plain} AS c, {read} i."~u", {key.plain}) AS s'
        shown = tuple(Field(f"s.{column.name}", f"s.{column.name}", column) for column in made)
        return Source(text, plain, f"s.{quoted(table.owner)}", 's."~u"', shown, table.rows, *table.stated)

    def _windowed(self, table: Table) -> Source | None:
        """Rows beside others of their unit; where the written order does not decide, the row's rank does, and counts
        go up to the last of the rows that are equal in it."""
        if table.owner is None:
            return None
        fields = self._fields(table, "i")
        order, other = self.dice.choice(fields), self.dice.choice(fields)
        words = (("ROW_NUMBER()", 1), (f"LAG({other.text})", None), ("COUNT(*)", 1))
        texts, plains, made = [], [], []
        for place, (word, low) in enumerate(words):
            texts.append(f"{word} OVER (PARTITION BY i.{quoted(table.owner)} ORDER BY {order.text}) AS w{place}")
            total = "" if "COUNT" in word else ', i."~r"'
            over = f'PARTITION BY i."~u" ORDER BY {order.plain} NULLS LAST{total}'
            plains.append(f"{word} OVER ({over}) AS w{place}")
            counted = Column(f"w{place}", "integer", Fraction(0 if "COUNT" in word else 1), Fraction(table.rows))
            made.append(counted if low is not None else replace(other.column, name=f"w{place}"))
        kept = ", ".join(field.text for field in fields)
        text = f"(SELECT i.{quoted(table.owner)}, {kept}, {', '.join(texts)} FROM {quoted(table.name)} AS i) AS s"
        plain = f"(SELECT *, {', '.join(plains)} FROM {quoted(table.name)} AS i) AS s"
        shown = [Field(f"s.{column.name}", f"s.{column.name}", column) for column in made]
        shown += self._fields(table, "s")
        return Source(text, plain, f"s.{quoted(table.owner)}", 's."~u"', tuple(shown), table.rows, *table.stated)

    def _union(self, table: Table) -> Source | None:
        """Two tables, as far as their columns are alike."""
        other = self.dice.choice(self.world.private)
        if table.owner is None or other.owner is None:
            return None
        alike = [
            (a, b)
            for a in self._fields(table, "i")
            for b in self._fields(other, "i")
            if a.column.kind == b.column.kind and (a.column.values is None) == (b.column.values is None)
        ][:4]
        if not alike:
            return None
        parts, plains = [], []
        for place, side in enumerate((table, other)):
            shown = [f"{pair[place].text} AS c{number}" for number, pair in enumerate(alike)]
            parts.append(f"SELECT i.{quoted(side.owner or '')}, {', '.join(shown)} FROM {quoted(side.name)} AS i")
            plains.append(f'SELECT i."~u", {", ".join(shown)} FROM {quoted(side.name)} AS i')
        fields = [
            Field(f"s.c{number}", f"s.c{number}", _together(f"c{number}", a.column, b.column))
            for number, (a, b) in enumerate(alike)
        ]
        groups, in_group = (
            min((limit for limit in pair if limit is not None), default=None)
            for pair in zip(table.stated, other.stated, strict=True)
        )
        return Source(
            f"({' UNION ALL '.join(parts)}) AS s",
            f"({' UNION ALL '.join(plains)}) AS s",
            f"s.{quoted(table.owner)}",
            's."~u"',
            tuple(fields),
            table.rows + other.rows,
            groups,
            in_group,
        )


def unit_of(table: Table, other: Table, side: str) -> str:
    """The unit of two tables side by side: of the one that is there."""
    mine, theirs = f"l.{quoted(table.owner or '')}", f"r.{quoted(other.owner or '')}"
    return {"RIGHT": theirs, "FULL": f"COALESCE({mine}, {theirs})"}.get(side, mine)


def _together(name: str, a: Column, b: Column) -> Column:
    """What two columns hold in one; where their steps differ, rows lie between the steps."""
    values = None if a.values is None else tuple(dict.fromkeys((*a.values, *(b.values or ()))))
    low, high = (None, None) if a.low is None else (min(a.low, b.low), max(a.high, b.high))
    steps = [column.step for column in (a, b) if column.step is not None]
    same = len(steps) == 2 and steps[0] == steps[1]
    rough = not same or a.rough or b.rough
    return Column(name, a.kind, low, high, max(steps, default=None), values, a.nullable or b.nullable, rough)
