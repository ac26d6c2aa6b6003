"""Pictures of answers, previews, budgets and privacy losses: what they show, and that nothing is lost or invented."""

from __future__ import annotations

import inspect
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
import discreet.learn
from discreet.accounting import Concentrated, Pure, delta_of, epsilon_of, noise_losses, rho_for
from discreet.accounting.balance import Amount, Balance, percent
from discreet.accounting.record import Entry
from discreet.answers import Answer
from discreet.answers.buckets import Buckets
from discreet.answers.layout import answer_parts
from discreet.answers.plots import History, budget, budget_chart, points, privacy_loss
from discreet.answers.plots.answer import NARROW, answer_chart
from discreet.answers.plots.budget import burnt
from discreet.answers.plots.losses import BEYOND, DELTA, LEAST, Curve
from discreet.answers.plots.points import MOST_FACETS, MOST_KEYS
from discreet.answers.plots.theme import COLOURS, NEUTRAL, THEMES, altair
from discreet.answers.wire import answer_read, answer_written
from discreet.curator.curator import Curator
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.printing import at_least
from tests.answers.test_answers import CONCENTRATED, answer, one, preview
from tests.curator.worlds import hospital

Spec = dict[str, Any]
WORDS = {"part": "age", "n": "number of rows"}
MONTHS = [date(2025 + month // 12, month % 12 + 1, 1) for month in range(14)]


def table(columns: list[str], rows: list[tuple[Any, ...]], *noisy: str, half: float = 30) -> Answer:
    """An answer in which these columns are noisy."""
    places = {name: columns.index(name) for name in noisy}
    intervals = [{name: (row[at] - half, row[at] + half) for name, at in places.items()} for row in rows]
    return answer(columns=columns, rows=rows, intervals=intervals, noise=dict.fromkeys(noisy, "noise"))


def spec(drawn: Any, theme: str = "light") -> Spec:
    """The chart as it is sent to a browser: strict JSON."""
    chart = drawn.plot(theme) if hasattr(drawn, "plot") else drawn
    found: Spec = json.loads(json.dumps(chart.to_dict(), allow_nan=False))
    return found


def panels(chart: Spec) -> list[Spec]:
    found = next((chart[name] for name in ("concat", "vconcat") if name in chart), [chart])
    return [{"data": chart.get("data"), **panel} for panel in found]  # altair lifts what all panels share


def marks(panel: Spec) -> list[str]:
    inner = panel.get("spec", panel)
    return [layer["mark"]["type"] for layer in inner.get("layer", [inner])]


def encoding(panel: Spec, mark: str) -> Spec:
    layers = panel.get("spec", panel)["layer"]
    found: Spec = next(layer["encoding"] for layer in layers if layer["mark"]["type"] == mark)
    return found


def records(panel: Spec) -> list[Spec]:
    return list(panel["data"]["values"])


def subtitle(chart: Spec) -> list[str]:
    return list(chart["title"]["subtitle"])


# answers


def test_texts_stand_down_the_side_in_the_answers_order() -> None:
    chart = spec(answer())
    assert marks(chart) == ["rule", "point"]
    y = encoding(chart, "point")["y"]
    assert (y["type"], y["title"], y["sort"]) == ("nominal", "ward", ["A", "ICU", "NULL"])
    x = encoding(chart, "point")["x"]
    assert (x["type"], x["title"], x["scale"].get("type")) == ("quantitative", "n", None)
    assert (encoding(chart, "rule")["x"]["field"], encoding(chart, "rule")["x2"]["field"]) == ("low", "high")
    assert chart["title"] == {
        "text": "n by ward",
        "subtitle": ["ε = 0.1, intervals (95 %) narrower than the dots"],
    }


def test_the_data_are_the_rows_and_their_intervals() -> None:
    found = [(record["key"], record["value"], record["low"], record["high"]) for record in records(spec(answer()))]
    assert found == [("A", 1041, 1011, 1071), ("ICU", -3, -33, 27), ("NULL", 104127, 104097, 104157)]


def test_tooltips_tell_value_and_interval() -> None:
    chart = spec(answer())
    shown = [(item["field"], item["title"]) for item in encoding(chart, "point")["tooltip"]]
    assert shown == [("name", "ward"), ("shown", "n"), ("interval", "95 %")]
    first = records(chart)[0]
    assert (first["shown"], first["interval"]) == ("1,041 ± 30", "1,011 … 1,071")


def test_dates_are_a_series_in_utc() -> None:
    chart = spec(table(["month", "n"], [(month, 400 + 9 * at) for at, month in enumerate(MONTHS)], "n"))
    assert marks(chart) == ["area", "line", "point"]
    x = encoding(chart, "line")["x"]
    assert (x["type"], x["scale"]["type"], x["title"]) == ("temporal", "utc", "month")
    assert [record["key"] for record in records(chart)[:2]] == ["2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"]
    assert (encoding(chart, "area")["y"]["field"], encoding(chart, "area")["y2"]["field"]) == ("low", "high")
    assert subtitle(chart) == ["ε = 0.1, band 95 %"]


def test_times_keep_their_moment() -> None:
    there = timezone(timedelta(hours=2))
    rows = [(datetime(2026, 1, 2, 3, 4), 5), (datetime(2026, 1, 2, 3, 4, 5, 6, UTC), 6)]
    found = [record["key"] for record in records(spec(table(["t", "n"], rows, "n")))]
    assert found == ["2026-01-02T03:04:00Z", "2026-01-02T03:04:05.000006Z"]
    rows = [(datetime(2026, 1, 1, 1, tzinfo=there), 5), (datetime(2026, 1, 2, tzinfo=there), 6)]
    assert records(spec(table(["t", "n"], rows, "n")))[0]["key"] == "2025-12-31T23:00:00Z"


def test_numbers_stand_along_the_bottom() -> None:
    chart = spec(table(["part", "n"], [(part, 50 * part) for part in (1, 2, 3, 7)], "n"))
    assert marks(chart) == ["rule", "point"]
    x = encoding(chart, "point")["x"]
    assert (x["type"], x["axis"]["values"], x["axis"]["format"]) == ("quantitative", [1, 2, 3, 7], "d")
    assert [record["key"] for record in records(chart)] == [1, 2, 3, 7]
    assert encoding(chart, "rule")["y"]["field"] == "low"


def test_many_numbers_are_a_series() -> None:
    chart = spec(table(["age", "n"], [(age, age % 7) for age in range(90)], "n"))
    assert marks(chart) == ["area", "line", "point"]
    assert encoding(chart, "line")["x"]["type"] == "quantitative"


@pytest.mark.parametrize("keys", [[1, 2, None], [*MONTHS[:2], None]])
def test_null_among_numbers_or_dates_is_a_key_of_its_own(keys: list[Any]) -> None:
    chart = spec(table(["key", "n"], [(key, 100) for key in keys], "n"))
    x = encoding(chart, "point")["x"]
    assert x["type"] == "ordinal"
    assert x["sort"] == x["scale"]["domain"] == [record["key"] for record in records(chart)]
    assert x["sort"][2] == "NULL"
    assert x["sort"][:2] == [str(key) for key in keys[:2]]


def test_keys_that_look_alike_stay_apart() -> None:
    keys = [None, "NULL", "a b", "a  b", "a" * 99 + "x", "a" * 99 + "y", ""]
    found = [record["key"] for record in records(spec(table(["key", "n"], [(key, 1) for key in keys], "n")))]
    assert found[:4] == ["NULL", "NULL (2)", "a b", "a b (2)"]
    assert len(set(found)) == len(keys)
    assert max(map(len, found)) < 50
    swapped = records(spec(table(["key", "n"], [("NULL", 1), (None, 2)], "n")))
    assert [(record["key"], record["value"]) for record in swapped] == [("NULL (2)", 1), ("NULL", 2)]


def test_a_second_key_is_a_colour() -> None:
    rows = [(ward, sex, 100 * len(ward)) for ward in ("A", "ICU") for sex in ("F", "M", None)]
    chart = spec(table(["ward", "sex", "n"], rows, "n"))
    colour = encoding(chart, "point")["color"]
    assert (colour["field"], colour["legend"]["title"]) == ("by", "sex")
    assert (colour["scale"]["domain"], colour["scale"]["range"]) == (["F", "M", "NULL"], list(COLOURS[:3]))
    assert encoding(chart, "rule")["yOffset"]["sort"] == ["F", "M", "NULL"]
    assert [(record["key"], record["by"]) for record in records(chart)[:2]] == [("A", "F"), ("A", "M")]
    assert chart["title"]["text"] == "n by ward and sex"


def test_dates_have_the_axis_whatever_comes_first() -> None:
    rows = [(sex, month, 100 * at) for at, month in enumerate(MONTHS) for sex in "FM"]
    chart = spec(table(["sex", "month", "n"], rows, "n"))
    assert encoding(chart, "line")["x"]["title"] == "month"
    assert encoding(chart, "area")["color"]["scale"]["domain"] == ["F", "M"]


def test_too_many_colours_become_small_multiples() -> None:
    codes = [f"code {number}" for number in range(len(COLOURS) + 1)]
    chart = spec(table(["month", "code", "n"], [(month, code, 9) for month in MONTHS for code in codes], "n"))
    assert (chart["facet"]["field"], chart["facet"]["sort"], chart["columns"]) == ("by", codes, 3)
    assert "color" not in encoding(chart, "line")
    assert len(records(chart)) == len(MONTHS) * len(codes)
    assert all("data" not in layer for layer in [chart["spec"], *chart["spec"]["layer"]])


@pytest.mark.parametrize(("parts", "faceted"), [("FM", False), ("ABC", True), ("ABCDEFG", True)])
def test_bands_lie_upon_each_other_two_at_a_time(parts: str, faceted: bool) -> None:
    rows = [(month, part, 100 * at) for at, month in enumerate(MONTHS) for part in parts]
    chart = spec(table(["month", "part", "n"], rows, "n"))
    assert ("facet" in chart) is faceted
    assert ("color" in encoding(chart, "area")) is not faceted


def test_of_two_keys_the_many_have_the_axis_and_the_few_the_colours() -> None:
    rows = [(smoker, ward, 50) for smoker in (True, False) for ward in "ABCDEFG"]
    chart = spec(table(["smoker", "ward", "n"], rows, "n"))
    assert encoding(chart, "point")["y"]["sort"] == list("ABCDEFG")
    assert encoding(chart, "point")["color"]["scale"]["domain"] == ["true", "false"]


DECADES = Buckets(Fraction(-10), Fraction(10), Fraction(10), Fraction(0), True, 1, 10)


def test_buckets_are_ranges_in_their_own_order() -> None:
    keys = [3, 11, None, 0, 2]
    drawn = replace(table(["part", "n"], [(key, 50) for key in keys], "n"), buckets={"part": DECADES}, words=WORDS)
    chart = spec(drawn)
    x = encoding(chart, "point")["x"]
    assert x["sort"] == ["below 0", "10–19", "20–29", "100 and more", "NULL"]
    assert (x["type"], x["title"], chart["title"]["text"]) == ("ordinal", "age", "Number of rows by age")
    assert encoding(chart, "point")["y"]["title"] == "number of rows (n)"
    assert answer_read(json.loads(json.dumps(answer_written(drawn)))).buckets == drawn.buckets


def test_tables_have_the_ranges_beside_the_numbers() -> None:
    drawn = replace(table(["part", "n"], [(3, 50), (None, 60)], "n"), buckets={"part": DECADES}, words=WORDS)
    column = answer_parts(drawn).columns[0]
    assert (column.heading, column.beside) == ("part", "age")
    assert [(cell.text.strip(), cell.margin) for cell in column.cells] == [("3", "20–29"), ("NULL", "")]


def test_seven_groups_of_buckets_are_seven_charts() -> None:
    rows = [(ward, part, 50) for ward in "ABCDEFG" for part in range(1, 11)]
    chart = spec(replace(table(["ward", "part", "n"], rows, "n"), buckets={"part": DECADES}, words=WORDS))
    assert chart["facet"]["sort"] == list("ABCDEFG")
    assert encoding(chart, "point")["x"]["sort"][0] == "0–9"


def test_keys_that_no_value_has_are_not_drawn() -> None:
    tens = Buckets(Fraction(0), Fraction(1), Fraction(10), Fraction(0), True)
    chart = spec(replace(table(["part", "n"], [(key, 5) for key in range(31)], "n"), buckets={"part": tens}))
    assert [record["key"] for record in records(chart)] == ["0–9", "10–19", "20–29", "30–39"]
    assert "27 keys that no part can have: not drawn" in subtitle(chart)


@pytest.mark.parametrize("sent", ["1e999999", "1/0", "nan", "", 7, "9" * 99])
def test_a_server_that_sends_no_fraction_is_not_believed(sent: object) -> None:
    with pytest.raises(ValueError, match="fractions"):
        Buckets.read({**DECADES.to_dict(), "start": sent})
    with pytest.raises(ValueError, match="wider"):
        Buckets.read({**DECADES.to_dict(), "width": "0"})


@pytest.mark.parametrize(
    ("halves", "told"),
    [
        ((300, 300), "bars 95 %"),
        ((1, 1), "intervals (95 %) narrower than the dots"),
        ((300, 1), "bars 95 %, or intervals (95 %) narrower than the dots"),
    ],
)
def test_bars_are_claimed_where_they_can_be_seen(halves: tuple[int, int], told: str) -> None:
    ends = [{"n": (1000 - half, 1000 + half)} for half in halves]
    chart = spec(answer(rows=[("A", 1000), ("B", 1000), ("C", 0)], intervals=[*ends, {}]))
    assert subtitle(chart) == [f"ε = 0.1, {told}"]


def test_a_bar_that_may_be_nothing_is_pale_and_says_so() -> None:
    ends = [(870, 930), (-20, 70)]
    chart = spec(answer(columns=["h"], rows=[(bins([900, 25]),)], intervals=[{"h": ends}], noise={"h": "noise"}))
    assert [record["zero"] for record in records(chart)] == [False, True]
    assert encoding(chart, "bar")["opacity"]["condition"] == {"test": "datum.zero", "value": 0.35}
    assert "pale bars: zero lies within their whiskers" in subtitle(chart)


def test_medians_have_hollow_dots_and_no_bars() -> None:
    chart = spec(answer(rows=[("A", 41)], intervals=[{}], ranks={"n": 1200}))
    assert not next(layer for layer in chart["layer"] if layer["mark"]["type"] == "point")["mark"]["filled"]
    (found,) = records(chart)
    assert (found["low"], found["shown"], found["interval"]) == (None, "41", "rank error ≤ 1,200 rows")
    assert "± " not in json.dumps(chart, ensure_ascii=False)
    assert subtitle(chart)[1] == "n: hollow dots, no interval of values is known; 95 % rank error ≤ 1,200 rows"


@pytest.mark.parametrize(
    ("name", "words", "title"),
    [
        ("COUNT(*)", "number of rows", "Number of rows by ward"),
        ("n", "number of rows", "Number of rows by ward"),
        ("patients_seen", "number of rows", "Patients seen by ward"),
        ("SUM(a) / SUM(b)", None, "Computed value by ward"),
        ("CASE WHEN", None, "CASE WHEN by ward"),
    ],
)
def test_titles_are_words(name: str, words: str | None, title: str) -> None:
    drawn = replace(table(["ward", name], [("A", 5), ("B", 6)], name), words={} if words is None else {name: words})
    assert spec(drawn)["title"]["text"] == title


def test_on_a_phone_everything_stands_below_each_other_and_lines_are_short() -> None:
    rows = [(month, part, 100 * at) for at, month in enumerate(MONTHS) for part in "ABC"]
    chart = spec(answer_chart(table(["month", "part", "n"], rows, "n"), layout=NARROW))
    assert (chart["columns"], chart["spec"]["width"]) == (1, NARROW.width)
    assert all(
        len(line) <= NARROW.letters for line in subtitle(spec(answer_chart(answer(**CONCENTRATED), layout=NARROW)))
    )


def test_further_keys_are_joined() -> None:
    rows = [(ward, sex, smoker, 7) for ward in "AB" for sex in "FM" for smoker in (True, False)]
    chart = spec(table(["ward", "sex", "smoker", "n"], rows, "n"))
    assert encoding(chart, "point")["color"]["legend"]["title"] == "sex · smoker"
    assert encoding(chart, "point")["color"]["scale"]["domain"][:2] == ["F · true", "F · false"]


def test_columns_that_tell_no_rows_apart_are_no_keys() -> None:
    rows = [("x", ward, at, at - 5, at + 5) for at, ward in enumerate(("A", "B", "C"), 100)]
    chart = spec(table(["constant", "ward", "n", "low_end", "high_end"], rows, "n"))
    assert chart["title"]["text"] == "n by ward"
    assert "color" not in encoding(chart, "point")


def test_several_columns_have_scales_of_their_own() -> None:
    chart = spec(table(["ward", "n", "cost"], [("A", 5, 1e6), ("B", 9, 2e6)], "n", "cost", half=1))
    assert chart["title"]["text"] == "n, cost by ward"
    first, second = panels(chart)
    assert (first["title"], second["title"]) == ("n", "cost")
    assert encoding(first, "point")["x"]["scale"]["domain"][1] < 20
    assert encoding(second, "point")["x"]["scale"]["domain"][0] > 900_000
    assert [record["value"] for record in records(second)] == [1e6, 2e6]


def test_a_single_row_is_a_dot_for_each_column() -> None:
    chart = spec(table(["n", "age"], [(5011, 54.25)], "n", "age", half=2))
    assert [marks(panel) for panel in panels(chart)] == [["rule", "point", "text"]] * 2
    (found,) = records(panels(chart)[1])
    assert (found["value"], found["low"], found["high"]) == (54.25, 52.25, 56.25)
    assert (found["shown"], found["interval"]) == ("54.25 ± 2.00", "52.25 … 56.25")
    assert "y" not in encoding(panels(chart)[0], "point")


def test_one_row_keeps_its_key_and_many_without_keys_are_numbered() -> None:
    assert spec(table(["ward", "n"], [("ICU", 5)], "n"))["title"]["text"] == "n by ward"
    chart = spec(table(["n"], [(5,), (5,), (6,)], "n"))
    assert [record["key"] for record in records(chart)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("values", "half", "logarithmic"),
    [([10, 20_000], 5, True), ([10, 4_000], 5, False), ([10, 20_000], 10, False), ([-10, 90_000], 1, False)],
)
def test_the_axis_is_logarithmic_where_that_helps(values: list[int], half: int, logarithmic: bool) -> None:
    chart = spec(table(["ward", "n"], [(str(value), value) for value in values], "n", half=half))
    x = encoding(chart, "point")["x"]
    assert (x["scale"].get("type") == "log") is logarithmic
    assert ("logarithmic" in x["title"]) is logarithmic


def test_values_without_an_interval_are_dots_alone() -> None:
    rows, intervals = [("A", 60), ("B", 61)], [{}, {"n": (50, 70)}]
    chart = spec(answer(rows=rows, intervals=intervals))
    assert [(record["low"], record["interval"]) for record in records(chart)] == [(None, "not known"), (50, "50 … 70")]
    assert chart["layer"][0]["transform"] == [{"filter": "isValid(datum.low)"}]
    assert subtitle(spec(answer(rows=rows, intervals=[{}, {}]))) == ["ε = 0.1"]


@pytest.mark.parametrize(
    ("value", "interval", "drawn"),
    [
        (2**53 + 1, (0, 2**60), (float(2**53), 0, float(2**60))),
        (10**4000, (0, 1), (None, 0, 1)),
        (math.nan, (1, 2), (None, 1, 2)),
        (3.0, (-math.inf, 5), (3.0, None, None)),
        (None, (0, 110), (None, 0, 110)),
        (1.7e308, (-1.7e308, 1.7e308), (1.7e308, -1.7e308, 1.7e308)),
        (1e-320, (1e-322, 1.7e308), (1e-320, 1e-322, 1.7e308)),
    ],
)
def test_numbers_that_charts_cannot_hold(value: Any, interval: Any, drawn: tuple[Any, ...]) -> None:
    chart = spec(one(value, interval))
    (found,) = records(chart)
    assert (found["value"], found["low"], found["high"]) == drawn
    assert type(found["value"]) is type(drawn[0])
    assert ("1 value is NULL or too large to be drawn" in subtitle(chart)) is (drawn[0] is None)


Values = st.one_of(st.none(), st.integers(), st.floats(), st.integers(-(10**400), 10**400))
Keys = st.one_of(st.none(), st.booleans(), st.text(), st.integers(), st.floats(), st.dates(), st.datetimes())


@pytest.mark.long
@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(Keys, Keys, Values, st.one_of(st.none(), st.tuples(Values, Values))), max_size=6), st.text())
def test_whatever_an_answer_holds_can_be_drawn(rows: list[Any], name: str) -> None:
    taken = {"a", "b"}
    label = name if name not in taken else "n"
    intervals = [{} if ends is None or None in ends else {label: ends} for _, _, _, ends in rows]
    shown = answer(columns=["a", "b", label], rows=[row[:3] for row in rows], intervals=intervals, noise={label: "x"})
    chart = spec(shown)
    if rows:
        assert len(records(chart)) == len(rows)
        assert chart["$schema"]


