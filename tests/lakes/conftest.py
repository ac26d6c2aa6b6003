"""Tables of lakes: `make test-engines` brings what writes and reads them, and `make test` has none."""

from __future__ import annotations

import os
from typing import Final

collect_ignore_glob: Final = [] if "DISCREET_LAKES" in os.environ else ["*"]
