from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.noise.forking import DRAWS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.parametrize("children", [64, pytest.param(1000, marks=pytest.mark.slow)])
def test_forks_share_no_noise(children: int) -> None:
    """Two draws coincide with probability 1/(4·10¹²), so two coincidences in 4,000 draws have one below 10⁻¹¹."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.noise.forking", str(children)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    values = run.stdout.split()
    assert len(values) == DRAWS * children
    assert len(set(values)) >= len(values) - 1
