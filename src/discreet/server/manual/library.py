"""The pages of the documentation: where they lie, in which section each is, and what they are called.

Pages are Markdown files and notebooks. They find their section by where they lie, so that a new page is in the
contents by itself; what no section asks for is in the last one. In a wheel they lie beside this module, in one
archive, in a checkout at the top of the project.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from discreet.answers.plots.embedded import in_both_themes
from discreet.server.manual.shelf import Archive, Folder

PACKED: Final = Path(__file__).parent / "project.zip"
"""In a wheel: the project's documents, in the folders that they have in a checkout."""
CHECKOUT: Final = Path(__file__).parents[4]
HOME: Final = ""
SEARCH: Final = "search"
TOP: Final = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that do not lie in docs."""
INDEXES: Final = ("README.md", "docs/README.md")
"""What those read who look at files; the overview says the same."""
SVG: Final = "image/svg+xml"
PICTURES: Final = {".svg": SVG, ".png": "image/png"}
Notebook = Mapping[str, Any]
"""What a notebook's JSON holds, and each of its cells and outputs."""
COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
LISTED: Final = re.compile(r"^(?:\d+\.|-) \[[^\]]+\]\(([^)#]+)\): (.+)$", re.MULTILINE)
"""A line of an index: a page, and what it is about."""
NUMBER: Final = re.compile(r"^0*(\d+)\s*[·:.]\s*")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the documentation, and which files belong to it, in this order."""

    name: str
    title: str
    about: str
    files: tuple[str, ...]


SECTIONS: Final = (
    Section("start", "Install", "Two commands, what they bring, and what else there is to add.", ("docs/install.md",)),
    Section(
        "guide", "Tutorial", "One screen for each thing, from the first answer on.", ("docs/guide/[0-9]*.md",)
    ),
    Section("recipes", "Recipes", "Short ways to what people come for.", ("docs/recipes/*.md",)),
    Section(
        "reference",
        "Reference",
        "Every key, option, route, name, function and code.",
        ("docs/reference/*.md", "docs/guide/language.md", "docs/guide/codes.md"),
    ),
    Section(
        "explanation",
        "Explanation",
        "What is promised, how it is proved, what could leak, how it is built.",
        (
            "docs/guarantee.md", "docs/vulnerabilities.md", "docs/auditing-others.md",
            "docs/mutants.md", "docs/architecture.md",
        ),
    ),
    Section("proofs", "Proofs", "Every theorem, beside the code that it is about.", ("docs/proofs/*.md",)),
    Section("decisions", "Decisions", "Why it is built this way: half a page for each.", ("docs/decisions/[0-9]*.md",)),
    Section(
        "lessons",
        "Lessons and notebooks",
        "A course of eight weeks, and notebooks with what they show.",
        ("docs/lessons.md", "docs/gallery/*.ipynb"),
    ),
    Section(
        "compare",
        "Beside others",
        "What others do, and figures with the machine that they were measured on.",
        ("docs/comparison.md", "docs/benchmarks.md"),
    ),
    Section("words", "Glossary", "What the words mean, and what others call the same.", ("docs/glossary.md",)),
    Section("project", "Project", "What changed, how to work on it, how to report a leak.", (*TOP, "docs/*.md")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """A document."""

    file: str
    """Where it lies in the project, with slashes."""
    address: str
    title: str
    section: Section
    about: str = ""

    @property
    def short(self) -> str:
        """Its title in a list."""
        number = NUMBER.match(self.title)
        return f"{number[1]} · {self.title[number.end() :]}" if number else self.title


@dataclass(frozen=True)
class Library:
    """All documents below one folder, or in one archive."""

    root: Path

    @cached_property
    def shelf(self) -> Folder | Archive:
        return Archive(self.root) if self.root.is_file() else Folder(self.root, TOP)

    @cached_property
    def pages(self) -> dict[str, Page]:
        """By address, in the order of the contents: as an index lists them, and else by name."""
        listed = {file: number for number, file in enumerate(self._abouts)}
        files = sorted(self._files("*.md", "*.ipynb"), key=lambda file: listed.get(file, len(listed)))
        left, pages = dict.fromkeys(files), {}
        for section in SECTIONS:
            for pattern in section.files:
                for file in [file for file in left if _matches(file, pattern)]:
                    del left[file]
                    page = Page(file, address_of(file), self._title(file), section, self._abouts.get(file, ""))
                    pages[page.address] = page
        return pages

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Of every file that a link may lead to."""
        pages = {page.file: page.address for page in self.pages.values()}
        indexes = dict.fromkeys(INDEXES, HOME)
        folders = {f"docs/{section.name}/README.md": section.name for section in SECTIONS}
        notebooks = {
            f"examples/{posixpath.basename(file)}": address for file, address in pages.items() if _is_notebook(file)
        }
        return {
            **pages,
            **{file: file.removeprefix("docs/") for file in self.pictures},
            **indexes,
            **folders,
            **notebooks,
        }

    @cached_property
    def pictures(self) -> tuple[str, ...]:
        """Files of the project, and what notebooks drew."""
        return (*self._files(*(f"*{suffix}" for suffix in PICTURES)), *self._drawings)

    @cached_property
    def _drawings(self) -> dict[str, bytes]:
        return {
            drawing: content.encode()
            for file in self._files("*.ipynb")
            for drawing, content in drawings(file, json.loads(self.raw(file))).items()
        }

    def of_section(self, section: Section) -> list[Page]:
        return [page for page in self.pages.values() if page.section is section]

    def entrance(self, section: Section) -> str:
        """Where a section begins: its list of pages, or its only page."""
        pages = self.of_section(section)
        return pages[0].address if len(pages) == 1 else section.name

    def section_at(self, address: str) -> Section | None:
        return next((section for section in SECTIONS if section.name == address), None)

    def text(self, page: Page) -> str:
        """Of a notebook: Markdown of its cells, with what they showed."""
        raw = self.raw(page.file)
        return notebook_text(page.file, json.loads(raw)) if _is_notebook(page.file) else COMMENT.sub("", raw)

    def raw(self, file: str) -> str:
        return self.shelf.read(file).decode("utf-8")

    def picture(self, address: str) -> tuple[bytes, str] | None:
        """A picture and its media type, if there is one of this address: nothing else of the disk can be named."""
        file = f"docs/{address}"
        if file not in self.pictures:
            return None
        media = PICTURES[posixpath.splitext(file)[1]]
        held = self._drawings.get(file) or self.shelf.read(file)
        return (in_both_themes(held.decode("utf-8")).encode() if media == SVG else held), media

    @cached_property
    def _abouts(self) -> Mapping[str, str]:
        """What indexes say about the pages that they list."""
        indexes = [f"docs/{section.name}/README.md" for section in SECTIONS]
        return {
            posixpath.normpath(posixpath.join(posixpath.dirname(index), link)): about
            for index in indexes
            if index in self.shelf.names
            for link, about in LISTED.findall(self.raw(index))
        }

    def _files(self, *patterns: str) -> Iterator[str]:
        """The project's documents, but for the indexes."""
        for file in self.shelf.names:
            name = posixpath.basename(file)
            if name != "README.md" and any(fnmatchcase(name, pattern) for pattern in patterns):
                yield file

    def _title(self, file: str) -> str:
        first = self.raw(file) if not _is_notebook(file) else notebook_text(file, json.loads(self.raw(file)))
        heading = re.search(r"^# (.+)$", first, re.MULTILINE)
        return re.sub(r"[`*]", "", heading[1]) if heading else posixpath.basename(file)


