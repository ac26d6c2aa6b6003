"""The ledger's story on a server: who reads what of it, and that nobody writes it from afar but its owner's page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.accounting.record import Event
from discreet.answers.story import story
from discreet.curator.refreshing import refresh
from discreet.curator.state import note_token, open_window, withdraw
from discreet.owner.raising import grant_more
from discreet.policy import read
from tests.server.running import POLICY, build, until
from tests.server.visitor import Site, shown, site

HOME = "/data/hospital"
API = "/api/v1/datasets/hospital"
AGES = "SELECT AVG(age) AS age FROM patients"
SECRETS = ("finance", "patients2.csv", "for finance's", "because of", "accepted", "9f9f9f9f")
"""What an analyst of epidemiology must not read: other analysts, sources, reasons, tokens of others."""
WORDS = ("raised from", "window 2 of at most 2", "version 2", "1a1a1a1a", "columns.age.max", "budget.max_windows")
WORDS_OF_ALL = ("raised from", "window 2 of at most 2", "version 2", "9f9f9f9f", "because of finance", "charge 5 was")
CHANGED = {
    "max = 120": "max = 100",
    "epsilon = 10.0": "epsilon = 9.0",
    "epsilon = 5.0": "epsilon = 4.0",
    'source = "patients.csv"': 'source = "patients2.csv"',
    "delta = 1e-6": "delta = 1e-6\nmax_windows = 2",
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A hospital where everything happened that can."""
    path = build(tmp_path_factory.mktemp("story"), patients=60)
    with site(path) as made:
        made.visitor("epidemiology").ask(AGES, "0.5")
        made.visitor("finance").ask("SELECT COUNT(*) AS n FROM patients", "0.5")
        (path.parent / "patients2.csv").write_bytes((path.parent / "patients.csv").read_bytes())
        text = POLICY
        for old, new in CHANGED.items():
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")
        made.app.state.app_state.datasets.reload()
        policy = read(path)
        refresh(policy, "because of new rows")
        note_token(policy, "made", "9f9f9f9f", "analyst", "finance")
        note_token(policy, "made", "1a1a1a1a", "analyst", "epidemiology")
        withdraw(policy, 5, "for finance's sake")
        grant_more(policy, 40, "because of finance")
        policy = read(path)
        open_window(policy, 2, "because of finance")
        made.app.state.app_state.datasets.reload()
        yield made


def texts(lived: Site, who: str) -> dict[str, str]:
    """All that somebody can read of the ledger."""
    visitor = lived.visitor(who)
    pages = {ending: visitor.get(f"{HOME}/ledger{ending}").text for ending in ("", ".csv", ".json")}
    bearer = {"authorization": f"Bearer {lived.tokens[who]}", "accept": "application/json"}
    return pages | {path: visitor.get(f"{API}/{path}", headers=bearer).text for path in ("events", "ledger.csv")}


@pytest.mark.parametrize("who", ["owner", "auditor"])
def test_owners_and_auditors_read_all_of_it(lived: Site, who: str) -> None:
    for where, text in texts(lived, who).items():
        plain = shown(text) if not where else text
        for words in WORDS_OF_ALL:
            assert words in plain, (where, words)
        assert "patients2.csv" in plain or where == ""
    rows = list(csv.DictReader(io.StringIO(texts(lived, who)[".csv"])))
    kinds = [row["kind"] for row in rows]
    assert {"budget", "policy", "query", "refresh", "token", "withdrawn", "window"} <= set(kinds)
    assert [int(row["number"]) for row in rows] == sorted(int(row["number"]) for row in rows)
    assert all(row["at"] for row in rows)
    (changed,) = (row for row in rows if "max_windows" in row["changes"])
    assert '"tables.patients.columns.age.max": [120, 100]' in changed["changes"]
    assert '"analysts.finance.epsilon": [5.0, 4.0]' in changed["changes"]


def test_analysts_read_what_is_theirs(lived: Site) -> None:
    for where, text in texts(lived, "epidemiology").items():
        plain = shown(text).replace("localhost", "") if not where else text
        for words in WORDS:
            assert words in plain, (where, words)
        assert "analysts.epidemiology.epsilon" in plain
        story_of = plain[plain.index("charges") :] if not where else plain
        for secret in SECRETS:
            assert secret not in story_of, (where, secret)
    theirs = texts(lived, "finance")["events"]
    assert "charge 5 was withdrawn" in theirs
    assert "for finance's sake" in theirs
    assert "charge 5 was withdrawn" not in texts(lived, "epidemiology")["events"]


def test_an_answer_of_the_earlier_policy_has_a_banner_and_a_withdrawn_one_is_gone(lived: Site) -> None:
    for who in ("epidemiology", "owner"):
        page = lived.visitor(who).get(f"{HOME}/answers/3")
        assert page.status_code == 200
        assert "Computed under an earlier policy." in shown(page.text)
    assert lived.visitor("finance").get(f"{HOME}/answers/3").status_code in (404, 422)
    for who in ("finance", "owner"):
        gone = lived.visitor(who).get(f"{HOME}/answers/5")
        assert gone.status_code == 410
        assert "withdrew" in shown(gone.text)
    again = lived.visitor("epidemiology").ask(AGES, "0.5")
    assert again != f"{HOME}/answers/3"
    assert "earlier policy" not in shown(lived.visitor("epidemiology").get(again).text)


