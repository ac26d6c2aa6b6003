"""A refused question as its refusal says it should be written, ready to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.curator.autofix import mended as proposed

if TYPE_CHECKING:
    from discreet.cli.failures import Failure
    from discreet.cli.shell.session import Session


def mended(session: Session, text: str, failure: Failure) -> str:
    """The text with its fix in it, if that would be answered; else nothing."""
    found = proposed(text, failure.fix, lambda proposal: session.preview(proposal, session.settings))
    return f"{found};" if found else ""
