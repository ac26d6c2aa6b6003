"""Every construct of the language: its plan, its sensitivity, and its exact answer with the noise off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from discreet.curator.curator import Curator
from discreet.curator.public import PublicTables
from discreet.sql import apply
from discreet.sql.aggregates import AGGREGATES, NAMED
from discreet.sql.functions import FUNCTIONS
from discreet.sql.measures import Sum
from discreet.sql.plan import Plan, plan
from tests.sql import fixtures, tiny
from tests.sql.fixtures import ANSWERED, Fixture

UNREACHABLE: set[str] = set()
"""Hours and minutes of a date are cut as those of a timestamp."""


@pytest.fixture(scope="module")
def curators() -> Iterator[dict[str, Curator]]:
    with tiny.asked("pure") as pure, tiny.asked("delta") as delta:
        yield {"pure": pure, "delta": delta}


class Noted(dict[str, Any]):
    """The table of functions, with a note of what was looked up."""

    def __init__(self) -> None:
        super().__init__(FUNCTIONS)
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return super().__getitem__(name)


class Plans:
    """Of each fixture its plan, and the functions that were looked up for it: made once."""

    def __init__(self, curators: dict[str, Curator]) -> None:
        self._curators = curators
        self._made: dict[tuple[str, str], tuple[Plan, set[str]]] = {}

    def of(self, fixture: Fixture) -> tuple[Plan, set[str]]:
        key = fixture.part, fixture.text
        if key not in self._made:
            curator, noted = self._curators[fixture.policy], Noted()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(apply, "FUNCTIONS", noted)
                found = plan(
                    tiny.policy(fixture.policy),
                    fixture.text,
                    public=PublicTables(lambda: curator._engine(1)),
                    params=fixture.params,
                )
            self._made[key] = found, noted.seen
        return self._made[key]


@pytest.fixture(scope="module")
def plans(curators: dict[str, Curator]) -> Plans:
    return Plans(curators)


def same(found: Any, wanted: Any, near: float) -> bool:
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found - wanted) <= near
    return bool(found == wanted and type(found) is type(wanted))


@pytest.mark.parametrize("fixture", ANSWERED, ids=lambda fixture: f"{fixture.part}: {fixture.shows}")
def test_the_exact_answer(fixture: Fixture, curators: dict[str, Curator]) -> None:
    curator = curators[fixture.policy]
    answer = curator.query(fixture.text, params=fixture.params, fresh=True, **fixture.cost)
    assert len(answer.rows) == len(fixture.gives), answer.rows
    for found, wanted in zip(answer.rows, fixture.gives, strict=True):
        assert len(found) == len(wanted)
        assert all(same(a, b, fixture.near) for a, b in zip(found, wanted, strict=True)), (found, wanted)
    if fixture.columns is not None:
        assert answer.columns == list(fixture.columns)


@pytest.mark.parametrize("fixture", ANSWERED, ids=lambda fixture: f"{fixture.part}: {fixture.shows}")
def test_rows_groups_and_sensitivity(fixture: Fixture, plans: Plans) -> None:
    """Of each release; there are no more of them than the fixture lists, so that no part is bought twice."""
    releases = plans.of(fixture)[0].releases
    assert [release.child.rows for release in releases] == list(fixture.rows)
    assert [release.groups for release in releases] == list(fixture.groups)
    reaches = [release.sensitivity(measure) for release in releases for measure in release.measures]
    if fixture.far is None:
        found = sorted((float(sensitivity.l1), float(sensitivity.l2_squared)) for sensitivity in reaches)
        assert found == sorted(fixture.sensitivity)
        return
    (measure,) = releases[0].measures
    assert isinstance(measure, Sum)
    step = measure.steps.step
    assert float(reaches[0].l1 * step) == pytest.approx(fixture.far, rel=1e-5)
    assert reaches[0].l2_squared == reaches[0].l1 ** 2


def test_a_subquery_beside_keys_is_bought_once(curators: dict[str, Curator]) -> None:
    """Nested, it is bought 2^depth times: the cost is shared among all of them, and planning takes as long."""
    text = "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward"
    found = plan(tiny.policy(), text, public=PublicTables(lambda: curators["pure"]._engine(1)))
    assert len(found.releases) == 2


@pytest.mark.parametrize("fixture", fixtures.FUNCTIONS, ids=lambda fixture: fixture.shows)
def test_a_fixture_uses_the_function_it_is_there_for(fixture: Fixture, plans: Plans) -> None:
    assert fixture.function in plans.of(fixture)[1]


def test_every_function_has_a_fixture() -> None:
    covered = {fixture.function for fixture in fixtures.FUNCTIONS}
    assert covered | UNREACHABLE == set(FUNCTIONS)
    assert not covered & UNREACHABLE


def test_every_aggregate_has_a_fixture(plans: Plans) -> None:
    met: set[str] = set()
    for fixture in (*fixtures.AGGREGATES, *fixtures.CLAUSE):
        for release in plans.of(fixture)[0].releases:
            met |= {str(aggregate.key[0]) for aggregate in release.aggregates}
    texts = " ".join(fixture.text.upper().replace("_", "") for fixture in fixtures.AGGREGATES)
    spelt = {kind.__name__: kind.__name__.upper() for kind in AGGREGATES} | {
        "ApproxDistinct": "APPROXCOUNTDISTINCT",
        "ApproxTopK": "APPROXTOPCOUNT",
        "VariancePop": "VARPOP",
        "CovarPop": "COVARPOP",
        "Stddev": "STDDEV(",
    }
    assert [name for name, word in spelt.items() if word not in texts] == []
    assert [name for name in NAMED if name.replace("_", "") not in texts] == []
    assert met >= {"COUNT", "UNITS", "DISTINCT", "SUM", "AVG", "QUANTILE", "MODE", "TOP", "HISTOGRAM", "CORR"}


def test_fixtures_have_names_of_their_own() -> None:
    seen = [(fixture.part, fixture.text) for fixture in ANSWERED]
    assert len(set(seen)) == len(seen)
