"""discreet: ask questions of private data; get answers that provably say almost nothing about any one person."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.version import __version__ as __version__

if TYPE_CHECKING:
    from discreet import accounting as accounting
    from discreet import mechanisms as mechanisms
    from discreet import stream as stream
    from discreet.answers import Answer as Answer
    from discreet.answers import Preview as Preview
    from discreet.client import connect as connect
    from discreet.curator.curator import Curator as Curator
    from discreet.errors import BudgetExhausted as BudgetExhausted
    from discreet.errors import QueryFailed as QueryFailed
    from discreet.errors import Refused as Refused
    from discreet.opening import open as open  # noqa: A004

__all__ = [
    "Answer",
    "BudgetExhausted",
    "Curator",
    "Preview",
    "QueryFailed",
    "Refused",
    "accounting",
    "connect",
    "mechanisms",
    "open",
    "stream",
]

_HOMES = {
    "Answer": "answers",
    "BudgetExhausted": "errors",
    "Curator": "curator.curator",
    "Preview": "answers",
    "QueryFailed": "errors",
    "Refused": "errors",
    "accounting": "",
    "connect": "client",
    "mechanisms": "",
    "open": "opening",
    "stream": "",
    "load_ipython_extension": "notebook",
    "unload_ipython_extension": "notebook",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import discreet` costs next to nothing."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}") from None
    module = import_module(f"discreet.{home or name}")
    return getattr(module, name) if home else module


def __dir__() -> list[str]:
    return sorted(__all__)
