"""A policy's names and values, and what a replay found, are hostile texts that end in the page of an audit.

The page is opened from a disk or a server by whoever trusts it, so nothing in it may be anything but text: no tag, no
attribute, no address, no script; and if there were one, the page's own policy would not let it load or run.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser

from discreet.accounting.losses import Sensitivity
from discreet.answers.document import ALLOWED
from discreet.audit.compare import Moved, Report
from discreet.audit.policies import Audit, Result
from discreet.audit.questions import Question
from discreet.audit.report import page
from discreet.mechanisms import Laplace
from discreet.policy import Budget

STEERING = "\x1b[2J\x07\x9b31m\r\x08\u202e\u2066\x00"
HOSTILE = (
    "</title></style></code></svg>--><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x' "
    f"<style>*{{}}</style><base href=//x><meta http-equiv=refresh content=0;url=//x>&#x3c;{STEERING}"
)
HARMLESS = "x"


class Page(HTMLParser):
    """The tags of a page and the names of their attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, ...]] = []
        self.metas: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, *(name for name, _ in attrs)))
        if tag == "meta":
            self.metas.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self.shape.append((f"/{tag}",))


def audit(text: str) -> Audit:
    """A difference, a refusal, and a question with a picture; this is the text of everything."""
    moved = Moved(0, Laplace(epsilon=1, sensitivity=1), Sensitivity(Fraction(1), Fraction(1)), 5, 4, Fraction(1))
    question = Question(text, text, frozenset({text}))
    same = Report(text, None, 1, Fraction(1), moved=moved)
    different = replace(same, difference=text, kind=text, expected=text, observed=text, moved=None)
    refused = Report(text, None, 0, refusal=text)
    results = tuple(Result(question, report, text, 3) for report in (same, different, refused))
    return Audit(text, text, Budget(Fraction(3), Fraction(1, 10**6)), Fraction(1), results, 3)


def test_every_text_is_text() -> None:
    text = page(audit(HOSTILE))
    shape = Page(text).shape
    assert shape == Page(page(audit(HARMLESS))).shape
    assert not {"script", "a", "base", "form", "iframe", "img", "image", "link", "use"} & {tag for tag, *_ in shape}
    assert not [name for _, *names in shape for name in names if name.startswith("on") or name in ("src", "href")]
    assert not set(text) & {letter for letter in STEERING if not letter.isprintable()}
    assert text.count("&lt;script&gt;") >= 14  # it is there, as text


def test_the_page_forbids_what_it_does_not_have() -> None:
    text = page(audit(HOSTILE))
    (policy,) = [meta["content"] for meta in Page(text).metas if meta.get("http-equiv")]
    assert policy == ALLOWED
    assert text.index(ALLOWED) < text.index("<style>")  # else it would come too late
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in ALLOWED
    assert "unsafe" not in ALLOWED
