"""Streams from a terminal, and as a client sends them to a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.client import Remote
from discreet.client.http import Connection
from discreet.curator.curator import Curator
from discreet.errors import Edit, Refused
from discreet.learn import CategoricalNB
from discreet.release import Workload
from discreet.server.dispatch import _made
from discreet.server.pages.questions import Written, _edit
from discreet.server.requests import Batch, Fit, Query, Release
from tests.cli.runs import run, told
from tests.curator.streams import EXACT, add, day, opened, rides, world
from tests.server.visitor import Seen, shown, site

COUNT = "SELECT COUNT(*) AS n FROM rides"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four days of rides that were refreshed from a terminal."""
    folder = tmp_path_factory.mktemp("stream")
    file = world(folder)
    add(folder, "a", [*rides(6, 5), ("eve", "", 1, "north")])
    shown = run("refresh", file, "--until", day(5)).output
    assert "rides: 4 blocks sealed; 61 rows read, 48 written, 12 waiting" in shown
    assert "0 too late, 1 outside of the calendar" in shown
    return file


def test_a_refresh_tells_programs_too(path: Path) -> None:
    counts = told("refresh", path, "--until", day(5))["streams"]["rides"]
    assert counts == {"read": 0, "written": 0, "late": 0, "outside": 0, "waiting": 0, "opened": 0}
    assert "write until as 2024-03-07" in run("refresh", path, "--until", "tomorrow", code=3).output


def test_blocks_are_named_in_every_command(path: Path) -> None:
    answer = told("query", path, COUNT, "--epsilon", "0.1", "--blocks", "newest 2")
    assert any("blocks of rides: 2024-01-03..2024-01-04" in note for note in answer["notes"])
    assert told("preview", path, COUNT, "--epsilon", "0.1", "--blocks", "2024-01-03..2024-01-04")["cached"]
    assert 'add --blocks "newest 1", which is 2024-01-04 now' in run("query", path, COUNT, "-e", "0.1", code=3).output
    batch = told("release", "batch", path, COUNT, "--epsilon", "0.1", "--blocks", "2024-01-01")
    assert len(batch["answers"]) == 1
    facets = ("release", "facets", path, "SELECT zone FROM rides", "--blocks", "all", "-e", "0.1", "--preview")
    assert "blocks of rides" in run(*facets).output


def test_whom_a_stream_protects_is_said_to_owners_and_analysts(path: Path) -> None:
    sentence = "in rides what a rider does in one day is protected"
    assert sentence in run("tables", path).output.replace("\n", " ")
    assert sentence in run("check", path).output
    assert told("tables", path)["tables"]["rides"]["stream"].startswith(sentence)


@pytest.fixture
def stream(path: Path) -> Iterator[Curator]:
    with opened(path, sampler=EXACT) as curator:
        yield curator


def body(act: Any) -> dict[str, Any]:
    """The request of something that a client is asked."""
    seen: list[dict[str, Any]] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(422, json={"code": "syntax", "reason": "seen", "fix": "", "spent": 0})

    with pytest.raises(Refused, match="seen"):
        act(Remote(Connection("http://localhost", "t", transport=httpx.MockTransport(reply)), "rides"))
    return seen[0]


@pytest.mark.parametrize(
    ("kind", "act"),
    [
        (Query, lambda remote, blocks: remote.query(COUNT, epsilon=0.01, blocks=blocks)),
        (Batch, lambda remote, blocks: remote.batch([COUNT], epsilon=0.01, blocks=blocks)),
        (
            Fit,
            lambda remote, blocks: remote.fit(
                CategoricalNB(), "SELECT zone, fare > 3 AS dear FROM rides", target="dear", epsilon=0.01, blocks=blocks
            ),
        ),
        (
            Release,
            lambda remote, blocks: remote.release(
                Workload.histogram(), "SELECT zone FROM rides", epsilon=0.01, blocks=blocks
            ),
        ),
    ],
)
def test_a_server_is_told_which_blocks(stream: Curator, kind: Any, act: Any) -> None:
    """What the client sends is what the server makes a task of, and charges to those blocks."""
    for blocks in ("newest 1", [0, "2024-01-02"], {"rides": "2024-01"}):
        request = kind.model_validate(body(lambda remote, blocks=blocks: act(remote, blocks)))
        make, _ = _made(stream, request)
        before = len(stream.entries())
        stream.perform(make(analyst=None))
        (entry,) = stream.entries()[before:]
        assert entry.blocks is not None
        assert entry.blocks.label == {"newest 1": "3", "[0, '2024-01-02']": "0-1"}.get(str(blocks), "0-3")


def test_what_a_server_is_sent_has_a_shape() -> None:
    for wrong in (1.5, True, {"rides": {"deep": 1}}, [[0]], "x" * 101, [None]):
        with pytest.raises(ValueError, match="blocks"):
            Query.model_validate({"sql": COUNT, "epsilon": 0.1, "blocks": wrong})


def test_a_form_has_a_field_for_blocks() -> None:
    """And what a refusal proposes is put into it."""
    assert Written.of({"sql": COUNT, "epsilon": "0.1", "blocks": " newest 2 "}).question().blocks == "newest 2"
    assert Written.of({"sql": COUNT, "epsilon": "0.1", "blocks": ""}).question().blocks is None
    refused = Refused("blocks-missing", "which?", "", edit=Edit(arguments={"blocks": "newest 1"}))
    edited = _edit(None, Written(COUNT, epsilon="0.1"), refused)  # type: ignore[arg-type]
    assert edited is not None
    assert edited.blocks == "newest 1"


def test_the_page_of_a_stream_asks_for_blocks(path: Path) -> None:
    """The field is there, the refusal's fix fills it, and the preview says what is protected."""
    with site(path) as pages:
        visitor = pages.visitor("owner")
        asked = {"sql": COUNT, "epsilon": "0.01"}
        assert Seen.of(visitor.get("/data/rides").text).values("blocks") == [""]
        assert "newest 1" in Seen.of(visitor.send("/data/rides/preview", **asked).text).values("blocks")
        assert "what a rider does in one day" in shown(visitor.send("/data/rides/preview", **asked, blocks="all").text)
