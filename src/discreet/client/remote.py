"""A dataset on a server, asked like a curator: the same calls, the same answers, the same refusals."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NoReturn, Self, TypeVar
from urllib.parse import quote, urlsplit

from discreet.accounting.balance import Balance
from discreet.accounting.labels import usual
from discreet.accounting.record import Entry, Key, demand_key
from discreet.accounting.stream import StreamStanding
from discreet.answers import Answer, Preview, documents
from discreet.answers import scores as scores  # whoever asks can read what was scored
from discreet.answers.batches import Queries
from discreet.answers.call import Call, written
from discreet.answers.ibis_tables import is_expression, text_of
from discreet.answers.interface import Asks
from discreet.answers.models import TASKS, Kind, Sendable
from discreet.answers.story import StoryLine
from discreet.answers.tables import Tables
from discreet.answers.wire import (
    answer_read,
    balance_read,
    entry_read,
    facts_read,
    line_read,
    preview_read,
    stream_read,
)
from discreet.client.http import DONE, EXAMPLE, WAITS, Connection, Reply, demand_safe
from discreet.client.problems import alien, read
from discreet.errors import Refused
from discreet.exact import epsilon as positive
from discreet.exact import probability
from discreet.noise import SYSTEM
from discreet.printing import printable

T = TypeVar("T")

TOKEN: Final = "DISCREET_TOKEN"
"""The environment variable that a token is taken from."""
AUTHORITY: Final = "DISCREET_CA"
"""The one that the path of an authority's certificate is taken from."""
MOST_ENTRIES: Final = 1_000_000
MOST_ANALYSTS: Final = 1000
"""Analysts whose shares are looked at, each with a request."""
MOST_COST: Final = 1e9
PAGE: Final = 10_000
"""Entries that are asked for at once."""
SOON: Final = 2
"""Seconds after which we ask how far a question is."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How far a question is: its place in the queue (1 is next), or None while it is being answered."""

    position: int | None
    words: str = ""
    """While it is being answered: what is done, or when it may end."""
    share: float | None = None
    """Of that, between 0 and 1."""

    @classmethod
    def of(cls, document: documents.Waiting) -> Self:
        progress = document.get("progress")
        if progress is None:
            return cls(document["position"])
        share = progress["share"]
        return cls(document["position"], printable(progress["words"])[:200], None if share is None else float(share))


Progress = Callable[[Waiting | None], object]
"""StoryLine while a question waits, and None when it does no longer."""


