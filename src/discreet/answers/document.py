"""Reports as one page of HTML: no script, nothing from elsewhere, light or dark as the reader has it, fit to print."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Final

from discreet.printing import printable

STYLE: Final = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --faint: #596069; --line: #d9dce1; --bad: #b3261e;
  --good: #1f7a4d; --bar: #3d7fd6; --link: #1f5fb8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #1b1b1f; --ink: #e8e8ec; --faint: #a3a7b0; --line: #3d3d45; --bad: #ff8a80; --good: #5fd39b;
    --link: #8ab8f5; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
a { color: var(--link); }
.faint { color: var(--faint); }
.bad { color: var(--bad); font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem 2rem;
  margin: 1rem 0; }
.figures b { display: block; font-size: 1.4rem; }
.wide { overflow-x: auto; } .wide + .wide { margin-top: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
code { font: 12.5px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.share { white-space: nowrap; font-variant-numeric: tabular-nums; } meter { width: 5rem; vertical-align: middle; }
figure { margin: 1.2rem 0 2rem; } figcaption { color: var(--faint); font-size: 13px; margin-bottom: .4rem; }
svg { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: fit-content(45%) 1fr; gap: .1rem 1rem; margin: .3rem 0 1.2rem; }
dd { margin: 0; } dt, dd { overflow-wrap: anywhere; }
caption { text-align: left; color: var(--faint); padding: .4rem 0; } tbody th { font-weight: 400; }
tr.marked > * { font-weight: 600; }
.guarantee { border-left: 3px solid var(--good); margin: 1rem 0; padding: .1rem 0 .1rem 1rem; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
section > figure { display: inline-block; margin: .5rem 1rem .5rem 0; max-width: 100%; vertical-align: top; }
@media print {
  body { margin: 0; max-width: none; } .wide { overflow: visible; } th, td { overflow-wrap: anywhere; }
  h2 { break-after: avoid; } figure, tr, .guarantee, .figures { break-inside: avoid; }
}
"""
ALLOWED: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; base-uri 'none'; "
    f"form-action 'none'"
)
"""What the page may load or run, wherever it is opened: its own style, by its digest, and nothing else."""


def document(title: str, body: Iterable[str]) -> str:
    """The whole page."""
    head = (
        f'<meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" content="{ALLOWED}"/>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{words(title)}</title><style>{STYLE}</style>"
    )
    inner = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{inner}</body></html>\n'


def words(text: str) -> str:
    """Text that is only that, whatever is in it."""
    return escape(printable(text))
