"""Our grouped query in a process of its own, so that its peak memory can be told."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import discreet
from benchmarks.figures import best_of
from benchmarks.query_setting import EPSILON, GROUPED

REPEATED = 5


def grouped(policy: Path) -> tuple[float, float]:
    """Seconds of the grouped query, and the peak of the process in bytes, once the private copy is there."""
    _process(policy, 0)
    return _process(policy, REPEATED)


def _process(policy: Path, times: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.query_ours", str(policy), str(times)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = json.loads(shown.stdout)
    return seconds, peak


def _ask(policy: str, times: int) -> tuple[float, int]:
    with discreet.open(policy) as curator:
        curator.query(GROUPED, epsilon=EPSILON, fresh=True)
        seconds = best_of(times, lambda: curator.query(GROUPED, epsilon=EPSILON, fresh=True)) if times else 0.0
    return seconds, _peak() * 1024


def _peak() -> int:
    """The peak in kilobytes. Where Linux tells it, of this program alone: `getrusage` counts what forked it as well."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(_ask(sys.argv[1], int(sys.argv[2]))))
