"""What every mechanism keeps, whichever it is. The table of examples must name all of them: none can dodge."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import mechanisms
from discreet.accounting import Concentrated, Pure, Relation
from discreet.mechanisms import (
    AboveThreshold,
    BestOfSome,
    BoundedMean,
    BoundedSum,
    Exponential,
    Gaussian,
    Histogram,
    KeySelection,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    Quantile,
    RandomizedResponse,
    TopK,
    Variance,
)
from discreet.noise import SYSTEM, Bits
from tests.rigged import Rigged

NOT_MECHANISMS = {"Estimate", "clopper_pearson"}
CONFIDENCES = [0.01, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - Fraction(1, 10**30)]

NOT_FINITE = [math.nan, math.inf, -math.inf, Decimal("NaN"), np.float64("nan")]
NOT_NUMBERS = [None, "1", b"1", True, np.True_, [1], 1j]
NOT_COSTS = [*NOT_NUMBERS, *NOT_FINITE, 0, -1, -0.0, 1e10, 1e-10]
NOT_SIZES = [*NOT_NUMBERS, *NOT_FINITE, 0, -1, 1e101, Fraction(1, 10**101)]
NOT_COUNTS = [*NOT_NUMBERS, *NOT_FINITE, 0, -1, 1.5, 2.0]
NOT_BOUNDS = [
    *NOT_NUMBERS,
    (0,),
    (0, 1, 2),
    (1, 0),
    (1, 1),
    (0, 1e101),
    {0, 1},
    *((low, 1) for low in NOT_FINITE + NOT_NUMBERS),
    *((0, high) for high in NOT_FINITE + NOT_NUMBERS),
]

BAD: dict[str, list[Any]] = {
    "epsilon": NOT_COSTS,
    "rho": NOT_COSTS,
    "delta": [*NOT_NUMBERS, *NOT_FINITE, 0, 1, 1.5, -1e-6],
    "sensitivity": NOT_SIZES,
    "step": [value for value in NOT_SIZES if value is not None],
    "bounds": NOT_BOUNDS,
    "threshold": [*NOT_NUMBERS, *NOT_FINITE],
    "k": NOT_COUNTS,
    "limit": NOT_COUNTS,
    "max_groups": NOT_COUNTS,
    "size": [value for value in NOT_COUNTS if value is not None],
    "answers": [*NOT_COUNTS, 1],
    "monotone": [None, 1, "no", np.True_],
    "candidates": [*NOT_COUNTS, 1001],
    "copies": [1, "1", [0], [1.5], [2**63]],
    "quantiles": [None, "0.5", True, -0.1, 1.1, [], [[0.5]], *NOT_FINITE],
    "method": ["forest", None, 1],
    "keys": [5, "ab", [], ["a", "a"], [[1]]],
    "edges": [5, "ab", [], [1], [1, 1], [2, 1], [0, math.nan], [0, math.inf], [None, 1]],
}
"""For every argument of every constructor, what must be refused. Where None means a default, it is not listed."""

BAD_VECTORS = [
    math.nan,
    [1.0, math.inf],
    [-math.inf],
    None,
    [None, 1],
    "5",
    ["a"],
    True,
    [True, 2],
    [],
    np.empty(0),
    [[1], [2, 3]],
    {1: 2},
]
BAD_SCORES = [*BAD_VECTORS, 5, [[1, 2], [3, 4]]]
BAD_COLUMNS = [
    [1.0, math.nan],
    [math.inf],
    [-math.inf, 0],
    None,
    [None],
    "5",
    ["a"],
    [True, 2],
    [[1], [2, 3]],
    5,
    [[1.0]],
]
BAD_STREAMS = [[math.nan], [math.inf], [None], ["a"], [True]]
BAD_MAPPINGS = [None, [1], {"a": 0}, {"a": -1}, {"a": 1.5}, {"a": True}, {"a": None}, {"a": math.nan}, {"a": "1"}]
BAD_ANSWERS = [math.nan, [0.5], None, "a", [None], ["a"], [2], [-1], [[1], [0, 1]], []]


@dataclass(frozen=True)
class Example:
    """How a mechanism is built and used: with which arguments, on which data, called what, and which data are bad."""

    mechanism: Callable[..., Any]
    options: dict[str, Any]
    data: Any
    argument: str
    bad: list[Any]
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.mechanism.__name__

    @property
    def relation(self) -> Relation:
        """Where the number of units is public, one is replaced."""
        public = self.mechanism is RandomizedResponse or "size" in self.options
        return Relation.REPLACE_ONE if public else Relation.ADD_REMOVE

    def build(self, **changes: Any) -> Any:
        return self.mechanism(**{**self.options, **changes})


def on_vectors(mechanism: Callable[..., Any], data: Any, **options: Any) -> Example:
    return Example(mechanism, options, data, "exact", BAD_VECTORS)


def on_scores(mechanism: Callable[..., Any], **options: Any) -> Example:
    return Example(mechanism, options, [3, 3, 2, 3], "scores", BAD_SCORES, {"candidates": 4})


def on_columns(mechanism: Callable[..., Any], asked: dict[str, Any] | None = None, **options: Any) -> Example:
    return Example(mechanism, options, [0.5, 3.0, -7.0], "values", BAD_COLUMNS, asked or {})


EXAMPLES = [
    on_vectors(Laplace, 42, epsilon=0.1, sensitivity=1),
    on_vectors(Laplace, [1.5, 2.5], epsilon=0.1, sensitivity=0.5),
    on_vectors(Laplace, 42, rho=0.02, sensitivity=3),
    on_vectors(Laplace, 42.0, epsilon=0.1, sensitivity=1, step=0.25),
    on_vectors(Gaussian, 42, rho=0.01, sensitivity=1),
    on_vectors(Gaussian, 42.0, rho=0.01, sensitivity=1, step=0.25),
    on_vectors(Gaussian, 42, epsilon=0.5, delta=1e-6, sensitivity=1),
    on_columns(BoundedSum, bounds=(-1, 2), epsilon=0.5),
    on_columns(BoundedSum, bounds=(-1, 2), rho=0.1, step=0.25),
    on_columns(BoundedMean, {"size": 1000}, bounds=(-1, 2), epsilon=0.5),
    on_columns(BoundedMean, {"size": 1000}, bounds=(-1, 2), rho=0.1, step=0.25),
    on_columns(BoundedMean, bounds=(-1, 2), epsilon=0.5, size=3),
    on_columns(Variance, {"size": 1000}, bounds=(-1, 2), epsilon=0.5),
    on_columns(Variance, {"size": 1000}, bounds=(-1, 2), rho=0.1, step=0.25),
    on_columns(Histogram, edges=[-1, 0, 2], epsilon=0.5),
    on_columns(Histogram, edges=[-1, 0, 2], rho=0.1),
    Example(Histogram, {"keys": ["a", "b"], "epsilon": 0.5}, ["a", "c"], "values", ["abc", b"abc", None, 5]),
    on_columns(Quantile, quantiles=0.5, bounds=(-1, 2), epsilon=0.5),
    on_columns(Quantile, quantiles=[0.5, 0.9], bounds=(-1, 2), rho=0.1),
    on_columns(Quantile, quantiles=[0.5, 0.9], bounds=(-1, 2), epsilon=0.5, method="exponential"),
    on_columns(Quantile, quantiles=0.5, bounds=(-1, 2), rho=0.1, method="exponential"),
    on_scores(Exponential, epsilon=0.5, sensitivity=1),
    on_scores(Exponential, rho=0.1, sensitivity=0.5, monotone=True),
    on_scores(Exponential, epsilon=0.5, sensitivity=1, copies=(1, 2, 3, 4)),
    on_scores(TopK, k=2, epsilon=0.5, sensitivity=1),
    on_scores(TopK, k=2, rho=0.1, sensitivity=1, monotone=True),
    on_scores(NoisyMax, epsilon=0.5, sensitivity=1, monotone=False),
    on_scores(PermuteAndFlip, epsilon=0.5, sensitivity=1, monotone=True),
    Example(BestOfSome, {"epsilon": 0.5, "candidates": 4}, [3, 3, 2, 3], "scores", [*BAD_SCORES, [1, 2, 3]]),
    Example(BestOfSome, {"rho": 0.1, "candidates": 9}, [3, 3, 2, 3, 1, 2, 3, 4, 1], "scores", BAD_SCORES),
    Example(RandomizedResponse, {"epsilon": 0.5, "answers": 2}, [0, 1] * 50, "answers", BAD_ANSWERS, {"size": 1000}),
    Example(
        AboveThreshold,
        {"epsilon": 0.5, "sensitivity": 1, "threshold": 5, "limit": 2, "step": 0.25},
        [4, 5, 6.5, Fraction(1, 3), Decimal("5.5")] * 20,
        "exact",
        BAD_STREAMS,
        {"questions": 100},
    ),
    Example(
        KeySelection,
        {"epsilon": 0.5, "delta": 1e-3, "max_groups": 2},
        dict.fromkeys(range(100), 14),
        "counts",
        BAD_MAPPINGS,
    ),
    Example(KeySelection, {"rho": 0.1, "delta": 1e-3}, dict.fromkeys(range(100), 7), "counts", BAD_MAPPINGS),
]


def each(examples: list[Example]) -> pytest.MarkDecorator:
    names = [f"{example.name}-{'-'.join(example.options)}" for example in examples]
    return pytest.mark.parametrize("example", examples, ids=names)


EVERY = each(EXAMPLES)
AT_ONCE = each([example for example in EXAMPLES if example.mechanism is not AboveThreshold])
OF_UNITS = each([example for example in EXAMPLES if example.argument == "values" and "size" not in example.options])
ONCE = pytest.mark.parametrize("mechanism", sorted({e.mechanism for e in EXAMPLES}, key=str))


class Recording(Bits):
    """The system's bits, kept."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def bytes(self, count: int) -> bytes:
        self.kept.append(SYSTEM.bytes(count))
        return self.kept[-1]


