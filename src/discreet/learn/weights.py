"""Weights of classes, put on what was released: they cost nothing and add no noise.

A class with weight w counts as if each of its rows were there w times. Its probability is then proportional to w times
what it was (Elkan 2001, Theorem 2): so for leaves of a tree and for naïve Bayes, exactly as if weighted rows had been
counted; for other models, the odds they have learned are moved by the ratio of the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from discreet.exact import positive
from discreet.learn.box import Floats
from discreet.learn.labels import Labels

BALANCED: Final = "balanced"


def check_weights(given: Any, classes: Labels) -> None:
    """Explain what are no weights of these classes."""
    if given is None or (isinstance(given, str) and given == BALANCED):
        return
    if not isinstance(given, Mapping):
        raise TypeError(f'class_weight must be "{BALANCED}" or a weight for each class, such as {{"no": 1, "yes": 5}}')
    known = classes.values.tolist()
    other = [label for label in given if label not in known]
    if other:
        raise ValueError(f"class_weight names {other[0]!r}, which is not among the classes")
    for label, weight in given.items():
        positive(weight, f"class_weight[{label!r}]")


def log_weights(given: Any, values: Any, counts: Floats) -> Floats:
    """The logarithm of each class's weight, of which the largest is 1; balanced ones by the noisy numbers of rows."""
    if isinstance(given, str):
        weights = 1 / np.maximum(counts, 1)
    else:
        weights = np.array([float(given.get(label, 1)) for label in values.tolist()])
    logs: Floats = np.log(weights / weights.max())
    return logs