def address_of(file: str) -> str:
    """
    >>> address_of("docs/guide/01-first-answer.md"), address_of("CHANGELOG.md")
    ('guide/01-first-answer', 'changelog')
    """
    name = file.removeprefix("docs/")
    stem = name.rpartition(".")[0]
    return stem if name != file else stem.lower()


def notebook_text(file: str, notebook: Notebook) -> str:
    """A notebook as Markdown: code in fences, what it printed or showed as text in others, and pictures."""
    pictures = iter(drawings(posixpath.basename(file), notebook))
    return "\n\n".join(part for cell in notebook["cells"] for part in _cell(cell, pictures))


def drawings(file: str, notebook: Notebook) -> dict[str, str]:
    """The pictures that a notebook shows, by names beside its own."""
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    shown = [_joined(output["data"][SVG]) for output in outputs if SVG in output.get("data", {})]
    return {f"{file.removesuffix('.ipynb')}-{number}.svg": drawn for number, drawn in enumerate(shown, 1)}


def _cell(cell: Notebook, pictures: Iterator[str]) -> Iterator[str]:
    source = _joined(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
    elif source:
        yield _fenced("python", source)
        for output in cell["outputs"]:
            if SVG in output.get("data", {}):
                yield f"![What the lines above draw]({next(pictures)})"
            elif _shown(output):
                yield _fenced("text", _shown(output))


def _shown(output: Notebook) -> str:
    """An output as text; of an exception, what it said."""
    if output["output_type"] == "stream":
        return _joined(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return _joined(output["data"].get("text/plain", ""))


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def _joined(text: object) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _is_notebook(file: str) -> bool:
    return file.endswith(".ipynb")


def _matches(file: str, pattern: str) -> bool:
    """Whether a pattern names the file: a star does not go into folders."""
    return fnmatchcase(file, pattern) and file.count("/") == pattern.count("/")


@cache
def library() -> Library:
    """The documents of this program."""
    return Library(PACKED if PACKED.is_file() else CHECKOUT)
