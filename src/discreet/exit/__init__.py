"""The exit: how anything private leaves. Bill → cached? → charge on disk → read → noise → keep → show.

`Bill` says what a task costs, `ReleasePoint.perform` goes the way, `Exit` adds the noise and adds up what leaves,
`Cost` chooses the noise, `Sampler` draws it.
"""

from discreet.exit.bill import Bill
from discreet.exit.cost import Choices, Cost
from discreet.exit.exit import Exit, opened
from discreet.exit.perform import Outcome, Prepared, Reader, ReleasePoint
from discreet.exit.sampler import SAMPLER, Sampler

__all__ = [
    "SAMPLER",
    "Bill",
    "Choices",
    "Cost",
    "Exit",
    "Outcome",
    "Prepared",
    "Reader",
    "ReleasePoint",
    "Sampler",
    "opened",
]
