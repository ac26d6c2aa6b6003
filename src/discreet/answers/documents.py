"""What travels between server and client as JSON, defined once: the OpenAPI document and what a client accepts.

A server is trusted with the questions of its analysts, not with their machines. So a client decodes every body into one
of these types: a number is a finite number, a text is a text, an answer has as many values in each row as columns;
whatever has another form is not read, and nothing deeper than these is built (deserialisation of untrusted data).
`wire` makes these documents and reads them back. What is not required is what older servers do not send.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

import msgspec

from discreet.accounting.balance import Amount as Amount
from discreet.accounting.balance import Balance as Balance
from discreet.accounting.balance import Used as Used
from discreet.answers.consistency import LIST as LIST
from discreet.answers.consistency import consistent
from discreet.answers.shown_documents import Buckets as Buckets
from discreet.answers.shown_documents import SavedQueries as SavedQueries
from discreet.answers.shown_documents import SavedQuery as SavedQuery
from discreet.answers.story import Event as Event
from discreet.answers.story import Events as Events
from discreet.errors import Edit as Edit

Number = int | float
Scalar = str | int | float | bool | None
Value = str | int | float | bool | list[dict[str, Scalar]] | None
Ends = list[int | float | list[Number | None] | None] | None
"""The ends of an interval, or of a list those of each of its items."""
Unit = Annotated[str | None, msgspec.Meta(description="Whom the losses are about: adding or removing one of these.")]


class Loss(TypedDict, total=False):
    """A privacy loss: `epsilon` in a budget of ε alone, `rho` and `delta` in a budget with δ."""

    epsilon: Number
    rho: Number
    delta: Number


class Guarantee(TypedDict):
    """The (ε, δ) of the whole budget."""

    epsilon: Number
    delta: Number | None


class Answer(TypedDict):
    """A small table of noisy values with its intervals, cost and receipt."""

    question: str
    columns: list[str]
    types: Annotated[
        list[str | None],
        msgspec.Meta(description="Of the columns: integer, number, text, boolean, date, timestamp, list of …"),
    ]
    rows: list[list[Value]]
    intervals: Annotated[
        list[dict[str, Ends]], msgspec.Meta(description="For each row the [low, high] of its noisy columns.")
    ]
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    loss: Annotated[Loss, msgspec.Meta(description="What this request cost; zero if the answer was cached.")]
    cost: Annotated[Loss, msgspec.Meta(description="The cost at which the answer was computed.")]
    unit: NotRequired[Unit]
    cached: bool
    ranks: NotRequired[
        Annotated[dict[str, int], msgspec.Meta(description="By how many rows the rank of each quantile may be off.")]
    ]
    words: NotRequired[Annotated[dict[str, str], msgspec.Meta(description="What columns are, in words.")]]
    buckets: NotRequired[
        Annotated[dict[str, Buckets], msgspec.Meta(description="Of columns whose numbers stand for ranges.")]
    ]
    dummy: NotRequired[Annotated[bool, msgspec.Meta(description="Whether it is about dummy data.")]]
    earlier: NotRequired[Annotated[bool, msgspec.Meta(description="Whether it is of an earlier policy.")]]
    receipt: Annotated[str, msgspec.Meta(description="`<charge number>:<hash>`; empty if nothing private was read.")]
    remaining: Amount
    used: NotRequired[Annotated[Used | None, msgspec.Meta(description="How much is used up, as parts of 1.")]]
    more: NotRequired[Annotated[int | None, msgspec.Meta(description="How many more queries like this fit.")]]
    noise: dict[str, str]
    notes: list[str]
    guarantee: Guarantee


class Preview(TypedDict):
    """What a query would cost and its expected error. No data was read for it."""

    question: str
    columns: list[str]
    loss: Loss
    unit: NotRequired[Unit]
    error: Annotated[
        dict[str, Number | None], msgspec.Meta(description="For each noisy column the half-width of its interval.")
    ]
    ranges: NotRequired[
        Annotated[
            dict[str, tuple[Number, Number]],
            msgspec.Meta(description="The least and largest half-width, where bounds are yet to be found."),
        ]
    ]
    ranks: NotRequired[
        Annotated[dict[str, int], msgspec.Meta(description="By how many rows the rank of each quantile may be off.")]
    ]
    confidence: Number
    groups: int | None
    noise: dict[str, str]
    shares: dict[str, Number]
    averages: Annotated[
        dict[str, dict[str, Number | None]], msgspec.Meta(description="For each average its half-width by group size.")
    ]
    notes: list[str]
    cached: bool
    remaining: Amount
    used: NotRequired[Annotated[Used | None, msgspec.Meta(description="How much is used up, as parts of 1.")]]
    guarantee: Guarantee
    more: Annotated[
        int | None, msgspec.Meta(description="How many such queries the budget affords; null if they are free.")
    ]


class Fitted(TypedDict):
    """An estimator, and what it learned; what JSON cannot say is a table that names its kind, such as an array."""

    estimator: str
    parameters: dict[str, Any]
    fitted: Annotated[dict[str, Any], msgspec.Meta(description="Also `loss_`, `receipt_` and `cached_`.")]


class Model(TypedDict):
    """A fitted model."""

    version: int
    model: Fitted


class Bin(TypedDict):
    """Of a calibration: rows whose probability lies between two, and the share of them that are of the class."""

    low: Number
    high: Number
    predicted: Annotated[Number, msgspec.Meta(description="The mean of the probabilities.")]
    observed: Number
    interval: tuple[Number, Number]
    rows: Number


class Details(TypedDict, total=False):
    """What a confusion matrix or a calibration says beside its value."""

    classes: list[Scalar]
    matrix: Annotated[
        list[list[Number]], msgspec.Meta(description="A row for each true class, and one for rows of none of them.")
    ]
    error: Annotated[Number, msgspec.Meta(description="All counts are within it, with the confidence of the score.")]
    bins: list[Bin]


class Score(TypedDict):
    """A metric of a model on private rows; null where it is infinite."""

    metric: str
    value: Number | None
    interval: tuple[Number | None, Number | None]
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    rows: Annotated[Number, msgspec.Meta(description="About how many there are.")]
    details: Details


class Scores(TypedDict):
    """Scores of one model on the same rows, for one charge."""

    version: int
    scores: list[Score]
    loss: Annotated[Loss, msgspec.Meta(description="What this request cost; zero if the scores were cached.")]
    cost: Annotated[Loss, msgspec.Meta(description="The cost at which they were computed.")]
    unit: NotRequired[Unit]
    receipt: Annotated[str, msgspec.Meta(description="`<charge number>:<hash>`.")]


class Release(TypedDict):
    """What a publication let out; what JSON cannot say is a table that names its kind, such as an array."""

    version: int
    value: Annotated[dict[str, Any], msgspec.Meta(description="What was published: the name of its kind, its fields.")]
    loss: Annotated[Loss, msgspec.Meta(description="What this request cost; zero if it was cached.")]
    cost: Annotated[Loss, msgspec.Meta(description="The cost at which it was published.")]
    unit: NotRequired[Unit]
    receipt: Annotated[str, msgspec.Meta(description="`<charge number>:<hash>`.")]


class Batch(TypedDict):
    """The answers to several queries, in their order; each says what all of them cost together."""

    version: int
    answers: list[Answer]


class Progress(TypedDict):
    """How far a task is that runs: where ends are padded, by the clock and what was planned alone."""

    words: str
    share: Annotated[Number | None, msgspec.Meta(description="Of its steps; else of the time until it may end next.")]
    seconds: Annotated[Number, msgspec.Meta(description="Since it began.")]


class Waiting(TypedDict):
    """A query that is not answered yet."""

    job: str
    state: NotRequired[Literal["queued", "running"]]
    position: Annotated[int | None, msgspec.Meta(description="1 is next; null if it is running.")]
    progress: NotRequired[Progress]


class Column(TypedDict):
    """What is public about a column."""

    type: str
    min: str | int | float | None
    max: str | int | float | None
    step: Number | None
    values: list[Scalar] | None
    nullable: bool
    key: NotRequired[bool]


class Table(TypedDict):
    """What may be asked about, and the contribution bounds of one unit."""

    public: bool
    unit: str | None
    max_rows: int | None
    max_groups: int | None
    max_rows_per_group: int | None
    stream: NotRequired[str]
    columns: dict[str, Column]


class Tables(TypedDict):
    """The tables of a dataset."""

    tables: dict[str, Table]


class Schema(TypedDict):
    """The columns of a public table, with the engine's types."""

    columns: dict[str, str]