def shown(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def test_the_table_of_examples_names_every_mechanism() -> None:
    assert {example.name for example in EXAMPLES} == set(mechanisms.__all__) - NOT_MECHANISMS


def test_for_every_argument_of_every_constructor_bad_values_are_listed() -> None:
    arguments = {name for example in EXAMPLES for name in inspect.signature(example.mechanism).parameters}
    assert arguments == set(BAD)


@ONCE
def test_every_argument_is_used_in_some_example(mechanism: Callable[..., Any]) -> None:
    used = {name for example in EXAMPLES if example.mechanism is mechanism for name in example.options}
    assert used == set(inspect.signature(mechanism).parameters)


@ONCE
def test_the_docstring_states_a_theorem_and_an_error(mechanism: Callable[..., Any]) -> None:
    text = inspect.getdoc(mechanism) or ""
    assert re.search(r"^Theorem  \S", text, re.MULTILINE)
    assert re.search(r"^Error    \S", text, re.MULTILINE)


# Cost


@EVERY
def test_the_loss_is_the_cost_in_its_currency(example: Example) -> None:
    loss = example.build().loss
    assert isinstance(loss, (Pure, Concentrated))
    if isinstance(loss, Pure):
        assert loss == Pure(example.options["epsilon"], relation=example.relation)
    elif "rho" in example.options:
        assert loss == Concentrated(example.options["rho"], example.options.get("delta", 0), relation=example.relation)
    assert loss.unit is None


# Error


@EVERY
def test_the_error_is_positive_and_grows_with_the_confidence(example: Example) -> None:
    mechanism = example.build()
    errors = [mechanism.error(confidence, **example.asked) for confidence in CONFIDENCES]
    assert all(math.isfinite(error) for error in errors)
    assert errors == sorted(errors)
    assert errors[0] >= 0
    assert 0 < errors[1] < errors[-1] or example.mechanism in (BoundedMean, Variance)
    assert mechanism.error(**example.asked) == mechanism.error(0.95, **example.asked) > 0


@EVERY
def test_an_impossible_confidence_is_refused_by_name(example: Example) -> None:
    mechanism = example.build()
    for confidence in (0, 1, -1, 2, math.nan, math.inf, None, "0.9", True, [0.9]):
        with pytest.raises((ValueError, TypeError), match="confidence"):
            mechanism.error(confidence, **example.asked)


@EVERY
def test_impossible_circumstances_are_refused_by_name(example: Example) -> None:
    for name in example.asked:
        for value in (0, -1, 1.5, "3", True, math.nan):
            with pytest.raises((ValueError, TypeError), match=name):
                example.build().error(0.95, **{**example.asked, name: value})


# Draw


@EVERY
def test_draws_differ(example: Example) -> None:
    """The likeliest result has a probability below 0.7 each time: all 80 agree with one below 10⁻¹²."""
    mechanism = example.build()
    first = shown(mechanism.release(example.data))
    assert any(shown(mechanism.release(example.data)) != first for _ in range(79))


@EVERY
def test_all_randomness_comes_from_the_bits_handed_over(example: Example) -> None:
    mechanism, recording = example.build(), Recording()
    released = mechanism.release(example.data, bits=recording)
    assert sum(map(len, recording.kept)) > 0
    replayed = mechanism.release(example.data, bits=Rigged(recording.kept))
    assert shown(replayed) == shown(released)
    assert type(replayed) is type(released)


@EVERY
def test_seeds_and_generators_are_refused(example: Example) -> None:
    mechanism = example.build()
    for bits in (0, 42, "seed", b"seed", np.random.default_rng()):
        with pytest.raises(TypeError, match="bits must be a Bits object"):
            mechanism.release(example.data, bits=bits)


@EVERY
def test_the_data_are_not_changed(example: Example) -> None:
    data = copy.deepcopy(example.data)
    example.build().release(data)
    assert data == example.data


@EVERY
def test_bad_data_are_refused_by_name(example: Example) -> None:
    mechanism = example.build()
    for bad in example.bad:
        with pytest.raises((ValueError, TypeError)) as refusal:
            mechanism.release(bad)
        assert example.argument in str(refusal.value), bad


@AT_ONCE
def test_bad_data_are_refused_before_any_draw(example: Example) -> None:
    mechanism, recording = example.build(), Recording()
    for bad in example.bad:
        with pytest.raises((ValueError, TypeError)):
            mechanism.release(bad, bits=recording)
    assert not recording.kept


@OF_UNITS
def test_data_of_nobody_are_data(example: Example) -> None:
    nobody: Any
    for nobody in ([], (), np.empty(0), np.array([], dtype=object)):
        example.build().release(nobody)


# Values


@EVERY
def test_a_mechanism_cannot_be_changed(example: Example) -> None:
    mechanism = example.build()
    for part in dataclasses.fields(mechanism):
        with pytest.raises(AttributeError):
            setattr(mechanism, part.name, getattr(mechanism, part.name))
        with pytest.raises(AttributeError):
            delattr(mechanism, part.name)
    with pytest.raises((AttributeError, TypeError)):
        mechanism.novelty = 1


@EVERY
def test_built_alike_is_equal(example: Example) -> None:
    assert example.build() == example.build()
    assert hash(example.build()) == hash(example.build())
    assert repr(example.build()) == repr(example.build())


@EVERY
def test_a_number_means_its_shortest_decimal_however_it_is_written(example: Example) -> None:
    for name in ("epsilon", "rho", "delta", "sensitivity", "step", "threshold"):
        if name in example.options:
            text = str(example.options[name])
            for written in (Decimal(text), Fraction(text), np.float64(text)):
                assert example.build(**{name: written}) == example.build()


@EVERY
def test_another_cost_is_another_mechanism(example: Example) -> None:
    name = "rho" if "rho" in example.options else "epsilon"
    assert example.build(**{name: 0.375}) != example.build()


@EVERY
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_the_same_mechanism(example: Example, again: Callable[[Any], Any]) -> None:
    mechanism = example.build()
    twin = again(mechanism)
    assert twin == mechanism
    assert hash(twin) == hash(mechanism)
    assert twin.loss == mechanism.loss
    assert twin.error(0.95, **example.asked) == mechanism.error(0.95, **example.asked)
    recording = Recording()
    released = mechanism.release(example.data, bits=recording)
    assert shown(twin.release(example.data, bits=Rigged(recording.kept))) == shown(released)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_under_way_cannot_be_copied(again: Callable[[Any], Any]) -> None:
    watch = AboveThreshold(1, sensitivity=1, threshold=5).start()
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        again(watch)


# What is refused


@EVERY
def test_bad_arguments_are_refused_by_name(example: Example) -> None:
    for name in example.options:
        for bad in BAD[name]:
            with pytest.raises((ValueError, TypeError)) as refusal:
                example.build(**{name: bad})
            assert name in str(refusal.value), (name, bad)


@EVERY
def test_nothing_needed_can_be_left_out(example: Example) -> None:
    for name, parameter in inspect.signature(example.mechanism).parameters.items():
        needed = parameter.default is inspect.Parameter.empty or name in ("epsilon", "rho", "keys", "edges")
        if name in example.options and needed:
            rest = {other: value for other, value in example.options.items() if other != name}
            with pytest.raises(TypeError, match=name):
                example.mechanism(**rest)
