"""Templates, pictures and headers of pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from importlib import resources
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse, Response

from discreet.answers.plots.theme import THEMES
from discreet.errors import Refused
from discreet.printing import at_least, at_most, printable

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {"content-security-policy": POLICY, "referrer-policy": "same-origin"}
"""Our own forms say where they come from: with `no-referrer` browsers would send `null` as their origin."""
_LIGHT: Final = THEMES["light"]
_INKS: Final = {
    _LIGHT.text: ("currentColor", "1"),
    _LIGHT.faint: ("currentColor", "0.75"),
    _LIGHT.grid: ("currentColor", "0.12"),
}
"""What a chart draws in the theme's inks is drawn in the page's, so that one picture does for light and dark."""
_TAG: Final = re.compile(r'<[a-z](?:[^"<>]|"[^"]*")*>')
_SPOKEN: Final = re.compile(r' (?:aria-label|aria-roledescription|role)="[^"]*"')
"""What is said of each part: the alternative text says it all. Labels may look like it, so tags only."""


def page(template: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A page, which may load our own files only."""
    text = environment().get_template(template).render(context)
    return HTMLResponse(text, status, HEADERS)


@dataclass(frozen=True)
class Asset:
    """A file that pages load: where it is, and what."""

    package: str
    path: str
    media: str

    @cached_property
    def content(self) -> bytes:
        return resources.files(self.package).joinpath(self.path).read_bytes()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


class Assets(dict[str, Asset]):
    """The files that pages load, by name; nothing else is served."""

    def address(self, name: str) -> str:
        """It changes with the file, so that browsers may keep it for ever."""
        return f"/static/{self[name].digest[:12]}/{name}"

    def response(self, digest: str, name: str) -> Response:
        if name not in self or self.address(name) != f"/static/{digest}/{name}":
            raise Refused("unknown-route", "there is nothing here", "load the page again")
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(self[name].content, media_type=self[name].media, headers=headers)


STATIC: Final = Assets(
    {
        name: Asset("discreet.server.pages", f"static/{name}", media)
        for name, media in {
            "style.css": "text/css; charset=utf-8",
            "script.js": "text/javascript; charset=utf-8",
            "icon.svg": "image/svg+xml",
        }.items()
    }
)


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("discreet.server.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": STATIC.address, "at_least": at_least, "at_most": at_most, "printable": printable}
    return made


def picture(chart: Callable[[], Any], alt: str) -> str | None:
    """A chart as SVG that stands in the page itself, in the page's own ink; None where altair is not installed."""
    try:
        import vl_convert

        drawn = vl_convert.vegalite_to_svg(chart().to_dict(validate=False))
    except ImportError:
        return None
    return inked(drawn, alt)


def inked(svg: str, alt: str) -> str:
    """An SVG in the page's ink, for everybody: it says what it shows."""
    svg = re.sub(r'<rect width="[^"]*" height="[^"]*" fill="[^"]*"/>', "", svg, count=1)
    for colour, (ink, opacity) in _INKS.items():
        for what in ("fill", "stroke"):
            more = "" if opacity == "1" else f' {what}-opacity="{opacity}"'
            svg = svg.replace(f'{what}="{colour}"', f'{what}="{ink}"{more}')
    label = escape(alt)
    svg = _TAG.sub(lambda tag: _SPOKEN.sub("", tag[0]), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
