"""Pages of the documentation as templates take them, for a server and for a site of files alike."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

from discreet.server.manual.library import HOME, SEARCH, SECTIONS, Library, Page, Section
from discreet.server.manual.markdown import Linked, Rendered, rendered
from discreet.server.manual.search import Hit, Index
from discreet.version import __version__

Link = Callable[[str], str]
"""Where an address of the documentation is, with its anchor."""
DEEPEST: Final = 3
"""Headings in a page's own contents."""


@dataclass(frozen=True, slots=True)
class View:
    """A template and what it shows."""

    template: str
    context: Mapping[str, Any]


@dataclass(frozen=True)
class Manual:
    """The documentation: every page by its address."""

    library: Library

    @cached_property
    def index(self) -> Index:
        return Index(self.library)

    @cached_property
    def addresses(self) -> frozenset[str]:
        """Of all pages; nothing else is rendered."""
        return frozenset({HOME, *(section.name for section in SECTIONS), *self.library.pages})

    def view(self, address: str, link: Link) -> View | None:
        """The page at an address: the overview, a section or a document; None if there is none."""
        if address == HOME:
            overview = [(section, self.library.of_section(section)) for section in SECTIONS]
            return self._view("manual-home.html", HOME, "Documentation", link, overview=overview)
        page, section = self.library.pages.get(address), self.library.section_at(address)
        if page is not None:
            return self._document(page, link)
        if section is not None:
            return self._view("manual-section.html", address, section.title, link, section=section)
        return None

    def searched(self, query: str, link: Link) -> View:
        hits: list[Hit] = self.index.search(query)
        return self._view("manual-search.html", SEARCH, "Search", link, query=query, hits=hits)

    def rendered(self, page: Page, link: Link) -> Rendered:
        return rendered(self.library.text(page), self._linked(page, link))

    def _document(self, page: Page, link: Link) -> View:
        made = self.rendered(page, link)
        siblings = self.library.of_section(page.section)
        number = siblings.index(page)
        return self._view(
            "manual-page.html",
            page.address,
            page.title,
            link,
            section=page.section,
            page=page,
            html=made.html,
            contents=[heading for heading in made.headings if 1 < heading.level <= DEEPEST],
            before=siblings[number - 1] if number else None,
            after=siblings[number + 1] if number + 1 < len(siblings) else None,
        )

    def _view(
        self, template: str, address: str, title: str, link: Link, *, section: Section | None = None, **more: Any
    ) -> View:
        known = {
            "title": title,
            "address": address,
            "link": link,
            "version": __version__,
            "sections": SECTIONS,
            "section": section,
            "entrance": self.library.entrance,
            "siblings": self.library.of_section(section) if section else [],
            "page": None,
            "query": "",
            "scripts": (),
        }
        return View(template, {**known, **more})

    def _linked(self, page: Page, link: Link) -> Linked:
        """Where links of a page lead: files of the project by what they are called there."""

        def linked(target: str) -> str | None:
            path, mark, anchor = target.partition("#")
            if not path:
                return link(f"{page.address}#{anchor}")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), unquote(path)))
            address = self.library.addresses.get(file)
            return None if address is None else link(f"{address}{mark}{anchor}")

        return linked
