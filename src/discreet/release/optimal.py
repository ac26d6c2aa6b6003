"""Finding strategies: weights of trees and wavelets, and the best matrix for Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

import numpy as np

from discreet.engines.stopping import demand_running
from discreet.mechanisms.arrays import Integers
from discreet.release.queries import Floats, Queries
from discreet.release.strategies import Haar, Matrix, Strategy, Tree, energies, haar_eigenvalues, tree_eigenvalues

WIDTHS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""Of trees that are tried."""
MOST_OPTIMAL: Final = 1024
"""Cells up to which the best matrix is computed."""
MOST_STEPS: Final = 40
GAP: Final = 0.005
"""How far from the best a search may end."""
Spectrum = Callable[[Floats], Floats]


def listed(queries: Queries, scale: int, *, pure: bool) -> Iterator[Strategy]:
    """Every structured strategy that is tried, with weights as whole numbers up to a scale."""
    yield Tree(queries.cells, max(queries.cells, 2), (0, 1))
    for width in WIDTHS:
        demand_running()
        if width < queries.cells:
            depth = _depth(queries.cells, width)
            needed = energies(queries, width, depth)
            for weights in _weights(needed, partial(tree_eigenvalues, width=width), pure=pure):
                yield Tree(queries.cells, width, _whole(weights, scale, least=0))
    depth = max(_depth(queries.cells, 2), 1)
    for weights in _weights(energies(queries, 2, depth), haar_eigenvalues, pure=pure):
        yield Haar(queries.cells, _whole(weights, scale, least=1))


def _depth(cells: int, width: int) -> int:
    depth = 0
    while width**depth < cells:
        depth += 1
    return depth


def _weights(needed: Floats, spectrum: Spectrum, *, pure: bool) -> Iterator[Floats]:
    """All levels alike, and those with about the least error.

    At an optimum all levels that are used gain the same from a little more cost: those that gain more get more, by
    steps that keep weights positive. In squares of weights (Gaussian) the error is convex; else it is a good try.
    """
    levels = len(needed)
    needed = np.maximum(needed, needed.sum() * 1e-12)  # every level keeps some weight: estimates need full rank
    yield np.ones(levels)
    weights = np.full(levels, 1 / levels)
    linear = np.stack([spectrum(unit) for unit in np.eye(levels)])  # a spectrum is linear in squares of weights
    for _ in range(300):
        values = np.maximum((weights**2 if pure else weights) @ linear, 1e-300)
        gains = linear @ (needed / values**2)
        gains = gains * 2 * weights if pure else gains
        weights = weights * (gains / (gains @ weights)) ** (1 / 3 if pure else 1 / 2)
        weights /= weights.sum()
    yield weights if pure else np.sqrt(weights)


def _whole(weights: Floats, scale: int, *, least: int) -> tuple[int, ...]:
    """As whole numbers, the largest one the scale; the last level is never left out."""
    whole = np.maximum(np.rint(weights / weights.max() * scale), least).astype(np.int64).tolist()
    return (*whole[:-1], max(whole[-1], 1))


def best_matrix(queries_gram: Floats, scale: int) -> Matrix:
    """About the best matrix for Gaussian noise, as whole numbers up to a scale.

    Theorem  Among X = AᵀA with diag(X) ≤ 1, tr(G·X⁻¹) is at least R²/Σv for every v > 0, where D = diag(v) and R is
             the trace of S = (D^(1/2)·G·D^(1/2))^(1/2). For X = D^(−1/2)·S·D^(−1/2), divided by its largest diagonal
             entry m, it is m·R.
    Proof    By Lagrange, tr(G·X⁻¹) ≥ min over X of tr(G·X⁻¹) + Σ v_i·(X_ii − 1), which is attained where
             X⁻¹·G·X⁻¹ = D, at this X, and is 2R − Σv; with v times R²/(Σv)² that is R²/Σv. And
             tr(G·X⁻¹) = tr(D^(1/2)·G·D^(1/2)·S⁻¹) = tr(S) = R.
             So the search knows how far from the best it is, and ends within a half per cent. Where diag(X) is above 1,
             v grows, and else it falls: v is the fixed point of v·diag(X)².
    Source   Li et al. 2010; fixed points for it: Denisov, McMahan, Rush, Smith & Thakurta 2022.
    """
    cells = len(queries_gram)
    gram = queries_gram + np.eye(cells) * (np.trace(queries_gram) * 1e-9 / cells)  # of full rank
    multipliers = np.sqrt(np.diag(gram)).copy()
    best, least = np.eye(cells), math.inf
    for _ in range(MOST_STEPS):
        demand_running()
        side = np.sqrt(multipliers)
        with one_thread():
            values, vectors = np.linalg.eigh(side[:, None] * gram * side[None, :])
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
        diagonal = (vectors**2) @ roots / multipliers
        error = float(diagonal.max() * roots.sum())
        if error < least:
            best, least = (vectors * np.sqrt(roots)).T / side / math.sqrt(diagonal.max()), error
        if error <= (1 + GAP) * float(roots.sum() ** 2 / multipliers.sum()):
            break
        multipliers = multipliers * diagonal**2
    return Matrix(_of_full_rank(np.rint(best * scale).astype(np.int64)), "optimal matrix")


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra in this thread alone, where that can be said: on a busy machine threads only wait for each other.

    The package for it comes with discreet[learn]; without it nothing is missing but time.
    """
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def _of_full_rank(entries: Integers) -> Integers:
    """With every cell measured a little where fewer queries than cells would leave some unmeasured."""
    real = entries.astype(np.float64)
    with one_thread():
        least = np.linalg.eigvalsh(real.T @ real)[0]
    if least >= 1:
        return entries
    return np.concatenate([entries, np.eye(entries.shape[1], dtype=np.int64)])
