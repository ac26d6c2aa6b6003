"""Drawing beside other threads. altair takes pandas as it finds it in `sys.modules`, also half imported, and fails.

So an answer could not be shown while the first fit of a server loaded scikit-learn, which imports pandas.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")
PANDAS: Final = "pandas"


def drawn_beside(draw: Callable[[], T]) -> T:
    """What is drawn, whatever other threads import: what they have begun is waited for."""
    whole = _imported()
    try:
        return draw()
    except AttributeError:
        if whole or not _imported():
            raise
    return draw()  # its import began meanwhile, and has ended


def _imported() -> bool:
    """Whether pandas is there, as a whole: what another thread is importing is waited for."""
    if PANDAS in sys.modules:
        with suppress(ImportError):
            import pandas  # noqa: F401
    return PANDAS in sys.modules
