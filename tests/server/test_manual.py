"""The documentation: every page in the contents, no dead link, the same under /docs and as files; hostile addresses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hatch_build
import httpx
import pytest
from fastapi import FastAPI
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, expect

from discreet.errors import Refused
from discreet.server.dispatch import Dispatcher
from discreet.server.limits import Rates
from discreet.server.manual import __main__ as command
from discreet.server.manual import routes
from discreet.server.manual.library import PACKED, SECTIONS, TOP, Library, library
from discreet.server.manual.markdown import rendered, slug
from discreet.server.manual.search import Index
from discreet.server.manual.views import Manual
from discreet.server.manual.writing import DeadLinks, Site
from discreet.server.pages.sessions import Sessions
from discreet.server.problems import respond
from discreet.server.queue import Queue
from tests.budget import later
from tests.server.browser import barriers, overflowing

pytestmark = pytest.mark.long
"""All pages are made for them."""

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "'\"><img src=x onerror=alert(1)>",
    "\x00",
    "a" * 5000,
    "ε\u202e",
]
OUTSIDE = [
    "../pyproject.toml", "..%2f..%2fpyproject.toml", "%2e%2e/README.md", "/etc/passwd", "guide/../../README.md",
    "guide/pictures/", "guide/01-first-answer.md", "README", "guide//01-first-answer", "\\..\\README.md",
]  # fmt: skip
SEARCHES = ["clamp", "partition selection", "max_groups", "ε", "ledger backup", "C++ (?", "discreet serve --port"]


class Links(HTMLParser):
    """What a page loads and leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    @property
    def led_to(self) -> set[str]:
        return {(given.get("href") or "").partition("#")[0] for tag, given in self.tags if tag == "a"}

    @property
    def loaded(self) -> set[str]:
        keys = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
        return {given.get(keys[tag]) or "" for tag, given in self.tags if tag in keys}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    assert command.main([str(folder)]) == 0
    return folder


def files_of(root: Path, **texts: str) -> Library:
    """Documents in a folder of their own."""
    for name, text in texts.items():
        path = root / "docs" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Library(root)


# the contents


def test_every_document_is_a_page_and_every_section_has_some() -> None:
    listed = [page.file for page in library().pages.values()]
    there = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".ipynb")
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == {file for file in there if not file.endswith("README.md")} | set(TOP)
    assert [section.name for section in SECTIONS if not library().of_section(section)] == []
    assert all(page.title and "README" not in page.title for page in library().pages.values())


def test_a_new_page_is_in_the_contents_by_itself(tmp_path: Path) -> None:
    new = files_of(tmp_path, **{"guide/77-something": "# 77 · Something\n", "else": "# Else\n"})
    assert [(page.section.name, page.short) for page in new.pages.values()] == [
        ("guide", "77 · Something"),
        ("project", "Else"),
    ]


def test_every_page_is_two_clicks_away(written: Path) -> None:
    def led(name: str) -> set[str]:
        links = Links((written / name).read_text(encoding="utf-8")).led_to
        return {str(Path(name).parent / link) for link in links if link and "://" not in link}

    first = set(led("index.html"))
    second = first | {other for name in first for other in led(name)}
    pages = {path.relative_to(written).as_posix() for path in written.rglob("*.html")}
    assert pages - second - {"search.html"} == set()
    assert len(pages) > 150


def test_nothing_comes_from_another_host(written: Path) -> None:
    for path in written.rglob("*.html"):
        loaded = Links(path.read_text(encoding="utf-8")).loaded
        assert {
            name for name in loaded if not (path.parent / name).resolve().is_relative_to(written.resolve())
        } == set()
        assert all((path.parent / name).is_file() for name in loaded), path
    for path in (*written.rglob("*.css"), written / "search.js"):
        assert not re.search(r"https?:|//[a-z]|@import|url\(", path.read_text(encoding="utf-8").split("\n", 1)[1])


