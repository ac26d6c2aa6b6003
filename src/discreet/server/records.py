"""What a caller may see of the ledger: owners and auditors everything, analysts what is theirs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.accounting.record import OWNER, Entry
from discreet.answers.story import StoryLine, story
from discreet.answers.wire import STORY, story_rows
from discreet.errors import Refused
from discreet.ledger.store import ENDLESS
from discreet.printing import csv_text
from discreet.server.access import Access
from discreet.server.responses import document_sent, written
from discreet.server.seeking import own_search


def own_entries(access: Access) -> list[Entry]:
    """The charges that a caller may see."""
    return access.dataset.curator.entries(own_search(access))


def own_story(access: Access, after: int = 0, before: int = ENDLESS) -> list[StoryLine]:
    """What happened beside charges, between two records, as far as a caller may see it."""
    analyst = None if access.caller.role.sees_everybody else access.caller.analyst or ""
    return story(access.dataset.curator.events(after=after, before=before), analyst)


def story_csv(access: Access) -> str:
    """The charges and events that a caller may see."""
    rows = story_rows(own_entries(access), own_story(access))
    return csv_text(STORY, [{**row, "changes": json.dumps(row["changes"] or {})} for row in rows])


def is_open(access: Access, entry: Entry) -> bool:
    """Owners and auditors see everything, analysts their own charges."""
    return access.caller.role.sees_everybody or entry.analyst == (access.caller.analyst or OWNER)


def task_of(entry: Entry) -> str:
    """The kind of task that a charge is of; empty for a query."""
    return str(entry.call.get("task", ""))


def entry_of(access: Access, number: int) -> Entry:
    """A charge that the caller may see."""
    entry = access.dataset.curator.entry(number)
    if entry is None or not is_open(access, entry):
        of_yours = "" if access.caller.role.sees_everybody else " of yours"
        raise Refused(
            "unknown-answer", f"no charge{of_yours} has this number", "see the ledger for the charges that were"
        )
    return entry


def readable(access: Access, result: Any) -> bytes:
    """What a job let out, as it is sent; refused if the owner withdrew it since: receipts begin with numbers of
    charges.
    """
    document = document_sent(result)
    numbers = {receipt.partition(":")[0] for receipt in _receipts(document)}
    if any(number.isdecimal() and access.dataset.curator.is_withdrawn(int(number)) for number in numbers):
        raise Refused("answer-gone", "the owner withdrew this answer", "ask again")
    return written(document)


def _receipts(document: Mapping[str, Any]) -> list[str]:
    """Of whatever is sent. A document that has none at these places is of an unknown kind, and is not sent."""
    if "answers" in document:
        return [answer["receipt"] for answer in document["answers"]]
    return [document["model"]["fitted"]["receipt_"] if "model" in document else document["receipt"]]
