"""The `discreet` command."""

from __future__ import annotations

from discreet.cli.program import discreet, main

__all__ = ["discreet", "main"]
