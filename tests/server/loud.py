"""`discreet` for tests that read what it prints, where only errors are read; patient as `patient` is."""

from __future__ import annotations

import sys

from discreet.cli import main
from discreet.server import app

if __name__ == "__main__":
    sys.stdout = sys.stderr
    vars(app)["FREE_SECONDS"] = 300.0
    main()
