"""Fitting on the tables of a curator: rows come through its ownership and bounding, and the ledger is charged first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

from discreet.accounting import Concentrated, Pure, group
from discreet.composed import Sql, joined, sql
from discreet.curator.draw import Engine
from discreet.curator.public import PublicTables
from discreet.curator.rehearsal import runnable
from discreet.curator.timing import padded
from discreet.engines.printed import confirmed, printed
from discreet.errors import QueryFailed, Refused
from discreet.exact import whole
from discreet.learn.box import Floats
from discreet.learn.core import COST_PARAMETERS, Estimator
from discreet.learn.cost import Loss
from discreet.learn.labels import Array
from discreet.ledger import Ledger
from discreet.policy import Kind, Policy, fingerprint
from discreet.sql.cost import Cost
from discreet.sql.nodes import Bound, Field, Node
from discreet.sql.plan import private_rows

NUMERIC: Final = (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Tables:
    """What a curator lends to a fit."""

    policy: Policy
    ledger: Ledger
    engine: Callable[[int], Engine]
    """Over the rows of a data version."""
    seconds: float | None
    pad: float = 0.0
    """Seconds of padding: see `padded`."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of the rows: features, and the one to be predicted."""

    features: tuple[Field, ...]
    target: Field | None

    @classmethod
    def of(cls, fields: Sequence[Field], target: object) -> _Columns:
        if target is None:
            return cls(tuple(fields), None)
        named = [field for field in fields if isinstance(target, str) and field.name.lower() == target.lower()]
        if len(named) != 1:
            known = ", ".join(field.name for field in fields)
            raise Refused("unknown-column", "the target is not one of the columns", f"columns: {known}")
        return cls(tuple(field for field in fields if field is not named[0]), named[0])

    @property
    def read(self) -> tuple[Field, ...]:
        return self.features if self.target is None else (*self.features, self.target)


def fit(
    tables: Tables,
    estimator: Any,
    sql: Any,
    *,
    epsilon: Any = None,
    rho: Any = None,
    target: str | None = None,
    max_rows: int | None = None,
    analyst: str | None = None,
) -> Any:
    """Fit an estimator on the rows of a SELECT, and return it.

    Theorem  The fit costs group(loss, k), where a unit has at most k rows: kε, or k²ρ.
    Proof    A unit adds or removes its own rows alone, k of them at most (the theorem of each node of the plan), and
             the estimator's loss is for one row. What is dropped (NULL) is dropped row by row.
    """
    version = tables.ledger.data_version
    public = PublicTables(lambda: tables.engine(version))
    node = _bounded(private_rows(tables.policy, sql, public=public), max_rows)
    columns = _Columns.of(node.fields, target)
    model = _declared(tables.policy, estimator, columns, epsilon=epsilon, rho=rho)
    loss = _loss(tables.policy, model, columns, node)
    query = _lowered(node, columns)
    confirmed(query)
    runnable(tables.policy, fingerprint(tables.policy), [query], public.schemas)
    engine = tables.engine(version)
    why = f"{type(model).__name__}.fit: {sql}"
    with tables.ledger.charge(loss, why=why, analyst=analyst, data=version) as bits:
        names = [field.name for field in columns.features]
        with suppress(Exception), padded(tables.pad):  # what goes wrong once data was touched may be private
            # what is free learns nothing from rows, so nobody can read them for nothing
            rows = [] if loss.is_zero else engine.rows(printed(query), tables.seconds)
            exact, labels = _rows(rows, columns, model)
            model.learn_from(exact, labels, names, bits)
            return _given(estimator, model, loss)
        raise QueryFailed


def _bounded(node: Node, max_rows: object) -> Node:
    """The rows, at most `max_rows` of each unit: one, unless the caller says more."""
    try:
        most = 1 if max_rows is None else whole(max_rows, "max_rows")
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "give a number such as 1") from None
    if node.owner.column is not None and (node.rows is None or node.rows > most):
        return Bound(node, most)
    return node


def _loss(policy: Policy, model: Estimator, columns: _Columns, node: Node) -> Loss:
    """What all rows of one unit cost together: that is what the policy's limit on costs is about."""
    try:
        loss = _of_unit(model.loss_for(len(columns.features)), node.rows or 1, policy.unit)
    except (TypeError, ValueError) as wrong:
        raise Refused("fit-invalid", str(wrong), "change the estimator's arguments") from None
    if not loss.is_zero:
        Cost.read(policy, **({"epsilon": loss.epsilon} if isinstance(loss, Pure) else {"rho": loss.rho}))
    return loss


def _of_unit(loss: Loss, rows: int, unit: str) -> Loss:
    """The loss of a row, as that of a unit with so many rows."""
    found = group(loss, rows, unit=unit)
    assert isinstance(found, Pure | Concentrated)
    return found


