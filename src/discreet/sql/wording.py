"""What is said about a function that is not on the list: what to use instead, or why there is none."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.sql.instead import instead
from discreet.sql.places import MAX_WORD, about, spelled

NAMES: Final = (
    *("ABS", "ANY_VALUE", "APPROX_COUNT_DISTINCT", "APPROX_QUANTILE", "APPROX_QUANTILES", "APPROX_TOP_COUNT", "AVG"),
    *(
        "CAST",
        "CEIL",
        "CLAMP",
        "COALESCE",
        "CONCAT",
        "CONTAINS",
        "CORR",
        "COUNT",
        "COUNT_IF",
        "COVAR_POP",
        "COVAR_SAMP",
    ),
    *("CURRENT_DATE", "CURRENT_TIMESTAMP", "DATE_ADD", "DATE_DIFF", "DATE_PART", "DATE_SUB", "DATE_TRUNC", "DAY"),
    *("DAYOFWEEK", "DAYOFYEAR", "ENDS_WITH", "EXP", "EXTRACT", "FLOOR", "GEOMEAN", "GREATEST", "HISTOGRAM", "HOUR"),
    *(
        "IF",
        "IFNULL",
        "LEAST",
        "LEFT",
        "LENGTH",
        "LN",
        "LOG",
        "LOG10",
        "LOWER",
        "MAX",
        "MEDIAN",
        "MIN",
        "MINUTE",
        "MOD",
        "MODE",
    ),
    *("MONTH", "NULLIF", "PERCENTILE_CONT", "PI", "POWER", "QUANTILE", "QUANTILE_CONT", "QUARTER", "REGR_INTERCEPT"),
    *("REGR_SLOPE", "ROUND", "SAFE_DIVIDE", "SIGN", "SQRT", "STARTS_WITH", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"),
    *("STRFTIME", "SUBSTR", "SUM", "TRIM", "TRUNC", "TRY_CAST", "UPPER", "VAR", "VARIANCE", "VAR_POP", "VAR_SAMP"),
    *("WEEK", "WIDTH_BUCKET", "YEAR"),
)
"""Functions as people write them."""
NEAR: Final = 0.8
"""How alike two names are of which one may be a slip of the other: most functions of other systems are none."""
_ANSWERED: Final = frozenset(
    {"avg", "corr", "count", "countif", "max", "median", "min", "mode", "percentilecont", "quantile", "stddev", "sum"}
)
"""Aggregates that people know and may have put in the wrong place."""


def not_allowed(node: Any) -> Refused:
    """A refusal that names what was written, and what to write instead."""
    return about(_refusal(node), node)


def _refusal(node: Any) -> Refused:
    if isinstance(node, (exp.Subquery, exp.Select, exp.Exists)):
        return Refused("private-subquery", "a subquery cannot stand here", "ask it as a question of its own")
    word = spelled(node)
    if isinstance(node, exp.AggFunc) and node.key in _ANSWERED:
        return Refused(
            "function-not-allowed", f"{word} cannot stand here", "use aggregates in SELECT, HAVING, ORDER BY"
        )
    kind = "aggregates" if isinstance(node, exp.AggFunc) else "functions"
    shown = word if re.fullmatch(r"[A-Z0-9_ ]{1,60}", word) else "this function"
    said = instead(word)
    if said is not None:
        edit = None if said.name is None else Edit(word, said.name)
        reason = f"{word} is not on the list of {kind}: {said.reason}"
        return Refused("function-not-allowed", reason, said.fix, edit=edit)
    (near,) = get_close_matches(word[:MAX_WORD], NAMES, n=1, cutoff=NEAR) or (None,)
    if near is not None:
        edit = Edit(word, near) if near != word else None
        return Refused(
            "function-not-allowed", f"{shown} is not on the list of {kind}", f"did you mean {near}?", edit=edit
        )
    reason = f"{shown} is not on the list of {kind}: nobody proved that it ends soon and what it can be at most"
    return Refused("function-not-allowed", reason, "ask the owner to declare what it gives as a column")
