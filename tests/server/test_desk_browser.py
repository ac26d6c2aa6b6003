"""A walk through the desk in a real browser: errors that follow choices, axe, phones, and the way without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.browser import barriers, overflowing, tab
from tests.server.desk import build, desking, enter
from tests.server.running import Running

pytestmark = pytest.mark.long


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with desking(build(tmp_path / "data")) as made:
        yield made


def fine(page: Page) -> None:
    """Nothing keeps anybody from using the page, and nothing is wider than a phone."""
    assert barriers(page) == []
    assert overflowing(page) == []


def test_from_files_to_the_owners_page(browser: Browser, running: Running) -> None:
    with tab(browser, running, bypass=True) as page:
        enter(page, running)
        page.get_by_role("link", name="New policy").click()
        page.get_by_label("What to call the data").fill("clinic")
        page.get_by_role("checkbox", name=re.compile("visits")).check()
        fine(page)
        page.get_by_role("button", name="Next").click()
        page.get_by_label("Rows of one unit").fill("2")
        for more in ("How the file is written", "It grows"):
            page.get_by_text(more).click()
        expect(page.get_by_label("Between fields stand")).to_contain_text("commas, as the first line looks")
        fine(page)
        page.get_by_label("Values with line breaks").select_option("no")
        page.get_by_role("button", name="Next").click()
        page.wait_for_url("**/columns/0")
        cost = page.get_by_role("group", name="cost")
        cost.get_by_label("Holds").select_option("number")
        cost.get_by_label("At least").fill("0")
        cost.get_by_label("At most").fill("1000")
        box = page.locator("#desk-box")
        expect(box).to_contain_text("± 59,9")  # without a button
        cost.get_by_label("At most").fill("-1")
        expect(cost).to_contain_text("must lie below")  # beside the field, and gone when it is right
        cost.get_by_label("At most").fill("100")
        expect(box).to_contain_text("± 5,99")
        expect(cost).not_to_contain_text("must lie below")
        expect(cost).to_contain_text("expected error: sum ± 5,99")  # beside the bounds, also on a phone
        notes = page.get_by_role("group", name="notes")
        notes.get_by_label("Holds").select_option("out")
        expect(notes.get_by_text("List public values")).to_be_hidden()
        fine(page)
        page.get_by_role("button", name="Keep, and go on").click()
        page.get_by_label("ε, all that").fill("3")
        expect(box).to_contain_text("sure of it")
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Look at the files").click()
        expect(page.locator("#look-state")).to_contain_text("do not share")
        fine(page)
        page.get_by_role("button", name="Write clinic.toml").click()
        page.get_by_role("button", name="Open it").click()
        page.wait_for_url("**/data/clinic/owner")
        page.get_by_role("button", name="Read the sources anew").click()
        expect(page.locator("#refresh-state")).to_contain_text("data version")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download a backup").click()
        assert download.value.suggested_filename == "clinic-ledger.sqlite"
        page.get_by_text("Erase everybody who was deleted").click()
        fine(page)
        page.get_by_label("I know what stays").check()
        page.get_by_role("button", name="Erase", exact=True).click()
        expect(page.locator("#erase-state")).to_contain_text("whoever is gone at the source is erased")
    log = running.log.read_text(encoding="utf-8")
    assert running.tokens["owner"] not in log
    assert "discreet_" not in log


def test_without_scripts_a_button_says_the_errors(browser: Browser, running: Running) -> None:
    with tab(browser, running, script=False) as page:
        page.goto("/sign-in")
        page.get_by_label("Your token").fill(running.tokens["owner"])
        page.get_by_role("button", name="Sign in").click()
        page.goto("/desk/new")
        page.get_by_label("What to call the data").fill("clinic")
        page.get_by_role("checkbox", name=re.compile("visits")).check()
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Next").click()
        cost = page.get_by_role("group", name="cost")
        cost.get_by_label("At least").fill("0")
        cost.get_by_label("At most").fill("1000")
        page.get_by_role("button", name="Show errors").click()
        expect(page.locator("#desk-box")).to_contain_text("± 29,9")
        assert cost.get_by_label("At most").input_value() == "1000"
