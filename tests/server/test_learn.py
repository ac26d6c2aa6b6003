"""The Learn pages: a course that hangs together, questions with feedback, and pages that stand whatever is sent."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import Refused
from discreet.lab.blocks import Picture, Table
from discreet.lab.experiments import EXPERIMENTS
from discreet.lab.lectures import LECTURES
from discreet.server import learn
from discreet.server.dispatch import LIGHT, Dispatcher
from discreet.server.learn import routes
from discreet.server.learn.fields import Choice, Slider, Unusable, read
from discreet.server.learn.lesson import Body
from discreet.server.learn.lessons import LESSONS, WEEKS, after, of_lecture
from discreet.server.learn.routes import router
from discreet.server.limits import Rates
from discreet.server.pages.readers import AT_ONCE
from discreet.server.pages.sessions import COOKIE, Sessions
from discreet.server.problems import respond
from discreet.server.queue import Queue
from tests.budget import later
from tests.server.reader import body_of

ORDER = list(LESSONS)
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


# pages


def test_every_module_of_a_lesson_is_in_the_course_once() -> None:
    modules = [import_module(each.name) for each in iter_modules(learn.__path__, f"{learn.__name__}.")]
    found = [module.LESSON.slug for module in modules if hasattr(module, "LESSON")]
    assert sorted(found) == sorted(ORDER)
    assert len(ORDER) == sum(len(week.lessons) for week in WEEKS)
    assert [after(slug).slug for slug in ORDER] == [*ORDER[1:], ORDER[0]]


def test_the_overview_is_a_table_of_contents_and_an_index(get: Get) -> None:
    response = get("/learn")
    seen = Seen(response.text)
    links = [link["href"] or "" for link in seen.all("a")]
    assert response.status_code == 200
    listed = [link for link in links if link.startswith("/learn/")]
    assert listed[: len(ORDER)] == [f"/learn/{slug}" for slug in ORDER]
    assert listed[len(ORDER) :] == [f"/learn/{lesson.slug}" for number in LECTURES for lesson in of_lecture(number)]
    assert all(f"discreet lab {name}" in seen.text for name in EXPERIMENTS)
    assert [link for link in links if link.startswith("#week-")] == [f"#week-{n + 1}" for n in range(len(WEEKS))]
    assert len([svg for svg in seen.all("svg") if svg.get("role") == "img" and svg.get("aria-label")]) == len(ORDER)
    for week in WEEKS:
        assert all(words in seen.text for words in (week.title, week.about, week.notebook, *week.tasks))
        assert all(
            f"lecture {each.lecture}, {LECTURES[each.lecture]}: {each.part}" in seen.text for each in week.readings
        )
    demand_quiet(seen)
    demand_order(seen)


def test_every_lecture_has_lessons_and_every_lesson_a_lecture_that_is_read_for_it() -> None:
    assert all(of_lecture(number) for number in LECTURES)
    for week in WEEKS:
        read_for = {reading.lecture for reading in week.readings}
        assert all(read_for & set(lesson.lectures) for lesson in week.lessons)


@pytest.mark.parametrize("slug", later(["nationality", *(slug for slug in ORDER if slug != "nationality")]))
def test_pictures_of_a_lesson_are_drawn_and_described(get: Get, slug: str) -> None:
    seen = Seen(get(f"/learn/{slug}").text)
    drawn = [svg for svg in seen.all("svg") if svg.get("role") == "img"]
    assert len(drawn) == sum(isinstance(block, Picture) for block in body_of(slug))
    assert all(len(svg.get("aria-label") or "") > 40 for svg in drawn)
    demand_quiet(seen)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("slug", ORDER)
def test_a_lesson_as_it_opens(get: Get, slug: str) -> None:
    response, lesson = get(f"/learn/{slug}"), LESSONS[slug]
    seen = Seen(response.text)
    assert response.status_code == 200
    assert "script-src 'self'; style-src 'self'" in response.headers["content-security-policy"]
    for words in (lesson.title, lesson.shows, lesson.invented, *(f"lecture {number}" for number in lesson.lectures)):
        assert words in seen.text
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
    """The reader's fields, then the same hidden beside the choices of the question."""
    every = seen.all("input", "select")
    hidden = [control["name"] for control in every if control.get("type") == "hidden"]
    choices = [control for control in every if control.get("type") == "radio"]
    controls = [control for control in every if control.get("type") not in ("hidden", "radio")]
    assert [control["name"] for control in controls] == names == hidden
    assert {control["name"] for control in choices} == {routes.ANSWER} - set(names)
    controls += choices
    labelled = {label["for"] for label in seen.all("label")}
    assert all(control["id"] in labelled for control in controls)


def demand_order(seen: Seen) -> None:
    levels = [int(tag[1]) for tag, _ in seen.tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))


@pytest.mark.usefixtures("empty")
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


def test_every_question_has_one_right_answer_and_a_sentence_for_each() -> None:
    for slug, lesson in LESSONS.items():
        options = lesson.question.options
        assert lesson.question.text.endswith("?"), slug
        assert sum(option.right for option in options) == 1, slug
        assert len({option.text for option in options}) == len(options) >= 3, slug
        assert all(option.feedback.endswith(".") and len(option.feedback) > 30 for option in options), slug
    places = [[option.right for option in lesson.question.options].index(True) for lesson in LESSONS.values()]
    assert max(places.count(place) for place in set(places)) < len(places) * 2 / 3  # the first is not always right


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons that compute nothing: their forms and questions alone."""
    for slug, lesson in LESSONS.items():
        nothing = replace(lesson, body=lambda _: Body((), Table("", (), ()), ()))
        monkeypatch.setitem(LESSONS, slug, nothing)


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("slug", ORDER)
def test_an_answer_gets_its_sentence_and_the_fields_stay(get: Get, slug: str) -> None:
    lesson, field = LESSONS[slug], LESSONS[slug].fields[0]
    other = field.high if isinstance(field, Slider) else list(field.options)[-1]
    for number, option in lesson.question.numbered.items():
        seen = Seen(get(f"/learn/{slug}", {field.name: other, routes.ANSWER: number}).text)
        assert f"{'Right.' if option.right else 'Not so.'} {option.feedback}" in seen.text
        assert sum(each.feedback in seen.text for each in lesson.question.options) == 1
        assert [each["value"] for each in seen.all("input") if "checked" in each] == [number]
        assert {"type": "hidden", "name": field.name, "value": other} in seen.all("input")


@pytest.mark.usefixtures("empty")
def test_what_is_no_answer_gets_no_sentence(get: Get) -> None:
    options = LESSONS["definition"].question.options
    for sent in [*NASTY[:6], "0", "4", "1 ", "१", "<script>alert(1)</script>"]:
        response = get("/learn/definition", {routes.ANSWER: sent})
        assert response.status_code == 200
        assert "<script>alert" not in response.text
        assert not any(option.feedback in Seen(response.text).text for option in options)
        assert 'role="status"' not in response.text


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
    told = repr([block for block in blocks if not isinstance(block, Picture)])
    assert not re.search(r"\b(nan|inf)\b", told, re.IGNORECASE)


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
            if at_once[0] == AT_ONCE:
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
    assert at_once[1] == AT_ONCE < LIGHT


def test_whoever_is_signed_in_sees_it(app: FastAPI, get: Get) -> None:
    def begun(token: str) -> str:
        asked = Request({"type": "http", "scheme": "http", "server": ("test", 80), "path": "/", "headers": []})
        response = Response()
        app.state.sessions.begin(token, asked, response)
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
