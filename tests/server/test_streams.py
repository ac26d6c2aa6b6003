"""Blocks of streams as others see them: the page, HTTP, the client and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.record import BlockNames
from discreet.answers.wire import entry_read, entry_written, stream_read, stream_written
from discreet.client import Remote, Unreachable
from discreet.client.http import Connection
from discreet.curator.state import entries, open_ledger, streams
from discreet.policy import read
from discreet.server.pages.ledger import _cost
from tests.cli.runs import run, told
from tests.curator.streams import text, world
from tests.server.running import serving
from tests.server.visitor import Seen, Site, shown, site

HOME = "/data/rides"
ANALYSTS = '[analysts.ann]\nshare = "50 %"\n[analysts.bob]\nshare = "20 %"\n'
NASTY = "<script>alert(1)</script> & 5"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six days: one that is used up, two that ann and bob asked about, one with a hostile label."""
    path = world(tmp_path_factory.mktemp("streams"), more=ANALYSTS)
    with open_ledger(read(path)) as ledger:
        unit = ledger.stream("rides").capacity.unit
        for number in range(5):
            ledger.open_block("rides", f"secret file {number}", f"2024-01-0{number + 1}")
        ledger.open_block("rides", "secret file 5", NASTY)
        for who, cost, numbers in (("ann", "0.25", [1, 2, 3]), ("bob", "0.125", [2, 3, 4]), (None, "1", [0])):
            charge = ledger.charge(
                Pure(Fraction(cost), unit=unit),
                why="SELECT COUNT(*) FROM rides",
                analyst=who,
                blocks=BlockNames.of("rides", numbers),
            )
            with charge:
                pass
    return path


@pytest.fixture(scope="module")
def rides(policy: Path) -> Iterator[Site]:
    with site(policy) as made:
        yield made


def fetched(rides: Site, who: str) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {rides.tokens[who]}"}
    found = rides.visitor().get("/api/v1/datasets/rides/streams", headers=headers)
    assert found.status_code == 200
    (stream,) = found.json()["streams"]
    return dict(stream)


def test_the_map_shows_every_block_and_what_is_left(rides: Site) -> None:
    page = rides.visitor("owner").get(f"{HOME}/streams").text
    seen = Seen.of(page)
    cells = [given for tag, given in seen.tags if tag == "span" and "cell" in (given.get("class") or "")]
    assert [(each["class"] or "").split()[1][-1] for each in cells[:6]] == ["6", "2", "2", "2", "1", "0"]
    assert [each.get("title") for each in cells[:2]] == ["2024-01-01: retired", "2024-01-02: 25 % of the capacity used"]
    words = shown(page)
    assert "6 blocks 1 retired ε 1 may be charged for a block ε 1 of the budget" in words
    assert "what a rider does in one day is protected" in words
    assert "can have lost ε 1 by all queries" in words
    assert "2 2024-01-03 ε 0.375 ε 0.625" in words
    assert "0 2024-01-01 retired" in words
    assert "<script>alert" not in page
    assert 'href="/data/rides/streams" aria-current="page"' in page
    assert "6 blocks of rides: 1 retired, 4 partly spent, 1 unused" in page
    assert "secret file" not in page


def test_analysts_see_their_own_lines_beside(rides: Site) -> None:
    words = shown(rides.visitor("ann").get(f"{HOME}/streams").text)
    assert "ε 0.5 of it by you" in words
    assert "2 2024-01-03 ε 0.375 ε 0.25 ε 0.25" in words
    owner, ann, bob = (fetched(rides, who) for who in ("owner", "ann", "bob"))
    assert owner["own"] == [[0.0]] * 6, "what the owner charged for a block that is retired is dropped"
    assert (ann["own"], ann["limit"]) == ([[0], [0.25], [0.25], [0.25], [0], [0]], {"epsilon": 0.5})
    assert (bob["own"], bob["limit"]) == ([[0], [0], [0.125], [0.125], [0.125], [0]], {"epsilon": 0.2})
    assert ann["spent"] == bob["spent"] == [[0], [0.25], [0.375], [0.375], [0.125], [0]]
    assert ann["retired"] == [[0, 0]]
    assert rides.visitor("bob").get(f"{HOME}/streams.json").json()["streams"] == [bob]
    assert "secret file" not in json.dumps([owner, ann, bob])
    assert rides.visitor("auditor").get(f"{HOME}/streams").status_code == 200
    assert rides.visitor().get(f"{HOME}/streams").status_code == 303


