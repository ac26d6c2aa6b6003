"""Answers and previews: what they show, in how many digits, and what becomes of them in data frames."""

from __future__ import annotations

import math
import re
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Amount, Used
from discreet.answers import Answer, Preview
from discreet.answers.figures import figure, half_width, text_of
from discreet.answers.layout import answer_parts
from discreet.answers.render import html
from discreet.policy import Kind

WARDS: dict[str, Any] = {
    "question": "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward",
    "columns": ["ward", "n"],
    "rows": [("A", 1041), ("ICU", -3), (None, 104127)],
    "intervals": [{"n": (1011, 1071)}, {"n": (-33, 27)}, {"n": (104097, 104157)}],
    "confidence": 0.95,
    "loss": Pure(0.1),
    "cost": Pure(0.1),
    "cached": False,
    "receipt": "12:" + "9f3a" * 16,
    "remaining": Amount(2.9),
    "used": Used(1 / 30),
    "more": 29,
    "noise": {"n": "discrete Laplace, scale 10"},
    "notes": ("at most 1 row of each patient is read",),
    "guarantee": (3.0, None),
}
CONCENTRATED: dict[str, Any] = {
    "loss": Concentrated(0.005),
    "cost": Concentrated(0.005),
    "remaining": Amount(0.69, 0.2401, 4.9e-7),
    "guarantee": (3.0, 1e-6),
}
AHEAD: dict[str, Any] = {
    "question": "SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY ward",
    "columns": ["ward", "n", "age"],
    "loss": Pure(0.1),
    "error": {"n": 29.95},
    "confidence": 0.95,
    "groups": 4,
    "noise": {"n": "discrete Laplace, scale 20", "age": "discrete Laplace, scales 20 and 2200"},
    "shares": {"count of rows": 1 / 3, "sum of age": 2 / 3},
    "averages": {"age": {100: 4.912, 1000: 0.4912}},
    "more": 29,
    "notes": ("age is taken between 0 and 110",),
    "cached": False,
    "remaining": Amount(2.9),
    "used": Used(1 / 30),
    "guarantee": (3.0, None),
}
SHOWN = """\
ward         n (95 %)
─────────────────────
A        1,041 ± 30
ICU         -3 ± 30
NULL   104,127 ± 30

cost ε 0.1 · 3.4 % of the budget used · about 29 more queries like this
· remaining ε 2.9
· n: discrete Laplace, scale 10
· at most 1 row of each patient is read
· receipt 12:9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a9f3a"""
SHOWN_AHEAD = """\
column   error (95 %)
──────────────────────────────────────────
ward
n        ± 30
age      ±  4.92        in groups of 100
         ±  0.492       in groups of 1,000

cost ε 0.1 · 3.4 % of the budget used · about 29 more queries like this
4 rows
· remaining ε 2.9
· of the cost: 33.3 % count of rows · 66.7 % sum of age
· n: discrete Laplace, scale 20
· age: discrete Laplace, scales 20 and 2200
· age is taken between 0 and 110"""


def answer(**changes: Any) -> Answer:
    return Answer(**{**WARDS, **changes})


def preview(**changes: Any) -> Preview:
    return Preview(**{**AHEAD, **changes})


def one(value: Any, interval: tuple[float, float] | None = None, name: str = "x") -> Answer:
    """An answer of one value, noisy if it has an interval."""
    intervals = [{} if interval is None else {name: interval}]
    return answer(columns=[name], rows=[(value,)], intervals=intervals, noise={})


@pytest.fixture(autouse=True)
def _a_terminal_of_120_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


# numbers


