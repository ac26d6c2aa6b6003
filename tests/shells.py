"""IPython's shell, as notebooks run it, with discreet's magics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import discreet

Shell = Any
"""IPython's own types are few."""


@contextmanager
def shells() -> Iterator[Shell]:
    config = Config()
    config.HistoryManager.enabled = False
    program, hook = sys.modules["__main__"], sys.excepthook
    made: Shell = InteractiveShell(config=config)  # type: ignore[no-untyped-call]
    run(made, "%load_ext discreet")
    yield made
    discreet.unload_ipython_extension(made)
    made.restore_sys_module_state()
    sys.modules["__main__"], sys.excepthook = program, hook  # a shell takes the place of the program


def run(shell: Shell, cell: str) -> Any:
    """What a cell shows; its exception is raised."""
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result
