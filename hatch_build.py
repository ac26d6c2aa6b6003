"""What a wheel holds beside the package: the documents that the server shows under /docs, in one archive.

A build of its own and no setting, because an editable installation reads them where they lie. The same documents make
the same bytes: names in order, one time, one mode.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DOCUMENTS = ("docs", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
INTO = "discreet/server/manual/project.zip"
READ_IN_A_CHECKOUT = ("docs/screenshots/first.png", "docs/screenshots/first-dark.png")
"""Pictures of the README, which is no page."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first moment that an archive can tell."""
MODE = 0o644


def documents(root: Path) -> Iterator[str]:
    """Files that the archive holds, in its order."""
    for name in DOCUMENTS:
        paths = sorted((root / name).rglob("*")) if (root / name).is_dir() else [root / name]
        files = [path.relative_to(root).as_posix() for path in paths if path.is_file()]
        yield from (file for file in files if file not in READ_IN_A_CHECKOUT and "__pycache__" not in file)


def pack(root: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for file in documents(root):
            entry = zipfile.ZipInfo(file, EARLIEST)
            entry.external_attr, entry.create_system = MODE << 16, 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (root / file).read_bytes(), compresslevel=9)


class Documents(BuildHookInterface):  # type: ignore[type-arg]  # hatchling finds it by its base
    """Adds the documents to wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version == "standard":
            self.scratch = tempfile.TemporaryDirectory(prefix="discreet-documents-")
            packed = Path(self.scratch.name) / "project.zip"
            pack(Path(self.root), packed)
            build_data["force_include"][str(packed)] = INTO

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if hasattr(self, "scratch"):
            self.scratch.cleanup()
