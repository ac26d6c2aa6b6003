"""What is said about a function that is not on the list: what to use instead, or why there is none."""

from __future__ import annotations

import re
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy import suggest
from discreet.sql.places import about, spelled

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
_OWN_VALUE: Final = "it would show a row's own value", "use MODE(x), MEDIAN(x) or APPROX_TOP_COUNT(x, 10)"
_LIST: Final = "it would show the values of rows", "use APPROX_TOP_COUNT(x, 10), HISTOGRAM(x, 10) or COUNT(DISTINCT x)"
_PATTERN: Final = "a pattern of this kind may take any time in a row", "use LIKE, STARTS_WITH, ENDS_WITH or CONTAINS"
_CHANCE: Final = "the same query must mean the same when it is asked again", "leave it out"
_ALL_ROWS: Final = "one row alone decides it", "use COUNT_IF(x), or COUNT_IF(x) / COUNT(*)"
_MOMENT: Final = "no release of higher moments is proven here", "use VARIANCE(x), STDDEV(x) or HISTOGRAM(x, 10)"
_PARSED: Final = "texts are read as dates in one way", "write CAST(w AS DATE), for texts such as 2026-01-31"
_ANGLE: Final = "it is not needed for statistics of rows", "compute it from the answer, in Python"
_REASONS: Final[tuple[tuple[str, tuple[str, str]], ...]] = (
    (r"REGEXP.*|RLIKE|SIMILAR TO|GLOB|.*REGEX.*", _PATTERN),
    (r"RAND|RANDOM|UUID|GEN_RANDOM_UUID|UUID_STRING|SETSEED|HASH|MD5|SHA\d*", _CHANCE),
    (r"(STRING|ARRAY|JSON|XML|MAP|HISTOGRAM|STRUCT|OBJECT)_?AGG|LIST|LISTAGG|GROUP_CONCAT|COLLECT_(LIST|SET)", _LIST),
    (r"FIRST(_VALUE)?|LAST(_VALUE)?|NTH_VALUE|ARBITRARY|ARG_?M(AX|IN)|M(AX|IN)_BY", _OWN_VALUE),
    (r"(BOOL|LOGICAL|BIT)_(AND|OR|XOR)|EVERY|BOOLAND_AGG|BOOLOR_AGG", _ALL_ROWS),
    (r"SKEWNESS|SKEW|KURTOSIS|KURTOSIS_POP|ENTROPY", _MOMENT),
    (r"PERCENTILE_DISC|QUANTILE_DISC", ("quantiles lie between values here", "use PERCENTILE_CONT(x, 0.5)")),
    (r"(TO|PARSE|STR_TO)_DATE.*|STRPTIME|TRY_STRPTIME|PARSE_TIMESTAMP|TO_TIMESTAMP.*", _PARSED),
    (r"A?(SIN|COS|TAN)H?|ATAN2|COT|DEGREES|RADIANS", _ANGLE),
    (r"AGE", ("ages are counted in periods", "use DATE_DIFF('year', x, CURRENT_DATE)")),
    (r"NTILE|PERCENT_RANK|CUME_DIST", ("it would need all rows in order", "use WIDTH_BUCKET(x, 0, 100, 10)")),
    (r"(TO|FROM)_?UNIX.*|UNIX_.*|EPOCH.*", ("times are no numbers here", "use DATE_DIFF('minute', first, last)")),
)
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
    for pattern, (reason, fix) in _REASONS:
        if re.fullmatch(pattern, word):
            return Refused("function-not-allowed", f"{word} is not on the list of {kind}: {reason}", fix)
    shown = word if re.fullmatch(r"[A-Z0-9_ ]{1,60}", word) else "this function"
    near = suggest(word, NAMES)
    fix = f"did you mean {near}?" if near else f"see the {kind} of discreet"
    edit = Edit(word, near) if near and near != word else None
    return Refused("function-not-allowed", f"{shown} is not on the list of {kind}", fix, edit=edit)
