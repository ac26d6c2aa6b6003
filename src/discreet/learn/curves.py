"""How good a model is at several costs, beside one without privacy: for rows that the caller owns and may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sklearn.cluster
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.tree
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import indexable
from sklearn.utils.validation import check_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from discreet import noise
from discreet.answers.progress import shown
from discreet.exact import Number, epsilon, flag, probability, whole
from discreet.learn.additive import AdditiveClassifier, AdditiveRegressor
from discreet.learn.bayes import CategoricalNB, GaussianNB
from discreet.learn.core import COST_PARAMETERS, demand
from discreet.learn.kmeans import KMeans
from discreet.learn.labels import Array, category_labels
from discreet.learn.linear import LinearRegression
from discreet.learn.logistic import LogisticRegression
from discreet.learn.scalers import MinMaxScaler
from discreet.learn.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

EPSILONS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10)
MANY: Final = 100_000
"""Of fewer rows, one thread learns sooner: several wait for each other, and on a busy machine for very long."""


def _scaled(model: Any, plain: Any) -> Any:
    return make_pipeline(MinMaxScaler(bounds=model.bounds, feature_range=(-1, 1)), plain)


def _categorical(model: CategoricalNB, width: int) -> Any:
    tables = category_labels(model.categories, width)
    counts = [table.count for table in tables]

    def places(rows: Any) -> Array:
        columns = check_array(rows, dtype=None).T
        indices = [table.places(column) for table, column in zip(tables, columns, strict=True)]
        return np.maximum(np.array(indices), 0).T

    plain = sklearn.naive_bayes.CategoricalNB(alpha=model.alpha, min_categories=counts)
    return make_pipeline(FunctionTransformer(places), plain)


PLAIN: Final[dict[type, Callable[[Any, int], Any]]] = {
    KMeans: lambda model, _: sklearn.cluster.KMeans(model.n_clusters, n_init=model.n_init),
    GaussianNB: lambda *_: sklearn.naive_bayes.GaussianNB(),
    CategoricalNB: _categorical,
    LinearRegression: lambda model, _: sklearn.linear_model.LinearRegression(fit_intercept=model.fit_intercept),
    LogisticRegression: lambda model, _: _scaled(
        model, sklearn.linear_model.LogisticRegression(C=model.C, fit_intercept=model.fit_intercept, max_iter=1000)
    ),
    DecisionTreeClassifier: lambda model, _: sklearn.tree.DecisionTreeClassifier(max_depth=model.max_depth),
    RandomForestClassifier: lambda model, _: sklearn.ensemble.RandomForestClassifier(
        model.n_estimators or 100, max_depth=model.max_depth
    ),
    DecisionTreeRegressor: lambda model, _: sklearn.tree.DecisionTreeRegressor(max_depth=model.max_depth),
    RandomForestRegressor: lambda model, _: sklearn.ensemble.RandomForestRegressor(
        model.n_estimators or 100, max_depth=model.max_depth
    ),
    AdditiveClassifier: lambda *_: sklearn.ensemble.HistGradientBoostingClassifier(interaction_cst="no_interactions"),
    AdditiveRegressor: lambda *_: sklearn.ensemble.HistGradientBoostingRegressor(interaction_cst="no_interactions"),
}
"""scikit-learn's estimator of the same kind, for so many features."""


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Scores on rows that were not learned from. They are exact: nothing of this is private."""

    model: str
    epsilons: tuple[float, ...]
    scores: tuple[tuple[float, ...], ...]
    """For each ε, of every fit."""
    plain: tuple[float, ...]
    """Without privacy, on the same splits."""
    delta: float | None = None

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(float(np.mean(scores)) for scores in self.scores)

    def __str__(self) -> str:
        lines = [f"{cost:<12} {_spread(scores)}" for cost, scores in zip(self._costs(), self.scores, strict=True)]
        return "\n".join([*lines, f"{'not private':<12} {_spread(self.plain)}"])

    def _costs(self) -> list[str]:
        return [f"epsilon={value:g}" for value in self.epsilons]

    def plot(self, theme: str = "light") -> ChartType:
        """The mean score against ε, with how much fits differ, beside that without privacy. It needs altair."""
        from discreet.answers.plots.beside import drawn_beside

        return drawn_beside(lambda: self._chart(theme))

    def _chart(self, theme: str) -> ChartType:
        from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, theme_of

        alt, look = altair(), theme_of(theme)
        records = [
            {"epsilon": value, "mean": float(np.mean(scores)), "spread": float(np.std(scores))}
            for value, scores in zip(self.epsilons, self.scores, strict=True)
        ]
        low, high = (alt.datum.mean + sign * alt.datum.spread for sign in (-1, 1))
        base = (
            chart_of(records)
            .transform_calculate(low=low, high=high)
            .encode(
                x=alt.X(
                    "epsilon:Q",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(values=list(self.epsilons), format="~g", grid=False),
                )
            )
        )
        score = alt.Y("mean:Q", title="score", scale=alt.Scale(zero=False))
        band = base.mark_area(opacity=0.2, color=COLOURS[0]).encode(y=alt.Y("low:Q"), y2="high:Q")
        line = base.mark_line(point={"color": COLOURS[0]}, color=COLOURS[0]).encode(y=score)
        limit = chart_of([{"plain": float(np.mean(self.plain))}])
        rule = limit.mark_rule(strokeDash=[5, 4], color=NEUTRAL).encode(y="plain:Q")
        named = limit.mark_text(align="left", dy=-8, color=look.faint).encode(
            x=alt.value(6), y="plain:Q", text=alt.value("not private")
        )
        cost = "" if self.delta is None else f", delta {self.delta:g}"
        subtitle = f"mean and spread of {len(self.plain)} fits{cost}"
        return dressed((band + rule + named + line).properties(width=460, height=240), look, self.model, [subtitle])


def learning_curve(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any = None,
    epsilons: Iterable[Number] = EPSILONS,
    *,
    delta: Number | None = None,
    fits: int = 5,
    test_size: Number = 0.25,
    verbose: bool = False,
) -> LearningCurve:
    """Fit on a part of the rows at each ε, and on the same parts without privacy; score on the rest, exactly.

    It fits many times and looks at scores as they are: it is for data of your own, made or public, never for private
    rows that somebody else asked you to protect. `estimator` has neither cost nor ledger.
    """
    _check(estimator)
    costs = [float(epsilon(value)) for value in epsilons]
    if not costs:
        raise ValueError("epsilons must hold at least one number")
    chance, times = float(probability(test_size, "test_size")), whole(fits, "fits")
    steps: Any = [(fit, index) for fit in range(times) for index in range(len(costs) + 1)]
    steps = shown(steps, len(steps), "fits") if flag(verbose, "verbose") else steps
    rows, labels = indexable(X, y)
    splits = [_split(len(rows), chance) for _ in range(times)]
    models = [clone(estimator).set_params(epsilon=value, delta=delta) for value in costs] + [_plain(estimator, rows)]
    by_model: list[list[float]] = [[] for _ in models]
    with threadpool_limits(1 if len(splits[0][0]) < MANY else None, user_api="openmp"):
        for fit, index in steps:
            train, test = splits[fit]
            model = clone(models[index]).fit(_taken(rows, train), _taken(labels, train))
            by_model[index].append(_score(model, _taken(rows, test), _taken(labels, test)))
    *scores, plain = map(tuple, by_model)
    shown_delta = None if delta is None else float(delta)
    return LearningCurve(type(estimator).__name__, tuple(costs), tuple(scores), plain, shown_delta)


def _check(estimator: Any) -> None:
    if type(estimator) not in PLAIN:
        names = ", ".join(kind.__name__ for kind in PLAIN)
        raise TypeError(f"estimator must be one of {names}: those have a score and a twin that is not private")
    demand(
        all(getattr(estimator, name) is None for name in COST_PARAMETERS),
        "cost-invalid",
        "a learning curve has costs of its own and charges no ledger",
        "leave epsilon, delta, rho and ledger out of the estimator, and use rows that you own",
    )


def _plain(estimator: Any, rows: Any) -> Any:
    return PLAIN[type(estimator)](estimator, int(np.shape(rows)[1]))


def _split(count: int, chance: float) -> tuple[Array, Array]:
    """Places of rows to learn from and of rows to score, at random; at least one of each."""
    if count < 2:
        raise ValueError(f"at least 2 rows are needed, to learn from some and score on others, not {count}")
    order = np.argsort(noise.below(2**62, count))
    tested = min(max(round(count * chance), 1), count - 1)
    return order[tested:], order[:tested]


def _taken(rows: Any, places: Array) -> Any:
    if rows is None:
        return None
    return rows.iloc[places] if hasattr(rows, "iloc") else np.asarray(rows)[places]


def _score(model: Any, rows: Any, labels: Any) -> float:
    return float(model.score(rows, labels))


def _spread(scores: Iterable[float]) -> str:
    array = np.array(list(scores))
    return f"{array.mean():.3g} ± {array.std():.2g}"
