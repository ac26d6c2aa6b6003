"""Templates and headers of pages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from http import HTTPStatus
from importlib import resources
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse, Response

from discreet.accounting.balance import details, headline
from discreet.errors import Refused
from discreet.printing import printable

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {"content-security-policy": POLICY, "referrer-policy": "same-origin"}
"""Our own forms say where they come from: with `no-referrer` browsers would send `null` as their origin."""


def page(template: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A page, which may load our own files only. What it refuses has its code in the log."""
    text = environment().get_template(template).render(context)
    refused = _problem(context) if status >= HTTPStatus.BAD_REQUEST else None
    return HTMLResponse(text, status, {**HEADERS, **({"discreet-code": refused["code"]} if refused else {})})


def _problem(context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a page refuses: of a form, or of a query in its box."""
    refused: Mapping[str, Any] | None = context.get("problem") or getattr(context.get("box"), "problem", None)
    return refused


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
            "editor.js": "text/javascript; charset=utf-8",
            "icon.svg": "image/svg+xml",
            "manual.css": "text/css; charset=utf-8",
            "search.js": "text/javascript; charset=utf-8",
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
    made.globals |= {"static": STATIC.address, "headline": headline, "details": details, "printable": printable}
    return made
