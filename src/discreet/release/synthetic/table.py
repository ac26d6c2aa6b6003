"""Synthetic tables: rows of nobody, with the columns, units and types of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.answers.frames import Column, to_arrow, to_pandas, to_polars
from discreet.engines.connection import connect
from discreet.mechanisms.arrays import Integers
from discreet.owner.toml import key, quoted
from discreet.policy import Kind
from discreet.printing import counted
from discreet.quoting import name as identifier
from discreet.release.attributes import FINE
from discreet.release.core import Published, demand_type, stored
from discreet.release.domain import Domain
from discreet.release.graphical import Floats
from discreet.release.synthetic.quality import Compared, Quality

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

TYPES: Final = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "HUGEINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
"""Of columns in a file that DuckDB writes."""


def narrow(codes: NDArray[Any], size: int) -> NDArray[Any]:
    """Codes below a size in as few bytes as they need."""
    return codes.astype(np.min_scalar_type(max(size - 1, 0)))


@stored
@dataclass(frozen=True)
class NoisyMarginal:
    """A marginal as it was measured: how many rows have each combination of groups of values, with noise."""

    names: tuple[str, ...]
    groups: tuple[NDArray[Any], ...] = field(compare=False)
    """For each column, by value the number of its group."""
    values: NDArray[Any] = field(compare=False)
    deviation: float
    """Of the noise on each of them."""

    def __post_init__(self) -> None:
        demand_type(
            names=(self.names, tuple),
            groups=(self.groups, tuple),
            values=(self.values, np.ndarray),
            deviation=(self.deviation, float),
        )
        sizes = tuple(map(_groups, self.groups))
        if not len(self.names) == len(sizes) > 0 or self.values.shape != sizes or self.values.dtype != np.int64:
            raise ValueError("a marginal has a count for each combination of its groups")
        if not self.deviation > 0 or not all(isinstance(each, str) for each in self.names):
            raise ValueError("a marginal has names and noise")

    def counts(self, codes: list[NDArray[Any]]) -> Floats:
        """The same counts of other rows."""
        places = [groups[column].astype(np.int64) for groups, column in zip(self.groups, codes, strict=True)]
        cells = np.ravel_multi_index(places, self.values.shape)
        return np.bincount(cells, minlength=self.values.size).astype(np.float64).reshape(self.values.shape)


def _groups(groups: object) -> int:
    """How many groups there are: each must have a value."""
    if not isinstance(groups, np.ndarray) or groups.ndim != 1 or groups.dtype.kind != "u" or not len(groups):
        raise ValueError("groups are numbers, one for each value")
    most = int(groups.max())
    if len(np.unique(groups)) != most + 1:
        raise ValueError("groups are numbered")
    return most + 1


@stored
@dataclass(frozen=True, kw_only=True)
class SyntheticTable(Published):
    """Rows drawn from a model of noisy marginals: nobody's, and free to use for anything."""

    domain: Domain
    codes: tuple[NDArray[Any], ...] = field(compare=False)
    """For each column the code of each row."""
    seed: int
    """Which value of a bin a row has follows from it."""
    measured: tuple[NoisyMarginal, ...]
    """All that is known of the source."""

    def __post_init__(self) -> None:
        demand_type(
            domain=(self.domain, Domain),
            codes=(self.codes, tuple),
            seed=(self.seed, int),
            measured=(self.measured, tuple),
        )
        if self.domain.unlisted:
            raise ValueError("a synthetic table has values in all columns")
        sizes = dict(zip(self.domain.names, self.domain.shape, strict=True))
        if len(self.codes) != len(sizes) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**64:
            raise ValueError("a synthetic table has a column of codes for each attribute")
        for column, size in zip(self.codes, sizes.values(), strict=True):
            _demand_codes(column, len(self.codes[0]), size)
        for each in self.measured:
            _demand_marginal(each, sizes)

    def __len__(self) -> int:
        """About as many rows as the source has: the noisy number."""
        return len(self.codes[0])

    @property
    def columns(self) -> list[str]:
        return list(self.domain.names)

    @cached_property
    def _columns(self) -> list[Column]:
        return [
            Column(attribute.name, attribute.kind, attribute.drawn(codes.astype(np.int64), self._uniform(index)))
            for index, (attribute, codes) in enumerate(zip(self.domain.known, self.codes, strict=True))
        ]

    def _uniform(self, index: int) -> Integers:
        """Below `FINE`, for each row of a column: a hash of seed, column and row, so that a table stays what it is."""
        with np.errstate(over="ignore"):
            mixed = np.arange(len(self), dtype=np.uint64) * np.uint64(len(self.codes)) + np.uint64(index)
            mixed = (mixed + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + _mixed(
                np.array([self.seed], dtype=np.uint64)
            )
            return (_mixed(mixed) % np.uint64(FINE)).astype(np.int64)

    # as values

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, in the types of the source."""
        return list(zip(*(column.values for column in self._columns), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """By column its values."""
        return {column.name: list(column.values) for column in self._columns}

    def to_pandas(self) -> pandas.DataFrame:
        return to_pandas(self._columns)

    def to_polars(self) -> polars.DataFrame:
        return to_polars(self._columns)

    def to_arrow(self) -> pyarrow.Table:
        return to_arrow(self._columns)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write all rows to a file: by pyarrow where it is installed, else by DuckDB."""
        write_parquet(self._columns, path)

    def save(self, path: str | PathLike[str], *, table: str | None = None) -> str:
        """Write a Parquet file; returns the lines that make it a public table of a policy, where any SQL is free.

        Anybody may know a synthetic table: it was charged when it was released.
        """
        return write_parquet(self._columns, path, table)

    def frame_columns(self) -> list[Column]:
        """Columns with their types, for whoever makes other frames of them."""
        return self._columns

    # how good it is

    def quality(self) -> Quality:
        """How near the rows are to what was measured. Free: nothing but noisy counts is looked at."""
        total = max(len(self), 1)
        marginals: dict[tuple[str, ...], list[NoisyMarginal]] = {}
        for each in self.measured:
            marginals.setdefault(each.names, []).append(each)
        compared = []
        for names, group in marginals.items():
            codes = [self.codes[self.domain.index(name)] for name in names]
            noisy, deviation = _together(group)
            compared.append(Compared.of(names, noisy, group[0].counts(codes), deviation, total))
        return Quality(rows=len(self), compared=tuple(compared))

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", released for {self.cost.words}"
        return f"{counted(len(self), 'synthetic row')} of {', '.join(self.columns)}{cost}"

    __repr__ = __str__


def write_parquet(columns: Sequence[Column], path: str | PathLike[str], table: str | None = None) -> str:
    """Write columns to a file; returns the lines that make it a public table of a policy."""
    target = Path(path)
    if find_spec("pyarrow") is not None:
        from pyarrow import parquet

        parquet.write_table(to_arrow(columns), target)
    else:
        _write_by_duckdb(columns, target)
    name = target.stem if table is None else table
    return f"[tables.{key(name)}]\nsource = {quoted(target.name)}\npublic = true\n"


def _write_by_duckdb(columns: Sequence[Column], path: Path) -> None:
    unnested = ", ".join(
        f"unnest(${index}::{TYPES[column.kind or Kind.TEXT]}[]) AS {identifier(column.name)}"
        for index, column in enumerate(columns, start=1)
    )
    target = str(path).replace("'", "''")
    with connect() as connection:
        connection.execute(f"CREATE TABLE written AS SELECT {unnested}", [each.values for each in columns])
        connection.execute(f"COPY written TO '{target}' (FORMAT parquet)")


def _together(group: Sequence[NoisyMarginal]) -> tuple[Floats, float]:
    """One marginal of several that were measured of the same columns, by the precision of each."""
    precisions = [each.deviation**-2 for each in group]
    whole = sum(precisions)
    values = sum(each.values * precision for each, precision in zip(group, precisions, strict=True)) / whole
    return np.asarray(values, dtype=np.float64), whole**-0.5


def _demand_codes(column: object, count: int, size: int) -> None:
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind != "u":
        raise ValueError("codes are whole numbers")
    if len(column) != count or (count and int(column.max()) >= size):
        raise ValueError("a code lies outside of its domain")


def _demand_marginal(each: object, sizes: Mapping[str, int]) -> None:
    if not isinstance(each, NoisyMarginal):
        raise ValueError("no marginal")
    if [sizes.get(name) for name in each.names] != [len(groups) for groups in each.groups]:
        raise ValueError("a marginal is of columns of the table")


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): every bit of the input moves about half of the output."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
