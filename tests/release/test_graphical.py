"""Graphical models: belief propagation against brute force, estimation, and rows that follow the model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.release.graphical import (
    Floats,
    JunctionTree,
    Measured,
    Model,
    brute_force,
    cells_of,
    fit,
    pairs_of,
    sample,
)
from discreet.release.graphical.model import spread

SHAPES: dict[str, tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]] = {
    "one attribute": ((7,), ()),
    "nothing in common": ((2, 3, 4), ()),
    "a chain": ((3, 4, 2, 5), ((0, 1), (1, 2), (2, 3))),
    "a star": ((2, 3, 4, 2, 3), ((0, 1), (0, 2), (0, 3), (0, 4))),
    "two trees": ((2, 3, 4, 5, 2), ((0, 4), (1, 3))),
    "a circle": ((3, 2, 4, 3, 2), ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4))),
    "triples": ((2, 3, 2, 3, 2, 4), ((0, 1, 2), (1, 2, 3), (3, 4, 5), (0, 5))),
    "all of them": ((2, 3, 2, 4), ((0, 1, 2, 3),)),
    "constants": ((1, 3, 1, 2), ((0, 1), (1, 2), (2, 3))),
}


def joint_of(
    sizes: tuple[int, ...], cliques: tuple[tuple[int, ...], ...], dice: np.random.Generator
) -> tuple[Model, Floats]:
    """A model of random potentials, and its joint distribution by brute force: every cell multiplied out."""
    tree = JunctionTree.of(sizes, cliques)
    potentials = [dice.normal(0, 3, [sizes[each] for each in clique]) for clique in tree.cliques]
    joint = np.zeros(sizes)
    for clique, potential in zip(tree.cliques, potentials, strict=True):
        joint = joint + spread(potential, clique, tuple(range(len(sizes))))
    joint = np.exp(joint - joint.max())
    return Model.of(tree, potentials), joint / joint.sum()


def summed(joint: Floats, wanted: tuple[int, ...]) -> Floats:
    return np.asarray(joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in wanted)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_belief_propagation_equals_brute_force(shape: str) -> None:
    sizes, cliques = SHAPES[shape]
    model, joint = joint_of(sizes, cliques, np.random.default_rng(5))
    for clique, marginal in zip(model.tree.cliques, model.marginals, strict=True):
        np.testing.assert_allclose(marginal, summed(joint, clique), atol=1e-10, rtol=0)
        assert marginal.sum() == pytest.approx(1, abs=1e-10)
    np.testing.assert_allclose(brute_force(model), joint, atol=1e-10, rtol=0)
    pairs = model.pairs()
    assert set(pairs) == set(pairs_of(len(sizes)))
    for pair, marginal in pairs.items():
        np.testing.assert_allclose(marginal, summed(joint, pair), atol=1e-10, rtol=0)


def test_potentials_far_apart_neither_over_nor_underflow() -> None:
    tree = JunctionTree.of((2, 2, 2), ((0, 1), (1, 2)))
    potentials = [np.array([[0.0, -5000.0], [-5000.0, 0.0]]), np.array([[900.0, 0.0], [0.0, 900.0]])]
    model = Model.of(tree, potentials)
    for marginal in model.marginals:
        np.testing.assert_allclose(marginal, [[0.5, 0], [0, 0.5]], atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_junction_trees_hold_what_is_asked_and_keep_attributes_connected(shape: str) -> None:
    sizes, cliques = SHAPES[shape]
    tree = JunctionTree.of(sizes, cliques)
    for clique in (*cliques, *((each,) for each in range(len(sizes)))):
        assert set(clique) <= set(tree.cliques[tree.home(clique)])
    for attribute in range(len(sizes)):
        having = [place for place, clique in enumerate(tree.cliques) if attribute in clique]
        tops = [place for place in having if attribute not in tree.separators[place]]
        assert len(tops) == 1  # all others have it from their parent
    assert tree.cells == sum(cells_of(sizes, clique) for clique in tree.cliques)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_noiseless_measurements_are_reproduced(shape: str) -> None:
    """Potentials are mild here: descent reaches sharp ones only in the limit."""
    sizes, cliques = SHAPES[shape]
    dice = np.random.default_rng(8)
    joint = dice.dirichlet(np.full(int(np.prod(sizes)), 5.0)).reshape(sizes)
    held = cliques or tuple((each,) for each in range(len(sizes)))
    measured = [Measured(clique, summed(joint, clique) * 1000, 1.0) for clique in held]
    fitted = fit(sizes, measured, 1000, steps=range(3000), enough=1e-9)
    for each in measured:
        np.testing.assert_allclose(fitted.model.marginal(each.attributes) * 1000, each.values, atol=0.02)
    assert fitted.misfit < 1e-3


def test_a_fit_weighs_measurements_by_their_noise() -> None:
    exact, noisy = np.array([80.0, 20.0]), np.array([20.0, 80.0])
    fitted = fit((2,), [Measured((0,), exact, 1.0), Measured((0,), noisy, 10.0)], 100, steps=range(2000), enough=0)
    weight = 1 / 1.01
    np.testing.assert_allclose(fitted.model.marginal((0,)) * 100, exact * weight + noisy * (1 - weight), atol=1e-3)


def test_a_fit_ends_where_only_noise_is_left_and_takes_any_numbers() -> None:
    measured = [Measured((0, 1), np.array([[10.0, 10], [10, 10]]) + 0.5, 1.0)]
    assert fit((2, 2), measured, 40, steps=iter([1])).misfit == pytest.approx(1.0)
    for values in (np.zeros((2, 2)), np.full((2, 2), -1e9), np.full((2, 2), 1e12)):
        fitted = fit((2, 2), [Measured((0, 1), values, 1.0)], 0.0, steps=range(50))
        assert np.isfinite(fitted.model.marginals[0]).all()
    assert fit((3,), [], 10).model.marginals[0].tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_have_almost_exactly_the_models_marginals(shape: str) -> None:
    """False-alarm rate: every cell is within 1 of its expectation given its group; the bound below holds always for
    the first clique, and the others differ by the rounding of their groups, each of at most 1."""
    sizes, cliques = SHAPES[shape]
    dice = np.random.default_rng(3)
    model, _ = joint_of(sizes, cliques, dice)
    count = 20_000
    columns = sample(model, count, lambda many: dice.random(many))
    assert [len(column) for column in columns] == [count] * len(sizes)
    for clique, marginal in zip(model.tree.cliques, model.marginals, strict=True):
        places = np.ravel_multi_index([columns[each] for each in clique], marginal.shape)
        counts = np.bincount(places, minlength=marginal.size)
        assert np.abs(counts - marginal.ravel() * count).max() <= 2 * sum(sizes) * len(sizes)


def test_attributes_that_are_independent_stay_so_in_the_rows() -> None:
    """Random order within a group: else rounding would pair first values with first ones."""
    model = Model.of(JunctionTree.of((2, 2, 2), ((0, 1), (0, 2))), [np.zeros((2, 2))] * 2)
    dice = np.random.default_rng(1)
    one, other = sample(model, 40_000, lambda many: dice.random(many))[1:]
    assert abs((one == other).mean() - 0.5) < 0.025  # ten deviations


def test_no_rows_are_no_rows_and_impossible_groups_are_filled() -> None:
    model, _ = joint_of((2, 3), ((0, 1),), np.random.default_rng(0))
    assert [len(column) for column in sample(model, 0, lambda many: np.zeros(many))] == [0, 0]
    zero = Model(model.tree, (np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),))
    columns = sample(zero, 10, lambda many: np.full(many, 0.5))
    assert all(set(column.tolist()) <= set(range(size)) for column, size in zip(columns, (2, 3), strict=True))


def test_many_attributes_are_walked() -> None:
    """More than the 52 letters that einsum knows."""
    count = 60
    tree = JunctionTree.of((2,) * count, [(each, each + 1) for each in range(count - 1)])
    turned = np.array([[1.0, 0.0], [0.0, 1.0]])
    pairs = Model.of(tree, [turned] * len(tree.cliques)).pairs()
    assert len(pairs) == len(list(combinations(range(count), 2)))
    assert pairs[0, count - 1] == pytest.approx(np.full((2, 2), 0.25), abs=1e-6)
