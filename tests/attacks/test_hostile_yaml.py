"""Metadata from somebody else: YAML that builds objects, means a billion values, says a thing twice, or never ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml

from discreet.owner import yaml
from discreet.owner.smartnoise import from_smartnoise
from discreet.owner.yaml import MAX_CHARACTERS, YamlError, parse
from discreet.policy import PolicyError

TABLE = "t:\n  age:\n    type: int\n"
LAUGHS = "a0: &a0 {x: lol}\n" + "".join(
    f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}\n" for n in range(1, 10)
)
HOSTILE = {
    "a billion laughs": (LAUGHS, "line 1: an anchor"),
    "a merged bomb": ("a: {<<: {x: 1}}\n", "line 1: a merged map"),
    "a reference to itself": ("a: &a\n  b: *a\n", "line 1: an anchor"),
    "a command": ('a: !!python/object/apply:os.system ["true"]\n', "line 1: a tag"),
    "an object": ("a: !!python/object:subprocess.Popen {}\n", "line 1: a tag"),
    "a tag of its own": ("a: !thing x\n", "line 1: a tag"),
    "a tag on a key": ("!!str a: x\n", "line 1: a tag"),
    "a tag on everything": ("--- !!map\na: x\n", "line 1: a tag"),
    "a key that stands twice": (TABLE + "  age:\n    type: float\n", "line 4: 'age' stands there twice"),
    "a key that stands twice in two ways": ('t: {age: 1, "age": 2}\n', "line 1: 'age' stands there twice"),
    "deep braces": ("a: " + "{a: " * 50_000, "line 1: this is nested too deeply"),
    "deep brackets": ("a: " + "[" * 100_000, "line 1: a list is not understood"),
    "deep keys": ("? " * 100_000, "line 1: a complex key is not understood"),
    "two documents": (f"{TABLE}---\n{TABLE}", "line 4: a second document"),
    "a NUL": ("a: b\nc: \0\n", "line 2: a character that YAML does not allow"),
    "a lone directive": ("%TAG ! tag:x,2000:\n--- !y\na: b\n", "line 2: a tag"),
    "too much of it": (
        "a: b\n" * (MAX_CHARACTERS // 5 + 1),
        f"line 1: there are more than {MAX_CHARACTERS} characters",
    ),
    "an integer without end": (TABLE + f"    lower: 0\n    upper: 1{'0' * 9_999}\n", "line 5: must be a number"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, reason = HOSTILE[name]
    path = tmp_path / "metadata.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as refused:
        from_smartnoise(path)
    assert reason in str(refused.value)


def test_a_bomb_is_refused_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted: what comes after the first thing that is wrong is not even read."""
    original, read = pyyaml.parse, [0]

    def counted(*given: Any) -> Iterator[Any]:
        for event in original(*given):
            read[0] += 1
            yield event

    monkeypatch.setattr(pyyaml, "parse", counted)
    for text in (LAUGHS, "a: " + "[" * 100_000, "a: " + "{a: " * 100_000, "a: !x y\n" * 1000):
        read[0] = 0
        with pytest.raises(YamlError):
            parse(text)
        assert read[0] < 100


def test_nothing_is_constructed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates, octals, sexagesimals and binaries of YAML 1.1 stay texts: nobody is surprised by a bound of 90."""
    monkeypatch.setattr(pyyaml.SafeLoader, "get_single_data", lambda *_: pytest.fail("it was constructed"))
    plain = {"1:30": "1:30", "010": "010", "0x1F": "0x1F", "0b11": "0b11", "2020-01-01": "2020-01-01", ".nan": ".nan"}
    for text, value in plain.items():
        assert parse(f"a: {text}").map["a"].value == value
    assert not hasattr(yaml, "load")
