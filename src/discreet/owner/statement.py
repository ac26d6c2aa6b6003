"""What an owner may publish about a policy: whom it protects and how well, what was spent, and what it rests on.

Ordered as NIST SP 800-226 builds a claim of differential privacy, from its top (ε and the unit) to its ground (how data
was collected), with the fields of public registries of deployments. Everything here comes from the policy, from the
ledger's amounts and from fixed words: no source is opened, no text of a question and no answer is repeated (an analyst
may have written what they know about somebody into a question), and no file or host is named.
"""

from __future__ import annotations

import math
import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from fractions import Fraction
from importlib import metadata
from typing import Any, Final

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.balance import Amount, Balance
from discreet.accounting.losses import Sensitivity
from discreet.accounting.odds import FAILURE, odds
from discreet.accounting.record import OWNER, Entry
from discreet.accounting.rounding import UNITS
from discreet.curator.state import balances, entries, grant_of, lifetime, streams
from discreet.mechanisms import Exponential, Gaussian, KeySelection, Laplace
from discreet.mechanisms.calibrated import additive
from discreet.mechanisms.quantile import Points, Tree
from discreet.policy import Percentage, Policy
from discreet.policy.model import Column, Table
from discreet.version import __version__

FORM: Final = "discreet statement"
VERSION: Final = 1
ANALYST: Final = "analyst"
PACKAGES: Final = ("numpy", "duckdb", "sqlglot")
PURE: Final = (Laplace, Tree, Points, Exponential)
WITH_DELTA: Final = (Gaussian, Laplace, KeySelection, Tree, Points)
SHARE: Final = Percentage(Fraction(1, 10))
"""Of the budget: what an example of accuracy costs."""
CONFIDENCE: Final = 0.95

TRUST: Final = (
    "Central model: the owner holds the rows and runs the curator; analysts see noisy answers alone.",
    "Interactive: each question may depend on all answers before it.",
    "What a question costs is known from its text and charged, on a durable ledger, before any row is read.",
    "Analysts are not trusted, not even all of them together with anything they know from elsewhere.",
    "Rows are not trusted: each may be written by the person it is about.",
)
ASSUMPTIONS: Final = (
    "The unit is the right one: nobody is in the data under two identifiers.",
    "Bounds, declared values and public tables were chosen without looking at the private rows.",
    "Nothing else about the same people is released without being counted: other policies and tools add to the loss.",
    "The machine, its operating system and its random numbers do what they say, and nobody else reads its files.",
)
NOT_COVERED: Final = (
    "Groups: k people who belong together are protected with k times the ε (k² times the ρ).",
    "What is true of many: facts about a population are learned with or without any one person, and believed of them.",
    "Those who may read the rows themselves: the owner, and whoever gets hold of the files or their backups.",
    "Side channels of a shared machine: caches, power, memory. Times of answers are coarse, not equal.",
    "Mistakes of statistics: noise protects people; small groups mislead as their error bars say.",
)
UNPROTECTED: Final = (
    "names of tables, columns and declared values, bounds, the number of questions and their costs, and when data was "
    "read anew"
)


def statement(
    policy: Policy, *, audit: Mapping[str, Any] | None = None, names: bool = True, now: datetime | None = None
) -> dict[str, Any]:
    """The statement, as JSON can carry it. `audit` is the verdict of one; without `names` analysts are numbered."""
    standing, charged, whole = balances(policy), entries(policy), lifetime(policy)
    made = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    return {
        "form": FORM,
        "version": VERSION,
        "made": made,
        "name": policy.name,
        "owner": dict(policy.statement),
        "guarantee": _guarantee(policy, whole),
        "released": _released(policy, standing, charged, names=names),
        "accuracy": _accuracy(policy),
        "mechanisms": [_theorem(each) for each in (PURE if policy.budget.delta is None else WITH_DELTA)],
        "composition": _composition(policy),
        "tables": [_table(policy, table) for table in policy.tables.values()],
        "trust": list(TRUST),
        "security": _security(policy),
        "assumptions": list(ASSUMPTIONS),
        "not_covered": list(NOT_COVERED),
        "audit": None if audit is None else dict(audit),
        "software": _software(),
        "registry": _registry(policy, whole, charged, made),
    }


