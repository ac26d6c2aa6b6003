"""How people ask in Python: the same words whether a curator is here or behind a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from discreet.answers import Answer, Preview
from discreet.answers.call import Call


class Asks(ABC):
    """Somebody who answers questions and tells beforehand what they would cost."""

    @abstractmethod
    def answer(self, call: Call) -> Answer:
        """The answer to what a caller says."""

    @abstractmethod
    def preview_of(self, call: Call) -> Preview:
        """The preview of what a caller says."""

    def query(
        self,
        sql: Any,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        dialect: str | None = None,
    ) -> Answer:
        """Answer a question, in SQL or as an ibis expression: noisy, with intervals, charged.

        A cached answer of the same cost or more is free.

        `EXPLAIN PRIVACY SELECT …` gives its preview as a table, free.
        """
        return self.answer(
            Call(
                sql=sql, epsilon=epsilon, rho=rho, delta=delta, error=error, confidence=confidence,
                params=params, analyst=analyst, fresh=fresh, dialect=dialect,
            )
        )  # fmt: skip

    def preview(
        self,
        sql: Any,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        dialect: str | None = None,
    ) -> Preview:
        """What a query, in SQL or as a task, would cost and how exact its answer would be. Free: no data is read."""
        if hasattr(sql, "prepared"):
            return self.preview_of(sql)
        return self.preview_of(
            Call(
                sql=sql, epsilon=epsilon, rho=rho, delta=delta, error=error, confidence=confidence,
                params=params, analyst=analyst, dialect=dialect,
            )
        )  # fmt: skip
