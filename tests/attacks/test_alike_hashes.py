"""Attack: thousands of different values with one hash, so that a set or a table of them takes time with their square.

Python's hashes of numbers, and of tuples of them, are no secret; those of texts are another one in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

from discreet.answers.models import MOST_ALIKE
from discreet.errors import Refused
from discreet.learn import GaussianNB
from discreet.learn.sent import estimator_of, model_to_score
from discreet.release.sent import publication_of

PRIME: Final = 2**61 - 1
"""Numbers that it divides have the hash 0."""
MANY: Final = MOST_ALIKE + 1
WORD: Final = 2**64


def pairs(many: int) -> list[list[int]]:
    """Pairs of small numbers with one hash as tuples: the second number undoes what the first did to it."""
    one, two, five = 11400714785074694791, 14029467366897019727, 2870177450012600261
    undone, found, first = pow(two, -1, WORD), list[list[int]](), 0
    while len(found) < many:
        first += 1
        word = (five + first * two) % WORD
        second = (15 - (word << 31 | word >> 33) * one * undone) % WORD
        if second < 2**53:
            found.append([first, second])
    return found


def model(values: Any) -> Any:
    rows = np.random.default_rng(1).uniform(0, 1, (40, 1))
    fitted: Any = GaussianNB(bounds=(0, 1), classes=[0, 1], epsilon=1).fit(rows, np.arange(40) % 2).document()
    fitted["model"]["fitted"]["beside_"] = values
    return fitted


FRACTIONS: Final = [{"fraction": f"{PRIME}/{number}"} for number in range(2, MANY + 2)]
REQUESTS: Final[dict[str, Callable[[], Any]]] = {
    "fractions": lambda: estimator_of("GaussianNB", {"bounds": [[0, 1]], "classes": FRACTIONS}),
    "decimals": lambda: estimator_of("GaussianNB", {"classes": [{"decimal": str(PRIME * n)} for n in range(MANY)]}),
    "tuples": lambda: estimator_of("GaussianNB", {"classes": [{"tuple": pair} for pair in pairs(MANY)]}),
    "keys of a table": lambda: estimator_of("GaussianNB", {"class_weight": {"table": [[key, 1] for key in FRACTIONS]}}),
    "steps": lambda: estimator_of(
        "Pipeline", {"steps": [["a", {"estimator": "GaussianNB", "parameters": {"classes": FRACTIONS}}]]}
    ),
    "settings": lambda: estimator_of(
        "PrivateSearchCV",
        {"estimator": {"estimator": "GaussianNB", "parameters": {}}, "param_grid": {"table": [["classes", FRACTIONS]]}},
    ),
    "integers of a model": lambda: model_to_score(model([PRIME * number for number in range(MANY)])),
    "fractions of a model": lambda: model_to_score(model({"objects": FRACTIONS, "shape": [MANY]})),
    "paths": lambda: publication_of("Hierarchy", {"levels": ["a", "b"], "paths": pairs(MANY)}),
    "written paths": lambda: publication_of(
        "Hierarchy", None, {"levels": {"tuple": ["a"]}, "paths": {"tuple": [{"tuple": [each]} for each in FRACTIONS]}}
    ),
}


def test_these_values_have_one_hash() -> None:
    assert len({hash(tuple(pair)) for pair in pairs(9)}) == 1
    assert {hash(Fraction(each["fraction"])) for each in FRACTIONS} == {0}


@pytest.mark.parametrize("name", REQUESTS)
def test_values_with_one_hash_are_refused_before_anything_is_made_of_them(name: str) -> None:
    with pytest.raises(Refused) as refusal:
        REQUESTS[name]()
    assert refusal.value.code == "too-complex"


def test_ordinary_values_are_not() -> None:
    ordinary = [
        0,
        0.0,
        -1,
        -2,
        *range(-3000, 3000),
        *(2.0**power for power in range(-500, 500)),
        *map(str, range(3000)),
    ]
    assert estimator_of("GaussianNB", {"classes": ordinary}).get_params()["classes"] == ordinary
    thirds = [{"fraction": f"{number}/3"} for number in range(3000)]
    assert len(estimator_of("GaussianNB", {"bounds": [[0, each] for each in thirds]}).get_params()["bounds"]) == 3000
    assert model_to_score(model([[0.0] * 3000, [7] * 3000])).beside_[0] == [0.0] * 3000
    paths = [[state, county] for state in range(50) for county in range(60)]
    assert publication_of("Hierarchy", {"levels": ["a", "b"], "paths": paths}).columns == ("a", "b")
