"""How values of PostgreSQL leave it: as lines of COPY's text, written and read by expressions that never fail.

A line is a row, and a tab ends a field, whatever is in it: COPY writes line breaks, tabs and backslashes inside of
values with a backslash, and NULL as one that no text can be. So DuckDB finds rows and fields without any quotes, in
parallel, and an empty text is not NULL.

Theorem  No value makes a line that cannot be read, is longer than a bound of the columns alone, or changes another
         value.
Proof    Which expressions are used follows from the types of columns. Those of PostgreSQL compare, cut and print,
         which are total for these types; a value has at most `VALUE_BYTES` bytes, or is a part and its digest. Those of
         DuckDB are TRY_CASTs, or decode what PostgreSQL encoded.

Texts are written as they are, whatever their collation, and compared bytewise here: citext merges nobody.
What is cut has the digest of all of it behind, and whatever has that length is cut: two names stay two, also where one
is written as the other is cut to. A column holds fewer characters anyway (`quoting.TEXT_LENGTH`). Times outside of the
years 1 to 9999 are NULL, as columns have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.quoting import TEXT_LENGTH, name

VALUE_BYTES: Final = 4 * TEXT_LENGTH
"""Bytes of a value that is written whole."""
CUT_LENGTH: Final = TEXT_LENGTH + 64
CUT_BYTES: Final = TEXT_LENGTH + 32
"""How long a text or bytes are that were cut: others of that length are cut too, so that they are not taken for one."""
FIELD: Final = 2 * VALUE_BYTES + 256
"""Bytes of a field of a line: each may need a backslash."""
PLAIN: Final = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "oid": "UINTEGER",
    "time": "TIME",
}
DATED: Final = {
    "date": ("DATE", "0001-01-01", "9999-12-31"),
    "timestamp": ("TIMESTAMP", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    "timestamptz": ("TIMESTAMP WITH TIME ZONE", "0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
}
TEXTS: Final = frozenset(
    {"text", "varchar", "bpchar", "name", "char", "json", "jsonb", "xml", "uuid", "inet", "cidr", "macaddr", "timetz"}
)
CITEXT: Final = "citext"
MOST_DIGITS: Final = 38
_ESCAPED: Final = {r"\b": 8, r"\t": 9, r"\n": 10, r"\v": 11, r"\f": 12, r"\r": 13}


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a column, below its domains."""

    name: str
    kind: str
    """b: built in or of an extension, e: enum, c: composite, r: range."""
    own: bool
    """Whether it is one of PostgreSQL itself."""
    modifier: int
    shown: str

    @property
    def base(self) -> str:
        if self.kind == "e" or (self.name == CITEXT and not self.own):
            return "text"
        return self.name if self.own and self.kind == "b" else ""


@dataclass(frozen=True, slots=True)
class Field:
    """A column on its way: what PostgreSQL writes, what DuckDB makes of a field of text, and of which type."""

    written: str
    read: str
    kind: str


def written(column: str, type_: Type) -> Field:
    """How a column leaves; of a type that holds no single value, the type alone."""
    value, base = name(column), type_.base
    if base in PLAIN:
        return Field(value, f"TRY_CAST({{}} AS {PLAIN[base]})", PLAIN[base])
    if base in DATED:
        kind, low, high = DATED[base]
        inside = f"{value} BETWEEN '{low}'::{base} AND '{high}'::{base}"
        return Field(f"CASE WHEN {inside} THEN {value} END", f"TRY_CAST({{}} AS {kind})", kind)
    if base == "numeric":
        return _number(value, type_.modifier)
    if base == "bytea":
        is_cut = f"octet_length({value}) > {VALUE_BYTES} OR octet_length({value}) = {CUT_BYTES}"
        cut = f"CASE WHEN {is_cut} THEN substring({value}, 1, {TEXT_LENGTH}) || sha256({value}) ELSE {value} END"
        return Field(f"encode({cut}, 'hex')", "unhex({})", "BLOB")
    if base in TEXTS:
        return Field(_text(f"{value}::text"), _UNESCAPED, "VARCHAR")
    return Field("NULL", "NULL", f"TYPE {type_.shown}")


def _text(value: str) -> str:
    digest = f"encode(sha256(convert_to({value}, 'UTF8')), 'hex')"
    cut = f"left({value}, {TEXT_LENGTH}) || {digest}"
    is_cut = f"octet_length({value}) > {VALUE_BYTES} OR char_length({value}) = {CUT_LENGTH}"
    return f"CASE WHEN {is_cut} THEN {cut} ELSE {value} END"


def _number(value: str, modifier: int) -> Field:
    """A number of fixed digits is one; one of any number of digits is a text without zeros at its end: 7.0 is 7."""
    digits, scale = (modifier - 4 >> 16) & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 1024) - 1024
    if modifier >= 4 and 0 <= scale <= digits <= MOST_DIGITS:
        kind = f"DECIMAL({digits},{scale})"
        return Field(value, f"TRY_CAST({{}} AS {kind})", kind)
    return Field(f"CASE WHEN {value} <> 'NaN' THEN {_text(f'trim_scale({value})::text')} END", "{}", "VARCHAR")


def _unescaping() -> str:
    """What COPY wrote with backslashes, as it was. No text of PostgreSQL has a NUL, which stands for them meanwhile."""
    text = "replace({0}, '\\\\', chr(0))"
    for sign, code in _ESCAPED.items():
        text = f"replace({text}, '{sign}', chr({code}))"
    return f"CASE WHEN contains({{0}}, '\\') THEN replace({text}, chr(0), '\\') ELSE {{0}} END"


_UNESCAPED: Final = _unescaping()