@pytest.mark.parametrize(
    ("value", "interval", "shown"),
    [
        (1041, (1011, 1071), "1,041 ± 30"),
        (104127, (102893, 105361), "104,130 ± 1,240"),
        (45.318722, (44.8, 45.837444), "45.319 ± 0.519"),
        (45.3, (45.3 - 0.5, 45.3 + 0.5), "45.3 ± 0.5"),
        (47.0, (30.0, 64.0), "47 ± 17"),
        (0.30000000000000004, (0.1, 0.5), "0.300 ± 0.200"),
        (-0.0001, (-0.5001, 0.4999), "0.000 ± 0.500"),
        (12345678.9, (12345000.0, 12346357.8), "12,345,679 ± 679"),
        (34, (29, 41), "34 29 … 41"),
        (2.5, (2.4567891, 4.1234567), "2.500 2.456 … 4.124"),
        (7, (7, 7), "7 ± 0"),
        (None, (0, 110), "NULL 0 … 110"),
        (None, None, "NULL"),
        (math.nan, (1, 2), "NaN 1 … 2"),
        (3.0, (-math.inf, math.inf), "3 -∞ … ∞"),
        (1e300, (0.0, 2e300), "1.00e+300 ± 1.00e+300"),
        (10**4000, (0, 2 * 10**4000), "1.00e+4000 ± 1.00e+4000"),
        (1e-30, (0.9e-30, 1.1e-30), "1.0e-30 ± 1e-31"),
        (2**70, None, "1180591620717411303424"),
    ],
)
def test_numbers_have_the_digits_that_their_noise_leaves(value: Any, interval: Any, shown: str) -> None:
    found = figure(value, interval)
    assert " ".join(part for part in (found.value, found.sign, found.margin) if part) == shown


@given(st.floats(-1e12, 1e12), st.floats(1e-3, 1e9), st.floats(1e-3, 1e9))
def test_intervals_are_never_shown_narrower_than_they_are(value: float, below: float, above: float) -> None:
    interval = (value - below, value + above)
    low, high = (Decimal(repr(end)) for end in interval)
    half = (high - low) / 2
    digit = Decimal(1).scaleb(half.adjusted() - 2)
    forgiven = digit * Decimal("1e-6")
    found = figure(value, interval)
    if found.sign:
        assert half - forgiven <= Decimal(found.margin.replace(",", "")) < half + digit
    else:
        shown_low, shown_high = (Decimal(end.replace(",", "")) for end in found.margin.split(" … "))
        assert low - digit < shown_low <= low + forgiven
        assert high - forgiven <= shown_high < high + digit


@pytest.mark.parametrize(
    ("half", "shown"), [(29.95, "30"), (0.4912, "0.492"), (1234.5, "1,240"), (0.0, "0"), (math.inf, "∞"), (12, "12")]
)
def test_half_widths_round_up(half: float, shown: str) -> None:
    assert half_width(half) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        (True, "true"),
        (2024, "2024"),
        (0.1, "0.1"),
        (10**50, "1.000000000000000e+50"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02 03:04:00"),
        ("", "''"),
        ("a\n b\x1b[2J", "a b\\x1b[2J"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
        ("日本", "日本"),
    ],
)
def test_keys_are_shown_on_one_line_and_steer_nothing(value: object, shown: str) -> None:
    assert text_of(value) == shown
    assert shown in str(one(value))


# terminals


def test_an_answer_is_a_table_with_its_cost() -> None:
    assert str(answer()) == SHOWN
    assert repr(answer()) == SHOWN


def test_a_preview_is_a_table_with_its_cost() -> None:
    assert str(preview()) == SHOWN_AHEAD
    assert repr(preview()) == SHOWN_AHEAD


def test_numbers_stand_point_under_point() -> None:
    rows = [("A", 45.318722), ("B", 47.0), ("C", None)]
    intervals = [{"n": (44.8, 45.837444)}, {"n": (30.0, 64.0)}, {}]
    lines = str(answer(rows=rows, intervals=intervals)).splitlines()
    assert lines[2:5] == ["A      45.319 ±  0.519", "B      47     ± 17", "C        NULL"]


def test_a_cost_under_a_budget_with_delta_says_epsilon_rho_and_its_part_of_the_budget() -> None:
    shown = "· cost ε 0.4452 (ρ 0.005), 2.9 % of a budget of (ε 3, δ 1e-06)"
    lines = str(answer(**CONCENTRATED)).splitlines()
    assert lines[6:9] == [
        "cost ε 0.4452 · 3.4 % of the budget used · about 29 more queries like this",
        shown,
        "· remaining ρ 0.2401 (max ε for the next query 0.69)",
    ]
    lines = str(preview(**{name: value for name, value in CONCENTRATED.items() if name != "cost"})).splitlines()
    assert shown in lines
    found = str(answer(**{**CONCENTRATED, "cost": Concentrated(0.005, 1e-8)}))
    assert "cost ε 0.4452 (ρ 0.005, δ 1e-08), 2.9 % of a budget of (ε 3, δ 1e-06)" in found


def test_costs_round_up_and_what_remains_rounds_down() -> None:
    shown = str(answer(cost=Pure(0.123401), remaining=Amount(0.99999)))
    assert "cost ε 0.1235 · " in shown
    assert "· remaining ε 0.9999\n" in shown


