"""The index of decisions. `python -m tests.decisions` adds those that are missing, with today's date."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "docs" / "decisions"
INDEX: Final = FOLDER / "README.md"
ROW: Final = re.compile(r"^\| (\d{3}) \| (\d{4}-\d{2}-\d{2}) \| \[(.+)\]\((.+\.md)\) \|$", re.MULTILINE)


def titles() -> dict[str, str]:
    """Of each decision, by the name of its file."""
    files = sorted(FOLDER.glob("[0-9]*.md"))
    return {path.name: re.sub(r"^# \d+\s*[·.:]\s*", "", path.read_text("utf-8").split("\n")[0]) for path in files}


def page() -> str:
    text = INDEX.read_text("utf-8")
    dates = {match[1]: match[2] for match in ROW.finditer(text)}
    head = text[: ROW.search(text).start()] if ROW.search(text) else text  # type: ignore[union-attr]
    today = date.today().isoformat()
    rows = (f"| {name[:3]} | {dates.get(name[:3], today)} | [{title}]({name}) |" for name, title in titles().items())
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    INDEX.write_text(page(), encoding="utf-8")
