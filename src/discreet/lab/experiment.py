"""An experiment: an attack on something unsafe and on what discreet releases instead, and what came of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from discreet.lab.blocks import Figures, Picture, Table


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment shows."""

    figures: Figures
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    sentences: tuple[str, str, str]
    """What a student should take home."""
    guarantee: str
    """What differential privacy promises about it, whatever the attacker knows."""

    def document(self) -> dict[str, Any]:
        """For programs: all but the drawings, of which it says what is to be seen."""
        return {
            "figures": [asdict(figure) for figure in self.figures.items],
            "tables": [
                {"caption": table.caption, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
                for table in self.tables
            ],
            "pictures": [picture.alt for picture in self.pictures],
            "sentences": list(self.sentences),
            "guarantee": self.guarantee,
        }


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that whoever runs an experiment may choose; its kind is that of the default."""

    name: str
    default: float
    what: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is known of an experiment before it runs.

    `run(seed=…)` invents its data from the seed alone; the noise of what is released comes from `discreet.noise`, which
    has none, so that two runs with one seed differ by that noise.
    """

    name: str
    title: str
    lectures: tuple[str, ...]
    teaser: str
    run: Callable[..., Outcome]
    settings: tuple[Setting, ...] = ()
    """What `run` takes besides the seed; it raises ValueError for what makes no sense."""