def test_answers_without_rows_or_numbers_say_so() -> None:
    for empty, words in (
        (answer(rows=[], intervals=[]), "the answer has no rows"),
        (answer(columns=["mode"], rows=[("A",)], intervals=[{}], noise={}), "the answer has no numbers"),
    ):
        chart = spec(empty)
        assert chart["mark"]["type"] == "text"
        assert records(chart)[0]["text"].startswith(words)


def test_tables_without_noise_are_dots() -> None:
    public = answer(
        columns=["ward", "beds"], rows=[("A", 48), ("B", 16)], intervals=[{}] * 2, noise={}, loss=Pure(0), receipt=""
    )
    chart = spec(public)
    assert subtitle(chart) == ["free: nothing private was read"]
    assert [record["value"] for record in records(chart)] == [48, 16]
    numbers = answer(columns=["year", "beds"], rows=[(2024, 4), (2025, 5)], intervals=[{}] * 2, noise={})
    assert spec(numbers)["title"]["text"] == "Beds by year"


def test_the_cost_in_a_concentrated_budget_is_that_of_the_release_by_itself_and_what_adds_up() -> None:
    alone = at_least(epsilon_of(Concentrated(0.005), 5e-7))
    part = percent(0.005 / rho_for(3, 5e-7))
    words = f"ε = {alone} (ρ 0.005), {part} of a budget of (ε 3, δ 1e-06), bars 95 %"
    seen = {"rows": [("A", 90), ("B", 10)], "intervals": [{"n": (60, 120)}, {"n": (-20, 40)}]}
    assert subtitle(spec(answer(**CONCENTRATED, **seen))) == [words]
    assert subtitle(spec(answer(confidence=0.999, **seen)))[0] == "ε = 0.1, bars 99.9 %"


