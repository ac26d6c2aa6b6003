"""`verbose=True` shows how far a long fit is, on standard error, and changes nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet.learn import LogisticRegression, Pipeline, StandardScaler, core
from tests.learn.cases import BOUNDS, FITS, data
from tests.learn.helpers import Till, repeating


def _steps(**more: Any) -> Pipeline:
    """A pipeline is as long as its steps: that of the cases has short ones."""
    stages = [("scaler", StandardScaler()), ("last", LogisticRegression())]
    return Pipeline(stages, bounds=BOUNDS, classes=["a", "b", "c"], **more)


SHORT = ("grid", "gaussian", "categorical", "scaler", "pca", "linear", "rates", "pipeline")
LONG: dict[str, tuple[Any, str]] = {
    name: (make, kind) for name, make, kind in FITS if name.endswith("-pure") and name.split("-")[0] not in SHORT
}
LONG["pipeline of steps"] = partial(_steps, epsilon=1.0), "numbers"


@pytest.mark.parametrize(("make", "kind"), LONG.values(), ids=LONG)
def test_long_fits_are_watched_step_by_step(make: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, str]] = []

    def watch(steps: Any, total: int, what: str) -> Any:
        taken = 0
        for step in steps:
            taken += 1
            yield step
        seen.append((taken, total, what))

    monkeypatch.setattr(core, "shown", watch)
    quiet, told = (make(ledger=Till(repeating(3)), verbose=loud).fit(*data(kind, 400, 1)) for loud in (False, True))
    assert seen
    assert all(count == total for count, total, _ in seen)
    for name, value in vars(quiet).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(told, name), value)


def test_the_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    make, kind = LONG["lloyd-pure"]
    make(verbose=True).fit(*data(kind, 40, 1))
    printed = capsys.readouterr()
    assert "rounds" in printed.err
    assert not printed.out


@pytest.mark.parametrize("wrong", ["yes", 2, None])
def test_verbose_is_a_flag_and_checked_before_the_charge(wrong: Any) -> None:
    till = Till(repeating(3))
    make, kind = LONG["lloyd-pure"]
    with pytest.raises(TypeError, match="verbose"):
        make(verbose=wrong, ledger=till).fit(*data(kind, 10, 1))
    assert not till.events
