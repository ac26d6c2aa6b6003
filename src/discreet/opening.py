"""Where a curator meets the tasks that it does not know: the one table of all kinds, and how a policy is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.record import Entry
from discreet.curator.curator import Curator
from discreet.curator.state import open_ledger
from discreet.curator.task import Maker, Recall
from discreet.errors import Refused
from discreet.policy import read
from discreet.policy.document import absolute

if TYPE_CHECKING:
    from discreet.engines.copy import Progress


def _model(stored: bytes, entry: Entry) -> Any:
    """A fitted model. Its package is loaded now and not before: it needs scikit-learn, and queries need it not."""
    try:
        from discreet.learn.fit import recalled
    except ModuleNotFoundError:
        raise Refused("answer-gone", "this charge is of a fitted model", "install discreet[learn]") from None
    return recalled(stored, entry)


def _scores(stored: bytes, entry: Entry) -> Any:
    """Scores of a model. Their package is loaded now and not before."""
    try:
        from discreet.learn.score import recalled
    except ModuleNotFoundError:
        raise Refused("answer-gone", "this charge is of scores of a model", "install discreet[learn]") from None
    return recalled(stored, entry)


def _published(stored: bytes, entry: Entry) -> Any:
    """What was published. Its package is loaded now and not before: queries need it not."""
    from discreet.release.publish import recalled

    return recalled(stored, entry)


def _permit(stored: bytes, entry: Entry) -> Any:
    """What a training outside was permitted."""
    from discreet.curator.training import recalled

    return recalled(stored, entry)


def _batch(queries: Any, **options: Any) -> Any:
    """Several queries as one task: their strategies live in a package above the curator."""
    from discreet.release.batch import Batch

    return Batch(queries, **options)


MAKERS: Final[Mapping[str, Maker]] = {"batch": _batch}
"""By name: tasks that a curator offers and does not know."""
RECALLS: Final[Mapping[str, Recall]] = {"fit": _model, "score": _scores, "release": _published, "training": _permit}
"""By the name that a task writes into its call: how what was kept beside its charge is shown again. Tasks of `MAKERS`
are made again, from their record."""


def open(  # noqa: A001  (discreet.open is what people write)
    policy: str | PathLike[str],
    *,
    state: str | PathLike[str] | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Curator:
    """The curator of a policy file. `time_limit`: seconds after which a query or fit is given up; it stays charged."""
    parsed = read(Path(policy))
    if state is not None:
        parsed = replace(parsed, state=absolute(Path(state)))
    return Curator(
        parsed, open_ledger(parsed), time_limit=time_limit, progress=progress, recalls=RECALLS, makers=MAKERS
    )
