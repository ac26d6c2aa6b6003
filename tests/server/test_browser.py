"""Walks through the pages in a real browser: what people do, in light and dark, on phones, without scripts."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from discreet.answers.document import ALLOWED
from discreet.audit.policies import audit_policy
from discreet.audit.report import page as audit_page
from discreet.lab.experiments import EXPERIMENTS
from discreet.lab.report import report
from discreet.policy import read
from discreet.server.learn.lessons import LESSONS
from discreet.server.pages.rendering import HEADERS, STATIC
from discreet.sql.vocabulary import written
from tests.budget import later
from tests.cli.test_lab import outcome as hostile_outcome
from tests.server.browser import barriers, overflowing, sign_in, tab
from tests.server.running import ENDLESS, HELD, POLICY, Running, build, serving, until

pytestmark = pytest.mark.long
HOME = "/data/hospital"
WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
WRONG = WARDS.replace("ward", "wrd")
ELSEWHERE = "http://elsewhere.test/"
SMALL = POLICY.replace("epsilon = 30.0", "epsilon = 2.0").replace("epsilon = 10.0", "epsilon = 2.0")
SMALL = SMALL.replace("epsilon = 5.0", "epsilon = 2.0")
"""All shares are as large as the budget: whoever comes first may spend it all."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(build(tmp_path_factory.mktemp("browser"))) as served:
        yield served


def write(page: Page, sql: str) -> None:
    page.get_by_label("Query, in SQL").fill(sql)


