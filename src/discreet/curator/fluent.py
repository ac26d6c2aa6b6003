"""Asking in Python: rows that are narrowed down step by step, and a statistic at the end. It writes SQL, no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.part import Part
from discreet.answers.call import Call
from discreet.answers.ibis_tables import table_of
from discreet.curator.parts import public_keys
from discreet.errors import Refused
from discreet.exact import number, whole
from discreet.policy import Key, Table, meant
from discreet.quoting import name
from discreet.sql.part import part_of, partitioned
from discreet.sql.read import fragment

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

HOW: Final = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
LIMITS: Final = {
    "max_rows": "max_rows_contributed",
    "max_groups": "max_groups_contributed",
    "max_rows_per_group": "max_rows_per_group",
}
CALL: Final = frozenset(
    {"epsilon", "rho", "delta", "error", "confidence", "params", "analyst", "fresh", "dialect", "blocks"}
)
"""What statistics take beside their columns."""
END: Final = "\n"


class Statistics:
    """The statistics that end a question. Each takes a cost: epsilon=, rho= or error=, and what `query` takes.

    Columns are named, or written as expressions: `sum("cost / 1000")`.
    """

    def agg(self, *items: str, **settings: Any) -> Any:
        raise NotImplementedError

    def count(self, column: str = "*", **cost: Any) -> Any:
        """How many rows there are, or how many have a value of the column."""
        return self._one("count", f"COUNT({_text(column)})", cost)

    def count_distinct(self, column: str, **cost: Any) -> Any:
        """How many different values, or units, there are."""
        return self._one("count_distinct", f"COUNT(DISTINCT {_text(column)})", cost)

    def sum(self, column: str, **cost: Any) -> Any:
        return self._one("sum", f"SUM({_text(column)})", cost)

    def mean(self, column: str, **cost: Any) -> Any:
        return self._one("mean", f"AVG({_text(column)})", cost)

    def median(self, column: str, **cost: Any) -> Any:
        return self._one("median", f"MEDIAN({_text(column)})", cost)

    def quantile(self, column: str, q: float, **cost: Any) -> Any:
        return self._one("quantile", f"QUANTILE_CONT({_text(column)}, {_share(q)})", cost)

    def min(self, column: str, **cost: Any) -> Any:
        return self._one("min", f"MIN({_text(column)})", cost)

    def max(self, column: str, **cost: Any) -> Any:
        return self._one("max", f"MAX({_text(column)})", cost)

    def std(self, column: str, **cost: Any) -> Any:
        return self._one("std", f"STDDEV_SAMP({_text(column)})", cost)

    def var(self, column: str, **cost: Any) -> Any:
        return self._one("var", f"VAR_SAMP({_text(column)})", cost)

    def mode(self, column: str, **cost: Any) -> Any:
        return self._one("mode", f"MODE({_text(column)})", cost)

    def histogram(self, column: str, bins: int = 10, **cost: Any) -> Any:
        return self._one("histogram", f"HISTOGRAM({_text(column)}, {_whole(bins, 'bins')})", cost)

    def _one(self, label: str, item: str, cost: dict[str, Any]) -> Any:
        unknown = sorted(set(cost) - CALL)
        if unknown:
            raise TypeError(f"there is no argument {unknown[0]!r}; there are {', '.join(sorted(CALL))}")
        return self.agg(f"{item} AS {label}", **cost)


@dataclass(frozen=True, slots=True, repr=False)
class Rows(Statistics):
    """Rows of private or public tables. Every step gives new rows; nothing is asked before a statistic is."""

    curator: Curator
    source: str
    """What follows FROM."""
    table: Table | None
    """Whose rows they are; None if several tables were joined."""
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

    @classmethod
    def of(cls, curator: Curator, table: Any) -> Rows:
        known = curator.policy.tables
        if not isinstance(table, str) or table not in known:
            fix = meant(str(table), known) or f"tables: {', '.join(known)}"
            raise Refused("unknown-table", "there is no such table", fix)
        facts = known[table]
        return cls(curator, name(facts.name), facts)

    # steps

    def where(self, condition: str, /, **params: object) -> Rows:
        """The rows that fulfil a condition: `where("age > $least", least=60)`."""
        return replace(self, conditions=(*self.conditions, _text(condition)), params=_merged(self.params, params))

    def blocks(self, blocks: Any) -> Rows:
        """Of a stream: the rows of some blocks, such as `blocks("newest 7")` or `blocks("2024-03")`."""
        return replace(self, read=blocks)

    def group_by(self, *keys: str, **named: str) -> Rows:
        """By columns, or by named expressions: `group_by("ward", month="DATE_TRUNC('month', day)")`."""
        added = [_text(key) for key in keys] + [f"{_text(text)} AS {name(label)}" for label, text in named.items()]
        return replace(self, keys=(*self.keys, *added))

    def assign(self, **columns: str) -> Rows:
        """With further columns: `assign(nights="DATE_DIFF('day', came, left)")`."""
        items = ", ".join(["*", *(f"{_text(text)} AS {name(label)}" for label, text in columns.items())])
        return replace(self, source=f"({self._rows(items)}) AS {name(self._alias)}", conditions=())

    def join(self, other: str | Rows, on: str | None = None, how: Any = "inner") -> Rows:
        """With the rows of another table beside them, on the unit if no condition is given.

        `how`: inner, left, right or full.
        """
        if not isinstance(how, str) or how not in HOW:
            raise Refused("syntax", f"{how!r} is no way to join", f"joins: {', '.join(HOW)}")
        right = Rows.of(self.curator, other) if not isinstance(other, Rows) else other
        if right.curator is not self.curator:
            raise Refused("unknown-table", "rows of two curators cannot be joined", "begin with one curator's tables")
        if right.part is not None or right.keys or right.limits:
            raise Refused("statement-not-allowed", "rows that are grouped, bounded or of a part cannot be joined",
                          "join first, then group or bound; begin with the rows of the part")  # fmt: skip
        test = f"ON {_text(on)}" if on is not None else self._on_unit(right)
        joined = f"{self._aliased()} {HOW[how]} {right._aliased()} {test}"
        params, ahead = _merged(self.params, right.params), self.ahead or right.ahead
        return replace(self, source=joined, table=None, conditions=(), params=params, ahead=ahead)

    def named(self, alias: Any) -> Rows:
        """Under another name, for joins of a table with itself: `a.named("first").join(a.named("second"))`."""
        if self.table is None or not isinstance(alias, str) or not alias:
            raise Refused("syntax", "a table is named before it is joined", 'write table("visits").named("first")')
        return replace(self, source=f"({self._rows()}) AS {name(alias)}", conditions=(), called=alias)

    def _aliased(self) -> str:
        """As one side of a join."""
        if not self.conditions:
            return self.source
        if self.table is None:
            raise Refused("statement-not-allowed", "joined rows cannot be narrowed before another join",
                          "join all tables first, then use where")  # fmt: skip
        return f"({self._rows()}) AS {name(self._alias)}"

    @property
    def _alias(self) -> str:
        return "joined" if self.table is None else self.called or self.table.name

    def _on_unit(self, right: Rows) -> str:
        if self.table is None or right.table is None or self.table.owner is None or right.table.owner is None:
            raise Refused("join-off-unit", "a join with more than two tables or a public one needs a condition",
                          'write on="a.id = b.id"')  # fmt: skip
        mine, other = self.table.owner.column, right.table.owner.column
        if mine is None or other is None:
            raise Refused("join-off-unit", "rows that are their own unit have no partners", "name a unit column")
        return f"ON {name(self._alias)}.{name(mine)} = {name(right._alias)}.{name(other)}"

    def bounded(self, **limits: int) -> Rows:
        """Where one unit counts less than the policy allows: max_rows=, max_groups=, max_rows_per_group=."""
        unknown = set(limits) - set(LIMITS)
        if unknown:
            raise Refused("syntax", f"there is no limit {min(unknown)!r}", f"limits: {', '.join(LIMITS)}")
        merged = {**dict(self.limits), **{LIMITS[limit]: _whole(most, limit) for limit, most in limits.items()}}
        return replace(self, limits=tuple(merged.items()))

    @property
    def preview(self) -> Rows:
        """The same rows, whose statistics are previewed: `rows.preview.count(epsilon=0.5)`."""
        return replace(self, ahead=True)

    def partition(self, column: str, *, parts: int = 1) -> Partition:
        """The units divided among the keys of a column, each in one part (or so many), for parallel composition."""
        if self.table is None or self.part is not None:
            raise Refused("statement-not-allowed", "only a table can be divided", "divide it before it is joined")
        if not isinstance(column, str):
            raise Refused("unknown-column", "a table is divided by a column", 'write partition("ward")')
        partitioned(self.curator.policy, self.table.name, column)
        return Partition(self, column, min(_whole(parts, "parts"), self.table.max_rows))

    def __getitem__(self, column: str) -> OfColumn:
        return OfColumn(self, _text(column))

    def to_ibis(self) -> Any:
        """The table for ibis: `hospital.query(visits.group_by("ward").agg(n=visits.count()), epsilon=0.5)`."""
        if self.table is None or self.conditions or self.part is not None:
            raise Refused("statement-not-allowed", "ibis begins with a table", 'write table("visits").to_ibis()')
        return table_of(self.table, self.curator.public_schema(self.table.name) if self.table.is_public else {})

    # statistics

    def agg(self, *items: str, **settings: Any) -> Any:
        """Several statistics at one cost: `agg(n="COUNT(*)", cost="SUM(cost)", epsilon=0.5)`."""
        cost = {label: settings.pop(label) for label in tuple(settings) if label in CALL}
        named = [f"{_text(text)} AS {name(label)}" for label, text in settings.items()]
        call = self.call(*map(_text, items), *named, **cost)
        return self.curator.preview_of(call) if self.ahead else self.curator.answer(call)

    def value_counts(self, column: str, **cost: Any) -> Any:
        """How many rows have each key of a column."""
        return self.group_by(column).count(**cost)

    def sql(self, *items: str) -> str:
        """The question as SQL."""
        if not items:
            raise Refused("not-an-aggregate", "a question needs a statistic", 'write agg(n="COUNT(*)", epsilon=0.5)')
        options = ", ".join(f"{option} = {most}" for option, most in self.limits)
        clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if options else ""
        grouped = f" GROUP BY {', '.join(str(index + 1) for index in range(len(self.keys)))}" if self.keys else ""
        return f"SELECT {clause}{', '.join([*self.keys, *items])} FROM {self.source}{self._where()}{grouped}"

    def call(self, *items: str, **cost: Any) -> Call:
        """What is asked of the curator."""
        given = dict(cost)
        params = _merged(self.params, given.pop("params", None) or {})
        return Call(
            sql=self.sql(*items),
            params=params or None,
            part=self.part,
            **{"dialect": "duckdb" if self.limits else None, "blocks": self.read, **given},
        )

    def _rows(self, items: str = "*") -> str:
        return f"SELECT {items} FROM {self.source}{self._where()}"

    def _where(self) -> str:
        """Conditions in parentheses of their own; lines end so that a comment in one cannot swallow the rest."""
        tests = " AND ".join(f"({condition}{END})" for condition in self.conditions)
        return f" WHERE {tests}" if tests else ""

    def __repr__(self) -> str:
        part = "" if self.part is None else f", of the part with {self.part.label}"
        grouped = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"<rows: {' '.join((self._rows() + grouped).split())}{part}; end with count, sum, mean, … and a cost>"


@dataclass(frozen=True, slots=True, repr=False)
class OfColumn:
    """One column of some rows, as pandas people write it: `visits["cost"].mean(epsilon=0.5)`."""

    rows: Rows
    column: str

    def __getattr__(self, statistic: str) -> Any:
        if statistic.startswith("_") or statistic not in STATISTICS:
            raise AttributeError(f"there is no statistic {statistic!r}; there are {', '.join(sorted(STATISTICS))}")
        method = getattr(self.rows, statistic)
        return lambda *given, **cost: method(self.column, *given, **cost)

    def nunique(self, **cost: Any) -> Any:
        return self.rows.count_distinct(self.column, **cost)

    def describe(self, **cost: Any) -> Any:
        """Count, mean, standard deviation, extremes and quartiles, at one cost."""
        x = self.column
        quartiles = [f"QUANTILE_CONT({x}, {q}) AS {label}" for label, q in (("q25", 0.25), ("q50", 0.5), ("q75", 0.75))]
        moments = [f"COUNT({x}) AS count", f"AVG({x}) AS mean", f"STDDEV_SAMP({x}) AS std"]
        return self.rows.agg(*moments, f"MIN({x}) AS min", *quartiles, f"MAX({x}) AS max", **cost)

    def __dir__(self) -> list[str]:
        return sorted([*STATISTICS, "nunique", "describe"])

    def __repr__(self) -> str:
        return f"<{self.column} of {self.rows!r}>"


STATISTICS: Final = frozenset(
    statistic for statistic in vars(Statistics) if not statistic.startswith("_") and statistic != "agg"
) | {"value_counts"}


@dataclass(frozen=True, slots=True, repr=False)
class Partition(Mapping["Key | None", Rows]):
    """The parts of a table: each unit is in one of them, or in so many.

    Parallel composition: only what raises the maximum over the parts is charged.
    """

    rows: Rows
    column: str
    parts: int

    def __getitem__(self, key: Key | None) -> Rows:
        assert self.rows.table is not None
        part = part_of(self.rows.curator.policy, self.rows.table.name, self.column, key, self.parts)
        return replace(self.rows, part=part)

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
        assert self.rows.table is not None
        keys = public_keys(self.rows.table.columns[self.column])
        if keys is None:
            raise Refused("unknown-part", f"the keys of {self.column} are private", 'name a part: parts["82414"]')
        return keys

    def __repr__(self) -> str:
        assert self.rows.table is not None
        each = "one part" if self.parts == 1 else f"at most {self.parts} parts"
        return f"<partition of {self.rows.table.name} by {self.column}: each unit is in {each}>"


def _text(text: object) -> str:
    """A fragment of SQL that is whole in itself: it cannot open or close what stands around it."""
    if not isinstance(text, str) or not text.strip():
        raise Refused("syntax", "columns and conditions are written as text", 'write "cost" or "cost > 5"')
    return fragment(text)


def _share(q: object) -> str:
    try:
        return repr(float(number(q, "q")))
    except (TypeError, ValueError) as wrong:
        raise Refused("syntax", str(wrong), "write quantile(x, 0.9)") from None


def _whole(value: object, what: str) -> int:
    try:
        return whole(value, what)
    except (TypeError, ValueError) as wrong:
        raise Refused("syntax", str(wrong), f"write {what}=5") from None


def _merged(params: Mapping[str, object], more: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(more, Mapping):
        raise Refused("syntax", "parameters are given by name", 'write params={"least": 60}')
    twice = set(params) & set(more)
    if twice:
        raise Refused("syntax", f"the parameter {min(twice)} is given twice", "give it another name")
    return {**params, **more}
