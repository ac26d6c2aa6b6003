"""The routes of the lessons."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

router: Final = APIRouter(include_in_schema=False)
