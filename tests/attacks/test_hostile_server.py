"""A server that an analyst connects to is hostile, or somebody answers in its place.

It sends wrong types, bodies without end, packed or nested bombs, redirects to a host that collects tokens, cookies,
and texts that steer terminals or run in notebooks. The client gives an answer or an error in words, and nothing else.
"""

from __future__ import annotations

import ast
import copy
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import httpx
import pytest

import discreet
from discreet.answers.fluent import Rows
from discreet.client import Remote, Unreachable, dbapi, http, remote
from discreet.client.http import MOST_BYTES, TRIES, WITHIN, Connection

STEERING = "\x1b[2J\x1b]52;c;cm0gLXJm\x07\x9b31m\r\x08\u202e\u2066\x00"
CONTROLS = {letter for letter in STEERING if not letter.isprintable()}
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> $x$ </td></style>"
HOSTILE = MARKUP + STEERING
AMOUNT = {"epsilon": 1.0, "rho": None, "delta": None}
ANSWER: dict[str, Any] = {
    "question": "q", "columns": ["ward", "n", "top"], "types": ["text", "integer", "list of text"],
    "rows": [["A", 7, [{"value": "x", "count": 3}]], [None, None, None]],
    "intervals": [{"n": [5, 9], "top": [[1, 5]]}, {"n": None}],
    "confidence": 0.95, "loss": {"epsilon": 0.1}, "cost": {"rho": 0.1, "delta": 0.0}, "cached": False,
    "receipt": "3:ab", "remaining": AMOUNT, "noise": {"n": "x"}, "notes": ["so"],
    "guarantee": {"epsilon": 3.0, "delta": None},
}  # fmt: skip
PREVIEW: dict[str, Any] = {
    "question": "q", "columns": ["ward", "n"], "loss": {"epsilon": 0.1}, "error": {"n": 3.0}, "confidence": 0.95,
    "groups": 3, "noise": {"n": "x"}, "shares": {"a": 0.5, "b": 0.5}, "averages": {"n": {"10": 1.5}}, "notes": ["so"],
    "cached": False, "remaining": AMOUNT, "guarantee": {"epsilon": 3.0, "delta": None}, "more": 9,
}  # fmt: skip
COLUMN = {"type": "text", "min": None, "max": None, "step": None, "values": ["A"], "nullable": True, "key": True}
AGE = {"type": "integer", "min": 0, "max": 120, "step": 1, "values": None, "nullable": False, "key": False}
TABLES: dict[str, Any] = {
    "tables": {
        "t": {
            "public": False, "unit": "id", "max_rows": 1, "max_groups": 1, "max_rows_per_group": 1,
            "columns": {"ward": COLUMN, "age": AGE},
        }
    }
}  # fmt: skip
BALANCE: dict[str, Any] = {"total": AMOUNT, "spent": AMOUNT, "remaining": AMOUNT}
ENTRY: dict[str, Any] = {
    "number": 1, "at": "2026-01-02T00:00:00Z", "analyst": "a", "question": "q", "epsilon": 0.1, "rho": None,
    "delta": None, "data_version": 1, "answered": True, "cost": {"epsilon": 0.1}, "call": {"epsilon": 0.1},
}  # fmt: skip
CALLS: dict[str, tuple[dict[str, Any], Callable[[Remote], Any]]] = {
    "query": (ANSWER, lambda found: found.query("SELECT 1", epsilon=0.1)),
    "recall": (ANSWER, lambda found: found.recall(1)),
    "preview": (PREVIEW, lambda found: found.preview("SELECT 1", epsilon=0.1)),
    "tables": (TABLES, lambda found: found.tables()),
    "budget": (BALANCE, lambda found: found.budget()),
    "entries": ({"entries": [ENTRY]}, lambda found: found.entries()),
    "latest": ({"entries": [ENTRY]}, lambda found: found.latest(limit=1)),
    "count": ({"count": 3}, lambda found: found.count()),
    "schema": ({"columns": {"ward": "VARCHAR"}}, lambda found: found.public_schema("t")),
    "table": (TABLES, lambda found: first(found)["ward"]),
}


def first(found: Remote) -> Rows:
    """The rows of a table, whatever it is called."""
    tables = found.tables()
    return Rows._of(found, tables, next(iter(tables), ""))


WRONG: list[Any] = [
    None, True, -1, 0, 1.5, 10**30, "", "x", HOSTILE, [], {}, [[]], [None], [{}], {"x": 1}, {"epsilon": "1"},
    ["a"] * 3, [[1, 2, 3]] * 2, [["A", 7, [{"value": 1}]]] * 2,
]  # fmt: skip
KNOWN = (discreet.Refused, discreet.QueryFailed, Unreachable)


