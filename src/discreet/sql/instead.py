"""What to write instead of functions that are not on the list, or why there is nothing: by name, then by family."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Instead(NamedTuple):
    """Why a function is not there, and what to write."""

    reason: str
    fix: str
    name: str | None = None
    """A function that takes the same arguments and means the same."""


_SAME: Final = {
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "STRLEN": "LENGTH",
    "LEN": "LENGTH",
    "PREFIX": "STARTS_WITH",
    "STARTSWITH": "STARTS_WITH",
    "SUFFIX": "ENDS_WITH",
    "ENDSWITH": "ENDS_WITH",
    "CONTAINS_SUBSTR": "CONTAINS",
    "NVL": "COALESCE",
    "TRY_DIVIDE": "SAFE_DIVIDE",
    "SUMKAHAN": "SUM",
    "KAHAN_SUM": "SUM",
    "FSUM": "SUM",
    "SUM_NO_OVERFLOW": "SUM",
    "FAVG": "AVG",
    "MEAN": "AVG",
    "GEOMETRIC_MEAN": "GEOMEAN",
    "HLL": "APPROX_COUNT_DISTINCT",
    "HLL_COUNT_DISTINCT": "APPROX_COUNT_DISTINCT",
    "NDV": "APPROX_COUNT_DISTINCT",
    "APPROX_PERCENTILE": "APPROX_QUANTILE",
    "PERCENTILE": "QUANTILE",
    "PERCENTILE_APPROX": "APPROX_QUANTILE",
    "RESERVOIR_QUANTILE": "APPROX_QUANTILE",
    "SYSDATE": "CURRENT_TIMESTAMP",
    "GETDATE": "CURRENT_TIMESTAMP",
    "LOCALTIMESTAMP": "CURRENT_TIMESTAMP",
    "TODAY": "CURRENT_DATE",
    "CURDATE": "CURRENT_DATE",
    "CEILING": "CEIL",
    "POW": "POWER",
    "SUBSTRING": "SUBSTR",
    "MID": "SUBSTR",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "DAYOFMONTH": "DAY",
    "DAY_OF_MONTH": "DAY",
    "DAY_OF_WEEK": "DAYOFWEEK",
    "DAY_OF_YEAR": "DAYOFYEAR",
    "WEEKOFYEAR": "WEEK",
    "WEEK_OF_YEAR": "WEEK",
    "WEEKISO": "WEEK",
    "TIMESTAMP_TRUNC": "DATE_TRUNC",
    "TIMESTAMP_DIFF": "DATE_DIFF",
    "DATEPART": "DATE_PART",
    "STDEV": "STDDEV",
    "STDEVP": "STDDEV_POP",
    "VARP": "VAR_POP",
    "IIF": "IF",
    "IFF": "IF",
    "SAFE_CAST": "TRY_CAST",
    "TRUNCATE": "TRUNC",
    "SIGNUM": "SIGN",
    "VARIANCE_POP": "VAR_POP",
    "VARIANCE_SAMP": "VAR_SAMP",
    "TIMESTAMP_ADD": "DATE_ADD",
    "TIMESTAMP_SUB": "DATE_SUB",
    "DATETIME_TRUNC": "DATE_TRUNC",
    "DATETIME_DIFF": "DATE_DIFF",
    "DATETIME_ADD": "DATE_ADD",
    "DATETIME_SUB": "DATE_SUB",
    "APPROX_DISTINCT": "APPROX_COUNT_DISTINCT",
    "APPROX_TOP_K": "APPROX_TOP_COUNT",
    "NOW": "CURRENT_TIMESTAMP",
    "TRANSACTION_TIMESTAMP": "CURRENT_TIMESTAMP",
    "SYSTIMESTAMP": "CURRENT_TIMESTAMP",
}
"""Other names of what is there."""
_ONE_VALUE: Final = "columns hold single values here, no lists, maps or documents"
_COLUMN: Final = "ask the owner to declare the part that you need as a column"
_FAMILIES: Final[tuple[tuple[str, Instead], ...]] = tuple(
    (pattern, Instead(reason, fix))
    for pattern, reason, fix in (
        (r"REGEXP.*|RLIKE|SIMILAR TO|GLOB|.*REGEX.*|ILIKE_.*|LIKE_.*|NOT_I?LIKE_.*",
         "a pattern of this kind may take any time in a row", "use LIKE, STARTS_WITH, ENDS_WITH or CONTAINS"),
        ((r"RAND.*|.*UUID.*|SETSEED|NORMAL|UNIFORM|BINOM|ZIPF|SHUFFLE|(FARM|CITY|XX|STANDARD)?_?(HASH|FINGERPRINT).*"
         r"|.*_?HASH\d*|M_?D5.*|S_?H_?A\d*.*|CRC32|MINHASH.*|SEQ\d"),
         "the same query must mean the same when it is asked again", "leave it out"),
        ((r"(STRING|ARRAY|JSONB?|XML|MAP|HISTOGRAM|STRUCT|OBJECT|LIST|BITSTRING|HASH)_?AGG|LIST|LISTAGG|GROUP_CONCAT"
         r"|COLLECT_(LIST|SET)|(ARRAY_(CONCAT|UNION|UNIQUE)|JSONB?_OBJECT)_AGG|AI_AGG|.*SUMMARIZE_AGG"),
         "it would show the values of rows", "use APPROX_TOP_COUNT(x, 10), HISTOGRAM(x, 10) or COUNT(DISTINCT x)"),
        (r"FIRST(_VALUE)?|LAST(_VALUE)?|NTH_VALUE|ARBITRARY|ARG_?M(AX|IN).*|M(AX|IN)_BY|MAX_?N|MIN_?N",
         "it would show a row's own value", "use MODE(x), MEDIAN(x) or APPROX_TOP_COUNT(x, 10)"),
        ((r"(BOOL|LOGICAL|BIT|BITWISE)_?(AND|OR|XOR)(_?AGG)?|EVERY|SOME|BOOL(AND|OR|XOR)_AGG|BIT(AND|OR|XOR)_?AGG"
         r"|BITMAP_.*"),
         "one row alone decides it", "use COUNT_IF(x), or COUNT_IF(x) / COUNT(*)"),
        (r"COUNT_STAR", "rows are counted by a star", "write COUNT(*)"),
        (r"SEM", "it is a quotient of two releases", "write STDDEV(x) / SQRT(COUNT(x))"),
        ((r"APPROX_(TOP_K|PERCENTILE)_.*|COMBINE.*|FINALIZE|TO_AGGREGATE_STATE|ANONYMOUS_AGG.*|PARAMETERIZED_AGG|AGG"),
         "states of an aggregate are made of rows", "use APPROX_TOP_COUNT(x, 10), APPROX_QUANTILE(x, 0.5) or SUM(x)"),
        (r"SKEWNESS|SKEW|KURTOSIS.*|ENTROPY|MAD",
         "no release of higher moments is proven here", "use VARIANCE(x), STDDEV(x) or HISTOGRAM(x, 10)"),
        (r"REGR_(R2|SXX|SYY|SXY)", "the release is of slope, intercept and correlation",
         "use CORR(y, x), whose square is R², COVAR_POP(y, x) or VAR_POP(x)"),
        (r"REGR_(AVGX|AVGY|VALX|VALY|COUNT)", "its rows can be counted directly",
         "write AVG(x) FILTER (WHERE y IS NOT NULL), or COUNT_IF(x IS NOT NULL AND y IS NOT NULL)"),
        (r"GROUPING(_ID)?", "it tells sets of keys apart, and there is one set here",
         "use it with GROUP BY ROLLUP (a, b), CUBE or GROUPING SETS"),
        (r"PRODUCT", "a product has no bounds that a sum of logarithms does not have", "use GEOMEAN(x) and COUNT(x)"),
        (r"PERCENTILE_DISC|QUANTILE_DISC", "quantiles lie between values here", "use PERCENTILE_CONT(x, 0.5)"),
        (r"RANK|DENSE_RANK|ROW_NUMBER|NTILE|PERCENT_RANK|CUME_DIST|LAG|LEAD|SEQUENCE_.*",
         "it needs rows in order: those of one unit, or released ones",
         "write it with OVER (PARTITION BY the unit ORDER BY …), or use WIDTH_BUCKET(x, 0, 100, 10)"),
        ((r"((TRY_|SAFE_)?(TO|PARSE|STR_TO|FROM_ISO8601|DATE_STR_TO|STR_TO)_?(DATE|TIMESTAMP|DATETIME|TIME)(_.*)?"
         r"|(TRY_)?STRPTIME|FROM_ISO8601.*|.*STR_TO_(DATE|TIME).*|TS_OR_D.*|DI_TO_.*)"),
         "texts are read as dates in one way", "write CAST(w AS DATE), for texts such as 2026-01-31"),
        (r"AGE|ADD_MONTHS", "times are counted in periods",
         "use DATE_DIFF('year', x, CURRENT_DATE), or d + INTERVAL '1' MONTH"),
        (r"(TO|FROM)_?UNIX.*|UNIX_.*|EPOCH.*|.*_TO_UNIX|TIMESTAMP_(MICROS|MILLIS|SECONDS)|DATE_FROM_UNIX.*|JULIAN.*",
         "times are no numbers here", "use DATE_DIFF('minute', first, last)"),
        ((r"TO_(CENTURIES|DECADES|MILLENNIA|MILLISECONDS|MICROSECONDS|SECONDS|MINUTES|HOURS|DAYS|WEEKS|MONTHS|YEARS|"
         r"QUARTERS)|MAKE_INTERVAL|JUSTIFY_.*|NORMALIZED_INTERVAL"),
         "periods are written out", "write d + INTERVAL '3' DAY, or DATE_ADD"),
        ((r"LAST_DAY.*|NEXT_DAY|PREVIOUS_DAY|MONTHS_BETWEEN|.*FROM_?PARTS|MAKE_(DATE|TIME|TIMESTAMP).*|TIME_(SLICE|BUCKET)"
         r"|DATE_?BIN|DATE_FROM.*|MONTHNAME|DAYNAME|YEAR_?OF_?WEEK.*|YEARWEEK|ERA|TIMEZONE.*|CONVERT_TIMEZONE|AT_TIMEZONE"
         r"|CENTURY|DECADE|MILLENNIUM|(MILLI|MICRO|NANO)?SECOND|SEC|WEEK_START|ISODOW|WEEKDAY|.*_?ISO|UTC_.*|.*_UTC_TIMESTAMP|FORMAT_TIMESTAMP|DATE_FORMAT|TIMESTAMP.*|TIME(_.*|ADD|DIFF|SUB)?|DATE|DATETIME|LOCALTIME|CURRENT_TIME|FORMAT_(DATETIME|"
         r"TIME)|TIME_TO.*|DATE_TO.*|OVERLAPS|ISOYEAR"),
         "dates are cut, moved and compared in few ways, whose ends are known",
         "use DATE_TRUNC('month', d), DATE_DIFF('month', a, b), EXTRACT(month FROM d), STRFTIME(d, '%Y-%m')"),
        ((r"(TRY_)?TO_(NUMBER|NUMERIC|DECIMAL|DECFLOAT|DOUBLE)|PARSE_(BIG)?NUMERIC|(LAX_)?(FLOAT64|INT64)|DOUBLE|INT|"
         r"INTEGER|BIGINT|DECIMAL(_.*)?|FLOAT|CONVERT"), "numbers are read in one way", "write CAST(x AS DOUBLE)"),
        ((r"(TRY_)?TO_(CHAR|VARCHAR|TEXT)|NUMBER_TO_STR|(LAX_)?STRING|FORMAT(_STRING|_NUMBER)?|PRINTF|FORMATREADABLE.*"
         r"|FORMAT_BYTES|PARSE_FORMATTED_BYTES"),
         "texts are written in one way", "write CAST(x AS TEXT), or STRFTIME(d, '%Y-%m') of a date"),
        (r"(TRY_)?TO_BOOLEAN|(LAX_)?BOOL(EAN)?|BOOLNOT|BOOL(AND|OR|XOR)|XOR",
         "conditions are written out", "write CAST(x AS BOOLEAN), AND, OR, NOT, or a <> b"),
        (r"IS_?(NAN|FINITE|INF.*)|NANVL|EQUAL_NULL", "NaN and what is not finite count as NULL", "write x IS NULL"),
        (r"NVL2|ZEROIFNULL|DIV0.*|.*_IGNORE_NULLS|IS_?NULL(_VALUE)?|SWITCH|CASE|DECODE(_CASE)?|ELT|FIELD|CHOOSE|NULLIFZERO",
         "choices are written out", "write CASE WHEN … THEN … END"),
        (r"RANGE_BUCKET|EQUI_WIDTH_BINS|BUCKET|RANGE_N|HISTOGRAM_.*|IS_HISTOGRAM.*",
         "parts are of equal width", "use WIDTH_BUCKET(x, 0, 100, 10), or CASE WHEN … THEN … END"),
        ((r"A?(SIN|COS|TAN)H?|ATAN2|COTH?|SECH?|CSCH?|DEGREES|RADIANS|FACTORIAL|L?GAMMA|GCD|LCM|GREATEST_COMMON_DIVISOR"
         r"|LEAST_COMMON_MULTIPLE|EVEN|ROUND_EVEN|RINT|SQUARE|LOG2|LOG1P|EXPM1|HYPOT|SIGNBIT|NEXTAFTER|BIT_COUNT|ROUNDBANKERS|ADD|SUBTRACT|MULTIPLY|DIVIDE|NEGATIVE|SAFE_.*"
         r"|TRY_(ADD|SUBTRACT|MULTIPLY|MOD)|DIV"),
         "arithmetic is what has bounds: + - * / %, ABS, ROUND, SQRT, LN, EXP, POWER",
         "write it with these, or compute it from the answer, in Python"),
        (r"CBRT", "roots are powers", "write POWER(x, 1.0 / 3)"),
        (r"(ICU_)?COLLAT.*|ICU_SORT_KEY|STRIP_ACCENTS|NFC_NORMALIZE|NORMALIZE.*|WEIGHT_STRING|UNACCENT|INITCAP",
         "texts are compared letter by letter", "use LOWER(x) or UPPER(x)"),
        ((r"LEVENSHTEIN.*|DAMERAU.*|JARO.*|JACCARD|HAMMING|MISMATCHES|EDIT_?DIST.*|SOUNDEX.*|METAPHONE|.*SIMILARITY"
         r"|DIFFERENCE|.*JACCARD.*|MATCH_AGAINST|SEARCH.*"),
         "comparing texts that way may take any time in a row", "use LIKE, CONTAINS, or compare LOWER(x)"),
        ((r"ARRAY.*|LIST_.*|.*_?ARRAY|MAP.*|STRUCT.*|ROW(_TO_JSON)?|OBJECT.*|.*_?JSONB?(_.*)?|.*J_S_O_N.*|VARIANT.*|UNION_.*"
         r"|ENUM_.*|.*XML.*|EXPLODE.*|POSEXPLODE.*|INLINE.*|UNNEST|UNPIVOT.*|FLATTEN|ELEMENT_AT|TRY_ELEMENT_AT|CARDINALITY"
         r"|SIZE|GET(_PATH|_IGNORE_CASE)?|NAMED_STRUCT|SORT_ARRAY|SLICE|STACK|APPLY|FILTER|REDUCE|TRANSFORM|AGGREGATE"
         r"|GRADE_UP|TO_(VARIANT|MAP)|STAR_MAP|LTTB|VERTEX_EXTRACT|.*_TO_MAP|.*_TO_ARRAY|REMAP_.*|GETBIT|SPLIT_TO_TABLE|STRTOK_SPLIT.*|STRIP_NULL_VALUE"),
         _ONE_VALUE, _COLUMN),
        ((r"SPLIT.*|STR(ING)?_SPLIT.*|STRTOK.*|SUBSTRING_INDEX|REPLACE|TRANSLATE|OVERLAY|STUFF|INSERT|REPEAT|REVERSE|[LR]PAD|"
         r"(LEFT|RIGHT)PAD|PAD|SPACE|RIGHT|.*GRAPHEME|CONCAT_WS|QUOTE|POSITION|INSTR|STRPOS|CHARINDEX|STR_POSITION|"
         r"LOCATE|"
         r"PARSE_(URL|IP|DIR.*|FILE.*|PATH)|URL_.*|HOST|REG_DOMAIN|PATH_.*|.TRIM|BAR|TRIM_.*|RTRIMMED_LENGTH"),
         "texts are compared, and cut from the left", "use SUBSTR(w, 1, 3), LIKE or CONTAINS, or group by CASE"),
        ((r"BIT.*|GET_BIT|SET_BIT|SHIFT.*|.*SHIFT(LEFT|RIGHT)|.*(HEX|BASE\d*|BINARY|UTF8|BLOB|BYTES|ENCODE|DECODE|"
         r"ENCRYPT|DECRYPT|COMPRESS|CODE_POINTS|CHARSET).*|CHR|CHAR|ASCII|UNICODE|ORD|.*BYTE_COMPARABLE|BIN|UNBIN|(OCTET|BYTE)_LENGTH|"
         r"IS_ASCII|DECOMPRESS.*|BASE\d+.*|MD5_.*"),
         "texts and numbers are not taken to pieces by bits", "compare them with =, LIKE or CONTAINS"),
        (r"GENERATE(_.*)?|GENERATOR|SEQUENCE|RANGE|READ_.*|TABLE|.*_SEARCH|GAP_FILL|EXPLODING.*|CONNECT_BY.*",
         "rows come from the tables of the policy", "write FROM and the name of a table"),
        (r"ST_.*|TO_GEO.*|.*GEOMETRY.*|.*GEOGRAPHY.*|H3_.*|S2_.*|(VECTOR|ARRAY|LIST|COSINE|EUCLIDEAN|MANHATTAN)_.*|DOT_PRODUCT",
         "places and vectors are no values here", "ask the owner to declare a region, or numbers, as columns"),
        (r"AI_.*|A_I_.*|M_?L_.*|PREDICT|EMBED.*|FEATURES_AT_TIME|SENTIMENT",
         "a model's answer about a row has no bounds", "train one privately: see learn"),
        ((r"CURRENT_(?!DATE|TIMESTAMP).*|SESSION_USER|USER|VERSION|TXID.*|NEXTVAL|CURRVAL|SETVAL|SLEEP.*|PG_.*|ERROR|"
         r"WRITE_LOG|TYPEOF|GET_TYPE|.*_TYPE|IN_SEARCH_PATH|VECTOR_TYPE|GETENV|GETVARIABLE|INVOKE|TRY|IDENTIFIER|.*INTERNAL.*|(TRY_)?TO_FILE|SECRET|STATS|ALIAS"
         r"|CAN_CAST_.*|CONSTANT_OR_NULL|CREATE_SORT_KEY|GET_CURRENT_.*|HIVE_.*|INDEX_KEY|PARSE_DUCKDB.*|NET_FUNC|COLUMNS"
         r"|NEXT_VALUE_FOR|DYNAMIC_IDENTIFIER|SCOPE_RESOLUTION|GET_EXTRACT"),
         "an answer depends on text, policy and rows alone", "leave it out"),
    )
)  # fmt: skip


def instead(word: str) -> Instead | None:
    """What is said of a function, by its name in capitals; None of one that nobody knows."""
    same = _SAME.get(word)
    if same is not None:
        return Instead(f"it is called {same} here", f"write {same}", same)
    return next((said for pattern, said in _FAMILIES if re.fullmatch(pattern, word)), None)
