"""Drawing beside other threads. altair takes pandas as it finds it in `sys.modules`, also half imported, and fails.

So an answer could not be shown while the first fit of a server loaded scikit-learn, which imports pandas.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar

T = TypeVar("T")
Given = ParamSpec("Given")
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


def beside_others(draw: Callable[Given, T]) -> Callable[Given, T]:
    """A function that draws, for users who draw in threads of their own. What they do with the chart is theirs."""

    @wraps(draw)
    def drawing(*given: Given.args, **named: Given.kwargs) -> T:
        return drawn_beside(partial(draw, *given, **named))

    return drawing


def _imported() -> bool:
    """Whether pandas is there, as a whole: what another thread is importing is waited for."""
    if PANDAS in sys.modules:
        with suppress(ImportError):
            import pandas  # noqa: F401
    return PANDAS in sys.modules
