"""The page in a real browser, with every byte that leaves it written down on the way."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from scipy import stats

from discreet.collector import parse
from discreet.collector.store import Store
from tests.budget import later
from tests.collector.running import Recorder, Running, collecting, recording
from tests.server.browser import barriers, overflowing, tab

pytestmark = pytest.mark.long
WAYS = [f"way-{number}-xyzzy" for number in range(14)]
MANY = 'title = "Coins"\nepsilon = 0.1\nestimates = "open"\n' + "".join(
    f'[questions.q{number}]\ntext = "Question {number}"\nkind = "yes-no"\n' for number in range(12)
)
KINDS = f"""
title = "Kinds"
introduction = "One of each.\\nTwo lines."
epsilon = 1.0
estimates = "open"
longitudinal = true
[questions.smoker]
text = "Do you <i>smoke</i>?"
kind = "yes-no"
[questions.constructor]
text = "What did you eat?"
kind = "choice"
choices = ["bread-xyzzy", "rice-xyzzy", "nothing-xyzzy"]
mechanism = "optimized-unary"
[questions.way]
text = "Which way?"
kind = "choice"
choices = {json.dumps(WAYS)}
mechanism = "local-hashing"
[questions.hours]
text = "How many hours?"
kind = "number"
min = 0
max = 12
"""
ANSWERED = "() => document.querySelectorAll('fieldset').forEach((each) => each.querySelectorAll('input')[%d].click())"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(tmp_path_factory.mktemp("kinds"), KINDS) as running:
        yield running


@pytest.fixture
def recorder(kinds: Running) -> Iterator[Recorder]:
    with recording(kinds.url) as recorded:
        yield recorded


def submit(page: Page) -> None:
    page.get_by_role("button", name="Randomise my answers").click()
    page.get_by_role("button", name="Send the reports").click()
    expect(page.get_by_text("Thank you")).to_be_visible()


def fill(page: Page) -> None:
    page.get_by_label("yes").check()
    page.get_by_label("rice-xyzzy").check()
    page.get_by_label("One of 14").select_option(label="way-9-xyzzy")
    page.get_by_label("A number from 0 to 12").fill("7.8125")


def posts(recorder: Recorder) -> list[dict[str, Any]]:
    return [json.loads(body) for first, _, body in recorder.requests() if first.startswith("POST")]


def test_an_answer_stays_in_the_browser(browser: Browser, recorder: Recorder) -> None:
    with tab(browser, recorder) as page:  # type: ignore[arg-type]  # all that it needs is an address
        page.goto("/")
        fill(page)
        page.get_by_role("button", name="Randomise my answers").click()
        shown = page.locator("#reports")
        expect(shown).to_contain_text("rice-xyzzy")
        expect(shown).to_contain_text("7.8125")
        expect(page.get_by_text("Do you <i>smoke</i>?").first).to_be_attached()
        before = page.locator("#bytes").text_content()
        page.get_by_role("button", name="Change my answers").click()
        page.get_by_role("button", name="Randomise my answers").click()
        assert page.locator("#bytes").text_content() == before, (
            "an answer has one report, however often it is looked at"
        )
        assert not posts(recorder), "nothing is sent before it was said"
        page.get_by_role("button", name="Send the reports").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        page.reload()
        expect(page.get_by_text("Thank you")).to_be_visible()
        expect(page.get_by_role("button", name="Randomise my answers")).not_to_be_visible()
    (body,) = posts(recorder)
    assert before is not None
    assert json.loads(before) == body
    asked = parse(KINDS.encode())
    assert list(body) == ["survey", "number", "reports"]
    assert [*body["reports"]] == [question.id for question in asked.questions]
    for question in asked.questions:  # Python reads what JavaScript wrote
        assert not question.mechanism.read([bytes.fromhex(body["reports"][question.id])]).bad
    everything = recorder.everything()
    assert b"xyzzy" not in everything
    assert b"7.8125" not in everything
    assert b"cookie" not in everything.lower()
    assert {first.split()[1].rpartition("/")[2] for first, _, _ in recorder.requests()} <= {
        *("", "style.css", "survey.css", "randomise.js", "survey.js", "icon.svg", "reports")
    }


@pytest.mark.parametrize("times", later([4, 10]))
def test_bytes_follow_the_channel_and_nothing_else_depends_on_the_answer(
    browser: Browser, tmp_path: Path, times: int
) -> None:
    """False alarms: 2e-7 for each of the two answers."""
    asked = parse(MANY.encode())
    truth = float(asked.questions[0].mechanism.truth)  # type: ignore[attr-defined]
    counts: list[Counter[str]] = [Counter(), Counter()]
    others: list[Counter[str]] = [Counter(), Counter()]
    with collecting(tmp_path, MANY) as running:
        for answer in (0, 1):
            with recording(running.url) as recorder, tab(browser, recorder) as page:  # type: ignore[arg-type]
                page.goto("/")
                for _ in range(times):
                    page.evaluate(ANSWERED % answer)
                    submit(page)
                    page.get_by_role("button", name="forget it").click()
                    expect(page.get_by_role("button", name="Randomise my answers")).to_be_enabled()
            bodies = posts(recorder)
            assert len(bodies) == times
            for body in bodies:
                counts[answer].update(report[-8:] for report in body["reports"].values())
                assert {len(report) for report in body["reports"].values()} == {28}
            for first, headers, sent in recorder.requests():
                is_report = first.startswith("POST")
                fixed = {**json.loads(sent), "number": "", "reports": ""} if is_report else sent
                port = recorder.url.rpartition(":")[2]
                others[answer][re.sub(port, "PORT", f"{first} {sorted(headers.items())} {fixed!r} {len(sent)}")] += 1
        running.process.terminate()
        running.process.wait()
        store = Store(running.database, asked)
        assert store.count() == 2 * times
        store.close()
    assert others[0].keys() == others[1].keys()
    for answer in (0, 1):
        told = counts[answer][answer.to_bytes(4, "little").hex()]
        assert stats.binomtest(told, 12 * times, truth).pvalue > 2e-7
        assert told < 12 * times, "at ε = 0.1 not all are true: 1e-13"


def test_without_scripts_nothing_can_be_filled_in_or_sent(browser: Browser, recorder: Recorder) -> None:
    with tab(browser, recorder, script=False) as page:  # type: ignore[arg-type]
        page.goto("/")
        expect(page.get_by_text("This page needs JavaScript.")).to_be_visible()
        for role in ("radio", "spinbutton", "combobox", "button"):
            for each in page.get_by_role(role).all():
                expect(each).to_be_disabled()
        page.get_by_role("button", name="Randomise my answers").click(force=True)
        page.get_by_label("yes").click(force=True)
        page.keyboard.press("Enter")
        page.goto("/")
    assert not posts(recorder)
    assert {first.split()[0] for first, _, _ in recorder.requests()} == {"GET"}


def test_a_page_whose_probabilities_do_not_fit_sends_nothing(browser: Browser, recorder: Recorder) -> None:
    """A collector that says ε = 1 and wants the truth."""

    def truthful(route: Route) -> None:
        response = route.fetch()
        text = response.text()
        (data,) = re.findall(r'data-survey="([^"]*)"', text)
        document = json.loads(unescape(data))
        document["parameters"]["smoker"]["chance"] = 2**53
        route.fulfill(response=response, body=text.replace(data, escape(json.dumps(document))))

    with tab(browser, recorder) as page:  # type: ignore[arg-type]
        page.route("**/", truthful)
        page.goto("/")
        expect(page.get_by_role("alert")).to_contain_text("does not randomise answers as it says")
        expect(page.get_by_role("button", name="Randomise my answers")).to_be_disabled()
    assert not posts(recorder)


def test_what_did_not_arrive_is_sent_again_as_it_was(browser: Browser, recorder: Recorder) -> None:
    wrong: list[str] = []
    with tab(browser, recorder, wrong=wrong) as page:  # type: ignore[arg-type]
        page.goto("/")
        page.get_by_role("button", name="Randomise my answers").click()
        expect(page.get_by_role("alert")).to_contain_text("Every question needs an answer")
        fill(page)
        page.route("**/api/v1/reports", lambda route: route.abort())
        page.get_by_role("button", name="Randomise my answers").click()
        page.get_by_role("button", name="Send the reports").click()
        expect(page.get_by_role("alert")).to_contain_text("could not be sent")
        expect(page.get_by_role("button", name="Change my answers")).not_to_be_visible()
        before = page.locator("#bytes").text_content()
        page.unroute("**/api/v1/reports")
        page.reload()
        expect(page.get_by_text("The same reports are sent again")).to_be_visible()
        assert page.locator("#bytes").text_content() == before
        page.get_by_role("button", name="Send the reports").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        wrong.clear()  # the browser complains of what was cut
    (body,) = posts(recorder)
    assert before is not None
    assert body == json.loads(before)


def test_a_later_round_repeats_the_report_of_the_same_answer(browser: Browser, recorder: Recorder) -> None:
    """The same questions in another round: the fingerprint of the survey changes, that of its questions does not."""

    def later(route: Route) -> None:
        response = route.fetch()
        text = response.text()
        (data,) = re.findall(r'data-survey="([^"]*)"', text)
        document = {**json.loads(unescape(data)), "fingerprint": "0" * 64}
        route.fulfill(response=response, body=text.replace(data, escape(json.dumps(document))))

    with tab(browser, recorder) as page:  # type: ignore[arg-type]
        page.goto("/")
        fill(page)
        submit(page)
        first = json.loads(page.locator("#receipt").text_content() or "")
        page.route("**/", later)
        page.goto("/")
        fill(page)
        page.get_by_role("button", name="Randomise my answers").click()
        second = json.loads(page.locator("#bytes").text_content() or "")
        assert second["reports"] == first["reports"]
        assert second["number"] != first["number"]


def test_everybody_can_use_the_pages(browser: Browser, recorder: Recorder) -> None:
    with tab(browser, recorder, bypass=True) as page:  # type: ignore[arg-type]
        page.goto("/")
        page.get_by_text("What is not hidden").click()
        assert not barriers(page)
        assert not overflowing(page)
        fill(page)
        page.get_by_role("button", name="Randomise my answers").click()
        page.get_by_text("The very bytes").click()
        assert not barriers(page)
        assert not overflowing(page)
        page.get_by_role("button", name="Send the reports").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        assert not barriers(page)
        assert not overflowing(page)
        page.goto("/estimates")
        expect(page.get_by_role("img")).to_have_count(4)
        assert not barriers(page)
        assert not overflowing(page)


def test_two_tabs_are_one_device(browser: Browser, recorder: Recorder) -> None:
    with tab(browser, recorder) as page:  # type: ignore[arg-type]
        other = page.context.new_page()
        for each in (page, other):
            each.goto("/")
            fill(each)
        for each in (page, other):
            each.get_by_role("button", name="Randomise my answers").click()
        assert page.locator("#bytes").text_content() == other.locator("#bytes").text_content()
        page.get_by_role("button", name="Send the reports").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        other.get_by_role("button", name="Send the reports").click()
        expect(other.get_by_text("Thank you")).to_be_visible()
    assert len(posts(recorder)) == 1
