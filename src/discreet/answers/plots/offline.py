"""Charts that notebooks show without a network: drawn here, as SVG. altair's own way loads scripts from elsewhere."""

from __future__ import annotations

from typing import Any

from discreet.answers.plots.beside import drawn_beside

SVG = "image/svg+xml"


class Offline:
    """What a chart does otherwise than altair's: it is a picture in notebooks, and a page of its own needs nothing."""

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        import vl_convert

        written = drawn_beside(lambda: self.to_dict(validate=False))  # type: ignore[attr-defined]
        drawn = vl_convert.vegalite_to_svg(written)
        return {SVG: drawn, "text/plain": repr(self)}

    def save(self, fp: Any, format: str | None = None, **settings: Any) -> None:  # noqa: A002  (altair's signature)
        """Write it into a file, as altair does; a page of HTML holds all that it needs."""
        inline = {"inline": True} if "html" in (format, str(fp).rpartition(".")[2].lower()) else {}
        save = super().save  # type: ignore[misc]
        drawn_beside(lambda: save(fp, format, **{**inline, **settings}))


_KINDS: dict[type, type] = {}
"""By altair's kinds of charts: ours. Changes of a chart make another one of its own kind."""


def offline(chart: Any) -> Any:
    """The same chart, which needs no network to be shown."""
    kind = type(chart)
    if not issubclass(kind, Offline):
        _KINDS.setdefault(kind, type(kind.__name__, (Offline, kind), {"__module__": kind.__module__}))
        object.__setattr__(chart, "__class__", _KINDS[kind])  # altair's own would take it for a setting
    return chart