def test_a_kept_answer_is_free() -> None:
    assert "cached: free, cost ε 0.1 · 3.4 % of the budget used\n" in str(answer(cached=True, loss=Pure(0)))
    assert "cached: free · 3.4 % of the budget used\n" in str(preview(cached=True))


def test_an_older_server_says_less_about_the_budget() -> None:
    assert "cost ε 0.1\n· remaining ε 2.9\n" in str(answer(used=None, more=None))
    assert "cost ε 0.1 · about 29 more queries like this\n" in str(preview(used=None))


def test_public_data_is_free() -> None:
    shown = str(answer(loss=Pure(0), cost=Pure(0), more=None, receipt="", noise={}, intervals=[{}] * 3))
    assert "free: nothing private was read · 3.4 % of the budget used" in shown
    assert "receipt" not in shown


@pytest.mark.parametrize(
    ("changes", "affordable"),
    [
        ({"loss": Pure(0.1), "remaining": Amount(0.1)}, True),
        ({"loss": Pure(0.1001), "remaining": Amount(0.1)}, False),
        ({"loss": Concentrated(0.1), "remaining": Amount(9.0)}, False),
        ({"loss": Concentrated(0.1, 1e-9), "remaining": Amount(1.0, 0.1, 1e-9)}, True),
        ({"loss": Concentrated(0.1, 1e-8), "remaining": Amount(1.0, 0.1, 1e-9)}, False),
        ({"loss": Pure(0.1), "remaining": Amount(1.0, 0.004, 1e-9)}, False),
        ({"loss": Pure(0.1), "remaining": Amount(1.0, 0.005, 0.0)}, True),
    ],
)
def test_a_preview_says_when_it_is_too_dear(changes: dict[str, Any], affordable: bool) -> None:
    assert ("more than what remains" in str(preview(**changes))) is not affordable


def test_an_answer_without_rows_keeps_its_headings() -> None:
    lines = str(answer(rows=[], intervals=[])).splitlines()
    assert lines[0] == "ward   n (95 %)"
    assert "no rows" in lines
    assert str(preview(columns=[], error={}, averages={}, shares={}, groups=1)).splitlines()[4] == "1 row"


def test_long_answers_are_cut_and_say_so() -> None:
    rows = [(f"w{number}", number) for number in range(1234)]
    intervals = [{"n": (number - 5, number + 5)} for number in range(1234)]
    long = answer(rows=rows, intervals=intervals)
    lines = str(long).splitlines()
    assert lines[51].split() == ["w49", "49", "±", "5"]
    assert "… and 1,184 more rows" in lines
    assert len(answer_parts(long, most=None).columns[0].cells) == 1234
    assert long._repr_html_().count("<tr>") == 51


@pytest.mark.parametrize("width", [40, 80, 120])
def test_nothing_is_lost_in_narrow_terminals(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"count_{number}" for number in range(9)]
    row = ("a ward with a rather long name", *(10**number for number in range(9)))
    intervals = [{name: (10**number - 30, 10**number + 30) for number, name in enumerate(names)}]
    wide = answer(columns=["ward", *names], rows=[row], intervals=intervals, noise={}, receipt="")
    lines = str(wide).splitlines()
    assert max(map(len, lines)) <= width
    for number, name in enumerate(names):
        assert any(line.split()[0] == name and f"{10**number:,} ± 30 (95 %)" in line for line in lines)


def test_a_long_key_folds_and_numbers_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = str(answer(rows=[("z" * 300, 10**12)], intervals=[{"n": (10**12 - 30, 10**12 + 30)}]))
    assert shown.count("z") == 300
    assert "1,000,000,000,000 ± 30" in shown
    assert max(map(len, shown.splitlines()[:8])) <= 60


def test_notes_fold_under_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    lines = str(answer(notes=("one two three four five six seven",), receipt="")).splitlines()
    assert lines[-2:] == ["· one two three four five six", "  seven"]


def test_ranges_stand_apart_from_their_value() -> None:
    lines = str(answer(rows=[("A", 34), ("B", 9)], intervals=[{"n": (29, 41)}, {"n": (8, 10)}])).splitlines()
    assert lines[2:4] == ["A      34  29 … 41", "B       9 ± 1"]