@pytest.mark.long
def test_long_answers_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "MOST_POINTS", 500)
    chart = spec(table(["zip", "n"], [(f"{number:05}", number) for number in range(1234)], "n"))
    assert len(records(chart)) == MOST_KEYS
    assert "the first 100 of 1,234 values of zip are shown" in subtitle(chart)
    chart = spec(table(["age", "sex", "n"], [(age, sex, 1) for age in range(300) for sex in "FM"], "n"))
    assert len(records(chart)) == 500
    assert "the first 500 of 600 rows are shown" in subtitle(chart)
    chart = spec(table(["day", "zip", "n"], [(day, f"{zip_}", 1) for day in MONTHS for zip_ in range(50)], "n"))
    assert len(records(chart)) == MOST_FACETS * len(MONTHS)


# lists


def bins(counts: list[int]) -> list[dict[str, Any]]:
    return [{"value": 6.0 * place, "count": count} for place, count in enumerate(counts)]


def test_histograms_are_bars_as_wide_as_their_bins() -> None:
    chart = spec(answer(columns=["h"], rows=[(bins([900, 40, -8]),)], intervals=[{}], noise={}))
    assert marks(chart) == ["bar", "rule"]
    bar = encoding(chart, "bar")
    assert (bar["x"]["type"], bar["x2"]["field"], bar["y"]["field"]) == ("quantitative", "end", "value")
    found = [(record["key"], record["end"], record["value"], record["low"]) for record in records(chart)]
    assert found == [(0.0, 6.0, 900, None), (6.0, 12.0, 40, None), (12.0, 18.0, -8, None)]
    assert records(chart)[1]["name"] == "6 to 12"
    assert subtitle(chart) == ["ε = 0.1"]


