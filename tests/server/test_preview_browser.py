"""The preview follows every field of the question, and a fix is taken with all that it changes, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.runs import run
from tests.curator.streams import add, rides, world
from tests.server.browser import barriers, overflowing, sign_in, tab
from tests.server.running import Running, serving

pytestmark = pytest.mark.long
HOME = "/data/rides"


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    policy = world(tmp_path_factory.mktemp("preview"))
    add(policy.parent, "first", rides())
    run("refresh", policy)
    with serving(policy) as made:
        yield made


def written(page: Page, running: Running, sql: str) -> None:
    sign_in(page, running, "owner")
    page.goto(HOME)
    page.get_by_label("Query, in SQL").fill(sql)


def test_a_fix_that_names_blocks_is_taken_and_blocks_that_change_are_looked_at(
    browser: Browser, stream: Running
) -> None:
    with tab(browser, stream) as page:
        written(page, stream, "SELECT COUNT(*) AS n FROM rides")
        preview = page.locator("#preview")
        expect(preview).to_contain_text("blocks-missing")
        preview.get_by_role("button", name="Use this fix").click()
        expect(page.get_by_label("Blocks")).to_have_value("newest 1")
        expect(preview).to_contain_text(re.compile("± [1-9]"))
        page.get_by_label("Blocks").fill("newest none")
        expect(preview).to_contain_text("unknown-block")


def test_a_fix_that_names_groups_is_taken_and_groups_that_change_are_looked_at(
    browser: Browser, stream: Running
) -> None:
    with tab(browser, stream) as page:
        written(page, stream, "SELECT AVG(fare) AS a FROM rides")
        page.get_by_label("Blocks").fill("newest 1")
        page.locator("#error").fill("1")
        preview, groups = page.locator("#preview"), page.get_by_label("Of averages, in groups of")
        expect(preview).to_contain_text("for groups of")
        preview.get_by_role("button", name="Use this fix").click()
        expect(groups).not_to_have_value("")
        expect(preview).to_contain_text("more queries like this")
        groups.fill("100000")
        expect(preview).to_contain_text("in groups of 100,000")


def test_what_a_stream_holds_is_said_beside_the_budget_and_where_blocks_come_from(
    browser: Browser, tmp_path: Path
) -> None:
    """A budget that nobody asked of is used by half at once: whoever is not told why looks for a thief."""
    with serving(world(tmp_path)) as running, tab(browser, running, bypass=True) as page:
        sign_in(page, running, "owner")
        page.goto(f"{HOME}/owner")
        expect(page.locator(".budget")).to_contain_text("rides holds ε 1 of it, for its blocks")
        page.goto(f"{HOME}/streams")
        assert barriers(page) + overflowing(page) == []
        page.get_by_role("link", name="read the sources anew").click()
        page.wait_for_url("**/owner#refresh")
        expect(page.get_by_role("button", name="Read the sources anew")).to_be_visible()
