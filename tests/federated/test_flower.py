"""A real simulation of Flower, by the interpreter that DISCREET_FLOWER names; it has flwr and discreet."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable if importlib.util.find_spec("flwr") else os.environ.get("DISCREET_FLOWER", "")


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["central", "distributed", "local"])
@pytest.mark.skipif(not PYTHON, reason="flwr is not installed: name an interpreter that has it in DISCREET_FLOWER")
def test_a_simulation_of_flower_trains_with_noise_in_each_place(noise: str) -> None:
    command = [PYTHON, "-m", "tests.federated.flower_simulation", noise]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["begun"] == 3
    assert found["right"] > 0.9


@pytest.mark.skipif(importlib.util.find_spec("flwr") is not None, reason="flwr is installed here")
def test_without_flower_it_says_what_to_install() -> None:
    with pytest.raises(ImportError, match="pip install flwr"):
        import discreet.federated.flower  # noqa: F401
