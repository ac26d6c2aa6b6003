"""A stranger's first minutes by a stopwatch: an empty folder, an empty environment, the wheel, and a file of one's own.

Each step is what `discreet` printed before, pasted; nobody reads or thinks in between. The installation downloads what
it needs, with no cache, so it takes as long as the network does. The file is a shop's orders that the step before made.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from releasing import building
from releasing.trying import environment, run

from benchmarks.figures import Figure, at_most

MOST: Final = 120.0
"""Seconds for all of it."""
CITIES: Final = ("Berlin", "Hamburg", "Köln", "München")
ORDERS: Final = 20_000
CHROMIUM: Final = shutil.which("chromium-headless-shell") or shutil.which("chromium")
LINK: Final = re.compile(r"http://\S+/sign-in#\S+")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-minute-") as scratch:
        wheel = _wheel(Path(scratch))
        folder = Path(scratch) / "empty"
        folder.mkdir()
        steps = {}
        for what, seconds in _steps(wheel, folder):
            steps[what] = seconds
            yield Figure(what, f"{seconds:.1f} s", "", float("nan"), "–", held=True)
    began = "the first minutes, from an empty folder to a page with an answer"
    yield _within(began, sum(steps.values()))
    own = sum(seconds for what, seconds in list(steps.items())[2:])
    yield _within("of those, with one's own file: a policy, a preview, an answer, a page", own)


def _within(what: str, seconds: float) -> Figure:
    return at_most(what, f"{seconds:.0f} s", f"limit {MOST:.0f} s", seconds / MOST, 1)


def _wheel(scratch: Path) -> Path:
    """Of the last commit."""
    tree = building.unpacked(building.committed(), scratch / "tree")
    return building.built(tree, scratch / "dist", at=building.moment())[0]


def _steps(wheel: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """What is done and how long it takes, in this order."""
    inside = folder / "env" / "bin"
    discreet = inside / "discreet"
    start = time.perf_counter()
    run(sys.executable, "-m", "venv", folder / "env")
    pip = (inside / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir")
    run(*pip, f"{wheel}[server]")
    yield "an empty environment, and the wheel installed into it with the server", time.perf_counter() - start
    start = time.perf_counter()
    run(discreet, "demo", cwd=folder)
    yield "discreet demo", time.perf_counter() - start
    _orders(folder / "my.csv")
    start = time.perf_counter()
    (decide,) = _told(run(discreet, "init", "my.csv", cwd=folder))
    check, preview, query, serve = _told(run(discreet, *decide, cwd=folder))
    yield "discreet init my.csv, and what it proposes", time.perf_counter() - start
    start = time.perf_counter()
    run(discreet, *check, cwd=folder)
    expected = run(discreet, *preview, cwd=folder)
    yield "discreet check and preview: the error to expect", time.perf_counter() - start
    start = time.perf_counter()
    answered = run(discreet, *query, cwd=folder)
    yield "discreet query: the first answer", time.perf_counter() - start
    if "error (95 %)" not in expected or "±" not in answered:
        raise AssertionError(f"no error to expect, or no answer: {expected}{answered}")
    start = time.perf_counter()
    _page([str(discreet), *serve, "--port", "0"], folder, shown=answered)
    yield "discreet serve: its page in the browser", time.perf_counter() - start


def _told(text: str) -> list[list[str]]:
    """Commands that were printed to be pasted."""
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  discreet ")]


def _orders(path: Path) -> None:
    """The same each time: a multiplier stands for chance."""
    lines = ["customer_id,order_id,city,ordered_on,items,amount"]
    for order in range(ORDERS):
        spread = order * 7919 % 10_007
        day = f"2026-{1 + spread % 12:02}-{1 + spread % 28:02}"
        lines.append(f"{spread % 4000},{order},{CITIES[spread % 4]},{day},{1 + spread % 9},{spread % 300}.50")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _page(command: list[str], folder: Path, *, shown: str) -> None:
    """From the command until the first answer stands on a page; without a browser, until its page is served."""
    number = re.search(r"(\d[\d,]*) ±", shown)
    if number is None:
        raise AssertionError(f"no number with its error: {shown}")
    with _serving(command, folder) as link:
        if CHROMIUM is None:
            raise SystemExit("needs a browser: run `make chromium` as root")
        _seen(link, number[1])


@contextmanager
def _serving(command: list[str], folder: Path) -> Iterator[str]:
    """The link with which its owner signs in."""
    child = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert child.stdout is not None
        link = next((found[0] for line in child.stdout if (found := LINK.search(line))), None)
        if link is None:
            raise AssertionError("the server ended before it told a link")
        yield link
    finally:
        child.terminate()
        child.communicate()


def _seen(link: str, number: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(link)
        page.get_by_role("region", name="Latest answers").get_by_role("link").first.click()
        page.get_by_role("table").get_by_text(number).first.wait_for()
        browser.close()
