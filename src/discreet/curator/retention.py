"""Erasing texts and answers that are older than the policy keeps them: when its owner refreshes, or says so.

No clock does it, and nobody who asks: what is cached, and hence free, changes by what the owner does, on the record.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from discreet.curator.saved import SavedQueries
from discreet.ledger import Ledger
from discreet.ledger.retention import NOTHING, Limits, Retained
from discreet.policy import Policy

REASON: Final = "older than the policy's retention"


def limits_of(policy: Policy) -> Limits:
    """The moments before which texts and answers go, as of now."""
    retention = policy.retention
    spans = (None if span is None else span.time for span in (retention.questions, retention.answers))
    return Limits.before(datetime.now(UTC), *spans)


def retain(policy: Policy, ledger: Ledger) -> Retained:
    """Erase from a ledger what is too old; nothing, if the policy keeps all for good."""
    if not policy.retention:
        return NOTHING
    done = ledger.retain(limits_of(policy), REASON)
    return replace(done, left=tuple(sorted(path.name for path in policy.state.glob("*.replaced-[0-9]*"))))


def with_saved(policy: Policy, done: Retained) -> Retained:
    """The same, and saved queries: texts as others are, which go when nobody saved them again in time."""
    limit = limits_of(policy).questions
    if limit is None:
        return done
    with closing(SavedQueries.of(policy)) as saved:
        count, gone = saved.forget(limit)
    return replace(done, saved=count, gone=done.gone and gone)