def test_histograms_have_whiskers_where_the_intervals_of_their_counts_are_known() -> None:
    ends = [(870, 930), (10, 70)]
    chart = spec(answer(columns=["h"], rows=[(bins([900, 40]),)], intervals=[{"h": ends}], noise={"h": "noise"}))
    assert [(record["low"], record["high"]) for record in records(chart)] == ends
    whisker = encoding(chart, "rule")
    assert (whisker["y"]["field"], whisker["y2"]["field"], whisker["x"]["field"]) == ("low", "high", "middle")
    assert subtitle(chart) == ["ε = 0.1, whiskers 95 %"]


def test_histograms_of_groups_are_small_multiples() -> None:
    rows = [("A", bins([1, 2])), (None, bins([3, 4])), ("C", None)]
    chart = spec(answer(columns=["ward", "h"], rows=rows, intervals=[{}] * 3, noise={}))
    assert (chart["facet"]["field"], chart["facet"]["sort"]) == ("by", ["A", "NULL"])
    found = [(record["by"], record["key"], record["value"]) for record in records(chart)]
    assert found == [("A", 0.0, 1), ("A", 6.0, 2), ("NULL", 0.0, 3), ("NULL", 6.0, 4)]
    many = [(f"{number}", bins([1])) for number in range(40)]
    chart = spec(answer(columns=["ward", "h"], rows=many, intervals=[{}] * 40, noise={}))
    assert len(records(chart)) == MOST_FACETS


