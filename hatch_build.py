"""What a wheel holds beside the package: the documents that the server shows under /docs.

A build of its own and no setting, because an editable installation reads them where they lie.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DOCUMENTS = ("docs", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
INTO = "discreet/server/manual/project"


class Documents(BuildHookInterface):  # type: ignore[type-arg]  # hatchling finds it by its base
    """Adds the documents to wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version == "standard":
            root = Path(self.root)
            build_data["force_include"].update({str(root / name): f"{INTO}/{name}" for name in DOCUMENTS})
