"""How good private models are, and how long they take, beside scikit-learn's and diffprivlib's at the same ε.

`DISCREET_FITS` says how many fits each mean is over (20); ± is the standard deviation of one fit. Bounds are those that
published descriptions print, never looked up in the rows; both libraries get the same ones. Every fit has a split of
its own into three quarters to learn from and one to predict.

diffprivlib takes ε alone: it has no use for δ. Where it is *tuned*, it gets the best of a grid of its options, chosen
by the very rows that are then reported and for no cost; ours run with their defaults. Its logistic regression
protects against replacing a row by another, ours against adding or removing one. It takes the number of rows for
public, counts how much a row bends the loss by its norm and not by the square of it, leaves the intercept without the
penalty that its proof needs, and stops near the minimum: by our reading its ε is larger than it says (not audited).

Of Adult, constants were chosen on the last 16,281 rows (UCI's test file), and what is reported is about the first
32,561. Figures of those were looked at three times in between; once they led to more work on the others. How variances
of naïve Bayes are steadied was chosen on the small sets themselves, on other splits: their figures flatter it a little.
So do those of logistic and linear regression on the small sets, where their constants were checked, among sets that
were made up for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.learn.bundled import described
from benchmarks.learn.classes import figures as of_classes
from benchmarks.learn.clusters import figures as of_clusters
from benchmarks.learn.numbers import figures as of_numbers
from benchmarks.learn.times import figures as of_times

__all__ = ["described", "figures"]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        path = Path(name) / "arrays.npz"
        yield from of_clusters(path)
        yield from of_classes(path)
        yield from of_numbers(path)
    yield from of_times()
