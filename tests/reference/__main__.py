"""`python -m tests.reference`: write the pages that are made from the code, where they changed."""

from __future__ import annotations

import sys

from tests.reference.pages import write

if __name__ == "__main__":
    sys.stdout.write("".join(f"wrote {name}\n" for name in write()) or "all pages are as the code is\n")
