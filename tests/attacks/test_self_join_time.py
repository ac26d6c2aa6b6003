"""A table that is joined with itself k times on the unit makes rows^k of work: 20 visits of one person, six times, are
64 million rows, and an answer with next to no ε, or its absence, told by its time alone whether the person was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import discreet
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.exit.timing import step
from discreet.learn import KMeans
from discreet.sql.fanout import STEPS
from tests.attacks.work import Work, counted

MOST = 500
POLICY = f"""
name = "clinic"
[budget]
epsilon = 1000.0
[unit]
name = "person"
max_rows = {MOST}
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 20
[tables.visits.columns]
ward = {{ values = ["A", "B"] }}
cost = {{ min = 0, max = 100 }}
[tables.floors]
source = "floors.csv"
public = true
[tables.many]
source = "many.csv"
public = true
"""
OTHERS = 50
ROWS_PER_SECOND = 10**7


def joined(times: int, kind: str = "JOIN", further: str = "") -> str:
    tables = " ".join(f"{kind} visits t{n} ON t0.person = t{n}.person{further}" for n in range(1, times))
    return f"visits t0 {tables}"


def per_person(source: str, owner: str = "t0.person") -> str:
    """One row of each person counts: however many rows there were on the way, next to no ε is enough."""
    return f"SELECT COUNT(*) FROM (SELECT {owner}, COUNT(*) AS n FROM {source} GROUP BY {owner}) AS u"


def doubled(times: int, again: str) -> str:
    """A subquery that is joined or united with itself, again and again."""
    ctes = ["c0 AS (SELECT person, cost FROM visits)"]
    ctes += [f"c{n} AS ({again.format(below=f'c{n - 1}')})" for n in range(1, times)]
    return f"WITH {', '.join(ctes)} {per_person(f'c{times - 1} AS t0')}"


QUESTIONS = {
    **{f"{kind} {times}": per_person(joined(times, kind)) for kind in ("JOIN", "LEFT JOIN") for times in (2, 4, 6, 8)},
    "RIGHT JOIN": per_person(joined(4, "RIGHT JOIN"), "t3.person"),
    "FULL JOIN": per_person(joined(4, "FULL JOIN"), "COALESCE(t0.person, t1.person, t2.person, t3.person)"),
    "a further condition": per_person(joined(5, "LEFT JOIN", " AND t0.cost + 1 > 0")),
    "rows, not people": f"SELECT COUNT(*) FROM {joined(5)}",
    "doubled by joins": doubled(4, "SELECT a.person, a.cost FROM {below} a JOIN {below} b ON a.person = b.person"),
    "doubled by unions": doubled(6, "SELECT person, cost FROM {below} UNION ALL SELECT person, cost FROM {below}"),
    "windows": per_person(
        "(SELECT a.person, MAX(a.cost) OVER (PARTITION BY a.person ORDER BY a.cost) AS m FROM visits a"
        " JOIN visits b ON a.person = b.person JOIN visits c ON a.person = c.person) AS t0"
    ),
    "grouped by more": per_person(
        "(SELECT person, cost, COUNT(*) AS n FROM visits GROUP BY person, cost) AS t0"
        " JOIN visits b ON t0.person = b.person JOIN visits c ON t0.person = c.person"
    ),
    "public rows": per_person("visits t0 JOIN floors f ON t0.ward = f.ward"),
    "public rows, again": per_person(
        "visits t0 JOIN floors f ON t0.ward = f.ward JOIN floors g ON t0.ward = g.ward"
        " JOIN visits b ON t0.person = b.person"
    ),
    "a public subquery": per_person("visits t0 JOIN (SELECT ward, floor FROM floors) AS f ON t0.ward = f.ward"),
    "public rows joined": per_person(
        "visits t0 JOIN (SELECT f.ward FROM floors f JOIN floors g ON f.ward = g.ward) AS f ON t0.ward = f.ward"
    ),
}


def written(folder: Path, *, target: bool) -> Path:
    rows = [f"{person},{'AB'[person % 2]},{person % 7}" for person in range(OTHERS)]
    rows += [f"999,{'AB'[nth % 2]},{nth}" for nth in range(40)] if target else []
    (folder / "visits.csv").write_text("\n".join(["person,ward,cost", *rows, ""]))
    floors = [f"{ward},{floor}" for ward in "AB" for floor in range(100)]
    (folder / "floors.csv").write_text("\n".join(["ward,floor", *floors, ""]))
    (folder / "many.csv").write_text("\n".join(["ward,floor", *(f"A,{floor}" for floor in range(MOST + 1)), ""]))
    policy = folder / "clinic.toml"
    policy.write_text(POLICY, encoding="utf-8")
    return policy


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Curator, Curator]]:
    """With the person, and without."""
    with ExitStack() as stack:
        yield (
            stack.enter_context(discreet.open(written(tmp_path_factory.mktemp("with"), target=True))),
            stack.enter_context(discreet.open(written(tmp_path_factory.mktemp("without"), target=False))),
        )


def worked(patch: pytest.MonkeyPatch, curator: Curator, asked: str) -> Work:
    with counted(patch, "visits") as work:
        curator.query(asked, epsilon=0.01, fresh=True)
    return work


@pytest.mark.parametrize("kind", QUESTIONS)
def test_one_person_is_not_seen_in_the_work(
    monkeypatch: pytest.MonkeyPatch, worlds: tuple[Curator, Curator], kind: str
) -> None:
    there, gone = (worked(monkeypatch, curator, QUESTIONS[kind]) for curator in worlds)
    assert there.operators, "nothing was counted"
    assert not there.loops
    assert there.rows - gone.rows <= 4 * STEPS * MOST, "each row passes a few operators: window, filter, projection"
    ends = [step(work.rows / ROWS_PER_SECOND, 0.1) for work in (there, gone)]
    assert ends[0] == ends[1], "padded, the answers come at the same time"


@pytest.mark.parametrize("times", [2, 4, 6, 8])
def test_no_step_makes_more_rows_of_one_person_than_the_policy_says(
    monkeypatch: pytest.MonkeyPatch, worlds: tuple[Curator, Curator], times: int
) -> None:
    """Others have one row each, and so one row of each join."""
    assert worked(monkeypatch, worlds[0], per_person(joined(times))).most <= MOST + OTHERS


def test_models_learn_from_bounded_joins_too(monkeypatch: pytest.MonkeyPatch, worlds: tuple[Curator, Curator]) -> None:
    with counted(monkeypatch, "visits") as work:
        worlds[0].fit(KMeans(n_clusters=1), f"SELECT t0.cost FROM {joined(6)}", epsilon=0.01)
    assert work.operators
    assert work.most <= MOST + OTHERS


def test_the_answer_says_which_rows_are_left_out(worlds: tuple[Curator, Curator]) -> None:
    told = worlds[1].preview(per_person(joined(4)), epsilon=0.01).notes
    assert "a join takes at most 25 and 20 rows of each person, which makes no more than 500 then" in told


def test_many_small_steps_are_refused(worlds: tuple[Curator, Curator]) -> None:
    with pytest.raises(Refused, match="one unit could make") as refused:
        worlds[1].preview(per_person(joined(STEPS + 4)), epsilon=0.01)
    assert refused.value.code == "too-complex"


def test_many_windows_over_many_rows_are_refused(worlds: tuple[Curator, Curator]) -> None:
    """Each sorts the rows of a unit once more: with 30 of them over 10,000 rows a person took 40 ms."""
    ordered = "OVER (PARTITION BY a.person ORDER BY b.cost ROWS {} PRECEDING)"
    windows = ", ".join(f"SUM(a.cost) {ordered.format(n)} AS w{n}" for n in range(2 * STEPS))
    source = "visits a JOIN visits b ON a.person = b.person"
    with pytest.raises(Refused, match="one unit could make") as refused:
        worlds[1].preview(f"SELECT COUNT(*) FROM (SELECT {windows} FROM {source}) AS t WHERE w1 > 1", epsilon=0.01)
    assert refused.value.code == "too-complex"
    few = windows.split(" AS w2")[0] + " AS w2"
    assert worlds[1].preview(f"SELECT COUNT(*) FROM (SELECT {few} FROM {source}) AS t WHERE w1 > 1", epsilon=0.01).error


def test_public_rows_that_one_key_matches_too_often_are_refused(worlds: tuple[Curator, Curator]) -> None:
    with pytest.raises(Refused, match="one row may match 501 public rows") as refused:
        worlds[1].preview("SELECT COUNT(*) FROM visits v JOIN many m ON v.ward = m.ward", epsilon=0.01)
    assert refused.value.code == "too-complex"
