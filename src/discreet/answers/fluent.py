"""Asking in Python: rows that are narrowed down step by step, and a statistic at the end. It writes SQL, no more.

It knows what analysts may know, so it is the same for a curator here and behind a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.part import Part
from discreet.answers.call import Call
from discreet.answers.facts import Facts
from discreet.answers.fragments import bare
from discreet.answers.ibis_tables import table_of
from discreet.answers.parts import dividing, part_of, public_keys
from discreet.answers.statistics import CALL, OfColumn, Statistics, text, whole_number
from discreet.answers.tables import tables_html
from discreet.errors import Refused
from discreet.markup import around, line, words
from discreet.policy import Key, meant
from discreet.printing import printable
from discreet.quoting import name

if TYPE_CHECKING:
    from discreet.answers.interface import Asks
    from discreet.answers.statistics import Named

HOW: Final = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
LIMITS: Final = {
    "max_rows": "max_rows_contributed",
    "max_groups": "max_groups_contributed",
    "max_rows_per_group": "max_rows_per_group",
}
END: Final = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What was said so far. It stands in one field of `Rows`, so that no name of it hides a column of that name."""

    tables: Mapping[str, Facts] = field(repr=False, compare=False)
    source: str
    """What follows FROM."""
    table: Facts | None
    """Whose rows they are; None if several tables were joined."""
    columns: tuple[str, ...]
    """That may be asked about, by name; one that both sides of a join have is there twice."""
    called: str = ""
    """Its alias, if it has one."""
    conditions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()
    params: Mapping[str, object] = field(default_factory=dict)
    part: Part | None = None
    read: Any = None
    """Of a stream: the blocks that are read."""
    ahead: bool = False
    """Whether statistics are previewed and not asked for."""

    @property
    def alias(self) -> str:
        return "joined" if self.table is None else self.called or self.table.name

    def rows(self, items: str = "*") -> str:
        return f"SELECT {items} FROM {self.source}{self.where()}"

    def where(self) -> str:
        """Conditions in parentheses of their own; lines end so that a comment in one cannot swallow the rest."""
        tests = " AND ".join(f"({condition}{END})" for condition in self.conditions)
        return f" WHERE {tests}" if tests else ""

    def aliased(self) -> str:
        """As one side of a join."""
        if not self.conditions:
            return self.source
        if self.table is None:
            raise Refused("statement-not-allowed", "joined rows cannot be narrowed before another join",
                          "join all tables first, then use where")  # fmt: skip
        return f"({self.rows()}) AS {name(self.alias)}"

    def within(self, items: str, columns: tuple[str, ...]) -> Steps:
        """The rows of a SELECT of these: it has these columns."""
        return replace(self, source=f"({self.rows(items)}) AS {name(self.alias)}", columns=columns, conditions=())

    def on_unit(self, right: Steps) -> str:
        units = [None if each.table is None or each.table.public else each.table.unit for each in (self, right)]
        if None in units:
            raise Refused("join-off-unit", "a join with more than two tables or a public one needs a condition",
                          'write on="a.id = b.id"')  # fmt: skip
        if "row" in units:
            raise Refused("join-off-unit", "rows that are their own unit have no partners", "name a unit column")
        mine, other = (name(str(unit)) for unit in units)
        return f"ON {name(self.alias)}.{mine} = {name(right.alias)}.{other}"


