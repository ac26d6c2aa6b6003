"""How long `import discreet` takes, beside numpy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import Figure, at_most, best_of


def figures() -> Iterator[Figure]:
    bare = _seconds("pass")
    limit = 0.15
    numpy = _seconds("import numpy") - bare
    for statement in ("import discreet", "from discreet.mechanisms import Laplace"):
        took = _seconds(statement) - bare
        if statement == "import discreet":
            yield at_most(statement, f"{took:.3f} s", "limit 0.15 s", took / limit, 1)
        else:
            yield at_most(statement, f"{took:.3f} s", f"numpy alone {numpy:.3f} s", took / numpy, 2)


def _seconds(statement: str) -> float:
    return best_of(7, lambda: subprocess.run([sys.executable, "-c", statement], check=True))
