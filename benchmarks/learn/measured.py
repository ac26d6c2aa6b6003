"""What was measured: of ours, of models without privacy, of peers.

`DISCREET_SCORES` names a file that every score is added to, as a line; what is there already is not taken again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.learn.models import DELTA, Cost, ours, plain
from benchmarks.learn.rows import FITS, Set
from benchmarks.learn.sets import held
from benchmarks.peers.environments import Failed, Peer, result
from benchmarks.peers.measures import Measures, gathered, of_classes, of_numbers, of_probabilities

DIFFPRIVLIB: Final = Peer(
    "diffprivlib", "diffprivlib_learn", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), environment="diffprivlib"
)
DP_EBM: Final = Peer("DP-EBM", "interpret_learn", ("interpret-core==0.7.8",), environment="interpret")
FEW: Final = min(FITS, 3)
"""Fits of peers, and of models without privacy: the former take long, the latter hardly differ."""
WAIT: Final = 900.0
"""Seconds that a peer may take for a task: more than it needs alone, since scores are taken on busy machines too."""
Scores = dict[str, Any]
"""An array for each measure."""


@cache
def of_ours(model: str, name: str, cost: Cost, wide: bool = False, fits: int = FITS) -> Scores:
    some = set_of(name, wide=wide)
    line = described("discreet", model, name, cost, wide)
    return taken(line, fits, lambda: _each(some, lambda: ours(model, some, cost), fits))


def both(model: str, name: str, cost: Cost) -> tuple[Scores, Scores]:
    """With tight bounds and with wide ones."""
    return of_ours(model, name, cost), of_ours(model, name, cost, wide=True)


@cache
def of_plain(model: str, name: str) -> Scores:
    """Without privacy, and so without bounds."""
    some = set_of(name)
    line = described("scikit-learn", model, name)
    return taken(line, FEW, lambda: _each(some, lambda: plain(model, some), FEW))


@cache
def of_peer(
    peer: Peer, model: str, name: str, epsilons: tuple[float, ...], **more: int
) -> dict[float, Scores] | Failed:
    """For each ε, or why not."""
    delta = DELTA if peer is DP_EBM else None
    lines = {epsilon: described(peer.name, model, name, Cost(epsilon, delta)) for epsilon in epsilons}
    if all(known(line, FEW) for line in lines.values()):
        return {epsilon: _arrays(known(line, FEW)) for epsilon, line in lines.items()}
    some = set_of(name)
    ends = {} if some.ends is None else {"ends": some.ends}
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        path = Path(folder) / "arrays.npz"
        some.save(path, FEW, epsilons=np.array(epsilons), delta=DELTA, times=FEW, **ends, **more)
        found = result(peer, model, path, WAIT)
    if isinstance(found, Failed):
        return found
    return {epsilon: _written(line, found[f"{epsilon:g}"]) for epsilon, line in lines.items()}


@cache
def constant(name: str) -> Scores:
    """Of the best model that says the same of every row."""
    return _arrays(gathered(_constant(labels, other) for _, labels, _, other in set_of(name).each()))


def _constant(labels: Any, other: Any) -> dict[str, float]:
    classes, counts = np.unique(labels, return_counts=True)
    return of_probabilities(np.tile(counts / len(labels), (len(other), 1)), other, classes)


def private_mean(name: str, epsilon: float) -> Any:
    """Errors of predicting the mean with Laplace noise, the number of rows taken for public."""
    some, dice = set_of(name), np.random.default_rng(6)
    assert some.ends is not None
    low, high = some.ends
    found = []
    for _, labels, _, other in some.each():
        mean = np.clip(labels, low, high).mean() + dice.laplace(0, (high - low) / (len(labels) * epsilon))
        found.append(float(np.sqrt(np.mean((other - np.clip(mean, low, high)) ** 2)) / other.std()))
    return np.array(found)


def set_of(name: str, *, wide: bool = False) -> Set:
    found = held(name)
    assert not isinstance(found, Failed), found.reason
    return found.widened() if wide else found


def _each(some: Set, make: Callable[[], Any], fits: int) -> Measures:
    def one(rows: Any, labels: Any, others: Any, theirs: Any) -> dict[str, float]:
        model = make().fit(rows, labels)
        return (
            of_classes(model, others, theirs, some.classes) if some.ends is None else of_numbers(model, others, theirs)
        )

    return gathered(one(*split) for split, _ in zip(some.each(), range(fits), strict=False))


def described(who: str, model: str, name: str, cost: Cost | None = None, wide: bool = False) -> dict[str, Any]:
    """What was measured, as a line of the file says it."""
    return {"who": who, "model": model, "set": name, **({} if cost is None else cost.options), "wide": wide}


def taken(line: dict[str, Any], fits: int, take: Callable[[], Measures]) -> Scores:
    found = known(line, fits)
    return _written(line, take()) if found is None else _arrays(found)


def known(line: dict[str, Any], fits: int) -> Measures | None:
    """The first so many fits of what the file has."""
    found = _file().get(json.dumps(line), {})
    if not found or min(map(len, found.values())) < fits:
        return None
    return {measure: values[:fits] for measure, values in found.items()}


@cache
def _file() -> dict[str, Measures]:
    path = os.environ.get("DISCREET_SCORES")
    if not path or not Path(path).exists():
        return {}
    lines = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    return {
        json.dumps({name: value for name, value in line.items() if name != "measures"}): line["measures"]
        for line in lines
    }


def _written(line: dict[str, Any], found: Measures) -> Scores:
    path = os.environ.get("DISCREET_SCORES")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "measures": found}) + "\n")
    return _arrays(found)


def _arrays(found: Measures | None) -> Scores:
    return {measure: np.array(values) for measure, values in (found or {}).items()}
