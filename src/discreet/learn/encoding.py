"""Declared values of columns as indicators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Pure
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats, is_named, named
from discreet.learn.core import Estimator
from discreet.learn.labels import Array, Labels, category_labels

Tables = tuple[Labels | None, ...]
"""The declared values of each column; None for one that holds numbers."""


class OneHot(TransformerMixin, Estimator):  # type: ignore[misc]
    """Columns of declared values as indicators: 1 for the value that a row has, 0 for all others.

    Nothing is learned from the rows, so it is free. A value that nobody declared has no 1 at all.

    categories  the values of columns by name, {"city": ["Bonn", "Ulm"]}, or a list with the values of each column.
                Those that are not named, or None in the list, are numbers, and stay as they are. On a curator, columns
                of texts and dates have the values that the policy declares, unless they are named here.

    Numbers come first, in their order; then the indicators of each column.

    >>> OneHot({"city": ["Bonn", "Ulm"]}).loss_for(["age", "city"])
    Pure(epsilon=0)
    """

    epsilon = delta = rho = ledger = None

    def __init__(self, categories: Any = None) -> None:
        self.categories = categories

    def _cost(self, width: int | None = None) -> Cost:  # noqa: ARG002
        return Cost(Pure(0))

    def _facts(self, width: int | None, cost: Cost) -> Tables:  # noqa: ARG002
        return column_tables(self.categories, width)

    def _placed(self, names: Sequence[str] | None) -> Self:
        return self._with(categories=placed_categories(self.categories, names)) if is_named(self.categories) else self

    def _declared_columns(self) -> list[str] | None:
        return None

    def loss_for(self, n_features: int | Sequence[str] | None = None) -> Any:
        """Nothing."""
        return Cost(Pure(0)).loss if is_named(self.categories) else super().loss_for(n_features)

    def _dtype(self) -> Any:
        known = getattr(self, "categories_", None)
        tables = tables_of(known) if known is not None else declared_tables(self.categories)
        return dtype_of(tables)

    def _learn(self, exact: Array, labels: Array | None, facts: Tables, exit_: Exit) -> None:  # noqa: ARG002
        self.categories_ = values_of(facts)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Numbers, and indicators after them."""
        rows, tables = self._again(X), tables_of(self.categories_)
        return np.hstack([numbers_of(rows, tables), indicators(rows, tables)])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of numbers, and name_value for each indicator."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = [f"x{index}" for index in range(self.n_features_in_)] if given is None else list(given)
        if len(names) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features, {self.n_features_in_}")
        known = getattr(self, "feature_names_in_", names)
        if list(known) != names:
            raise ValueError("input_features is not equal to feature_names_in_")
        return np.array(names_out(names, tables_of(self.categories_)), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        tags.input_tags.categorical = True
        return tags


def column_tables(given: object, width: int | None) -> Tables:
    """What is declared of each column, by its index."""
    if isinstance(given, Mapping):
        raise ValueError("categories are by name, and the columns have none: pass a frame, or a list with one each")
    if not isinstance(given, list | tuple) or not any(each is None for each in given):
        return category_labels(given, width)
    if width is not None and len(given) != width:
        raise ValueError(f"categories must be given for each of the {width} features, not for {len(given)}")
    return tuple(None if each is None else category_labels([each], 1)[0] for each in given)


def placed_categories(given: Any, names: Sequence[str] | None) -> list[Any]:
    """Categories that are given by name, in the order of the columns; None for the others."""
    table = named(given)
    if names is None:
        raise ValueError("categories are by name, and the columns have none: pass a frame, or a list with one each")
    absent = [name for name in table if name not in names]
    if absent:
        raise ValueError(f"there is no column {absent[0]!r} of these categories: the columns are {', '.join(names)}")
    return [table.get(name) for name in names]


def declared_tables(given: Any) -> Tables:
    """What is declared, wherever the columns are."""
    return (
        tuple(category_labels([each], 1)[0] for each in named(given).values())
        if is_named(given)
        else column_tables(given, None)
    )


def dtype_of(tables: Tables) -> Any:
    """Numbers where all values are numbers that float64 can hold; else as they come."""
    return np.float64 if all(labels is None or labels.small for labels in tables) else object


def tables_of(values: Sequence[Array | None]) -> Tables:
    return tuple(None if each is None else Labels(each) for each in values)


def values_of(tables: Tables) -> list[Array | None]:
    return [None if labels is None else labels.values for labels in tables]


def numbers_of(rows: Array, tables: Tables) -> Floats:
    """The columns that hold numbers."""
    numbers: Floats = rows[:, [labels is None for labels in tables]].astype(np.float64)
    return numbers


def indicators(rows: Array, tables: Tables) -> Floats:
    """Of the other columns, each by the row's own value alone."""
    blocks = [np.zeros((len(rows), 0), dtype=np.bool_)]
    for column, labels in zip(rows.T, tables, strict=True):
        if labels is not None:
            blocks.append(labels.places(column)[:, None] == np.arange(labels.count))
    return np.hstack(blocks).astype(np.float64)


def indicator_box(tables: Tables) -> Box:
    """The bounds of indicators."""
    count = sum(labels.count for labels in tables if labels is not None)
    return Box(np.zeros(count), np.ones(count))


def names_out(names: Sequence[str], tables: Tables) -> list[str]:
    """The names of numbers, and name_value for each indicator."""
    pairs = list(zip(names, tables, strict=True))
    numbers = [name for name, labels in pairs if labels is None]
    return numbers + [f"{name}_{value}" for name, labels in pairs if labels is not None for value in labels.values]