def test_favourites_are_bars_in_their_order() -> None:
    top = [{"value": value, "count": count} for value, count in (("b", 30), ("a", 20), (None, 10))]
    chart = spec(answer(columns=["top"], rows=[(top,)], intervals=[{}], noise={}))
    assert encoding(chart, "bar")["y"]["sort"] == ["b", "a", "NULL"]
    assert [record["value"] for record in records(chart)] == [30, 20, 10]


# previews


def test_a_preview_is_a_bar_for_each_error() -> None:
    chart = spec(preview())
    counts, ages = panels(chart)
    assert (counts["title"], ages["title"]) == ("n", "age")
    assert marks(counts) == ["bar", "point", "text"]
    assert records(counts) == [{"group": "any group", "low": -29.95, "high": 29.95, "shown": "± 30"}]
    assert [(record["group"], record["high"], record["shown"]) for record in records(ages)] == [
        ("groups of 100", 4.912, "± 4.92"),
        ("groups of 1,000", 0.4912, "± 0.492"),
    ]
    assert subtitle(chart) == ["ε = 0.1, bars 95 %"]


def test_a_preview_says_what_is_not_known() -> None:
    chart = spec(preview(columns=["n", "m"], noise={"n": "", "m": ""}, averages={}))
    assert subtitle(chart)[1] == "not known before it is asked: m"
    assert subtitle(spec(preview(cached=True)))[0].startswith("cached: free")
    none = spec(preview(error={"n": math.inf}, averages={}))
    assert records(none)[0]["text"] == "no error is known before the question is asked"


