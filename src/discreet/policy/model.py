"""What a policy file says, as frozen values. Nothing here reads data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.policy.retention import FOR_GOOD, Retention

Key = str | int | bool | date
"""A declared value of a column, in its Python type."""
Bound = Fraction | date | datetime
UNIT_ROWS: Final = 10_000
"""How many rows one unit may make at any step of a question, unless the policy says otherwise."""


class Kind(StrEnum):
    """The types that a column can have."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


class Format(StrEnum):
    """Where a source is read from."""

    CSV = "csv"
    PARQUET = "parquet"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    DELTA = "delta"
    ICEBERG = "iceberg"


@dataclass(frozen=True, slots=True)
class Login:
    """How a database of PostgreSQL is reached. Nothing of it is secret."""

    host: str
    """Empty: where PostgreSQL's own programs look for it."""
    port: int | None
    database: str
    user: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    """Of the connection: sslmode and its files."""
    password_variable: str | None = None
    """The variable of the environment that has the password, where PostgreSQL's own file of passwords has not."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which Spark reads a source. Nothing of it is secret."""

    master: str
    """As Spark calls it: local[*], yarn, spark://host:port; or where its server for clients is, sc://host:port."""
    token_variable: str | None = None
    """The variable of the environment that has the token, where that server wants one."""

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def is_remote(self) -> bool:
        return self.master.startswith("sc://")


@dataclass(frozen=True, slots=True)
class Source:
    """Files (a path or a glob pattern, relative to the policy's folder), or a table of a DuckDB file or a database."""

    format: Format
    path: str
    table: str | None = None
    multiline: bool | None = None
    """Of CSV: whether quoted values may hold line breaks. None: what cannot be told from the file is refused."""
    folders: tuple[str, ...] = ()
    """Columns that folders called `column=value` tell about the files in them."""
    separator: str | None = None
    """Of CSV: what stands between fields. None: a comma, or a tab in files that end so."""
    decimal: str | None = None
    """Of CSV: what stands before the fraction of a number. None: a point."""
    login: Login | None = field(default=None, repr=False)
    """Of a database: `path` says which it is, and this how it is reached."""
    cluster: Cluster | None = field(default=None, repr=False)
    """The same of what Spark reads."""
    newer_by: str | None = field(default=None, repr=False)
    """Of a table of a database: the column by which a refresh knows rows that it has not read yet."""

    @property
    def is_file(self) -> bool:
        """Whether it lies in files that we read ourselves."""
        return self.login is None and self.cluster is None and not self.is_lake

    @property
    def is_lake(self) -> bool:
        """Whether it is a table of Delta Lake or Iceberg."""
        return self.format in (Format.DELTA, Format.ICEBERG)


