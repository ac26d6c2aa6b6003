"""The Learn pages: the lectures' figures, the theorems' noise, and pages that stand whatever is sent."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from discreet import noise
from discreet.errors import Refused
from discreet.lab import linkage
from discreet.lab.blocks import Block, Picture, Table
from discreet.lab.examples import coins, complaints, losses, zipcode
from discreet.mechanisms import Gaussian
from discreet.server.dispatch import LIGHT, Dispatcher
from discreet.server.learn import averaging, routes
from discreet.server.learn.fields import Choice, Slider, Unusable, read
from discreet.server.learn.lessons import LESSONS, after
from discreet.server.learn.routes import router
from discreet.server.limits import Rates
from discreet.server.pages.sessions import COOKIE, Sessions
from discreet.server.problems import respond
from discreet.server.queue import Queue

ORDER = [
    "blue-eyes",
    "complaints",
    "randomised-response",
    "nationality",
    "privacy-loss",
    "averaging",
    "linkage",
    "zip-82414",
    "hiv-histogram",
]
NASTY = ["", "NaN", "-inf", "1e999999", "9" * 5000, "ε", "1; DROP", "<script>alert(1)</script>", "\x00", "0x10", "−3"]
TOKEN = "somebody's"


class Seen(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._skipped = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._skipped += tag == "svg"

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag == "svg"

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture
def app() -> Iterator[FastAPI]:
    """The pages alone, over no dataset."""
    made = FastAPI(exception_handlers={Refused: respond})
    dispatcher = Dispatcher(Queue(1))
    datasets = SimpleNamespace(callers=lambda token: {"d": object()} if token == TOKEN else {})
    made.state.app_state = SimpleNamespace(dispatcher=dispatcher, rates=Rates(), datasets=datasets)
    made.state.sessions = Sessions()
    made.include_router(router)
    yield made
    dispatcher.close()


Get = Callable[..., httpx.Response]


@pytest.fixture
def get(app: FastAPI) -> Get:
    def fetch(path: str, params: Mapping[str, str] | None = None, cookie: str = "") -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            cookies = {COOKIE: cookie} if cookie else None
            async with httpx.AsyncClient(transport=transport, base_url="http://test", cookies=cookies) as client:
                return await client.get(path, params=params, timeout=120)

        return asyncio.run(ask())

    return fetch


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their pictures, as where altair is not installed."""
    monkeypatch.setattr(routes, "picture", lambda *_: None)


def body_of(slug: str, **sent: str) -> list[Block]:
    lesson = LESSONS[slug]
    reading = read(lesson.fields, sent)
    assert not reading.notes
    body = lesson.body(reading.values)
    return [*body.glance, body.figures, *body.more]


def figures_of(slug: str, **sent: str) -> dict[str, tuple[str, str]]:
    """The lecture's figures and the reader's, by what they are."""
    table = next(block for block in body_of(slug, **sent) if isinstance(block, Table) and block.columns[-1] == "yours")
    return {row[0]: (row[1], row[2]) for row in table.rows}


# pages


def test_there_is_a_lesson_for_each_example_in_order() -> None:
    assert list(LESSONS) == ORDER
    assert [after(slug).slug for slug in ORDER] == [*ORDER[1:], ORDER[0]]


def test_the_overview_leads_to_all_lessons(get: Get) -> None:
    response = get("/learn")
    seen = Seen(response.text)
    assert response.status_code == 200
    assert [link["href"] for link in seen.all("a") if (link["href"] or "").startswith("/learn/")] == [
        f"/learn/{slug}" for slug in ORDER
    ]
    assert len([svg for svg in seen.all("svg") if svg.get("role") == "img" and svg.get("aria-label")]) == len(ORDER)
    demand_quiet(seen)


@pytest.mark.parametrize("slug", ORDER)
def test_a_lesson_as_it_opens(get: Get, slug: str) -> None:
    response, lesson = get(f"/learn/{slug}"), LESSONS[slug]
    seen = Seen(response.text)
    assert response.status_code == 200
    assert "script-src 'self'; style-src 'self'" in response.headers["content-security-policy"]
    for words in (lesson.title, lesson.shows, lesson.invented, *(f"lecture {number}" for number in lesson.lectures)):
        assert words in seen.text
    drawn = [svg for svg in seen.all("svg") if svg.get("role") == "img"]
    assert drawn
    assert all(len(svg.get("aria-label") or "") > 40 for svg in drawn)
    assert {"href": f"/learn/{after(slug).slug}", "class": "button quiet"} in seen.all("a")
    demand_quiet(seen)
    demand_labels(seen, [field.name for field in lesson.fields])
    demand_order(seen)