# the budget


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    hospital(tmp_path)
    with discreet.open(tmp_path / "hospital.toml") as opened:
        yield opened


def test_the_budget_burns_down(curator: Curator) -> None:
    for place, analyst in enumerate((None, "fraud", "epidemiology", "fraud")):
        curator.query("SELECT COUNT(*) FROM patients", epsilon=0.05 + 0.05 * place, analyst=analyst)
    chart = spec(curator)
    above, below = panels(chart)
    assert marks(above) == ["line", "rule", "point"]
    assert above["layer"][0]["mark"]["interpolate"] == below["mark"]["interpolate"] == "step-after"
    line = above["layer"][0]["data"]["values"]
    balance = curator.budget()
    assert line[0]["remaining"] == pytest.approx(balance.total.rho, rel=1e-12)
    assert line[-1]["remaining"] == balance.remaining.rho
    costs = [(before["remaining"] - after["remaining"]) for before, after in pairwise(line)]
    assert costs == pytest.approx([float(entry.loss.concentrated().rho) for entry in curator.entries()], rel=1e-9)
    dots = above["layer"][2]["data"]["values"]
    assert [dot["colour"] for dot in dots] == ["owner", "fraud", "epidemiology", "fraud"]
    assert [dot["number"] for dot in dots] == [entry.number for entry in curator.entries()]
    assert all(dot["at"].startswith("20") for dot in dots)
    assert encoding(above, "point")["color"]["scale"]["domain"] == ["epidemiology", "fraud", "owner"]
    lefts = {record["analyst"]: record["left"] for record in records(below)}
    for analyst, left in lefts.items():
        share = curator.budget(analyst)
        assert left == pytest.approx(share.remaining.rho / share.total.rho)  # type: ignore[operator]


