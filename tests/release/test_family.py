"""Parents and children: keys that fit, numbers of children that follow the parents, refusals in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit.neighbours import neighbours
from discreet.audit.replay import Replay
from discreet.errors import Refused
from discreet.lab.hospital import build
from discreet.release import MarginalSynthesizer, SyntheticFamily, synthesize_family
from discreet.release.publish import Publish
from discreet.release.synthetic.family import _children, _parents
from tests.release.cases import HEADS, became_public
from tests.sql.worlds import opened, policy_of


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with discreet.open(build(tmp_path_factory.mktemp("family"))) as curator:
        yield curator


@pytest.fixture(scope="module")
def family(hospital: Any) -> SyntheticFamily:
    return synthesize_family(hospital, "patients", "visits", epsilon=1, context=["sex"], bins={"patients": {"age": 8}})


def test_every_child_has_a_parent_and_parents_have_as_many_as_they_say(family: SyntheticFamily) -> None:
    tables = family.to_dict()
    parents, children = tables["patients"], tables["visits"]
    assert next(iter(parents)) == next(iter(children)) == "patient_id"
    assert parents["patient_id"] == list(range(1, len(family.parent) + 1))
    assert set(children["patient_id"]) <= set(parents["patient_id"])
    counts = np.bincount(children["patient_id"], minlength=len(family.parent) + 1)[1:]
    assert counts.tolist() == family.parent.to_dict()["number of visits"]
    assert counts.max() <= 20
    assert "sex" not in children
    assert "number of visits" not in parents


def test_children_are_of_their_parents_context(family: SyntheticFamily) -> None:
    slots, rows = family.links
    one, other = family.parent.to_dict()["sex"], family.child.to_dict()["sex"]
    assert all(one[slot] == other[row] for slot, row in zip(slots.tolist(), rows.tolist(), strict=True))


def test_it_is_two_charges_and_then_cached(hospital: Any, family: SyntheticFamily) -> None:
    entries = hospital.entries()
    assert [entry.loss for entry in entries] == [family.parent.cost, family.child.cost]
    again = synthesize_family(hospital, "patients", "visits", epsilon=1, context=["sex"], bins={"patients": {"age": 8}})
    assert again.to_dict() == family.to_dict()
    assert len(hospital.entries()) == 2


def test_both_become_public_tables_that_join(family: SyntheticFamily, tmp_path: Path) -> None:
    lines = family.save(tmp_path)
    with discreet.open(became_public(tmp_path, lines)) as curator:
        answer = curator.query(
            "SELECT COUNT(*) FROM visits_synthetic v JOIN patients_synthetic p ON v.patient_id = p.patient_id"
        )
        assert answer.rows[0][0] == len(family.links[0])
        assert not curator.entries()


@pytest.mark.parametrize(
    ("arguments", "options", "code"),
    [
        (("visits", "patients"), {}, "release-invalid"),
        (("patients", "patients"), {}, "release-invalid"),
        (("patients", "wards"), {}, "release-invalid"),
        (("patients", "nothing"), {}, "unknown-table"),
        (("patients", "visits"), {"context": ["age"]}, "release-invalid"),
        (("patients", "visits"), {"context": ["ward"]}, "release-invalid"),
        (("patients", "visits"), {"epsilon": 0}, "cost-invalid"),
    ],
)
def test_what_is_no_family_is_refused_in_words(
    hospital: Any, arguments: tuple[str, str], options: dict[str, Any], code: str
) -> None:
    before = len(hospital.entries())
    with pytest.raises(Refused) as refused:
        synthesize_family(hospital, *arguments, **{"epsilon": 1, **options})
    assert refused.value.code == code
    assert refused.value.fix
    assert len(hospital.entries()) == before
    with pytest.raises(Refused):
        synthesize_family({"a": 1}, *arguments, epsilon=1)  # type: ignore[arg-type]


POLICY = """
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
sex = { values = ["F", "M"] }
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 2
[tables.visits.columns]
ward = { values = ["A", "B"], nullable = true }
[tables.accounts]
source = "accounts.csv"
unit = "person"
max_rows = 2
[tables.accounts.columns]
account = { type = "integer" }
kind = { values = ["x", "y"] }
[tables.payments]
source = "payments.csv"
unit = "account -> accounts.person"
max_rows = 4
[tables.payments.columns]
cost = { type = "integer", min = 0, max = 3 }
"""
DATA: dict[str, list[dict[str, Any]]] = {
    "people": [{"person": 1, "sex": "F"}, {"person": 2, "sex": "M"}],
    "visits": [{"person": 1, "ward": "A"}, {"person": 1, "ward": "C"}, {"person": 3, "ward": "B"}],
    "accounts": [{"person": 1, "account": 7, "kind": "x"}],
    "payments": [{"account": 7, "cost": 2}],
}


@pytest.mark.parametrize("head", ["pure", "both"])
def test_neither_release_of_a_family_tells_neighbours_apart(head: str) -> None:
    """Replay over a policy of two tables: parents beside their numbers of children, children beside their context."""
    policy = policy_of(POLICY, head=HEADS[head])
    one, other = policy.tables["people"], policy.tables["visits"]
    texts = {_parents(one, other): 1, _children(one, other, ("sex",)): other.max_rows}
    with Replay(policy) as auditor:
        for text, rows in texts.items():
            task = Publish(MarginalSynthesizer(steps=2), text, epsilon=1, max_rows=rows, fresh=True)
            for report in auditor.compare_each(task, DATA, [*neighbours(policy, DATA), DATA]):
                assert report.same, report


def test_keys_that_lead_to_the_unit_through_others_are_refused_in_words() -> None:
    with opened(policy_of(POLICY, head=HEADS["both"]), DATA) as curator:
        for parent, child in (("accounts", "payments"), ("people", "payments")):
            with pytest.raises(Refused, match=r"does not have the unit's key itself|is no parent") as refused:
                synthesize_family(curator, parent, child, epsilon=1)
            assert "SELECT that joins them" in refused.value.fix
        assert not curator.entries()