def reaching(reply: Callable[[httpx.Request], httpx.Response]) -> Remote:
    return Remote(Connection("http://localhost", "secret", transport=httpx.MockTransport(reply)), "hospital")


def telling(document: Any) -> Remote:
    """A server that says this once, and then no more entries."""
    replies = iter([document, {"entries": []}])  # what comes after all entries
    return reaching(lambda _: httpx.Response(200, json=next(replies)))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"sleep": staticmethod(lambda _: None), "monotonic": staticmethod(lambda: 0.0)}
    for module in (http, remote):
        monkeypatch.setattr(module, "time", type("Clock", (), clock))


# types


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document."""
    yield path
    within = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, inner in within:
        yield from places(inner, (*path, name))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    if not path:
        return value
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return changed


def without(document: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return changed


def used(found: Any) -> None:
    """All that people do with what they got."""
    shown = [str(found), repr(found)]
    if isinstance(found, discreet.Answer):
        shown.append(found._repr_html_())
        found.to_dict()
        found.to_arrow()
        dbapi._table(found, with_intervals=True)
    elif hasattr(found, "_repr_html_"):
        shown.append(found._repr_html_())
    assert all(isinstance(each, str) for each in shown)


@pytest.mark.parametrize("call", [call for call in CALLS if call != "recall"])
def test_every_value_of_another_type_is_an_error_in_words(call: str) -> None:
    """Each place of each document gets each wrong value, or goes: a known error, or an answer that can be used."""
    document, ask = CALLS[call]
    used(ask(telling(document)))
    changed = [without(document, path) for path in places(document) if path]
    changed += [put(document, path, value) for path in places(document) for value in WRONG]
    refused = 0
    for each in changed:
        try:
            found = ask(telling(each))
        except KNOWN:
            refused += 1
        else:
            used(found)
    assert refused > len(changed) / 2


@pytest.mark.parametrize("status", [200, 201, 202, 203, 204, 206, 301, 302, 304, 307, 308, 400, 404, 418, 500, 599])
@pytest.mark.parametrize("call", CALLS)
def test_every_status_is_an_error_in_words(call: str, status: int) -> None:
    document, ask = CALLS[call]
    bodies: list[Any] = [{}, {"code": 5}, {"code": HOSTILE, "reason": "", "fix": "", "spent": 0}, ANSWER, [], None]
    for told in bodies:
        replies = reaching(lambda _, told=told: httpx.Response(status, json=told))  # type: ignore[misc]
        if status == 200 and document is told:  # it is what was asked for
            continue
        with pytest.raises(KNOWN) as raised:
            ask(replies)
        assert str(raised.value).isprintable()


# bodies


@pytest.mark.parametrize(
    "body",
    [
        b"{" * 10**6,
        b'{"question":' * 10**5,
        b'{"rows":' + b"[" * 10**6,
        json.dumps(put(ANSWER, ("notes",), "x")).replace('"x"', "[" * 5000 + "]" * 5000).encode(),
        json.dumps(put(ANSWER, ("confidence",), float("nan"))).encode(),
        json.dumps(put(ANSWER, ("remaining", "epsilon"), float("inf"))).encode(),
        json.dumps(ANSWER).replace("0.95", "1e999").encode(),
        json.dumps(ANSWER).replace("7", "9" * 5000).encode(),
        json.dumps(ANSWER).encode("utf-16"),
        b"\xff\xfe\x00",
        b"\x80\x04\x95\x00.",
        b"",
        b"null",
        b"<html>welcome</html>",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_bombs_and_what_is_no_json(body: bytes) -> None:
    replies = reaching(lambda _: httpx.Response(200, content=body, headers={"content-type": "application/json"}))
    with pytest.raises(Unreachable, match="not discreet's"):
        replies.query("SELECT 1", epsilon=0.1)


@pytest.mark.parametrize("kind", ["text/html", "application/x-python-pickle", "text/plain", ""])
def test_another_content_type_is_not_read(kind: str) -> None:
    body = json.dumps(ANSWER).encode()
    replies = reaching(lambda _: httpx.Response(200, content=body, headers={"content-type": kind}))
    with pytest.raises(Unreachable, match="not discreet's"):
        replies.query("SELECT 1", epsilon=0.1)


class Endless(httpx.SyncByteStream):
    """A body that is sent as long as somebody reads it."""

    def __init__(self, piece: bytes) -> None:
        self.piece, self.sent, self.closed = piece, 0, False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.sent += len(self.piece)
            yield self.piece

    def close(self) -> None:
        self.closed = True


def test_a_body_without_end_is_left() -> None:
    stream = Endless(b"[" * 2**24)
    replies = reaching(lambda _: httpx.Response(200, stream=stream, headers={"content-type": "application/json"}))
    with pytest.raises(Unreachable, match="bytes"):
        replies.tables()
    assert stream.sent <= MOST_BYTES + 2**24
    assert stream.closed


def test_a_body_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(10**6))
    clock = {"monotonic": staticmethod(lambda: float(next(now)))}
    monkeypatch.setattr(http, "time", type("Clock", (), clock))
    stream = Endless(b" ")
    replies = reaching(lambda _: httpx.Response(200, stream=stream, headers={"content-type": "application/json"}))
    with pytest.raises(Unreachable, match=f"{WITHIN:g} s"):
        replies.tables()
    assert stream.sent <= WITHIN + 2
    assert stream.closed


def test_what_is_packed_is_not_unpacked() -> None:
    """Ten kilobytes that would become ten megabytes."""
    stream = Endless(gzip.compress(b" " * 10**7))
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, stream=stream, headers={"content-encoding": "gzip"})

    with pytest.raises(Unreachable, match="not discreet's"):
        reaching(reply).tables()
    assert seen[0].headers["accept-encoding"] == "identity"
    assert stream.sent == 0


class Cut(httpx.SyncByteStream):
    """The first half of an answer."""

    def __iter__(self) -> Iterator[bytes]:
        yield json.dumps(ANSWER).encode()[:40]
        raise httpx.RemoteProtocolError("closed")


def test_a_body_that_is_cut_is_asked_for_again_and_then_left() -> None:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, stream=Cut(), headers={"content-type": "application/json"})

    with pytest.raises(Unreachable, match="does not answer"):
        reaching(reply).query("SELECT 1", epsilon=0.1)
    assert 1 < len(seen) <= TRIES
    assert len({each.headers["idempotency-key"] for each in seen}) == 1


# what never ends


@pytest.mark.parametrize("numbers", [[1], [2, 2], [3, 1]])
def test_a_ledger_that_never_ends_is_left(numbers: list[int]) -> None:
    told = {"entries": [{**ENTRY, "number": number} for number in numbers]}
    with pytest.raises(Unreachable, match="not discreet's"):
        reaching(lambda _: httpx.Response(200, json=told)).entries()


def test_a_ledger_that_grows_while_it_is_read_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_ENTRIES", 50)

    def more(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"entries": [{**ENTRY, "number": int(request.url.params["after"]) + 1}]})

    with pytest.raises(Unreachable, match="not discreet's"):
        reaching(more).entries()


def test_a_server_that_says_at_once_that_one_has_to_wait_is_not_asked_in_a_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    clock = {"sleep": staticmethod(pauses.append), "monotonic": staticmethod(lambda: 0.0)}
    monkeypatch.setattr(remote, "time", type("Clock", (), clock))
    waiting = {"job": "../../elsewhere?x=", "state": "queued", "position": 1}
    replies = iter([httpx.Response(202, json=waiting)] * 5 + [httpx.Response(200, json=ANSWER)])
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return next(replies)

    assert len(reaching(reply).query("SELECT 1", epsilon=0.1)) == 2
    assert len(pauses) == 4
    assert min(pauses) > 0.5
    assert {each.url.raw_path.partition(b"/jobs/")[2] for each in seen[1:]} == {b"..%2F..%2Felsewhere%3Fx%3D?wait=2"}


# the token


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["https://collector.test/", "//collector.test/", "/elsewhere", "http://localhost:1/"]
)
def test_no_redirect_is_followed(status: int, location: str) -> None:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(status, json=ANSWER, headers={"location": location})

    with pytest.raises(Unreachable):
        reaching(reply).query("SELECT 1", epsilon=0.1)
    assert [each.url.host for each in seen] == ["localhost"]
    assert seen[0].headers["authorization"] == "Bearer secret"


def test_cookies_are_forgotten() -> None:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=BALANCE, headers={"set-cookie": "follow=me; Path=/"})

    found = reaching(reply)
    found.budget()
    found.budget()
    assert [each.headers.get("cookie") for each in seen] == [None, None]


def test_the_token_is_in_no_text() -> None:
    found = reaching(lambda _: httpx.Response(500, text="oops"))
    with pytest.raises(Unreachable) as raised:
        found.budget()
    assert "secret" not in f"{raised.value!r} {found!r} {vars(found)!r}"


# what is shown


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))


def hostile(document: Any) -> Any:
    """The same document with every text, also of names, replaced by one that steers terminals and runs in pages."""
    if isinstance(document, Mapping):
        return {name if name in FIXED else HOSTILE + name: hostile(inner) for name, inner in document.items()}
    if isinstance(document, list):
        return [hostile(each) for each in document]
    if not isinstance(document, str) or re.fullmatch(r"text|integer|list of text|\d+.*Z?", document):
        return document
    return HOSTILE + document


FIXED = {
    *ANSWER,
    *PREVIEW,
    *TABLES,
    *BALANCE,
    *ENTRY,
    "entries",
    *AMOUNT,
    *COLUMN,
    *TABLES["tables"]["t"],
    "value",
    "count",
    "10",
}


TAGS = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}


@pytest.mark.parametrize("call", CALLS)
def test_no_text_steers_a_terminal_or_runs_in_a_page(call: str) -> None:
    document, ask = CALLS[call]
    found = ask(telling(hostile(document)))
    each = found if isinstance(found, list) else [found]
    for one in each:
        assert not set(f"{one} {one!r}") & CONTROLS, call
        if hasattr(one, "_repr_html_"):
            page = Tags()
            page.feed(one._repr_html_())
            assert {tag for tag, _ in page.found} <= TAGS
            assert {name for _, given in page.found for name, _ in given} <= {"style", "role", "aria-label", "open"}
            assert not set(one._repr_html_()) & CONTROLS


@pytest.mark.parametrize("code", ["syntax", "budget-exhausted", "failed", "cancelled"])
def test_no_refusal_steers_a_terminal(code: str) -> None:
    """Tracebacks print an exception's own text, wherever it is not caught."""
    told = {"code": code, "reason": f"one\n{HOSTILE}", "fix": HOSTILE * 1000, "spent": None}
    with pytest.raises((discreet.Refused, discreet.QueryFailed)) as raised:
        reaching(lambda _: httpx.Response(422, json=told)).budget()
    wrong: Any = raised.value
    shown = f"{wrong} {wrong.reason} {wrong.fix} {wrong!r}"
    assert not set(shown) & CONTROLS
    assert len(shown) < 50_000


