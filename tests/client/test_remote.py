"""A remote dataset answers like a curator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.client import Unreachable
from tests.server.running import Running


def test_it_answers_like_a_curator(server: Running) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
    with (
        discreet.connect(server.url, token=server.tokens["epidemiology"]) as remote,
        discreet.open(server.policy) as here,
    ):
        found = remote.query(text, epsilon=0.1)
        again = here.query(text, epsilon=0.1, analyst="epidemiology")
        assert found.columns == ["ward", "n"]
        assert again.cached
        assert (found.rows, found.intervals, found.receipt, found.cost) == (
            again.rows,
            again.intervals,
            again.receipt,
            again.cost,
        )
        assert remote.budget() == here.budget()
        assert remote.tables() == here.tables()


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("", {}, "address"),
    ("hospital.toml", {}, "address"),
    ("ftp://127.0.0.1", {}, "address"),
    ("http://127.0.0.1:99999", {}, "address"),
    ("http://[::1", {}, "address"),
    ("http://127.0.0.1:1/\0", {}, "address"),
    (f"https://{'a' * 5000}", {}, "address"),
    ("http://example.org", {}, "address"),
    ("http://127.0.0.1:1/hospital?errors=columns", {}, "address"),
    ("http://127.0.0.1:1", {"token": 5}, "unauthorized"),
    ("http://127.0.0.1:1", {"token": "ä\n"}, "unauthorized"),
]


@pytest.mark.parametrize(("url", "settings", "code"), WRONG, ids=[url[:30] for url, _, _ in WRONG])
def test_wrong_addresses_and_tokens_are_refused(url: str, settings: dict[str, Any], code: str) -> None:
    with pytest.raises((discreet.Refused, Unreachable)) as refused:
        discreet.connect(url, **{"token": "discreet_0", **settings})
    assert not isinstance(refused.value, discreet.Refused) or refused.value.code == code


@pytest.mark.parametrize(
    "asked",
    [
        {"sql": "SELECT COUNT(*) FROM patients", "epsilon": math.nan},
        {"sql": "SELECT COUNT(*) FROM patients", "epsilon": math.inf},
        {"sql": "SELECT COUNT(*) FROM patients WHERE zip = '\ud800'", "epsilon": 0.1},
        {"sql": "SELECT COUNT(*) FROM patients WHERE zip = $z", "epsilon": 0.1, "params": {"z": ["a"]}},
        {"sql": "SELECT COUNT(*) FROM patients WHERE zip = $z", "epsilon": 0.1, "params": {"z": np.bool_(True)}},
        {"sql": 7, "epsilon": 0.1},
    ],
    ids=str,
)
def test_what_no_curator_answers_is_refused_over_the_wire_too(server: Running, asked: dict[str, Any]) -> None:
    with discreet.connect(server.url, token=server.tokens["epidemiology"]) as remote:
        with pytest.raises(discreet.Refused):
            remote.query(**asked)
        with pytest.raises(discreet.Refused):
            remote.preview(**asked)


def test_proxies_do_not_see_tokens_that_stay_here(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with discreet.connect(server.url, token=server.tokens["epidemiology"]) as remote:
        assert remote.name == "hospital"