def test_no_request_opens_a_window_or_withdraws_an_answer(lived: Site) -> None:
    """Both are for whoever sits at the machine. The routes that change anything are known, and all are the owner's."""
    paths = {getattr(route, "path", "") for route in lived.app.routes}
    assert not [path for path in paths if "window" in path or "withdraw" in path]
    before = lived.app.state.app_state.datasets["hospital"].curator._ledger._newest.window
    for who in ("owner", "epidemiology"):
        for path in (f"{HOME}/owner/window", f"{HOME}/owner/budget/window", f"{HOME}/ledger/withdraw"):
            assert lived.visitor(who).send(path, number="3", why="x").status_code in (403, 404, 405)
    assert lived.app.state.app_state.datasets["hospital"].curator._ledger._newest.window == before


def test_the_budget_says_what_two_windows_mean(lived: Site) -> None:
    assert "over all 2 windows" in shown(lived.visitor("owner").get(HOME).text)
    bearer = {"authorization": f"Bearer {lived.tokens['owner']}", "accept": "application/json"}
    life = lived.visitor("owner").get(f"{API}/budget", headers=bearer).json()["lifetime"]
    assert (life["window"], life["most"]) == (2, 2)


def test_tokens_of_the_page_are_on_record(tmp_path: Path) -> None:
    with site(build(tmp_path, patients=20)) as made:
        owner = made.visitor("owner")
        assert owner.send(f"{HOME}/owner/tokens", holder="analyst:finance").status_code == 200
        name = next(token.id for token in made.app.state.app_state.datasets["hospital"].tokens.all() if token.analyst)
        owner.send(f"{HOME}/owner/tokens/{name}/revoke")
        owner.send(f"{HOME}/owner/tokens/{name}/revoke")  # said twice, recorded once
        words = [line.words for line in made.app.state.app_state.datasets["hospital"].curator.story()]
    assert sum("was made" in each for each in words) == 1
    assert sum(f"{name} of analyst" in each and "was revoked" in each for each in words) == 1


def test_a_job_does_not_remember_what_was_withdrawn(tmp_path: Path) -> None:
    """A job is asked for its answer again for ten minutes, by the token that began it."""
    path = build(tmp_path, patients=20)
    with site(path) as made:
        bearer = {"authorization": f"Bearer {made.tokens['finance']}", "accept": "application/json"}
        visitor = made.visitor()
        body = {"sql": AGES, "epsilon": 0.5}
        sent = visitor.post(f"{API}/query", json=body, headers={**bearer, "prefer": "respond-async, wait=0"})
        job = sent.headers.get("location") or sent.json().get("job")
        assert sent.status_code == 202, sent.text
        until(lambda: visitor.get(job, headers=bearer).status_code == 200)
        number = int(visitor.get(job, headers=bearer).json()["receipt"].split(":")[0])
        withdraw(read(path), number, "wrong")
        assert visitor.get(job, headers=bearer).status_code == 410


# words


def test_blocks_that_were_opened_together_are_one_line() -> None:
    events = [Event(n, "", "block", {"stream": "rides", "number": n, "label": str(n)}) for n in range(3)]
    events += [Event(9, "", "block", {"stream": "taxis", "number": 0, "label": "monday"})]
    assert [line.words for line in story(events, "ann")] == [
        "blocks 0 to 2 of rides were opened",
        "block 0 of taxis was opened (monday)",
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("accepted", {"known": 7, "reason": "a new machine"}, "which knew 7 records"),
        ("moved", {"to": "PostgreSQL"}, "goes on elsewhere: PostgreSQL"),
        ("retire", {"stream": "rides", "upto": 3, "reason": ""}, "below 3 were retired"),
        ("budget", {"epsilon": "2", "delta": "1/99", "before": {"epsilon": "2", "delta": None}}, "changed from ε 2"),
        ("epoch", {"changes": {"tables.t.a": [1, None]}, "policy": {}}, "tables.t.a 1 → (nothing)"),
        ("epoch", {"changes": {f"k{n}": [0, "x" * 99] for n in range(6)}, "policy": {}}, "…; and 2 more"),
        ("epoch", {"changes": {"day": [{"$date": "2024-01-01"}, 2]}, "policy": {}}, "day 2024-01-01 → 2"),
    ],
)
def test_events_are_told_in_words(kind: str, fields: dict[str, object], words: str) -> None:
    (line,) = story([Event(1, "", kind, fields)])
    assert words in line.words
    hidden = kind in ("accepted", "moved", "epoch")
    assert (story([Event(1, "", kind, fields)], "ann") == []) == hidden
