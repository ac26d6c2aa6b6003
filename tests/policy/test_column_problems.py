"""What is wrong with columns, in the words that the owner sees."""

from __future__ import annotations

import pytest

from tests.policy.examples import COLUMN_KEYS, HEAD, NO_TEXT, SMALLEST, problems_of

TYPES = "integer, number, text, boolean, date, timestamp, float, decimal"
ALIKE = "write min and max alike, each"
WHOLE = 'write a whole number, or type = "number"'


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{ mim = 0, max = 1 }", f".mim: unknown key; did you mean 'min'? allowed: {COLUMN_KEYS}"),
        ("{ MAX = 0, min = 1 }", f".MAX: unknown key; did you mean 'max'? allowed: {COLUMN_KEYS}"),
        ('{ type = "text", zzz = 1 }', f".zzz: unknown key; allowed: {COLUMN_KEYS}"),
        ('{ type = "text", "a b" = 1 }', f".'a b': unknown key; allowed: {COLUMN_KEYS}"),
        ('{ type = "text", "a\\nb" = 1 }', f".'a\\nb': unknown key; allowed: {COLUMN_KEYS}"),
        ("1", ": must be a table, not an integer; begin it with [tables.t.columns.c]"),
        ("[{ min = 1 }]", ": must be a table, not a list; begin it with [tables.t.columns.c]"),
        ("{}", ': has no type; add min and max, or values = [...], or type = "text" (or another type)'),
        ("{ step = 1 }", ': has no type; add min and max, or values = [...], or type = "text" (or another type)'),
        ("{ type = 1 }", ".type: must be a text, not an integer; put it in quotes"),
        ('{ type = "" }', f".type: {NO_TEXT}"),
        ('{ type = "dat" }', f".type: unknown type 'dat'; did you mean 'date'? allowed: {TYPES}"),
        ('{ type = "String" }', f".type: unknown type 'String'; did you mean 'text'? allowed: {TYPES}"),
        ('{ type = "datetime" }', f".type: unknown type 'datetime'; did you mean 'timestamp'? allowed: {TYPES}"),
        ('{ type = "point" }', f".type: unknown type 'point'; allowed: {TYPES}"),
        ("{ min = 0 }", ".max: missing; add max, or remove min: a column has both or neither"),
        ("{ max = 0 }", ".min: missing; add min, or remove max: a column has both or neither"),
        ("{ min = 1, max = 1 }", ".min: must lie below max; write the lower bound as min and the upper one as max"),
        ("{ min = 2, max = 1 }", ".min: must lie below max; write the lower bound as min and the upper one as max"),
        (
            "{ min = 2024-01-01, max = 2024-01-01 }",
            ".min: must lie below max; write the lower bound as min and the upper one as max",
        ),
        (
            "{ min = 2024-01-02, max = 2024-01-01 }",
            ".min: must lie below max; write the lower bound as min and the upper one as max",
        ),
        (
            "{ min = 9007199254740992, max = 9007199254740993 }",
            ".min: must lie below max; write the lower bound as min and the upper one as max",
        ),
        ("{ min = inf, max = 1 }", ".min: it must be finite, not inf: pass an ordinary number"),
        ("{ min = 0, max = 1e999 }", ".max: it must be finite, not inf: pass an ordinary number"),
        ("{ min = 0, max = nan }", ".max: it must be finite, not nan: pass an ordinary number"),
        ("{ min = 0, max = 1e101 }", ".max: must lie between -1e100 and 1e100; use another unit"),
        (
            "{ min = 0, max = 9223372036854775808 }",
            ".max: is an integer of more than 64 bits; write an ordinary number",
        ),
        (
            "{ min = 0, max = 0x" + "f" * 9999 + " }",
            ".max: is an integer of more than 64 bits; write an ordinary number",
        ),
        ("{ min = false, max = 1 }", ".min: must be a number, not true or false; write a number without quotes"),
        ("{ min = 12:00:00, max = 1 }", ".min: must be a number, not a time of day; write a number without quotes"),
        ("{ min = [], max = 1 }", ".min: must be a number, not a list; write a number without quotes"),
        (
            '{ min = "0", max = 1 }',
            (
                ".min: must be a number, a date or a timestamp, not a text; write numbers and dates without quotes; "
                "for a column of texts, list the public ones: values = [...]"
            ),
        ),
        (
            "{ min = 2024-01-01, max = 2024-01-02T00:00:00 }",
            f".max: does not fit type date; {ALIKE} a date like 2026-12-31",
        ),
        (
            "{ min = 2024-01-01T00:00:00, max = 2025-01-01 }",
            f".max: does not fit type timestamp; {ALIKE} a timestamp like 2026-12-31T23:59:59",
        ),
        ("{ min = 0, max = 2024-01-02 }", f".max: does not fit type number; {ALIKE} a number"),
        (
            "{ min = 2024-01-01T00:00:00Z, max = 2025-01-01T00:00:00 }",
            ".min: has a time zone; write it in UTC, without the zone",
        ),
        (
            '{ type = "text", min = 0, max = 1 }',
            ".min: a column of type text has no min; list the public values instead: values = [...]",
        ),
        ('{ type = "boolean", min = 0 }', ".min: a column of type boolean has no min; remove it"),
        ('{ type = "integer", min = 0.5, max = 3 }', f".min: must be an integer of 64 bits; {WHOLE}"),
        ('{ type = "integer", min = 0, max = 1e30 }', f".max: must be an integer of 64 bits; {WHOLE}"),
        (
            '{ type = "integer", min = 0, max = 9223372036854775808.0 }',
            f".max: must be an integer of 64 bits; {WHOLE}",
        ),
        (
            "{ min = -4611686018427387904, max = 1, step = 1 }",
            ".step: is too small for these bounds: values in steps would not fit into 64 bits; write a larger step",
        ),
        ("{ min = 0, max = 1, step = 0 }", f".step: must be above 0; {SMALLEST}"),
        ("{ min = 0, max = 1, step = -0.1 }", f".step: must be above 0; {SMALLEST}"),
        ("{ min = 0, max = 1, step = 1 }", f".step: must be smaller than max − min; {SMALLEST}"),
        ("{ min = 0, max = 1, step = inf }", ".step: it must be finite, not inf: pass an ordinary number"),
        ("{ min = 0, max = 1, step = 1e-200 }", ".step: it must lie between 1e-100 and 1e100: use another unit"),
        (
            "{ min = 0, max = 1, step = 1e-19 }",
            ".step: is too small for these bounds: values in steps would not fit into 64 bits; write a larger step",
        ),
        ('{ min = 0, max = 1, step = "0.1" }', ".step: must be a number, not a text; write a number without quotes"),
        ('{ type = "text", step = 1 }', ".step: a column of type text has no step; remove it"),
        ('{ type = "date", step = 1 }', ".step: a column of type date has no step; remove it"),
        (
            '{ type = "integer", step = 0.5 }',
            f".step: must be an integer in a column of integers; {WHOLE}",
        ),
        ('{ values = "F" }', '.values: must be a list, not a text; write it like ["F", "M"]'),
        ("{ values = [] }", ".values: must list 1 to 10000 values, not 0; leave it out for private keys"),
        (
            "{ values = " + str(list(range(10_001))) + " }",
            ".values: must list 1 to 10000 values, not 10001; leave it out for private keys",
        ),
        (
            "{ values = [1, true] }",
            ".values: must be of one type, not of several (an integer, true or false); write all of them alike",
        ),
        (
            "{ values = [2024-01-01, 2024-01-01T00:00:00] }",
            ".values: must be of one type, not of several (a date, a timestamp); write all of them alike",
        ),
        (
            "{ values = [0.5] }",
            ".values: must be texts, integers, booleans or dates, not a number; use min and max instead",
        ),
        (
            "{ values = [[1]] }",
            ".values: must be texts, integers, booleans or dates, not a list; use min and max instead",
        ),
        ('{ values = ["M", "F", "F"] }', ".values: must be distinct: 'F' stands there twice; remove one"),
        ('{ values = ["a\\u0000"] }', ".values: must not contain the character NUL; remove it"),
        (
            "{ values = [9223372036854775808] }",
            ".values: is an integer of more than 64 bits; write an ordinary number",
        ),
        ("{ values = [1], min = 0, max = 1 }", ".values: cannot stand beside min, max; keep the values, or the bounds"),
        ("{ values = [1], step = 1 }", ".values: cannot stand beside step; keep the values, or the bounds"),
        (
            '{ type = "number", values = [1] }',
            ".values: a column of type number has no values; use min and max, or declare another type",
        ),
        (
            '{ type = "integer", values = ["1"] }',
            ".values: do not fit type integer; write integers like 1, or leave out type",
        ),
        (
            '{ type = "text", values = [1] }',
            '.values: do not fit type text; write texts like "F", or leave out type',
        ),
        (
            '{ type = "text", nullable = "yes" }',
            ".nullable: must be true or false, not a text; write true or false without quotes",
        ),
        (
            "{ min = 0, max = 1, unique = true }",
            ".unique: a column of type number cannot be a key; remove it, or declare another type",
        ),
    ],
    ids=lambda case: case[:50],
)
def test_columns(written: str, problem: str) -> None:
    text = f'{HEAD}tables.t = {{ source = "t.csv", unit = "id", columns.c = {written} }}'
    assert f"tables.t.columns.c{problem}" in problems_of(text)
    assert all(told.startswith("tables.t.columns.c") for told in problems_of(text))


@pytest.mark.parametrize("protection", ['unit = "row"', "public = true"])
def test_keys_are_unique_within_units_only(protection: str) -> None:
    text = f'{HEAD}tables.t = {{ source = "t.csv", {protection}, columns.c = {{ type = "text", unique = true }} }}'
    assert problems_of(text) == ["tables.t.columns.c.unique: is for tables whose rows belong to units; remove it"]
