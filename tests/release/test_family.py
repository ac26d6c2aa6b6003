"""Parents and children: keys that fit, numbers of children that follow the parents, refusals in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import Refused
from discreet.lab.hospital import build
from discreet.release import SyntheticFamily, synthesize_family


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
    (tmp_path / "people.csv").write_text("id,age\n1,30\n", encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'name = "p"\n[budget]\nepsilon = 1\n[unit]\nname = "person"\n[tables.people]\nsource = "people.csv"\n'
        f'unit = "id"\n[tables.people.columns]\nage = {{ min = 0, max = 99 }}\n{lines}',
        encoding="utf-8",
    )
    with discreet.open(policy) as curator:
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