@dataclass(frozen=True, slots=True)
class Column:
    """A column that analysts may ask about: its type and what is public about its values."""

    name: str
    kind: Kind
    bounds: tuple[Bound, Bound] | None = None
    step: Fraction | None = None
    values: tuple[Key, ...] | None = None
    nullable: bool = False
    unique: bool = False
    """Whether no unit has it in two rows: of such rows the copy keeps one."""

    @property
    def is_key(self) -> bool:
        """Whether analysts may group by the column as it is: by declared values, booleans, or private text."""
        return self.values is not None or self.kind in (Kind.TEXT, Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a foreign-key path: `column` refers to `table`.`key`; whoever owns a row with that key claims it."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class Owner:
    """How a row's unit is found: `column` of the table at the end of `path` (of the table itself if that is empty).

    Without a column every row is its own unit.
    """

    column: str | None
    path: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """How a table that grows is cut into blocks, each with a budget of its own (its capacity)."""

    by: str
    """hour, day, week or month of a time column; or unit."""
    epsilon: Fraction
    delta: Fraction | None
    protects: str
    """row; unit-hour, unit-day, unit-week or unit-month: a unit's rows of one block; or unit: all of its rows."""
    column: str | None = None
    """The time of a row."""
    most: int = 1
    """Blocks that one protected unit has rows in."""
    buckets: int = 1
    """Of units: blocks among which those that first came with one refresh are divided."""

    @property
    def keeps_units(self) -> bool:
        """Whether all rows of a unit are protected together; else what is protected lies in one block."""
        return self.protects == "unit"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: private if it has an owner, else public."""

    name: str
    source: Source
    columns: Mapping[str, Column]
    owner: Owner | None
    max_rows: int = 1
    max_groups: int = 1
    max_rows_per_group: int = 1
    stream: Stream | None = None
    blocks: tuple[tuple[int, int], ...] | None = None
    """Of a stream: which blocks a query reads, as ranges of numbers. A policy file names none."""
    pairs: bool = False
    """Whether its copy ranks pairs of keys as well (`layout.ranked_pairs`), and keys by their first rows."""
    apart: bool = False
    """Whether the rows of its copy lie on several machines, those of each unit together on one of them and in order:
    to join them may move them, a window over each unit moves none."""
    parted: bool = False
    """Whether the rows of its copy lie in parts, late groups in one of their own, those of crowded units in the order
    of units (`engines.postgres_tables`)."""

    @property
    def is_public(self) -> bool:
        return self.owner is None


def usual_unit_rows(tables: Iterable[Table]) -> int:
    """How many rows one unit may make at any step where the policy says nothing: never fewer than are read of it."""
    return max([UNIT_ROWS, *(table.max_rows for table in tables)])


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may ever be spent: ε alone, or ε with δ."""

    epsilon: Fraction
    delta: Fraction | None = None
    max_windows: int | None = None
    """How often the owner may let it be spent again, the first time included; None: never."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How a server treats those who ask; none of it changes an answer."""

    pad_ms: int = 100
    """Answers are given 1, 2, 4, 8, … times this after their question was charged; 0 gives them at once."""
    time_limit: int = 60
    """Seconds after which a question is given up."""
    requests_per_minute: int = 600
    """Of one token."""


@dataclass(frozen=True, slots=True)
class Percentage:
    """A share of the whole budget, as the policy says in per cent: of its ε or ρ, and of its δ."""

    fraction: Fraction
    """Above 0, and at most 1."""


Share = Fraction | Percentage
"""What an analyst may spend: so much as one release for this ε, or a part of the budget."""


@dataclass(frozen=True, slots=True)
class LedgerDatabase:
    """A schema of a database of PostgreSQL that the ledger lies in, for curators on several hosts."""

    login: Login
    schema: str = "discreet"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy file."""

    name: str
    path: Path
    state: Path
    budget: Budget
    unit: str
    tables: Mapping[str, Table]
    analysts: Mapping[str, Share]
    max_cost: Fraction | None = None
    unit_rows: int = UNIT_ROWS
    """How many rows one unit may make at any step of a question, however tables are joined."""
    unit_kind: Kind = Kind.TEXT
    """The type that units are compared in: text, bytewise, or integers."""
    serving: Serving = Serving()
    engine: str = "duckdb"
    """What computes: DuckDB over a copy beside the policy, or the database that holds the private tables."""
    engine_schema: str = "discreet"
    """Of a database: the schema that its owner made for the copy."""
    hashing: str = "own"
    """Which hash chooses among a unit's rows and groups: the engine's own, or one that all engines have."""
    implicit_bounds: bool = False
    """Whether bounds that neither policy nor query states are found with a share of the cost."""
    statement: Mapping[str, str] = field(default_factory=dict)
    """What the owner says about it to the public: who they are, what it is for, why so much may be spent."""
    document: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What the owner wrote, as ledgers have it on record; nothing for a policy that is in no file."""
    ledger: LedgerDatabase | None = None
    """Where the ledger is; None: a file in the state folder."""
    acknowledged: tuple[str, ...] = ()
    """What `check` finds and the owner knows: a key of the policy and the name of a lint, each."""
    retention: Retention = FOR_GOOD
    """For how long texts of questions, and answers, stay on record."""

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def private_tables(self) -> dict[str, Table]:
        return {name: table for name, table in self.tables.items() if not table.is_public}

    @property
    def streams(self) -> dict[str, Table]:
        return {name: table for name, table in self.tables.items() if table.stream is not None}
