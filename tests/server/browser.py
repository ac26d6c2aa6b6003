"""A browser for tests: tabs that notice what a page loads from elsewhere, what goes wrong in it, and what axe finds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.server.running import Running

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
MISSING = "walk through the pages with chromium, which is not installed: run `make chromium` as root"
PATIENCE = 120_000
"""Milliseconds: machines of tests are busy."""
PHONE = 360
"""Pixels: narrower than most phones."""
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""What axe looks for: everything, or what changes with the theme."""
STATUS = re.compile(r"Failed to load resource: the server responded with a status of (\d+)")
AXE = """async (rules) => {
  const asked = { runOnly: rules, resultTypes: ["violations"], selectors: false, preload: false };
  const found = await axe.run(document, asked);
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" ; ")}`);
}"""
VIOLATION = """document.addEventListener("securitypolicyviolation", (event) => {
  discreetViolation(`${event.effectiveDirective} forbids ${event.blockedURI} ${event.sample}`);
});"""
"""What a page's policy forbids is an event in every browser; only some write it on the console, each in its words."""
OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > wide + 1)
    .map((each) => each.outerHTML.slice(0, 100));
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's chromium, until the block ends."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--in-process-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def tab(
    browser: Browser,
    running: Running,
    *,
    dark: bool = False,
    script: bool = True,
    bypass: bool = False,
    expected: tuple[int, ...] = (),
    elsewhere: str = "",
    wrong: list[str] | None = None,
) -> Iterator[Page]:
    """A new visitor. Nothing may come from another host, and nothing may go wrong, but for what is `expected`.

    `wrong` gets what does as soon as it is noticed.
    """
    wrong = [] if wrong is None else wrong
    context = browser.new_context(
        base_url=running.url,
        color_scheme="dark" if dark else "light",
        viewport={"width": 1100, "height": 900},
        java_script_enabled=script,
        bypass_csp=bypass,
    )

    def requested(request: Request) -> None:
        if not request.url.startswith((f"{running.url}/", *([elsewhere] if elsewhere else []))):
            wrong.append(f"loaded from elsewhere: {request.url}")

    def complained(text: str) -> None:
        status = STATUS.match(text)
        if status is None or int(status[1]) not in expected:
            wrong.append(text)

    context.on("request", requested)
    context.expose_function("discreetViolation", lambda told: wrong.append(told))  # playwright marks it
    context.add_init_script(VIOLATION)
    page = context.new_page()
    page.on("console", lambda message: complained(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()
    assert not wrong, f"went wrong: {wrong}"


def sign_in(page: Page, running: Running, who: str) -> None:
    """As a person does: with a token, on the page that asks for it."""
    page.goto("/sign-in")
    page.get_by_label("Your token").fill(running.tokens[who])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{running.url}/")


@cache
def _axe() -> str:
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def barriers(page: Page) -> list[str]:
    """What keeps some people from using a page, in light or dark, by the rules of WCAG that a program can check."""
    page.evaluate(_axe())
    found: list[str] = page.evaluate(AXE, RULES)
    page.emulate_media(color_scheme="dark")
    found += [f"dark {each}" for each in page.evaluate(AXE, COLOURS)]
    page.emulate_media(color_scheme="light")
    return found


def overflowing(page: Page) -> list[Any]:
    """What makes a page wider than the window of a phone."""
    before = page.viewport_size
    page.set_viewport_size({"width": PHONE, "height": 800})
    found: list[Any] = page.evaluate(OVERFLOW)
    if before is not None:
        page.set_viewport_size(before)
    return found
