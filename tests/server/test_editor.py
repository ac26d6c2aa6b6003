"""The editor in a real browser: colours, completion by keys alone, what follows, and texts that are out to harm."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from discreet.server.pages.rendering import HEADERS, STATIC
from discreet.sql.vocabulary import written
from tests.server.browser import barriers, overflowing, sign_in, tab
from tests.server.running import Running, build, serving

pytestmark = pytest.mark.long
HOME = "/data/hospital"
HOSTILE = ["<img src=x onerror=alert(1)>", "</span><script>alert(1)</script>", "日本 語", 'quo"ted', "a'b", "zip"]
MOST_COLOURED = 20_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(build(tmp_path_factory.mktemp("editor"), patients=50)) as served:
        yield served


def sql(page: Page) -> str:
    return page.get_by_label("Query, in SQL").input_value()


def test_writing_with_keys_alone(browser: Browser, running: Running) -> None:
    with tab(browser, running, bypass=True) as page:
        sign_in(page, running, "epidemiology")
        page.goto(HOME)
        field, listed = page.get_by_label("Query, in SQL"), page.locator("#completions")
        field.focus()
        page.keyboard.type("select cou")
        expect(listed.get_by_role("option").first).to_contain_text("count(")
        page.keyboard.press("ArrowDown")
        expect(field).to_have_attribute("aria-activedescendant", "completion-0")
        assert barriers(page) + overflowing(page) == []
        page.keyboard.press("Enter")
        assert sql(page) == "select count("
        page.keyboard.type("*) as n from pat")
        expect(listed.get_by_role("option")).to_have_text(["patients table"])
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        page.keyboard.type(" p where p.")
        expect(listed).to_contain_text("ward")
        page.keyboard.type("wa")
        page.keyboard.press("Escape")  # closes, and takes nothing
        expect(listed).to_be_hidden()
        page.keyboard.type("rd = 'A' -- select")
        expect(listed).to_be_hidden()  # nothing is completed in a comment
        assert sql(page) == "select count(*) as n from patients p where p.ward = 'A' -- select"
        colours = {name: page.locator(f".paint .sql-{name}").all_inner_texts() for name in ("keyword", "text", "table")}
        assert colours == {"keyword": ["select", "as", "from", "where"], "text": ["'A'"], "table": ["patients"]}
        assert page.locator(".paint .sql-comment").inner_text() == "-- select"
        assert page.locator(".paint").get_attribute("aria-hidden") == "true"
        page.keyboard.press("Tab")  # nothing is chosen: on to the next
        assert page.evaluate("document.activeElement.tagName") == "A"
        # cost and error follow each other
        page.locator("#epsilon").fill("0.2")
        expect(page.locator("#error")).not_to_have_value("")
        page.locator("#error").fill("50")
        expect(page.locator("#epsilon")).not_to_have_value("0.2")
        assert page.get_by_label("Set the error").is_checked()
        # Enter saves where a name is written, and runs nothing
        page.get_by_label("Save as").fill("a count")
        page.keyboard.press("Enter")
        page.wait_for_url("**/saved/*")
        expect(page.get_by_role("region", name="Saved queries")).to_contain_text("no answer yet")
        assert barriers(page) + overflowing(page) == []


def hostile_page(route: Route) -> None:
    tables = [{"name": written(name), "columns": [written(each) for each in HOSTILE]} for name in HOSTILE]
    words = html.escape(json.dumps({"tables": tables, "functions": ["COUNT("], "keywords": ["SELECT", "GROUP BY"]}))
    body = f"""<!doctype html><html lang="en"><title>x</title><label for="sql">SQL</label>
    <textarea id="sql" data-vocabulary="{words}"></textarea>
    <script src="{STATIC.address("editor.js")}" defer></script>"""
    route.fulfill(body=body, content_type="text/html; charset=utf-8", headers=HEADERS)


def test_names_and_texts_run_nothing_and_long_ones_stay_plain(browser: Browser, running: Running) -> None:
    """Under the pages' own policy: the tab fails if anything was forbidden, loaded from elsewhere or went wrong."""
    with tab(browser, running) as page:
        page.route("**/hostile", hostile_page)
        page.goto("/hostile")
        field = page.get_by_label("SQL")
        field.focus()
        for name in HOSTILE:
            field.fill("")
            page.keyboard.type("FROM ")
            page.keyboard.insert_text(f'"{name[:1]}' if written(name).startswith('"') else name[:1])
            expect(page.locator("#completions")).to_contain_text(name.replace('"', '""'))
            page.keyboard.press("Escape")
        for text in (*HOSTILE, "'<b>", "/* <script>", '"' * 999, "é" * 50, "\u202e'", "a" * 500 + "('"):
            field.fill(text)
            page.wait_for_function("text => document.querySelector('.paint').textContent === text + '\\n '", arg=text)
            assert page.locator(".paint :not(span), .paint [onerror]").count() == 0
        field.fill("'" + "('" * (MOST_COLOURED // 2 - 1) + ")")
        expect(page.locator(".editor.coloured")).to_have_count(1)
        field.fill("SELECT " * MOST_COLOURED)
        expect(page.locator(".editor.coloured")).to_have_count(0)
        assert page.locator(".paint span").count() == 0
        assert len(field.input_value()) == 7 * MOST_COLOURED  # and is drawn by the field itself
        assert (
            page.evaluate("getComputedStyle(document.querySelector('textarea')).webkitTextFillColor")
            != "rgba(0, 0, 0, 0)"
        )


def test_on_a_phone_answers_have_a_picture_of_their_own_and_tables_say_that_they_scroll(
    browser: Browser, running: Running
) -> None:
    wide = ", ".join(f"COUNT(*) + {number} AS a_rather_long_name_{number}" for number in range(6))
    with tab(browser, running) as page:
        sign_in(page, running, "finance")
        page.goto(HOME)
        page.get_by_label("Query, in SQL").fill(f"SELECT ward, {wide} FROM patients GROUP BY ward")
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_url("**/answers/*")
        pictures = page.get_by_role("img", name="Dots with error bars")
        assert pictures.count() == 1  # the other one is hidden, from everybody
        across = pictures.bounding_box()
        page.set_viewport_size({"width": 390, "height": 800})
        expect(page.get_by_text("Scroll sideways for more")).to_be_visible()
        narrow = pictures.bounding_box()
        assert across
        assert narrow
        assert narrow["width"] <= 390 < across["width"]
        drawn = page.evaluate("document.querySelector('.on-narrow svg').viewBox.baseVal.width")
        assert narrow["width"] >= 0.95 * drawn  # letters keep their size
        for kind in ("PNG", "SVG", "CSV"):
            with page.expect_download() as got:
                page.get_by_role("group", name="Save the chart").get_by_role("link", name=kind).click()
            assert got.value.suggested_filename.endswith(f".{kind.lower()}")
