"""Random FROM and WHERE clauses in which rows meet others: of their unit by IN, EXISTS, SEMI and ANTI joins and unique
keys, and of public tables by CROSS JOIN, commas, and joins that supply the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from tests.sql.policies import Column, Table, quoted
from tests.sql.policy_sources import Source, Sources, unit_of
from tests.sql.policy_terms import Condition, Field, Writer


class Meetings(Sources):
    """Writes FROM, with all that `Sources` knows."""

    @property
    def makers(self) -> list[Callable[[Table], Source | None]]:
        mine: list[Callable[[Table], Source | None]] = [
            self._among, self._exists, self._semi, self._crossed, self._listed, self._public_keys, self._public_keys,
            self._beside, self._unique, self._unique, self._foreign,
        ]  # fmt: skip
        return [*super().makers, *mine]

    def _other(self) -> Table | None:
        return self.dice.choice([table for table in self.world.private if table.owner is not None] or [None])

    def _maybe(self, fields: Sequence[Field], depth: int = 1) -> Condition | None:
        return Writer(self.dice, fields).test(depth) if self.dice.random() < 0.6 else None

    # of the same unit

    def _among(self, table: Table) -> Source | None:
        """unit [NOT] IN (SELECT unit …)"""
        other = self._other()
        if table.owner is None or other is None:
            return None
        test = self._maybe(self._fields(other, "j"))
        word = self.dice.choice(["IN", "NOT IN"])
        where, plain = (
            f"s.{mine} {word} (SELECT j.{theirs} FROM {quoted(other.name)} AS j{tail})"
            for mine, theirs, tail in (
                (quoted(table.owner), quoted(other.owner or ""), f" WHERE {test.text}" if test else ""),
                ('"~u"', '"~u"', f" WHERE {test.plain}" if test else ""),
            )
        )
        return self._or(replace(self._table(table), whole=False, where=where, plain_where=plain))

    def _or(self, source: Source) -> Source:
        """With an OR beside, or in a NOT."""
        test = Writer(self.dice, source.fields).test(0)
        form = self.dice.choice(["{}", "{}", "({} OR {})", "(NOT ({} AND {}))"])
        where, plain = form.format(source.where, test.text), form.format(source.plain_where, test.plain)
        return replace(source, where=where, plain_where=plain)

    def _exists(self, table: Table) -> Source | None:
        """[NOT] EXISTS (SELECT … WHERE the unit is the same AND …)"""
        other = self._other()
        if table.owner is None or other is None:
            return None
        test = self._maybe([*self._fields(table, "s"), *self._fields(other, "j")])
        word = self.dice.choice(["EXISTS", "NOT EXISTS"])
        where, plain = (
            f"{word} (SELECT 1 FROM {quoted(other.name)} AS j WHERE j.{theirs} = s.{mine}{tail})"
            for mine, theirs, tail in (
                (quoted(table.owner), quoted(other.owner or ""), f" AND {test.text}" if test else ""),
                ('"~u"', '"~u"', f" AND {test.plain}" if test else ""),
            )
        )
        return self._or(replace(self._table(table), whole=False, where=where, plain_where=plain))

    def _semi(self, table: Table) -> Source | None:
        other = self._other()
        if table.owner is None or other is None:
            return None
        test = self._maybe([*self._fields(table, "s"), *self._fields(other, "j")])
        word = self.dice.choice(["SEMI", "ANTI"])
        text, plain = (
            f"{quoted(table.name)} AS s {word} JOIN {quoted(other.name)} AS j ON s.{mine} = j.{theirs}{tail}"
            for mine, theirs, tail in (
                (quoted(table.owner), quoted(other.owner or ""), f" AND {test.text}" if test else ""),
                ('"~u"', '"~u"', f" AND {test.plain}" if test else ""),
            )
        )
        return replace(self._table(table), whole=False, text=text, plain=plain)

    def _beside(self, table: Table) -> Source | None:
        """FROM a, b WHERE their units are equal."""
        other = self._other()
        if table.owner is None or other is None:
            return None
        fields = [*self._fields(table, "l", joined=True), *self._fields(other, "r", joined=True)]
        text = f"{quoted(table.name)} AS l, {quoted(other.name)} AS r"
        where = f"l.{quoted(table.owner)} = r.{quoted(other.owner or '')}"
        return self._pair(table, other, fields, table.rows * other.rows, text, text, where=where)

    def _unique(self, table: Table) -> Source | None:
        """Rows of one unit that have the same key, of which one side, or both, has each once."""
        other = self._other()
        if table.owner is None or other is None:
            return None
        sides = self.dice.choice([("link", "uniq"), ("uniq", "link"), ("uniq", "uniq"), ("ref", "id")])
        columns = [_named(each, name) for each, name in zip((table, other), sides, strict=True)]
        if None in columns:
            return None
        side = self.dice.choice(["INNER", "LEFT", "RIGHT", "FULL"])
        once = [letter for letter, column in zip("rl", columns, strict=True) if column is not None and column.unique]
        tables = f"{quoted(table.name)} AS l {side} JOIN {quoted(other.name)} AS r ON"
        units = f"l.{quoted(table.owner)} = r.{quoted(other.owner or '')}"
        same = f"l.{sides[0]} = r.{sides[1]}"
        tests = self.dice.sample([units, same], 2)
        fields = [
            *self._fields(table, "l", missing=side in ("RIGHT", "FULL"), joined=True),
            *self._fields(other, "r", missing=side in ("LEFT", "FULL"), joined=True),
        ]
        rows = _most(table.rows, other.rows, side, once)
        plain = f'{tables} l."~u" = r."~u" AND {same}'
        return self._pair(table, other, fields, rows, f"{tables} {' AND '.join(tests)}", plain, side=side)

    def _foreign(self, table: Table) -> Source | None:
        """Along a foreign key alone: rows meet within their unit all the same."""
        other = next((each for each in self.world.private if table.path and each.name == table.path[0][1]), None)
        if other is None or _named(other, "id") is None:
            return None
        fields = [*self._fields(table, "l", joined=True), *self._fields(other, "r", joined=True)]
        comma = self.dice.random() < 0.5
        sides = quoted(table.name), quoted(other.name)
        text = "{} AS l, {} AS r".format(*sides) if comma else "{} AS l JOIN {} AS r ON l.ref = r.id".format(*sides)
        where = "l.ref = r.id" if comma else ""
        plain = "{} AS l JOIN {} AS r ON l.ref = r.id".format(*sides)
        return self._pair(table, other, fields, table.rows, text, plain, where=where)

    def _pair(
        self, table: Table, other: Table, fields: list[Field], rows: int, text: str, plain: str, *, side: str = "INNER",
        where: str = "",
    ) -> Source:  # fmt: skip
        units = {"RIGHT": 'r."~u"', "FULL": 'coalesce(l."~u", r."~u")'}
        groups, in_group = (
            min((limit for limit in pair if limit is not None), default=None)
            for pair in zip(table.stated, other.stated, strict=True)
        )
        same = "" if side != "INNER" else 'l."~u" = r."~u"'
        return Source(
            text, plain, unit_of(table, other, side), units.get(side, 'l."~u"'), tuple(fields), rows, groups, in_group,
            where=where, plain_where=same,
        )  # fmt: skip

    # public rows

    def _public(self, table: Table, *, outer: bool = False) -> tuple[Table, list[Field], list[Field]] | None:
        """A public table, its columns, and those of a private one that it is about."""
        public = [other for other in self.world.tables if other.unit is None]
        if not public:
            return None
        rows = self.world.rows[public[0].name]
        kind = public[0].columns[0].kind
        lists = {
            name: tuple(dict.fromkeys(row[name] for row in rows if row[name] is not None)) for name in ("about", "wing")
        }
        numbers = lists["about"] if kind == "integer" else ()
        low, high = (Fraction(min(numbers)), Fraction(max(numbers))) if numbers else (None, None)
        missing = any(row["about"] is None for row in rows)  # NULL is a key as well where public rows have it
        shown = [
            Column("about", kind, low, high, values=lists["about"], nullable=outer or missing),
            Column("wing", "text", values=lists["wing"], nullable=outer),
            replace(public[0].columns[1], nullable=outer),
        ]
        fields = [Field(f"p.{column.name}", f"p.{column.name}", column) for column in shown]
        values = public[0].columns[-1].values
        about = [field for field in self._fields(table, "l", joined=True) if field.column.values == values]
        return public[0], fields, about

    def _crossed(self, table: Table) -> Source | None:
        """Every row beside every public one."""
        found = self._public(table)
        if found is None or (table.owner is None and len(self.world.rows[found[0].name]) != 1):
            return None
        public, fields, _ = found
        word = self.dice.choice([" CROSS JOIN ", ", "])
        text = f"{quoted(table.name)} AS l{word}{quoted(public.name)} AS p"
        many = len(self.world.rows[public.name]) > 1
        return self._looked(table, fields, text, text, many=many)

    def _listed(self, table: Table) -> Source | None:
        """FROM private, public WHERE a column is equal."""
        found = self._public(table)
        if found is None or not found[2]:
            return None
        public, fields, about = found
        values = [row["about"] for row in self.world.rows[public.name] if row["about"] is not None]
        many = len(set(values)) < len(values)
        if table.owner is None and many:
            return None
        sides = self.dice.sample([f"{quoted(table.name)} AS l", f"{quoted(public.name)} AS p"], 2)
        where = f"{self.dice.choice(about).text} = p.about"
        return self._looked(table, fields, ", ".join(sides), ", ".join(sides), many=many, where=where)

    def _public_keys(self, table: Table) -> Source | None:
        """Keys that a public table supplies: its rows that match nobody add keys, and no rows."""
        outer = self.dice.random() < 0.4
        found = self._public(table, outer=outer)
        if found is None or not found[2]:
            return None
        public, fields, about = found
        keys = f"(SELECT DISTINCT about FROM {quoted(public.name)}) AS p"
        mine = f"{quoted(table.name)} AS l"
        on = f"ON {self.dice.choice(about).text} = p.about"
        if self.dice.random() < 0.5:
            text = f"{mine} {'FULL' if outer else 'RIGHT'} JOIN {keys} {on}"
        else:
            text = f"{keys} {'FULL' if outer else 'LEFT'} JOIN {mine} {on}"
        plain = f"{mine} {'LEFT' if outer else 'INNER'} JOIN {keys} {on}"
        return self._looked(table, fields[:1], text, plain, many=False)

    def _looked(
        self, table: Table, public: list[Field], text: str, plain: str, *, many: bool, where: str = ""
    ) -> Source:
        unit = None if table.owner is None else f"l.{quoted(table.owner)}"
        fields = (*self._fields(table, "l", joined=True), *public)
        return Source(text, plain, unit, 'l."~u"', fields, table.rows, *table.stated, again=many, where=where,
                      plain_where=where)  # fmt: skip


def _named(table: Table, name: str) -> Column | None:
    return next((column for column in table.columns if column.name == name), None)


def _most(m: int, n: int, side: str, once: list[str]) -> int:
    """How many rows of a unit there can be, where rows of these sides have one partner at most."""
    if side == "INNER":
        return min({"l": m, "r": n}[letter] for letter in once)
    if side == "FULL":
        return m + n
    stays, letter = (m, "l") if side == "LEFT" else (n, "r")
    return stays if letter in once else m + n - 1