def test_wheels_hold_what_pages_are_made_of(tmp_path: Path) -> None:
    """The archive of a wheel has the same pages and pictures, but for one that is no page's."""
    assert set(hatch_build.DOCUMENTS) == {"docs", *TOP}
    assert (ROOT / "src" / hatch_build.INTO) == PACKED
    assert not PACKED.exists(), "a checkout reads docs/ itself"
    hatch_build.pack(ROOT, tmp_path / "project.zip")
    packed, here = Library(tmp_path / "project.zip"), library()
    assert packed.pages == here.pages
    assert all(packed.text(page) == here.text(page) for page in here.pages.values())
    assert set(here.pictures) - set(packed.pictures) == set(hatch_build.READ_IN_A_CHECKOUT)
    addresses = [file.removeprefix("docs/") for file in packed.pictures]
    assert all(packed.picture(address) == here.picture(address) for address in addresses)
    assert list(Site(Manual(files_of(tmp_path, page="# Page\n"))).dead()) == []


def test_an_archive_names_its_documents_and_nothing_of_the_disk(tmp_path: Path) -> None:
    hatch_build.pack(ROOT, tmp_path / "project.zip")
    shelf = Library(tmp_path / "project.zip").shelf
    assert shelf.has("docs/glossary.md")
    assert shelf.has("src/discreet/version.py")  # a link to source is no mistake, where there is none
    assert not shelf.has("docs/nothing.md")
    assert not shelf.has("../secret")
    assert Library(tmp_path / "project.zip").picture("../../etc/passwd") is None
    with pytest.raises(KeyError):
        shelf.read("../secret")


# strictness


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[x](missing.md)", "missing.md is not there"),
        ("![x](missing.svg)", "missing.svg is not there"),
        ("[x](other.md#nowhere)", "other#nowhere is no heading"),
        ("[x](#nowhere)", "page#nowhere is no heading"),
    ],
)
def test_what_leads_nowhere_is_an_error_and_nothing_is_written(text: str, said: str, tmp_path: Path) -> None:
    site = Site(Manual(files_of(tmp_path, page=f"# Page\n\n{text}\n", other="# Other\n\n## Here\n")))
    with pytest.raises(DeadLinks, match=re.escape(said)):
        site.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_to_pages_headings_and_sources_are_fine(tmp_path: Path) -> None:
    (tmp_path / "source.py").touch()
    text = "# Page\n\n[a](other.md#here) [b](#page) [c](../source.py) [d](https://example.org/x) [e](README.md)\n"
    manual = Manual(files_of(tmp_path, page=text, other="# Other\n\n## Here\n"))
    Site(manual).write(tmp_path / "out")
    html = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert {"other.html", "page.html", "index.html", "https://example.org/x"} <= Links(html).led_to
    assert '<a class="file">c</a>' in html


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--help"]])
def test_the_command_says_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    assert "usage" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "file"
    taken.touch()
    monkeypatch.setattr(command, "library", lambda: files_of(tmp_path, page="# Page\n"))
    assert command.main([str(taken)]) == 1
    assert "file" in capsys.readouterr().err


# text that would like to be code


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](data:text/html;base64,PHNjcmlwdD4=)",
        "```python\n</code></pre><script>alert(1)</script>\n```",
        '```"><script>alert(1)</script>\nx\n```',
        "```console\n$ <script>alert(1)</script>\n```",
        "# <script>alert(1)</script>",
        "| <b onclick=x> |\n|---|\n| <style>a</style> |",
    ],
)
def test_nothing_in_a_page_becomes_code(text: str) -> None:
    seen = Links(rendered(text, lambda _: None).html)
    assert {tag for tag, _ in seen.tags} <= {
        "p",
        "a",
        "pre",
        "code",
        "span",
        "h1",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "img",
    }
    assert not [
        given for _, given in seen.tags for name in given if name.startswith("on") or name in ("style", "href", "src")
    ]


