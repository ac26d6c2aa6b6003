from __future__ import annotations

import ast
import inspect
import pkgutil
import random
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import noise
from discreet.noise import SYSTEM, Bits, SystemBits, resolve
from tests.rigged import Rigged
from tests.statistics import ALARM, law, misfit

PACKAGE = Path(discreet.__file__).parent
DOOR = PACKAGE / "noise" / "bits.py"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SEEDS = {"seed", "rng", "generator", "random", "random_state"}


def trees(word: str) -> Iterator[tuple[Path, ast.AST]]:
    """What stands in the files that hold a word."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(word, text) else ():
            yield path, node


def draws_randomness(node: ast.AST) -> bool:
    """Whether a piece of source reaches for random bits past `discreet.noise`."""
    match node:
        case ast.Import(names=names):
            return any(
                name.name.split(".")[0] in {"random", "secrets"} or name.name == "numpy.random" for name in names
            )
        case ast.ImportFrom(module=module, names=names):
            owners = {"random", "secrets", "numpy.random"}
            return module in owners or any(name.name in {"random", "urandom", "getrandom"} for name in names)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return (owner, name) in {("np", "random"), ("numpy", "random"), ("os", "urandom"), ("os", "getrandom")}
    return False


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import secrets as s",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from random import Random",
        "from os import urandom",
        "np.random.default_rng(1)",
        "os.urandom(8)",
        "os.getrandom(8)",
    ],
)
def test_the_search_for_other_sources_finds_them(text: str) -> None:
    assert any(draws_randomness(node) for node in ast.walk(ast.parse(text)))


def test_only_one_file_of_the_package_draws_random_bits() -> None:
    assert {path for path, node in trees("random|secrets") if draws_randomness(node)} == {DOOR}
    assert [path for path in SOURCES if "urandom" in path.read_text(encoding="utf-8")] == [DOOR]


def test_the_package_ships_one_source_only() -> None:
    named = {"Bits", "SystemBits"}
    sources = {
        node.name
        for _, node in trees("Bits")
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).split(".")[-1] in named for base in node.bases)
    }
    assert sources == {"SystemBits"}


def test_the_system_source_is_no_stand_in() -> None:
    assert type(SYSTEM) is SystemBits
    assert resolve(None) is SYSTEM
    assert getattr(SystemBits, "__final__", False)
    assert repr(SYSTEM) == "SystemBits()"
    assert not hasattr(SYSTEM, "__dict__")


def test_no_signature_of_the_package_takes_a_seed() -> None:
    modules = [
        noise,
        *(import_module(f"discreet.noise.{found.name}") for found in pkgutil.iter_modules(noise.__path__)),
    ]
    seen = 0
    for module in modules:
        for name, member in vars(module).items():
            if name.startswith("_") or not getattr(member, "__module__", "").startswith("discreet.noise"):
                continue
            if inspect.isfunction(member) or inspect.isclass(member):
                seen += 1
                assert not SEEDS & set(inspect.signature(member).parameters), f"{module.__name__}.{name}"
    assert seen > 30


@pytest.mark.parametrize(
    "seed", [1, "1", b"1", np.random.default_rng(), random.Random(1), random.SystemRandom(), object]
)
def test_seeds_and_generators_are_refused(seed: object) -> None:
    with pytest.raises(TypeError, match=r"bits must be a Bits object, not .*leave the argument out"):
        resolve(seed)  # type: ignore[arg-type]


def test_a_test_may_hand_over_its_own_source() -> None:
    rigged = Rigged([])
    assert resolve(rigged) is rigged


def test_words_are_little_endian_and_fresh() -> None:
    bits = Rigged([1, 2**64 - 1, 2**63])
    assert bits.words(3).tolist() == [1, 2**64 - 1, 2**63]
    assert SYSTEM.words(0).size == 0
    assert len({*SYSTEM.words(1000).tolist(), *SYSTEM.words(1000).tolist()}) == 2000


@pytest.mark.parametrize(("width", "value"), [(0, 0), (1, 1), (7, 0x7F), (8, 0xFF), (9, 0x1FF), (64, 2**64 - 1)])
def test_integers_have_the_width_asked_for(width: int, value: int) -> None:
    bits = Rigged([b"\xff" * 9])
    assert bits.integer(width) == value
    assert bits.taken == (width + 7) // 8


def test_integers_of_twelve_bits_are_uniform_by_exhaustion() -> None:
    drawn = sorted(Rigged([value.to_bytes(2, "little")]).integer(12) for value in range(2**16))
    assert drawn == sorted(list(range(2**12)) * 2**4)


def test_system_bytes_are_uniform() -> None:
    assert misfit(np.frombuffer(SYSTEM.bytes(10**6), dtype=np.uint8), law([1 / 256] * 256)) > ALARM


def test_the_source_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Bits()  # type: ignore[abstract]
