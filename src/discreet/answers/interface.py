"""How people ask in Python: the same words whether a curator is here or behind a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.accounting.balance import Balance
from discreet.accounting.record import Entry, Key
from discreet.answers import Answer, Preview
from discreet.answers.call import Call
from discreet.answers.story import StoryLine
from discreet.answers.tables import Tables
from discreet.answers.tasks import Learner, Publisher, Sendable
from discreet.errors import Refused

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.answers.fluent import Rows


class Asks(ABC):
    """Somebody who answers questions and tells beforehand what they would cost."""

    name: str
    """Of the policy, or of the dataset on its server."""

    @abstractmethod
    def answer(self, call: Call) -> Answer:
        """The answer to what a caller says."""

    @abstractmethod
    def perform(self, task: Any) -> Any:
        """What a task, such as `KMeans(3).task(sql, epsilon=1)`, lets out."""

    @abstractmethod
    def preview_of(self, task: Any) -> Preview:
        """The preview of a task, or of what a caller says."""

    def query(
        self,
        sql: Any,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        group_size: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        confirm: bool = False,
        dialect: str | None = None,
        blocks: Any = None,
    ) -> Answer:
        """Answer a question, in SQL or as an ibis expression: noisy, with intervals, charged.

        A cached answer of the same cost or more is free. With `error` the smallest cost for it is found; of an average,
        for groups of `group_size` rows or more. One above a tenth of what is left is charged with `confirm=True` only.

        `EXPLAIN PRIVACY SELECT …` gives its preview as a table, free. `blocks` of a stream are "newest 7", "2024-03",
        "2024-03-01..2024-03-07", or a list of labels or numbers: they are charged, each by itself.
        """
        return self.answer(
            Call(
                sql=sql, epsilon=epsilon, rho=rho, delta=delta, error=error, group_size=group_size,
                confidence=confidence, params=params, analyst=analyst, fresh=fresh, confirm=confirm, dialect=dialect,
                blocks=blocks,
            )
        )  # fmt: skip

    def preview(
        self,
        sql: Any,
        *more: Any,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        group_size: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        dialect: str | None = None,
        blocks: Any = None,
    ) -> Preview:
        """What a query, in SQL or as a task, would cost and how exact its answer would be. Free: no data is read."""
        if more or isinstance(sql, Learner | Publisher):
            raise Refused(
                "syntax",
                "a preview is of one thing: a text, or a task",
                "write preview(sql, epsilon=…), or for a fit preview(estimator.task(sql, epsilon=…))",
            )
        if hasattr(sql, "prepared") or isinstance(sql, Sendable):
            return self.preview_of(sql)
        return self.preview_of(
            Call(
                sql=sql, epsilon=epsilon, rho=rho, delta=delta, error=error, group_size=group_size,
                confidence=confidence, params=params, analyst=analyst, dialect=dialect, blocks=blocks,
            )
        )  # fmt: skip

    # looking

    @property
    @abstractmethod
    def analysts(self) -> tuple[str, ...]:
        """Whose shares whoever asks may look at."""

    @property
    def own_share(self) -> str | None:
        """The analyst whose charges and share are all that whoever asks may see; None where all is seen."""
        return None

    @property
    @abstractmethod
    def usual_cost(self) -> float:
        """An ε for whoever has no other."""

    @abstractmethod
    def budget(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""

    def balances(self) -> dict[str | None, Balance]:
        """The same of everybody (None) and of each analyst whose share may be seen."""
        return {who: self.budget(who) for who in (None, *self.analysts)}

    @abstractmethod
    def entries(self, search: Any = None, *, limit: int | None = None) -> list[Entry]:
        """The ledger: one entry for each charge, newest last. `search` is a `discreet.ledger.Search`."""

    @abstractmethod
    def latest(self, search: Any = None, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first: a page of them, without reading the others."""

    @abstractmethod
    def count(self, search: Any = None) -> int:
        """How many charges there are."""

    @abstractmethod
    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none."""

    @abstractmethod
    def story(self) -> list[StoryLine]:
        """What happened beside charges, oldest first: budgets, windows, refreshes, policies, tokens, withdrawals."""

    def plot(self, theme: str = "light") -> ChartType:
        """An altair chart of what remained of the budget after each charge; `theme` is "light" or "dark".

        Whoever sees one share alone sees what remained of that.
        """
        from discreet.answers.plots import History, budget_chart

        own = self.own_share
        shares = {} if own is not None else {analyst: self.budget(analyst) for analyst in self.analysts}
        return budget_chart(History.of(self, None, self.story()), self.budget(own), shares, theme)

    @abstractmethod
    def tables(self) -> Tables:
        """What an analyst may know: tables, columns, bounds, keys and limits."""

    @abstractmethod
    def public_schema(self, table: str) -> dict[str, str]:
        """The columns of a public table, with the engine's types."""

    def table(self, name: str) -> Rows:
        """The rows of a table, to ask in Python: `hospital.table("visits").where("age > 60").count(epsilon=0.5)`."""
        from discreet.answers.fluent import Rows

        return Rows.of(self, name)

    @abstractmethod
    def dummy(self) -> Asks:
        """The same with dummy data: free, and nothing private is read."""

    @abstractmethod
    def close(self) -> None:
        """Nothing is asked any more."""

    @abstractmethod
    def batched(self, queries: Sequence[str], **options: Any) -> Any:
        """The task of a batch, for `perform` and `preview`; options are those of `batch`."""

    def batch(
        self, queries: Sequence[str], *, epsilon: Any = None, rho: Any = None, delta: Any = None,
        confidence: Any = 0.95, analyst: str | None = None, fresh: bool = False, key: Key | str | None = None,
        blocks: Any = None,
    ) -> list[Answer]:  # fmt: skip
        """Answer several queries for one cost, in one charge.

        Counting queries over the same rows (COUNT(*) by listed keys, with conditions on declared columns) are measured
        together, with less error than one by one; others share the cost side by side.
        """
        cost = {"epsilon": epsilon, "rho": rho, "delta": delta, "confidence": confidence, **_read(blocks)}
        answers: list[Answer] = self.perform(self.batched(queries, **cost, analyst=analyst, fresh=fresh, key=key))
        return answers

    def fit(
        self, estimator: Any, sql: Any, *, epsilon: Any = None, rho: Any = None, delta: Any = None,
        target: str | None = None, max_rows: int | None = None, analyst: str | None = None, fresh: bool = False,
        key: Key | str | None = None, holdout: str | None = None, blocks: Any = None,
    ) -> Any:  # fmt: skip
        """Fit an estimator of `discreet.learn` on the rows of a SELECT: one of each unit, or `max_rows` = k of them.

        The cost is that of a unit with all of them. Facts that the estimator leaves out are those of the policy.
        The same fit again, at the same cost or less, is the cached model, for nothing; `fresh=True` fits anew. `key` is
        a name of yours for this request: asked twice, it is charged once, whatever happened in between.
        `holdout` is a name of yours: a quarter of the units, chosen by it, is left out for `score` to be asked about.
        """
        if isinstance(estimator, type) and issubclass(estimator, Learner):
            made = f"{estimator.__name__}(…)"
            raise Refused("not-private", "a class of estimators learns nothing", f"make an estimator of it: {made}")
        if not isinstance(estimator, Learner):
            raise Refused(
                "not-private",
                "only estimators of discreet.learn learn from private rows",
                "use one of them; preprocess in SQL, or with what is fitted on public data",
            )
        cost = {"epsilon": epsilon, "rho": rho, "delta": delta}
        options = {"target": target, "max_rows": max_rows, "analyst": analyst, "fresh": fresh, "key": key}
        held = {} if holdout is None else {"holdout": holdout}
        return self.perform(estimator.task(sql, **cost, **options, **held, **_read(blocks)))

    def score(
        self, model: Any, sql: Any, *, target: str, metric: str | Sequence[str] | None = None, epsilon: Any = None,
        rho: Any = None, delta: Any = None, holdout: str | None = None, positive: Any = None, y_bounds: Any = None,
        confidence: Any = 0.95, max_rows: int | None = None, analyst: str | None = None, fresh: bool = False,
        key: Key | str | None = None, blocks: Any = None,
    ) -> Any:  # fmt: skip
        """How good a fitted model of `discreet.learn` is on the rows of a SELECT: a `Score` with an interval.

        Several metrics are `Scores`, for one cost. `holdout` scores on the units that a fit with the same name left
        out; without it, rows that the model was fitted on flatter it. The same score again is cached, for nothing, at
        whatever confidence.
        """
        if not isinstance(model, Learner):
            raise Refused(
                "not-private",
                "only fitted models of discreet.learn are scored: what others do with private rows is not known",
                "fit one of them; models of others are scored by discreet.learn.private_score, on rows of your own",
            )
        return self.perform(
            model.score_task(
                sql, target=target, metric=metric, epsilon=epsilon, rho=rho, delta=delta, holdout=holdout,
                positive=positive, y_bounds=y_bounds, confidence=confidence, max_rows=max_rows, analyst=analyst,
                fresh=fresh, key=key, **_read(blocks),
            )
        )  # fmt: skip

    def release(
        self, publication: Any, sql: Any, *, epsilon: Any = None, rho: Any = None, delta: Any = None,
        max_rows: int | None = None, analyst: str | None = None, fresh: bool = False, key: Key | str | None = None,
        blocks: Any = None,
    ) -> Any:  # fmt: skip
        """Publish what a publication of `discreet.release` makes of a table or the rows of a SELECT: charged once.

        One row of each unit is read, or `max_rows` = k of them; the cost is that of a unit with all of them. What was
        published before, at the same cost or more, is shown again, for nothing; `fresh=True` publishes anew.
        """
        return self.perform(
            _publisher(publication).task(
                sql, epsilon=epsilon, rho=rho, delta=delta, max_rows=max_rows, analyst=analyst, fresh=fresh, key=key,
                **_read(blocks),
            )
        )  # fmt: skip

    def preview_release(
        self, publication: Any, sql: Any, *, epsilon: Any = None, rho: Any = None, delta: Any = None,
        max_rows: int | None = None, analyst: str | None = None, blocks: Any = None,
    ) -> Preview:  # fmt: skip
        """What it would cost to publish, and how exact it would be. Free: no private data is read."""
        return self.preview_of(
            _publisher(publication).task(
                sql, epsilon=epsilon, rho=rho, delta=delta, max_rows=max_rows, analyst=analyst, **_read(blocks)
            )
        )


def _read(blocks: Any) -> dict[str, Any]:
    """The blocks that a task reads, for its maker: most tasks are about tables that have none."""
    return {} if blocks is None else {"blocks": blocks}


def _publisher(publication: Any) -> Publisher:
    if not isinstance(publication, Publisher):
        raise Refused(
            "not-private",
            "only publications of discreet.release publish private rows",
            "make one of them, such as Workload.histogram()",
        )
    return publication