def test_names_of_datasets_steer_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"datasets": [{"name": HOSTILE}, {"name": "b"}]})

    monkeypatch.setattr(
        remote, "Connection", lambda url, token, **_: Connection(url, token, transport=httpx.MockTransport(reply))
    )
    with pytest.raises(discreet.Refused) as raised:
        discreet.connect("http://localhost:1", token="t")
    assert not set(str(raised.value)) & CONTROLS
    assert not set(repr(discreet.connect("http://localhost:1", token="t", dataset=HOSTILE))) & CONTROLS


# never run what others wrote


def test_the_client_imports_nothing_that_runs_what_it_reads() -> None:
    for file in resources.files("discreet.client").iterdir():
        if not file.name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.id] if isinstance(node, ast.Name) else []
            assert not {"pickle", "marshal", "shelve", "yaml", "eval", "exec", "__import__"} & set(names), file.name


# what a server says of the dataset


@pytest.mark.parametrize("usual", [0, -1, 10**400, 1e308, 5])
def test_what_it_says_to_begin_with_is_a_cost_or_nothing(usual: Any) -> None:
    about: Any = {"name": HOSTILE, "usual": usual, "analysts": [HOSTILE] * 5000, "unit": HOSTILE}
    replies = {"budget": BALANCE, "tables": TABLES}
    transport = httpx.MockTransport(lambda asked: httpx.Response(200, json=replies[asked.url.path.rpartition("/")[2]]))
    found = Remote(Connection("http://localhost", "secret", transport=transport), HOSTILE, about=about)
    assert 0 < found.usual_cost < 1e9
    assert len(found.analysts) == 1000
    found._about["analysts"] = [HOSTILE]
    assert not set(repr(found) + found._repr_html_()) & CONTROLS


def test_a_ledger_without_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_ENTRIES", 30)
    monkeypatch.setattr(remote, "PAGE", 10)
    endless = reaching(lambda _: httpx.Response(200, json={"entries": [ENTRY] * 10}))
    with pytest.raises(Unreachable):
        endless.latest(limit=10**9)
    with pytest.raises(Unreachable):
        endless.entries()
