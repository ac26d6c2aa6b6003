"""Rows of a source as queries find them, and files for those who may read them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a table with the same columns: what to put behind FROM, and for each column its expression and type."""

    text: str
    columns: Mapping[str, tuple[str, str]]
    collated: bool = False

    def column(self, wanted: str) -> tuple[str, str] | None:
        """A column by name (case does not matter, unless several differ in nothing else)."""
        if wanted in self.columns:
            return self.columns[wanted]
        return next((held for column, held in self.columns.items() if column.lower() == wanted.lower()), None)


def private_file(path: str) -> BinaryIO:
    """A new file that its owner alone may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb")
