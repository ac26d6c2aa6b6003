"""One person's side over time: fresh reports, or the same one for the same value.

Longitudinal reports are permanent randomised response: the first report of each value is kept, on the person's own
device, and sent again. Averaging them finds nothing more.

Theorem  Of reports up to any time, somebody learns ε for each different value that the person had, however often each
         was sent; without memory, ε for each report.
Proof    Given when the value was which of the earlier ones, the reports are post-processing of one report for each
         different value, drawn independently; those compose.
Not hidden  That a value changed, and when: two different reports in a row say that it did. Whose reports these are: one
         that is sent again and again names its sender, unless somebody strips names and times (a shuffler).
Source   Erlingsson, Pihur & Korolova 2014 (permanent randomised response); Ding, Kulkarni & Yekhanin 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.accounting.losses import Pure
from discreet.accounting.relations import Relation
from discreet.exact import flag
from discreet.local.core import Mechanism
from discreet.noise import Bits

WARNING = (
    "the same value is always reported alike: that a value changed, when, and that reports are of one person shows"
)


class Client:
    """A person's randomiser. `longitudinal=True` memoises: keep `memory`, since whoever forgets reports afresh.

    >>> from discreet.local import warner
    >>> me = Client(warner(1), longitudinal=True)
    >>> me.report(1) == me.report(1)
    True
    >>> me.loss
    Pure(epsilon=1, relation=Relation.REPLACE_ONE)
    """

    def __init__(
        self, mechanism: Mechanism, *, longitudinal: bool = False, memory: Mapping[str, str] | None = None
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise TypeError(f"mechanism must be one of discreet.local, not {type(mechanism).__name__}")
        self.mechanism = mechanism
        self.longitudinal = flag(longitudinal, "longitudinal")
        self._reports = {} if memory is None else self._recalled(memory)
        self._fresh = len(self._reports)

    def report(self, value: Any, bits: Bits | None = None) -> bytes:
        """What to send."""
        key = self.mechanism.key(value)
        if self.longitudinal and key in self._reports:
            return self._reports[key]
        made: bytes = self.mechanism.encode(value, bits)
        self._fresh += 1
        if self.longitudinal:
            self._reports[key] = made
        return made

    @property
    def loss(self) -> Pure:
        """Of all reports so far: see the theorem, and what is not hidden."""
        return Pure(self._fresh * self.mechanism.epsilon, relation=Relation.REPLACE_ONE)

    @property
    def memory(self) -> dict[str, str]:
        """Reports by value, as hexadecimal digits, to be stored where only the person can read it."""
        return {key: report.hex() for key, report in self._reports.items()}

    @property
    def not_hidden(self) -> str:
        """What memory does not hide."""
        return WARNING if self.longitudinal else ""

    def _recalled(self, memory: Mapping[str, str]) -> dict[str, bytes]:
        if not self.longitudinal:
            raise ValueError("memory is of longitudinal reports: say longitudinal=True")
        if not isinstance(memory, Mapping):
            raise TypeError("memory must be a mapping, as `memory` gives it")
        reports = {str(key): bytes.fromhex(report) for key, report in memory.items()}
        if self.mechanism.read(list(reports.values())).bad:
            raise ValueError("memory is of another mechanism, domain or epsilon: its reports do not fit")
        return reports
