"""All pages that are made from the code, by where they lie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from tests import codes
from tests.reference import cli, http, ledger, lessons, policy, proofs, python
from tests.sql import language

ROOT: Final = Path(__file__).parents[2]
PAGES: Final[dict[str, Callable[[], str]]] = {
    "docs/reference/policy.md": policy.page,
    "docs/reference/cli.md": cli.page,
    "docs/reference/http.md": http.page,
    "docs/reference/ledger.md": ledger.page,
    "docs/proofs/README.md": proofs.index,
    **{f"docs/proofs/{package}.md": partial(proofs.page, package) for package in proofs.ABOUT},
    "docs/lessons.md": lessons.page,
    "docs/guide/codes.md": codes.page,
    "docs/guide/language.md": language.page,
    **{f"docs/reference/{python.file_of(package)}": partial(python.page, package) for package in python.PUBLIC},
}


def write() -> list[str]:
    """Write what changed; its names."""
    changed = []
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed
