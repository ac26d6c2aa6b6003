"""What is measured: each part by its name, what it is about, how long it may take, and what is left out of it.

`make bench` takes all of them in half an hour on two idle cores. A part that would take longer is measured in part
there, with the settings that stand here, and the page says so; `--full` measures all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SETS: Final = "DISCREET_SETS"
FITS: Final = "DISCREET_FITS"


@dataclass(frozen=True, slots=True)
class Part:
    """A module of this package that yields figures."""

    about: str
    limit: float
    """Seconds after which it is stopped: what it had measured by then stays."""
    module: str = ""
    """Its name below `benchmarks`, where that is not the part's."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables of the environment that make it shorter."""
    left_out: str = ""
    """What those settings leave out, in words."""


def _fits(about: str, limit: float, module: str, sets: str) -> Part:
    many = sets.count(";") + 1
    settings = ((FITS, "3"), (SETS, sets))
    return Part(about, limit, f"learn.{module}", settings, f"3 fits instead of 20, on {many} of its sets")


_LARGER: Final = "10⁷ and 3·10⁷ rows"
PARTS: Final[dict[str, Part]] = {
    "noise": Part("Exact noise", 120),
    "start": Part("Starting", 120),
    "first_minute": Part("The first minutes", 300),
    "ledger": Part("The ledger", 180),
    "ledger_postgres": Part("The ledger in PostgreSQL", 180),
    "blocks": Part("The ledger of a stream", 240),
    "private_copy": Part("The private copy", 180),
    "query": Part("Queries", 480),
    "quantiles": Part("Quantiles", 180),
    "postgres": Part("Tables in PostgreSQL", 300),
    "pushdown": Part("Rows that stay in PostgreSQL", 300),
    "growth": Part(
        "Growth: rows that stay in PostgreSQL", 120, settings=(("DISCREET_GROWTH", "1000000"),), left_out=_LARGER
    ),
    "growth_reading": Part(
        "Growth: tables in PostgreSQL", 120, settings=(("DISCREET_GROWTH", "1000000"),), left_out=_LARGER
    ),
    "spark": Part("Tables in Spark", 300),
    "growth_spark": Part("Growth: tables in Spark", 180, settings=(("DISCREET_SIZES", "1000000"),), left_out=_LARGER),
    "server": Part("The server", 240),
    "auditor": Part("The auditor", 300),
    "release": Part("Workloads and hierarchies", 180),
    "release_logs": Part("Logs and running totals", 180),
    "synthetic": Part("Synthetic tables", 420),
    "local": Part("Randomised at the source", 180),
    "federated": Part("Federated training", 240),
    "stream": Part("Pipelines that compete for blocks", 240),
    "validation": Part("Models that a test accepts", 120),
    "lab": Part("Attacks of the lab", 420),
    "learn_classes": _fits("Models: classes", 300, "classes", "Adult;delays;breast cancer"),
    "learn_numbers": _fits("Models: numbers", 240, "numbers", "diamonds;diabetes"),
    "learn_clusters": _fits("Models: groups and components", 240, "clusters", "sizes of diamonds;blobs, 5 features"),
    "learn_searches": Part("Models: searches", 180, "learn.searches", ((FITS, "5"),), "5 fits instead of 20"),
    "learn_times": Part("Models: time", 300, "learn.times"),
}
"""In the order of the page."""


def module_of(name: str) -> str:
    return f"benchmarks.{PARTS[name].module or name}"