def test_old_blocks_are_on_other_pages(rides: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.pages.streams.PAGE", 4)
    owner = rides.visitor("owner")
    first, second, third = (shown(owner.get(f"{HOME}/streams?page={page}").text) for page in (1, 2, 3))
    assert "older blocks" in first
    assert "2024-01-02" not in first
    assert "0 2024-01-01 retired" in second
    assert "newer blocks" in second
    assert "no blocks as old as that" in third
    assert owner.get(f"{HOME}/streams?page=0").status_code == 422


def test_the_ledger_says_which_blocks_were_charged(rides: Site, policy: Path) -> None:
    first, second, _ = entries(read(policy))
    assert (_cost(first), _cost(second)) == ("ε 0.25 on 3 of rides", "ε 0.125 on 3 of rides")
    exported = rides.visitor("owner").get(f"{HOME}/ledger.csv").text.splitlines()
    assert exported[0].endswith("unit,blocks,kind,reason,changes")
    assert any(line.endswith("rides 1-3,query,,{}") for line in exported)
    assert any("stream rides: each block may be charged" in line for line in exported)
    assert "ε 0.25 on rides 1-3" in run("ledger", "show", policy).output
    assert entry_read(json.loads(json.dumps(entry_written(first)))).blocks == BlockNames("rides", ((1, 3),))
    assert (first.loss.is_zero, first.cost) == (True, Pure(0.25))


# the wire


def test_a_stream_survives_the_wire(policy: Path) -> None:
    standing = streams(read(policy))["rides"]
    document = json.loads(json.dumps(stream_written(standing, "ann")))
    back = stream_read(document, "ann")
    for part in ("name", "capacity", "most", "labels", "lines", "retired", "lost", "count", "first", "live", "used"):
        assert getattr(back, part) == getattr(standing, part)
    assert (back.left(1, "ann"), back.files, back.held) == (standing.left(1, "ann"), (), Pure(1))
    document |= {"own": None, "limit": None}
    assert stream_read(document).shares == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"spent": []}, {"own": [[0.0]]}, {"retired": [[3, 1]]}, {"retired": [[0, 1], [1, 2]]}, {"most": "two"},
        {"retired": [[5, 6]]}, {"own": []},
        {"capacity": {"epsilon": -1}}, {"labels": None}, {"spent": [["x"]] * 6}, {"retired": [[True, 1]]}, {"name": 5},
    ],
)  # fmt: skip
def test_what_another_server_says_is_no_stream(policy: Path, changes: dict[str, Any]) -> None:
    document = {**stream_written(streams(read(policy))["rides"], None), **changes}
    reply = httpx.Response(200, json={"streams": [document]})
    connection = Connection("http://localhost", "t", transport=httpx.MockTransport(lambda _: reply))
    with pytest.raises(Unreachable):
        Remote(connection, "rides").streams()


def test_the_client_reads_streams(policy: Path) -> None:
    standing = streams(read(policy))["rides"]
    reply = httpx.Response(200, json={"streams": [stream_written(standing, None)]})
    connection = Connection("http://localhost", "t", transport=httpx.MockTransport(lambda _: reply))
    assert Remote(connection, "rides").streams()["rides"].lines == standing.lines


# the command


