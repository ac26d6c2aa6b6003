"""The documentation as files: a folder that any browser reads, from a server of files or from the disk.

Strict: a link, an anchor or a picture that leads nowhere is a problem, and with one nothing is written. Nothing is
loaded from another host, and the same documents always make the same bytes.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from discreet.server.manual.library import HOME, PICTURES, SEARCH, SECTIONS, Page
from discreet.server.manual.markdown import Rendered
from discreet.server.manual.views import Link, Manual, View
from discreet.server.pages.rendering import STATIC, environment

ASSETS: Final = ("style.css", "manual.css", "icon.svg", "search.js")
INDEX: Final = "search-index.js"


class DeadLinks(ValueError):  # noqa: N818  (a list of them)
    """Pages that lead to what is not there."""


@dataclass(frozen=True)
class Site:
    """The files that a manual becomes."""

    manual: Manual

    def write(self, folder: Path) -> int:
        """Write all of it; how many pages there are."""
        dead = list(self.dead())
        if dead:
            raise DeadLinks("\n".join(dead))
        pages = dict(self.pages())
        for name, content in {**pages, **dict(self.beside())}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return len(pages)

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Every page, by the name of its file."""
        entrances = [self.manual.library.entrance(section) for section in SECTIONS]
        for address in dict.fromkeys((HOME, *entrances, *self.manual.library.pages)):
            view = self.manual.view(address, link_from(address))
            assert view is not None
            yield file_of(address), _html(view, address)
        search = self.manual.searched("", link_from(SEARCH))
        scripts = {"scripts": (INDEX, "search.js")}
        yield file_of(SEARCH), _html(View(search.template, {**search.context, **scripts}), SEARCH)

    def beside(self) -> Iterator[tuple[str, bytes]]:
        """What pages load: styles, scripts, pictures, and the parts that can be searched."""
        for name in ASSETS:
            yield name, STATIC[name].content
        for file in self.manual.library.pictures:
            address = file.removeprefix("docs/")
            picture = self.manual.library.picture(address)
            assert picture is not None
            yield address, picture[0]
        parts = [[part.address, part.title, part.heading, part.text] for part in self.manual.index.parts]
        yield INDEX, f"const discreetParts = {json.dumps(parts, ensure_ascii=False, separators=(',', ':'))};\n".encode()

    def dead(self) -> Iterator[str]:
        """Links that lead to no page, no heading and no file of the project, each with its page."""
        for page, (made, targets) in self._followed.items():
            yield from (f"{page.file}: {target} is not there" for target in made.dead if not self._exists(page, target))
            for target in targets:
                address, _, anchor = target.partition("#")
                if anchor and unquote(anchor) not in self._anchors.get(address or page.address, ()):
                    yield f"{page.file}: {target} is no heading"

    @cached_property
    def _followed(self) -> dict[Page, tuple[Rendered, list[str]]]:
        """Every document with the addresses that it links to."""
        followed = {}
        for page in self.manual.library.pages.values():
            targets: list[str] = []
            followed[page] = self.manual.rendered(page, partial(_noted, targets)), targets
        return followed

    @cached_property
    def _anchors(self) -> dict[str, frozenset[str]]:
        return {
            page.address: frozenset(heading.anchor for heading in made.headings)
            for page, (made, _) in self._followed.items()
        }

    def _exists(self, page: Page, target: str) -> bool:
        """Whether a file of the project is meant that is no page: source, an example."""
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), target.partition("#")[0]))
        return self.manual.library.shelf.has(file)


def file_of(address: str) -> str:
    """
    >>> file_of(""), file_of("guide/01-first-answer")
    ('index.html', 'guide/01-first-answer.html')
    """
    return f"{address or 'index'}.html"


def link_from(here: str) -> Link:
    """Links between files, from the one at this address.

    >>> link_from("guide/05-joins")("glossary#privacy"), link_from("")("guide/pictures/wards.svg")
    ('../glossary.html#privacy', 'guide/pictures/wards.svg')
    """
    folder = posixpath.dirname(file_of(here)) or "."

    def link(address: str) -> str:
        path, mark, anchor = address.partition("#")
        name = path if path.endswith(tuple(PICTURES)) else file_of(path)
        return f"{posixpath.relpath(name, folder)}{mark}{anchor}"

    return link


def _noted(targets: list[str], address: str) -> str:
    targets.append(address)
    return address


def _html(view: View, address: str) -> bytes:
    """A page by the server's templates, with what it loads beside it."""
    folder = posixpath.dirname(file_of(address)) or "."
    beside = {"site": True, "here": "docs", "static": lambda name: posixpath.relpath(name, folder)}
    return environment().get_template(view.template).render({**view.context, **beside}).encode()