@dataclass(frozen=True, slots=True, repr=False)
class Rows(Statistics):
    """Rows of private or public tables. Every step gives new rows; nothing is asked before a statistic is.

    `visits.cost` and `visits["cost"]` are one column. A column that is called like a method, such as count or filter,
    is reached by `visits["count"]`; in brackets, expressions are columns as well: `visits["cost / 1000"]`.
    """

    _asks: Asks
    _steps: Steps

    @classmethod
    def of(cls, asks: Asks, table: Any) -> Rows:
        return cls._of(asks, asks.tables(), table)

    @classmethod
    def _of(cls, asks: Asks, known: Mapping[str, Facts], table: Any) -> Rows:
        if not isinstance(table, str) or table not in known:
            fix = meant(str(table), known) or f"tables: {', '.join(map(printable, known))}"
            raise Refused("unknown-table", "there is no such table", fix)
        facts = known[table]
        return cls(asks, Steps(tables=known, source=name(facts.name), table=facts, columns=tuple(facts.columns)))

    def _with(self, **changes: Any) -> Rows:
        return replace(self, _steps=replace(self._steps, **changes))

    # steps

    def where(self, condition: str, /, **params: object) -> Rows:
        """The rows that fulfil a condition: `where("age > $least", least=60)`."""
        merged = _merged(self._steps.params, params)
        return self._with(conditions=(*self._steps.conditions, text(condition)), params=merged)

    filter = where
    """The same, as polars, ibis and Spark call it."""

    def select(self, *columns: Named, **named: str) -> Rows:
        """Some columns alone, or named expressions: `select("ward", nights="DATE_DIFF('day', came, left)")`."""
        if not columns and not named:
            raise Refused("syntax", "nothing is selected", 'name columns: select("age", "ward")')
        labels = [self._name_of(column) for column in columns]
        items = [self.written(column) for column in columns]
        items += [f"{text(given)} AS {name(label)}" for label, given in named.items()]
        return replace(self, _steps=self._steps.within(", ".join(items), (*labels, *named)))

    def _name_of(self, column: Any) -> str:
        """What a column is called that is named, and not written as an expression."""
        if isinstance(column, OfColumn):
            column = next((each for each in self._steps.columns if bare(each) == column.column), column)
        if not isinstance(column, str) or column not in self._steps.columns:
            fix = (isinstance(column, str) and meant(column, self._steps.columns)) or 'or name it: select(x="cost / 2")'
            raise Refused("unknown-column", "there is no such column to select", fix)
        return column

    @property
    def columns(self) -> list[str]:
        """The names of the columns that may be asked about; what is known of them is shown by the rows themselves."""
        return list(dict.fromkeys(self._steps.columns))

    def blocks(self, blocks: Any) -> Rows:
        """Of a stream: the rows of some blocks, such as `blocks("newest 7")` or `blocks("2024-03")`."""
        return self._with(read=blocks)

    def group_by(self, *keys: Named, **named: str) -> Rows:
        """By columns, or by named expressions: `group_by("ward", month="DATE_TRUNC('month', day)")`."""
        added = [self.written(key) for key in keys] + [
            f"{text(given)} AS {name(label)}" for label, given in named.items()
        ]
        return self._with(keys=(*self._steps.keys, *added))

    def assign(self, **columns: str) -> Rows:
        """With further columns: `assign(nights="DATE_DIFF('day', came, left)")`."""
        items = ", ".join(["*", *(f"{text(given)} AS {name(label)}" for label, given in columns.items())])
        return replace(self, _steps=self._steps.within(items, (*self._steps.columns, *columns)))

    def join(self, other: str | Rows, on: str | None = None, how: Any = "inner") -> Rows:
        """With the rows of another table beside them, on the unit if no condition is given.

        `how`: inner, left, right or full.
        """
        if not isinstance(how, str) or how not in HOW:
            raise Refused("syntax", f"{how!r} is no way to join", f"joins: {', '.join(HOW)}")
        left = self._steps
        rows = Rows._of(self._asks, left.tables, other) if not isinstance(other, Rows) else other
        if rows._asks is not self._asks:
            raise Refused("unknown-table", "rows of two curators cannot be joined", "begin with one curator's tables")
        right = rows._steps
        if right.part is not None or right.keys or right.limits:
            raise Refused("statement-not-allowed", "rows that are grouped, bounded or of a part cannot be joined",
                          "join first, then group or bound; begin with the rows of the part")  # fmt: skip
        test = f"ON {text(on)}" if on is not None else left.on_unit(right)
        return self._with(
            source=f"{left.aliased()} {HOW[how]} {right.aliased()} {test}", table=None, conditions=(),
            columns=(*left.columns, *right.columns), params=_merged(left.params, right.params),
            ahead=left.ahead or right.ahead,
        )  # fmt: skip

    def named(self, alias: Any) -> Rows:
        """Under another name, for joins of a table with itself: `a.named("first").join(a.named("second"))`."""
        if self._steps.table is None or not isinstance(alias, str) or not alias:
            raise Refused("syntax", "a table is named before it is joined", 'write table("visits").named("first")')
        return self._with(source=f"({self._steps.rows()}) AS {name(alias)}", conditions=(), called=alias)

    def bounded(self, **limits: int) -> Rows:
        """Where one unit counts less than the policy allows: max_rows=, max_groups=, max_rows_per_group=."""
        unknown = set(limits) - set(LIMITS)
        if unknown:
            raise Refused("syntax", f"there is no limit {min(unknown)!r}", f"limits: {', '.join(LIMITS)}")
        given = {LIMITS[limit]: whole_number(most, limit) for limit, most in limits.items()}
        return self._with(limits=tuple({**dict(self._steps.limits), **given}.items()))

    @property
    def preview(self) -> Rows:
        """The same rows, whose statistics are previewed: `rows.preview.count(epsilon=0.5)`."""
        return self._with(ahead=True)

    def partition(self, column: Named, *, parts: int = 1) -> Partition:
        """The units divided among the keys of a column, each in one part (or so many), for parallel composition."""
        table = self._steps.table
        if table is None or self._steps.part is not None:
            raise Refused("statement-not-allowed", "only a table can be divided", "divide it before it is joined")
        if isinstance(column, OfColumn):
            column = self._name_of(column)
        if not isinstance(column, str):
            raise Refused("unknown-column", "a table is divided by a column", 'write partition("ward")')
        dividing(self._steps.tables, table.name, column)
        return Partition(self, table, column, min(whole_number(parts, "parts"), table.max_rows))

    def to_ibis(self) -> Any:
        """The table for ibis: `hospital.query(visits.group_by("ward").agg(n=visits.count()), epsilon=0.5)`."""
        table = self._steps.table
        if table is None or self._steps.conditions or self._steps.part is not None:
            raise Refused("statement-not-allowed", "ibis begins with a table", 'write table("visits").to_ibis()')
        return table_of(table, self._asks.public_schema(table.name) if table.public else {})

    # columns

    def __getitem__(self, column: Named) -> OfColumn:
        return OfColumn(self, self.written(column))

    def __getattr__(self, column: str) -> OfColumn:
        if column.startswith("_") or column not in self._steps.columns:
            known = "" if column.startswith("_") else meant(column, self._steps.columns) or "see .columns"
            raise AttributeError(f"these rows have no column and no method {column!r}: {known}")
        return self[column]

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *filter(str.isidentifier, self._steps.columns)})

    def written(self, column: Any) -> str:
        """A column, or an expression, as it stands in SQL: what is the name of a column is that, whatever it says."""
        table = self._steps.table
        unit = None if table is None else table.unit
        is_name = isinstance(column, str) and (column in self._steps.columns or (column == unit and column != "row"))
        return bare(str(column)) if is_name else text(column)

    # statistics

    def agg(self, *items: str, **settings: Any) -> Any:
        """Several statistics at one cost: `agg(n="COUNT(*)", cost="SUM(cost)", epsilon=0.5)`."""
        cost = {label: settings.pop(label) for label in tuple(settings) if label in CALL}
        named = [f"{text(given)} AS {name(label)}" for label, given in settings.items()]
        call = self.call(*map(text, items), *named, **cost)
        return self._asks.preview_of(call) if self._steps.ahead else self._asks.answer(call)

    def value_counts(self, column: Named, **cost: Any) -> Any:
        """How many rows have each key of a column."""
        return self.group_by(column).count(**cost)

    def sql(self, *items: str) -> str:
        """The question as SQL."""
        if not items:
            raise Refused("not-an-aggregate", "a question needs a statistic", 'write agg(n="COUNT(*)", epsilon=0.5)')
        steps = self._steps
        options = ", ".join(f"{option} = {most}" for option, most in steps.limits)
        clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if options else ""
        grouped = f" GROUP BY {', '.join(str(index + 1) for index in range(len(steps.keys)))}" if steps.keys else ""
        return f"SELECT {clause}{', '.join([*steps.keys, *items])} FROM {steps.source}{steps.where()}{grouped}"

    def call(self, *items: str, **cost: Any) -> Call:
        """What is asked of the curator."""
        given = dict(cost)
        params = _merged(self._steps.params, given.pop("params", None) or {})
        return Call(
            sql=self.sql(*items),
            params=params or None,
            part=self._steps.part,
            **{"dialect": "duckdb" if self._steps.limits else None, "blocks": self._steps.read, **given},
        )

    # showing

    def described(self) -> str:
        """In one line."""
        steps = self._steps
        part = "" if steps.part is None else f", of the part with {printable(steps.part.label)}"
        grouped = f" GROUP BY {', '.join(steps.keys)}" if steps.keys else ""
        return f"<rows: {printable(steps.rows() + grouped)}{part}; end with count, sum, mean, … and a cost>"

    def __repr__(self) -> str:
        table = self._steps.table
        return self.described() if table is None else f"{self.described()}\n{table!r}"

    def _repr_html_(self) -> str:
        table = self._steps.table
        shown = "" if table is None else tables_html({table.name: table})
        return around(line(words(self.described())), shown)


