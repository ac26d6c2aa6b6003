"""Every publication, on a small world and on arrays, and how its exact values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from discreet.accounting import Concentrated, Pure, compose
from discreet.audit.neighbours import neighbours
from discreet.audit.replay import Replay, every_key
from discreet.policy import Policy
from discreet.release import (
    MWEM,
    Domain,
    Facets,
    Hierarchy,
    Histogram,
    MarginalSynthesizer,
    Publication,
    QueryLog,
    RunningTotals,
    SmallDatabase,
    Workload,
)

POLICY: Final = """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
[tables.visits.columns]
ward = { values = ["A", "B"], nullable = true }
flag = { type = "boolean" }
day = { min = 2026-01-01, max = 2026-03-31 }
note = { type = "text" }
cost = { min = 0, max = 10 }
stay = { type = "integer", min = 0, max = 7 }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B"] }
"""
PURE: Final = 'name = "world"\n[budget]\nepsilon = 5\n[unit]\nname = "person"\n'
BOTH: Final = PURE.replace("epsilon = 5", "epsilon = 5\ndelta = 1e-6")
HEADS: Final = {"pure": PURE, "both": BOTH}
DAYS: Final = (date(2026, 1, 1), date(2026, 1, 31), date(2026, 3, 31), date(2027, 1, 1), None)
WARDS: Final = ("A", "B", "C", None)
NUMBERS: Final = (0.0, 10.0, 3.5, -1.0, 99.0, float("nan"), None)


def visits(people: int, seed: int = 0) -> list[dict[str, Any]]:
    """Some with more rows than are read; values at the bounds, outside of them, undeclared and missing."""
    dice = np.random.default_rng(seed)
    return [
        {
            "person": who,
            "ward": WARDS[dice.integers(len(WARDS))],
            "flag": bool(dice.integers(2)),
            "day": DAYS[dice.integers(len(DAYS))],
            "note": f"note {dice.integers(3)}",
            "cost": NUMBERS[dice.integers(len(NUMBERS))],
            "stay": int(dice.integers(-1, 10)),
        }
        for who in range(people)
        for _ in range(int(dice.integers(1, 6)))
    ]


def world(people: int, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    return {"visits": visits(people, seed), "wards": [{"ward": "A"}, {"ward": "B"}]}


def nothing_differs_and_all_is_charged(policy: Policy, task: Any, worlds: Iterable[tuple[int, int]]) -> None:
    """Neighbours of each world give the same public facts, and its charge bounds all that its mechanisms lose."""
    with Replay(policy, selects=every_key) as auditor:
        for people, seed in worlds:
            data = world(people, seed)
            for report in auditor.compare_each(task, data, [*neighbours(policy, data), data]):
                assert report.same, report
            run = auditor.run(task, data)
            (charged,) = run.charges
            assert isinstance(charged, Pure | Concentrated)
            spent = compose(*(call.mechanism.loss for call in run.calls))
            assert charged.bounds(spent if charged.is_pure else spent.concentrated())


def became_public(folder: Path, lines: str) -> Path:
    """A policy with one private table, and what was published as the lines say."""
    (folder / "people.csv").write_text("id,age\n1,30\n", encoding="utf-8")
    policy = folder / "policy.toml"
    policy.write_text(
        'name = "p"\n[budget]\nepsilon = 1\n[unit]\nname = "person"\n[tables.people]\nsource = "people.csv"\n'
        f'unit = "id"\n[tables.people.columns]\nage = {{ min = 0, max = 99 }}\n{lines}',
        encoding="utf-8",
    )
    return policy


def _no_check(rows: list[tuple[Any, ...]], published: Any) -> None: ...


@dataclass(frozen=True)
class Case:
    """A publication: for the policy above, and on arrays with all of its facts."""

    name: str
    make: Callable[[], Publication]
    """Facts are left to the policy."""
    sql: str
    own: Callable[[], tuple[Publication, Mapping[str, Any]]]
    """With all facts, and data of the caller."""
    heads: tuple[str, ...] = ("pure", "both")
    exact: Callable[[list[tuple[Any, ...]], Any], None] = field(default=_no_check)
    """Checks what is published without noise against the rows of `sql` (one of each person is read: give max_rows)."""


DOMAIN: Final = Domain.of({"sex": ["F", "M"], "age": (0, 100)}, bins={"age": [0, 18, 65, 100]})
DATA: Final = {"sex": ["F", "M", "F", None, "X"], "age": [3, 18, 100, 5, 7]}


def _histogram(rows: list[tuple[Any, ...]], published: Any) -> None:
    inside = [(ward, stay) for ward, stay in rows if stay is not None and 0 <= stay <= 7]
    counts = {(ward, stay): count for ward, stay, count in published.rows()}
    assert sum(counts.values()) == len(inside)
    for cell in {("A", 0), ("B", 7), (None, 3)}:
        assert counts[cell] == inside.count(cell)


MONTHS: Final = (date(2026, 1, 1), date(2026, 3, 31))
LOG: Final = {"who": [1, 1, 2, None, 3], "query": ["a", "a", "b", "a", "c"]}


def _facets(rows: list[tuple[Any, ...]], published: Any) -> None:
    for index, name in enumerate(published.domain.names):
        held = [row[index] for row in rows]
        for label, count in published.histogram(name):
            if label is not None and not isinstance(label, tuple):
                assert count == held.count(label)


def _totals(rows: list[tuple[Any, ...]], published: Any) -> None:
    ends = [row[0][1] for row in published.rows()]
    days = [day for (day,) in rows if day is not None and MONTHS[0] <= day <= MONTHS[1]]
    assert np.allclose(published.values, [sum(day <= end for day in days) for end in ends])


def _log(rows: list[tuple[Any, ...]], published: Any) -> None:
    """With as many keys of a unit as it has rows, each counted once for each unit."""
    assert {key for key, *_ in published.rows()} <= {note for (note,) in rows}
    assert sum(count for _, count in published.rows()) <= len(rows)


def _synthetic(rows: list[tuple[Any, ...]], published: Any) -> None:
    """Without noise every one-way marginal is exact, and so is the number of rows."""
    inside = [row for row in rows if row[-1] is not None and 0 <= row[-1] <= 7]
    assert len(published) == len(inside)
    for name, place in (("ward", 0), ("stay", -1)):
        (measured,) = [each for each in published.measured if each.names == (name,)]
        attribute = published.domain.known[published.domain.index(name)]
        exact = [sum(row[place] == attribute.label(code) for row in inside) for code in range(attribute.size)]
        assert measured.values.tolist() == exact


def _ranges(rows: list[tuple[Any, ...]], published: Any) -> None:
    stays = [stay for (stay,) in rows]
    exact = [sum(low <= stay <= high for stay in stays) for low in range(8) for high in range(low, 8)]
    assert np.allclose(published.answers(), exact, atol=1e-3)


def _marginals(rows: list[tuple[Any, ...]], published: Any) -> None:
    inside = [row for row in rows if 0 <= row[2] <= 7]
    for column, name in enumerate(("ward", "flag")):
        keys = ("A", "B", None) if name == "ward" else (False, True)
        exact = [sum(row[column] == key for row in inside) for key in keys]
        assert np.allclose(published.marginal(name), exact, atol=1e-3)


PATHS: Final = (("x", "A"), ("x", "B"), ("y", "C"))


def _hierarchy(rows: list[tuple[Any, ...]], published: Any) -> None:
    for ward, place in (("A", "x"), ("B", "x")):
        assert published.count(place, ward) == sum(row[0] == ward for row in rows)
        total = sum(round(min(max(row[1] or 0, 0), 7)) for row in rows if row[0] == ward)
        assert np.isclose(published.totals[2][published.places.numbers[2][place, ward]], total)
    assert published.count() == published.count("x") == sum(row[0] in ("A", "B") for row in rows)


CASES: Final = (
    Case(
        "hierarchy",
        lambda: Hierarchy.of(("region", "ward"), PATHS, value="stay", step=1),
        "SELECT ward, stay FROM visits",
        lambda: (Hierarchy.of(("region", "sex"), [("x", "F"), ("x", "M")], value="age", bounds=(0, 100)), DATA),
        exact=_hierarchy,
    ),
    Case(
        "facets",
        lambda: Facets(),
        "SELECT ward, stay, flag, day FROM visits",
        lambda: (Facets(domain=DOMAIN), DATA),
        exact=_facets,
    ),
    Case(
        "facets-of-texts",
        lambda: Facets(names=("note", "stay"), bins={"stay": 2}),
        "SELECT note, stay FROM visits",
        lambda: (Facets(domain=Domain.of({"sex": str, "age": (0, 100)})), DATA),
        heads=("both",),
        exact=_facets,
    ),
    *(
        Case(
            f"totals-by-{method}",
            partial(RunningTotals, method=method),
            "SELECT day FROM visits",
            lambda: (RunningTotals.over("day", *MONTHS), {"day": [date(2026, 1, 5), date(2026, 3, 1)]}),
            exact=_totals,
        )
        for method in ("tree", "root")
    ),
    Case(
        "totals-of-units",
        lambda: RunningTotals(column="day", counted="units", every="week"),
        "visits",
        lambda: (RunningTotals.over("day", *MONTHS, every="day", counted="units"), {"day": [date(2026, 1, 5)]}),
    ),
    Case(
        "log",
        lambda: QueryLog(),
        "SELECT note FROM visits",
        lambda: (QueryLog(names=("query",)), LOG),
        heads=("both",),
        exact=_log,
    ),
    Case(
        "log-bounded",
        lambda: QueryLog(names=("note", "ward", "flag"), max_keys=2, max_count=2, selection=Fraction(1, 3)),
        "visits",
        lambda: (QueryLog(names=("query",), unit="who", max_keys=2, max_count=2), LOG),
        heads=("both",),
    ),
    Case(
        "ranges",
        lambda: Workload.ranges(),
        "SELECT stay FROM visits",
        lambda: (Workload.prefixes(domain=DOMAIN.only(["age"])), DATA),
        exact=_ranges,
    ),
    Case(
        "marginals",
        lambda: Workload.marginals(2) + Workload.totals(),
        "SELECT ward, flag, stay FROM visits",
        lambda: (Workload.marginals(1, domain=DOMAIN), DATA),
        exact=_marginals,
    ),
    Case(
        "histogram",
        lambda: Histogram(),
        "SELECT ward, stay FROM visits",
        lambda: (Histogram(domain=DOMAIN), DATA),
        exact=_histogram,
    ),
    Case(
        "histogram-of-bins",
        lambda: Histogram(names=("day", "cost"), bins={"day": "month", "cost": 4}),
        "visits",
        lambda: (Histogram(domain=DOMAIN.only(["age"])), DATA),
    ),
    Case(
        "marginal-synthesizer",
        lambda: MarginalSynthesizer(steps=5),
        "SELECT ward, stay FROM visits",
        lambda: (MarginalSynthesizer(domain=DOMAIN, steps=5), DATA),
        exact=_synthetic,
    ),
    Case(
        "marginal-synthesizer-of-private-texts",
        lambda: MarginalSynthesizer(names=("note", "flag"), steps=5),
        "visits",
        lambda: (MarginalSynthesizer(domain=DOMAIN.only(["age"]), steps=5), DATA),
        heads=("both",),
    ),
    Case(
        "mwem",
        lambda: MWEM(rounds=2, passes=2),
        "SELECT ward, stay FROM visits",
        lambda: (MWEM(domain=DOMAIN, rounds=2, passes=2), DATA),
    ),
    Case(
        "small-database",
        lambda: SmallDatabase(size=3),
        "SELECT ward, flag FROM visits",
        lambda: (SmallDatabase(domain=DOMAIN.only(["age"]), size=2), DATA),
    ),
)
