"""Names that are imported on first use: all are there, nothing else is, and who needs no arrays waits for none."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import discreet.accounting
import discreet.mechanisms
import discreet.noise
from discreet.late import late, np

PACKAGES = [discreet.accounting, discreet.mechanisms, discreet.noise]
LATE = pytest.mark.parametrize("module", PACKAGES, ids=lambda module: str(module.__name__))


@LATE
def test_every_name_is_there_and_no_other(module: ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is getattr(module, name) for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nonsense'"):
        _ = module.nonsense


@LATE
def test_every_name_is_that_of_its_home(module: ModuleType) -> None:
    for name, home in module._HOMES.items():
        assert getattr(module, name) is getattr(sys.modules[f"{module.__name__}.{home}"], name)


def test_a_ledger_needs_no_arrays() -> None:
    code = (
        "import sys, discreet.ledger, discreet.policy; print(sorted({'numpy', 'duckdb', 'scipy'} & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"


def test_a_package_that_comes_late_has_the_same_names_and_no_others() -> None:
    import numpy

    assert np.int64 is numpy.int64
    assert vars(np)["int64"] is numpy.int64  # what was looked up stays
    with pytest.raises(AttributeError, match="nonsense"):
        _ = np.nonsense  # type: ignore[attr-defined]  # that it is not there is the point


def test_a_package_that_is_not_there_is_missed_where_it_is_used() -> None:
    def imported() -> ModuleType:
        raise ModuleNotFoundError("no such package")

    package = late(imported)
    with pytest.raises(ModuleNotFoundError, match="no such package"):
        _ = package.name