def ask(page: Page) -> str:
    """Ask what is written; where the answer is."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/answers/*")
    return page.url


@pytest.mark.parametrize("dark", later([False, True]), ids=["light", "dark"])
def test_from_signing_in_to_the_ledger(browser: Browser, running: Running, dark: bool) -> None:
    with tab(browser, running, dark=dark) as page:
        page.goto(HOME)
        assert "/sign-in" in page.url
        page.get_by_label("Your token").fill(running.tokens["epidemiology"])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"**{HOME}")  # back where they wanted to be
        preview = page.locator("#preview")
        write(page, WRONG)
        expect(preview).to_contain_text("did you mean ward?")
        preview.get_by_role("button", name="Use this fix").click()
        expect(page.get_by_label("Query, in SQL")).to_have_value(WARDS)
        expect(preview).to_contain_text(re.compile("± [1-9]"))
        page.get_by_label("Cost ε, from").fill("-0.5" if dark else "-0.7")
        expect(page.locator("#epsilon")).to_have_value("0.32" if dark else "0.2")
        expect(preview).to_contain_text("± 27" if dark else "± 42")
        place = ask(page)
        expect(page.get_by_role("img", name=re.compile("Dots with error bars: n"))).to_be_visible()
        expect(page.get_by_role("row")).to_have_count(4)
        expect(page.get_by_role("table")).to_contain_text("±")
        page.get_by_text("Run it in Python").click()
        expect(page.get_by_text("import discreet")).to_be_visible()
        with page.expect_download() as chart:
            page.get_by_role("link", name="Chart (Vega-Lite)").click()
        assert chart.value.suggested_filename.endswith(".vl.json")
        page.get_by_role("link", name="Edit the query").click()
        expect(page.get_by_label("Query, in SQL")).to_have_value(WARDS)
        page.locator("#epsilon").fill("0.1")
        expect(preview).to_contain_text("free")
        page.keyboard.press("Control+Enter")
        page.wait_for_url(place)  # the same answer
        page.go_back()
        write(
            page, f"SELECT AVG(age) AS a FROM patients WHERE ward = '{'B' if dark else 'A'}'"
        )  # another name is cached
        assert ask(page) != place
        page.get_by_role("link", name="Ledger", exact=True).click()
        charges = page.get_by_role("region", name="Charges")
        expect(charges).to_contain_text("AVG(age)")
        with page.expect_download() as export:
            page.get_by_role("link", name="Export CSV").click()
        lines = list(csv.DictReader(Path(export.value.path()).read_text(encoding="utf-8").splitlines()))
        assert {each["analyst"] for each in lines if each["kind"] == "query"} == {"epidemiology"}
        assert any(each["question"] == WARDS for each in lines)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in")


def test_spending_it_all_and_more_from_the_owner(browser: Browser, tmp_path: Path) -> None:
    with serving(build(tmp_path, text=SMALL)) as running:
        with tab(browser, running, expected=(402,)) as page:
            sign_in(page, running, "epidemiology")
            page.goto(HOME)
            write(page, WARDS)
            page.locator("#epsilon").fill("50")
            expect(page.locator("#preview")).to_contain_text("more than what remains")
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.locator("#preview")).to_contain_text("budget-exhausted")
            page.get_by_role("button", name="Use this fix").click()
            expect(page.locator("#preview")).to_contain_text("one more query like this")
            ask(page)
        with tab(browser, running, expected=(402,)) as analyst, tab(browser, running) as owner:
            sign_in(analyst, running, "finance")
            analyst.goto(HOME)
            write(analyst, "SELECT COUNT(*) AS n FROM patients")
            analyst.get_by_role("button", name="Run", exact=True).click()
            expect(analyst.locator("#preview")).to_contain_text("budget-exhausted")
            sign_in(owner, running, "owner")
            owner.goto(f"{HOME}/owner")
            owner.get_by_label("Set the budget to ε").fill("4")
            owner.locator("#reason").fill("a second study")
            owner.get_by_role("button", name="Raise it").click()
            expect(owner.locator(".budget")).to_contain_text(" of 4")
            ask(analyst)
        assert running.policy.read_text(encoding="utf-8") == SMALL.replace("epsilon = 2.0", "epsilon = 4.0", 1)


def test_a_link_signs_in_and_leaves_no_token_behind(browser: Browser, running: Running) -> None:
    with tab(browser, running) as page:
        page.goto(f"/sign-in#{running.tokens['finance']}")
        page.wait_for_url(f"{running.url}/")
        expect(page.get_by_text("You are finance")).to_be_visible()
        assert "discreet_" not in page.content()
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
        assert page.evaluate("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})") == "{}"
        page.go_back()
        assert "discreet_" not in page.url


def test_somebody_else_s_link_does_not_change_who_is_signed_in(browser: Browser, running: Running) -> None:
    with tab(browser, running) as page:
        sign_in(page, running, "epidemiology")
        page.goto(f"/sign-in#{running.tokens['finance']}")
        expect(page.get_by_text("You are signed in already")).to_be_visible()
        expect(page.get_by_label("Your token")).to_have_value(running.tokens["finance"])
        assert "discreet_" not in page.url
        page.goto("/")
        expect(page.get_by_text("You are epidemiology")).to_be_visible()


def test_an_analyst_opens_no_page_of_the_owner(browser: Browser, running: Running) -> None:
    with tab(browser, running, expected=(403,)) as page:
        sign_in(page, running, "epidemiology")
        page.goto(HOME)
        assert page.get_by_role("link", name="Owner").count() == 0
        page.goto(f"{HOME}/owner")
        expect(page.get_by_role("alert")).to_contain_text("it is for: owner")
        page.get_by_role("link", name="Go back").click()
        page.wait_for_url(f"{running.url}/")


FORGED = [
    ("/sign-in", "origin"),
    ("/sign-in", "no-referrer"),
    ("/sign-out", "origin"),
    (f"{HOME}/ask", "origin"),
    (f"{HOME}/owner/tokens", "no-referrer"),
]


def test_pages_elsewhere_can_send_no_form(browser: Browser, running: Running) -> None:
    fields = {"sql": WARDS, "epsilon": "1", "holder": "owner", "token": running.tokens["finance"]}
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    forged = [
        f"""<!doctype html><meta name="referrer" content="{referrer}">
        <form method="post" action="{running.url}{path}"><button>Go</button>{inputs}"""
        for path, referrer in FORGED
    ]

    def elsewhere(route: Route) -> None:
        route.fulfill(body=forged[int(route.request.url.removeprefix(ELSEWHERE))], content_type="text/html")

    with tab(browser, running, expected=(422,), elsewhere=ELSEWHERE) as page:
        page.route(f"{ELSEWHERE}**", elsewhere)
        sign_in(page, running, "owner")
        for number in range(len(FORGED)):
            page.goto(f"{ELSEWHERE}{number}")
            page.get_by_role("button").click()
            page.wait_for_url(f"{running.url}/**")
            assert "/answers/" not in page.url
            page.goto("/")
            expect(page.get_by_text("You are the owner")).to_be_visible()  # neither out nor somebody else
            assert page.request.get(f"{HOME}/ledger.json").text().count('"analyst":"owner"') == 0


def test_without_scripts_everything_still_works(browser: Browser, running: Running) -> None:
    with tab(browser, running, script=False) as page:
        sign_in(page, running, "finance")
        page.get_by_role("link", name="Query", exact=True).click()
        page.get_by_role("link", name=re.compile("Average")).first.click()
        expect(page.get_by_label("Query, in SQL")).to_have_value(re.compile("AVG"))
        expect(page.locator("#preview")).to_contain_text("cost")
        write(page, WRONG)
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("button", name="Use this fix").click()
        expect(page.get_by_label("Query, in SQL")).to_have_value(WARDS)
        page.get_by_role("button", name="Run on dummy data").click()
        expect(page.get_by_text("not your data")).to_be_visible()
        write(page, "SELECT COUNT(*) AS plain FROM patients")
        ask(page)
        expect(page.get_by_role("table")).to_contain_text("plain")


@pytest.mark.parametrize("script", later([True, False]), ids=["script", "plain"])
def test_a_lesson_follows_its_reader_and_answers_what_they_think(
    browser: Browser, running: Running, script: bool
) -> None:
    """With scripts a change redraws the page by itself, and the question's form goes along."""
    with tab(browser, running, script=script) as page:
        page.goto("/learn/definition")
        page.get_by_label("The count is answered").select_option("laplace")
        if not script:
            page.get_by_role("button", name="Draw again").click()
        page.wait_for_url("**method=laplace*")
        question = page.get_by_role("region", name="A question")
        for answer, verdict in (("For every ε", "Not so."), ("For none", "Right.")):
            question.get_by_label(answer).check()
            question.get_by_role("button", name="Answer").click()
            expect(question.get_by_role("status")).to_contain_text(verdict)
            expect(page.get_by_label("The count is answered")).to_have_value("laplace")


