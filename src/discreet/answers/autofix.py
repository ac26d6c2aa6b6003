"""A refused question with the edit of its refusal in it, ready to be sent."""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import Edit, Refused


def fixed(text: str, edit: Edit | None, preview: Callable[[str], object]) -> str | None:
    """The text after the edit, if that would be answered. Trying is free: no data is read."""
    proposal = None if edit is None else edit.applied(text)
    if proposal is None:
        return None
    try:
        preview(proposal)
    except Refused:
        return None
    return proposal