class Dataset(TypedDict):
    """A dataset that this token opens, and who its holder is there."""

    name: str
    unit: NotRequired[str]
    role: NotRequired[Literal["owner", "analyst", "auditor"]]
    analyst: NotRequired[str | None]
    analysts: NotRequired[
        Annotated[list[str], msgspec.Meta(description="Whose shares this token shows: all for owners and auditors.")]
    ]
    guarantee: NotRequired[Guarantee]
    usual: NotRequired[Annotated[Number, msgspec.Meta(description="An ε to begin with.")]]


class Datasets(TypedDict):
    """The datasets that this token opens."""

    datasets: list[Dataset]


class Entry(TypedDict):
    """A charge."""

    number: int
    at: str
    analyst: str
    question: str
    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    data_version: int
    answered: bool
    unit: NotRequired[Unit]
    cost: Loss
    call: Annotated[dict[str, Any], msgspec.Meta(description="How it was asked beside its text.")]
    blocks: NotRequired[
        Annotated[str | None, msgspec.Meta(description="Of a stream: its name and numbers; each was charged the cost.")]
    ]


class Stream(TypedDict):
    """How a stream stands. Amounts of blocks are ε, or ρ and δ, in the order of `labels`."""

    name: str
    capacity: Loss
    unit: NotRequired[Unit]
    most: Annotated[int, msgspec.Meta(description="In how many blocks a unit has rows, at most.")]
    labels: list[str]
    spent: Annotated[list[list[Number]], msgspec.Meta(description="Of each block; nothing for those retired.")]
    retired: Annotated[list[list[int]], msgspec.Meta(description="First and last number of each run of blocks.")]
    lost: Annotated[Loss, msgspec.Meta(description="What a unit can have lost by now.")]
    own: Annotated[
        list[list[Number]] | None, msgspec.Meta(description="What the caller charged for each block, if that is known.")
    ]
    limit: Annotated[Loss | None, msgspec.Meta(description="What the caller may charge for a block.")]


