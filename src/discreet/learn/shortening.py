"""Rows of bounded length as whole numbers, fast: features are rows of an array here, and rows are its columns."""

from __future__ import annotations

import numpy as np

from discreet.learn.box import Floats


def shortened(columns: Floats, steps: float | Floats, limit: int, norm: int) -> Floats:
    """Every column times `steps`, or less where its norm would be above `limit`, cut towards zero to whole numbers.

    Theorem  A column ends with whole numbers aᵢ and Σ|aᵢ| ≤ limit, or Σaᵢ² ≤ limit² where the norm is 2; it depends on
             itself alone. NaN ends as zeros.
    Assumes  A limit below 2²⁶, and fewer than 2¹⁶ numbers in a column.
    Proof    With u = 2⁻⁵³ and D numbers, float64 finds their norm s within a factor of (1 + u)^(D+2), the factor
             f = min(steps, (limit − 1)/s) and each product |xᵢ·f| within (1 + u)² more, and truncation makes none of
             them larger. So the norm ends below (limit − 1)·(1 + u)^(D+5) < limit, because
             limit·(D + 5)·2u < 2²⁶·2¹⁷·2⁻⁵² < 1. All operations are elementwise, feature by feature. What is no number
             is not within the limit, and nothing but zero is left of it.
    """
    total = np.zeros(columns.shape[1])
    for column in columns:
        total += np.abs(column) if norm == 1 else column * column
    size = total if norm == 1 else np.sqrt(total)
    factor = np.minimum(steps, (limit - 1) / np.maximum(size, np.finfo(np.float64).tiny))
    whole = np.trunc(columns * factor)
    return np.where(np.abs(whole) <= limit, whole, 0.0)
