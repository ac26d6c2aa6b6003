"""The lectures that experiments and lessons follow, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LECTURES: Final[Mapping[str, str]] = {
    "000": "A Brief Introduction to Differential Privacy",
    "001": "Data Privacy & Security, chapter 3",
    "002": "Privacy Basics I",
    "003": "CSC 2515, lecture 11: Differential Privacy",
    "004": "Global differential privacy",
}
