"""Names of columns and analysts that are longer than a phone is wide; and the statement on a phone and on paper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.server.browser import OVERFLOW, barriers, overflowing, sign_in, tab
from tests.server.running import POLICY, Running, build, serving

pytestmark = pytest.mark.long

LONG = "a_name_that_goes_on_and_on_until_nobody_reads_it_any_more_because_somebody_exported_it_from_a_spreadsheet"
A4: ViewportSize = {"width": 794, "height": 1123}
"""Pixels of a sheet, as browsers print it."""
STATEMENT = f'\n[statement]\ncurator = "{LONG}"\ncontact = "{LONG[:40]}@example.org"\n'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    text = POLICY.replace("zip = {", f"{LONG} = {{").replace("finance]", f"{LONG}]") + STATEMENT
    policy = build(tmp_path_factory.mktemp("wide"), patients=20, text=text)
    rows = policy.parent / "patients.csv"
    rows.write_text(rows.read_text(encoding="utf-8").replace("zip", LONG), encoding="utf-8")
    with serving(policy) as made:
        yield made


@pytest.mark.parametrize("path", ["", "/owner", "/ledger", "/owner/statement"])
def test_long_names_make_no_page_wider_than_its_window(browser: Browser, running: Running, path: str) -> None:
    with tab(browser, running, bypass=True) as page:
        sign_in(page, running, "owner")
        page.goto(f"/data/hospital{path}")
        assert page.evaluate(OVERFLOW) == []
        assert overflowing(page) == []
        assert barriers(page) == []


def test_the_statement_fits_a_sheet_and_is_dark_on_white(browser: Browser, running: Running) -> None:
    with tab(browser, running, dark=True, bypass=True) as page:
        sign_in(page, running, "owner")
        page.goto("/data/hospital/owner/statement")
        page.set_viewport_size(A4)
        page.emulate_media(media="print", color_scheme="light")
        assert page.evaluate(OVERFLOW) == []
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        clipped = (
            "[...document.querySelectorAll('.wide')].filter((each) => getComputedStyle(each).overflowX !== 'visible')"
        )
        assert page.evaluate(f"{clipped}.length") == 0  # paper does not scroll
        assert page.evaluate("document.scripts.length") == 0
        assert page.pdf(format="A4").startswith(b"%PDF-")