def _guarantee(policy: Policy, balance: Balance) -> dict[str, Any]:
    total, spent, life = balance.total, balance.spent, balance.lifetime
    return {
        "unit": policy.unit,
        "neighbours": f"two data sets of which one has all rows of one {policy.unit} more than the other",
        "kind": "pure differential privacy" if total.delta is None else "(ε, δ), counted as concentrated (zCDP)",
        "budget": asdict(total),
        "spent": asdict(spent),
        "windows": {
            "open": life.window if life else 1,
            "most": policy.budget.max_windows or (life.most if life else 1),
        },
        "units": {unit: asdict(amount) for unit, amount in balance.units.items()},
        "means": {"budget": belief(total, halved=True), "spent": belief(spent)},
    }


def belief(amount: Amount, *, halved: bool = False) -> dict[str, float]:
    """What somebody believes at most, who held it as likely as not that a certain unit is in the data."""
    delta = Fraction(repr(amount.delta or 0.0)) / (2 if halved else 1)  # the other half turns ρ into ε
    rho = None if amount.rho is None else Fraction(repr(amount.rho))
    loss: Loss = Pure(Fraction(repr(amount.epsilon))) if rho is None else Concentrated(rho, delta)
    moved = odds(loss, failure=max(Fraction(str(FAILURE)), min(10 * delta, (1 + delta) / 2)))
    return {"before": 0.5, "after": _after(moved.exponent), "failure": moved.failure}


def _after(exponent: float) -> float:
    """Odds of one to one that grow by e^x, as a probability, rounded up at the fourth decimal."""
    return min(1.0, math.ceil(1e4 / (1.0 + math.exp(-exponent))) / 1e4)


def _released(
    policy: Policy, standing: Mapping[str | None, Balance], charged: Sequence[Entry], *, names: bool
) -> dict[str, Any]:
    counts = Counter(entry.analyst for entry in charged)
    listed = [*sorted({*counts, *policy.analysts} - {OWNER}), *([OWNER] if OWNER in counts else [])]
    shown = {who: f"{ANALYST} {number}" for number, who in enumerate(listed, start=1) if who != OWNER and not names}
    return {
        "charges": len(charged),
        "first": charged[0].at[:10] if charged else None,
        "last": charged[-1].at[:10] if charged else None,
        "by": [{"analyst": shown.get(who, who), "charges": counts[who], **_share(standing.get(who))} for who in listed],
        "data_versions": [
            {"version": version, "first": first[:10], "charges": count} for version, first, count in _versions(charged)
        ],
        "streams": [_stream(policy, name) for name in streams(policy)],
    }


def _share(balance: Balance | None) -> dict[str, Any]:
    return {"share": asdict(balance.total), "spent": asdict(balance.spent)} if balance else {}


def _versions(charged: Iterable[Entry]) -> list[tuple[int, str, int]]:
    seen: dict[int, tuple[str, int]] = {}
    for entry in charged:
        first, count = seen.get(entry.data_version, (entry.at, 0))
        seen[entry.data_version] = first, count + 1
    return [(number, *seen[number]) for number in sorted(seen)]


def _stream(policy: Policy, name: str) -> dict[str, Any]:
    table = policy.tables.get(name)
    stream = None if table is None else table.stream
    if stream is None:
        return {"name": name}
    delta = None if stream.delta is None else float(stream.delta)
    return {"name": name, "protects": stream.protects, "epsilon": float(stream.epsilon), "delta": delta}


def _accuracy(policy: Policy) -> list[dict[str, Any]]:
    """What a count of rows of each private table would cost a tenth of the budget: within which distance it lies."""
    cost = Fraction(grant_of(policy).share_limits(SHARE)[0], UNITS)
    epsilon, rho = (cost, None) if policy.budget.delta is None else (None, cost)
    return [
        {
            "table": table.name,
            "question": "how many rows",
            "cost": {"epsilon": float(cost)} if rho is None else {"rho": float(cost)},
            "within": float(additive(Sensitivity.cells(1, table.max_rows), epsilon=epsilon, rho=rho).error(CONFIDENCE)),
            "confidence": CONFIDENCE,
        }
        for table in policy.private_tables.values()
        if cost
    ]


