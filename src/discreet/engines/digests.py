"""Hashes that every engine computes alike (`hash = "md5"` in a policy): of the same rows each chooses the same ones.

Each engine has a fast hash of its own, and they differ: of a unit with more rows or groups than it may have, others
count in PostgreSQL than in DuckDB. With this word in the policy all of them take MD5 of the values' texts, with the
same key, and noise aside their answers are equal. It takes longer where copies are made and keys are computed.

Values are written so that no two lists of them are alike, whatever they hold:

    NULL         n;
    whole        i, the number, ;
    real         r, its 64 bits as a whole number, ; (−0 is 0, and rn; is what is no number)
    text         t, how many bytes it has, :, the text
    truth        b1; or b0;
    day, time    s, microseconds since 1970, ;

The hash is the first 64 bits of the MD5 of what stands side by side. Nobody is to be kept from finding collisions: what
is hashed begins with the key, which nobody knows, and ties are broken by the values themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from discreet.engines.text import INTEGERS
from discreet.policy import Policy
from discreet.policy.engines import MD5

MAX_VALUES: Final = 64
"""Values that one hash of a query is of, in DuckDB."""
SAID: Final = "discreet_said"
DIGEST: Final = "discreet_digest"
HASH: Final = "hash"
"""What queries call it: a macro stands before a function of the same name."""
_SAYING: Final = {
    "DOUBLE": "CASE WHEN isnan({real}) THEN 'rn;' ELSE 'r' || ({real} + 0e0)::BIT::BIGINT::VARCHAR || ';' END",
    "BOOLEAN": "CASE WHEN a::VARCHAR = 'true' THEN 'b1;' ELSE 'b0;' END",
    "DATE": "'s' || epoch_us({time})::VARCHAR || ';'",
    "TIMESTAMP": "'s' || epoch_us({time})::VARCHAR || ';'",
    **dict.fromkeys(INTEGERS, "'i' || a::VARCHAR || ';'"),
}
"""How values are written in DuckDB, by their types, all others as texts. A macro takes any type, and every branch has
to fit every type: so values go through their texts, which DuckDB reads as it wrote them."""
_CASTS: Final = {"real": "TRY_CAST(a::VARCHAR AS DOUBLE)", "time": "TRY_CAST(a::VARCHAR AS TIMESTAMP)"}


def derived(secret: str) -> str:
    """The key of hashes where it is written into plans, which an engine may log: not the secret, but made from it."""
    return hashlib.sha256(f"spark {secret}".encode()).hexdigest()


def key_of(policy: Policy, secret: str) -> str:
    """The key of an engine's hashes: one for all of them, where all of them take the same hash."""
    return derived(secret) if policy.hashing == MD5 else secret


def macros(hashing: str, schema: str = "") -> Iterator[str]:
    """What makes DuckDB take this hash wherever a query of this session, or of this schema, says `hash`."""
    if hashing != MD5:
        return
    made, prefix = (f"CREATE MACRO {schema}.", f"{schema}.") if schema else ("CREATE TEMP MACRO ", "")
    cases = " ".join(f"WHEN '{kind}' THEN {text.format(**_CASTS)}" for kind, text in _SAYING.items())
    text = "'t' || strlen(a::VARCHAR)::VARCHAR || ':' || a::VARCHAR"
    yield f"{made}{SAID}(a) AS CASE WHEN a IS NULL THEN 'n;' ELSE CASE typeof(a) {cases} ELSE {text} END END"
    yield f"{made}{DIGEST}(a) AS CAST('0x' || left(md5(a), 16) AS UBIGINT)"
    names = [f"a{index}" for index in range(MAX_VALUES)]
    forms = (
        f"({', '.join(names[:count])}) AS {digest(*names[:count], prefix=prefix)}" for count in range(1, MAX_VALUES + 1)
    )
    yield f"{made}{HASH} {', '.join(forms)}"


def made_macros(hashing: str) -> tuple[str, ...]:
    """What they are called, the ones that others need last."""
    return (HASH, DIGEST, SAID) if hashing == MD5 else ()


def digest(*values: str, prefix: str = "") -> str:
    """The hash of some values, as DuckDB computes it; also of more than `hash` takes there."""
    return f"{prefix}{DIGEST}({' || '.join(f'{prefix}{SAID}({value})' for value in values)})"


def hashed(hashing: str, *values: str) -> str:
    """The hash of values in DuckDB, when a copy is made."""
    return digest(*values) if hashing == MD5 else f"hash({', '.join(values)})"
