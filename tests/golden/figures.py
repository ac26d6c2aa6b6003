"""Figures of the trusted base, to the last digit that a reader of an answer could notice.

`python -m tests.golden.figures` writes them anew. Whoever changes one on purpose sees in the diff which, and by how
much: error bounds, thresholds and scales are promises, and so is that the same bits make the same draws.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from discreet import noise
from discreet.accounting import (
    Approximate,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Pure,
    amplify,
    combination,
    conversion,
    delta_of,
    epsilon_of,
    gaussian_spread,
    labels,
    noise_losses,
    posterior,
    posterior_range,
    prefixes,
    renyi,
    response_losses,
    rho_for,
    rounding,
)
from discreet.accounting.batch import (
    AnyPure,
    Batch,
    DiscreteNoise,
    GaussianNoise,
    LaplaceNoise,
    Sampled,
    epsilon_for_training,
    sigma_for_training,
    steps_for_training,
)
from discreet.accounting.distributions import Noise
from discreet.accounting.fieller import Noisy, Sums, ratio
from discreet.accounting.losses import Sensitivity
from discreet.accounting.points import Points
from discreet.accounting.shuffling import amplified_by_formula
from discreet.mechanisms import (
    AboveThreshold,
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
    clopper_pearson,
)
from discreet.mechanisms.calibrated import root
from discreet.mechanisms.simplex import projected
from discreet.noise.race import Exponents, exponential_race, gumbel_race
from tests.golden.defaults import constants, defaults
from tests.rigged import Rigged

FILE = Path(__file__).with_suffix(".json")
F = Fraction
LAPLACES = [DiscreteLaplace(F(1, 3)), DiscreteLaplace(F(2)), DiscreteLaplace(F(1000, 7))]
GAUSSIANS = [DiscreteGaussian(F(1, 4)), DiscreteGaussian(F(9)), DiscreteGaussian(F(10**6, 3))]
COSTS: list[dict[str, Any]] = [{"epsilon": 0.7}, {"rho": 0.05}]
NOISES: list[Noise] = [*LAPLACES, *GAUSSIANS]


def scripted(name: str) -> Rigged:
    """Bits that look random and are always the same."""
    numbers = count()

    def read(size: int) -> bytes:
        return hashlib.shake_128(f"{name} {next(numbers)}".encode()).digest(size)

    return Rigged(read)


def _noises() -> Iterator[tuple[str, Any]]:
    for number, law in enumerate(NOISES):
        for least in (0, 1, 2, 7, 100, 5000):
            yield f"tail {number} {least}", list(law.tail(least))
        for confidence in (F(1, 2), F(9, 10), F(19, 20), F(999, 1000), 1 - F(1, 10**12)):
            yield f"width {number} {confidence}", law.width(confidence)
        yield f"deviation {number}", combination.deviation(law)
        yield f"above {number}", combination.above(law, np.array([-40.0, -0.5, 0, 1.5, 3, 900]))
        for sensitivity in (1, 3):
            for epsilon in (F(1, 100), F(1, 2), F(3)):
                yield f"delta_of {number} {sensitivity} {epsilon}", delta_of(law, sensitivity, epsilon)
        yield f"rank {number}", [prefixes.highest_rank(law, 4, 2, m) for m in (0.3, 0.01, 1e-7)]
        yield f"ranks {number}", prefixes.highest_rank(law, 16, 3, 0.02)
    for number, law in enumerate(NOISES[:2] + NOISES[3:5]):
        found = noise_losses(law, 2)
        yield f"losses {number}", [found.beyond(0.5), found.delta(0.5), found.mean, found.worst, len(found.losses)]


def _sums() -> Iterator[tuple[str, Any]]:
    terms: dict[str, Any] = {
        "one": ((LAPLACES[1], F(3)),),
        "two": ((LAPLACES[1], F(1)), (LAPLACES[2], F(1, 3))),
        "equal": ((LAPLACES[1], F(1)), (LAPLACES[1], F(1))),
        "three": ((LAPLACES[0], F(1, 2)), (LAPLACES[1], F(2)), (LAPLACES[2], F(1))),
        "normal": ((GAUSSIANS[1], F(1)), (GAUSSIANS[2], F(1, 7))),
        "mixed": ((GAUSSIANS[1], F(5)), (LAPLACES[1], F(2, 3)), (GAUSSIANS[2], F(1, 100))),
        "small": ((GAUSSIANS[0], F(1)), (LAPLACES[0], F(1))),
    }
    for name, each in terms.items():
        for confidence in (F(1, 2), F(19, 20), 1 - F(1, 10**6), 1 - F(1, 10**14)):
            yield f"sum {name} {confidence}", float(combination.width_of_sum(each, confidence))
            yield f"up to {name} {confidence}", float(combination.width_up_to(each, confidence))


def _conversions() -> Iterator[tuple[str, Any]]:
    for epsilon in (F(1, 1000), F(1, 3), F(1), F(7), F(40)):
        yield f"rho_of_pure {epsilon}", conversion.rho_of_pure(epsilon)
        yield f"rho_of_laplace {epsilon}", [conversion.rho_of_laplace(epsilon, F(s)) for s in (1, 2, 9)]
        for delta in (F(1, 10**3), F(1, 10**6), F(1, 10**20)):
            yield f"rho {epsilon} {delta}", conversion.rho_of_epsilon(epsilon, delta)
            yield f"rho_for {epsilon} {delta}", rho_for(epsilon, delta)
            yield f"label {epsilon} {delta}", labels.label_of_rho(labels.rho_of_label(epsilon, delta), delta)
            yield f"usual {epsilon} {delta}", [labels.usual(epsilon, delta), labels.usual(epsilon, None)]
            yield (
                f"read {epsilon} {delta}",
                [
                    *labels.read(epsilon, delta),
                    *labels.read(epsilon, delta, delta / 3),
                    *labels.read(epsilon, delta, delta / 3, private_keys=True),
                ],
            )
            yield f"selection {epsilon} {delta}", labels.selection_delta(epsilon / 9, epsilon, delta)
    for rho in (F(1, 10**6), F(1, 10), F(3), F(50)):
        yield f"epsilon_of_laplace {rho}", [conversion.epsilon_of_laplace(rho, F(s)) for s in (1, 5)]
        for delta in (F(1, 10**3), F(1, 10**6), F(1, 10**20)):
            yield f"epsilon {rho} {delta}", conversion.epsilon_of_rho(rho, delta)
            yield f"part {rho} {delta}", labels.part_of(Concentrated(rho, delta / 9), F(50), delta)
    yield "epsilon_of", [epsilon_of(loss, 1e-5) for loss in (Pure(2), Concentrated(0.1, 1e-7))]
    grouped = Concentrated(0.1).group(3), Approximate(1, 1e-9).group(2), Approximate(1, 1e-9).concentrated()
    yield "group", [str(each) for each in grouped]
    for wanted, miss, moved in ((0.1, 1e-6, 1), (1, 1e-5, 3), (8, 1e-9, 1)):
        yield f"gaussian_spread {wanted}", float(gaussian_spread(wanted, miss, moved))


def _roundings() -> Iterator[tuple[str, Any]]:
    yield "float_up", [rounding.float_up(F(x, 7)) for x in (0, 1, 10**20)]
    yield "float_down", [rounding.float_down(F(x, 7), digits) for x in (0, 1, 10**20) for digits in (3, 15)]
    yield "up", [str(way(Decimal("0.12345678901"), 5)) for way in (rounding.up, rounding.down)]
    yield (
        "responses",
        [
            [each.beyond(0.5), each.delta(0.5), each.mean, each.worst]
            for each in (response_losses(1), response_losses(0.3, 5))
        ],
    )
    yield "posterior", [posterior(0.02, 3), *posterior_range(0.1, 1)]
    for epsilon, people, delta in ((1, 1000, 1e-6), (0.5, 10**5, 1e-9), (3, 30, 1e-2), (0.01, 2, 0.5), (8, 100, 1e-3)):
        yield (
            f"amplify {epsilon} {people}",
            [amplify(epsilon, people, delta), amplified_by_formula(epsilon, people, delta)],
        )


def _intervals() -> Iterator[tuple[str, Any]]:
    for name, law in (("laplace", LAPLACES[1]), ("gaussian", GAUSSIANS[1])):
        for top, bottom in ((30, 100), (-400, 90), (3, 12), (0, 7)):
            yield (
                f"ratio {name} {top}",
                _near(
                    ratio(F(top), F(bottom), [(law, F(1), F(0)), (law, F(1, 3), F(1))], F(1, 20), (F(-9), F(9))) or ()
                ),
            )
        for n, x, y, xy in ((1000, 300, -200, 4000), (40, 100, 90, 700), (-3, 1, 1, 1)):
            yield (
                f"covariance {name} {n}",
                _near(
                    [
                        *Sums(Noisy(n, law), Noisy(x, law), Noisy(y, law), Noisy(xy, law), (5, 8)).covariance(F(1, 20)),
                        *Sums(Noisy(n, law), Noisy(x, law), None, Noisy(xy, law), (5, 5), F(1, 2), F(2)).covariance(
                            F(1, 9)
                        ),
                    ]
                ),
            )
        pairs = ((0, 0), (4, 0), (0, 4), (4, 4))
        for values in ((100, 200, 300, 150), (4, 9, 1, 2), (-5, 1, 1, 1)):
            yield (
                f"points {name} {values[0]}",
                _near(
                    [
                        *Points(pairs, values, law).covariance(F(1, 20), (4, 4)),
                        *Points(pairs, values, law).mean(1, F(1, 20), (F(-4), F(4))),
                        *Points(((-3, -3), (0, 0), (3, 3)), values[1:], law).covariance(F(1, 20), (3, 3)),
                    ]
                ),
            )


def _batches() -> Iterator[tuple[str, Any]]:
    events: dict[str, Any] = {
        "gaussian": GaussianNoise(2.0),
        "laplace": LaplaceNoise(0.25),
        "discrete laplace": DiscreteNoise(LAPLACES[1], 1),
        "discrete gaussian": DiscreteNoise(GAUSSIANS[1], 1),
        "pure": AnyPure(0.2),
        "sampled": Sampled(GaussianNoise(1.5), 0.1),
        "sampled laplace": Sampled(LaplaceNoise(0.5), 0.2),
    }
    for name, event in events.items():
        for times in (1, 30):
            batch = Batch([(event, times)])
            yield f"batch {name} {times}", [batch.epsilon(1e-5), batch.epsilon(1e-2), batch.delta(0.5), batch.delta(2)]
            yield f"renyi {name} {times}", [batch.renyi(order) for order in (1.5, 2, 7.3)]
    yield "together", Batch([(events["gaussian"], 3), (events["laplace"], 5)]).epsilon(1e-6)
    yield "of renyi", renyi.epsilon_of_renyi(lambda order: order * 0.1, 1e-6)
    yield "training", epsilon_for_training(1, 0.01, 200, 1e-5)
    yield "its noise", sigma_for_training(2, 0.05, 30, 1e-5)
    yield "its steps", steps_for_training(1, 2, 0.05, 1e-5)


def _moments() -> Iterator[tuple[str, Any]]:
    for cost in COSTS:
        name = next(iter(cost))
        for bounds in ((0, 1), (-3, 100), (2**30, 2**30 + 1)):
            mean, variance = BoundedMean(bounds=bounds, **cost), Variance(bounds=bounds, **cost)
            total, public = BoundedSum(bounds=bounds, **cost), BoundedMean(bounds=bounds, size=50, **cost)
            yield f"steps {name} {bounds}", [each.column.grid.step for each in (mean, variance, total)]
            yield f"sum {name} {bounds}", [total.error(0.9), total.error()]
            yield (
                f"mean {name} {bounds}",
                [
                    *(mean.error(0.9, size=n) for n in (3, 100, 10**6)),
                    public.error(),
                ],
            )
            yield f"variance {name} {bounds}", [variance.error(0.9, size=n) for n in (3, 100, 10**6)]
            values = np.linspace(bounds[0], bounds[1], 40)
            tried: list[Any] = [mean, public, variance]
            for mechanism in tried:
                size = 40 if mechanism is variance else 50
                estimate = mechanism.estimate(np.resize(values, size), 0.9, scripted("e"))
                yield f"estimate {name} {bounds} {tried.index(mechanism)}", [estimate.value, *estimate.interval]


def _quantiles() -> Iterator[tuple[str, Any]]:
    for quantiles in ((0.5,), (0.1, 0.9), (0.05, 0.25, 0.5, 0.75)):
        for method in ("tree", "exponential"):
            for cost in COSTS:
                if method == "exponential" and "rho" in cost:
                    continue
                found = Quantile(list(quantiles), bounds=(0, 10), method=method, **cost)
                yield (
                    f"quantile {quantiles} {method} {list(cost)}",
                    [
                        found.error(0.9),
                        found.error(),
                        found.release(np.linspace(1, 9, 300), scripted("q")),
                    ],
                )


def _choices() -> Iterator[tuple[str, Any]]:
    scores = [3, 8, 8.5, -2, 7]
    for monotone in (False, True):
        selections: list[Any] = [
            Exponential(0.9, sensitivity=2, monotone=monotone),
            Exponential(rho=0.2, sensitivity=2, monotone=monotone),
            PermuteAndFlip(0.9, sensitivity=2, monotone=monotone),
            NoisyMax(0.9, sensitivity=2, monotone=monotone),
        ]
        for number, mechanism in enumerate(selections):
            yield (
                f"choice {monotone} {number}",
                [
                    mechanism.error(0.9, candidates=5),
                    mechanism.error(candidates=1),
                    *([] if isinstance(mechanism, NoisyMax) else mechanism.probabilities(scores)),
                    *(mechanism.choose(scores, scripted(str(run))) for run in range(12)),
                ],
            )
        top = TopK(2, epsilon=0.9, sensitivity=2, monotone=monotone)
        yield f"top {monotone}", top.error(0.9, candidates=5)
        yield f"tops {monotone}", [top.choose(scores, scripted(str(run))) for run in range(6)]


def _additive() -> Iterator[tuple[str, Any]]:
    mechanisms: list[Any] = [
        *(
            Laplace(0.3, sensitivity=2),
            Laplace(rho=0.3, sensitivity=2),
            Gaussian(rho=0.1, sensitivity=2),
            Gaussian(epsilon=1, delta=1e-6, sensitivity=1.5),
        )
    ]
    for number, mechanism in enumerate(mechanisms):
        yield (
            f"additive {number}",
            [
                mechanism.spread,
                str(mechanism.loss),
                str(mechanism.promise),
                mechanism.error(0.9),
                mechanism.error(like=[0.5]),
                mechanism.slack(1),
                mechanism.slack(100),
                mechanism.grid(1).step,
                mechanism.grid(1000).step,
                mechanism.release([1, 2, 3], scripted("a")),
                mechanism.release(0.5, scripted("a")),
                mechanism.loss_for(Sensitivity.cells(3, 2)).amount,
            ],
        )
    for cost in ({"epsilon": 0.5}, {"rho": 0.02}):
        for groups in (1, 4):
            keys = KeySelection(delta=1e-6, max_groups=groups, **cost)
            yield (
                f"keys {list(cost)} {groups}",
                [
                    keys.threshold,
                    str(keys.loss),
                    *(keys.chance(units) for units in (1, 2, 20, 80)),
                    keys.error(),
                    sorted(keys.select({"a": 100, "b": 70, "c": 2, "d": 40}, scripted("k")).items()),
                ],
            )


def _others() -> Iterator[tuple[str, Any]]:
    yield (
        "histogram",
        [
            (held := Histogram(keys=["a", "b"], epsilon=0.5)).error(),
            held.release(["a", "b", "b"], scripted("h")),
            Histogram(edges=[0, 1, 5], rho=0.1).release([0, 0.5, 1, 4.9, 7], scripted("h")),
        ],
    )
    for answers in (2, 4):
        response = RandomizedResponse(1.1, answers)
        yield f"response {answers}", [
            response.truth, response.lie, response.variance(0.3, 100), response.error(0.9, size=100),
            response.respond([0, 1, 1, 0], scripted("r")), *response.estimate([0, 1, 1, 0, 1, 1]),
        ]  # fmt: skip
    yield "clopper", [clopper_pearson(k, n, 0.9) for k, n in ((0, 5), (2, 9), (9, 9), (500, 1000))]
    yield "root", [root(F(x)) for x in (0, 1, 2, F(1, 3))]
    yield "simplex", projected(np.array([[3.0, -1, 2], [0, 0, 0.5]]), np.array([3.0, 1.0]))
    watch = AboveThreshold(0.8, threshold=10, sensitivity=2, limit=3)
    yield (
        "threshold",
        [
            watch.error(0.9, questions=20),
            *watch._scales(),
            watch.release([1, 30, 9, 12, 40, 3, 90, 2], scripted("t")),
        ],
    )


def _draws() -> Iterator[tuple[str, Any]]:
    few, many = (3, 4), 40_000
    for scale in (F(1, 50), F(1, 3), F(5, 2), F(10**6), F(10**12)):
        yield f"laplace {scale}", noise.laplace(scale, few, bits=scripted("l"))
        yield f"geometric {scale}", noise.geometric(scale, few, bits=scripted("g"))
        yield f"gaussian {scale}", noise.gaussian(scale, few, bits=scripted("n"))
    yield "one", [noise.laplace(3, bits=scripted("1")), noise.gaussian(3, bits=scripted("1"))]
    for name, draw in (("laplace", noise.laplace), ("gaussian", noise.gaussian), ("geometric", noise.geometric)):
        yield f"many {name}", _digest(draw(7, many, bits=scripted(name)))
    yield "coins", noise.bernoulli_exp(F(2, 3), 30, bits=scripted("c")).astype(int)
    yield "some coins", noise.bernoulli_exp([F(0), F(1, 9), F(3)], bits=scripted("c")).astype(int)
    yield "below", [noise.below(limit, 9, bits=scripted("b")) for limit in (1, 2, 3, 1000, 2**40 + 1)]
    yield "many below", _digest(noise.below(1000, many, bits=scripted("b")))
    yield "shuffle", noise.shuffle(20, bits=scripted("s"))
    yield "untruths", noise.untruths(F(1, 2), 3, 30, bits=scripted("u")).astype(int)
    scores = np.array([0, 5, 9, 9], dtype=np.int64)
    copies = np.array([40, 3, 1, 2], dtype=np.int64)
    yield (
        "races",
        [
            [gumbel_race(Exponents(scores, F(1, 4), copies), 3, bits=scripted(str(run))) for run in range(8)],
            [exponential_race(Exponents(scores, F(1, 4)), bits=scripted(str(run))) for run in range(8)],
        ],
    )


def _near(values: Iterable[Any]) -> list[float]:
    """What was searched by floats, whose last digits another machine may see otherwise."""
    return [float(value) for value in values]


def _digest(values: Any) -> str:
    return hashlib.sha256(np.asarray(values, dtype=np.int64).tobytes()).hexdigest()


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "constants": constants,
    "defaults": defaults,
    "noises": _noises,
    "sums": _sums,
    "conversions": _conversions,
    "roundings": _roundings,
    "intervals": _intervals,
    "batches": _batches,
    "moments": _moments,
    "quantiles": _quantiles,
    "choices": _choices,
    "additive": _additive,
    "others": _others,
    "draws": _draws,
}


def plain(value: Any) -> Any:
    """As JSON has it: fractions and decimals as texts, which are compared to the letter."""
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def main() -> None:
    groups = []
    for group, figures in GROUPS.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(plain(value))}" for name, value in figures()]
        groups.append(f"{json.dumps(group)}: {{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
