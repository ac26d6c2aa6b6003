"""`discreet` with few descriptors, for tests of what happens when they run out."""

from __future__ import annotations

import resource

from discreet.cli import main

FILES = 160

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    main()
