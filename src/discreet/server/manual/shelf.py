"""Where documents lie: a folder of a checkout, or the archive that a wheel has instead, a third of its size."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Folder:
    """Files below a folder; everything else of a checkout can be asked for, and is not listed."""

    root: Path
    top: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Of the documents, with slashes, in their order."""
        paths = [*(self.root / name for name in self.top), *sorted((self.root / "docs").rglob("*"))]
        return [path.relative_to(self.root).as_posix() for path in paths if path.is_file()]

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def has(self, name: str) -> bool:
        """Whether a link may lead there."""
        return (self.root / name).exists()


@dataclass(frozen=True)
class Archive:
    """The documents alone, in one compressed file."""

    path: Path

    @cached_property
    def _files(self) -> dict[str, bytes]:
        """All of them, read once: a server keeps two megabytes, and no file open."""
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    @property
    def names(self) -> list[str]:
        return list(self._files)

    def read(self, name: str) -> bytes:
        return self._files[name]

    def has(self, name: str) -> bool:
        """Source and examples are not in a wheel, and still no mistake of a page."""
        return name in self._files or not name.startswith(("docs/", ".."))
