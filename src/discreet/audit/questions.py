"""Questions made from a policy alone: every aggregate of every kind of column, by every kind of key.

They are the same every time. The first ones meet every kind of question and every table; what a policy does not allow
is refused when it is asked, and a refusal is an answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

from discreet.audit.vocabulary import NUMBERS, Scene, spelt
from discreet.policy import Column, Kind, Policy, Table


@dataclass(frozen=True, slots=True)
class Question:
    """A text, what kind of question it is, and the tables that it reads."""

    text: str
    kind: str
    tables: frozenset[str]
    task: Callable[[Fraction], Any] | None = None
    """Of a cost, where it is no SQL: what is performed."""


def questions(policy: Policy, most: int | None = None) -> list[Question]:
    """Questions for a policy, each text once, the kinds in turn: a few of them meet all kinds."""
    tables = list(policy.private_tables.values())
    streams = [
        _stream(policy, tables[(index + shift) % len(tables)], kind)
        for shift in range(len(tables))
        for index, kind in enumerate(MAKERS)
    ]
    turns = (question for turn in itertools.zip_longest(*streams) for question in turn if question is not None)
    by_text = {question.text: question for question in turns}
    return list(itertools.islice(by_text.values(), most))


def fits(policy: Policy) -> list[Question]:
    """A few estimators on the numbers of every private table; none where scikit-learn is not installed."""
    try:
        from discreet.learn import GaussianNB, KMeans, LinearRegression, StandardScaler
    except ModuleNotFoundError:
        return []
    tasks = []
    for table in policy.private_tables.values():
        scene = Scene(policy, table)
        names = ("a", "b")[: len(scene.numbers)]
        columns = ", ".join(f"{number} AS {name}" for number, name in zip(scene.numbers, names, strict=False))
        if not names:
            continue
        learners: list[tuple[Any, str | None]] = [(StandardScaler(), None), (KMeans(2), None)]
        if len(names) == 2:
            learners += [(LinearRegression(), "b"), (GaussianNB(classes=[0, 1]), "b")]
        for learner, target in learners:
            sql = f"SELECT {columns} FROM {scene.source}"
            task = partial(_fit, learner, sql, target)
            tasks.append(Question(f"{type(learner).__name__}.fit: {sql}", "fits", frozenset({table.name}), task))
    return tasks


def scores(policy: Policy) -> list[Question]:
    """Models that were fitted to rows of nobody, scored on every private table with two numbers."""
    try:
        import numpy as np

        from discreet.learn import GaussianNB, LinearRegression
    except ModuleNotFoundError:
        return []
    rows = np.linspace(-1, 1, 20)[:, None]
    line = LinearRegression(bounds=(-1, 1), y_bounds=(-5, 5), epsilon=10).fit(rows, rows[:, 0])
    classes = GaussianNB(bounds=(-1, 1), classes=[0, 1], epsilon=10).fit(rows, rows[:, 0] > 0)
    metrics: list[tuple[Any, list[str]]] = [
        (line, ["r2", "mean_absolute_error"]),
        (classes, ["balanced_accuracy", "roc_auc", "log_loss", "calibration"]),
    ]
    tasks = []
    for table in policy.private_tables.values():
        scene = Scene(policy, table)
        if len(scene.numbers) < 2:
            continue
        sql = f"SELECT {scene.numbers[0]} AS a, {scene.numbers[1]} AS b FROM {scene.source}"
        for model, metric in metrics:
            held = "audit" if scene.unit else None
            task = partial(_score, model, sql, metric, held, min(2, table.max_rows))
            tasks.append(Question(f"{type(model).__name__}.score: {sql}", "scores", frozenset({table.name}), task))
    return tasks


def releases(policy: Policy) -> list[Question]:
    """Publications of every private table, of two rows of each unit where there are so many."""
    from discreet.release import Facets, Histogram, MarginalSynthesizer, QueryLog, RunningTotals, Workload

    tasks = []
    for table in policy.private_tables.values():
        texts = _named(table, lambda column: column.kind is Kind.TEXT and column.values is None)
        known = _named(table, lambda column: column.values is not None or column.bounds is not None)
        columns = (*known, *texts) if policy.budget.delta is not None else known
        publications = [
            *([Facets(names=columns), MarginalSynthesizer(names=columns[:3], steps=5)] if columns else []),
            RunningTotals(every="year", counted="units" if table.max_rows % 2 else "rows"),
            *([QueryLog(names=texts, max_keys=1, max_count=2)] if texts else []),
            *([Workload.marginals(1, *known[:3]), Histogram(names=known[:2])] if known else []),
        ]
        sql = f"SELECT * FROM {spelt(table.name)}"
        for publication in publications:
            task = partial(_release, publication, sql, min(2, table.max_rows))
            title = f"{type(publication).__name__}.release: {sql}"
            tasks.append(Question(title, "releases", frozenset({table.name}), task))
    return tasks


def _named(table: Table, suits: Callable[[Column], bool]) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns.values() if suits(column))


def _release(publication: Any, sql: str, rows: int, epsilon: Fraction) -> Any:
    return publication.task(sql, max_rows=rows, epsilon=epsilon, fresh=True)


def _score(model: Any, sql: str, metric: list[str], held: str | None, rows: int, epsilon: Fraction) -> Any:
    return model.score_task(sql, target="b", metric=metric, holdout=held, max_rows=rows, epsilon=epsilon, fresh=True)


def _fit(learner: Any, sql: str, target: str | None, epsilon: Fraction) -> Any:
    return learner.task(sql, target=target, epsilon=epsilon, fresh=True)


def _stream(policy: Policy, table: Table, kind: str) -> Iterator[Question]:
    for text, *others in MAKERS[kind](Scene(policy, table)):
        yield Question(text, kind, frozenset({table.name, *others}))


Texts = Iterator[tuple[str, ...]]
"""A text, and the further tables that it reads."""


# kinds of questions


def _counts(scene: Scene) -> Texts:
    items = ["COUNT(*)", *([f"COUNT(DISTINCT {scene.unit})"] if scene.unit else [])]
    for column in scene.columns:
        items += [f"COUNT({spelt(column.name)})", f"COUNT(DISTINCT {spelt(column.name)})"]
    items += [f"COUNT_IF({condition})" for condition in scene.conditions]
    yield from ((f"SELECT {item} FROM {scene.source}",) for item in items)


def _sums(scene: Scene) -> Texts:
    for number in scene.unbounded:
        yield (f"SELECT SUM({number}), AVG({number}) FROM {scene.source}",)
        yield (f"SELECT STDDEV_POP({number}), MEDIAN({number}) FROM {scene.source}",)
        yield from ((f"SELECT {key}, SUM({number}) FROM {scene.source} GROUP BY 1",) for key in scene.public[:1])
    for number in scene.numbers:
        for item in (f"SUM({number})", f"AVG({number})", f"SUM({number} * 2 + 1), AVG({number})"):
            yield (f"SELECT {item} FROM {scene.source}",)
    for condition in scene.conditions:
        yield (f"SELECT SUM(CASE WHEN {condition} THEN 3 ELSE 1 END) FROM {scene.source}",)


def _moments(scene: Scene) -> Texts:
    for number in scene.numbers:
        yield (f"SELECT VAR_POP({number}), STDDEV_SAMP({number}) FROM {scene.source}",)
    for x, y in itertools.combinations(scene.numbers, 2):
        yield (f"SELECT COVAR_POP({x}, {y}), CORR({x}, {y}), REGR_SLOPE({x}, {y}) FROM {scene.source}",)


def _quantiles(scene: Scene) -> Texts:
    for number in scene.numbers:
        for item in (f"MEDIAN({number})", f"QUANTILE({number}, 0.9)", f"MIN({number}), MAX({number})"):
            yield (f"SELECT {item} FROM {scene.source}",)
    for number, key in zip(scene.numbers, scene.public, strict=False):
        yield (f"SELECT {key}, MEDIAN({number}) FROM {scene.source} GROUP BY 1",)


def _lists(scene: Scene) -> Texts:
    for number in scene.numbers:
        yield (f"SELECT HISTOGRAM({number}, 5) FROM {scene.source}",)
    for column in scene.columns:
        if column.values is not None:
            yield (f"SELECT MODE({spelt(column.name)}) FROM {scene.source}",)
            yield (f"SELECT APPROX_TOP_COUNT({spelt(column.name)}, 2) FROM {scene.source}",)


def _keys(scene: Scene) -> Texts:
    units = f", COUNT(DISTINCT {scene.unit})" if scene.unit else ""
    for key in scene.every_key:
        yield (f"SELECT {key}, COUNT(*), SUM({scene.number}) FROM {scene.source} GROUP BY 1",)
        yield (f"SELECT {key}, AVG({scene.number}){units} FROM {scene.source} GROUP BY 1",)


def _key_pairs(scene: Scene) -> Texts:
    for first, second in itertools.combinations(scene.public, 2):
        yield (f"SELECT {first}, {second}, COUNT(*), SUM({scene.number}) FROM {scene.source} GROUP BY 1, 2",)


def _private_keys(scene: Scene) -> Texts:
    for key in scene.private:
        yield (f"SELECT {key}, COUNT(*) FROM {scene.source} GROUP BY 1",)
        yield (f"SELECT UPPER({key}), SUM({scene.number}) FROM {scene.source} GROUP BY 1",)
        for public in scene.public:
            yield (f"SELECT {key}, {public}, COUNT(*) FROM {scene.source} GROUP BY 1, 2",)


def _filters(scene: Scene) -> Texts:
    for condition, other in zip(scene.conditions, scene.conditions[1:] + scene.conditions[:1], strict=True):
        yield (f"SELECT COUNT(*), SUM({scene.number}) FROM {scene.source} WHERE {condition}",)
        yield (f"SELECT COUNT(*) FROM {scene.source} WHERE NOT ({condition}) OR {other}",)
        yield (f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM {scene.source}",)
    for column in scene.columns:
        yield (f"SELECT COUNT(*) FROM {scene.source} WHERE {spelt(column.name)} IS NULL",)


def _per_unit(scene: Scene) -> Texts:
    if scene.unit is None:
        return
    rows = f"COUNT(*) AS n, SUM({scene.number}) AS total"
    inner = f"SELECT {scene.unit}, {rows} FROM {scene.source} GROUP BY {scene.unit}"
    yield (f"SELECT COUNT(*), SUM(n), AVG(total) FROM ({inner}) AS u",)
    yield (f"SELECT n, COUNT(*) FROM ({inner} HAVING COUNT(*) > 1) AS u GROUP BY n",)
    for key in scene.public:
        inner = f"SELECT {scene.unit}, {key} AS which, {rows} FROM {scene.source} GROUP BY 1, 2"
        yield (f"SELECT which, COUNT(*), SUM(total) FROM ({inner}) AS u GROUP BY which",)


def _windows(scene: Scene) -> Texts:
    if scene.unit is None:
        return
    for number in scene.numbers:
        window = f"OVER (PARTITION BY {scene.unit} ORDER BY {number})"
        inner = f"SELECT ROW_NUMBER() {window} AS r, LAG({number}) {window} AS p FROM {scene.source}"
        yield (f"SELECT COUNT_IF(r = 1), SUM(CLAMP(p, 0, 10)) FROM ({inner}) AS w",)


def _unions(scene: Scene) -> Texts:
    if scene.unit is None:  # a row could be on both sides
        return
    inner = f"SELECT {scene.number} AS x FROM {scene.source}"
    yield (f"SELECT COUNT(*), SUM(x) FROM ({inner} UNION ALL {inner}) AS t",)
    for other in scene.others:
        there = Scene(scene.policy, other)
        more = f"SELECT {there.number} AS x FROM {there.source}"
        yield f"SELECT COUNT(*), SUM(x) FROM ({inner} UNION ALL {more}) AS t", other.name


def _joins(scene: Scene) -> Texts:
    """Of rows of the same unit."""
    if scene.unit is None:
        return
    for other in scene.others:
        there = Scene(scene.policy, other)
        for join in ("JOIN", "LEFT JOIN", "FULL JOIN"):
            on = f"{scene.source} AS a {join} {there.source} AS b ON a.{scene.unit} = b.{there.unit}"
            yield f"SELECT COUNT(*) FROM {on}", other.name
        for column in scene.columns:
            if column.values is not None or column.kind is Kind.BOOLEAN:
                on = f"{scene.source} AS a JOIN {there.source} AS b ON a.{scene.unit} = b.{there.unit}"
                yield f"SELECT a.{spelt(column.name)}, COUNT(*) FROM {on} GROUP BY 1", other.name
    itself = f"{scene.source} AS a JOIN {scene.source} AS b ON a.{scene.unit} = b.{scene.unit}"
    yield (f"SELECT COUNT(*) FROM {itself}",)


def _lookups(scene: Scene) -> Texts:
    """Rows beside those of a public table that have the same value in a column of the same name."""
    for public in (table for table in scene.policy.tables.values() if table.is_public):
        for column in public.columns.values():
            held = scene.table.columns.get(column.name)
            if held is None or held.kind is not column.kind:
                continue
            on = f"p.{spelt(column.name)} = q.{spelt(column.name)}"
            joined = f"{scene.source} AS p {{}} {spelt(public.name)} AS q ON {on}"
            yield f"SELECT COUNT(*) FROM {joined.format('JOIN')}", public.name
            for more in public.columns.values():
                if more.values is not None:
                    key = f"q.{spelt(more.name)}"
                    yield f"SELECT {key}, COUNT(*) FROM {joined.format('LEFT JOIN')} GROUP BY 1", public.name


def _relatives(scene: Scene) -> Texts:
    """Rows of which the same unit has others, or has none."""
    if scene.unit is None:
        return
    for other in (*scene.others, scene.table):
        there = Scene(scene.policy, other)
        shown = f"SELECT COUNT(*), SUM(a.{scene.number}) FROM {scene.source} AS a"
        shown = shown if scene.number.isidentifier() else f"SELECT COUNT(*) FROM {scene.source} AS a"
        same = f"b.{there.unit} = a.{scene.unit}"
        tables = f"FROM {there.source} AS b WHERE"
        for condition in there.conditions[:2]:
            yield f"{shown} WHERE a.{scene.unit} IN (SELECT b.{there.unit} {tables} {condition})", other.name
            yield f"{shown} WHERE NOT EXISTS (SELECT 1 {tables} {same} AND {condition})", other.name
        for kind in ("ANTI", "SEMI"):
            yield f"{shown} {kind} JOIN {there.source} AS b ON {same}", other.name
        yield f"{shown} WHERE a.{scene.unit} NOT IN (SELECT b.{there.unit} FROM {there.source} AS b)", other.name


def _unique_keys(scene: Scene) -> Texts:
    """Rows beside the one row of their unit that has their key."""
    for other in scene.others if scene.unit else ():
        there = Scene(scene.policy, other)
        keys = [column for column in there.columns if column.unique]
        for key, column in itertools.product(keys, scene.columns):
            if key.kind is not column.kind:
                continue
            on = f"a.{scene.unit} = b.{there.unit} AND a.{spelt(column.name)} = b.{spelt(key.name)}"
            for join in ("JOIN", "FULL JOIN", "LEFT JOIN", "RIGHT JOIN"):
                yield f"SELECT COUNT(*) FROM {scene.source} AS a {join} {there.source} AS b ON {on}", other.name


def _public_keys(scene: Scene) -> Texts:
    """Keys that a public table supplies, and rows beside all public rows."""
    for public in (table for table in scene.policy.tables.values() if table.is_public):
        if scene.unit is not None:  # rows that are their own unit match one public row at most
            yield f"SELECT COUNT(*) FROM {scene.source} AS p CROSS JOIN {spelt(public.name)} AS q", public.name
        for column in public.columns.values():
            held = scene.table.columns.get(column.name)
            if held is None or held.kind is not column.kind:
                continue
            key = spelt(column.name)
            keys = f"(SELECT DISTINCT {key} FROM {spelt(public.name)}) AS q ON p.{key} = q.{key}"
            for join in ("RIGHT JOIN", "FULL JOIN"):
                yield f"SELECT q.{key}, COUNT(*) FROM {scene.source} AS p {join} {keys} GROUP BY 1", public.name
            beside = f"{scene.source} AS p, {spelt(public.name)} AS q WHERE p.{key} = q.{key}"
            yield f"SELECT COUNT(*) FROM {beside}", public.name


def _sets(scene: Scene) -> Texts:
    """Several releases of the same rows, side by side, and what is computed from them."""
    counted = f"COUNT(*) AS n, SUM({scene.number}) AS total FROM {scene.source}"
    for key in scene.every_key:
        yield (f"SELECT {key} AS which, {counted} GROUP BY ROLLUP (1)",)
    for first, second in itertools.combinations(scene.public, 2):
        yield (f"SELECT {first} AS a, {second} AS b, {counted} GROUP BY CUBE (1, 2)",)
    for key, condition in zip(scene.public, scene.conditions, strict=False):
        one = f"SELECT {key} AS which, COUNT(*) AS n FROM {scene.source}"
        yield (f"{one} GROUP BY 1 UNION ALL {one} WHERE {condition} GROUP BY 1 ORDER BY n DESC LIMIT 3",)
        yield (f"SELECT which, n, RANK() OVER (ORDER BY n DESC), SUM(n) OVER () FROM ({one} GROUP BY 1) AS t",)


def _released(scene: Scene) -> Texts:
    """What was released is public from then on."""
    for number in scene.numbers:
        yield (f"SELECT COUNT(*) FROM {scene.source} WHERE {number} > (SELECT AVG({number}) FROM {scene.source})",)
    for key in scene.public:
        inner = f"SELECT {key} AS which, COUNT(*) AS n FROM {scene.source} GROUP BY 1"
        yield (f"SELECT SUM(n), MAX(n) FROM ({inner}) AS t WHERE n > 1",)
        yield (f"{inner} HAVING n > 1 ORDER BY n DESC LIMIT 2",)


def _clauses(scene: Scene) -> Texts:
    """Limits that the question itself states. BigQuery reads quotes as texts, so names must need none."""
    names = [scene.table.name, *(column.name for column in scene.columns)]
    if any(spelt(each) != each for each in names):
        return
    for key in scene.private:
        options = "max_groups_contributed = 1, other = true"
        yield (
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {key}, COUNT(*) FROM {scene.source} GROUP BY {key}",
        )
    for column in scene.columns:
        if column.values is not None:
            options = "max_groups_contributed = 1"
            text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {column.name}, COUNT(*) FROM {scene.source}"
            yield (f"{text} GROUP BY {column.name}",)
    for column in scene.columns:
        if column.kind in NUMBERS and column.bounds is not None:
            yield (f"SELECT SUM({column.name}, contribution_bounds_per_group => (0, 3)) FROM {scene.source}",)
    yield (f"SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) FROM {scene.source}",)
    if scene.policy.implicit_bounds:
        clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = AUTO)"
        yield (f"SELECT {clause} COUNT(*) FROM {scene.source}",)


MAKERS: Final[dict[str, Callable[[Scene], Texts]]] = {
    "counts": _counts,
    "sums and averages": _sums,
    "one key": _keys,
    "quantiles": _quantiles,
    "private keys": _private_keys,
    "filters": _filters,
    "joins on the unit": _joins,
    "one row for each unit": _per_unit,
    "two keys": _key_pairs,
    "variances and correlations": _moments,
    "unions": _unions,
    "public tables": _lookups,
    "noisy subqueries": _released,
    "others of the unit": _relatives,
    "unique keys": _unique_keys,
    "public keys": _public_keys,
    "several sets of keys": _sets,
    "lists": _lists,
    "windows": _windows,
    "limits in the question": _clauses,
}
