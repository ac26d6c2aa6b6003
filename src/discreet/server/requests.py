"""What requests look like. `answers.documents` has the responses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from discreet.ledger.ledger import MAX_QUERY_LENGTH


class Strict(BaseModel):
    """What a caller sends: unknown fields and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


MOST_VALUES: Final = 5_000
"""In one field of a request, and more fields than any has."""


class Sent(Strict):
    """A whole request.

    What is wrong is told of each value, for each way to read it, on the event loop: of a megabyte of them it took half
    a second, in which nobody else was answered. So values are counted before any of them is looked at.
    """

    loose: ClassVar[Collection[str]] = ()
    """Fields whose values may be anything, so that nothing is wrong with them here."""

    @model_validator(mode="before")
    @classmethod
    def few(cls, sent: Any) -> Any:
        fields: Mapping[str, Any] = sent if isinstance(sent, dict) else {}
        if len(fields) > MOST_VALUES or not all(
            _is_few(value, deep=name not in cls.loose)
            for name, value in fields.items()
            if isinstance(value, dict | list)
        ):
            raise PydanticCustomError("too_many", f"a field has at most {MOST_VALUES} values")
        return sent


def _is_few(value: dict[str, Any] | list[Any], *, deep: bool) -> bool:
    count, inside = 0, [value]
    while inside and count <= MOST_VALUES:
        each = inside.pop()
        count += len(each)
        if deep and count <= MOST_VALUES:
            values = each.values() if isinstance(each, dict) else each
            inside += [value for value in values if isinstance(value, dict | list)]
    return count <= MOST_VALUES


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


Text = Annotated[str, StringConstraints(max_length=MAX_QUERY_LENGTH)]
MOST_QUERIES: Final = 200
"""Of a batch that is sent; what is planned is free, and Python's curator takes more."""
Analyst = Annotated[Name | None, Field(description="Whose share is charged; only the owner may choose.")]
Holdout = Annotated[
    Name | None,
    Field(description="A name of the caller's: a fit leaves a quarter of the units out, and a score is about them."),
]
Dummy = Annotated[bool, Field(description="Use dummy data: free, and nothing private is read.")]


Block = Annotated[str, StringConstraints(min_length=1, max_length=100)] | int
Blocks = Annotated[
    Block | list[Block] | dict[Name, Block | list[Block]] | None,
    Field(
        description="Of a stream: the blocks that are read, such as newest 7 or 2024-03, or a list of them.",
        examples=["newest 7"],
    ),
]


class Part(Strict):
    """One part of a table whose units are divided among the keys of a column, for parallel composition."""

    table: Name
    column: Name
    key: Value = Field(description="The rows of the part have it; null for those that have none.")
    most: int = Field(1, ge=1, lt=2**63, description="In how many parts a unit may be.")


class Question(Sent):
    """A question and its cost: one of `epsilon`, `rho` or `error`, unless the text says it."""

    sql: Text = Field(description="One SELECT.", examples=["SELECT COUNT(*) FROM patients"])
    epsilon: Number | None = Field(None, description="The cost; in a budget with δ, what ε would cost there.")
    rho: Number | None = Field(None, description="The cost as ρ, in a budget with δ.")
    delta: Number | None = Field(None, description="With epsilon: the question alone is (ε, δ)-private.")
    error: Number | dict[Name, Number] | None = Field(
        None, description="The half-width wanted, or one for each column; the cost is found."
    )
    group_size: int | None = Field(
        None, ge=1, lt=2**63, description="Of averages: the smallest group, in rows, for which the error has to hold."
    )
    confidence: Number | None = Field(None, description="Of the intervals; 0.95 if left out.")
    params: dict[Name, Value] | None = Field(None, description="Values for $name in the text.")
    dialect: Name | None = Field(None, description="Of the text; DuckDB's if left out.")
    blocks: Blocks = None
    part: Part | None = Field(None, description="The part of a table that it is about; all of it if left out.")
    analyst: Analyst = None
    dummy: Dummy = False


class Query(Question):
    """A question to be answered."""

    confirm: bool = Field(
        False, description="Charge the cost of a wanted error even if it is more than a tenth of what is left."
    )
    fresh: bool = Field(False, description="Draw noise and charge again, even if the answer is cached.")


