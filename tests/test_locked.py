"""How packages are installed: the list that is locked, and where pip would look for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.locked import handed_over, locked

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


def test_what_every_environment_has_is_pinned_and_without_what_is_for_some() -> None:
    listed = locked(CONSTRAINTS.read_text(encoding="utf-8"))
    assert all(line.count("==") == 1 for line in listed)
    assert {"duckdb", "sqlglot", "pytest"} <= {line.partition("==")[0] for line in listed}
    assert not {"uv", "pyspark", "opendp"} & {line.partition("==")[0] for line in listed}


@pytest.mark.parametrize(
    ("settings", "options", "variables"),
    [
        ("", [], {}),
        ("global.timeout='180'\n", [], {}),
        ("global.index-url='here'\n:env:.index-url='there'", ["--default-index", "there"], {}),
        ("install.extra-index-url='a\\nb'", ["--index", "a", "--index", "b"], {}),
        (":env:.cert='c.pem'\nglobal.proxy='p'", [], {"SSL_CERT_FILE": "c.pem", "ALL_PROXY": "p"}),
    ],
)
def test_pip_s_settings_are_handed_over(settings: str, options: list[str], variables: dict[str, str]) -> None:
    """One line each; what comes later counts, and several words are several values."""
    assert handed_over(settings) == (options, variables)