@pytest.mark.parametrize("script", later([True, False]), ids=["script", "plain"])
def test_a_question_that_lasts_is_cancelled_or_arrives_by_itself(
    browser: Browser, rigged: Running, script: bool
) -> None:
    with tab(browser, rigged, script=script, expected=(409,)) as page:
        sign_in(page, rigged, "epidemiology")
        for sql in (ENDLESS, HELD):
            page.goto(HOME)
            write(page, sql[:-1] + (" with script'" if script else " plain'"))  # what was answered once is kept
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.get_by_role("heading")).to_contain_text("Running")
            if sql == ENDLESS:
                page.get_by_role("button", name="Cancel").click()
                expect(page.get_by_role("alert")).to_contain_text("stays spent")
        rigged.release()
        page.wait_for_url("**/answers/*")
        expect(page.get_by_role("heading", name=re.compile("Answer"))).to_be_visible()


def pages(page: Page, running: Running, whole: bool) -> Iterator[str]:
    """Every page, as those see it who see most of it; yields its name once it is there.

    The whole is all lessons too, and pages that show a part of another one, or the same to somebody else.
    """
    for path in ("/sign-in", "/learn", *(f"/learn/{slug}" for slug in list(LESSONS)[: None if whole else 1])):
        page.goto(path)
        yield path
    sign_in(page, running, "epidemiology")
    page.goto(HOME)
    write(page, WARDS)
    ask(page)
    yield "an answer"
    more = (HOME, f"{HOME}?sql={WARDS}&epsilon=0.05") if whole else ()
    for path in ("/", f"{HOME}?sql={WRONG}", f"{HOME}/owner", *more):
        page.goto(path)
        yield f"{path} of an analyst"
    page.goto(f"{HOME}?sql={WARDS}")
    page.get_by_role("button", name="Run on dummy data").click()
    expect(page.get_by_text("not your data")).to_be_visible()
    yield "made-up rows"
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, running, "owner")
    for path in ("/", f"{HOME}/ledger", f"{HOME}/owner", "/nope") if whole else ():
        page.goto(path)
        yield f"{path} of the owner"
    page.goto(f"{HOME}/ledger")
    page.get_by_role("button", name="Verify the ledger").click()
    expect(page.get_by_role("status")).to_contain_text("Sound")
    yield "a ledger that is sound"
    page.goto(f"{HOME}/owner")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("status")).to_contain_text("discreet_")
    page.get_by_role("button", name="Look for mistakes").click()
    page.wait_for_url("**/owner/check*")
    yield "a policy that was checked"


