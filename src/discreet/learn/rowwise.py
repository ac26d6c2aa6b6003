"""Matrix products in which no row has a part in what is computed of another."""

from __future__ import annotations

import numpy as np

from discreet.learn.box import Floats


def product(rows: Floats, weights: Floats) -> Floats:
    """rows @ weights, for weights with a column for each number that is wanted, or for one column alone.

    Theorem  What stands in a row of the product is a function of that row and the weights, to the last bit, whichever
             rows stand beside it and in whatever order.
    Proof    It is made of elementwise products and sums, which IEEE 754 rounds each by itself, feature by feature in
             the order of the features. A product of BLAS is not: it rounds a row by where it stands among others.

    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))
    array([12., 34.])
    """
    total = np.zeros((len(rows), *weights.shape[1:]), dtype=np.float64)
    # weights of another length are an error, as they are in a product
    for column, weight in zip(rows.T, weights, strict=True):
        total += np.multiply.outer(column, weight)
    return total
