"""Names that are imported on first use: all are there, nothing else is, and who needs no arrays waits for none."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import discreet.accounting
import discreet.noise

LATE = pytest.mark.parametrize("module", [discreet.accounting, discreet.noise], ids=lambda module: str(module.__name__))


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
