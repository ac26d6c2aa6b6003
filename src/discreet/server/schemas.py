"""What requests and responses look like, for the OpenAPI document and for checking requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from discreet.ledger.ledger import MAX_QUERY_LENGTH


class Strict(BaseModel):
    """What a caller sends: unknown fields and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Exact(Strict):
    """A number that JSON cannot write exactly."""

    number: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(examples=["1/3"])


class Day(Strict):
    """A date."""

    date: Annotated[str, StringConstraints(max_length=40)] = Field(examples=["2026-01-31"])


class Moment(Strict):
    """A date with a time."""

    timestamp: Annotated[str, StringConstraints(max_length=40)] = Field(examples=["2026-01-31T15:30:00"])


Number = int | float | Exact
Value = None | bool | int | float | str | Day | Moment | Exact
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Question(Strict):
    """A question and its cost: one of `epsilon`, `rho` or `error`, unless the text says it."""

    sql: Annotated[str, StringConstraints(max_length=MAX_QUERY_LENGTH)] = Field(
        description="One SELECT.", examples=["SELECT COUNT(*) FROM patients"]
    )
    epsilon: Number | None = Field(None, description="The cost; in a budget with δ, what ε would cost there.")
    rho: Number | None = Field(None, description="The cost as ρ, in a budget with δ.")
    delta: Number | None = Field(None, description="With epsilon: the question alone is (ε, δ)-private.")
    error: Number | dict[Name, Number] | None = Field(
        None, description="The half-width wanted, or one for each column; the cost is found."
    )
    confidence: Number | None = Field(None, description="Of the intervals; 0.95 if left out.")
    params: dict[Name, Value] | None = Field(None, description="Values for $name in the text.")
    dialect: Name | None = Field(None, description="Of the text; DuckDB's if left out.")
    analyst: Name | None = Field(None, description="Whose share pays; only the owner may choose.")
    dummy: bool = Field(False, description="Ask made-up rows: free, and nothing private is read.")


class Query(Question):
    """A question to be answered."""

    fresh: bool = Field(False, description="Draw and pay anew, even if the answer is kept already.")


class Edit(BaseModel):
    """`old` becomes `new` in the text, or `new` goes to its end; arguments get other values, or none."""

    old: str
    new: str
    arguments: dict[str, float | None]


class Problem(BaseModel):
    """Why not, and the smallest change that works (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable; the same in Python and in the terminal.", examples=["budget-exhausted"])
    reason: str
    fix: str
    edit: Edit | None = Field(description="The fix as a change that a program can make.")
    spent: Literal[0] | None = Field(description="0: nothing was charged. null: what was charged stays spent.")


class Amount(BaseModel):
    """ε, and where they apply ρ and δ."""

    epsilon: float
    rho: float | None
    delta: float | None


class PureLoss(BaseModel):
    """A loss in a budget of ε alone."""

    epsilon: float


class ConcentratedLoss(BaseModel):
    """A loss in a budget with δ."""

    rho: float
    delta: float


Loss = PureLoss | ConcentratedLoss


class Guarantee(BaseModel):
    """The (ε, δ) of the whole budget."""

    epsilon: float
    delta: float | None


class Balance(BaseModel):
    """What was granted, is spent (rounded up) and remains (rounded down)."""

    total: Amount
    spent: Amount
    remaining: Amount
    units: dict[str, Amount] = Field(
        description="What was spent about each unit, where there are several: each is a guarantee about its own unit."
    )


class Answer(BaseModel):
    """A small table of noisy values with its intervals, cost and receipt."""

    question: str
    columns: list[str]
    types: list[str | None] = Field(description="Of the columns: integer, number, text, boolean, date, timestamp, …")
    rows: list[list[Any]]
    intervals: list[dict[str, Any]] = Field(description="For each row the [low, high] of its noisy columns.")
    confidence: float
    loss: Loss = Field(description="What this request cost; zero if the answer was kept already.")
    cost: Loss = Field(description="What the answer was bought for.")
    unit: str | None = Field(description="Whom the losses are about: adding or removing one of these.")
    cached: bool
    receipt: str = Field(description="`<charge number>:<hash>`; empty if nothing private was read.")
    remaining: Amount
    noise: dict[str, str]
    notes: list[str]
    guarantee: Guarantee


class Preview(BaseModel):
    """What a question would cost and how exact its answer would be. No data was read for it."""

    question: str
    columns: list[str]
    loss: Loss
    unit: str | None = Field(description="Whom the loss is about: adding or removing one of these.")
    error: dict[str, float | None] = Field(description="For each noisy column the half-width of its interval.")
    confidence: float
    groups: int | None
    noise: dict[str, str]
    shares: dict[str, float]
    averages: dict[str, dict[str, float | None]] = Field(description="For each average its half-width by group size.")
    notes: list[str]
    cached: bool
    remaining: Amount
    more: int | None = Field(description="How many such questions the budget carries; null if they are free.")
    guarantee: Guarantee


class Waiting(BaseModel):
    """A question that is not answered yet."""

    job: str
    state: Literal["queued", "running"]
    position: int | None = Field(description="1 is next; null if it is being answered.")


class Column(BaseModel):
    """What is public about a column."""

    type: str
    min: int | float | str | None
    max: int | float | str | None
    step: int | float | None
    values: list[Any] | None
    nullable: bool
    key: bool


class Table(BaseModel):
    """What may be asked about, and how much of one unit is read."""

    public: bool
    unit: str | None
    max_rows: int | None
    max_groups: int | None
    max_rows_per_group: int | None
    columns: dict[str, Column]


class Tables(BaseModel):
    """The tables of a dataset."""

    tables: dict[str, Table]


class Dataset(BaseModel):
    """A dataset that this token opens, and who its holder is there."""

    name: str
    unit: str
    role: Literal["owner", "analyst", "auditor"]
    analyst: str | None
    guarantee: Guarantee


class Datasets(BaseModel):
    """The datasets that this token opens."""

    datasets: list[Dataset]


class Entry(BaseModel):
    """A charge."""

    number: int
    at: str
    analyst: str
    question: str
    epsilon: float | None
    rho: float | None
    delta: float | None
    data_version: int
    answered: bool
    unit: str | None = Field(description="Whom the loss is about; null in entries of before it was recorded.")
    cost: Loss
    call: dict[str, Any] = Field(description="How it was asked beside its text.")


class Entries(BaseModel):
    """Charges, oldest first."""

    entries: list[Entry]


class Verified(BaseModel):
    """Whether the ledger is what discreet wrote."""

    sound: bool
    records: int
    charges: int
    head: str
    problems: list[str]


class Health(BaseModel):
    """That the server answers; to those who send a token, also how many questions wait and are being answered."""

    status: Literal["ok"]
    waiting: int | None = None
    running: int | None = None
