"""`python -m discreet.server.manual FOLDER` writes the documentation as files; `make docs` does it."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.server.manual.library import library
from discreet.server.manual.views import Manual
from discreet.server.manual.writing import DeadLinks, Site


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m discreet.server.manual FOLDER\n")
        return 2
    folder = Path(arguments[0])
    try:
        count = Site(Manual(library())).write(folder)
    except (DeadLinks, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{count} pages in {folder}: open {folder / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
