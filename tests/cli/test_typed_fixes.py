"""Fixes on the command line are options, not arguments of Python."""

from __future__ import annotations

import pytest

from discreet.cli.failures import Failure, typed


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("add epsilon=0.1, or error=10", "add --epsilon 0.1, or --error 10"),
        ('write dialect="spark"', "write --dialect spark"),
        ('write params={"name": value} for $name', "write -p name=value for $name"),
        ("write k=5, l=2, t=0.3", "write --k 5, --l 2, --t 0.3"),
        ("say confirm=True, or give epsilon", "say --confirm, or give epsilon"),
        ("add group_size=1000: the smallest", "add --group-size 1000: the smallest"),
        ("ask again with fresh=True", "ask again with --fresh"),
        ("write OPTIONS(epsilon = 0.1, delta = 1e-7)", "write OPTIONS(epsilon = 0.1, delta = 1e-7)"),
        ("write SUM(CLAMP(x, 0, 100))", "write SUM(CLAMP(x, 0, 100))"),
    ],
)
def test_arguments_are_options(fix: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(fix) == shown
    Failure(3, "syntax", "no", fix).tell(json=False)
    assert f"→ {shown}" in capsys.readouterr().err
