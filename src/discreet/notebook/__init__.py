"""Notebooks: `%load_ext discreet` brings the magics `%%discreet` and `%discreet`, and refusals without tracebacks.

IPython finds these two functions on the package itself. Everything else is imported when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext discreet` calls."""
    from discreet.notebook.magic import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What `%unload_ext discreet` calls: the magics are gone, and the curators that they opened are closed."""
    from discreet.notebook.magic import unload

    unload(shell)