class Streams(TypedDict):
    """The streams of a dataset."""

    streams: list[Stream]


class Entries(TypedDict):
    """Charges, oldest first."""

    entries: list[Entry]


class Count(TypedDict):
    """How many charges there are."""

    count: Annotated[int, msgspec.Meta(ge=0)]


class Verified(TypedDict):
    """Whether the ledger is what discreet wrote."""

    sound: bool
    records: int
    charges: int
    head: str
    problems: list[str]


class Ready(TypedDict):
    """Whether questions are taken in."""

    status: Literal["ready", "unready"]


class Health(TypedDict):
    """That the server answers; to those who send a token, also how many queries wait and run."""

    status: Literal["ok"]
    waiting: NotRequired[int | None]
    running: NotRequired[int | None]


class Problem(TypedDict):
    """Why not, as RFC 9457 has it: a code, a reason, the smallest change that works, and whether it cost anything."""

    type: NotRequired[str]
    title: NotRequired[str]
    status: NotRequired[int]
    detail: NotRequired[str]
    code: str
    reason: str
    fix: str
    edit: NotRequired[Edit | None]
    spent: Annotated[
        int | None, msgspec.Meta(description="0: nothing was charged. null: what was charged stays spent.")
    ]


class Anything(TypedDict):
    """Of no interest."""


class Survey(TypedDict):
    """What a collector asks: `collector.reading` has its rules."""

    survey: Any
    fingerprint: Any
    invitations: NotRequired[Any]


class Stored(TypedDict):
    """What a collector says of a submission."""

    stored: bool


SENT: Final = (
    Answer, Preview, Model, Scores, Release, Batch, Waiting, Tables, Balance, Datasets, Streams, Entries, Count, Events,
    Verified, Health, Ready, Problem, Schema, SavedQuery, SavedQueries,
)  # fmt: skip
"""All that a server sends."""
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in (*SENT, Table, Entry, Anything, Survey, Stored)
}
"""Made here, before there are threads: msgspec 0.22 hands on what it knows of a type before that is complete, and a
second thread that decodes into the type at that moment ends the process (a segmentation fault)."""


def schemas(location: str) -> dict[str, Any]:
    """JSON Schema for all of them, which refer to each other at this place."""
    _, components = msgspec.json.schema_components(SENT, ref_template=location + "{name}")
    return components


def decoded(body: bytes, kind: Any) -> Any:
    """The document of a body, of this type; ValueError if it has another form.

    msgspec takes JSON as it is defined: no NaN, no Infinity, numbers that a float can hold, nesting that a stack can.
    """
    try:
        document = _DECODERS[kind].decode(body)
    except (msgspec.MsgspecError, RecursionError) as wrong:
        raise ValueError("not of discreet's form") from wrong
    return consistent(document) if kind is Answer else document
