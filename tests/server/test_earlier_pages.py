"""Models and releases of an earlier policy have the banner of answers on their pages; those of now have none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import discreet
from discreet.learn import LinearRegression
from discreet.release import Facets
from tests.server.running import build
from tests.server.visitor import Site, Visitor, site

HOME = "/data/hospital"
BANNER = "Computed under an earlier policy."


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    path = build(tmp_path_factory.mktemp("earlier"), patients=60)
    with discreet.open(path) as curator:
        sql = "SELECT age, CAST(ward = 'A' AS INTEGER) AS a FROM patients"
        curator.fit(LinearRegression(y_bounds=(0, 1)), sql, target="a", epsilon=1)
        curator.release(Facets(names=("ward",)), "patients", epsilon=0.5)
    with site(path) as made:
        yield made


def pages(visitor: Visitor) -> dict[str, str]:
    return {
        "model": visitor.get(f"{HOME}/answers/{_number('fit', visitor)}").text,
        "release": visitor.get(f"{HOME}/releases/{_number('release', visitor)}").text,
    }


def _number(task: str, visitor: Visitor) -> int:
    entries = visitor.get(f"{HOME}/ledger.json").json()["entries"]
    return next(int(each["number"]) for each in entries if each.get("call", {}).get("task", "") == task)


def test_a_change_of_the_policy_puts_a_banner_on_what_was_before(hospital: Site) -> None:
    owner = hospital.visitor("owner")
    before = pages(owner)
    assert {what: BANNER in text for what, text in before.items()} == dict.fromkeys(before, False)
    assert "Its card" in before["model"]
    assert "LinearRegression" in before["model"]
    text = hospital.policy.read_text(encoding="utf-8")
    hospital.policy.write_text(text.replace("max = 120", "max = 110"), encoding="utf-8")
    hospital.app.state.app_state.datasets.reload()
    after = pages(owner)
    assert {what: BANNER in text for what, text in after.items()} == dict.fromkeys(after, True)
    hospital.policy.write_text(text, encoding="utf-8")
    hospital.app.state.app_state.datasets.reload()
    assert not any(BANNER in text for text in pages(owner).values()), "it means what it meant"


def test_models_are_their_owners(hospital: Site) -> None:
    number = _number("fit", hospital.visitor("owner"))
    assert hospital.visitor("auditor").get(f"{HOME}/answers/{number}").status_code == 200
    assert hospital.visitor("finance").get(f"{HOME}/answers/{number}").status_code == 404
    assert hospital.visitor().get(f"{HOME}/answers/{number}").status_code == 303