@pytest.mark.parametrize("whole", later([False, True]), ids=["each", "all"])
def test_no_page_shuts_anybody_out_and_all_fit_a_phone(browser: Browser, running: Running, whole: bool) -> None:
    with tab(browser, running, bypass=True, expected=(403, 404)) as page:
        found = {name: each for name in pages(page, running, whole) if (each := barriers(page) + overflowing(page))}
    assert found == {}


@pytest.mark.parametrize("script", later([False, True]), ids=["plain", "script"])
def test_documents_of_a_server_are_read_and_searched_by_everybody(
    browser: Browser, running: Running, script: bool
) -> None:
    """Nobody is signed in; from the overview one click to a section, one to a page; a search leads there, too."""
    with tab(browser, running, script=script, bypass=script) as page:
        page.goto("/docs")
        page.get_by_role("heading", name="Tutorial").get_by_role("link").click()
        page.get_by_role("main").get_by_role("link", name="18 · Releases").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Releases")
        page.get_by_role("searchbox").fill("partition selection")
        page.get_by_role("button", name="Search").click()
        page.wait_for_url("**/docs/search?q=*")
        found = page.locator(".hits > li")
        expect(found.first).to_be_visible()
        if script:
            for path in ("/docs", "/docs/guide", "/docs/reference/policy", "/docs/search?q=clamp"):
                page.goto(path)
                assert (path, barriers(page), overflowing(page)) == (path, [], [])
        else:
            found.first.get_by_role("link").click()
            expect(page.locator("article h1")).to_be_visible()


def test_reports_shut_nobody_out(browser: Browser, running: Running) -> None:
    lab_page = report({EXPERIMENTS["inversion"]: hostile_outcome()}, seed=1)
    reports = iter((audit_page(audit_policy(read(running.policy), most=1)), lab_page))

    def reported(route: Route) -> None:
        route.fulfill(body=next(reports), content_type="text/html", headers={"content-security-policy": ALLOWED})

    with tab(browser, running) as page:
        page.route("**/report", reported)
        for _ in range(2):
            page.goto("/report")
            expect(page.get_by_role("heading").first).to_be_visible()
            assert barriers(page) + overflowing(page) == []


def test_the_checks_above_find_what_is_wrong(browser: Browser, running: Running) -> None:
    with tab(browser, running, bypass=True) as page:
        page.goto("/sign-in")
        page.evaluate("document.querySelector('label').remove()")
        assert any(each.startswith("label:") for each in barriers(page))
        page.evaluate("document.documentElement.style.setProperty('--faint', '#6d6d6d')")
        found = {each.partition(":")[0] for each in barriers(page)}
        assert "dark color-contrast" in found
        assert "color-contrast" not in found
        assert overflowing(page) == []
        page.evaluate("document.body.style.minWidth = '500px'")
        assert overflowing(page)


