"""Markdown as HTML: our own pages, so that there is no HTML in them that would not be shown as text.

Rich brings the parser (markdown-it) and the lexers (Pygments) to every installation. What they make is under the
pages' own content security policy: classes for colours, no styles, no scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments.lexer import Lexer

Linked = Callable[[str], str | None]
"""The address for what a page links to; None for what is no page."""
PROMPT: Final = "$ "
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCED: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
KINDS: Final = (
    ("Keyword", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Comment", "c"),
    ("Operator.Word", "k"),
)
"""Classes of words in code, by the name of Pygments' token."""
LEXERS: Final = {
    "python": "PythonLexer",
    "smartnoise": "PythonLexer",
    "opendp": "PythonLexer",
    "tumult": "PythonLexer",
    "toml": "TOMLLexer",
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: how deep, its anchor, its text."""

    level: int
    anchor: str
    text: str


@dataclass(slots=True)
class Rendered:
    """A page: its HTML, its headings, and links that lead nowhere."""

    html: str = ""
    headings: list[Heading] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)


def without_comments(text: str) -> str:
    """Comments say where figures come from, to whoever edits the page; blocks of code stay as they are."""
    parts = _FENCED.split(text)
    return "".join(part if index % 2 else _COMMENT.sub("", part) for index, part in enumerate(parts))


def rendered(text: str, linked: Linked) -> Rendered:
    """A page of Markdown. `linked` says where links and pictures lead."""
    page = Rendered()
    tokens = parser().parse(without_comments(text))
    _name_headings(tokens, page)
    for token in _all(tokens):
        if token.type in ("link_open", "image"):
            _relink(token, linked, page)
    page.html = parser().renderer.render(tokens, parser().options, {})
    return page


def sections(text: str) -> Iterator[tuple[Heading, str]]:
    """The parts of a page below each of its headings, as plain text, to be searched."""
    tokens = parser().parse(without_comments(text))
    page = Rendered()
    _name_headings(tokens, page)
    heading, words = Heading(1, "", ""), list[str]()
    headings = iter(page.headings)
    skip = False
    for token in tokens:
        if token.type == "heading_open":
            if words or heading.text:
                yield heading, " ".join(words)
            heading, words, skip = next(headings), [], True
        elif token.type == "inline" and not skip:
            words.append(plain(token))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
        elif token.type == "heading_close":
            skip = False
    yield heading, " ".join(words)


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> slug("To add an X, touch Y"), slug("What `epsilon=` means: ε")
    ('to-add-an-x-touch-y', 'what-epsilon-means-ε')
    """
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def plain(inline: Token) -> str:
    """What a reader sees of a line."""
    return "".join(
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in inline.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak", "image")
    )


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _name_headings(tokens: Sequence[Token], page: Rendered) -> None:
    taken: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = plain(inline)
        anchor = slug(text)
        times = taken.get(anchor, 0)
        taken[anchor] = times + 1
        heading = Heading(int(opening.tag[1]), f"{anchor}-{times}" if times else anchor, text)
        opening.attrSet("id", heading.anchor)
        page.headings.append(heading)


def _relink(token: Token, linked: Linked, page: Rendered) -> None:
    """Point a link or a picture to where it is here; what is no page becomes text that names a file."""
    key = "src" if token.type == "image" else "href"
    target = str(token.attrGet(key) or "")
    if key == "href" and re.match(r"https?://|mailto:", target):
        token.attrSet("rel", "noreferrer")
        return
    address = linked(target)
    if address is not None:
        token.attrSet(key, address)
        return
    page.dead.append(target)
    token.attrs.pop(key, None)
    token.attrSet("class", "file")


@cache
def parser() -> MarkdownIt:
    """It shows HTML as text: pages are ours, and still nothing in them becomes code."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    made.add_render_rule("th_open", _th_open)
    made.add_render_rule("fence", _fence)
    made.add_render_rule("code_block", _fence)
    return made


def _table_open(*_: Any) -> str:
    return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _th_open(*_: Any) -> str:
    return '<th scope="col">'


def _fence(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    token = tokens[index]
    language = token.info.strip()
    code = "".join(coloured(token.content.rstrip("\n"), language))
    return f'<pre tabindex="0" class="code {escape(language or "text")}"><code>{code}</code></pre>\n'


def coloured(code: str, language: str) -> Iterator[str]:
    """Code as HTML, with a class for words of each kind."""
    if language == "console":
        for line in code.split("\n"):
            prompt = line.startswith(PROMPT)
            yield f'<span class="{"typed" if prompt else "printed"}">{escape(line)}</span>\n'
        return
    if language not in LEXERS:
        yield escape(code)
        return
    for kind, text in lexer(LEXERS[language]).get_tokens(code):
        name = str(kind).removeprefix("Token.")
        style = next((style for prefix, style in KINDS if name.startswith(prefix)), "")
        yield f'<span class="{style}">{escape(text)}</span>' if style and text.strip() else escape(text)


@cache
def lexer(name: str) -> Lexer:
    from pygments.lexers import configs, python

    lexers: dict[str, type[Lexer]] = {"PythonLexer": python.PythonLexer, "TOMLLexer": configs.TOMLLexer}
    return lexers[name](ensurenl=False)