@dataclass(frozen=True, slots=True, repr=False)
class Partition(Mapping["Key | None", Rows]):
    """The parts of a table: each unit is in one of them, or in so many.

    Parallel composition: only what raises the maximum over the parts is charged.
    """

    rows: Rows
    table: Facts
    column: str
    parts: int

    def __getitem__(self, key: Key | None) -> Rows:
        return self.rows._with(part=part_of(self.rows._steps.tables, self.table.name, self.column, key, self.parts))

    def __iter__(self) -> Iterator[Key | None]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        try:
            return self[key] is not None  # type: ignore[index]
        except Refused:
            return False

    def get(self, key: Key | None, default: Any = None) -> Any:
        try:
            return self[key]
        except Refused:
            return default

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def _keys(self) -> tuple[Key | None, ...]:
        keys = public_keys(self.table.columns[self.column])
        if keys is None:
            raise Refused("unknown-part", f"the keys of {self.column} are private", 'name a part: parts["82414"]')
        return keys

    def __repr__(self) -> str:
        each = "one part" if self.parts == 1 else f"at most {self.parts} parts"
        return f"<partition of {printable(self.table.name)} by {printable(self.column)}: each unit is in {each}>"


def _merged(params: Mapping[str, object], more: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(more, Mapping):
        raise Refused("syntax", "parameters are given by name", 'write params={"least": 60}')
    twice = set(params) & set(more)
    if twice:
        raise Refused("syntax", f"the parameter {min(twice)} is given twice", "give it another name")
    return {**params, **more}