WRONGS = {
    f"void fetch('{ELSEWHERE}').catch(() => 0)": "connect-src forbids",
    "void fetch('/nope')": "404",
    "void setTimeout(() => { throw Error('wrong'); })": "wrong",
    "document.body.setAttribute('onclick', '1'); document.body.click()": "script-src-attr forbids",
    "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))": "script-src-elem",
    "document.body.setAttribute('style', 'color: red')": "style-src-attr forbids",
}
ALLOWED_WRONGS = {f"void fetch('{ELSEWHERE}', {{mode: 'no-cors'}}).catch(() => 0)": "loaded from elsewhere"}


@pytest.mark.parametrize("bypass", [False, True], ids=["policy", "none"])
def test_a_tab_notices_what_goes_wrong(browser: Browser, running: Running, bypass: bool) -> None:
    """One thing after the other. Browsers differ in when they look at a handler, when it is set or when it runs: it is
    made to run."""
    wrong: list[str] = []

    def visit() -> None:
        with tab(browser, running, bypass=bypass, wrong=wrong) as page:
            page.goto("/sign-in")
            for code, noticed in (ALLOWED_WRONGS if bypass else WRONGS).items():
                before = len(wrong)
                page.evaluate(code)
                until(partial(seen, page, wrong, before, noticed))

    with pytest.raises(AssertionError, match="went wrong"):
        visit()


def seen(page: Page, wrong: list[str], before: int, noticed: str) -> bool:
    page.wait_for_timeout(10)  # events arrive while playwright waits
    return any(noticed in each for each in wrong[before:])


def test_keys_alone_are_enough(browser: Browser, running: Running) -> None:
    with tab(browser, running) as page:
        sign_in(page, running, "finance")
        page.goto(HOME)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_label("Query, in SQL")).to_be_focused()


# the editor, and pictures on a phone

HOSTILE = ["<img src=x onerror=alert(1)>", "</span><script>alert(1)</script>", "日本 語", 'quo"ted', "a'b", "zip"]
"""Names in a policy."""
MOST_COLOURED = 20_000


def sql(page: Page) -> str:
    return page.get_by_label("Query, in SQL").input_value()


def calm(page: Page) -> list[str]:
    """What keeps people out, as it is once the preview has come: until then that is pale."""
    page.add_style_tag(content=".preview { opacity: 1 !important; transition: none !important; }")
    return barriers(page) + overflowing(page)


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
        assert calm(page) == []
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
        assert calm(page) == []


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
    wide = ", ".join(f"ward AS a_rather_long_name_{number}" for number in range(6))
    with tab(browser, running) as page:
        sign_in(page, running, "owner")  # others may have spent their shares
        page.goto(HOME)
        page.get_by_label("Query, in SQL").fill(
            f"SELECT {wide}, COUNT(*) AS n FROM patients WHERE age < 99 GROUP BY ward"
        )
        page.locator("#epsilon").fill("0.05")
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_url("**/answers/*")
        pictures = page.get_by_role("img", name="Dots with error bars")
        assert pictures.count() == 1  # the other one is hidden, from everybody
        across = pictures.bounding_box()
        page.set_viewport_size({"width": 390, "height": 800})
        expect(page.get_by_text("Scroll sideways for more")).to_be_visible()
        page.wait_for_function("() => document.querySelector('.on-narrow img').naturalWidth > 0")
        drawn = page.evaluate("document.querySelector('.on-narrow img').naturalWidth")
        narrow = pictures.bounding_box()
        assert across
        assert narrow
        assert 0.95 * drawn <= narrow["width"] <= 390 < across["width"]  # letters keep their size
        for kind in ("PNG", "SVG", "CSV"):
            with page.expect_download() as got:
                page.get_by_role("group", name="Save the chart").get_by_role("link", name=kind).click()
            assert got.value.suggested_filename.endswith(f".{kind.lower()}")
