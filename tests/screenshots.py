"""`python -m tests.screenshots` makes the pictures of the pages for the docs, from the demo's hospital."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx
from playwright.sync_api import Browser, FloatRect, Page, expect

from discreet.cli.collect import EXAMPLE
from discreet.lab.hospital import POLICY, build
from tests.collector.running import collecting
from tests.server.browser import CHROMIUM, chromium, sign_in, tab
from tests.server.desk import desking, enter
from tests.server.running import Running, serving

FOLDER: Final = Path(__file__).parents[1] / "docs" / "screenshots"
MOST_BYTES: Final = 150_000
HOME: Final = "/data/hospital"
ASKED: Final = {
    "SELECT ward, COUNT(*) AS patients\nFROM patients\nGROUP BY ward": 0.5,
    "SELECT smoker, AVG(blood_pressure) AS pressure\nFROM patients\nGROUP BY smoker": 0.4,
    "SELECT COUNT(*) AS n FROM patients WHERE age >= 65": 0.2,
}
"""Questions that were asked before, and their costs."""
NEXT: Final = "SELECT smoker, COUNT(*) AS patients\nFROM patients\nGROUP BY smoker"
HEIGHTS: Final = {
    "sign-in": 440,
    "ask": 840,
    "answer": 740,
    "ledger": 1290,
    "owner": 1000,
    "learn": 570,
    "survey": 830,
    "desk": 900,
}
"""What is worth seeing of each page, in pixels."""
FIRST: Final[FloatRect] = {"x": 0, "y": 62, "width": 950, "height": 668}
"""What the README shows of an answer: the question, its cost, the picture and the table."""


def shoot(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 1100, "height": HEIGHTS[name]})
    page.evaluate("document.activeElement.blur()")
    _save(page, name)


def _save(page: Page, name: str, clip: FloatRect | None = None) -> None:
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path, type="png", animations="disabled", caret="hide", clip=clip)
    print(f"{path.name}: {path.stat().st_size:,} bytes")
    if path.stat().st_size > MOST_BYTES:
        sys.exit(f"{path.name} is larger than {MOST_BYTES:,} bytes: show less of the page")


def analyst(browser: Browser, running: Running, *, dark: bool) -> None:
    """In the dark the answer alone, for the README."""
    with tab(browser, running, dark=dark) as page:
        sign_in(page, running, "epidemiology")
        if not dark:
            page.goto(HOME)
            page.get_by_label("Query, in SQL").fill(NEXT)
            expect(page.locator("#preview")).to_contain_text("like this")
            shoot(page, "ask")
            page.goto("/")
        page.get_by_role("region", name="Latest answers").get_by_role("link").last.click()
        expect(page.get_by_role("table")).to_be_visible()
        if not dark:
            shoot(page, "answer")
        page.set_viewport_size({"width": 950, "height": HEIGHTS["answer"]})
        _save(page, f"first{'-dark' if dark else ''}", clip=FIRST)


def others(browser: Browser, running: Running) -> None:
    with tab(browser, running) as page:
        page.goto("/sign-in")
        shoot(page, "sign-in")
        page.goto("/learn")
        shoot(page, "learn")
        sign_in(page, running, "owner")
        page.goto(f"{HOME}/ledger")
        page.get_by_role("button", name="Verify the ledger").click()
        expect(page.get_by_role("status")).to_contain_text("Sound")
        shoot(page, "ledger")
        page.goto(f"{HOME}/owner")
        shoot(page, "owner")


def survey(browser: Browser, folder: Path) -> None:
    """What somebody sees before reports are sent."""
    with collecting(folder, EXAMPLE) as running, tab(browser, running) as page:  # type: ignore[arg-type]
        page.goto("/")
        page.get_by_label("yes").check()
        page.get_by_label("a noise").check()
        page.get_by_label("A number from 0 to 12").fill("7.5")
        page.get_by_role("button", name="Randomise my answers").click()
        shoot(page, "survey")


def desk(browser: Browser, folder: Path) -> None:
    """An owner who chooses bounds, beside the errors to expect."""
    with desking(folder) as running, tab(browser, running) as page:
        enter(page, running)
        page.get_by_role("link", name="New policy").click()
        page.get_by_label("What to call the data").fill("clinic")
        page.get_by_role("checkbox", name="patients.parquet").check()
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Next").click()
        page.wait_for_url("**/columns/0")
        expect(page.locator("#desk-box")).to_contain_text("blood_pressure")
        shoot(page, "desk")


def main() -> None:
    if CHROMIUM is None:
        sys.exit("the pictures are taken with chromium, which is not installed: run `make chromium` as root")
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        build(Path(folder))
        with serving(Path(folder) / POLICY) as running, chromium() as browser:
            for sql, epsilon in ASKED.items():
                with running.client() as client:
                    answered = client.post("datasets/hospital/query", json={"sql": sql, "epsilon": epsilon})
                    assert answered.status_code == httpx.codes.OK, answered.text
            for dark in (False, True):
                analyst(browser, running, dark=dark)
            others(browser, running)
            survey(browser, Path(folder))
            desk(browser, Path(folder))


if __name__ == "__main__":
    main()
