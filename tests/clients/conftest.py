"""Clients that are no Python packages: `make test-engines` brings them where it can, and `make test` has none."""

from __future__ import annotations

import os
from typing import Final

collect_ignore_glob: Final = [] if "DISCREET_CLIENTS" in os.environ else ["*"]
