"""Noticing that somebody else's code fits an estimator in a way that leaks.

An estimator answers for its own fit. Code around it may look at the same rows without noise: cross-validation and
searches compare exact scores, calibration and selection learn from exact predictions, and a step before it may be
fitted without privacy. Each fit is charged where there is a ledger; the rest is charged nowhere.

It can be noticed for scikit-learn, by who is calling. Other code that does the same is not noticed.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any, Final

from discreet.answers.models import Learner

AROUND: Final = (
    "sklearn.calibration",
    "sklearn.ensemble",
    "sklearn.feature_selection",
    "sklearn.inspection",
    "sklearn.model_selection",
    "sklearn.multiclass",
    "sklearn.multioutput",
    "sklearn.semi_supervised",
)
"""Modules that fit other estimators, more than once or beside exact numbers."""
IN_A_ROW: Final = {"sklearn.pipeline": "steps", "sklearn.compose": "transformers"}
"""Modules that fit steps one by one, and where these are: no leak if all of them are ours, each with its own cost."""
HARMLESS: Final = ("passthrough", "drop", None)


class PrivacyLeakWarning(UserWarning):
    """What was fitted is private, and what somebody else's code does around it is not."""


def warn_of_leaks(model: object) -> None:
    """Warn if scikit-learn is calling in a way that leaks."""
    leak = _leak(sys._getframe(1))
    if leak is not None:
        warnings.warn(f"{leak} (around {type(model).__name__})", PrivacyLeakWarning, stacklevel=4)


def _leak(frame: FrameType | None) -> str | None:
    """What the outermost caller that leaks does, in words."""
    words = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(AROUND):
            words = (
                f"{_name(frame)} looks at private rows without noise: use PrivateSearchCV to choose, "
                "private_score to score, and public rows for the rest"
            )
        for prefix, where in IN_A_ROW.items():
            other = _public(frame, where) if module.startswith(prefix) else None
            if other is not None:
                words = f"{other} is fitted on private rows without noise: use discreet.learn.make_pipeline"
        frame = frame.f_back
    return words


def _name(frame: FrameType) -> str:
    holder = frame.f_locals.get("self")
    return frame.f_code.co_name if holder is None else type(holder).__name__


def _public(frame: FrameType, where: str) -> str | None:
    """The first step of somebody else's that is fitted beside ours, by its class."""
    steps: Any = getattr(frame.f_locals.get("self"), where, ())
    fitted = [step[1] for step in steps if len(step) > 1]
    other = [step for step in fitted if not isinstance(step, Learner) and not _is_harmless(step)]
    return type(other[0]).__name__ if other else None


def _is_harmless(step: Any) -> bool:
    """What learns nothing from rows; scikit-learn says so of some."""
    if step in HARMLESS:
        return True
    tags = getattr(step, "__sklearn_tags__", None)
    return tags is not None and not tags().requires_fit