def test_status_in_a_terminal(policy: Path, tmp_path: Path) -> None:
    output = run("stream", "status", policy).output
    assert "rides: 6 blocks, 1 retired; each may be charged ε 1" in output
    assert "one rider and day has rows in 1 block: the stream holds ε 1 of the budget" in output
    assert "  2024-01-01  x34420\n" in output
    (stream,) = told("stream", "status", policy, "rides")["streams"]
    assert stream["labels"][0] == "2024-01-01"
    assert "streams: rides" in run("stream", "status", policy, "walks", code=2).output
    assert "rides holds ε 1 of it: `discreet stream status`" in run("budget", policy).output
    empty = world(tmp_path)
    assert "no stream is on record" in run("stream", "status", empty).output
    with open_ledger(read(empty)):
        pass
    assert "rides: 0 blocks, 0 retired" in run("stream", "status", empty).output


def test_blocks_are_retired_by_the_owner(tmp_path: Path) -> None:
    path = world(tmp_path)
    with open_ledger(read(path)) as ledger:
        for number in range(3):
            ledger.open_block("rides", f"f{number}", f"2024-01-0{number + 1}")
    said = ("stream", "retire", path, "rides", "--reason", "a year has passed")
    assert "1 blocks are retired, 2 are left" in run(*said, "--before", "2024-01-02").output
    assert told(*said, "--before", "2024-01-03") == {"stream": "rides", "retired": 2, "left": 1}
    assert told(*said, "--before", "2024-01-02") == {"stream": "rides", "retired": 2, "left": 1}, "it is final"
    assert "no block of rides is called" in run(*said, "--before", "2025", code=2).output
    assert "no stream 'walks'" in run(*said[:3], "walks", *said[4:], "--before", "2024-01-02", code=3).output


def test_status_shows_the_newest_blocks_or_all(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.stream_status.ROW", 2)
    monkeypatch.setattr("discreet.cli.stream_status.SHOWN", 2)
    output = run("stream", "status", policy).output
    assert "2 earlier blocks: --all shows them\n  2024-01-03  44\n  2024-01-05  20\n" in output
    assert "  2024-01-01  x3\n  2024-01-03  44\n  2024-01-05  20\n" in run("stream", "status", policy, "--all").output


def test_a_budget_with_delta_has_two_amounts(tmp_path: Path) -> None:
    path = world(tmp_path, delta=True)
    with open_ledger(read(path)) as ledger:
        unit = ledger.stream("rides").capacity.unit
        ledger.open_block("rides", "f0", "2024-01-01")
        loss: Loss = Concentrated(Fraction(1, 10**4), Fraction(1, 10**12), unit=unit)
        with ledger.charge(loss, why="q", blocks=BlockNames.of("rides", [0])):
            pass
    with site(path) as made:
        assert "ρ 0.0001" in shown(made.visitor("owner").get(f"{HOME}/streams").text)
        assert fetched(made, "owner")["spent"] == [[0.0001, 1e-12]]


def test_a_dataset_without_streams_has_no_such_page_in_its_menu(tmp_path: Path) -> None:
    path = world(tmp_path)
    path.write_text(text().partition("[tables.rides.stream]")[0], encoding="utf-8")
    with site(path) as made:
        page = made.visitor("owner").get(f"{HOME}/streams").text
    assert "No table of this dataset is a stream" in page
    assert f'href="{HOME}/streams"' not in page


@pytest.mark.slow
def test_the_map_shuts_nobody_out_and_fits_a_phone(policy: Path) -> None:
    """In a real browser, light and dark, with and without scripts; a client of the same server."""
    browsing = pytest.importorskip("tests.server.browser")
    if browsing.CHROMIUM is None:
        pytest.skip(browsing.MISSING)
    with serving(policy) as running, browsing.chromium() as browser:
        with browsing.tab(browser, running, bypass=True) as page:
            browsing.sign_in(page, running, "ann")
            page.goto(f"{HOME}/streams")
            assert browsing.barriers(page) + browsing.overflowing(page) == []
        with browsing.tab(browser, running, script=False) as page:
            browsing.sign_in(page, running, "ann")
            page.goto(f"{HOME}/streams")
            page.get_by_text("The same as a table").click()
            assert page.get_by_role("row").count() == 7
        connection = Connection(running.url, running.tokens["ann"])
        assert Remote(connection, "rides").streams()["rides"].count == 6