def test_real_answers_are_drawn_as_they_are(curator: Curator) -> None:
    found = curator.query("SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY sex", epsilon=0.5)
    for panel, name, place in zip(panels(spec(found)), ("n", "age"), (1, 2), strict=True):
        drawn = [(record["key"], record["value"], (record["low"], record["high"])) for record in records(panel)]
        assert drawn == [
            (row[0], row[place], ends[name]) for row, ends in zip(found.rows, found.intervals, strict=True)
        ]
    counted = curator.query("SELECT HISTOGRAM(age, 5) FROM patients", epsilon=0.2)
    bars = records(spec(counted))
    assert [{"value": bar["key"], "count": bar["value"]} for bar in bars] == counted.rows[0][0]
    assert [(bar["low"], bar["high"]) for bar in bars] == next(iter(counted.intervals[0].values()))
    ((name, half),) = curator.preview("SELECT HISTOGRAM(age, 5) FROM patients", epsilon=0.2).error.items()
    assert {bar["high"] - bar["value"] for bar in bars} == {half}
    top = spec(curator.query("SELECT APPROX_TOP_COUNT(sex, 1) AS t FROM patients", epsilon=0.2))
    assert (marks(top), records(top)[0]["low"] is None, "whiskers 95 %" in subtitle(top)[0]) == (
        ["bar", "rule"],
        False,
        True,
    )
    ahead = curator.preview("SELECT COUNT(*) AS n FROM patients", epsilon=0.2)
    assert records(panels(spec(ahead))[0])[0]["high"] == ahead.error["n"]


def entry(number: int, analyst: str = "owner", loss: Pure | Concentrated | None = None) -> Entry:
    paid = loss or Pure(0.001)
    return Entry(number, "2026-11-01T02:11:38.728+00:00", analyst, "SELECT\n1", paid, 1, True, paid)


def test_an_unspent_budget_is_a_level_line() -> None:
    full = Balance(Amount(3.0), Amount(0.0), Amount(3.0))
    chart = spec(budget_chart(History([], 0), full, {}))
    assert (chart["title"]["text"], subtitle(chart)) == ("remaining ε 3 of 3", ["nothing is spent yet"])
    (panel,) = panels(chart)
    assert marks(panel) == ["line"]
    line = records(panel)
    assert [(point["charge"], point["remaining"]) for point in line] == [(0, 3.0), (1, 3.0)]


def test_long_ledgers_show_their_newest_charges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SHOWN_CHARGES", 100)
    entries = [entry(number, f"analyst {number % 12}") for number in range(1, 151)]
    balance = Balance(Amount(3.0), Amount(1.5), Amount(1.5))
    history = History(entries[-100:], len(entries), entries[0].at)
    found = burnt(history, balance)
    assert (len(found), found[0]["charge"], found[-1]["charge"]) == (100, 51, 150)
    assert (found[-1]["remaining"], found[0]["before"]) == (1.5, 1.6)
    shares = {"analyst 3": Balance(Amount(1.0), Amount(0.125), Amount(0.875)), "none": Balance(*[Amount(0.0)] * 3)}
    chart = spec(budget_chart(history, balance, shares))
    assert "the newest 100 charges are shown" in subtitle(chart)
    domain = encoding(panels(chart)[0], "point")["color"]["scale"]
    assert domain["domain"][-1] == "others"
    assert domain["range"] == [*COLOURS, NEUTRAL]
    assert {record["analyst"] for record in records(panels(chart)[1])} == {"analyst 3"}


def test_pure_charges_count_in_a_concentrated_budget() -> None:
    balance = Balance(Amount(3.0, 0.2, 1e-6), Amount(1.0, 0.1, 0.0), Amount(0.4, 0.1, 5e-7))
    found = burnt(History([entry(1, loss=Pure(0.1)), entry(2, loss=Concentrated(0.01))], 2), balance)
    assert found[1]["before"] == pytest.approx(0.11)
    assert found[0]["before"] == pytest.approx(0.11 + 0.1 * math.tanh(0.05))
    assert found[0]["question"] == "SELECT 1"


# privacy loss


def drawn_line(chart: Spec, mechanism: str, line: str) -> list[tuple[float, float]]:
    return [
        (record["epsilon"], record["probability"])
        for record in records(chart)
        if record["mechanism"].startswith(mechanism) and record["line"] == line
    ]


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=1, sensitivity=1),
        Laplace(epsilon=0.3, sensitivity=5),
        Laplace(epsilon=1, sensitivity=1.5),
        Gaussian(rho=0.02, sensitivity=1),
        Gaussian(epsilon=1, delta=1e-6, sensitivity=3),
        Gaussian(rho=0.5, sensitivity=0.5, step=0.25),
    ],
)
def test_the_curve_is_that_of_the_exact_noise(mechanism: Laplace | Gaussian) -> None:
    curve = Curve.of(mechanism)
    losses = noise_losses(curve.noise, curve.shift)
    chart = spec(privacy_loss(mechanism))
    beyond = drawn_line(chart, "", BEYOND)
    assert len(beyond) >= 2
    for epsilon, chance in beyond:
        assert chance == pytest.approx(max(losses.beyond(epsilon), LEAST), rel=1e-6)
    for epsilon, delta in drawn_line(chart, "", DELTA)[:: len(beyond)]:
        assert delta == max(delta_of(curve.noise, curve.shift, epsilon), LEAST)
    assert beyond == sorted(beyond, key=lambda point: (point[0], -point[1]))