def test_comments_are_not_shown_and_anchors_are_unique(tmp_path: Path) -> None:
    docs = files_of(tmp_path, page="# A\n<!-- results/query.json rows -->\n## B\n## B\n")
    made = rendered(docs.text(docs.pages["page"]), lambda _: None)
    assert "results" not in made.html
    assert [heading.anchor for heading in made.headings] == ["a", "b", "b-1"]
    assert slug("  C & D: `e_f` ") == "c--d-e_f"


# the server

Get = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def app() -> Iterator[FastAPI]:
    """The pages alone, over no dataset."""
    made = FastAPI(exception_handlers={Refused: respond}, docs_url=None)
    dispatcher = Dispatcher(Queue(1))
    datasets = SimpleNamespace(callers=lambda _: {})
    made.state.app_state = SimpleNamespace(dispatcher=dispatcher, rates=Rates(), datasets=datasets)
    made.state.sessions = Sessions()
    made.include_router(routes.router)
    yield made
    dispatcher.close()


@pytest.fixture
def get(app: FastAPI) -> Get:
    def fetch(path: str, **params: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.get(path, params=params or None, timeout=120)

        return asyncio.run(ask())

    return fetch


def test_pages_sections_and_pictures_are_served(get: Get) -> None:
    for path, words in {
        "/docs": "Documentation",
        "/docs/guide": "First answer",
        "/docs/guide/01-first-answer": "discreet.open",
        "/docs/decisions/001-exact-noise-by-intervals": "<h1",
        "/docs/changelog": "Changelog",
    }.items():
        response = get(path)
        assert (response.status_code, words in response.text) == (200, True), path
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert 'href="/docs/guide"' in response.text
    picture = get("/docs/guide/pictures/wards.svg")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
    drawn = (ROOT / "docs/guide/pictures/wards.svg").read_text(encoding="utf-8")
    assert re.sub(r"<style>.*?</style>", "", picture.text) == drawn
    assert "prefers-color-scheme:dark" in picture.text, "a white picture blinds whoever reads in the dark"


def test_every_drawing_is_light_or_dark_as_its_page_is() -> None:
    """Light letters on white paper are read by nobody: pages lay nothing below a picture, and pictures follow them."""
    assert "background: #ffffff" not in (ROOT / "src/discreet/server/pages/static/manual.css").read_text("utf-8")
    library = routes.manual().library
    drawings = [each.removeprefix("docs/") for each in library.pictures if each.endswith(".svg")]
    assert len(drawings) > 10
    for address in drawings:
        drawn, _ = library.picture(address) or (b"", "")
        assert b"prefers-color-scheme:dark" in drawn, address
        assert b'fill="#ffffff"' in drawn[:700] or address == "architecture.svg", f"{address} has no paper of its own"


def test_every_link_of_a_page_is_served(get: Get) -> None:
    links = {link for link in Links(get("/docs/guide/02-writing-a-policy").text).led_to if link.startswith("/docs/")}
    assert len(links) > 40
    known = routes.manual().addresses
    assert {link for link in links if link.removeprefix("/docs/") not in known} == set()


@pytest.mark.parametrize("address", [*OUTSIDE, *HOSTILE])
def test_no_other_file_and_no_other_page(address: str, get: Get) -> None:
    before = routes._view.cache_info().currsize
    response = get(f"/docs/{address}") if "\x00" not in address else get("/docs/%00")
    assert response.status_code == 404
    assert "dependencies" not in response.text
    assert routes._view.cache_info().currsize == before


@pytest.mark.parametrize("query", ["", "clamp", *HOSTILE, "(?:", "[a-", "a " * 40])
def test_whatever_is_searched_is_a_page_or_a_refusal(query: str, get: Get) -> None:
    response = get("/docs/search", q=query)
    assert response.status_code == (200 if len(query) <= 100 else 422)
    assert "<script>alert" not in response.text
    assert "49" not in response.text or query != "{{ 7 * 7 }}"


def test_readers_are_counted(app: FastAPI, get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "READERS", replace(routes.READERS, per_minute=1))
    monkeypatch.setattr(app.state.app_state, "rates", Rates())
    assert [get("/docs").status_code for _ in range(2)] == [200, 429]


# searching


def test_a_search_leads_to_what_is_meant() -> None:
    index = Index(library())
    for query, address in {
        "choosing ε": "guide/03-choosing-epsilon",
        "private keys": "guide/06-private-keys",
        "glossary": "glossary",
        "guaranteed": "guarantee",
    }.items():
        assert [hit.part.address for hit in index.search(query)][:3].count(address) == 1, query
    assert index.search("") == index.search("   ") == index.search("nothing-has-this-word") == []
    assert all(
        "clamp" in (hit.before + hit.word + hit.part.title + hit.part.heading).lower() for hit in index.search("clamp")
    )


def test_files_are_searched_as_the_server_does(browser: Browser, written: Path) -> None:
    """From the disk, with no server at all."""
    index = Index(library())
    context = browser.new_context()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{written.as_uri()}/search.html")
    for query in SEARCHES:
        page.get_by_role("searchbox").fill(query)
        page.get_by_role("button", name="Search").click()
        hits = index.search(query)
        expect(page.locator("#hits > li")).to_have_count(len(hits))
        shown = page.locator("#hits a").evaluate_all("all => all.map((each) => each.getAttribute('href'))")
        assert shown == [re.sub(r"^([^#]*)", r"\1.html", hit.part.address) for hit in hits], query
    assert barriers(page) == []
    page.locator("#hits a").first.click()
    expect(page.locator("article h1")).to_be_visible()
    assert not wrong
    assert all(url.startswith("file:") for url in asked)
    context.close()


FORMS = ["index", "guide/01-first-answer", "comparison", "gallery/hospital", "guarantee", "reference/policy"]
"""Contents, text and code, tables, a notebook; and long pages of these."""


@pytest.mark.parametrize("name", later(FORMS, 4))
def test_everybody_can_read_them(browser: Browser, written: Path, name: str) -> None:
    """In light and dark, on a phone."""
    with browser.new_context(viewport={"width": 1100, "height": 900}) as context:
        page: Any = context.new_page()
        page.goto(f"{written.as_uri()}/{name}.html")
        assert barriers(page) == []
        assert overflowing(page) == []


def test_the_readme_is_one_screen(browser: Browser, tmp_path: Path) -> None:
    """As wide as where code is read in a browser, with a wide font: 1,080 pixels, its picture in light and in dark."""
    style = """body { margin: 0; padding: 24px; width: 836px; font: 16px/1.5 "DejaVu Sans", sans-serif }
      h1 { font-size: 2em; margin: 0 0 16px; padding-bottom: .3em } p, ul, pre { margin: 0 0 16px }
      ul { padding-left: 2em } img { max-width: 100% }
      pre { padding: 16px; font-size: 85%; overflow: auto } li + li { margin-top: .25em }"""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).render(text).replace('"docs/', f'"{ROOT.as_uri()}/docs/')
    (tmp_path / "readme.html").write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{html}", "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 1080})
    page.goto((tmp_path / "readme.html").as_uri())
    for scheme, name in (("light", "first.png"), ("dark", "first-dark.png")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_function(f"document.images[0].complete && document.images[0].currentSrc.endsWith('/{name}')")
    assert page.evaluate("document.images[0].naturalWidth") > 900
    assert page.evaluate("document.documentElement.scrollHeight") <= 1080
    assert page.evaluate("[...document.querySelectorAll('pre')].every((each) => each.scrollWidth <= each.clientWidth)")
    page.close()


def test_comments_of_pages_are_not_shown_and_code_stays_as_it_is() -> None:
    from discreet.server.manual.markdown import sections, without_comments

    text = "It is <!-- figure a/b ratio -->1.4<!-- / --> times.\n\n```text\n<!-- shown -->\n```\n"
    assert without_comments(text) == "It is 1.4 times.\n\n```text\n<!-- shown -->\n```\n"
    assert "figure" not in " ".join(words for _, words in sections(text))