class Saving(Sent):
    """A query to be saved: its name, its text, and what it is to cost, or the error that is wanted."""

    name: Name = Field(examples=["patients by ward"])
    sql: Text
    epsilon: float | None = None
    error: Annotated[str, StringConstraints(max_length=1000)] | None = Field(None, examples=["10", "n=10, cost=500"])
    blocks: Annotated[str, StringConstraints(max_length=100)] | None = None


class Working(Sent):
    """A task on private rows and its cost for a unit: `epsilon`, perhaps with `delta`, or `rho`."""

    sql: Text = Field(description="The rows: one SELECT.", examples=["SELECT age, weight FROM patients"])
    max_rows: int | None = Field(
        None,
        ge=1,
        lt=2**63,
        description="Rows of each unit, 1 if left out; the cost is that of all of them.",
    )
    epsilon: Number | None = Field(None, description="The cost; in a budget with δ, what ε would cost there.")
    rho: Number | None = Field(None, description="The cost as ρ, in a budget with δ.")
    delta: Number | None = Field(None, description="A δ of its own for `epsilon`, at most the budget's.")
    blocks: Blocks = None
    analyst: Analyst = None
    dummy: Dummy = False


class Batching(Sent):
    """Several queries and what they cost together: `epsilon`, perhaps with `delta`, or `rho`."""

    queries: list[Text] = Field(
        min_length=1, max_length=MOST_QUERIES, description="One SELECT each.",
        examples=[["SELECT COUNT(*) FROM patients WHERE age < 40", "SELECT COUNT(*) FROM patients WHERE age < 65"]],
    )  # fmt: skip
    epsilon: Number | None = Field(None, description="The cost; in a budget with δ, what ε would cost there.")
    rho: Number | None = Field(None, description="The cost as ρ, in a budget with δ.")
    delta: Number | None = Field(None, description="A δ of its own for `epsilon`, at most the budget's.")
    confidence: Number | None = Field(None, description="Of the intervals; 0.95 if left out.")
    blocks: Blocks = None
    analyst: Analyst = None
    dummy: Dummy = False


class Batch(Batching):
    """Several queries to be answered."""

    fresh: bool = Field(False, description="Draw noise and charge again, even if the answers are cached.")


class Fitting(Working):
    """A fit."""

    loose = ("params",)

    estimator: Name = Field(description="The name of an estimator of discreet.learn.", examples=["KMeans"])
    params: dict[Name, Any] | None = Field(
        None, description="Its parameters; what is left out, the policy declares.", examples=[{"n_clusters": 3}]
    )
    target: Name | None = Field(None, description="The column that is predicted.")
    holdout: Holdout = None


class Fit(Fitting):
    """A model to be fitted."""

    fresh: bool = Field(False, description="Fit and charge again, even if the model is cached.")


class Scoring(Working):
    """Scores of a fitted model."""

    loose = ("model", "positive")

    model: dict[Name, Any] = Field(description="What a fit returned, or a model that was fitted elsewhere.")
    target: Name = Field(description="The column that the model predicts.")
    metric: Name | list[Name] | None = Field(
        None, description="accuracy, roc_auc, r2 and others; several share the cost.", examples=["accuracy"]
    )
    holdout: Holdout = None
    positive: Any = Field(None, description="The class whose probability is ranked, of more than two.")
    y_bounds: tuple[Number, Number] | None = Field(
        None, description="The bounds of the target; the model's or the policy's if left out."
    )
    confidence: Number | None = Field(None, description="Of the intervals; 0.95 if left out.")


class Score(Scoring):
    """A model to be scored."""

    fresh: bool = Field(False, description="Draw noise and charge again, even if the scores are cached.")


class Releasing(Working):
    """A release; `sql` may be the name of a table."""

    loose = ("params", "fields")

    publication: Name = Field(description="The name of a publication of discreet.release.", examples=["Facets"])
    params: dict[Name, Any] | None = Field(
        None, description="Its arguments as plain values.", examples=[{"names": ["age", "ward"]}]
    )
    fields: dict[Name, Any] | None = Field(None, description="Instead of `params`: its fields as a client writes them.")


class Release(Releasing):
    """Something to be published."""

    fresh: bool = Field(False, description="Publish and charge again, even if it is cached.")


Body = Question | Working | Batching
"""What is asked for, whatever it is."""