def test_laplace_noise_never_loses_more_than_its_epsilon_and_gaussian_noise_may() -> None:
    chart = spec(privacy_loss(Laplace(epsilon=1, sensitivity=1), Gaussian(epsilon=1, delta=1e-6, sensitivity=1)))
    assert drawn_line(chart, "Laplace", BEYOND)[-1] == (1.0, LEAST)
    assert drawn_line(chart, "Gaussian", BEYOND)[-1][0] > 1.5
    at_one = min(drawn_line(chart, "Gaussian", DELTA), key=lambda point: abs(point[0] - 1))
    assert at_one[1] == pytest.approx(1e-6, rel=0.2)
    y = chart["layer"][0]["encoding"]["y"]
    assert (y["scale"]["type"], y["scale"]["domain"]) == ("log", [LEAST, 1])
    assert chart["layer"][0]["mark"]["interpolate"] == "step-after"
    names = chart["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert names == ["Laplace, ε 1", "Gaussian, ε 1, δ 1e-06"]


def test_mechanisms_alike_are_told_apart() -> None:
    chart = spec(privacy_loss(*[Laplace(epsilon=0.1, sensitivity=1)] * 2))
    assert chart["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["Laplace, ε 0.1", "Laplace, ε 0.1 (2)"]


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=1e-9, sensitivity=1e100),
        Gaussian(rho=1e9, sensitivity=1),
        Laplace(epsilon=1e9, sensitivity=1e-100),
    ],
)
def test_extreme_mechanisms_are_drawn(mechanism: Laplace | Gaussian) -> None:
    chances = [record["probability"] for record in records(spec(privacy_loss(mechanism)))]
    assert all(LEAST <= chance <= 1 for chance in chances)


def test_what_has_no_noise_is_no_curve() -> None:
    with pytest.raises(ValueError, match="give 1 to 8 mechanisms"):
        privacy_loss()
    with pytest.raises(TypeError, match="a Exponential cannot be drawn: give a Laplace"):
        privacy_loss(Exponential(epsilon=1, sensitivity=1))  # type: ignore[arg-type]


# looks


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_colours_can_be_seen_and_words_read(theme: str) -> None:
    look = THEMES[theme]
    assert all(contrast(colour, look.background) >= 3 for colour in (*COLOURS, NEUTRAL))
    assert contrast(look.text, look.background) >= 7
    assert contrast(look.faint, look.background) >= 4.5
    config = spec(answer(), theme)["config"]
    assert (config["background"], config["title"]["color"]) == (look.background, look.text)


@pytest.mark.parametrize("theme", ["sepia", None, 1, ["light"], ""])
def test_unknown_themes_are_refused(theme: Any) -> None:
    draws: list[Callable[[], object]] = [
        lambda: answer().plot(theme),
        lambda: preview().plot(theme),
        lambda: budget_chart(History([], 0), Balance(Amount(3.0), Amount(0.0), Amount(3.0)), {}, theme),
        lambda: privacy_loss(Laplace(epsilon=1, sensitivity=1), theme=theme),
    ]
    for draw in draws:
        with pytest.raises(ValueError, match="theme must be 'light' or 'dark'"):
            draw()


@pytest.mark.long
@pytest.mark.parametrize("theme", THEMES)
def test_charts_are_written_without_a_browser(theme: str, tmp_path: Path) -> None:
    chart = answer(columns=["ward & <b>", "n"]).plot(theme)
    chart.save(str(tmp_path / "x.svg"))
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    for words in ("n by ward &amp; &lt;b&gt;", "ε = 0.1, intervals (95 %) narrower than the dots", "ICU", "NULL"):
        assert f">{words}<" in svg
    assert THEMES[theme].background in svg
    assert "<b>" not in svg
    chart.save(str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG\r\n")
    chart.save(str(tmp_path / "x.html"))
    assert "vegaEmbed" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_without_altair_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    for draw in (answer().plot, preview().plot):
        with pytest.raises(ImportError, match=r"altair is not installed: pip install 'discreet\[plot\]'"):
            draw()


def test_altair_is_imported_only_to_draw() -> None:
    code = "import sys, discreet, discreet.curator.curator, discreet.answers.plots; print('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "False\n"


THREADS = """
import sys, threading
from importlib import import_module
sys.setswitchinterval(1e-6)
both, failed = threading.Barrier(2), []
def load(name):
    both.wait()
    try:
        import_module("discreet.preloaded")
        import_module(name)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=load, args=(f"narwhals.stable.v{number}",)) for number in (1, 2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failed)
"""


def test_the_first_chart_and_the_first_model_may_come_at_once() -> None:
    """altair and scikit-learn import two modules of narwhals that import each other: in two threads, a deadlock."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
    chart, learn = inspect.getsource(altair), inspect.getsource(discreet.learn)
    assert chart.index("import discreet.preloaded") < chart.index("import_module")
    assert learn.index("import discreet.preloaded") < learn.index("from discreet.learn.additive")
