"""The guide's page of codes, written by `python -m tests.codes` from the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from discreet.errors.codes import CODES

PAGE: Final = Path(__file__).parents[1] / "docs" / "guide" / "codes.md"
HEAD: Final = """# Codes of refusals and failures

Every refusal has a code, a reason, a fix in words and, where a program can make it, the change itself (`edit`): in
Python as attributes of `discreet.Refused`, in HTTP as fields of `application/problem+json`, with this status. A refusal
costs nothing. Codes do not change; [what is refused and why](08-what-is-refused.md),
[with examples](language.md#refusals).

| code | status | says | see |
| --- | --- | --- | --- |
"""


def page() -> str:
    rows = (
        f"| `{name}` | {code.status} | {code.says} | [{code.page}]({code.page}.md) |"
        for name, code in sorted(CODES.items())
    )
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
