"""δ never hurts: on arrays without a ledger, (ε, δ) has no more noise than ε alone, and models are no worse for it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

from discreet import Refused
from discreet.exit import Cost
from discreet.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    CategoricalNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Estimator,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    OneHot,
    Pipeline,
    PoissonCount,
    PrivateSearchCV,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
    private_score,
)

BOUNDS: Final[dict[str, Any]] = {"bounds": (-4, 4)}
CLASSES: Final[dict[str, Any]] = {**BOUNDS, "classes": [0, 1, 2]}
NUMBERS: Final[dict[str, Any]] = {**BOUNDS, "y_bounds": (-6, 6)}
MODELS: Final[dict[str, Any]] = {
    "bayes": GaussianNB(**CLASSES),
    "categories": CategoricalNB(categories=4, classes=[0, 1, 2]),
    "logistic": LogisticRegression(**CLASSES),
    "logistic of two": LogisticRegression(**BOUNDS, classes=[0, 1]),
    "one step": LogisticRegression(**BOUNDS, classes=[0, 1], max_iter=1),
    "linear": LinearRegression(**NUMBERS),
    "tree": DecisionTreeClassifier(**CLASSES),
    "forest": RandomForestClassifier(**CLASSES),
    "given forest": RandomForestClassifier(20, **CLASSES),
    "tree of numbers": DecisionTreeRegressor(**NUMBERS),
    "forest of numbers": RandomForestRegressor(**NUMBERS),
    "additive": AdditiveClassifier(**CLASSES),
    "additive of numbers": AdditiveRegressor(**NUMBERS),
    "rates": PoissonCount(categories=4, y_bounds=(0, 6)),
    "k-means": KMeans(3, **BOUNDS, n_init=1),
    "components": PCA(2, **BOUNDS),
    "scaler": StandardScaler(**BOUNDS),
    "pipeline": Pipeline([("scaler", StandardScaler()), ("last", GaussianNB())], **CLASSES),
    "search": PrivateSearchCV(GaussianNB(**CLASSES), {"var_smoothing": [1e-4, 1e-2, 1e-1]}),
}
every = pytest.mark.parametrize("name", MODELS)


def at(name: str, **cost: Any) -> Any:
    """The model at a cost, and at no other."""
    return MODELS[name].set_params(**{"epsilon": None, "delta": None, "rho": None, **cost})


def test_every_estimator_is_here() -> None:
    import discreet.learn

    public = {getattr(discreet.learn, name) for name in discreet.learn.__all__}
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Estimator)}
    assert {type(model) for model in MODELS.values()} == kinds - {Estimator, MinMaxScaler, OneHot}


@every
def test_the_noise_is_at_most_that_of_epsilon_alone(name: str) -> None:
    widths = (3,) if name == "search" else (1, 3, 8, 40)  # it makes all candidates each time
    for epsilon, delta, width in product((0.01, 0.3, 1.0, 8.0), (1e-12, 1e-5, 1e-2), widths):
        if (name, width) in {("components", 1), ("rates", 40)}:  # there is nothing to learn, or far too much
            continue
        model = at(name, epsilon=epsilon, delta=delta)
        chosen, pure = model._cost(width), Cost.alone(epsilon=epsilon)
        assert model._deviation(width, chosen) <= model._deviation(width, pure)
        assert chosen in (pure, Cost.alone(epsilon=epsilon, delta=delta))


@every
def test_what_epsilon_pays_for_delta_does_not_forbid(name: str) -> None:
    """The ρ of a small ε and a smaller δ may be too small for any noise: then ε is enough."""
    epsilon = next(cost for cost in (1e-4, 1e-3, 1e-2, 1e-1, 1) if not _is_refused(at(name, epsilon=cost)))
    for delta in 1e-6, 1e-30, 1e-300:
        assert not _is_refused(at(name, epsilon=epsilon, delta=delta))


def _is_refused(model: Any) -> bool:
    try:
        model.loss_for(3)
    except (ValueError, Refused):
        return True
    return False


def test_wrong_deltas_are_refused_all_the_same() -> None:
    for delta in 0, 1, -1e-9, float("nan"), "1":
        with pytest.raises((ValueError, TypeError)):
            at("bayes", epsilon=1e-4, delta=delta).loss_for(3)
        with pytest.raises((ValueError, TypeError)):
            at("k-means", epsilon=1, delta=delta).fit(np.zeros((3, 2)))


def test_scores_take_a_delta_as_well() -> None:
    rows, labels, _ = made(300, 3)
    model = at("bayes", epsilon=1).fit(rows, labels)
    for epsilon, delta in (1e-4, 1e-30), (1, 1e-5), (1e-4, 1e-6):
        loss = private_score(model, rows, labels, epsilon=epsilon, delta=delta).loss
        assert loss == private_score(model, rows, labels, epsilon=epsilon).loss


# how good models are


def made(count: int, width: int) -> tuple[Any, Any, Any]:
    """Three groups, and a number."""
    dice = np.random.default_rng(5)
    labels, centres = dice.integers(0, 3, count), dice.normal(0, 1, (3, width))
    rows = np.clip(centres[labels] + dice.normal(0, 0.7, (count, width)), -4, 4)
    return rows, labels, rows[:, 0] + 0.5 * rows[:, 1] + dice.normal(0, 0.3, count)


def _groups(model: Any, rows: Any) -> float:
    distances = ((rows[:, None] - model.fit(rows).cluster_centers_) ** 2).sum(axis=2)
    return -float(distances.min(axis=1).mean())


def _explained(model: Any, rows: Any) -> float:
    centred = rows - rows.mean(axis=0)
    return float(((centred @ model.fit(rows).components_.T) ** 2).sum() / (centred**2).sum())


def _near(model: Any, rows: Any) -> float:
    model.fit(rows)
    return -float(np.abs(model.mean_ - rows.mean(axis=0)).sum() + np.abs(model.scale_ - rows.std(axis=0)).sum())


WITHOUT: Final[dict[str, Callable[[Any, Any], float]]] = {"k-means": _groups, "components": _explained, "scaler": _near}


def quality(name: str, model: Any, rows: Any, labels: Any, numbers: Any) -> float:
    """More is better."""
    if name in WITHOUT:
        return WITHOUT[name](model, rows)
    if name in ("categories", "rates"):
        rows = np.digitize(rows[:, :4], [-1, 0, 1])
    if getattr(model, "y_bounds", None) is not None:
        labels = np.clip(np.rint(numbers + 2), 0, 6) if name == "rates" else numbers
    elif name in ("logistic of two", "one step"):
        labels = np.minimum(labels, 1)
    return float(model.fit(rows, labels).score(rows, labels))


SETTINGS: Final = [
    pytest.param(1000, 10, 0.5),
    pytest.param(2000, 3, 1.0, marks=pytest.mark.slow),
    pytest.param(2000, 10, 4.0, marks=pytest.mark.slow),
]


@every
@pytest.mark.parametrize(("count", "width", "epsilon"), SETTINGS)
def test_models_are_not_worse_for_a_delta(name: str, count: int, width: int, epsilon: float) -> None:
    """Six fits each, and a hundredth is nothing anybody notices. A difference of means beyond seven of its standard
    errors has a probability below 5·10⁻⁴ (Student's t with five degrees of freedom, whichever spreads more), so that
    three series in a row show it once in 10⁹; where δ hurts, all of them do."""
    known = made(count, width)

    def is_worse() -> bool:
        pure, both = (
            np.array([quality(name, at(name, epsilon=epsilon, delta=delta), *known) for _ in range(6)])
            for delta in (None, 1e-5)
        )
        error = np.sqrt((pure.var(ddof=1) + both.var(ddof=1)) / 6)
        return bool(both.mean() < pure.mean() - 7 * error - 0.01)

    assert not all(is_worse() for _ in range(3))