def _declared(policy: Policy, estimator: Any, columns: _Columns, *, epsilon: Any, rho: Any) -> Estimator:
    """A copy of the estimator with the cost and with what the policy says about its columns."""
    if not isinstance(estimator, Estimator):
        raise Refused(
            "not-private",
            "only estimators of discreet.learn learn from private rows",
            "use one of them; preprocess in SQL, or with what is fitted on public data",
        )
    model: Estimator = clone(estimator)
    held = model.get_params(deep=False)
    if any(held.get(name) is not None for name in COST_PARAMETERS):
        raise Refused("cost-invalid", "the estimator has a cost or a ledger of its own", "give the cost to fit alone")
    _check_target(model, columns)
    wanted = {}
    if "epsilon" in held:
        cost = Cost.read(policy, epsilon=epsilon, rho=rho)
        wanted = {"epsilon": cost.epsilon, "rho": cost.rho}
    missing = {name: known(columns) for name, known in FACTS.items() if name in held and held[name] is None}
    model.set_params(**wanted, **missing)
    return model


def _check_target(model: Estimator, columns: _Columns) -> None:
    supervised = bool(get_tags(model).target_tags.required)
    if supervised and columns.target is None:
        raise Refused("target-missing", "the estimator predicts a column", 'name it: target="…"')
    if columns.target is not None and not supervised:
        raise Refused("target-unused", "the estimator predicts nothing", "leave target out")
    if not columns.features:
        raise Refused("not-rows", "there are no features", "select the columns to learn from")
    numbers = columns.read if is_regressor(model) else columns.features
    other = [field.name for field in numbers if field.expr.domain.kind not in NUMERIC]
    if other and not _categorical(model):
        raise Refused(
            "not-a-number", f"the estimator takes numbers, and {other[0]} holds none", "leave it out, or compute one"
        )


# what the policy declares


def _bounds(fields: Sequence[Field]) -> tuple[list[Fraction], list[Fraction]]:
    pairs = [_interval(field) for field in fields]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _interval(field: Field) -> tuple[Fraction, Fraction]:
    domain = field.expr.domain
    found = (Fraction(0), Fraction(1)) if domain.kind is Kind.BOOLEAN else domain.bounded
    if found is None or found[0] >= found[1]:
        raise Refused(
            "undeclared-bounds",
            f"{field.name} has no bounds that leave room for a number",
            f"add min and max to the policy, write CLAMP({field.name}, 0, 100), or pass bounds to the estimator",
        )
    return found


def _values(field: Field) -> list[Any]:
    domain = field.expr.domain
    found = [False, True] if domain.kind is Kind.BOOLEAN else domain.values
    if not found:
        raise Refused(
            "undeclared-values",
            f"the values of {field.name} are not declared",
            "list them in the policy, or pass classes or categories to the estimator",
        )
    return list(found)


FACTS: Final[dict[str, Callable[[_Columns], Any]]] = {
    "bounds": lambda columns: _bounds(columns.features),
    "categories": lambda columns: [_values(field) for field in columns.features],
    "classes": lambda columns: _values(columns.target) if columns.target is not None else None,
    "y_bounds": lambda columns: None if columns.target is None else _interval(columns.target),
}
"""Public facts that an estimator may leave to the policy, by the name of its argument."""


# rows


def _lowered(node: Node, columns: _Columns) -> Sql:
    return sql("SELECT {} FROM ({})", joined(", ", (field.expr.sql for field in columns.read)), node.sql())


def _rows(rows: Sequence[tuple[Any, ...]], columns: _Columns, model: Estimator) -> tuple[Array, Array | None]:
    """Features and labels, column by column; rows with NULL, NaN or infinity are left out."""
    listed = list(zip(*rows, strict=True)) if rows else [()] * len(columns.read)
    numeric = [field.expr.domain.kind in NUMERIC for field in columns.read]
    found = [_numbers(values) if number else _objects(values) for values, number in zip(listed, numeric, strict=True)]
    kept = np.ones(len(rows), dtype=np.bool_)
    for values in found:
        kept &= _there(values)
    labels = None if columns.target is None else found[-1][kept]
    if labels is not None and "classes" in model.get_params(deep=False):  # as they are, for the same reason
        labels = np.asarray(_objects(listed[-1])[kept].tolist(), dtype=None if numeric[-1] else object)
    width = len(columns.features)
    if _categorical(model):  # values as they are: numbers beyond 2⁵³ may be categories
        found = [_objects(values) for values in listed]
    exact = np.empty((int(kept.sum()), width), dtype=object if _categorical(model) else np.float64)
    for place, values in enumerate(found[:width]):
        exact[:, place] = values[kept]
    return exact, labels


def _categorical(model: Estimator) -> bool:
    return "categories" in model.get_params(deep=False)


def _numbers(values: Sequence[Any]) -> Floats:
    """NULL becomes NaN."""
    return np.array(values, dtype=np.float64)


def _objects(values: Sequence[Any]) -> Array:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _there(values: Array) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is not None for value in values.tolist()], dtype=np.bool_)
    return np.isfinite(values)


def _given(estimator: Any, model: Estimator, loss: Loss) -> Any:
    """The caller's estimator with what was learned; its arguments stay as they are."""
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    for name, value in {**learned, "loss_": loss}.items():
        setattr(estimator, name, value)
    return estimator
