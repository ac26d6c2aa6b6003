"""Ibis expressions are questions like others."""

# ruff: noqa: ARG005 (every case takes the same tables)

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.curator import Curator
from discreet.curator.state import open_ledger
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.lab.hospital import build
from discreet.policy import read

ibis = pytest.importorskip("ibis")
_ = ibis._
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "count": (lambda v, p, w: v.count(), "SELECT COUNT(*) FROM visits"),
    "grouped": (
        lambda v, p, w: v.filter(_.cost > 60).group_by("ward").agg(n=_.count(), s=_.cost.sum(), m=_.cost.mean()),
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits WHERE cost > 60 GROUP BY ward",
    ),
    "months": (
        lambda v, p, w: v.group_by(month=_.day.truncate("M")).agg(n=_.count()),
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1",
    ),
    "join on the unit": (
        lambda v, p, w: v.join(p, "patient_id").group_by("sex").agg(s=_.cost.sum()),
        "SELECT sex, SUM(cost) AS s FROM visits JOIN patients ON visits.patient_id = patients.patient_id GROUP BY sex",
    ),
    "join with a public table": (
        lambda v, p, w: v.join(w, v.ward == w.ward).group_by("beds").agg(n=_.count()),
        "SELECT beds, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY beds",
    ),
    "cases": (
        lambda v, p, w: v.mutate(big=ibis.cases((_.cost > 100, "a"), else_="b")).group_by("big").agg(n=_.count()),
        "SELECT CASE WHEN cost > 100 THEN 'a' ELSE 'b' END AS big, COUNT(*) AS n FROM visits GROUP BY 1",
    ),
    "order": (
        lambda v, p, w: v.group_by("ward").agg(n=_.count()).order_by(ibis.desc("n")).limit(3),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3",
    ),
    "having": (
        lambda v, p, w: v.group_by("ward").agg(n=_.count()).filter(_.n > 2000),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 2000",
    ),
    "units": (lambda v, p, w: v.patient_id.nunique(), "SELECT COUNT(DISTINCT patient_id) FROM visits"),
    "filtered": (
        lambda v, p, w: v.cost.sum(where=v.ward == "ICU"),
        "SELECT SUM(cost) FILTER (WHERE ward = 'ICU') FROM visits",
    ),
    "value counts": (lambda v, p, w: v.ward.value_counts(), "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """With noise off: the same question in two languages has one answer."""
    policy = read(build(tmp_path_factory.mktemp("hospital")))
    quiet = Sampler(add_noise=lambda _mechanism, _sensitivity, exact, _bits: exact)
    with Curator(policy, open_ledger(policy), sampler=quiet) as curator:
        yield curator


@pytest.mark.parametrize("case", CASES)
def test_an_expression_is_the_same_question_in_sql(hospital: Curator, case: str) -> None:
    expression, text = CASES[case]
    tables = [hospital.table(name).to_ibis() for name in ("visits", "patients", "wards")]
    asked = expression(*tables)
    found, wanted = hospital.query(asked, epsilon=0.01, fresh=True), hospital.query(text, epsilon=0.01, fresh=True)
    assert sorted(found.rows, key=repr) == sorted(wanted.rows, key=repr)
    assert found.cost == wanted.cost
    assert [list(row.values()) for row in found.intervals] == [list(row.values()) for row in wanted.intervals]
    assert hospital.preview(asked, epsilon=0.02).loss == hospital.preview(text, epsilon=0.02).loss


def test_an_expression_that_shows_rows_is_refused(hospital: Curator) -> None:
    visits = hospital.table("visits").to_ibis()
    for expression in (visits, visits.select("cost"), visits.order_by("cost").limit(1)):
        with pytest.raises(Refused):
            hospital.query(expression, epsilon=0.1)


def test_what_ibis_cannot_write_is_refused(hospital: Curator) -> None:
    visits = hospital.table("visits").to_ibis()
    with pytest.raises(Refused) as caught:
        hospital.query(visits.cost.corr(visits.nights), epsilon=0.1)  # DuckDB has the population's only
    assert caught.value.code == "syntax"


def test_ibis_begins_with_a_table(hospital: Curator) -> None:
    with pytest.raises(Refused):
        hospital.table("visits").where("cost > 5").to_ibis()
    with pytest.raises(Refused):
        hospital.public_schema("visits")


def test_ibis_is_not_needed_otherwise() -> None:
    source = Path(__file__).parents[2] / "src" / "discreet" / "answers" / "ibis_tables.py"
    assert "\nimport ibis" not in source.read_text(encoding="utf-8")
