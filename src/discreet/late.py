"""Packages that take long to import, imported when something of them is first used: `from discreet.late import np`.

Whoever previews a query needs neither arrays nor an engine, and either takes a tenth of a second to import.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["late", "np"]


def late(imported: Callable[[], ModuleType]) -> ModuleType:
    """A module with the names of another. What was looked up once stays, so that it costs no more than there."""
    module = ModuleType("late")

    def look_up(name: str) -> Any:
        value = getattr(imported(), name)
        setattr(module, name, value)
        return value

    setattr(module, "__getattr__", look_up)  # noqa: B010  (a module's own: PEP 562)
    return module


def _numpy() -> ModuleType:
    import numpy

    return numpy


if not TYPE_CHECKING:
    np = late(_numpy)