def _theorem(mechanism: type) -> dict[str, str]:
    """What a mechanism promises, in the words that stand beside its code."""
    text = mechanism.__doc__ or ""
    return {"name": mechanism.__name__, "theorem": _passage(text, "Theorem"), "source": _passage(text, "Source")}


def _passage(text: str, heading: str) -> str:
    """What stands behind a heading in a docstring, until the next.

    >>> _passage("Add noise.\\n\\n    Theorem  ε-DP,\\n             always.\\n    Proof    By hand.", "Theorem")
    'ε-DP, always.'
    """
    passage = re.search(rf"^ *{heading} {{2,}}(.*?)(?=^ *[A-Z][a-z]+ {{2,}}|^\s*$|\Z)", text, re.MULTILINE | re.DOTALL)
    return "" if passage is None else " ".join(passage[1].split())


def _composition(policy: Policy) -> str:
    if policy.budget.delta is None:
        return "ε of all answers add up, also if every next question is chosen after seeing all answers (pure filter)."
    return (
        "ρ and δ of all answers add up, also if every next question is chosen after seeing all answers (zCDP filter); "
        "half of δ turns the sum of ρ into ε, the other half is for keys that are private."
    )


def _table(policy: Policy, table: Table) -> dict[str, Any]:
    if table.is_public:
        return {"name": table.name, "public": True}
    return {
        "name": table.name,
        "public": False,
        "max_rows": table.max_rows,
        "max_groups": table.max_groups,
        "max_rows_per_group": table.max_rows_per_group,
        "unit": policy.unit if table.owner is not None and table.owner.column else "row",
        "columns": [_column(column) for column in table.columns.values()],
    }


def _column(column: Column) -> dict[str, Any]:
    low, high = column.bounds or (None, None)
    return {
        "name": column.name,
        "type": column.kind.value,
        "min": _bound(low),
        "max": _bound(high),
        "values": None if column.values is None else len(column.values),
    }


def _bound(bound: Fraction | date | None) -> float | str | None:
    if not isinstance(bound, Fraction):
        return None if bound is None else bound.isoformat()
    return int(bound) if bound.denominator == 1 else float(bound)


def _security(policy: Policy) -> list[str]:
    pad = policy.serving.pad_ms
    times = f"are rounded up to 1, 2, 4, 8, … times {pad} ms" if pad else "are not rounded (pad_ms = 0)"
    return [
        "Noise is drawn from the operating system's random numbers, as exact integers: no float stands before it.",
        "Errors, order, keys, notes and sizes do not depend on any one unit beyond what is charged.",
        f"Times of a server's answers {times}; a question is given up after {policy.serving.time_limit} s.",
        "The ledger is a chain of hashes on disk: charges are there before answers, and changes are noticed.",
    ]


def _software() -> dict[str, str]:
    return {
        "discreet": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: number for name in PACKAGES if (number := _version(name))},
        "system": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _registry(policy: Policy, balance: Balance, charged: Sequence[Entry], made: str) -> dict[str, Any]:
    """The fields that public registries of deployments ask for, in their order."""
    said, total = policy.statement, balance.total
    return {
        "data_curator": said.get("curator"),
        "intended_use": said.get("purpose"),
        "data_product": "answers to queries",
        "publication_date": charged[0].at[:10] if charged else made[:10],
        "flavor": "pure DP" if total.delta is None else "approximate DP, accounted as zero-concentrated DP",
        "privacy_unit": f"one {policy.unit} with all its rows",
        "neighbouring_relation": "add or remove one unit",
        "privacy_loss_parameters": asdict(total),
        "model": "central, interactive, adaptive",
        "unprotected_quantities": UNPROTECTED,
        "composition": _composition(policy),
        "post_processing": "answers may be used freely: no later use costs anything",
        "mechanisms": [each.__name__ for each in (PURE if policy.budget.delta is None else WITH_DELTA)],
        "implementation": f"discreet {__version__}",
        "justification": said.get("rationale"),
        "contact": said.get("contact"),
    }