def test_markup_and_names_are_taken_literally() -> None:
    shown = str(answer(columns=["[red]ward", "n"], rows=[("[/red] [bold]", 1)], intervals=[{"n": (0, 2)}]))
    assert "[red]ward" in shown
    assert "[/red] [bold]" in shown


def test_rich_draws_it_in_colour() -> None:
    console = Console(width=80, force_terminal=True, color_system="standard", _environ={})
    for shown in (answer(), preview()):
        with console.capture() as captured:
            console.print(shown)
        coloured = captured.get()
        assert "\x1b[36m" in coloured
        bare = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()]
        assert bare[:2] == str(shown).splitlines()[:2] or isinstance(shown, Preview)


# notebooks


class Reader(HTMLParser):
    """The text of the cells and the tags, which must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def test_notebooks_show_the_same() -> None:
    read = Reader(answer()._repr_html_())
    cells = [cell.strip() for cell in read.cells]
    assert cells == ["ward", "n", "(95 %)", "A", "1,041", "± 30", "ICU", "-3", "± 30", "NULL", "104,127", "± 30"]
    assert "cost ε 0.1 · 3.4 % of the budget used · about 29 more queries like this" in read.text
    assert "at most 1 row of each patient is read" in read.text
    ahead = Reader(preview()._repr_html_())
    assert [cell.strip() for cell in ahead.cells[:8]] == ["column", "error (95 %)", "", "ward", "", "", "n", "± 30"]
    assert "of the cost: 33.3 % count of rows · 66.7 % sum of age" in ahead.text


def test_notebooks_pad_with_blanks_as_wide_as_digits() -> None:
    rows = [("A", 45.318722), ("B", 47.0)]
    shown = answer(rows=rows, intervals=[{"n": (44.8, 45.837444)}, {"n": (30.0, 64.0)}])
    cells = Reader(shown._repr_html_()).cells
    padding = "\u2008\u2007\u2007\u2007"
    assert cells[3:] == ["A", "45.319", "± \u20070.519", "B", f"47{padding}", f"± 17{padding}"]


def test_html_is_escaped_and_needs_nothing_from_elsewhere() -> None:
    evil = "<script>alert('\"&')</script>\x00"
    shown = answer(
        columns=[evil, "n"], rows=[(evil, 1)], intervals=[{"n": (0, 2)}], noise={"n": evil}, notes=(evil,), receipt=evil
    )
    read = Reader(shown._repr_html_())
    assert {tag for tag, _ in read.tags} == {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert all(set(attributes) <= {"style"} for _, attributes in read.tags)
    assert all("url" not in str(attributes.get("style")) for _, attributes in read.tags)
    assert read.text.count("<script>alert('\"&')</script>\\x00") == 5


# lists


TOP = [{"value": "a\x1b", "count": 1041}, {"value": None, "count": -3}]
LISTS: dict[str, Any] = {
    "columns": ["ward", "h"],
    "rows": [("A", TOP), ("B", [{"value": "b" * 40, "count": 7}]), ("C", None)],
    "intervals": [{"h": [(1011, 1071), (-33, 27)]}, {"h": [(-23, 37)]}, {}],
    "noise": {"h": "discrete Laplace, scale 10"},
}
SHOWN_LISTS = f"""\
ward   h (95 %)
{"─" * 55}
A      a\\x1b  1,041 ± 30
       NULL      -3 ± 30