def demand_quiet(seen: Seen) -> None:
    """Nothing that the page's policy forbids, and nothing from elsewhere."""
    for tag, attributes in seen.tags:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert tag != "style"
        assert tag != "script" or (attributes["src"] or "").startswith("/static/")
        for name in ("src", "href", "action", "xlink:href"):
            assert (attributes.get(name) or "/").startswith(("/", "#")), attributes


def demand_labels(seen: Seen, names: list[str]) -> None:
    controls = seen.all("input", "select")
    assert [control["name"] for control in controls] == names
    labelled = {label["for"] for label in seen.all("label")}
    assert all(control["id"] in labelled for control in controls)


def demand_order(seen: Seen) -> None:
    levels = [int(tag[1]) for tag, _ in seen.tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("slug", ORDER)
def test_whatever_is_sent_a_page_opens_and_says_what_it_shows_instead(get: Get, slug: str) -> None:
    fields = LESSONS[slug].fields
    sent = {field.name: NASTY[place % len(NASTY)] for place, field in enumerate(fields, start=ORDER.index(slug))}
    seen = Seen((response := get(f"/learn/{slug}", sent)).text)
    assert response.status_code == 200
    assert "<script>alert" not in response.text
    for field in fields:
        assert field.label in seen.text
        assert f"Shown is {field.named(field.read(field.default))}." in seen.text
    demand_quiet(seen)


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("slug", ORDER)
def test_at_both_ends_of_all_fields_charts_can_be_drawn(slug: str, end: str) -> None:
    sent = {
        field.name: getattr(field, end) if isinstance(field, Slider) else list(field.options)[0 if end == "low" else -1]
        for field in LESSONS[slug].fields
    }
    blocks = body_of(slug, **sent)
    charts = [block.chart().to_dict(validate=False) for block in blocks if isinstance(block, Picture)]
    assert charts
    json.dumps(charts, allow_nan=False)
    assert "nan" not in repr([block for block in blocks if not isinstance(block, Picture)]).lower()


def test_an_unknown_lesson_is_not_found(get: Get) -> None:
    response = get("/learn/nothing")
    assert (response.status_code, response.json()["code"]) == (404, "unknown-route")
    assert "/learn" in response.json()["fix"]


def test_all_readers_together_are_limited(get: Get) -> None:
    responses = [get("/learn") for _ in range(60)]
    refused = [response for response in responses if response.status_code == 429]
    assert responses[0].status_code == 200
    assert refused
    assert refused[0].json()["code"] == "rate-limited"
    assert "token" not in refused[0].json()["reason"]


def test_lessons_leave_threads_for_others(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, at_once, full = threading.Lock(), [0, 0], threading.Event()

    def slow(*_: Any) -> None:
        with lock:
            at_once[0] += 1
            at_once[1] = max(at_once)
            if at_once[0] == routes.AT_ONCE:
                full.set()
        assert full.wait(300)  # as many as may are there
        time.sleep(0.05)  # and one too many would come
        with lock:
            at_once[0] -= 1

    async def ask() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            return await asyncio.gather(*(client.get("/learn/nationality", timeout=120) for _ in range(6)))

    monkeypatch.setattr(routes, "picture", slow)
    assert {response.status_code for response in asyncio.run(ask())} == {200}
    assert at_once[1] == routes.AT_ONCE < LIGHT


def test_whoever_is_signed_in_sees_it(app: FastAPI, get: Get) -> None:
    def begun(token: str) -> str:
        response = Response()
        app.state.sessions.begin(token, response, secure=False)
        return response.headers["set-cookie"].split(";")[0].split("=", 1)[1]

    assert "Sign in" in get("/learn").text
    assert "Sign out" in get("/learn", cookie=begun(TOKEN)).text
    assert "Sign out" not in get("/learn", cookie=begun("revoked")).text


# fields


@pytest.mark.parametrize(("text", "value"), [("0.3", 0.3), ("0.31", 0.3), (" 1 ", 1.0), ("1e-1", 0.1), ("0.349", 0.35)])
def test_a_slider_moves_to_its_steps(text: str, value: float) -> None:
    assert Slider("e", "ε", "0.05", "3", "0.05", "1").read(text) == value


@pytest.mark.parametrize("text", [*NASTY, "0.049", "3.001", "sNaN"])
def test_a_slider_refuses_the_rest(text: str) -> None:
    with pytest.raises(Unusable, match=r"a number from 0\.05 to 3"):
        Slider("e", "ε", "0.05", "3", "0.05", "1").read(text)


def test_whole_steps_are_integers() -> None:
    assert type(Slider("n", "n", "1", "9", "1", "5").read("4.6")) is int


def test_a_choice_is_one_of_its_options() -> None:
    field = Choice("c", "Coin", {"heads": "heads", "flip": "flip it for me"}, "heads")
    assert field.read("flip") == "flip"
    with pytest.raises(Unusable, match="heads, flip it for me"):
        field.read("edge")


def test_notes_name_only_what_was_wrong() -> None:
    fields = (Slider("e", "ε", "0.05", "3", "0.05", "1"), Choice("c", "Coin", {"heads": "heads"}, "heads"))
    reading = read(fields, {"e": "NaN", "c": "heads", "other": "x"})
    assert reading.values == {"e": 1.0, "c": "heads"}
    assert reading.notes == ("ε: a number from 0.05 to 3. Shown is 1.",)


# the lectures' figures

TWO_PERCENT = 0.02 * 0.75 / (0.02 * 0.75 + 0.98 * 0.25)
LECTURES = [
    ("blue-eyes", {}, "scale of the noise, Δf/ε", (f"{1 / 0.1:g}", f"{1 / 0.1:g}")),
    ("blue-eyes", {"epsilon": "0.25", "people": "100"}, "scale of the noise, Δf/ε", ("10", "4")),
    ("complaints", {"epsilon": "0.5"}, "noise if everybody counts once", ("Lap(1/ε)", f"Lap({1 / 0.5:g})")),
    ("complaints", {"epsilon": "0.5"}, "noise then", ("Lap(5/ε)", f"Lap({5 / 0.5:g})")),
    ("complaints", {"epsilon": "0.5", "limit": "7"}, "noise then", ("Lap(5/ε)", f"Lap({7 / 0.5:g})")),
    (
        "randomised-response",
        {},
        "probability of the true answer",
        ("3/4", f"{math.exp(0.5) / (1 + math.exp(0.5)):.3f}"),
    ),
    ("randomised-response", {}, "ε", ("ln 3 ≈ 1.099", "0.5")),
    (
        "randomised-response",
        {"epsilon": "1"},
        "prior 0.02 and a Yes: posterior",
        (f"{TWO_PERCENT:.3f}", f"{0.02 * math.e / (0.02 * math.e + 0.98):.3f}"),
    ),
    (
        "randomised-response",
        {"epsilon": "0.1"},
        "prior 0.4: posterior at least",
        ("0.4·e^−ε", f"{0.4 * math.exp(-0.1):.3f}"),
    ),
    (
        "randomised-response",
        {"epsilon": "0.1"},
        "prior 0.4: posterior at most",
        ("0.4·e^ε", f"{0.4 * math.exp(0.1):.3f}"),
    ),
    ("nationality", {"epsilon": "1"}, "Pr ∝", ("exp(ε·u/(2Δu))", "exp(0.5·u)")),
    ("nationality", {"epsilon": "1"}, "one person changes a probability at most", ("e^ε", "2.72-fold")),
    ("privacy-loss", {"delta": "0.001"}, "δ should be", ("below 1/n", "enough for fewer than 1,000 people")),
    ("privacy-loss", {"epsilon": "0.5"}, "Laplace: the loss is", ("always within ε", "at most 0.5, always")),
    ("averaging", {}, "asking K times costs", ("Kε", "1,000 · 0.1 = 100")),
    ("averaging", {}, "answers within the budget", ("costs sum to ε at most", "10 (budget 1)")),
    ("linkage", {}, "residents", ("54,000", "54,000")),
    ("linkage", {}, "ZIP codes", ("7", "7")),
    ("linkage", {}, "born like him", ("6", "6")),
    ("linkage", {}, "and a man", ("3", "3")),
    ("linkage", {}, "and his ZIP code", ("1", "1")),
    ("linkage", {"zip": "no"}, "and his ZIP code", ("1", "not published")),
    ("zip-82414", {}, "households in 82414", ("6,898", "6,898")),
    ("zip-82414", {}, "their mean income, dollars", ("79,083", "79,083")),
    ("hiv-histogram", {}, "HIV-positive by age, with everybody", ("1, 1, 2", "1, 1, 2")),
    ("hiv-histogram", {"times": "200"}, "HIV-positive by age, with everybody", ("1, 1, 2", "200, 200, 400")),
]


@pytest.mark.parametrize(("slug", "sent", "what", "expected"), LECTURES)
def test_figures_of_the_lectures(slug: str, sent: dict[str, str], what: str, expected: tuple[str, str]) -> None:
    assert figures_of(slug, **sent)[what] == expected


def test_the_posterior_of_the_lecture() -> None:
    assert round(TWO_PERCENT, 3) == 0.058
    assert coins.posterior(0.02, "yes", coins.COINS) == pytest.approx(TWO_PERCENT)


@pytest.mark.parametrize(
    ("truth", "first", "second", "said"),
    [
        ("yes", "heads", "heads", "yes"),
        ("yes", "heads", "tails", "yes"),
        ("no", "heads", "heads", "no"),
        ("no", "heads", "tails", "no"),
        ("yes", "tails", "heads", "yes"),
        ("yes", "tails", "tails", "no"),
        ("no", "tails", "heads", "yes"),
        ("no", "tails", "tails", "no"),
    ],
)
def test_the_protocol_of_the_two_coins(truth: str, first: str, second: str, said: str) -> None:
    told = repr(body_of("randomised-response", truth=truth, first=first, second=second)[0])
    assert f"You send “{said.title()}”" in told
    assert f"The truth was “{truth.title()}”" in told


def test_the_chance_of_each_nationality() -> None:
    counts, told = [9, 8, 5, 4, 3, 1], repr(body_of("nationality", epsilon="1"))
    weights = [math.exp(each / 2) for each in counts]
    for weight in weights:
        assert f"{100 * weight / sum(weights):#.3g}".rstrip("0").rstrip(".") + " %" in told


@pytest.mark.parametrize("room", [1, 10, 100])
def test_one_person_moves_no_probability_beyond_the_theorem(room: int) -> None:
    """The ratios from the weights alone, in logarithms: at the largest room some probabilities are below a float's."""
    scores = [room * each for each in (9, 8, 5, 4, 3, 1)]
    with_, without = (_log_sum([each / 2 for each in those]) for those in (scores, [scores[0] - 1, *scores[1:]]))
    expected = [math.exp(without - with_ + (0.5 if place == 0 else 0.0)) for place in range(len(scores))]
    blocks = body_of("nationality", epsilon="1", room=str(room))
    table = next(block for block in blocks if isinstance(block, Table) and block.columns[-1] == "ratio")
    assert [float(row[-1]) for row in table.rows] == pytest.approx(expected, rel=5e-3)
    assert all(math.exp(-1) <= ratio <= math.e for ratio in expected)


def _log_sum(exponents: list[float]) -> float:
    most = max(exponents)
    return most + math.log(sum(math.exp(each - most) for each in exponents))


def test_how_often_gaussian_noise_loses_more_than_epsilon() -> None:
    spread = float(
        Gaussian(epsilon=1, delta=0.01, sensitivity=losses.SENSITIVITY).noise(Fraction(losses.SENSITIVITY), 1).spread
    )
    z = np.arange(-2000, 2001)
    chances = np.exp(-(z**2) / (2 * spread))
    loss = (2 * z * losses.SENSITIVITY + losses.SENSITIVITY**2) / (2 * spread)
    bad = chances[loss > 1].sum() / chances.sum()
    delta = (chances * np.maximum(1 - np.exp(1 - loss), 0)).sum() / chances.sum()
    told = repr(body_of("privacy-loss", epsilon="1", delta="0.01")[1])
    assert f"'{bad:.3g}'" in told
    assert f"'{delta:.3g}'" in told
    assert delta <= 0.01 < bad


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_complaints_beyond_the_limit_are_left_out(limit: int) -> None:
    people = [many for many, how_many in complaints.SENT.items() for _ in range(how_many)]
    assert complaints.counted(limit) == sum(min(many, limit) for many in people)


def test_the_made_up_city_is_the_lectures() -> None:
    people = linkage.city()
    rows = list(zip(people.born.tolist(), people.man.tolist(), people.zip.tolist(), strict=True))
    him = rows[linkage.GOVERNOR]
    assert len(rows) == 54_000
    assert len({row[2] for row in rows}) == 7
    assert sum(row[0] == him[0] for row in rows) == 6
    assert sum(row[:2] == him[:2] and row[1] == 1 for row in rows) == 3
    assert rows.count(him) == 1
    alone = sum(1 for count in _tallied(rows).values() if count == 1)
    assert figures_of("linkage")["unique by ZIP code, birth date, sex (003)"] == (
        "87 % of Americans",
        f"{100 * (alone / 54_000):.3g} %",
    )


@pytest.mark.parametrize(
    ("birth", "sex", "zip_"), [("month", "yes", "yes"), ("decade", "no", "yes"), ("year", "no", "no")]
)
def test_coarser_tables_hide_more(birth: str, sex: str, zip_: str) -> None:
    people = linkage.city()
    days = people.born.astype("datetime64[D]").astype(str).tolist()
    cut = {"month": 7, "year": 4, "decade": 3}[birth]
    rows = [
        (day[:cut], man if sex == "yes" else 0, place if zip_ == "yes" else 0)
        for day, man, place in zip(days, people.man.tolist(), people.zip.tolist(), strict=True)
    ]
    group, sizes = linkage.Detail(birth, sex == "yes", zip_ == "yes").groups(people)
    tallied = _tallied(rows)
    assert sorted(sizes.tolist()) == sorted(tallied.values())
    assert sizes[group[0]] == tallied[rows[0]]


def _tallied(rows: list[Any]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for row in rows:
        found[row] = found.get(row, 0) + 1
    return found


def test_one_house_moves_the_exact_mean_of_82414() -> None:
    assert int(zipcode.incomes("82414").sum()) == 6_898 * 79_083
    told = repr(body_of("zip-82414", income="150")[1])
    assert f"'{(6_898 * 79_083 + 150_000_000) / 6_899:,.0f}'" in told


# noise


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What is asked of the samplers."""
    asked: dict[str, list[Any]] = {"laplace": [], "untruths": [], "exponents": []}
    laplace, untruths, race = noise.laplace, noise.untruths, noise.gumbel_race

    def recorded(scale: Any, *given: Any, **named: Any) -> Any:
        asked["laplace"].append(Fraction(scale))
        return laplace(scale, *given, **named)

    def lying(epsilon: Any, *given: Any, **named: Any) -> Any:
        asked["untruths"].append(float(epsilon))
        return untruths(epsilon, *given, **named)

    def racing(exponents: noise.Exponents, *given: Any, **named: Any) -> Any:
        asked["exponents"].append(exponents.unit)
        return race(exponents, *given, **named)

    monkeypatch.setattr(noise, "laplace", recorded)
    monkeypatch.setattr(noise, "untruths", lying)
    monkeypatch.setattr("discreet.mechanisms.exponential.gumbel_race", racing)
    return asked


LAPLACE = [
    ("blue-eyes", {"epsilon": "0.25"}, {Fraction(1) / Fraction("0.25")}),
    ("complaints", {"epsilon": "0.5", "limit": "7"}, {Fraction(7) / Fraction("0.5")}),
    ("linkage", {"epsilon": "0.8"}, {1 / (Fraction("0.8") / 2)}),
    ("hiv-histogram", {"epsilon": "0.2"}, {1 / Fraction("0.2")}),
    # half of ε for the sum about the middle, which a household moves by half the bound, half for the count
    ("zip-82414", {"epsilon": "0.5", "bound": "200000"}, {Fraction(100_000) / Fraction("0.25"), 1 / Fraction("0.25")}),
    ("averaging", {"epsilon": "0.2", "budget": "1"}, {1 / Fraction("0.2")}),
]


@pytest.mark.parametrize(("slug", "sent", "scales"), LAPLACE)
def test_noise_has_the_scale_of_the_theorem(
    drawn: dict[str, list[Any]], slug: str, sent: dict[str, str], scales: set[Fraction]
) -> None:
    body_of(slug, **sent)
    assert set(drawn["laplace"]) == scales


def test_coins_lie_as_often_as_epsilon_says(drawn: dict[str, list[Any]]) -> None:
    body_of("randomised-response", epsilon="0.7")
    assert drawn["untruths"] == pytest.approx([math.log(3), 0.7])
    assert [float(scale) for scale in drawn["laplace"]] == pytest.approx([1 / math.log(3)])


@pytest.mark.parametrize(("method", "unit"), [("lecture", Fraction("0.3") / 2), ("counts", Fraction("0.3"))])
def test_names_are_drawn_with_the_exponent_of_the_theorem(
    drawn: dict[str, list[Any]], method: str, unit: Fraction
) -> None:
    body_of("nationality", epsilon="0.3", method=method)
    assert drawn["exponents"] == [unit]


def test_a_real_ledger_ends_the_averaging() -> None:
    told = averaging.experiment(0.3, 1.0)
    assert len(told.fresh) == 3
    assert told.refusal.startswith("budget-exhausted")
    assert told.cached == told.cached_again
    assert told.cached in told.fresh


def test_a_thousand_answers_average_to_the_truth() -> None:
    """The average of 2,000 answers has a standard error of 14.1/√2000 = 0.32; six of them: 10⁻⁸."""
    told = repr(body_of("averaging", times="2000")[1])
    mean = float(told.split("Figure(value='")[1].split("'")[0])
    assert abs(mean - averaging.SMOKERS) < 6 * math.sqrt(2 * 10**2 / 2000)
