"""How good private models are, and how long they take, beside scikit-learn's, diffprivlib's and DP-EBM's at the same ε.

`DISCREET_FITS` says how many fits each mean is over (20); ± is the standard deviation of one fit. `DISCREET_SETS` names
the sets to use, with semicolons between them, and `DISCREET_SCORES` a file to write all scores to. `learn` is all of
`learn_classes`, `learn_numbers`, `learn_clusters`, `learn_searches` and `learn_times`.

Which sets served to choose constants and which are only reported is said in `sets`; peers stand beside ours on the
latter. Bounds come from descriptions and common sense, never from the rows; all libraries get the same ones. Every fit
has a split of its own into three quarters to learn from and one to predict; of sets with more than 50,000 rows so many
are used. Load of the machine changes times alone.

diffprivlib takes ε alone: it has no use for δ. It gets the best of a grid of its options, chosen by rows that are then
reported and for no cost; ours and DP-EBM run with their defaults. Its logistic regression protects against replacing a
row by another, ours against adding or removing one. It takes the number of rows for public, counts how much a row bends
the loss by its norm and not by the square of it, leaves the intercept without the penalty that its proof needs, and
stops near the minimum: by our reading its ε is larger than it says (not audited). DP-EBM takes δ too, the number of
rows for public, and knows two classes.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.learn import classes, clusters, numbers, searches, times
from benchmarks.learn.bundled import described

PARTS = {
    "learn_classes": classes,
    "learn_numbers": numbers,
    "learn_clusters": clusters,
    "learn_searches": searches,
    "learn_times": times,
}

__all__ = ["PARTS", "described", "figures"]


def figures() -> Iterator[Figure]:
    for part in PARTS.values():
        yield from part.figures()