B      {"b" * 40}  7 ± 30
C      NULL
"""


def test_lists_show_a_line_for_each_count_with_its_margin() -> None:
    assert str(answer(**LISTS)).startswith(SHOWN_LISTS)
    cells = Reader(answer(**LISTS)._repr_html_()).cells
    assert cells[:4] == ["ward", "h (95 %)", "A", "a\\x1b  1,041 ± 30\nNULL      -3 ± 30"]
    bins = [{"value": place / 3, "count": place} for place in range(2000)]
    long = answer(columns=["h"], rows=[(bins,)], intervals=[{"h": [(n - 1, n + 2) for n in range(2000)]}], noise={})
    lines = str(long).splitlines()
    assert [line.split() for line in lines[3:5]] == [["0.333333", "1", "0", "…", "3"], ["0.666667", "2", "1", "…", "4"]]
    assert lines[52] == "… and 1,950 more"
    assert "1,999" in "".join(cell.text for cell in answer_parts(long, most=None).columns[0].cells)


def test_narrow_terminals_show_lists_row_by_row() -> None:
    console = Console(width=30, color_system=None)
    bins = [{"value": 2.5 * place, "count": 10**place} for place in range(4)]
    known = {"h": [(item["count"] - 300, item["count"] + 300) for item in bins], "n": (0, 2220)}
    with console.capture() as captured:
        console.print(answer(columns=["ward", "n", "h"], rows=[("A", 1110, bins)], intervals=[known]))
    assert [line.rstrip() for line in captured.get().splitlines()[:6]] == [
        "ward      A",
        "n         1,110 ± 1,110 (95 %)",
        "h (95 %)  0        1 ± 300",
        "          2.5     10 ± 300",
        "          5      100 ± 300",
        "          7.5  1,000 ± 300",
    ]


@pytest.mark.parametrize("known", [None, (1, 3), [], [(1, 3)], [(1, 3), (1, math.inf)]])
def test_lists_are_shown_whatever_is_known_of_them(known: Any) -> None:
    found = answer(columns=["h"], rows=[(TOP,)], intervals=[{"h": known}], noise={"h": ""})
    assert "1,041" in str(found)
    assert found.to_arrow()["h"].to_pylist()[0][0]["count"] == 1041
    assert found.plot().to_dict()


def test_the_items_of_lists_have_their_ends_as_fields() -> None:
    found = answer(**LISTS)
    expected = [
        [
            {"value": "a\x1b", "count": 1041, "low": 1011, "high": 1071},
            {"value": None, "count": -3, "low": -33, "high": 27},
        ],
        [{"value": "b" * 40, "count": 7, "low": -23, "high": 37}],
        None,
    ]
    for frame in (found.to_polars(), found.to_arrow(), found.to_pandas()):
        assert list(getattr(frame, "column_names", frame.columns)) == ["ward", "h"]
    assert found.to_polars()["h"].to_list() == expected
    assert found.to_arrow()["h"].to_pylist() == expected
    assert found.to_pandas()["h"].tolist() == expected
    import polars as pl

    whole = {"value": pl.String, "count": pl.Int64, "low": pl.Int64, "high": pl.Int64}
    assert found.to_polars().schema["h"] == pl.List(pl.Struct(whole))
    assert found.to_polars().explode("h").unnest("h")["low"].to_list() == [1011, -33, -23, None]


def test_an_answer_without_rows_still_has_lists() -> None:
    found = answer(columns=["ward", "h"], rows=[], intervals=[], noise={"h": "noise"}, kinds={"ward": Kind.TEXT})
    item = {"value": pa.null(), "count": pa.int64(), "low": pa.int64(), "high": pa.int64()}
    assert found.to_arrow().schema.field("h").type == pa.list_(pa.struct(item))
    assert found.to_polars().columns == list(found.to_pandas().columns) == ["ward", "h"]


def test_counts_of_any_size_fit_into_lists() -> None:
    for count, polars in ((2**63, 2**63), (10**400, math.inf)):
        items = [{"value": date(2026, 1, 2), "count": count}]
        huge = answer(columns=["h"], rows=[(items,)], intervals=[{"h": [(0.5, count)]}], noise={"h": "noise"})
        expected = {"value": date(2026, 1, 2), "count": polars, "low": 0.5, "high": float(polars)}
        assert huge.to_polars()["h"].to_list() == [[expected]]
        assert float(huge.to_arrow()["h"].to_pylist()[0][0]["count"]) == polars
        assert huge.to_pandas()["h"][0][0]["count"] == count


# values


def test_an_answer_is_a_sequence_of_rows() -> None:
    assert len(answer()) == 3
    assert list(answer()) == WARDS["rows"]
    assert answer().noisy == ["n"]
    assert answer() == answer()
    with pytest.raises(AttributeError):
        answer().rows = []  # type: ignore[misc]


def test_a_quantile_without_an_interval_says_how_far_its_rank_may_be_off() -> None:
    """In the terminal, on pages and in pictures; NULL is off by nothing, and what has an interval shows that."""
    medians = answer(
        columns=["ward", "m"],
        rows=[("A", 41), ("B", None)],
        intervals=[{}, {}],
        noise={"m": "chosen"},
        ranks={"m": 1200},
    )
    assert "41 ± 1,200 ranks" in str(medians)
    assert str(medians).count("ranks") == 1
    assert "1,200 ranks" in medians._repr_html_()
    drawn = medians.plot().to_dict()
    values = drawn["data"]["values"] if "data" in drawn else drawn["layer"][0]["data"]["values"]
    assert [record["ranked"] for record in values] == [True, False]
    assert [record["interval"] for record in values] == ["rank error ≤ 1,200 rows", "not known"]
    assert "95 % rank error ≤ 1,200 rows" in drawn["title"]["subtitle"][1]
    assert "ranks" not in str(answer(ranks={"n": 5}))


def test_everything_is_in_the_dictionary() -> None:
    found = answer(**CONCENTRATED).to_dict()
    assert found == {
        **{name: WARDS[name] for name in ("question", "columns", "rows", "intervals", "confidence", "cached", "noise")},
        "loss": {"rho": 0.005, "delta": 0.0},
        "cost": {"rho": 0.005, "delta": 0.0},
        "unit": None,
        "dummy": False,
        "receipt": WARDS["receipt"],
        "remaining": {"epsilon": 0.69, "rho": 0.2401, "delta": 4.9e-7},
        "used": {"part": 1 / 30, "delta": 0.0, "of": "budget"},
        "more": 29,
        "notes": ["at most 1 row of each patient is read"],
        "ranks": {},
        "guarantee": {"epsilon": 3.0, "delta": 1e-6},
        "earlier": False,
    }
    ahead = preview().to_dict()
    assert set(ahead) == {*AHEAD, "unit"}
    assert ahead["loss"] == {"epsilon": 0.1}
    assert ahead["averages"] == {"age": {100: 4.912, 1000: 0.4912}}
    assert ahead["guarantee"] == {"epsilon": 3.0, "delta": None}


# frames


def test_frames_have_the_ends_of_intervals_beside_the_values() -> None:
    expected = {
        "ward": ["A", "ICU", None],
        "n": [1041, -3, 104127],
        "n_low": [1011, -33, 104097],
        "n_high": [1071, 27, 104157],
    }
    assert answer().to_arrow().to_pydict() == expected
    assert answer().to_polars().to_dict(as_series=False) == expected
    pandas = answer().to_pandas()
    assert list(pandas.columns) == list(expected)
    assert [str(kind) for kind in pandas.dtypes] == ["str", "int64", "int64", "int64"]
    assert pandas["n_high"].tolist() == expected["n_high"]
    assert pandas["ward"].isna().tolist() == [False, False, True]
    types = {"ward": "String", "n": "Int64", "n_low": "Int64", "n_high": "Int64"}
    assert polars_types(answer()) == types


def polars_types(found: Answer) -> dict[str, str]:
    """By name: to import polars starts threads, and whoever has some is not to be forked."""
    return {column: str(kind) for column, kind in found.to_polars().schema.items()}


KINDS = [
    ([True, None], Kind.BOOLEAN, "boolean", "Boolean", pa.bool_()),
    ([True, False], Kind.BOOLEAN, "bool", "Boolean", pa.bool_()),
    ([1, None], Kind.INTEGER, "Int64", "Int64", pa.int64()),
    ([1, 2.5], None, "float64", "Float64", pa.float64()),
    ([1, 2], Kind.NUMBER, "float64", "Float64", pa.float64()),
    ([1.5, None], Kind.NUMBER, "float64", "Float64", pa.float64()),
    (["a", None], Kind.TEXT, "str", "String", pa.string()),
    ([date(1, 1, 1), date(9999, 12, 31)], Kind.DATE, "datetime64[us]", "Date", pa.date32()),
    (
        [datetime(9999, 12, 31, 23), None],
        Kind.TIMESTAMP,
        "datetime64[us]",
        "Datetime(time_unit='us', time_zone=None)",
        pa.timestamp("us"),
    ),
    ([None, None], None, "object", "Null", pa.null()),
]


@pytest.mark.parametrize(("values", "kind", "pandas", "polars", "arrow"), KINDS)
def test_frames_have_the_right_types(values: list[Any], kind: Any, pandas: str, polars: str, arrow: Any) -> None:
    rows = [(value,) for value in values]
    kinds = {} if kind is None else {"x": kind}
    found = answer(columns=["x"], rows=rows, intervals=[{}, {}], noise={}, kinds=kinds)
    assert str(found.to_pandas()["x"].dtype) == pandas
    assert polars_types(found)["x"] == polars
    assert found.to_arrow().schema.field("x").type == arrow
    assert found.to_arrow()["x"].to_pylist() == values
    assert found.to_polars()["x"].to_list() == values


@pytest.mark.parametrize(("kind", "polars", "arrow"), [(row[1], row[3], row[4]) for row in KINDS if row[1]])
def test_empty_answers_have_the_declared_types(kind: Kind, polars: str, arrow: Any) -> None:
    for rows in ([], [(None,)]):
        found = answer(columns=["x"], rows=rows, intervals=[{}] * len(rows), noise={}, kinds={"x": kind})
        assert polars_types(found) == {"x": polars}
        assert found.to_arrow().schema.field("x").type == arrow
        assert len(found.to_pandas()) == len(rows)


def test_empty_noisy_columns_are_numbers() -> None:
    found = answer(rows=[], intervals=[])
    assert polars_types(found) == {"ward": "Null", "n": "Float64", "n_low": "Float64", "n_high": "Float64"}
    assert [str(kind) for kind in found.to_pandas().dtypes] == ["object", "float64", "float64", "float64"]
    assert found.to_arrow().num_rows == 0
    assert found.to_arrow().schema.names == ["ward", "n", "n_low", "n_high"]


def test_numbers_beyond_64_bits_are_kept_or_become_floats() -> None:
    beyond = one(2**63, (0, 2**64), "n")
    assert beyond.to_pandas()["n"].tolist() == [2**63]
    assert beyond.to_polars()["n"].to_list() == [2**63]
    assert polars_types(beyond)["n"] == "Int128"
    assert beyond.to_arrow()["n_high"].to_pylist() == [Decimal(2**64)]
    huge = one(10**400, (-(10**400), 10**60), "n")
    assert huge.to_pandas()["n"].tolist() == [10**400]
    assert huge.to_polars().row(0) == (math.inf, -math.inf, 1e60)
    assert huge.to_arrow().to_pylist() == [{"n": math.inf, "n_low": -math.inf, "n_high": 1e60}]


def test_names_that_clash_are_told_apart() -> None:
    clash = answer(columns=["n", "n_low", "n_low", "n_high"], rows=[(5, 1, 2, 3)], intervals=[{"n": (4, 6)}], noise={})
    names = ["n", "n_low_2", "n_high_2", "n_low", "n_low_3", "n_high"]
    assert list(clash.to_pandas().columns) == names
    assert clash.to_polars().row(0) == (5, 4, 6, 1, 2, 3)
    assert clash.to_arrow().schema.names == names


def test_values_of_several_types_become_text() -> None:
    rows = [(1,), (True,), ("\ud800",), (datetime(2026, 1, 2, tzinfo=UTC),), (None,)]
    mixed = answer(columns=["x"], rows=rows, intervals=[{}] * 5, noise={})
    texts = ["1", "True", "?", "2026-01-02 00:00:00+00:00", None]
    assert mixed.to_arrow()["x"].to_pylist() == texts
    assert mixed.to_polars()["x"].to_list() == texts
    assert mixed.to_pandas()["x"].tolist()[:4] == texts[:4]


def test_missing_values_and_intervals_are_nulls() -> None:
    found = answer(rows=[("A", None), ("B", 2.5)], intervals=[{}, {"n": (2, 3.5)}])
    assert found.to_polars().rows() == [("A", None, None, None), ("B", 2.5, 2.0, 3.5)]
    assert math.isnan(found.to_pandas()["n_low"][0])


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_missing_library_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    convert = {"pandas": answer().to_pandas, "polars": answer().to_polars, "pyarrow": answer().to_arrow}[name]
    with pytest.raises(ImportError, match=f"pip install {name}") as missing:
        convert()
    assert missing.value.name == name


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes(), st.integers(10**18)
)
ENDS = st.one_of(st.integers(), st.floats())


@given(st.lists(st.tuples(VALUES, VALUES, st.none() | st.tuples(ENDS, ENDS)), max_size=4), st.text(), st.text())
def test_whatever_is_in_it_it_can_be_shown(rows: list[tuple[Any, Any, Any]], key: str, noisy: str) -> None:
    columns = [key, noisy or "n"]
    intervals = [{} if interval is None else {columns[1]: interval} for _, _, interval in rows]
    odd = answer(columns=columns, rows=[row[:2] for row in rows], intervals=intervals, noise={}, notes=(key,))
    assert str(odd)
    Reader(html(answer_parts(odd)))
    assert len(odd.to_arrow()) == len(odd.to_polars()) == len(odd.to_pandas()) == len(rows)