class Remote(Asks):
    """Asks one dataset of a server."""

    def __init__(
        self,
        connection: Connection,
        dataset: str,
        *,
        progress: Progress | None = None,
        about: documents.Dataset | None = None,
    ) -> None:
        """`about` is what the server says of the dataset, and of whoever holds the token."""
        self.name = dataset
        self._about: documents.Dataset = about or {"name": dataset}
        self._connection = connection
        self._progress = progress or _on_terminal
        self._is_dummy = False

    # asking

    def answer(self, call: Call) -> Answer:
        """The answer to what a caller says. Sent again after a broken connection, it is charged once.

        Ctrl-C cancels it: what waits is not charged, what runs stays charged.
        """
        return self._answer(
            self._asked(
                "query",
                documents.Answer,
                {**self._body(call), "fresh": call.fresh, **({"confirm": True} if call.confirm else {})},
            )
        )

    def batched(self, queries: Sequence[str], **options: Any) -> Queries:
        """The task of a batch: `remote.preview(remote.batched([…], epsilon=1))`."""
        return Queries(queries, **options)

    def perform(self, task: Any) -> Any:
        """What a task lets out, such as a fit; the same as a curator's, and charged once as queries are."""
        sent = self._sendable(task)
        body = {**self._task_body(sent), "fresh": getattr(task, "fresh", False)}
        return self._read(sent.received, self._asked(sent.path, TASKS[sent.path].document, body, sent.key))

    def _asked(self, what: str, kind: type[Any], body: dict[str, Any], key: Key | str | None = None) -> Any:
        """The document of what is asked for, once it is there."""
        demand_key(key)
        known = Key.called(key, "", "") if isinstance(key, str) else key  # whatever the text, it fits a header
        name = SYSTEM.bytes(16).hex() if known is None else known.name
        headers = {"idempotency-key": name, "prefer": f"respond-async, wait={SOON}"}
        ask = partial(self._connection.send, "POST", self._path(what), kind, json=body, headers=headers)
        status, document = ask()
        waited = False
        try:
            while status == WAITS:
                waited = True
                self._progress(Waiting.of(document))
                status, document = self._look(document["job"], kind, ask)
        except KeyboardInterrupt:
            with suppress(Exception):
                self._connection.send("DELETE", self._job(document["job"]))
            raise
        finally:
            if waited:
                self._progress(None)
        if status != DONE:
            raise alien(self._connection.url)
        return document

    def _look(self, job: str, kind: type[Any], ask: Callable[[], Reply]) -> Reply:
        """How far a question is; a server that was started anew knows the question by its key only."""
        started = time.monotonic()
        try:
            reply = self._connection.send("GET", self._job(job), kind, params={"wait": SOON})
            if reply[0] == WAITS and time.monotonic() - started < SOON / 2:
                time.sleep(SOON / 2)  # it did not wait as it was asked to
            return reply
        except Refused as refused:
            if refused.code != "unknown-job":
                raise
        return ask()

    def preview_of(self, task: Any) -> Preview:
        """The preview of a task, or of what a caller says."""
        if isinstance(task, Call):
            path, body = "preview", self._body(task)
        else:
            sent = self._sendable(task)
            path, body = f"{sent.path}/preview", self._task_body(sent)
        status, document = self._connection.send("POST", self._path(path), documents.Preview, json=body)
        if status != DONE:
            raise alien(self._connection.url)
        return self._read(preview_read, document)

    def _body(self, call: Call) -> dict[str, Any]:
        if is_expression(call.sql):
            call = replace(call, sql=text_of(call.sql), dialect="duckdb")
        if not isinstance(call.sql, str):
            raise Refused("syntax", "a question is a text", "write one SELECT")
        body = {"sql": call.sql, **written(call)}
        if call.analyst is not None:
            body["analyst"] = call.analyst
        return {**body, "dummy": True} if self._is_dummy else body

    @staticmethod
    def _sendable(task: Any) -> Sendable:
        if not isinstance(task, Sendable) or task.path not in TASKS:
            reason = "a server performs queries, batches, fits, scores and releases"
            raise Refused("not-private", reason, "write SQL, fit an estimator, or release a publication")
        return task

    def _task_body(self, task: Sendable) -> dict[str, Any]:
        body = task.request()
        return {**body, "dummy": True} if self._is_dummy else body

    def dummy(self) -> Remote:
        """The same dataset with dummy data: free, and nothing private is read."""
        other = Remote(self._connection, self.name, progress=self._progress, about=self._about)
        other._is_dummy = True
        return other

    # looking

    def budget(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        return self._read(balance_read, self._connection.get(self._path("budget"), Balance, analyst=analyst))

    @property
    def analysts(self) -> tuple[str, ...]:
        """Those whose shares the token shows: its own, or for owners and auditors all."""
        return tuple(self._about.get("analysts", filter(None, [self._about.get("analyst")])))[:MOST_ANALYSTS]

    @property
    def _usual(self) -> float | None:
        """What the server says to begin with, if that can be a cost."""
        said = self._about.get("usual", 0)
        return float(said) if 0 < said <= MOST_COST else None

    @property
    def own_share(self) -> str | None:
        """The analyst that the token is of; None for owners and auditors, who see everybody's."""
        return self._about.get("analyst") if self._about.get("role") == "analyst" else None

    @property
    def usual_cost(self) -> float:
        """An ε for whoever has no other: what the server says, else a tenth of the budget."""
        if self._usual is not None:
            return self._usual
        total = self.budget().total
        return self._read(_tenth, self._about.get("guarantee") or {"epsilon": total.epsilon, "delta": total.delta})

    def tables(self) -> Tables:
        """What an analyst may know: tables, columns, bounds, keys and limits."""
        tables = self._connection.get(self._path("tables"), documents.Tables)["tables"]
        return Tables({name: self._read(facts_read, name, facts) for name, facts in tables.items()})

    def public_schema(self, table: str) -> dict[str, str]:
        """The columns of a public table, with the types of the engine that the server has."""
        return dict(self._connection.get(self._path("schema"), documents.Schema, table=str(table))["columns"])

    def streams(self) -> dict[str, StreamStanding]:
        """The streams: their blocks, what was charged for each, and which are retired."""
        streams = self._connection.get(self._path("streams"), documents.Streams)["streams"]
        return {stream["name"]: self._read(stream_read, stream) for stream in streams}

    def entries(self, search: Any = None, *, limit: int | None = None) -> list[Entry]:
        """The ledger, newest last: all of it for owners and auditors, analysts see their own charges."""
        entries: list[Entry] = []
        sought = _sought(search)
        after = sought.pop("after", 0)
        while limit is None or len(entries) < limit:
            rest = PAGE if limit is None else min(limit - len(entries), PAGE)
            page = self._page(after=after, limit=rest, **sought)
            for entry in page:
                if entry.number <= after or len(entries) >= MOST_ENTRIES:  # it would never end
                    raise alien(self._connection.url)
                entries.append(entry)
                after = entry.number
            if not page:
                break
        return entries[:limit]

    def story(self) -> list[StoryLine]:
        """What happened beside charges: all of it for owners and auditors, analysts see what is theirs."""
        events = self._connection.get(self._path("events"), documents.Events)["events"]
        return [self._read(line_read, event) for event in events]

    def latest(self, search: Any = None, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first: a page of them, without reading the others."""
        entries: list[Entry] = []
        while len(entries) < limit:
            rest = min(limit - len(entries), PAGE)
            page = self._page(newest=True, offset=offset + len(entries), limit=rest, **_sought(search))
            entries += page
            if len(page) < rest:
                break
            if len(entries) > MOST_ENTRIES:  # it would never end
                raise alien(self._connection.url)
        return entries[:limit]

    def count(self, search: Any = None) -> int:
        """How many charges there are that whoever asks may see."""
        counted: int = self._connection.get(self._path("ledger/count"), documents.Count, **_sought(search))["count"]
        return counted

    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none that whoever asks may see."""
        if type(number) is not int or not 0 < number < 2**63:
            return None
        return next((entry for entry in self._page(after=number - 1, limit=1) if entry.number == number), None)

    def _page(self, **wanted: Any) -> list[Entry]:
        page = self._connection.get(self._path("ledger"), documents.Entries, **wanted)["entries"]
        return [self._read(entry_read, entry) for entry in page]

    def recall(self, number: int, *, confidence: Any = None) -> Any:
        """What the charge of this number let out, as it was then: an answer, a fitted model, or a release. Free."""
        try:
            answer = self._connection.get(self._path(f"answers/{number}"), documents.Answer, confidence=confidence)
            return self._answer(answer)
        except Refused as refused:
            kind = next((kind for kind in TASKS.values() if kind.code == refused.code), None)
            if kind is None:
                raise
        path = self._path(f"{kind.stored}/{number}")
        return self._work(kind, self._connection.get(path, kind.document, confidence=confidence))

    def _work(self, kind: Kind, document: Any) -> Any:
        if not kind.readers:
            raise Refused(
                "answer-gone", f"this charge is of {kind.what}", f"import {kind.package}, and recall it again"
            )
        return self._read(kind.readers.get(document["version"], _unknown), document)

    def _answer(self, document: Any) -> Answer:
        return self._read(answer_read, document)

    def _read(self, make: Callable[..., T], *sent: Any) -> T:
        return read(self._connection.url, make, *sent)

    def _job(self, job: str) -> str:
        return self._path(f"jobs/{quote(job, safe='')}")

    def _path(self, rest: str) -> str:
        return f"datasets/{quote(self.name, safe='')}/{rest}"

    # the end

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        cost = "…" if self._usual is None else f"{self._usual:g}"
        where = f"{printable(self.name)} at {printable(self._connection.url)}"
        return f"<{where}; ask with query(sql, epsilon={cost})>"

    def _repr_html_(self) -> str:
        from discreet.answers.portrait import portrait_html

        return portrait_html(self, str(self._about.get("unit", "unit")))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a connection cannot be copied or pickled: connect again")


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    insecure: bool = False,
    ca: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Remote:
    """A dataset on a server: `connect("https://host:8000/hospital", token="discreet_…")`.

    The token may stand in DISCREET_TOKEN instead. A token that opens one dataset only needs no name. `ca` is the
    certificate of the authority that vouches for the server, where it is your own; it may stand in DISCREET_CA.
    """
    base, named = _split(url)
    if not insecure:
        demand_safe(base)
    given: object = token or os.environ.get(TOKEN)
    if not given:
        raise Refused("unauthorized", "there is no token", f"pass token=, or set {TOKEN}")
    if not isinstance(given, str) or not given.isascii() or not given.isprintable():
        raise Refused("unauthorized", "that is no token", "ask the owner for one")
    encrypted = base.startswith("https://")
    if ca is not None and not encrypted:
        raise Refused("address", "without encryption there is no certificate to look at", "write https://, or no ca")
    authority = (ca or os.environ.get(AUTHORITY) or None) if encrypted else None
    connection = Connection(base, given, ca=authority)
    try:
        about = _chosen(_opened(connection), dataset or named)
        return Remote(connection, about["name"], progress=progress, about=about)
    except BaseException:
        connection.close()
        raise


def _unknown(_: Any) -> None:
    raise ValueError("something of another version")


def _sought(search: Any) -> dict[str, Any]:
    """What a search asks for, as it is sent; what it leaves open is left out."""
    said = {name: getattr(search, name, None) for name in ("analyst", "text", "answered", "after")}
    return {name: value for name, value in said.items() if value or value is False}


def _tenth(guarantee: documents.Guarantee) -> float:
    delta = guarantee["delta"]
    return usual(positive(guarantee["epsilon"]), None if delta is None else probability(delta, "delta"))


def _opened(connection: Connection) -> dict[str, documents.Dataset]:
    """The datasets that the token opens."""
    return {each["name"]: each for each in connection.get("datasets", documents.Datasets)["datasets"]}


def _split(url: str) -> tuple[str, str | None]:
    """The address of the server, and the dataset that is named after it."""
    if not isinstance(url, str):
        raise Refused("address", "an address is a text", EXAMPLE)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Refused("address", f"{url!r} is no address", EXAMPLE) from None
    if parts.query or parts.fragment:
        raise Refused("address", "the address of a dataset has no options", "pass them to query, or to connect")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.strip("/") or None


def _chosen(opened: dict[str, documents.Dataset], wanted: str | None) -> documents.Dataset:
    if wanted is not None and wanted in opened:
        return opened[wanted]
    if wanted is None and len(opened) == 1:
        return next(iter(opened.values()))
    reason = "the token opens several datasets" if wanted is None else "the token opens no such dataset"
    raise Refused("unknown-dataset", reason, f"name one after the address: {', '.join(map(printable, opened))}")


def _on_terminal(waiting: Waiting | None) -> None:
    """A line on standard error that takes its own place again, if somebody is there to see it."""
    if not sys.stderr.isatty():
        return
    text = ""
    if waiting is not None:
        said = waiting.words and f": {waiting.words}"
        share = "" if waiting.share is None else f" ({waiting.share:.0%})"
        running = f"being answered{said}{share} …"
        text = running if waiting.position is None else f"waiting: number {waiting.position} in the queue …"
    sys.stderr.write(f"\r\033[K{text}")
    sys.stderr.flush()
