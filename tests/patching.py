"""A mutant in a process that has imported everything: functions get the changed code, and nothing is imported again.

What is computed while modules are imported stays what it was: so a mutant of a constant, a default or a class body is
none of these, and what a mutant does at import is not seen. Both make fewer mutants noticed, not more.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from inspect import CO_NEWLOCALS
from types import CodeType, FunctionType


def patched(path: str, source: str, text: str) -> bool:
    """Put the changed code into all functions of a file that are there; False if more than functions changed."""
    changes = dict(_pairs(compile(source, path, "exec"), compile(text, path, "exec")))
    if not _is_within_functions(changes):
        return False
    by_key = {_key(code): new for code, new in changes.items()}
    gc.unfreeze()  # what conftest.py froze is not listed
    for held in gc.get_objects():
        if isinstance(held, FunctionType) and held.__code__.co_filename == path and _key(held.__code__) in by_key:
            held.__code__ = by_key[_key(held.__code__)]
        elif isinstance(held, functools._lru_cache_wrapper) and held.__module__.startswith("discreet"):
            held.cache_clear()
    return True


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield old, new
    parts = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    if len(parts[0]) == len(parts[1]):  # else a function makes others than it did
        for one, other in zip(*parts, strict=True):
            yield from _pairs(one, other)


def _key(code: CodeType) -> tuple[object, ...]:
    """Code that ran is no longer equal to code that did not: the interpreter writes into it."""
    return code.co_qualname, code.co_firstlineno, code.co_code, code.co_names, code.co_linetable


def _is_within_functions(changes: dict[CodeType, CodeType]) -> bool:
    """Whether modules and classes do the same as before, but for the functions that they make."""
    return all(code.co_flags & CO_NEWLOCALS or _said(code) == _said(new) for code, new in changes.items())


def _said(code: CodeType) -> tuple[object, ...]:
    constants = tuple((type(each), isinstance(each, CodeType) or each) for each in code.co_consts)
    return code.co_code, code.co_names, constants
