"""What an audited peer's program does: draw outputs of its primitives as it was asked, and leave them in a file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.task import perform

Sampler = Callable[[Any, int], Any]
"""So many outputs on this data."""
Primitive = Callable[[float, float], Sampler]
"""Built by the library's own rules to be (ε, δ)-DP."""

SIDES = ("data", "neighbour")


def each(once: Callable[[Any], Any], *, width: int = 1) -> Sampler:
    """A sampler of a primitive that answers once; an error is an output too, and counts as no number."""
    nothing = math.nan if width == 1 else [math.nan] * width

    def attempt(data: Any) -> Any:
        try:
            return once(data)
        except Exception:
            return nothing

    return lambda data, n: [attempt(data) for _ in range(n)]


def serve(primitives: Mapping[str, Primitive], distribution: str) -> None:
    perform({"draw": lambda path: draw(primitives, distribution, path)})


def draw(primitives: Mapping[str, Primitive], distribution: str, path: Path) -> dict[str, object]:
    """The version, and for each ask how long it took and why it failed, if it did; outputs go beside the asks."""
    outputs: dict[str, Any] = {}
    told = []
    for place, ask in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        start, failed = time.perf_counter(), ""
        try:
            drawn = _drawn(primitives[ask["primitive"]](ask["epsilon"], ask["delta"]), ask)
            outputs |= {f"{place}-{side}": found for side, found in drawn.items()}
        except Exception as error:
            failed = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        told.append({"seconds": time.perf_counter() - start, "failed": failed})
    np.savez(path.with_suffix(".npz"), **outputs)
    return {"version": version(distribution), "asks": told}


def _drawn(sampler: Sampler, ask: Mapping[str, Any]) -> dict[str, Any]:
    drawn = {side: np.asarray(sampler(ask[side], ask["samples"]), dtype=np.float64) for side in SIDES}
    if all(np.isnan(found).all() for found in drawn.values()):
        raise ValueError("no number on either side")
    return drawn
