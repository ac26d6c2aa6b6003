"""`synthesize`: a synthetic table of a curator's table, or of rows that the caller owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.accounting.record import Key
from discreet.answers.interface import Asks
from discreet.errors import Refused
from discreet.exact import Number
from discreet.release.domain import Bins, Domain
from discreet.release.synthetic.marginals import MarginalSynthesizer
from discreet.release.synthetic.table import SyntheticTable


def synthesize(
    source: Any,
    sql: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    columns: Mapping[str, Any] | Sequence[str] | None = None,
    bins: Bins | None = None,
    max_rows: int | None = None,
    analyst: str | None = None,
    fresh: bool = False,
    key: Key | str | None = None,
    ledger: Any = None,
    verbose: bool = False,
) -> SyntheticTable:
    """A synthetic table, by `MarginalSynthesizer`.

    `synthesize(curator, "patients", epsilon=1)`: of a table or the rows of a SELECT; `columns` names some of them.
    `synthesize(frame, columns={"age": (0, 110), "sex": ["F", "M"]}, epsilon=1, delta=1e-9)`: of rows of your own, one
    for each unit; `columns` says what is public about them, as `Domain.of` takes it.
    """
    if isinstance(source, Asks):
        return _of_curator(
            source, sql, columns, bins, verbose,
            epsilon=epsilon, delta=delta, rho=rho, max_rows=max_rows, analyst=analyst, fresh=fresh, key=key,
        )  # fmt: skip
    if sql is not None or max_rows is not None or analyst is not None or fresh or key is not None:
        reason = "rows of your own have no SQL, analysts, requests or bounds of rows"
        raise Refused("release-invalid", reason, "give the rows, columns= and the cost")
    if not isinstance(columns, Mapping):
        reason = "nothing is known about the columns"
        raise Refused("release-invalid", reason, 'say what is public: columns={"age": (0, 110), "sex": ["F", "M"]}')
    synthesizer = MarginalSynthesizer(domain=Domain.of(columns, bins=bins), verbose=verbose)
    made: SyntheticTable = synthesizer.release(source, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger)
    return made


def _of_curator(
    curator: Asks, sql: Any, columns: object, bins: Bins | None, verbose: bool, **options: Any
) -> SyntheticTable:
    if isinstance(columns, str | Mapping):
        raise Refused(
            "release-invalid", "columns are names here: the policy says what is public", 'give ["age", "sex"]'
        )
    if isinstance(sql, list | tuple | Mapping):
        raise Refused(
            "release-invalid",
            "one table at a time: keys between synthetic tables would have to be invented",
            "synthesize a SELECT that joins them, each by itself, or a parent with its children: synthesize_family",
        )
    names = tuple(columns) if isinstance(columns, Sequence) else None
    synthesizer = MarginalSynthesizer(names=names, bins=bins, verbose=verbose)
    made: SyntheticTable = curator.release(synthesizer, sql, **options)
    return made
